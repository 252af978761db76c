"""What is run under a policy, and what is to be known of it before anything goes wrong."""
import json
import re
import tempfile
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from .. import ledger
from ..agent import run_agent
from ..scenarios import world
from ..scenarios.matrix import memory_folder
from ..scenarios.policies import LESSON_6, Policy, start_under
from ..scenarios.runner import start
from ..scenarios.scenario import Scenario
from ..moments import current
from ..values import as_content
from .stories import Life, Story, take

BEGINNINGS = {  # what a life of the sales report may find: nothing, or what a kill at that moment left
    "a fresh start": None,
    "a resume that looks again": ("after-save-a", 2),
    "a resume that finds the entry": ("after-effect-write", 3),
    "a resume that can't know": ("after-tool", 3),
    "a resume with nothing pending": ("after-save-b", 2),
    "a resume beside a torn temp file": ("mid-save-b", 3),
}


def _keeping(way):
    """In place of run_agent: it keeps its saves that way. The run id is always the same, so that folders can be compared."""
    def run(*arguments, **options):
        current().new_id = lambda: "0a1b2c3d"
        return run_agent(*arguments, keep=way, **options)
    return {"run_agent": run}


HISTORY = Policy("history", "lesson 6, every save a line of a history (lesson 5)", _keeping("history"))
TURNS = Policy("turns", "lesson 6, every save a file of its own (lesson 5)", _keeping("turns"))


@dataclass(frozen=True)
class Case:
    """answers: what the model is to read of each call, ``{(tool, input as JSON): text}``. after: the world's files once all is done.

    looks: the tools that change nothing. gated: those that a person approves. adds_up: whether the
    scenario's effect changes the world each time anew.
    """

    scenario: Scenario
    answers: dict
    after: dict
    looks: frozenset
    gated: frozenset
    adds_up: bool
    policy: Policy = LESSON_6

    def under(self, policy):
        return replace(self, policy=policy)

    def real(self, call):
        """The text that the model is to read when the call was really done."""
        return self.answers.get(_key(call["name"], call["input"]))

    def heard(self, call, answer):
        """The text that it did read. Which number a ticket has, and that the outside vouches for it, makes no difference."""
        if answer["content"] == f"This {call['name']} happened before the crash, the tool itself says; what it returned is lost.":
            return self.real(call)
        return re.sub(r'"T-[0-9]+"', '"T-1"', answer["content"])


@lru_cache
def case_of(scenario):
    """The Case of a scenario, from a run that nobody disturbs. (The tests compare it with what was worked out by hand.)"""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as name:
        folder = Path(name)
        start(scenario, folder)
        tools, entries = scenario.tools(folder), ledger.load_effects(folder / ledger.FILE).values()
        return Case(scenario,
                    answers={_key(entry["name"], entry["input"]): as_content(entry["result"]) for entry in entries},
                    after=world.outside({path.name: path.read_bytes() for path in folder.iterdir()}),
                    looks=frozenset(name for name, tool in tools.items() if tool.read_only),
                    gated=frozenset(name for name, tool in tools.items() if tool.high_impact),
                    adds_up=not tools[scenario.effect].idempotent)


def begun(case, crash):
    """The Story of a start that was killed there, ``(label, n)``; of nothing yet, for None."""
    if crash is None:
        return Story()
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder:
        outcome = start_under(case.policy, case.scenario, folder, crash_after=crash)
        return Story((Life(False, outcome, take(folder), "killed at {}:{}".format(*crash)),))


def _key(name, input):
    return name, json.dumps(input, sort_keys=True)
