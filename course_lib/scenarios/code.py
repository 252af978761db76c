"""Scenario codes: a run, named so shortly that it can be pasted into a message.

    sales-report/write_report/lesson-6/after-effect-write:3/after-save-b:1

Task, tool in question, policy, then the crash of the start and the crash of each resume.
The same code gives everybody the same run.
"""
import re

from ..errors import CourseError
from . import SCENARIOS
from .policies import POLICIES

_CRASH = re.compile(r"([a-z][a-z0-9_-]*):([1-9][0-9]{0,5})")


def write_code(scenario, policy, crashes):
    """The code of a run. crashes: ``[(label, n), ...]``, of the start first."""
    return "/".join([scenario.name, scenario.effect, policy.name, *(f"{label}:{n}" for label, n in crashes)])


def read_code(text):
    """``(scenario, policy, crashes)``. Raises CourseError that says which part is wrong."""
    parts = text.strip().split("/")
    if len(parts) < 3:
        raise CourseError(f"{_cut(text.strip())} is no scenario code: it needs task/tool/policy, then one LABEL:N for each crash.")
    task, tool, policy, *crashes = parts
    scenario = next((s for s in SCENARIOS.values() if (s.name, s.effect) == (task, tool)), None)
    if scenario is None:
        known = ", ".join(f"{s.name}/{s.effect}" for s in SCENARIOS.values())
        raise CourseError(f"The scenario code names {_cut(f'{task}/{tool}')}, which is none of: {known}.")
    if policy not in POLICIES:
        raise CourseError(f"The scenario code names the policy {_cut(policy)}, which is none of: {', '.join(POLICIES)}.")
    return scenario, POLICIES[policy], [_crash(crash) for crash in crashes]


def _crash(text):
    found = _CRASH.fullmatch(text)
    if not found:
        raise CourseError(f"{_cut(text)} in the scenario code is no crash: write LABEL:N, such as after-tool:3.")
    return found[1], int(found[2])


def _cut(text):
    return f"{text!r:.60}"
