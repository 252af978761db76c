"""Start or resume a scenario in a folder, and kill it: simulated in here, or for real in a child.

Both ways announce the same moments and leave the same bytes. Nothing is printed; the
terminal's lines are in the outcome.
"""
import base64
import io
import json
import marshal
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from .. import log
from ..agent import MAX_TURNS, run_agent
from ..errors import CourseError
from ..guard import owning, preflight, refuse_orphans
from ..model import RequestRefused, explain
from ..moments import Moment, Run, SimulatedCrash, part
from . import world
from .student import check, globals_of, is_theirs, place, sources

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 5.0  # seconds that code in a child may take from one moment to the next


@dataclass
class Outcome:
    """How one start or resume ended.

    status: "done", "killed" or "error". text: the final answer, the crash or the error.
    lines: what a terminal would show. moments: every Moment, in order. refused: whether the API
    would not take a request. cut_off: whether it was ended for taking too long. open_line: printed text whose line is not ended yet.
    """

    status: str = ""
    text: str = ""
    lines: list = field(default_factory=list)
    moments: list = field(default_factory=list)
    refused: bool = False
    cut_off: bool = False
    open_line: str = ""

    def end(self, status, text, line=None):
        self.status, self.text = status, text
        self.lines += filter(None, [self.open_line, line])
        self.open_line = ""
        return self


def start(scenario, folder, *, resume=False, crash_after=None, listeners=(), functions=None, max_turns=MAX_TURNS, durability="kill"):
    """Run the scenario in this process. crash_after: ``(label, n)`` or None. durability: as Run takes it. Gives an Outcome.

    functions: in place of the library's, see Run; what they raise is raised here.
    """
    outcome = Outcome()
    hear = _hearer(outcome)
    with Run(crash_after=crash_after, listeners=[hear, *listeners], durability=durability, clock=_clock(folder), functions=functions, quiet=True):
        try:
            text = work(scenario, folder, resume=resume, max_turns=max_turns)
        except SimulatedCrash as crash:
            return outcome.end("killed", str(crash), f"[kill] {crash}")
        except CourseError as error:
            outcome.refused = isinstance(error, RequestRefused)
            return outcome.end("error", explain(error), explain(error))
    return outcome.end("done", text, f"[done] {text}")


def start_in_child(scenario, folder, *, resume=False, crash_after=None, listeners=(), policy=None, functions=None, patience=PATIENCE):
    """The same in a process of its own, which is killed with SIGKILL at crash_after.

    The child stops at every moment until it is told to go on, so the kill hits the very
    instant; the listeners hear of each moment while the child stands still in it. policy:
    functions of ours; functions: a student's, whose file calls are moments too, and whose
    errors come back as a sentence. patience: seconds the code may take from one moment to the next.
    Raises CourseError where a function can't be carried into another process.
    """
    outcome, functions = Outcome(), functions or {}
    check(functions)
    job = _pack({"scenario": scenario, "folder": Path(folder).resolve(), "resume": resume, "policy": policy or {},
                 "functions": functions, "sources": sources(functions), "patience": patience})
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        with suppress(BrokenPipeError), subprocess.Popen(  # a broken pipe: it is gone already
                [sys.executable, "-P", "-m", "course_lib.scenarios.child"], cwd=folder if Path(folder).is_dir() else None, env=_environment(), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=complaints, text=True, encoding="utf-8", errors="replace", start_new_session=True) as child:
            guard = _Guard(child, patience + 3)
            try:
                _tell(child, job)
                if _follow(child, outcome, [_hearer(outcome), *listeners], crash_after, guard):
                    return outcome
            finally:
                guard.end()
        text, outcome.cut_off = _why_it_ended(child.returncode, complaints, patience, guard)
    return outcome.end("error", text, text)


def work(scenario, folder, *, resume, max_turns=MAX_TURNS):
    """One start or resume with the scenario's own world, model and tools, inside the current Run."""
    with owning(folder):
        if not resume:
            preflight(folder)
            refuse_orphans(folder)
            scenario.lay_out(folder)
        return part(run_agent)(scenario.client(folder), scenario.task, scenario.tools(folder), folder=folder, resume=resume,
                         max_turns=max_turns, approve=scenario.approve and scenario.approve(folder))


class _Guard:
    """Ends the child and all it has started, when it is done with or has been silent for too long.

    The child cuts slow code off by itself; this is for a child that can't, or whose own children
    hold its pipe open.
    """

    def __init__(self, child, seconds):
        self.child, self.seconds = child, seconds
        self.timer, self.lost_patience = None, False
        self.wait()

    def wait(self):
        """The time begins anew: the child has said something."""
        if self.timer:
            self.timer.cancel()
        self.timer = threading.Timer(self.seconds, self._lose_patience)
        self.timer.daemon = True
        self.timer.start()

    def end(self):
        self.timer.cancel()
        self._kill()

    def _lose_patience(self):
        self.lost_patience = True
        self._kill()

    def _kill(self):
        with suppress(OSError):  # there is nobody left
            os.killpg(self.child.pid, signal.SIGKILL) if hasattr(os, "killpg") else self.child.kill()


def _follow(child, outcome, listeners, crash_after, guard):
    """Hear the child to its outcome or to its kill; False where it ends before either."""
    for line in child.stdout:
        guard.wait()
        try:
            said = json.loads(line)
        except ValueError:
            text = "Your code wrote into the channel between the two processes; let it print, or write to files of its own."
            return outcome.end("error", text, text)
        if "status" in said:
            outcome.refused = said["refused"]
            return outcome.end(said["status"], said["text"], said["line"])
        if "printed" in said:
            _print(outcome, said["printed"])
            continue
        moment = Moment(**said)
        for listener in listeners:
            listener(moment)
        if (moment.label, moment.count) == crash_after:
            child.kill()
            child.wait()
            text = f"SIGKILL at {moment.label}:{moment.count}"
            return outcome.end("killed", text, f"[kill] {text}")
        _tell(child, "")
    return False


def _pack(job):
    try:
        return base64.b64encode(_pickled(job)).decode()
    except Exception as error:
        stuck = next((f"Your {name} uses {used}, which" for name, function in job["functions"].items()
                      for used, value in globals_of(function).items() if not _packs(value)), "Your code")
        raise CourseError(f"{stuck} can't be carried into a process of its own ({error}); let it use plain values and imports only.") from error


def _pickled(value):
    import cloudpickle  # late: only a child needs it

    class Pickler(cloudpickle.Pickler):
        # Its own way takes the file's name from code, and with it the line that an error quotes.
        dispatch_table = cloudpickle.Pickler.dispatch_table.new_child({CodeType: lambda code: (marshal.loads, (marshal.dumps(code),))})

    file = io.BytesIO()
    Pickler(file).dump(value)
    return file.getvalue()


def _packs(value):
    try:
        return bool(_pickled(value))
    except Exception:
        return False


def _tell(child, line):
    child.stdin.write(line + "\n")
    child.stdin.flush()


def _print(outcome, text):
    """Add printed text to the terminal, which goes on in the last line unless that was ended."""
    *whole, rest = (outcome.open_line + text).split("\n")
    outcome.lines += whole
    outcome.open_line = rest


def _environment():
    # What can be imported here can be imported there: a notebook's own modules, and this library.
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *map(os.path.abspath, sys.path)])}


def _why_it_ended(code, complaints, patience, guard):
    """What to say of a child that ended without an outcome, and whether it was for taking too long."""
    complaints.seek(0)
    text = complaints.read()
    frames = re.findall(r'File "(.+)", line (\d+) in (.+)', text)
    if "(most recent call first)" in text and frames:
        file, line, name = next((frame for frame in frames if is_theirs(frame[0])), frames[0])
        return f"{name} did not come back within {patience:g} seconds and was cut off, at {place(file, int(line))}.", True
    if guard.lost_patience:
        return f"The process of your code was silent for {guard.seconds:g} seconds, so it was ended with all that it had started.", True
    cause = (text.strip().splitlines() or [""])[-1]
    return f"The child process ended before its run did, with exit code {code}. {cause}".strip(), False


def _hearer(outcome):
    def hear(moment):
        outcome.moments.append(moment)
        text = log.line(moment)
        if text is not None:
            outcome.lines.append(text)
    return hear


def _clock(folder):
    # One second an execution, so that a run and its repetition leave the same bytes.
    def now():
        minutes, seconds = divmod(len(world.executions(folder)), 60)
        return f"2026-01-05T09:{minutes % 60:02d}:{seconds:02d}.000Z"
    return now
