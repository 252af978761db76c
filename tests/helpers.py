"""Shared by the tests of the loop: a fake model, a few fake tools with their world, the program as a child."""
import copy
import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from course_lib.__main__ import main
from course_lib import Run, SimulatedCrash, Tool, run_agent
from course_lib.errors import CourseError
from course_lib.guard import LOCK
from course_lib.transcript import NAMED, check_transcript

ROOT = Path(__file__).resolve().parents[1]


def program(folder, *options, **settings):
    """``python -m course_lib`` in the folder; settings are environment variables, preexec_fn is Popen's own."""
    preexec = settings.pop("preexec_fn", None)
    clean = {name: value for name, value in os.environ.items() if name != "CRASH_AFTER"}
    return subprocess.run([sys.executable, "-m", "course_lib", *map(str, options)], cwd=folder, preexec_fn=preexec, timeout=60,
                          capture_output=True, encoding="utf-8", env={**clean, "PYTHONPATH": str(ROOT), **settings})


def program_here(folder, *options, **settings):
    """The same without the cost of a process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with mock.patch.dict(os.environ, settings), redirect_stdout(out), redirect_stderr(err):
        code = main([*map(str, options), "--dir", str(folder)])
    return subprocess.CompletedProcess(options, code, *(stream.seek(0) or stream.read() for stream in (out, err)))


def killed(folder, crash=None):
    """The folder, as the program leaves it when killed there; without a crash, a finished run."""
    assert program_here(folder, CRASH_AFTER=crash or "").returncode == (137 if crash else 0)
    return folder


def refused(process, *words, out=""):
    """It ended with one plain sentence on stderr that has the words, and exit code 1."""
    assert (process.stdout, process.returncode) == (out, 1)
    assert process.stderr.count("\n") == 1 and process.stderr.endswith(".\n") and "Traceback" not in process.stderr
    assert all(word in process.stderr for word in words), process.stderr


def tools_run(folder):
    """The names of the tools that did their work, as the tools themselves wrote it down."""
    path = folder / "journal.jsonl"
    return [json.loads(line)["tool"] for line in path.read_text().splitlines()] if path.exists() else []


def on_disk(folder):
    """Every file below the folder: ``{path: bytes}``; but for the lock, which holds a process id and is left by whoever is killed."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file() and path.name != LOCK}


def read(path):
    return json.loads(Path(path).read_bytes())


def write(path, value):
    Path(path).write_text(json.dumps(value), encoding="utf-8")


def text(words):
    return {"type": "text", "text": words}


def use(id, name, **input):
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def answer(id, content, **more):
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def scene(messages, *, pending=None, turns=0, **more):
    """A checkpoint made by hand; pending is a tool_use block."""
    pending = pending and {key: pending[key] for key in ("id", "name", "input")}
    return {"version": 1, "task": "do it", "turns": turns, "tokensUsed": 7, "messages": [{"role": "user", "content": "do it"}, *messages],
            "pendingToolUse": pending, **more}


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def told(*blocks):
    return {"role": "user", "content": list(blocks)}


class Model:
    """A client whose model says the n-th of its turns after n assistant turns, and names fresh ids when asked again.

    A turn is a list of blocks, or (blocks, stop_reason). ``sent`` keeps each conversation it was sent; one that the
    API would refuse fails the test, but for ids and names of its own, which it takes back.
    """

    def __init__(self, *turns):
        self.turns, self.sent, self.asked = turns, [], {}
        self.messages = self

    def create(self, *, messages, **_):
        assert [breach for breach in check_transcript(messages) if breach["rule"] not in NAMED] == []
        self.sent.append(copy.deepcopy(messages))
        turn = sum(message["role"] == "assistant" for message in messages)
        self.asked[turn] = self.asked.get(turn, 0) + 1
        planned = self.turns[turn]
        blocks, reason = planned if isinstance(planned, tuple) else (planned, None)
        blocks = copy.deepcopy(blocks)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        for call in calls if self.asked[turn] > 1 else []:
            call["id"] += f"_{self.asked[turn]}"
        reply = {"content": blocks, "stop_reason": reason or ("tool_use" if calls else "end_turn"),
                 "usage": {"input_tokens": 10, "output_tokens": 1}}
        return type("Reply", (), {"to_dict": lambda self: reply})()


class World:
    """What the tools have done, in ``done``: look (read-only), note (side effect), pay (high impact)."""

    def __init__(self):
        self.done = []
        self.tools = {"look": self.tool("look", read_only=True), "note": self.tool("note"), "pay": self.tool("pay", high_impact=True)}

    def tool(self, name, returns=..., **nature):
        """A tool that leaves its mark and gives ``returns``; or raises it, and leaves none."""
        def act(input):
            if isinstance(returns, BaseException):
                raise returns
            self.done.append((name, copy.deepcopy(input)))
            return f"{name} done" if returns is ... else returns
        return Tool(act, **nature)


@dataclass
class End:
    """How a run ended: "done", "killed" or an error's class name, and the words."""

    how: str
    words: str
    moments: list = field(default_factory=list)


def run(model, world, folder, *, crash_after=None, functions=None, clock=None, **options):
    """One start or resume, as the program would do it."""
    moments = []
    try:
        with Run(crash_after=crash_after, listeners=[moments.append], durability="kill", functions=functions,
                 clock=clock or (lambda: "2026-01-05T09:00:00.000Z")):
            return End("done", run_agent(model, "do it", world.tools, folder=folder, **options), moments)
    except SimulatedCrash as crash:
        return End("killed", str(crash), moments)
    except CourseError as error:
        return End(type(error).__name__, str(error), moments)


def fail_at(monkeypatch, name, when, error=OSError(28, "No space left on device")):
    """Let os.NAME raise error each time ``when(*arguments)`` says so; gives the list of calls that failed."""
    real, failed = getattr(os, name), []

    def call(*arguments, **options):
        if when(*arguments):
            failed.append(arguments)
            raise error
        return real(*arguments, **options)

    monkeypatch.setattr(os, name, call)
    return failed


def writing(name, *nth):
    """For fail_at(monkeypatch, "replace", …): the n-th writes of the file called name; all of them without n."""
    seen = []

    def when(temp, target):
        if Path(target).name != name:
            return False
        seen.append(target)
        return not nth or len(seen) in nth

    return when
