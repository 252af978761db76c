"""A scenario in a folder of its own: a start and its resumes, each perhaps killed."""
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..errors import CourseError
from ..moments import Moment
from .code import read_code, write_code
from .oracle import RUN_LOST, judge
from .policies import LESSON_6
from .recording import Recording
from .runner import Outcome, start, start_in_child

AT_START = "at-start"  # a leg's first recorded moment, before anything of it has happened


@dataclass(frozen=True)
class Leg:
    """One start or resume: how it ended and what was on disk at each of its moments, AT_START first."""

    outcome: Outcome
    recording: Recording


class Experiment:
    """Run, kill, resume, kill again …; the next leg can be rehearsed without being run.

    functions: a student's own, by the name of what they stand in for; they run in a child
    process only. legs: what has been run so far. folder: where the files and the world lie.
    """

    def __init__(self, scenario, policy=LESSON_6, *, functions=None):
        self.scenario, self.policy, self.functions = scenario, policy, dict(functions or {})
        self._home = tempfile.TemporaryDirectory(prefix="course-")
        self.folder = Path(self._home.name) / "run"
        self.reset()

    @classmethod
    def from_code(cls, text, *, functions=None):
        """The experiment that a scenario code names, all its crashes done. Raises CourseError."""
        scenario, policy, crashes = read_code(text)
        experiment = cls(scenario, policy, functions=functions)
        for label, n in crashes:
            leg = experiment.run((label, n))
            if experiment.is_lost:  # a resume that found nothing; the crash is the fresh start's
                leg = experiment.run((label, n))
            if leg.outcome.status != "killed":
                last = {moment.label: moment.count for moment in leg.outcome.moments if moment.count}
                known = ", ".join(f"{label}:{count}" for label, count in last.items()) or "nothing"
                raise CourseError(f"The scenario code kills at {label}:{n}, and this run never comes there; what it comes to is {known}.")
        return experiment

    @property
    def code(self):
        """The scenario code of what has been run, a student's functions left aside."""
        return write_code(self.scenario, self.policy, self.crashes)

    @property
    def is_over(self):
        """Whether there is nothing left to run: finished, or stopped by an error that a start would not mend."""
        return bool(self.legs) and self.legs[-1].outcome.status != "killed" and not self.is_lost

    @property
    def is_lost(self):
        """Whether the last resume found no checkpoint that can be trusted, so that only a fresh start is left."""
        return bool(self.legs) and self.verdict == RUN_LOST

    @property
    def resumes(self):
        """Whether the next leg is a resume."""
        return bool(self.legs) and not self.is_lost and not self.policy.restarts

    @property
    def verdict(self):
        """What became of the effect in question, one of the oracle's words."""
        return judge(self.scenario, self.folder, self.legs[-1].outcome)

    def reset(self):
        """Files and world back to where nothing had happened."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.scenario.lay_out(self.folder)
        self.legs, self.crashes = [], []

    def rehearse(self):
        """The next leg as it would go without a crash, on a copy of the folder; nothing here changes."""
        if not self.folder.is_dir():
            return self._run(self.folder)
        with tempfile.TemporaryDirectory(prefix="course-") as home:
            return self._run(shutil.copytree(self.folder, Path(home) / "run", symlinks=True, ignore=_pipes))

    def run(self, crash_after=None, *, really=False, listeners=()):
        """Run the next leg to its end or to the crash. really: as a process of its own, killed by SIGKILL. Gives the Leg."""
        leg = self._run(self.folder, crash_after, really, listeners)
        self.legs.append(leg)
        if leg.outcome.status == "killed":
            self.crashes.append(crash_after)
        return leg

    def _run(self, folder, crash_after=None, really=False, listeners=()):
        if not folder.is_dir():
            raise CourseError("The folder of the run is gone, its files with it; reset to start again.")
        recording = Recording(folder)
        recording(Moment(AT_START, 0, 0))  # what the leg finds on disk
        options = {"resume": self.resumes, "crash_after": crash_after, "listeners": [recording, *listeners]}
        if really or self.functions:
            outcome = start_in_child(self.scenario, folder, policy=self.policy.functions, functions=self.functions, **options)
        else:
            outcome = start(self.scenario, folder, functions=self.policy.functions, **options)
        return Leg(outcome, recording)


def _pipes(folder, names):
    """What can't be copied: pipes, sockets and devices."""
    return [name for name in names if not (os.path.islink(path := os.path.join(folder, name)) or os.path.isfile(path) or os.path.isdir(path))]
