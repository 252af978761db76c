"""The scenes of a branch, to look at: load_latest and rewind_to. (lesson 5)

A branch is a folder, kept in turn files or in a history; both are read here alike.
"""
import os
from contextlib import suppress
from pathlib import Path

from . import history, turns
from .checkpoint import CheckpointMissing, CheckpointUnreadable, lineage_of
from .errors import CourseError
from .keeping import way_of
from .places import NoSuchTurn, home_of

POINTS = ("A", "B", "final")


def load_latest(*, folder="checkpoints"):
    """The newest scene of a branch, which a resume goes on with. Raises a CheckpointError."""
    saved = kept(folder).saves(folder)
    if not saved:
        raise CheckpointMissing(f"No turn is saved in {home_of(folder).name}, so there is nothing to resume from; start without --resume.")
    return kept(folder).load(folder, *saved[-1])


def rewind_to(turn, point=None, *, folder="checkpoints"):
    """The scene as it was at that turn: at its last point, or at its Point "A" or "B". Only reads.

    The final answer, which is saved beside the last turn's B, is the point "final". Raises NoSuchTurn.
    """
    if type(turn) is not int:
        raise NoSuchTurn(f"{turn!r:.60} is no turn; name a whole number, such as 3.")
    if point is not None and point not in POINTS:
        raise NoSuchTurn(f"{point!r:.60} is no point of turn {turn}; a point is \"A\", \"B\" or \"final\".")
    try:
        return kept(folder).load(folder, turn, point)
    except NoSuchTurn as error:
        raise NoSuchTurn(f"{error}{_where_else(folder, turn)}") from None


def kept(folder):
    """The module that keeps the saves of a branch, turns or history. Raises a CheckpointError for a folder that has none."""
    way, name = way_of(folder), home_of(folder).name
    if way == "file" and not os.path.isdir(folder):
        raise CheckpointMissing(f"There is no folder {name} here; name the folder of a branch, such as checkpoints.")
    if way == "file" and not os.access(folder, os.R_OK | os.X_OK):
        raise CheckpointUnreadable(f"{name} can't be looked into; make it readable and try again.")
    if way == "file":
        raise CheckpointMissing(f"{name} keeps no turns to go back to; run the agent with keep=\"turns\" or keep=\"history\".")
    return {"turns": turns, "history": history}[way]


def _where_else(folder, turn):
    """Where a turn is that this timeline doesn't have, as an ending for the sentence that says so."""
    with suppress(CourseError):
        left = kept(folder).left_at(folder, turn)
        if left:
            return f" It is in {left}, which a rewind has left."
        parent = lineage_of(load_latest(folder=folder)).get("parent")
        if parent and turn < parent["turn"]:
            return f" What came before turn {parent['turn']} is in {Path(parent['folder']).name}."
    return ""
