"""A small disk with a volatile cache: what a save may leave when the power goes. (lesson 2, beyond)

A way of writing is a list of operations, as plain tuples:

    ("create", name)                 ("fsync", name)
    ("write", name, start, data)     ("rename", name, new_name)
    ("truncate", name, size)         ("fsync folder",)

A killed process is the easy case: the operating system lives on, and what was asked for counts.
When the power goes, only what had reached the disk counts. Names (create, rename) reach it in
the order they were asked for, contents at any time and perhaps in part, and neither waits for
the other. A file's fsync forces its contents out, the folder's fsync the names.

This is the worst that POSIX allows; most file systems are kinder, and none promises to be.
Left out: blocks that arrive out of order, links, more than one folder, drives that lie.
"""
import itertools
import os
from pathlib import Path

from .. import storage
from ..moments import Run


def plain(name, data):
    """What ``open(name, "w").write(data)`` does to a file that is there."""
    return [("truncate", name, 0), ("write", name, 0, data)]


def in_place(name, data):
    """What ``open(name, "r+")`` with a write from the start does, and then cutting off what is left of the old."""
    return [("write", name, 0, data), ("truncate", name, len(data))]


def atomic(name, data, durability="power-loss"):
    """What the library's write_atomic does, recorded from a run of it; the temp file's name without its random part."""
    system = _System(name)
    real, storage.os = storage.os, system
    try:
        with Run(durability=durability):
            storage.write_atomic(name, data, moment="save-a")
    finally:
        storage.os = real
    return system.operations


def without(operation, operations):
    """The operations less all of that kind, such as ``"fsync folder"``."""
    return [each for each in operations if each[0] != operation]


WRITERS = {  # the ways of writing, each (name, data) → operations
    "plain": plain,
    "rename": lambda name, data: atomic(name, data, durability="kill"),
    "file": lambda name, data: without("fsync folder", atomic(name, data)),
    "folder": lambda name, data: without("fsync", atomic(name, data)),
    "both": atomic,
}


def files_after_kill(operations, before, count):
    """The folder ``{name: bytes}`` when the process is killed right after its count-th written byte."""
    disk = _Disk(before)
    for operation in operations:
        if operation[0] == "write":
            _, name, start, data = operation
            disk.do(("write", name, start, data[:count]))
            count -= len(data)
            if count <= 0:
                break
        else:
            disk.do(operation)
    return disk.now()


def states_after_power_cut(operations, before):
    """Every folder ``{name: bytes}`` that may be left when the power goes once all the operations have returned."""
    disk = _Disk(before)
    for operation in operations:
        disk.do(operation)
    return disk.may_be_left()


def states_at_any_time(operations, before):
    """The same when the power may go earlier, too: before, between and after the operations."""
    states = []
    for issued in range(len(operations) + 1):
        states += [state for state in states_after_power_cut(operations[:issued], before) if state not in states]
    return states


class _Disk:
    """tables: which file each name may stand for on the disk; contents: what each file may hold there. What a reader sees is the last of each."""

    def __init__(self, before):
        self.tables = [{name: name for name in before}]
        self.contents = {name: [data] for name, data in before.items()}

    def do(self, operation):
        what, *rest = operation
        names = dict(self.tables[-1])
        if what == "fsync folder":
            self.tables = [names]
        elif what == "create":
            names[rest[0]] = file = len(self.contents)
            self.contents[file] = [b""]
            self.tables.append(names)
        elif what == "rename":
            names[rest[1]] = names.pop(rest[0])
            self.tables.append(names)
        else:
            self._change(what, self.contents[names[rest[0]]], *rest[1:])

    def _change(self, what, versions, *rest):
        now = versions[-1]
        if what == "fsync":
            versions[:] = [now]
        elif what == "truncate":
            versions.append(now[:rest[0]])
        elif what == "write":
            start, data = rest
            half, zeros = data[:len(data) // 2], bytes(len(data))  # the size may arrive before the bytes
            versions += [now[:start] + part + now[start + len(part):] for part in (half, zeros, data)]

    def now(self):
        return {name: self.contents[file][-1] for name, file in self.tables[-1].items()}

    def may_be_left(self):
        states = []
        for names in self.tables:
            for contents in itertools.product(*(self.contents[file] for file in names.values())):
                state = dict(zip(names, contents))
                if state not in states:
                    states.append(state)
        return states


class _System:
    """Stands in for ``os`` while write_atomic runs: it notes what it is asked for, and touches no disk."""

    name, path = "posix", os.path
    FIRST = 10**6  # far from any real file's number

    def __init__(self, target):
        self.target, self.operations, self.open_files, self.sizes = target, [], {}, {}

    def __getattr__(self, name):
        if name.startswith("O_"):
            return getattr(os, name)
        raise AttributeError(name)  # a call that is not noted here must not reach the disk unseen

    def stat(self, path):
        raise FileNotFoundError(path)  # asking changes nothing; to the writer each file is a new one

    def open(self, path, flags, mode=0o777):
        fd = self.FIRST + len(self.open_files)
        self.open_files[fd] = self._name(path) if flags & os.O_CREAT else None  # None: the folder
        if self.open_files[fd]:
            self._note("create", self.open_files[fd])
        return fd

    def write(self, fd, data):
        name = self.open_files[fd]
        start = self.sizes.get(name, 0)
        self.sizes[name] = start + len(data)
        self._note("write", name, start, bytes(data))
        return len(data)

    def fsync(self, fd):
        name = self.open_files[fd]
        self._note(*(("fsync", name) if name else ("fsync folder",)))

    def replace(self, source, target):
        source, target = self._name(source), self._name(target)
        self.open_files = {fd: target if name == source else name for fd, name in self.open_files.items()}
        self._note("rename", source, target)

    def close(self, fd):
        pass

    def _name(self, path):
        return self.target if Path(path).name == self.target else f"{self.target}.tmp"

    def _note(self, *operation):
        self.operations.append(operation)
