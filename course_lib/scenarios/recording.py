"""What the folder held at every moment of a run, kept as differences.

checkpoint.json holds the whole conversation, so keeping each version whole would grow
with the square of the length. A version is kept as the bytes that are new in it and the
pieces it shares with the version before.
"""
import os
from pathlib import Path

SMALL = 100_000  # bytes; below this a file is always read, since a time stamp may miss a quick change


class Recording:
    """A listener for Run: after a run, ``moments[i]`` and ``files(i)`` tell what was on disk then."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.moments = []
        self._versions = {}  # name → [(index of the moment it first shows at, its pieces or None once it is gone)]
        self._stamps = {}
        self._latest = {}  # name → bytes

    def __call__(self, moment):
        self.moments.append(moment)
        self._look(len(self.moments) - 1)

    def files(self, index):
        """The folder at that moment: ``{name: bytes}``, sorted by name."""
        return {name: data for name in sorted(self._versions) if (data := self.version(name, index)) is not None}

    def version(self, name, index):
        """The bytes of one file at that moment, or None where there was none."""
        pieces = None
        for first, version in self._versions.get(name, []):
            if first > index:
                break
            pieces = version
        return None if pieces is None else b"".join(source[a:b] for source, a, b in pieces)

    def changed(self, index):
        """The names of the files that this moment shows new, other or gone."""
        return sorted(name for name, versions in self._versions.items() if any(first == index for first, _ in versions))

    def _look(self, index):
        stamps = {entry.name: _stamp(entry) for entry in os.scandir(self.folder) if entry.is_file()}
        for name in self._latest.keys() - stamps.keys():
            self._versions[name].append((index, None))
            del self._latest[name]
        for name, stamp in stamps.items():
            if stamp[1] < SMALL or self._stamps.get(name) != stamp:
                self._keep(index, name, (self.folder / name).read_bytes())
        self._stamps = stamps

    def _keep(self, index, name, data):
        before = self._latest.get(name)
        if data == before:
            return
        versions = self._versions.setdefault(name, [])
        old = versions[-1][1] if before is not None else []
        versions.append((index, _pieces(old, before or b"", data)))
        self._latest[name] = data


def _stamp(entry):
    status = entry.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


def _pieces(old, before, data):
    """data as pieces (source, start, end): what it shares with before at both ends, and its own middle."""
    head = _shared(before, data, lambda d, n: d[:n], min(len(before), len(data)))
    tail = _shared(before, data, lambda d, n: d[len(d) - n:], min(len(before), len(data)) - head)
    middle = data[head:len(data) - tail]
    return [*_cut(old, 0, head), *([(middle, 0, len(middle))] if middle else []), *_cut(old, len(before) - tail, len(before))]


def _shared(a, b, part, most):
    """The largest n up to most for which part(a, n) == part(b, n)."""
    low, high = 0, most
    while low < high:
        n = (low + high + 1) // 2
        low, high = (n, high) if part(a, n) == part(b, n) else (low, n - 1)
    return low


def _cut(pieces, start, end):
    """The pieces between two offsets of the bytes that the pieces make up."""
    found, at = [], 0
    for source, a, b in pieces:
        first, last = max(a, a + start - at), min(b, a + end - at)
        if first < last:
            found.append((source, first, last))
        at += b - a
    return found
