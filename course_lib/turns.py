"""One file a save instead of one file: turn-014-A.json, turn-014-B.json, … so that one can go back. (lesson 5)

A branch is a folder: ``checkpoints/`` holds its turn files and its own effects.json, and
``checkpoints-plan-b/`` those of the branch plan-b. Turn files are never changed. What a
run leaves behind when it goes on from an earlier turn is moved to ``rewound-1/``, ``rewound-2/`` …

Left out: keeping the folder small. Each file holds the whole conversation, so the folder grows
with the square of the turns; history.py keeps the same in one file that grows linearly.
"""
import os
import re
from pathlib import Path

from . import ledger
from .checkpoint import CheckpointError, CheckpointMissing, check_shape, load_checkpoint as load_file, save_checkpoint as save_file
from .errors import CourseError
from .places import home_of, pick, place
from .storage import StorageError, read_file, reason, sync_folder, write_atomic
from .values import decode, encode

FILE = re.compile(r"turn-([0-9]{3}|[1-9][0-9]{3,})-(A|B|final)\.json")
_ASIDE = re.compile(r"rewound-([1-9][0-9]*)")
MOVING = "rewinding.json"  # a rewind under way: {"after": [turn, point], "into": "rewound-1", "scene": where to go on}


# --- in place of the library's own: what run_agent calls when it keeps turns ---------------

def save_checkpoint(path, checkpoint):
    """A new turn file beside ``path``; the files before it stay."""
    folder = Path(path).parent
    finish_moving(folder)
    save_file(folder / _name(*place(checkpoint)), checkpoint)


def load_checkpoint(path):
    """The newest turn file beside ``path``. Raises a CheckpointError."""
    folder = Path(path).parent
    found = saves(folder)
    if not found:
        raise CheckpointMissing(f"There is no turn file in {folder.name}, so there is nothing to resume from; start without --resume.")
    return load(folder, *found[-1])


FUNCTIONS = {"save_checkpoint": save_checkpoint, "load_checkpoint": load_checkpoint}


# --- what the folder holds ------------------------------------------------------------------

def saves(folder):
    """``[(turn, point), ...]`` in order, of the timeline that a resume goes on with."""
    found, plan = _turn_files(folder), _plan(folder)
    if plan:
        found = [save for save in found if save <= plan["after"] and save < place(plan["scene"])] + [place(plan["scene"])]
    return found


def load(folder, turn, point=None):
    """A turn's scene, as saved: at its last point, or the one named. Raises NoSuchTurn or a CheckpointError."""
    places, plan = saves(folder), _plan(folder)
    where = places[pick(places, turn, point, folder)]
    if plan and place(plan["scene"]) == where:
        return plan["scene"]
    try:
        return load_file(Path(folder) / _name(*where))
    except CheckpointError as error:
        before = places[:places.index(where)]
        way_out = f"move that file away, and turn {before[-1][0]}, Point {before[-1][1]}, is the newest again" if before else "there is none before it, so start over without --resume"
        raise type(error)(f"{str(error).split('; ')[0]}; {way_out}.") from error


def begin(folder, scene, came_from=None):
    """The first save of a new branch. came_from, (folder, turn, point), is nothing that a turn file needs."""
    save_file(Path(folder) / _name(*place(scene)), scene)


def effects(folder):
    """The branch's own ledger."""
    return ledger.load_effects(Path(folder) / ledger.FILE)


def set_back(folder, turn, point, scene):
    """Let the branch go on from that save with scene; what came later is moved aside, and nothing is lost.

    Killed at any instant, the branch is as before or goes on with scene. Raises StorageError.
    """
    folder = Path(folder)
    finish_moving(folder)
    into = f"rewound-{1 + max((int(match[1]) for match in map(_ASIDE.fullmatch, _names(folder)) if match), default=0)}"
    plan = encode({"after": [turn, point], "into": into, "scene": scene})
    write_atomic(folder / MOVING, plan, moment="rewind")  # from here on it is true; the rest is tidying up
    finish_moving(folder)


def finish_moving(folder):
    """Carry out the plan that a rewind left, also where the start before this one was killed at it."""
    folder, plan = Path(folder), _plan(folder)
    if plan is None:
        return
    aside, now = folder / plan["into"], place(plan["scene"])
    try:
        aside.mkdir(exist_ok=True)
        for save in _turn_files(folder):
            if (save > plan["after"] or save >= now) and not (aside / _name(*save)).exists():
                os.replace(folder / _name(*save), aside / _name(*save))
        sync_folder(aside)
        save_file(folder / _name(*now), plan["scene"])
        (folder / MOVING).unlink()
        sync_folder(folder)
    except OSError as error:
        raise StorageError(f"The later turns of {folder.name} could not be moved aside: {reason(error)}; put that right and try again.") from error


def set_aside(folder):
    """The folders of the timelines that rewinds left, oldest first."""
    return sorted((Path(folder) / name for name in _names(folder) if _ASIDE.fullmatch(name)), key=lambda path: int(path.name[8:]))


def left_at(folder, turn):
    """The name of the folder in which a rewind has left that turn; None if there is none."""
    return next((aside.name for aside in reversed(set_aside(folder)) if turn in (found for found, _ in _turn_files(aside))), None)


def is_aside(folder):
    """Whether a folder (a Path) is one that a rewind has moved turns to."""
    return bool(_ASIDE.fullmatch(folder.name))


def our_files(folder):
    """What a fresh start clears: those that rewinds have moved aside, their folders, where nothing else is in them, and the turn files, the newest last."""
    here = [Path(folder) / _name(*save) for save in _turn_files(folder)] + [Path(folder) / name for name in _names(folder) if name == MOVING]
    aside = [path for path in set_aside(folder) if path.is_dir() and not path.is_symlink()]
    return [*(path / name for path in aside for name in _names(path) if FILE.fullmatch(name)), *aside, *here]


def names_of_temp_files(folder):
    """The turn files, and the plan of a rewind, that some dead run was about to write, by their names."""
    stems = {name.rsplit(".", 2)[0] for name in _names(folder) if name.endswith(".tmp")}
    return [stem for stem in stems if FILE.fullmatch(stem) or stem == MOVING]


def _turn_files(folder):
    return sorted((int(match[1]), match[2]) for match in map(FILE.fullmatch, _names(folder)) if match)  # "A" < "B" < "final"


def _name(turn, point):
    return f"turn-{turn:03}-{point}.json"


def _plan(folder):
    try:
        plan = decode(read_file(Path(folder) / MOVING))
        check_shape(plan["scene"], MOVING)
        if not _ASIDE.fullmatch(plan["into"]):
            raise ValueError(f"{plan['into']!r:.60} is no folder for it")
        turn, point = plan["after"]
        return {**plan, "after": (int(turn), str(point))}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{home_of(folder).name} could not be looked into: {reason(error)}; make it readable and try again.") from error
    except (ValueError, KeyError, TypeError, CourseError) as error:
        raise StorageError(f"{MOVING} in {Path(folder).name}, the plan of a rewind, can't be trusted ({error}); "
                           "remove it to go on as if there had been no rewind.") from error


def _names(folder):
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):  # whoever loads from it can say so
        return []
    except OSError as error:
        raise StorageError(f"{home_of(folder).name} can't be looked into: {reason(error)}; make it readable and try again.") from error
