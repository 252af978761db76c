"""Recovery policies: what a harness writes down, and what a resume makes of it.

A policy is a handful of the library's functions replaced, never a copy of the loop, so
two policies can be compared by reading what differs.
"""
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Policy:
    """name: as in a scenario code. title: for people. functions: as Run takes them."""

    name: str
    title: str
    functions: dict = field(default_factory=dict)


def _keep_no_record(path, tool_use_id, entry):
    """In place of save_effect: nobody writes down that a call has happened."""


LESSON_6 = Policy("lesson-6", "ledger, three-way split (lesson 6)")
NO_LEDGER = Policy("no-ledger", "the same without a ledger (lesson 3)", {"save_effect": _keep_no_record})

POLICIES = {policy.name: policy for policy in (LESSON_6, NO_LEDGER)}
