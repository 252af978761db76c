"""One tool run again and again on a small world: what idempotent means, seen from outside. (lesson 4)"""
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import world
from .support_desk import SUPPORT_DESK


@dataclass(frozen=True)
class Repeated:
    """The world before, after the first run, and after the last one; each ``{name: bytes}``. answers: what each run returned."""

    before: dict
    after_one: dict
    after_all: dict
    answers: list

    @property
    def is_idempotent(self):
        """Whether the runs after the first left the world as the first had left it. What they return has no say."""
        return self.after_one == self.after_all


def repeat(tool, times):
    """Run a support-desk tool that many times with the same input. Gives a Repeated."""
    scenario = SUPPORT_DESK[tool]
    with tempfile.TemporaryDirectory(prefix="course-") as home:
        folder = Path(home)
        scenario.lay_out(folder)
        states, answers = [_look(folder)], []
        for _ in range(times):
            answers.append(scenario.tools(folder)[tool](dict(scenario.call["input"])))
            states.append(_look(folder))
        return Repeated(states[0], states[1], states[-1], answers)


def _look(folder):
    return world.outside({path.name: path.read_bytes() for path in folder.iterdir()})
