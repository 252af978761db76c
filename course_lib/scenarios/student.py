"""A student's own functions in a child process: their file calls announce, their errors get a line.

In the library's functions storage and tools announce the moments. A student's function
calls open, write and rename itself, so in its child these calls announce for it: each is
an instant at which the process can really be killed. Library code that the function calls
speaks for itself, as always.

Left out: calls through a C extension or another process.
"""
import builtins
import inspect
import io
import linecache
import os
import sys
import traceback

from .. import checkpoint
from ..moments import crash_point, current

_WRITES = {"save_effect": "effect-write", "save_effects": "effect-write"}
_here = []  # the stand-ins under way, innermost last


class StandIn:
    """A student's function in place of the library's function ``name``."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def __call__(self, *args, **kwargs):
        self.write, self.calls = _write_of(self.name, args), 0
        before = self._announced()
        _here.append(self)
        try:
            value = self.function(*args, **kwargs)
        finally:
            _here.pop()
        if self.write and self.calls and self._announced() == before:
            crash_point(f"after-{self.write}", **_facts(self.name, args))
        return value

    def file_call(self, what):
        self.calls += 1
        crash_point(f"mid-{self.write}" if self.write else f"in-{self.name}", call=what)

    def _announced(self):
        return current().counts.get(f"after-{self.write}")


def stand_ins(functions):
    """The functions as a Run takes them, and from now on their file calls announce."""
    files = _files(functions)
    if files:
        _announce_file_calls(files)
    return {name: StandIn(name, function) for name, function in functions.items()}


def blame(error, functions):
    """What to say of an error that came out of a run with a student's functions, and their frame, if it was theirs.

    Gives ``(sentence, (function's name, line))``, the second None where none of their code was on the way.
    """
    said = f"{type(error).__name__}: {error}".rstrip(": ")
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in _files(functions)]
    if frames:
        return f"Your {frames[-1].name} raised {said}", (frames[-1].name, frames[-1].lineno)
    if isinstance(error, TypeError) and functions:
        return f"Your function was not called as it wants to be ({said}); give it the parameters of the one it stands in for", None
    return f"The run broke off: {said}", None


def place(functions, name, line):
    """A line of a student's code as one says it: ``line 3: hit = effects[...]``.

    Looked up where the code was written; in the child it has lost its file.
    """
    known = [inspect.unwrap(function) for function in functions.values() if hasattr(function, "__code__")]
    named = [*known, *(function.__globals__.get(name) for function in known)]
    file = next((f.__code__.co_filename for f in named if getattr(f, "__name__", "") == name and hasattr(f, "__code__")),
                known[0].__code__.co_filename if known else "")
    text = linecache.getline(file, line).strip()
    return f"line {line}: {text}" if text else f"line {line}"


def _files(functions):
    return {inspect.unwrap(function).__code__.co_filename for function in functions.values() if hasattr(function, "__code__")}


def _write_of(name, args):
    if name == "save_checkpoint" and len(args) > 1:
        return checkpoint.moment_of(args[1])
    return _WRITES.get(name)


def _facts(name, args):
    pending = args[1]["pendingToolUse"] if name == "save_checkpoint" else None
    return {"pending": pending and pending["name"]}


def _announce_file_calls(files):
    opening = builtins.open

    def announcing_open(file, mode="r", *args, **kwargs):
        opened = opening(file, mode, *args, **kwargs)
        if "r" in mode and "+" not in mode or not _from_student(files):
            return opened
        _here[-1].file_call(f"open {_name(file)} for writing")
        return _Announcing(opened, _name(file))

    def announcing(function, what):
        def call(*args, **kwargs):
            if _from_student(files):
                _here[-1].file_call(what(*args))
            return function(*args, **kwargs)
        return call

    builtins.open = io.open = announcing_open
    os.replace = announcing(os.replace, lambda a, b, *_: f"replace {_name(b)} by {_name(a)}")
    os.rename = announcing(os.rename, lambda a, b, *_: f"rename {_name(a)} to {_name(b)}")
    os.fsync = announcing(os.fsync, lambda *_: "fsync")
    os.write = announcing(os.write, lambda fd, data, *_: f"write {len(data)} bytes")
    os.remove = announcing(os.remove, lambda path, *_: f"remove {_name(path)}")
    os.unlink = announcing(os.unlink, lambda path, *_: f"remove {_name(path)}")


class _Announcing:
    """A file open for writing. A write stops half way; of many small ones each doubling of the size stops."""

    def __init__(self, file, name):
        self._file, self._name = file, name
        self._size, self._next = 0, 1

    def write(self, data):
        self._size += len(data)
        if self._size < self._next:
            return self._file.write(data)
        self._next = 2 * self._size
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        _here and _here[-1].file_call(f"write {self._name}")
        self._file.write(data[half:])
        return len(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __getattr__(self, name):
        return getattr(self._file, name)


def _from_student(files):
    """Whether the nearest code that is not Python's own is the student's, not the library's."""
    frame = sys._getframe(2) if _here else None
    while frame is not None:
        if frame.f_code.co_filename in files:
            return True
        if frame.f_globals.get("__name__", "").startswith("course_lib.") and frame.f_globals["__name__"] != __name__:
            return False
        frame = frame.f_back
    return False


def _name(path):
    return os.path.basename(os.fspath(path)) if isinstance(path, (str, bytes, os.PathLike)) else f"file {path}"
