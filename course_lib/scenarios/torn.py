"""A save that is cut short, byte by byte, and what load_checkpoint makes of what is left. (lesson 2)

The bytes are two successive saves of a real run. Three ways of writing the second over the
first are killed after every byte; five are left to a power cut (see disk.py).
"""
import tempfile
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ..checkpoint import FILE, CheckpointError, load_checkpoint
from . import SALES_REPORT
from .disk import WRITERS, atomic, files_after_kill, in_place, plain, states_after_power_cut, states_at_any_time
from .experiment import Experiment

OLD, NEW, LIED = "old", "new", "lied"  # what a file that is accepted turns out to be; a refused one goes by its error's name
WAYS = {"plain": plain, "in place": in_place, "atomic": atomic}


class Reading(NamedTuple):
    """What load_checkpoint says. kind: OLD, NEW, LIED (accepted, and neither of the two), or the name of its error; text: the error's sentence."""

    kind: str
    text: str = ""


@lru_cache
def two_saves():
    """The bytes of checkpoint.json at Point B of turn 2 and, the next save, at Point A of turn 3."""
    recording = Experiment(SALES_REPORT).rehearse().recording
    at = {(moment.label, moment.count): index for index, moment in enumerate(recording.moments)}
    return recording.version(FILE, at["after-save-b", 2]), recording.version(FILE, at["after-save-a", 3])


def left_after_kill(way, count):
    """The folder when that way of writing the second save is killed right after its count-th byte: ``{name: bytes}``."""
    return files_after_kill(_ways()[way], {FILE: two_saves()[0]}, count)


@lru_cache
def answers(way):
    """What load_checkpoint says after each kill, from 0 bytes to all of them: one Reading's kind for each."""
    return [read(left_after_kill(way, count)).kind for count in range(len(two_saves()[1]) + 1)]


def kills(way):
    """How many kills end how: ``{kind: number}``."""
    return Counter(answers(way))


def power_cuts(writer, returned=False):
    """How a power cut may end under one of WRITERS: ``{kind: the folders that end so}``.

    returned: only cuts that come after the save has told its caller that all is done.
    """
    states = (states_after_power_cut if returned else states_at_any_time)(WRITERS[writer](FILE, two_saves()[1]), {FILE: two_saves()[0]})
    ends = {}
    for state in states:
        ends.setdefault(read(state).kind, []).append(state)
    return ends


def is_safe(writer):
    """Whether a power cut leaves the old save or the new one, and only the new one once the save has returned."""
    return set(power_cuts(writer)) <= {OLD, NEW} and set(power_cuts(writer, returned=True)) == {NEW}


def read(files):
    """What load_checkpoint says of the checkpoint in a folder. files: ``{name: bytes}``. Gives a Reading."""
    data = files.get(FILE)
    if data in two_saves():
        return Reading((OLD, NEW)[two_saves().index(data)])
    path = Path(_home().name) / "run" / FILE  # errors quote the folder's name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    if data is not None:
        path.write_bytes(data)
    try:
        load_checkpoint(path)
    except CheckpointError as error:
        return Reading(type(error).__name__, str(error))
    return Reading(LIED)


@lru_cache
def _home():
    return tempfile.TemporaryDirectory(prefix="course-")  # one for thousands of readings, gone when the process ends


@lru_cache
def _ways():
    return {name: way(FILE, two_saves()[1]) for name, way in WAYS.items()}
