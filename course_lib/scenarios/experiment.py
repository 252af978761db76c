"""A scenario in a folder of its own: a start and its resumes, each perhaps killed."""
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ..moments import Moment
from .recording import Recording
from .runner import Outcome, start

AT_START = "at-start"  # a leg's first recorded moment, before anything of it has happened


@dataclass(frozen=True)
class Leg:
    """One start or resume: how it ended and what was on disk at each of its moments, AT_START first."""

    outcome: Outcome
    recording: Recording


class Experiment:
    """Run, kill, resume, kill again …; the next leg can be rehearsed without being run.

    legs: what has been run so far. folder: where checkpoint.json, effects.json and the world lie.
    """

    def __init__(self, scenario, *, functions=None):
        self.scenario, self.functions = scenario, functions
        self.legs = []
        self._home = tempfile.TemporaryDirectory(prefix="course-")
        self.folder = Path(self._home.name) / "run"
        self.reset()

    @property
    def is_over(self):
        """Whether there is nothing left to run: the last leg was not killed."""
        return bool(self.legs) and self.legs[-1].outcome.status != "killed"

    def reset(self):
        """Files and world back to where nothing had happened."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.scenario.lay_out(self.folder)
        self.legs = []

    def rehearse(self):
        """The next leg as it would go without a crash, on a copy of the folder; nothing here changes."""
        with tempfile.TemporaryDirectory(prefix="course-") as home:
            copy = shutil.copytree(self.folder, Path(home) / "run")
            return self._run(copy, None)

    def run(self, crash_after=None):
        """Run the next leg, to its end or to the crash. Gives the Leg."""
        leg = self._run(self.folder, crash_after)
        self.legs.append(leg)
        return leg

    def _run(self, folder, crash_after):
        recording = Recording(folder)
        recording(Moment(AT_START, 0, 0))  # what the leg finds on disk
        outcome = start(self.scenario, folder, resume=bool(self.legs), crash_after=crash_after,
                        listeners=[recording], functions=self.functions)
        return Leg(outcome, recording)
