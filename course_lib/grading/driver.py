"""A student's program in a process of its own, which this side drives, watches and really kills.

The child holds the answer and nothing else. Tools, people, model and world are plain Python
functions on this side: the child can only ask for them, so what was done, how often and when is
counted here. Nothing that the child says or writes is believed except as data. A forged reply is
just a reply, a forged request for a tool is just one more call of it.

What keeps a hostile program from harming the machine is the sandbox, which is the caller's:
``with sandboxed(wrap): exercise.check(text)``.

Left out: on Windows the limits of a single process but for the time, and of memory in all
wherever there is no /proc.
"""
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from ..words import tr
from .exercise import CannotCheck
from .usage import disk_of, memory_of

CHILD = Path(__file__).with_name("child.py")  # needs the standard library only; nothing else of ours has to be readable in a sandbox
PATIENCE = 5.0  # seconds of the clock for one call into the answer
CPU = 1  # seconds of work that a child may do in all; a right answer needs a hundredth
MOST = 5_000  # messages of a child
LONGEST, IN_ALL = 1_000_000, 20_000_000  # bytes of one message, and of all
MEMORY, DISK = 512 << 20, 64 << 20  # bytes that a child may hold with all it has started, and that its folder may; each process and file has its own limit
LOOK = 0.1  # seconds between two looks at that

RETURNED, RAISED, KILLED, DIED, TIMEOUT, FLOOD, GREEDY = "returned", "raised", "killed", "died", "timeout", "flood", "greedy"

_wrap = ContextVar("sandbox", default=None)


@contextmanager
def sandboxed(wrap):
    """Start every child within this block through wrap(command, folder) → command.

    command: the list of words that would start the child, ``[python, flags…, child.py]``. folder:
    the absolute Path that the child works in; the only place it has to write to, and it must lie
    at the same path inside. Standard input and output are the channel and have to be passed on as
    they are; the environment is set already (no key, no home). SIGKILL to the process that wrap's
    command starts has to end all that is inside (bubblewrap: --die-with-parent, --unshare-pid).
    The block covers the thread it is in, so a pool opens it inside of its job.
    """
    token = _wrap.set(wrap)
    try:
        yield
    finally:
        _wrap.reset(token)


class Kill(Exception):
    """Raised by a function of this side to kill the child, for real, while it waits for the answer."""


class Fails(Exception):
    """Raised by a function of this side to raise an error in the child, with this text."""


@dataclass(frozen=True)
class Fake:
    """Something of this side's that the child can call, or that has such things as attributes.

    Called with other arguments than it has, it raises a TypeError in the child, as any function would.
    ``Fake(send, read_only=True)`` is called in the child like a function, and has ``.read_only`` there.
    """

    function: object = None
    attributes: dict = field(default_factory=dict)

    def __init__(self, function=None, **attributes):
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "attributes", attributes)


@dataclass(frozen=True)
class Response:
    """A model's response: in the child it has ``.to_dict()``, and the body's keys as attributes."""

    body: dict


@dataclass(frozen=True)
class Ended:
    """How one call into the answer ended.

    status: RETURNED with value; RAISED with error (its type's name), kinds (those it derives from),
    text and line (of the answer, or None); KILLED by this side; DIED by itself; TIMEOUT, with the
    line it was at; FLOOD: it said more than anybody reads; GREEDY: it took more memory or disk than there is for it.
    """

    status: str
    value: object = None
    error: str = ""
    kinds: tuple = ()
    text: str = ""
    line: int | None = None


class Child:
    """The answer, loaded in a process that works in folder. A context manager: leaving it ends the process.

    loaded: the Ended of running the answer's own text. names: what the text defines, ``{name: is it a
    function}``, in its order. Raises CannotCheck where the process can't be started.

    on_file: called as on_file(what, path), of "rename" and "link" as on_file(what, path, to), before each
    file call that changes something ("open", "rename", "remove", "truncate", "link"), and may raise
    Kill. The paths are as the child says them. It may be changed at any time.

    ascii: as on a machine whose own encoding knows nothing else, so that a file opened without a
    named one can hold nothing else either.
    """

    def __init__(self, text, folder, *, on_file=None, ascii=False):
        self.folder, self.names, self.on_file = Path(folder).resolve(), {}, on_file
        self._setup = {"text": text, "cpu": CPU, "patience": PATIENCE, "ascii": ascii}
        self._functions, self._heard, self._bytes = [], 0, 0
        self._over, self._greedy = threading.Event(), False

    def __enter__(self):
        encoding = ["-X", "utf8=0"] if self._setup["ascii"] else []  # in UTF-8 mode a named encoding and none look alike
        command = [sys.executable, "-I", "-S", "-B", *encoding, str(CHILD)]
        wrap = _wrap.get()
        command = wrap(command, self.folder) if wrap else command
        self._complaints = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen(command, cwd=self.folder, env=_environment(), stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=self._complaints, start_new_session=True)
        except OSError as error:
            self._complaints.close()
            raise CannotCheck(tr("No process could be started for the answer: {why}", why=error)) from error
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            with self._in_time():
                if self._hear() == {"up": True}:
                    self.loaded = self._follow(self._setup)
                elif self._greedy:  # what other children have left in the folder counts as well
                    self._gone(GREEDY)
                else:
                    raise CannotCheck(tr("The process for the answer did not come up: {why}", why=self._last_complaint()))
        except BaseException:
            self.__exit__()
            raise
        if self.loaded.status == RETURNED:
            self.names = _names(self.loaded.value)
        return self

    def __exit__(self, *_):
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._complaints):
            with suppress(OSError):
                stream.close()

    def call(self, name, *args, **kwargs):
        """Call a function of the answer's. Arguments: JSON values, Paths, functions, Fake, Response. Gives an Ended."""
        return self._ask({"call": name, "args": args, "kwargs": kwargs})

    def value(self, name):
        """What a name of the answer's stands for, as an Ended."""
        return self._ask({"value": name})

    def run(self, text):
        """Run more text in the answer's namespace, such as a function in place of one of its own. Gives an Ended."""
        return self._ask({"run": text})

    def dies_at_byte(self, n):
        """From now on the system kills the process at the moment it writes byte n of any file; False where no system does that."""
        return self._ask({"dies_at_byte": n}).value is True

    # --- the conversation ---------------------------------------------------------------

    def _ask(self, message):
        if self.loaded.status != RETURNED:  # it never came up, or is gone
            return self.loaded
        self._functions.clear()
        with self._in_time():
            return self._follow(message)

    def _follow(self, message):
        """Say something and answer what comes back for it, until the child has come to an end of it."""
        try:
            self._say(message)
            while (said := self._hear()) is not None:
                if not isinstance(said, dict):
                    return self._gone(FLOOD if said is _TOO_MUCH else DIED)
                if "ended" in said:
                    return _ended(said)
                self._answer(said)
        except Kill:
            return self._gone(KILLED)
        except OSError:  # nobody is listening any more
            pass
        return self._gone(GREEDY if self._greedy else TIMEOUT if self._too_late or self._at is not None else DIED)

    def _answer(self, said):
        if "file" in said:
            if self.on_file:
                self.on_file(str(said["file"])[:40], *_paths(said))
            return self._say({"go": True})
        number, args, kwargs = said.get("ask"), said.get("args"), said.get("kwargs")
        if not (type(number) is int and 0 <= number < len(self._functions) and isinstance(args, list) and isinstance(kwargs, dict)):
            return self._say({"raise": "This is no request that anybody here can answer."})
        function = self._functions[number]
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            return self._say({"raise": str(error), "misused": True})
        try:
            value = function(*args, **kwargs)
        except Fails as error:
            return self._say({"raise": str(error)})
        self._say({"reply": value})

    def _say(self, message):
        self._process.stdin.write(json.dumps(message, default=self._encode).encode() + b"\n")
        self._process.stdin.flush()

    def _hear(self):
        """The next message; None at the end, _TOO_MUCH where it is too long or one too many, and some text for what is no message."""
        line = self._process.stdout.readline(LONGEST)
        self._heard, self._bytes = self._heard + 1, self._bytes + len(line)
        if self._heard > MOST or self._bytes > IN_ALL or len(line) == LONGEST:
            return _TOO_MUCH
        if not line:
            return None
        try:
            return json.loads(line, parse_int=_whole)
        except (ValueError, RecursionError):
            return self._read_place(line)

    def _read_place(self, line):
        """The child's last words are where it stood when its time was over; anything else is noise."""
        rest = line + self._process.stdout.read(LONGEST)
        if b"most recent call first" not in rest:
            return _NOISE
        found = re.search(rb'File "answer", line (\d+)', rest)
        self._at = int(found[1]) if found else 0
        return None

    def _encode(self, value):
        if isinstance(value, Path):
            return {"$path": str(value)}
        if isinstance(value, Response):
            return {"$response": value.body}
        fake = value if isinstance(value, Fake) else Fake(value)
        if fake.function is not None and not callable(fake.function):
            raise TypeError(f"{value!r} can't be given to a child")
        self._functions.append(fake.function)
        return {"$fake": len(self._functions) - 1, "attributes": fake.attributes}

    # --- its end ------------------------------------------------------------------------

    @contextmanager
    def _in_time(self):
        self._too_late, self._at = False, None
        timer = threading.Timer(PATIENCE + 1, self._lose_patience)  # the child itself is first, and can say where it was
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _lose_patience(self):
        self._too_late = True
        self._kill()

    def _watch(self):
        while not self._over.wait(LOOK):
            if memory_of(self._process.pid) > MEMORY or disk_of(self.folder) > DISK:
                self._greedy = True
                self._kill()

    def _gone(self, status):
        self._kill()
        self._process.wait()
        self.loaded = Ended(status, line=self._at or None)
        return self.loaded

    def _kill(self):
        self._over.set()  # before anybody can get its number
        with suppress(OSError):  # there is nobody left
            os.killpg(self._process.pid, signal.SIGKILL) if hasattr(os, "killpg") else self._process.kill()

    def _last_complaint(self):
        self._kill()
        self._process.wait()
        self._complaints.seek(0)
        lines = self._complaints.read(LONGEST).decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:300] if lines else tr("it ended with exit code {code}.", code=self._process.returncode)


_TOO_MUCH, _NOISE = "too much", "noise"


def _whole(digits):
    """A whole number; one that is longer than Python reads is beyond all others."""
    return int(digits) if len(digits) <= 4000 else float(digits)


def _ended(said):
    if said["ended"] == RETURNED:
        return Ended(RETURNED, said.get("value"))
    kinds, line = said.get("kinds"), said.get("line")
    return Ended(RAISED, error=_word(said.get("error"), 100), kinds=tuple(map(str, kinds)) if isinstance(kinds, list) else (),
                 text=_word(said.get("text"), 500), line=line if type(line) is int else None)


def _names(value):
    """What the child says that the answer defines; nothing, where it says it in an odd way."""
    try:
        return {str(name): is_callable is True for name, is_callable in value}
    except (TypeError, ValueError):
        return {}


def _paths(said):
    """The one or two paths of a file call, such that they can be looked up and printed."""
    paths = said.get("paths")
    return [Path(str(path)[:4000].replace("\0", "").encode("utf-8", "replace").decode("utf-8"))
            for path in (paths if isinstance(paths, list) and len(paths) in (1, 2) else [paths])]


def _word(text, longest):
    return " ".join(str(text).split())[:longest].encode("utf-8", "backslashreplace").decode("utf-8")  # half a character can't be printed


def _environment():
    # What Python needs to start, and nothing of the teacher's or the student's: no key, no home.
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return {**kept, "PATH": os.defpath, "LANG": "C.UTF-8"}
