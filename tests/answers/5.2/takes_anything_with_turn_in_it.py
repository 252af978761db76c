# fails: strangers "xturn-099-B.json lay among the turns"
# exercise 5.2
import json
import os
import re
import tempfile
from pathlib import Path


def save_turn(folder, checkpoint, point):
    """Save checkpoint at point "A" or "B" in folder (a pathlib.Path), atomically."""
    path = folder / f"turn-{checkpoint['turns']:03d}-{point}.json"
    temp = folder / f"{path.name}.tmp"
    temp.write_text(json.dumps(checkpoint), encoding="utf-8")
    os.replace(temp, path)


def load_latest(folder):
    """The last checkpoint that was saved in folder. Where there is none, raise an error that says so."""
    found = _saved(folder)
    if not found:
        raise LookupError(f"There is no saved turn in {folder.name}, so there is nothing to resume from.")
    return _load(folder, max(found))


def rewind_to(folder, turn):
    """The last checkpoint that was saved in that turn; only reads. A turn that is not there is refused by its number."""
    found = [saved for saved in _saved(folder) if saved[0] == turn]
    if not found:
        raise LookupError(f"There is no turn {turn} in {folder.name}; nothing was changed.")
    return _load(folder, max(found))


def _saved(folder):
    """Every saved point as ``(turn, point, file name)``; a number, so that 1000 comes after 999."""
    names = [re.fullmatch(r".*turn-(\d{3,})-([AB])\.json", path.name) for path in folder.iterdir()]
    return [(int(name[1]), name[2], name[0]) for name in names if name]


def _load(folder, saved):
    return json.loads((folder / saved[2]).read_text(encoding="utf-8"))


def test_rewinding_leaves_the_ledger_alone():
    """Your proof: save five turns, put a ledger of five entries into effects.json beside the folder, rewind to 3,
    and assert that turns is 3 and that the ledger still has five entries. It takes no arguments.
    """
    with tempfile.TemporaryDirectory() as home:
        folder, ledger = Path(home) / "checkpoints", Path(home) / "effects.json"
        folder.mkdir()
        for turn in range(1, 6):
            save_turn(folder, {"version": 1, "turns": turn, "messages": ["…"] * turn, "pendingToolUse": None}, "B")
        ledger.write_text(json.dumps({f"toolu_{turn:02d}": {"name": "send_email", "result": "sent"} for turn in range(1, 6)}), encoding="utf-8")
        assert rewind_to(folder, 3)["turns"] == 3
        assert len(json.loads(ledger.read_text(encoding="utf-8"))) == 5
