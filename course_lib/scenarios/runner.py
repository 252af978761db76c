"""Start or resume a scenario in a folder, and kill it: simulated in here, or for real in a child.

Both ways announce the same moments and leave the same bytes. Nothing is printed; the
terminal's lines are in the outcome.
"""
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from .. import log
from ..agent import MAX_TURNS, run_agent
from ..errors import CourseError
from ..moments import Moment, Run, SimulatedCrash
from . import world


@dataclass
class Outcome:
    """How one start or resume ended.

    status: "done", "killed" or "error". text: the final answer, the crash or the error.
    lines: what a terminal would show. moments: every Moment, in order.
    """

    status: str = ""
    text: str = ""
    lines: list = field(default_factory=list)
    moments: list = field(default_factory=list)

    def end(self, status, text, line=None):
        self.status, self.text = status, text
        self.lines += [line] if line else []
        return self


def start(scenario, folder, *, resume=False, crash_after=None, listeners=(), functions=None, max_turns=MAX_TURNS):
    """Run the scenario in this process. crash_after: ``(label, n)`` or None. Gives an Outcome."""
    outcome = Outcome()
    hear = _hearer(outcome)
    with Run(crash_after=crash_after, listeners=[hear, *listeners], durability="kill", clock=_clock(folder), functions=functions, quiet=True):
        try:
            text = work(scenario, folder, resume=resume, max_turns=max_turns)
        except SimulatedCrash as crash:
            return outcome.end("killed", str(crash), f"[kill] {crash}")
        except CourseError as error:
            return outcome.end("error", str(error), str(error))
    return outcome.end("done", text, f"[done] {text}")


def start_in_child(scenario, folder, *, resume=False, crash_after=None, listeners=()):
    """The same in a process of its own, which is killed with SIGKILL at crash_after.

    The child stops at every moment until it is told to go on, so the kill hits the very
    instant; the listeners hear of each moment while the child stands still in it.
    """
    outcome, cause = Outcome(), ""
    hear = _hearer(outcome)
    command = [sys.executable, "-m", "course_lib.scenarios.child", scenario.name, str(Path(folder).resolve()), *(["--resume"] if resume else [])]
    root = Path(__file__).resolve().parents[2]
    with suppress(BrokenPipeError), subprocess.Popen(  # a broken pipe: someone else killed it while it stood still
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, encoding="utf-8", errors="replace", cwd=root) as child:
        for line in child.stdout:
            if not line.startswith("{"):  # a warning, or the traceback it dies of
                cause = line.rstrip()
                outcome.lines.append(cause)
                continue
            said = json.loads(line)
            if "status" in said:
                return outcome.end(said["status"], said["text"], said["line"])
            moment = Moment(**said)
            for listener in (hear, *listeners):
                listener(moment)
            if (moment.label, moment.count) == crash_after:
                child.kill()
                child.wait()
                return outcome.end("killed", f"SIGKILL at {moment.label}:{moment.count}", f"[kill] SIGKILL at {moment.label}:{moment.count}")
            child.stdin.write("\n")
            child.stdin.flush()
    text = f"The child process ended before its run did, with exit code {child.returncode}. {cause}".strip()
    return outcome.end("error", text, text)


def work(scenario, folder, *, resume, max_turns=MAX_TURNS):
    """One start or resume with the scenario's own world, model and tools, inside the current Run."""
    if not resume:
        scenario.lay_out(folder)
    return run_agent(scenario.client(folder), scenario.task, scenario.tools(folder), folder=folder, resume=resume,
                     max_turns=max_turns, approve=scenario.approve)


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
