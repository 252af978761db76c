"""The six fields of a checkpoint, each left out once: what a resume runs into without it. (lesson 2)

The files are those of really killed runs. load_checkpoint refuses one that lacks a field; here
a loader that believes anything fills in a default, to show what the refusal saves us from.
"""
import json
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..agent import MAX_TOKENS, MAX_TURNS, MODEL
from ..checkpoint import FILE, VERSION, load_checkpoint
from ..model import RequestRefused
from . import SALES_REPORT, SUPPORT_DESK, world
from .runner import start
from .scenario import turn

EMAIL = SUPPORT_DESK["send_email"]
IN_CIRCLES = replace(SALES_REPORT, script=[turn("Once more.", f"toolu_{n:02}", "read_notes", {}) for n in range(1, 20)])
CAP = 5


@dataclass(frozen=True)
class Row:
    """field: the one left out. asked: what was looked at. kept, dropped: what was found with the field and without it."""

    field: str
    asked: str
    kept: object
    dropped: object


def drop_each_field():
    """Leave out each field in turn, resume, and look. Gives a list of Row."""
    return [Row(field, asked, look(dict), look(lambda scene: {key: scene[key] for key in scene if key != field}))
            for field, (asked, look) in LOOKS.items()]


def believe(path):
    """In place of load_checkpoint: what is missing is made up. Raises WrongVersion where a version is given and is not ours."""
    scene = json.loads(path.read_bytes())
    if scene.get("version", VERSION) != VERSION:
        return load_checkpoint(path)
    task = scene.get("task", "")
    return {"version": VERSION, "task": task, "turns": 0, "tokensUsed": 0, "messages": [{"role": "user", "content": task}],
            "pendingToolUse": None, **scene}


# --- a look for each field: kill a run, change its file, resume ------------------------------

def a_later_format(change):
    with _killed(EMAIL, "after-tool", 2) as folder:
        # What the next version of the program writes: several calls can be pending.
        _edit(folder, lambda scene: change({**scene, "version": 2, "pendingToolUse": [scene["pendingToolUse"]]}))
        try:
            return _resume(EMAIL, folder).text.split(";")[0]
        except Exception:  # whatever a misread file leads to
            return "misread, and the program falls over in the middle of the resume"


def the_task(change):
    with _killed(EMAIL, "after-save-b", 1) as folder:
        _edit(folder, change)
        return believe(folder / FILE)["task"] or "nothing"


def turns_before_the_cap(change):
    with _killed(IN_CIRCLES, "after-save-b", 3) as folder:
        _edit(folder, change)
        _resume(IN_CIRCLES, folder, CAP)
        return len(world.executions(folder))


def tokens_counted(change):
    with _killed(EMAIL, "after-save-b", 2) as folder:
        _edit(folder, change)
        _resume(EMAIL, folder)
        return load_checkpoint(folder / FILE)["tokensUsed"]


def emails_sent(change):
    with _killed(EMAIL, "after-save-b", 2) as folder:
        _edit(folder, change)
        _resume(EMAIL, folder)
        return [run["tool"] for run in world.executions(folder)].count(EMAIL.effect)


def the_next_request(change):
    with _killed(EMAIL, "after-tool", 2) as folder:
        _edit(folder, change)
        scene = believe(folder / FILE)
        if scene["pendingToolUse"]:
            return "refused" if _resume(EMAIL, folder).refused else "accepted"
        try:  # nothing seems to be under way, so the model is asked, with messages as they are
            EMAIL.client(folder).messages.create(model=MODEL, max_tokens=MAX_TOKENS, messages=scene["messages"])
        except RequestRefused as error:
            return f"refused ({error.status}), {scene['messages'][-1]['content'][-1]['id']} has no result"
        return "accepted"


LOOKS = {
    "version": ("this program meets a file of version 2", a_later_format),
    "task": ("what the file says the task is", the_task),
    "turns": (f"tools run by a model that goes in circles, under a cap of {CAP} turns", turns_before_the_cap),
    "tokensUsed": ("tokens counted when all is done", tokens_counted),
    "messages": ("e-mails sent when all is done", emails_sent),
    "pendingToolUse": ("the next request to the model", the_next_request),
}


@contextmanager
def _killed(scenario, label, count):
    with tempfile.TemporaryDirectory(prefix="course-") as home:
        folder = Path(home) / "run"
        folder.mkdir()
        start(scenario, folder, crash_after=(label, count))
        yield folder


def _edit(folder, change):
    scene = load_checkpoint(folder / FILE)
    (folder / FILE).write_text(json.dumps(change(scene), indent=2), encoding="utf-8")


def _resume(scenario, folder, max_turns=MAX_TURNS):
    return start(scenario, folder, resume=True, functions={"load_checkpoint": believe}, max_turns=max_turns)
