"""What the folder held at every moment of a run, kept as differences.

checkpoint.json holds the whole conversation, so keeping each version whole would grow
with the square of the length. A version is kept as the bytes that are new in it, and how
much of the version before stands in front of them and behind them.
"""
import os
import time
from pathlib import Path
from typing import NamedTuple

from ..guard import LOCK

FRESH = 50_000_000  # ns; clocks of file systems tick this coarsely or finer, so a younger stamp may hide a second change


class Version(NamedTuple):
    """The first ``head`` bytes of ``before``, then ``middle``, then what ``before`` has from ``tail`` on."""

    before: "Version | None"
    head: int
    middle: bytes
    tail: int
    size: int


class Recording:
    """A listener for Run: after a run, ``moments[i]`` and ``files(i)`` tell what was on disk then."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.moments = []
        self._versions = {}  # name → [(index of the moment it first shows at, its Version or None once it is gone)]
        self._latest = {}  # name → (its Version, the bytes)
        self._stamps = {}
        self._looked = 0

    def __call__(self, moment):
        self.moments.append(moment)
        self._look(len(self.moments) - 1)

    def files(self, index):
        """The folder at that moment: ``{name: bytes}``, sorted by name."""
        return {name: data for name in sorted(self._versions) if (data := self.version(name, index)) is not None}

    def version(self, name, index):
        """The bytes of one file at that moment, or None where there was none."""
        found = None
        for first, version in self._versions.get(name, []):
            if first > index:
                break
            found = version
        return None if found is None else _bytes(found)

    def changed(self, index):
        """The names of the files that this moment shows new, other or gone."""
        return sorted(name for name, versions in self._versions.items() if any(first == index for first, _ in versions))

    def _look(self, index):
        looked, self._looked = self._looked, time.time_ns()
        here = os.scandir(self.folder) if os.path.isdir(self.folder) else ()  # the code under study may remove it
        stamps = {entry.name: _stamp(entry) for entry in here if entry.name != LOCK and entry.is_file()}  # the lock tells of processes, not of the run
        for name in self._latest.keys() - stamps.keys():
            self._versions[name].append((index, None))
            del self._latest[name]
        for name, stamp in stamps.items():
            if stamp != self._stamps.get(name) or max(stamp[:2]) > looked - FRESH:
                self._keep(index, name, _read(os.path.join(self.folder, name)))
        self._stamps = stamps

    def _keep(self, index, name, data):
        version, before = self._latest.get(name, (None, None))
        if data == before:
            return
        if version is None:  # a temp file is much like the file it is to replace
            version, before = next((self._latest[other] for other in self._latest if name.startswith(other)), (None, b""))
        version = _difference(version, before, data)
        self._versions.setdefault(name, []).append((index, version))
        self._latest[name] = version, data


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def _stamp(entry):
    status = os.stat(entry.path)  # on Windows the entry itself may know an older state
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _difference(version, before, data):
    most = min(len(before), len(data))
    head = _longest(most, lambda a, b: before[a:b] == data[a:b])
    tail = _longest(most - head, lambda a, b: before[len(before) - b:len(before) - a] == data[len(data) - b:len(data) - a])
    return Version(version if head + tail else None, head, data[head:len(data) - tail], len(before) - tail, len(data))


def _longest(most, same):
    """How many of ``most`` bytes are the same before the first that is not; same(a, b) compares bytes a to b."""
    low, high = 0, most
    while low < high:
        n = (low + high + 1) // 2
        low, high = (n, high) if same(low, n) else (low, n - 1)
    return low


def _bytes(version):
    """Put a version together: each span of it is looked for in the version before until it is new there."""
    data, spans = bytearray(version.size), [(0, version.size, 0)]  # (start and end in this version, start in data)
    while spans:
        older, new = [], version.head + len(version.middle)
        for start, end, at in spans:
            for a, b, shift in ((0, version.head, 0), (version.head, new, None), (new, version.size, version.tail - new)):
                first, last = max(start, a), min(end, b)
                if first < last and shift is None:
                    data[at + first - start:at + last - start] = version.middle[first - a:last - a]
                elif first < last:
                    older.append((first + shift, last + shift, at + first - start))
        version, spans = version.before, older
    return bytes(data)
