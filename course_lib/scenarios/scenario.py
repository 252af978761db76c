"""What a task is made of: its text, its world, its tools and the model's script."""
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..model import OfflineClient
from . import world


@dataclass(frozen=True, eq=False)
class Scenario:
    """A task that can be run, killed and resumed in any folder.

    files: what the world holds before the first request, ``{name: text}``.
    script: the model's responses, ``[{"content": [...], "stop_reason": str}, ...]``.
    tools: folder → ``{name: Tool}``, so that a tool acts on that folder's world.
    effect: the tool whose work the oracle judges.
    approve: folder → who answers at the approval gate, as run_tool_uses takes it.
    """

    name: str
    task: str
    files: dict
    script: list
    tools: Callable[[Path], dict]
    effect: str
    approve: Callable[[Path], Callable] | None = None

    def lay_out(self, folder):
        """Put the world's files there, unless they are (nobody undoes what has happened), and let the model begin its script anew.

        A kill on the way leaves no half of it: each file comes whole, and the first one, which says that all are there, last.
        """
        paths = {Path(folder) / name: text for name, text in self.files.items()}
        if not all(path.exists() for path in list(paths)[:1]):
            for path in [path for path in reversed(paths) if not path.exists()]:
                temp = path.with_name(f"{path.name}.tmp")
                temp.write_text(paths[path], encoding="utf-8", newline="\n")
                temp.replace(path)
        (Path(folder) / world.REQUESTS).unlink(missing_ok=True)

    def client(self, folder):
        """The offline model, which remembers in the world's folder what it was asked."""
        return OfflineClient(self.script, log=Path(folder) / world.REQUESTS)

    @property
    def call(self):
        """The call that the oracle judges: ``{"id", "name", "input", ...}``, the last one of the effect in the script."""
        return [block for response in self.script for block in response["content"]
                if block["type"] == "tool_use" and block["name"] == self.effect][-1]


def turn(text, id, name, input):
    """A response of the script: a few words and one tool call."""
    return {"content": [{"type": "text", "text": text}, {"type": "tool_use", "id": id, "name": name, "input": input}],
            "stop_reason": "tool_use"}
