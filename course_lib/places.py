"""Where in a run a save stands: (turn, point), such as (14, "B"); and which folder a branch is. (lesson 5)"""
import os
from pathlib import Path

from .checkpoint import moment_of
from .errors import CourseError

_POINTS = {"save-a": "A", "save-b": "B", "final-save": "final"}


class NoSuchTurn(CourseError):
    """The turn, or its Point A or B, was never saved in this branch."""


def home_of(folder):
    """The folder of a branch as a whole path, so that it has a name: also of "." and ".."."""
    try:
        return Path(os.path.abspath(folder))
    except FileNotFoundError:
        raise CourseError("The current folder is gone; change to another one and start again.") from None


def place(checkpoint):
    """(turn, point) of a scene: Point "A", Point "B", or the "final" answer, which is saved beside the last turn's B and not over it."""
    return checkpoint["turns"], _POINTS[moment_of(checkpoint)]


def pick(places, turn, point, folder):
    """The index of the place that is meant: the turn's last point, or the one named; a final answer only if named. Raises NoSuchTurn."""
    for index in range(len(places) - 1, -1, -1):
        if places[index][0] == turn and (places[index][1] == point if point else places[index][1] != "final"):
            return index
    there = f"it has turns {places[0][0]} to {places[-1][0]}" if places else "nothing is saved there yet"
    raise NoSuchTurn(f"{f'Point {point} of turn' if point else 'Turn'} {str(turn):.20} was never saved in {home_of(folder).name}: {there}.")
