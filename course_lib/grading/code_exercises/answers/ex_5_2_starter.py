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

    This keeps the latest only. Let it keep each turn: turn 3 at point A is turn-003-A.json.
    """
    temp = folder / "checkpoint.json.tmp"
    temp.write_text(json.dumps(checkpoint), encoding="utf-8")
    os.replace(temp, folder / "checkpoint.json")


def load_latest(folder):
    """The checkpoint of the highest turn in folder: its point B, else its A. Where there is none, raise an error that says so."""
    return json.loads((folder / "checkpoint.json").read_text(encoding="utf-8"))


def rewind_to(folder, turn):
    """That turn's checkpoint: its point B, else its A. Only reads. A turn that is not there: an error with its number in it."""
    ...


def test_rewinding_leaves_the_ledger_alone():
    """Your proof: save five turns, put a ledger of five entries into effects.json beside the folder, rewind to 3,
    and assert that turns is 3 and that the ledger still has five entries. It takes no arguments.
    """
    ...
