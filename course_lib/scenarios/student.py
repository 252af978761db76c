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
from pathlib import Path

from .. import checkpoint, log
from ..errors import CourseError
from ..moments import crash_point, current
from ..values import MARK, storable

PARTS = ("load_checkpoint", "save_checkpoint", "load_effects", "save_effects", "save_effect",
         "perform", "run_tool_uses", "reconcile", "run_agent")  # what a function can stand in for
_WRITES = {"save_effect": "effect-write", "save_effects": "effect-write"}
_NOT_THEIRS = (str(Path(__file__).resolve().parents[1]), str(Path(os.__file__).parent), "<frozen ", "<string>")  # what dataclasses write is a <string>
_here = []  # the stand-ins under way, innermost last


class Ended(BaseException):
    """A student's function has ended the whole program, say by exit; no handler on the way is to stop that."""


class StandIn:
    """A student's function in place of the library's function ``name``. What it raises comes out as a sentence."""

    gave = None  # (name, value): what the last of them gave

    def __init__(self, name, function):
        self.name, self.function = name, function

    def __call__(self, *args, **kwargs):
        self.write, self.calls = _write_of(self.name, args), 0
        before = self._announced()
        _here.append(self)
        try:
            value = self.function(*args, **kwargs)
        except CourseError:  # a sentence already
            raise
        except BaseException as error:
            raise (CourseError if isinstance(error, Exception) else Ended)(_blame(self.name, error)) from error
        finally:
            _here.pop()
        StandIn.gave = self.name, value
        if self.write and self.calls and self._announced() == before:
            crash_point(f"after-{self.write}", **_facts(self.name, args))
        return value

    def file_call(self, what):
        self.calls += 1
        crash_point(f"mid-{self.write}" if self.write else f"in-{self.name}", call=what)

    def _announced(self):
        return current().counts.get(f"after-{self.write}")


def check(functions):
    """Raise CourseError for what can't stand in for a function of the library's."""
    for name, function in functions.items():
        if name not in PARTS:
            raise CourseError(f"There is no {name} to stand in for; a function of yours can be any of: {', '.join(PARTS)}.")
        if not callable(function):
            raise CourseError(f"{name} is to be a function of yours, and this is {function!r:.100}; give the function itself.")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise CourseError(f"Your {name} is async or has a yield, so calling it would run nothing; write a plain function.")


def sources(functions):
    """The text they and their helpers were written in, ``{file: lines}``: only the process that has the notebook can look it up."""
    plain = list(filter(None, map(_plain, functions.values())))
    near = [value for function in plain for value in list(function.__globals__.values())
            if getattr(value, "__module__", None) == function.__module__ and hasattr(value, "__code__")]
    return {file: linecache.getlines(file) for file in {function.__code__.co_filename for function in [*plain, *near]}}


def globals_of(function):
    """The globals that a function uses, by name."""
    plain = _plain(function)
    return {name: plain.__globals__[name] for name in plain.__code__.co_names if name in plain.__globals__} if plain else {}


def stand_ins(functions, sources):
    """The functions as a Run takes them, and from now on their file calls announce. In a child only."""
    linecache.cache.update({file: (0, None, lines, file) for file, lines in sources.items()})
    opening = open
    _announce_file_calls()
    found = {name: StandIn(name, function) for name, function in functions.items()}
    for function in filter(None, map(_plain, functions.values())):
        if inspect.unwrap(function.__globals__.get("open", opening)) is opening:
            function.__globals__.pop("open", None)  # a notebook has an open of its own around this one
        for name, stand_in in found.items():
            if function.__globals__.get(name) is stand_in.function:  # they call each other: that counts, too
                function.__globals__[name] = stand_in
    return found


def place(file, line):
    """A line of code as one says it: ``line 3: hit = effects[...]``."""
    text = linecache.getline(file, line).strip()
    return f"line {line}: {text:.100}" if text else f"line {line}"


def is_theirs(file):
    """Whether code from this file is the student's: neither ours nor Python's nor installed."""
    return not file.startswith(_NOT_THEIRS) and "site-packages" not in file


def broke_off(error):
    """What to say of an error that came from none of their functions; what the last of them gave may have led to it."""
    after = " after your {} gave {!r:.100}".format(*StandIn.gave) if StandIn.gave else ""
    return f"The run broke off{after}: {_words(error)}."


def _blame(name, error):
    said, frames = _words(error), [frame for frame in traceback.extract_tb(error.__traceback__) if is_theirs(frame.filename)]
    if not frames and isinstance(error, TypeError):
        return f"Your {name} was not called as it wants to be ({said}); give it the parameters of the one it stands in for."
    where = f", in {place(frames[-1].filename, frames[-1].lineno)}" if frames else ""
    name = frames[-1].name if frames else name
    if isinstance(error, SystemExit):
        return f"Your {name} called exit, which ends the whole program; let it return a value instead{where}."
    return f"Your {name} raised {said}{where}."


def _words(error):
    """An error as one line: its type and what it says, however odd that is."""
    said = storable(error)
    return log.plain(" ".join(f"{said[MARK]}: {said['text']:.300}".split())).rstrip(": ")


def _plain(function):
    """The Python function inside of a decorated or partial one or an object that can be called, or None."""
    function = inspect.unwrap(getattr(function, "func", function))
    found = function if hasattr(function, "__code__") else type(function).__call__
    return found if hasattr(found, "__code__") else None


def _write_of(name, args):
    if name == "save_checkpoint" and len(args) > 1:
        return checkpoint.moment_of(args[1])
    return _WRITES.get(name)


def _facts(name, args):
    pending = args[1]["pendingToolUse"] if name == "save_checkpoint" else None
    return {"pending": pending and pending["name"]}


def _announce_file_calls():
    opening, writing = builtins.open, os.write

    def announcing_open(file, mode="r", *args, **kwargs):
        opened = opening(file, mode, *args, **kwargs)
        if "r" in mode and "+" not in mode or not _from_student():
            return opened
        _here[-1].file_call(f"open {_name(file)} for writing")
        return _Announcing(opened, _name(file))

    def announcing_write(fd, data):
        if not _from_student():
            return writing(fd, data)
        half = len(data) // 2
        written = writing(fd, data[:half])
        _here[-1].file_call(f"write {len(data)} bytes")
        return written + writing(fd, data[half:])

    def announcing(function, what):
        def call(*args, **kwargs):
            if _from_student():
                _here[-1].file_call(what(*args))
            return function(*args, **kwargs)
        return call

    builtins.open = io.open = announcing_open
    os.write = announcing_write
    os.replace = announcing(os.replace, lambda a, b, *_: f"replace {_name(b)} by {_name(a)}")
    os.rename = announcing(os.rename, lambda a, b, *_: f"rename {_name(a)} to {_name(b)}")
    os.fsync = announcing(os.fsync, lambda *_: "fsync")
    os.remove = announcing(os.remove, lambda path, *_: f"remove {_name(path)}")
    os.unlink = announcing(os.unlink, lambda path, *_: f"remove {_name(path)}")


class _Announcing:
    """A file open for writing. A write stops half way; of many small ones each doubling of the size stops."""

    def __init__(self, file, name):
        self._file, self._name = file, name
        self._size, self._next = 0, 1

    def write(self, data):
        self._size += len(data) if isinstance(data, (str, bytes, bytearray, memoryview)) else 0  # anything else the file refuses
        if self._size < self._next:
            return self._file.write(data)
        self._next = 2 * self._size
        half = len(data) // 2
        self._file.write(data[:half])
        self._file.flush()
        _here and _here[-1].file_call(f"write {self._name}")
        self._file.write(data[half:])
        return len(data)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __iter__(self):
        return iter(self._file)

    def __getattr__(self, name):
        return getattr(self._file, name)


def _from_student():
    """Whether a stand-in is under way, and nothing of the library's own between it and here."""
    frame = sys._getframe(2) if _here else None
    while frame is not None:
        if frame.f_code is StandIn.__call__.__code__:
            return True
        name = frame.f_globals.get("__name__", "")
        if name.startswith("course_lib.") and name != __name__:
            return False
        frame = frame.f_back
    return False


def _name(path):
    return os.path.basename(os.fspath(path)) if isinstance(path, (str, bytes, os.PathLike)) else f"file {path}"
