"""What an exercise is made of, and how an answer is judged: criterion by criterion, to the first that fails.

A criterion is looked at only when all before it have passed, so one slip is reported once,
and an answer that does nothing can't earn "does no harm".
"""
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ..words import tr
from .report import CORRECT, FAIL, INCORRECT, NOT_ATTEMPTED, NOT_CHECKED, PASS, UNCHECKED, Finding, Report, Slip


class NotAttempted(Exception):
    """The answer is still the starter, or nothing; the text says what to do first."""


class CannotCheck(Exception):
    """Something about this machine, not about the answer, kept the check from its work."""


@dataclass(frozen=True)
class Criterion:
    """One line of the exercise's "done when". check: subject → Slip, or None where the answer meets it."""

    code: str
    says: str
    check: Callable[[object], Slip | None]


@dataclass(frozen=True)
class Question:
    """A question that a program answers with a letter, in its BECAUSE under key. choices: ``{letter: text}``; a text may have `code` in backticks."""

    key: str
    asks: str
    choices: dict


@dataclass(frozen=True)
class Exercise:
    """id: "4.2". kind: "code" (an answer is the text of a program) or "form" (a plain dict).

    subject: answer → what the criteria look at, such as a program that can be run; a context
    manager. Raises NotAttempted or CannotCheck. criteria: in the order they are judged. hints:
    ``{name: [step, ...]}``, from a nudge to nearly the answer. starter, solution: an answer each.
    """

    id: str
    title: str
    kind: str
    subject: Callable[[object], object]
    criteria: tuple
    hints: dict
    starter: object
    solution: object
    notes: dict = field(default_factory=dict)  # free text to compare after an attempt: {question: model answer}
    questions: tuple = ()  # of a program

    def check(self, answer):
        """Judge an answer. Gives a Report; raises nothing for whatever the answer is or does."""
        findings, slip, seed = [], None, None
        try:
            _check_place(self.id, answer)
            with self.subject(answer) as subject:
                seed = getattr(subject, "seed", None)
                for criterion in self.criteria:
                    verdict = NOT_CHECKED
                    if slip is None:
                        slip = criterion.check(subject)
                        verdict = FAIL if slip else PASS
                    findings.append(Finding(criterion.code, criterion.says, verdict))
        except NotAttempted as reason:
            return Report(self.id, NOT_ATTEMPTED, problem=str(reason))
        except (CannotCheck, OSError) as reason:  # a full disk, say: never the answer's fault
            return Report(self.id, UNCHECKED, problem=str(reason))
        return Report(self.id, INCORRECT if slip else CORRECT, findings, slip, seed=seed)


def _check_place(id, answer):
    """Raise NotAttempted for a text that is nothing, or something else than an answer to this exercise."""
    text = answer.removeprefix("\ufeff").lstrip() if isinstance(answer, str) else None
    if text == "":
        raise NotAttempted(tr("There is nothing in it; begin with the cell as it was given, which reset brings back."))
    if text and (named := re.match(r"# *exercise +(\d+\.\d+(-\w+)?)", text, re.IGNORECASE)) and named[1] != id:
        raise NotAttempted(tr("Its first line says that it is an answer to {other}; check it as that, or mend the line.", other=named[1]))
    if text and _is_notebook(text):
        raise NotAttempted(tr("This is a whole notebook, and the answer is one cell of it: check it in the notebook, or copy that cell into a file."))


def _is_notebook(text):
    try:
        found = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("cells"), list) and "nbformat" in found
