"""What a check says: one of four outcomes, the criteria a line each, the first failed one in full."""
from dataclasses import dataclass, field

CORRECT, INCORRECT, NOT_ATTEMPTED, UNCHECKED = "correct", "incorrect", "not attempted", "could not be checked"
PASS, FAIL, NOT_CHECKED = "pass", "fail", "not checked"


@dataclass(frozen=True)
class Slip:
    """Why an answer fails a criterion.

    hint: which ladder of hints leads out, a key of the exercise's ``hints``. given, expected: text.
    story: the shortest story of what went wrong, in words. scenario: the code of that run, for CrashLab. question: of a
    form, where given is a choice; leads on without naming the right one. choices: what there is to choose from, ``((letter, text), ...)``.
    """

    hint: str
    given: str = ""
    expected: str = ""
    story: str = ""
    scenario: str | None = None
    question: str = ""
    choices: tuple = ()


@dataclass(frozen=True)
class Finding:
    """One criterion after a check. says: its line; verdict: "pass", "fail" or "not checked"."""

    criterion: str
    says: str
    verdict: str


@dataclass(frozen=True)
class Report:
    """One check. problem: the sentence behind "not attempted" and "could not be checked". seed: of the ids and amounts that a program was tried with."""

    exercise: str
    outcome: str
    findings: list = field(default_factory=list)
    slip: Slip | None = None
    problem: str = ""
    seed: int | None = None
