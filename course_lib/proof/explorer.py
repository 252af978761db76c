"""Every story of a case told in process and held against every promise: at each moment a kill, in each resume another."""
import random
import tempfile
from dataclasses import dataclass, field

from ..scenarios.code import write_code
from ..scenarios.matrix import memory_folder
from ..scenarios.policies import POLICIES
from .promises import against_the_kills, broken
from .stories import Teller, stories
from .weaknesses import known


@dataclass
class Explored:
    """told: how many stories, by their number of kills. lived: how many lives that took. found: ``{rule: its shortest story}``."""

    case: object
    told: list
    lived: int = 0
    found: dict = field(default_factory=dict)

    @property
    def news(self):
        """What was found and is not known of the policy, as sentences."""
        return [f"{rule}: {text}" for rule, text in self.found.items() if rule not in known(self.case)]

    @property
    def unseen(self):
        """What is known of the policy and was not found, as sentences."""
        return [f"{rule}: {because}" for rule, because in known(self.case).items() if rule not in self.found]


def explore(case, most_kills=2, *, sample=None, seed=0, progress=lambda told: None):
    """All stories of up to that many kills, or a sample (see stories). progress(told) hears of each story. Gives an Explored."""
    explored, endings = Explored(case, [0] * (most_kills + 1)), {}
    chance = random.Random(f"{seed} {case.scenario.effect} {case.policy.name}")
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder:
        teller = Teller(case, folder)
        for story in stories(teller, most_kills, sample, chance):
            explored.told[len(story.kills)] += 1
            for rule, detail in judged(teller, story, endings):
                explored.found.setdefault(rule, f"{story} {detail}{_in_crash_lab(case, story)}")
            progress(explored.told)
        explored.lived = teller.lived
    return explored


def judged(teller, story, endings):
    """Every promise that a story breaks, those about torn files alone where there are such."""
    wrong = list(broken(teller.case, story, teller.go_on(story).lives[-1]))
    return wrong if "torn" in dict(wrong) else [*wrong, *against_the_kills(teller.case, story, endings)]


def _in_crash_lab(case, story):
    """Where the story can be looked at, if CrashLab knows the policy."""
    return f" In CrashLab: {write_code(case.scenario, case.policy, [(kill.label, kill.count) for kill in story.kills])}" if case.policy.name in POLICIES else ""
