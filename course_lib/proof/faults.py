"""A disk that fails: at its n-th operation on the harness's own files, for every n, once or from then on.

In process, by standing in for the functions that the core calls. What the operating system
does by itself (a disk that is really full, a folder that is really read-only) is in sandbox.py.
"""
import builtins
import errno
import io
import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from .. import checkpoint, guard, ledger
from ..moments import ALERT
from ..scenarios import world
from ..scenarios.matrix import memory_folder
from ..scenarios.policies import start_under
from ..scenarios.runner import Outcome
from .beliefs import can_resume
from .promises import broken, lines_of
from .stories import OURS, Life, Teller, checkpoints, put, take

FAULTS = {  # what goes wrong: the system's number for it, and the operations that it can meet
    "disk full": (errno.ENOSPC, {"create", "write", "rename"}),
    "I/O error": (errno.EIO, {"create", "open", "write", "fsync", "close", "rename", "unlink", "list", "stat", "chmod"}),
    "read-only": (errno.EROFS, {"create", "rename", "unlink", "chmod"}),
    "no permission": (errno.EACCES, {"create", "open", "rename", "unlink", "list", "stat"}),
    "short write": (None, {"write"}),  # no error: the call takes half of what it was given, and says so
}
WRITING = {"create", "write", "chmod", "fsync", "close", "rename"}  # no save is one without these


@dataclass(frozen=True)
class Fault:
    """what: one of FAULTS. nth: of the operations that it can meet, from 1. lasting: it stays, instead of passing."""

    what: str
    nth: int
    lasting: bool = False

    @property
    def reason(self):
        """The operating system's words for it, or None."""
        number = FAULTS[self.what][0]
        return number and os.strerror(number)

    def __str__(self):
        return f"{self.what} {'from' if self.lasting else 'at'} its operation {self.nth}{' on' if self.lasting else ''}"


@dataclass(frozen=True)
class Failed:
    """One operation that failed: which, on which file, and how much had been asked of the model and done to the world by then."""

    operation: str
    file: str
    asked: int
    done: int


@dataclass
class Disk:
    """Within ``with Disk(folder, fault):`` the harness's files in the folder fail so. failed: every Failed, in order."""

    folder: Path
    fault: Fault
    failed: list = field(default_factory=list)

    BY_PATH = {"replace": "rename", "rename": "rename", "unlink": "unlink", "scandir": "list", "stat": "stat", "chmod": "chmod"}
    BY_NUMBER = {"fsync": "fsync", "fchmod": "chmod", "ftruncate": "write"}

    def __enter__(self):
        self.count, self.names, self.latest = 0, {}, ""  # names: of open files, by number
        stand_ins = [(os, "open", self._open), (os, "write", self._write), (os, "close", self._close),
                     (io, "open", self._io_open), (builtins, "open", self._io_open)]  # pathlib calls the one, everybody else the other
        stand_ins += [(os, name, self._by_path(operation)) for name, operation in self.BY_PATH.items()]
        stand_ins += [(os, name, self._by_number(operation)) for name, operation in self.BY_NUMBER.items() if hasattr(os, name)]
        self.patches = ExitStack()
        for module, name, stand_in in stand_ins:
            self.patches.enter_context(mock.patch.object(module, name, self._standing_in(getattr(module, name), stand_in)))
        return self

    def __exit__(self, *_):
        self.patches.close()

    def _standing_in(self, real, how):
        return lambda *arguments, **options: how(real, *arguments, **options)

    def _by_path(self, operation):
        def call(real, path, *arguments, **options):
            self._meet(operation, self._ours(path))
            return real(path, *arguments, **options)
        return call

    def _by_number(self, operation):
        def call(real, number, *arguments):
            self._meet(operation, self.names.get(number))
            return real(number, *arguments)
        return call

    def _close(self, real, number):
        real(number)  # as Linux does it: closed, whatever it says
        self._meet("close", self.names.pop(number, None))

    def _open(self, real, path, flags, *arguments, **options):
        name = self._ours(path)
        self._meet("create" if flags & os.O_CREAT else "open", name)
        number = real(path, flags, *arguments, **options)
        if name:
            self.names[number] = name
        return number

    def _io_open(self, real, path, mode="r", *arguments, **options):
        self._meet("open" if mode.startswith("r") else "create", self._ours(path))
        return real(path, mode, *arguments, **options)

    def _write(self, real, number, data):
        if self._meet("write", self.names.get(number)):
            data = data[:(len(data) + 1) // 2]
        return real(number, data)

    def _ours(self, path):
        """The name of a file that is the harness's; for the folder that of the file it was about."""
        path = Path(path) if isinstance(path, (str, Path)) else None
        if path == self.folder:
            return self.latest or "the folder"
        if path and path.parent == self.folder and path.name.startswith(OURS):
            self.latest = next(name for name in OURS if path.name.startswith(name))
            return self.latest
        return None

    def _meet(self, operation, name):
        """Raise, if the fault is to hit this operation; True where it is a short write."""
        number, operations = FAULTS[self.fault.what]
        if name is None or operation not in operations:
            return False
        self.count += 1
        if self.count < self.fault.nth or (self.count > self.fault.nth and not self.fault.lasting):
            return False
        books = {book: path.read_bytes() for book in (world.REQUESTS, world.JOURNAL) if (path := self.folder / book).exists()}  # not ours, so they are read
        self.failed.append(Failed(operation, name, *progress_of(books)))
        if number is None:
            return True
        raise OSError(number, os.strerror(number))


def live(case, folder, story, fault):
    """The story with one more life, in which the disk fails so; and every Failed of it."""
    put(folder, story.files)
    with Disk(Path(folder), fault) as disk:
        try:
            outcome = start_under(case.policy, case.scenario, folder, resume=can_resume(story.files), durability="power-loss")
        except OSError as error:
            outcome = Outcome("raw", f"{type(error).__name__}: {error}")
    files = take(folder)
    if any(each.file == guard.LOCK for each in disk.failed):
        files.pop(guard.LOCK, None)  # one that could not be taken away is a dead owner's, for the next to take over
    met = f"met {fault} ({disk.failed[0].operation} for {disk.failed[0].file})" if disk.failed else "met no fault"
    return story.then(Life(can_resume(story.files), outcome, files, f"{met} and ended: {outcome.text.rstrip('.')}")), disk.failed


def sweep(case, story, what, *, lasting=False, progress=lambda story: None):
    """Let the story's next life meet the fault at every operation, go on to the end on a good disk, and give what is wrong, as kills.sweep does."""
    found, nth = [], 0
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder:
        teller, whole = Teller(case, folder), checkpoints(case, story)
        while True:
            nth += 1
            fault = Fault(what, nth, lasting)
            hit, failed = live(case, folder, story, fault)
            if not failed:
                return found
            wrong = list(misbehaved(hit.lives[-1], fault, failed))
            if hit.files.get(checkpoint.FILE) not in whole:
                wrong.append(("torn", f"{checkpoint.FILE} is neither the old nor the new one."))
            else:
                ended = hit if hit.lives[-1].outcome.status == "done" else teller.go_on(hit)
                forgiven = {"unrecorded"} if any("[ledger write failed]" in text for text in alerts(hit.lives[-1])) else set()
                wrong += [(rule, detail) for rule, detail in broken(case, ended, teller.go_on(ended).lives[-1]) if rule not in forgiven]
            found += [(rule, f"{hit} {detail}") for rule, detail in wrong]
            progress(hit)


def misbehaved(life, fault, failed):
    """What DESIGN asks of a life whose disk fails, and this one did not do, as (rule, sentence)."""
    outcome = life.outcome
    if outcome.status == "raw":
        yield "raw", "The system's error came through as it was, without a sentence for a person."
    elif outcome.status == "error" and fault.reason and fault.reason not in outcome.text:
        yield "unsaid", "The sentence does not have the operating system's reason."
    fatal = next((each for each in failed if each.file not in (ledger.FILE, guard.LOCK) and each.operation in WRITING), None)
    if fatal and fault.reason:
        asked, done = progress_of(life.files)
        if outcome.status == "done":
            yield "silent", f"A {fatal.operation} for {fatal.file} failed, and the run came to its end."
        if (asked, done) != (fatal.asked, fatal.done):
            yield "went on", f"After the failure {asked - fatal.asked} more requests were sent and {done - fatal.done} more tools run."
    recording = [each for each in failed if each.file == ledger.FILE and each.operation in WRITING]
    if recording and fault.reason and outcome.status == "done" and not any(fault.reason in text for text in alerts(life)):
        yield "unheard", "An entry could not be written, and nobody was told."
    if fault.reason is None and outcome.status != "done":
        yield "fragile", "A short write is no error, and this one ended the run."


def progress_of(files):
    """How many requests the model was sent, and how many tools have run."""
    return len(lines_of(files, world.REQUESTS)), len(lines_of(files, world.JOURNAL))


def alerts(life):
    return [moment.facts["text"] for moment in life.outcome.moments if moment.label == ALERT]
