"""Every instant worth dying at, and the run it belongs to.

Storage, tools and the loop announce each instant under one label. Whatever wants to
know listens to that one stream: the log lines, the crash points, the recorder behind
a timeline. They can't disagree, because there is nothing else to listen to.

A simulated crash is raised from here. It leaves out what only a real kill shows
(buffers of the operating system, half-flushed pages); scenarios/child.py kills for real.
"""
import re
import secrets
import sys
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timezone

from .errors import CourseError

# In the order of one turn. A mid-… label lies in the middle of a write: the temp file
# holds the first half of the bytes and the old file is still in place.
LABELS = (
    "before-request", "after-response",
    "mid-save-a", "after-save-a",
    "after-approval", "mid-intent", "after-intent", "mid-tool", "after-tool",
    "mid-effect-write", "after-effect-write",
    "mid-save-b", "after-save-b",
    "mid-final-save", "after-final-save",
)
ALERT = "alert"  # the remark that carries a line for a person


class SimulatedCrash(BaseException):
    """The process dies here. A BaseException, so no ``except Exception`` survives it."""


@dataclass(frozen=True)
class Moment:
    """One announcement.

    label: one of LABELS, a label of a student's own, or a remark's name.
    count: which time this label happens within this start or resume, from 1; 0 for a remark.
    turn: the turn under way; reconciling: whether a resume is closing an old turn.
    facts: what the announcer knows, such as ``{"pending": "write_report"}``.
    """

    label: str
    count: int
    turn: int
    reconciling: bool = False
    facts: dict = field(default_factory=dict)


def utc_now():
    """The time as the ledger writes it: UTC, ISO 8601, milliseconds, ``Z``."""
    return as_text(datetime.now(timezone.utc))


def as_text(time):
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Run:
    """What belongs to one start or resume, and ends with it.

    crash_after: ``(label, n)`` raises SimulatedCrash at the n-th time of the label.
    listeners: callables that get every Moment, before any crash.
    durability: ``"power-loss"`` syncs file and folder at each save, ``"kill"`` syncs nothing.
    clock: gives the text of a ledger entry's ``at``.
    functions: a student's own functions, by the name of the one they stand in for.
    quiet: alerts go to the listeners only, not to stderr as well.
    new_id: gives the run id of a branch that begins here.

    Use it as ``with Run(...) as run:``; calls made outside any run get a plain one each.
    """

    def __init__(self, *, crash_after=None, listeners=(), durability="power-loss", clock=utc_now, functions=None, quiet=False,
                 new_id=lambda: secrets.token_hex(4)):
        if durability not in ("power-loss", "kill"):
            raise ValueError(f"durability is power-loss or kill, not {durability}")
        self.crash_after = crash_after
        self.listeners = list(listeners)
        self.durability = durability
        self.clock = clock
        self.functions = dict(functions or {})
        self.quiet = quiet
        self.new_id = new_id
        self.counts = {}
        self.unwritten = {}  # ledger entries whose write failed; they go out with the next one
        self.books = {}  # the histories it has read, by path (history.py)
        self.fence = lambda: None  # asked before each save: raises when the folder is no longer ours (guard.py)
        self.owned = set()  # the locks it holds
        self.unlocked = None  # why the folder could not be locked
        self.family = None  # what the branches of one origin have in common; goes into each ledger entry
        self.similar = lambda call: []  # effects of other branches and timelines that look like a call (standing.py)
        self.turn = 0  # the turn under way
        self.approve = None  # who answers at the approval gate, as run_tool_uses takes it
        self.key = None  # the idempotency key of the call under way, where the outside is to be given one
        self.reconciling = False  # True while a resume closes the turn that the crash cut short
        self.folder = self.last = None  # of the start or resume under way in it, and of the last one
        self._tokens = []

    def __enter__(self):
        self._tokens.append(_current.set(self))
        return self

    def __exit__(self, *_):
        _current.reset(self._tokens.pop())

    def is_watched(self):
        """Whether anybody hears of its moments, or it is to die at one."""
        return bool(self.listeners or self.crash_after)

    def announce(self, label, facts):
        count = self.counts[label] = self.counts.get(label, 0) + 1
        self._tell(label, count, facts)
        if self.crash_after == (label, count):
            raise SimulatedCrash(f"simulated kill at {label}:{count}")

    def remark(self, name, facts):
        self._tell(name, 0, facts)

    def _tell(self, label, count, facts):
        moment = Moment(label, count, self.turn, self.reconciling, facts)
        for listener in self.listeners:
            listener(moment)


_current = ContextVar("course_lib run")


def current():
    """The Run under way here, or a plain new one."""
    return _current.get(None) or Run()


@contextmanager
def own_run(folder, *, goes_on=False):
    """The current Run, for one start or resume in that folder; where one is under way already, as when a tool runs an agent, a new one.

    goes_on: whether what is still to be written there may be of an earlier one.
    """
    outer = current()
    if outer.folder is not None:
        run = Run(durability=outer.durability, clock=outer.clock, new_id=outer.new_id, quiet=outer.quiet)
    else:
        run = outer
    with run:
        if not goes_on or run.last != folder:
            run.unwritten.clear()
        run.folder, run.last, run.family, run.approve, run.similar = folder, folder, None, None, lambda call: []
        try:
            yield run
        finally:
            run.folder = None


def crash_point(label, /, **facts):
    """Announce an instant; if the run is to die here, it dies here. (lesson 6)"""
    current().announce(label, facts)


def remark(name, /, **facts):
    """Tell the listeners something that is no place to die, such as reconcile's verdict."""
    current().remark(name, facts)


def alert(text):
    """Tell a person something that neither the model nor the caller can act on."""
    remark(ALERT, text=text)
    if not current().quiet:
        with suppress(OSError, ValueError):  # nobody can be told, and what is under way must not suffer from that
            print(plain(text), file=sys.stderr)


def plain(text):
    """Text from a file or a model as a terminal may have it: no line breaks, no escape codes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def part(function):
    """The student's own function of that name where the run has one, else the library's."""
    return current().functions.get(function.__name__, function)


def parse_crash_after(text):
    """``"after-save-a:3"`` → ``("after-save-a", 3)``; ``""`` or None → None.

    Raises CourseError for an unknown label or a number that is no count.
    """
    if not text:
        return None
    label, _, n = text.partition(":")
    if label not in LABELS or not re.fullmatch("0*[1-9][0-9]{0,8}", n):
        problem = "needs a count from 1 up after the label" if label in LABELS else "names no moment"
        raise CourseError(f"CRASH_AFTER={text} {problem}; write it as LABEL:N, such as after-save-a:1, with one of: {', '.join(LABELS)}.")
    return label, int(n)
