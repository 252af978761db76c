"""What a student has done so far: one readable file of their own, kept by the course's own atomic save.

    {"4.1": {"attempts": 2, "outcome": "incorrect", "solved": false, "ladder": "effect", "hints": {"effect": 1},
             "answer": ..., "notes": {question: text}, "solution seen": false}}

The file may be deleted at any time. One that is broken is set aside under a name that is
printed, and a new one begun: it is never in the way of a check.

Left out: two kernels that save in the same instant; the later one wins.
"""
import os
from pathlib import Path

from ..errors import CourseError
from ..ledger import set_aside
from ..moments import alert
from ..storage import read_file, reason, write_atomic
from ..values import decode, encode
from ..words import tr, trn

FILE = "course-progress.json"
NEW = {"attempts": 0, "outcome": None, "solved": False, "ladder": None, "hints": {}, "answer": None, "notes": {}, "solution seen": False}
_aside = None  # the entries of a process that keeps them to itself


def path():
    """Where the file is: beside the README, or where COURSE_PROGRESS says."""
    return Path(os.environ.get("COURSE_PROGRESS") or Path(__file__).resolve().parents[2] / FILE)


def keep_aside():
    """From now on this process keeps its progress to itself: what is shown or tried out in it is nobody's."""
    global _aside
    _aside = {}


def load():
    """All entries by exercise; no file is no progress."""
    if _aside is not None:
        return dict(_aside)
    try:
        entries = decode(read_file(path()))
        if not _is_sound(entries):
            raise ValueError("it has another shape")
    except FileNotFoundError:
        return {}
    except ValueError as error:
        moved = set_aside(path())
        alert(tr("{file} is broken ({why}) and was set aside as {moved}; a new one is begun.", file=path().name, why=error, moved=moved.name))
        return {}
    except OSError as error:
        raise CourseError(tr("Your progress in {file} can't be read: {why}; make it readable, or delete it.", file=path(), why=reason(error))) from error
    return entries


def entry(id):
    """What is known of one exercise, with every key of NEW."""
    return {**NEW, **load().get(id, {})}


def update(id, **changes):
    """Change an exercise's entry and save. Raises StorageError or UnsavableValue."""
    entries = load()
    entries[id] = {**NEW, **entries.get(id, {}), **changes}
    _save(entries)


def forget(id):
    """As if the exercise had never been tried."""
    entries = load()
    if entries.pop(id, None) is not None:
        _save(entries)


def together(parts):
    """The parts of one exercise, ``{id: entry}``, as one entry: solved when each is, and counted together. left: those that are not, if others are."""
    entries, left = parts.values(), [id for id, entry in parts.items() if not entry["solved"]]
    return {**NEW, "left": left if len(left) < len(parts) else [], "attempts": sum(entry["attempts"] for entry in entries), "solved": all(entry["solved"] for entry in entries),
            "hints": {(number, name): seen for number, entry in enumerate(entries) for name, seen in entry["hints"].items()},
            "solution seen": any(entry["solution seen"] for entry in entries)}


def state(entry):
    """What is known of an exercise, in words."""
    words = [tr("✓ solved") if entry["solved"] else tr("not solved yet: {parts}", parts=", ".join(entry["left"])) if entry.get("left") else
             tr("not solved yet") if entry["attempts"] else tr("not tried yet")]
    if entry["attempts"]:
        words.append(trn("{n} attempt", "{n} attempts", entry["attempts"]))
    hints = sum(entry["hints"].values())
    if hints:
        words.append(trn("{n} hint", "{n} hints", hints))
    if entry["solution seen"]:
        words.append(tr("solution looked at"))
    return " · ".join(words)


def _save(entries):
    global _aside
    if _aside is not None:
        _aside = entries
        return
    write_atomic(path(), encode(entries), moment="progress")


def _is_sound(entries):
    return type(entries) is dict and all(
        type(entry) is dict and all(isinstance(entry.get(key, new), type(new)) for key, new in NEW.items() if new is not None)
        for entry in entries.values())
