"""The child of driver.Child: runs an answer, and asks the parent for everything that counts.

A script of its own, with the standard library only: nothing of the course is imported here, so
there is nothing of it to patch. It speaks JSON Lines on what were its stdin and stdout. Limits
are set before the answer is loaded; the parent and the sandbox do not rely on them.
"""
import builtins
import contextlib
import faulthandler
import io
import json
import os
import signal
import sys
import threading
import traceback
import types
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None

MEMORY, FILE_SIZE, FILES = 512 << 20, 1 << 20, 64  # a file that is deleted and still open is one that nobody else can see, so there is not much to hide in one


class Channel:
    """One message out, one in, whichever thread it is in."""

    def __init__(self):
        self.source, self.sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        self.lock = threading.RLock()

    def say(self, message, default=None):
        self.sink.write(json.dumps(message, default=default).encode() + b"\n")
        self.sink.flush()

    def hear(self):
        line = self.source.readline()
        if not line:
            os._exit(0)  # the parent is gone
        return json.loads(line, object_hook=self.revive)

    def ask(self, message):
        with self.lock:
            self.say(message, default=describe)
            return self.hear()

    def revive(self, found):
        if "$path" in found:
            return Path(found["$path"])
        if "$response" in found:
            return Response(found["$response"])
        if "$fake" in found:
            return Fake(self, found["$fake"], found["attributes"])
        return found


class Fake:
    """Something of the parent's."""

    def __init__(self, channel, number, attributes):
        self.__dict__.update(attributes)
        self._channel, self._number = channel, number

    def __call__(self, /, *args, **kwargs):
        reply = self._channel.ask({"ask": self._number, "args": args, "kwargs": kwargs})
        if "raise" in reply:
            raise (TypeError if "misused" in reply else RuntimeError)(reply["raise"])
        return reply["reply"]


class Response:
    """What the model's client gives back, as far as the course reads it."""

    def __init__(self, body):
        self.__dict__.update(body)
        self._body = body

    def to_dict(self):
        return json.loads(json.dumps(self._body))


def main():
    channel = Channel()
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    channel.say({"up": True})
    job = channel.hear()
    limit(job["cpu"], channel)
    if job["ascii"]:
        know_ascii_only()
    sys.addaudithook(watcher(channel))
    answer = sys.modules["answer"] = types.ModuleType("answer")  # a module as any other, since dataclasses and the like look for it
    namespace = answer.__dict__
    attempt = in_time(job["patience"], channel)
    doing = {
        "call": lambda job: namespace[job["call"]](*job["args"], **job["kwargs"]),
        "value": lambda job: namespace[job["value"]],
        "run": lambda job: run(job["run"], "more", namespace),
        "dies_at_byte": lambda job: die_at_byte(job["dies_at_byte"]),
    }
    ended = attempt(lambda: run(job["text"], "answer", namespace) or defined(namespace))
    while True:
        with channel.lock:
            try:
                channel.say(ended, default=describe)
            except (TypeError, ValueError, RecursionError):  # a key that is no text, a circle
                channel.say({"ended": "returned", "value": describe(ended["value"])})
        job = channel.hear()
        ended = attempt(lambda: doing[next(iter(job))](job))


def run(text, name, namespace):
    exec(compile(text, name, "exec"), namespace)


def defined(namespace):
    return [[name, callable(value)] for name, value in namespace.items() if not name.startswith("__")]


def in_time(seconds, channel):
    """attempt, with a limit of the clock."""
    def limited(function):
        faulthandler.dump_traceback_later(seconds, exit=True, file=channel.sink)
        try:
            return attempt(function)
        finally:
            faulthandler.cancel_dump_traceback_later()
    return limited


def attempt(function):
    """Call it; how that ended, as a message."""
    try:
        return {"ended": "returned", "value": function()}
    except BaseException as error:
        lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == "answer"]
        if isinstance(error, SyntaxError) and error.filename == "answer":
            lines = [error.lineno]
        said = {"ended": "raised", "error": type(error).__name__, "kinds": [kind.__name__ for kind in type(error).__mro__], "line": lines[-1] if lines else None}
        with contextlib.suppress(BaseException):  # an error's own text may be as odd as the error
            return {**said, "text": error.msg if isinstance(error, SyntaxError) else str(error)[:2000]}
        return {**said, "text": ""}


def describe(value):
    """What JSON can't hold, in words."""
    try:
        return {"$object": repr(value)[:200]}
    except BaseException:
        return {"$object": type(value).__name__}


def know_ascii_only():
    """From now on a text file that is opened without a named encoding is one in ASCII, on whichever system; the names of files are as ever."""
    opening = open

    def open_as_ascii(file, mode="r", buffering=-1, encoding=None, *rest, **options):
        if "b" not in mode and encoding in (None, "locale"):  # pathlib and the like say "locale" for none
            encoding = "ascii"
        return opening(file, mode, buffering, encoding, *rest, **options)

    builtins.open = io.open = open_as_ascii


def limit(cpu, channel):
    """Bounds on work, memory and file sizes; where the time is over, the last words are the place it was at."""
    if resource is None:
        return
    faulthandler.register(signal.SIGXCPU, file=channel.sink, chain=True)
    for what, soft, hard in [("RLIMIT_CPU", cpu, cpu + 1), ("RLIMIT_AS", MEMORY, MEMORY), ("RLIMIT_FSIZE", FILE_SIZE, FILE_SIZE),
                             ("RLIMIT_NOFILE", FILES, FILES), ("RLIMIT_CORE", 0, 0)]:
        with contextlib.suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, what), (soft, hard))


def die_at_byte(n):
    if resource is None:
        return False
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    return True


def watcher(channel):
    """An audit hook, which nobody can take away again: tells the parent of each file call that changes something, before it happens.

    It also keeps an answer from ending the parent: a slip there would take the notebook's kernel with it.
    """
    parent = os.getppid()
    spared = {parent, 1, -1, os.getpgid(parent) if hasattr(os, "getpgid") else parent}
    writing = os.O_WRONLY | os.O_RDWR
    kinds = {"os.rename": ("rename", 2), "os.remove": ("remove", 1), "os.truncate": ("truncate", 1), "os.link": ("link", 2)}

    def watch(event, args):
        if event == "open":
            if isinstance(args[2], int) and args[2] & writing and args[0] != os.devnull:
                channel.ask({"file": "open", "paths": [place_of(args[0])]})
        elif event in ("os.kill", "os.killpg") and args[0] in spared:
            raise PermissionError("an answer may not end the process that checks it")
        elif event in kinds:
            kind, paths = kinds[event]
            channel.ask({"file": kind, "paths": list(map(place_of, args[:paths]))})
    return watch


def place_of(path):
    return os.path.abspath(os.fsdecode(path)) if isinstance(path, (str, bytes, os.PathLike)) else str(path)


if __name__ == "__main__":
    main()
