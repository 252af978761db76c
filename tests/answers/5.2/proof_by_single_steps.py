# fails: proof "a version that is right, after it has been run before"
# exercise 5.2
import json
import os
import re
import tempfile
from pathlib import Path


def save_turn(folder, checkpoint, point):
    """Save checkpoint at point "A" or "B" in folder (a pathlib.Path), atomically.

    checkpoint: such as {"version": 1, "task": "…", "turns": 3, "tokensUsed": 900, "messages": […], "pendingToolUse": None}.
    The number of its turn is under the key turns.
    """
    path = folder / f"turn-{checkpoint['turns']:03d}-{point}.json"
    temp = folder / f"{path.name}.tmp"
    temp.write_text(json.dumps(checkpoint), encoding="utf-8")
    os.replace(temp, path)


def load_latest(folder):
    """The checkpoint of the highest turn in folder: its point B, else its A. Where there is none, raise an error that says so."""
    found = _saved(folder)
    if not found:
        raise LookupError(f"There is no saved turn in {folder.name}, so there is nothing to resume from.")
    return _load(folder, max(found))


def rewind_to(folder, turn):
    """That turn's checkpoint: its point B, else its A. Only reads. A turn that is not there: an error with its number in it."""
    found = [saved for saved in _saved(folder) if saved[0] == turn]
    if not found:
        raise LookupError(f"There is no turn {turn} in {folder.name}; nothing was changed.")
    return _load(folder, max(found))


def _saved(folder):
    """Every saved point as ``(turn, point, file name)``; a number, so that 1000 comes after 999."""
    names = [re.fullmatch(r"turn-(\d{3,})-([AB])\.json", path.name) for path in folder.iterdir()]
    return [(int(name[1]), name[2], name[0]) for name in names if name]


def _load(folder, saved):
    return json.loads((folder / saved[2]).read_text(encoding="utf-8"))


def test_the_steps_of_a_rewind():
    if "_play" in globals():
        call, step = _play(None, "rewind_to", 3)
        assert step == "read"
        assert _play(call, {"turns": 3})[1:] == [None, {"turns": 3}]
