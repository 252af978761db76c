"""Power cuts: a real run's writes put to the disk model, and every folder that may be left gone on from.

scenarios/disk.py says what one save may leave. Here the whole run is cut, after each of its
operations on the harness's files; what tools did outside counts as happened.
"""
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from .. import storage
from ..scenarios.disk import states_after_power_cut, without
from ..scenarios.matrix import memory_folder
from ..scenarios.policies import start_under
from ..scenarios.runner import Outcome
from .beliefs import can_resume
from .promises import broken
from .stories import OURS, Life, Teller, masked, put, take


def cut(case, story, *, dropped=None, progress=lambda story: None):
    """Let the power go at every instant of the story's next life, go on to the end, and give what is wrong, as kills.sweep does.

    dropped: leave out one kind of sync, ``"fsync"`` or ``"fsync folder"``; then the first wrong story is given and no more.
    """
    found = []
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder:
        teller = Teller(case, folder)
        for number, last, files in states(*watch(case, folder, story), story.files, dropped):
            fate = f"lost its power after operation {number} ({' '.join(last[:2])})" if last else "lost its power before its first write"
            left = story.then(Life(can_resume(story.files), Outcome("killed", "the power went"), files, fate))
            ended = teller.go_on(left)
            found += [(rule, f"{ended} {detail}") for rule, detail in broken(case, ended, teller.go_on(ended).lives[-1])]
            progress(left)
            if dropped and found:
                break
    return found


def watch(case, folder, story):
    """The operations of the story's next life on the harness's files, in the disk model's terms, and the world before each and at the end."""
    put(folder, story.files)
    watching = _Watching(Path(folder))
    with mock.patch.object(storage, "os", watching), mock.patch.object(storage, "_sync", watching.fsync):  # macOS has a stronger sync of its own
        start_under(case.policy, case.scenario, folder, resume=can_resume(story.files), durability="power-loss")
    watching.look()
    return watching.operations, watching.worlds


def states(operations, worlds, before, dropped=None):
    """Each folder that a power cut may leave, once: (how many operations were issued, the last of them, the files)."""
    ours = {name: data for name, data in before.items() if name in OURS}  # what a resume sweeps is gone with its first save
    seen = set()
    for issued in range(len(operations) + 1):
        done = operations[:issued]
        for state in states_after_power_cut(without(dropped, done), ours):
            for world in worlds[max(issued - 1, 0):issued + 1]:  # the tool between two operations has run, or it has not
                key = tuple(masked({**world, **state}))
                if key not in seen:
                    seen.add(key)
                    yield issued, done[-1] if done else None, {**world, **state}


@dataclass
class _Watching:
    """Stands in for ``os`` in the storage module: passes everything on, and notes what changes a file."""

    folder: Path
    operations: list = field(default_factory=list)
    worlds: list = field(default_factory=list)
    files: dict = field(default_factory=dict)  # number of an open file → its name, None for the folder

    name, path = os.name, os.path
    HARMLESS = {"stat", "fstat", "scandir", "fchmod", "read", "lseek", "close", "strerror", "SEEK_SET", "SEEK_CUR", "SEEK_END"}

    def __getattr__(self, name):
        if name in self.HARMLESS or name.startswith("O_"):
            return getattr(os, name)
        raise AttributeError(f"{name} is not noted here, so it must not reach the disk unseen")

    def look(self):
        """Keep what the world holds now."""
        self.worlds.append({name: data for name, data in take(self.folder).items() if not name.startswith(OURS)})

    def open(self, path, flags, mode=0o777):
        name = None if Path(path) == self.folder else Path(path).name
        if flags & os.O_CREAT and not os.path.exists(path):
            self._note("create", name)
        number = os.open(path, flags, mode)
        self.files[number] = name
        return number

    def write(self, number, data):
        self._note("write", self.files[number], os.lseek(number, 0, os.SEEK_CUR), bytes(data))
        return os.write(number, data)

    def ftruncate(self, number, size):
        self._note("truncate", self.files[number], size)
        os.ftruncate(number, size)

    def truncate(self, path, size):
        self._note("truncate", Path(path).name, size)
        os.truncate(path, size)

    def fsync(self, number, data_only=False):
        name = self.files[number]
        self._note(*(("fsync", name) if name else ("fsync folder",)))

    def replace(self, source, target):
        self._note("rename", Path(source).name, Path(target).name)
        os.replace(source, target)

    def _note(self, *operation):
        self.look()
        self.operations.append(operation)
