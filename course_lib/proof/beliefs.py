"""What a folder says of a run, whichever way its saves are kept: the scene to go on from, and the effects on record."""
import json
import tempfile
from functools import lru_cache
from pathlib import Path

from .. import checkpoint, history, ledger, turns
from ..errors import CourseError
from ..scenarios.matrix import memory_folder

NOBODYS = {"messages": [{"role": "nobody", "content": ""}], "pendingToolUse": None, "turns": 0}  # where there is no scene


def scene_of(files):
    """The newest checkpoint in a folder; NOBODYS, where there is none."""
    if history.FILE in files:
        return _book(files[history.FILE])[0] or NOBODYS
    newest = max(turn_files(files), default=None)
    if newest:
        return json.loads(files[newest])
    return json.loads(files[checkpoint.FILE]) if checkpoint.FILE in files else NOBODYS


def effects_of(files):
    """The ledger in a folder, ``{tool_use_id: entry}``."""
    if history.FILE in files:
        return _book(files[history.FILE])[1]
    return json.loads(files.get(ledger.FILE, b"{}"))


def can_resume(files):
    """Whether there is a checkpoint in a folder. A torn one counts: that it can't be trusted is the program's to find."""
    return scene_of(files) is not NOBODYS if history.FILE in files else bool(checkpoint.FILE in files or turn_files(files))


def torn_in(files):
    """The first of the harness's own files that is not whole, or None. (A history may end in a torn line: it is dropped.)"""
    for name, is_whole in ((checkpoint.FILE, _is_json), (ledger.FILE, _is_json), (history.FILE, _is_history), *((name, _is_json) for name in turn_files(files))):
        if name in files and not is_whole(files[name]):
            return name
    return None


def turn_files(files):
    """The names of the turn files in a folder: in these short runs their order is that of their names."""
    return [name for name in files if turns.FILE.fullmatch(name)]


def _is_json(data):
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


def _is_history(data):
    try:
        _book(data)
    except CourseError:
        return False
    return True


@lru_cache(maxsize=1000)
def _book(data):
    """(scene or None, effects) of a history."""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder:
        (Path(folder) / history.FILE).write_bytes(data)
        book = history.read(folder)
    return book.timeline.scene(-1) if book.timeline.saves else None, book.effects
