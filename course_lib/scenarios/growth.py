"""What it takes on disk to keep every turn: the same run kept in turn files and in a history. (lesson 5)

The turns are those of the benchmark (docs/figures.md): the model names a tool with 500 bytes of
input, and 2,000 bytes come back. So these figures and those can be laid side by side.
"""
import tempfile
from pathlib import Path

from .. import history, turns as turn_files
from ..agent import run_agent
from ..model import OfflineClient
from ..moments import Run
from ..tools import Tool
from .scenario import turn

TURNS, HISTORY = WAYS = ("turns", "history")
INPUT, RESULT = ("a line of a note, " * 28)[:500], ("what it came to, " * 118)[:2000]


def growth(turns):
    """Run that many turns, kept both ways: ``{"turns": [bytes, ...], "history": [bytes, ...]}``, what the saves have come to after each turn."""
    with tempfile.TemporaryDirectory(prefix="course-") as home:
        for way in WAYS:
            (Path(home) / way).mkdir()
            _run(Path(home) / way, way, turns)
        return {way: sizes(Path(home) / way) for way in WAYS}


def sizes(folder):
    """The bytes of a folder's saves up to the end of each turn, in order. The effects are in a history's bytes, and not in those of turn files."""
    if (Path(folder) / history.FILE).exists():
        ends = {save.place[0]: save.end for save in history.read(folder).timeline.saves}
        return list(ends.values())
    found = {}
    for number, point in turn_files.saves(folder):
        so_far = list(found.values())[-1] if found else 0
        found[number] = so_far + (Path(folder) / f"turn-{number:03}-{point}.json").stat().st_size
    return list(found.values())


def _run(folder, way, turns):
    script = [turn(f"Note {n}.", f"toolu_{n:06}", "write_note", {"body": INPUT}) for n in range(1, turns + 1)]
    script.append({"content": [{"type": "text", "text": "All notes are written."}], "stop_reason": "end_turn"})
    tools = {"write_note": Tool(lambda input: RESULT, "Write a note.")}
    with Run(durability="kill", clock=lambda: "2026-01-05T09:00:00.000Z", new_id=lambda: "run-1"):
        run_agent(OfflineClient(script), "Write the notes.", tools, folder=folder, keep=way, max_turns=turns + 1)
