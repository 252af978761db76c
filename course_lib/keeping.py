"""Which way a folder keeps its saves: in one file, a file a save, or a line a save."""
import json
import os
from contextlib import contextmanager
from pathlib import Path

from . import checkpoint, history, turns
from .errors import CourseError
from .moments import alert, current
from .places import place
from .storage import read_file

WAYS = {"file": {}, "turns": turns.FUNCTIONS, "history": history.FUNCTIONS}


def way_of(folder):
    """What a resume in this folder goes on with, by the files that are there: "file", "turns" or "history"."""
    def there(name):  # what can't be looked at is left to the one who loads it, and can say why
        return os.path.exists(os.path.join(folder, name))

    if there(history.FILE):
        return "history"
    return "turns" if turns.our_files(folder) else "file"


@contextmanager
def keeping(way, **functions):
    """Within it, the run's loading and saving goes that way; a student's own functions stand before it. Raises CourseError."""
    if way not in WAYS:
        raise CourseError(f"{way!r:.60} is no way to keep saves; it is one of: {', '.join(WAYS)}.")
    with current() as run:
        before = run.functions
        run.functions = {**WAYS[way], **before, **functions}
        try:
            yield run
        finally:
            run.functions = before


def say_what_decides(folder):
    """Say so where checkpoint.json beside a history is none of its saves: somebody has changed it, and the history decides.

    Nothing is said of what is no sign of that: an older save, as a crash leaves it there, one that a
    rewind may have left behind, or one whose line may be what a crash has cut off.
    """
    try:
        data, lines = (read_file(Path(folder) / name) for name in (checkpoint.FILE, history.FILE))
        if b'\n{"rewind"' in lines or not lines.rstrip(b"\0").endswith(b"\n"):
            return
    except OSError:  # it is not there, or can't be looked at
        return
    try:
        scene = json.loads(data)
        is_ours = history.load(folder, *place(scene)) == scene
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, CourseError):
        is_ours = False
    if not is_ours:
        alert(f"[history] {checkpoint.FILE} is none of the saves in {history.FILE}; the history decides, so that file is not looked at, "
              "and is written over at the end of the run.")
