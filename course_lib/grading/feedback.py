"""A report in words: the first failed criterion in full, the others a line each. As plain text and as markup.

All that an answer gave or named is somebody else's text: nothing in it is markup, and nothing
in it moves a terminal's cursor.
"""
import html

from ..log import plain
from ..words import tr
from .report import CORRECT, FAIL, INCORRECT, NOT_ATTEMPTED, NOT_CHECKED, PASS

SIGNS = {PASS: "✓", FAIL: "✗", NOT_CHECKED: "·"}


def as_text(report):
    """The report as a terminal shows it."""
    lines = [heading(report), *(f"  {SIGNS[finding.verdict]} {says(finding)}" for finding in report.findings)]
    lines += [f"{name} {text}" for name, text in in_full(report)]
    return "\n".join(map(plain, lines))


def as_html(report):
    """The report as markup; the failed criterion stands out by its sign and its weight, not by colour alone."""
    parts = [f"<p><b>{_esc(heading(report))}</b></p>"]
    if report.findings:
        parts.append("<ul style='list-style: none; padding-left: 0.5em'>" + "".join(map(_line, report.findings)) + "</ul>")
    if report.slip:
        parts += [f"<p><b>{_esc(name)}</b> {_esc(text)}</p>" for name, text in in_full(report)]
    return "".join(parts)


def heading(report):
    """The outcome, in a sentence or two."""
    words = {
        CORRECT: tr("Exercise {id}: correct. Every criterion is met.", id=report.exercise),
        INCORRECT: tr("Exercise {id}: not yet. One thing at a time; this is the first that is missing.", id=report.exercise),
        NOT_ATTEMPTED: tr("Exercise {id}: not attempted. {why}", id=report.exercise, why=report.problem)}
    return words.get(report.outcome) or tr("Exercise {id} could not be checked, which is not your answer's fault: {why}", id=report.exercise, why=report.problem)


def says(finding):
    """A criterion's line."""
    line = tr(finding.says)
    return line if finding.verdict != NOT_CHECKED else tr("{criterion} (not checked yet)", criterion=line)


def in_full(report):
    """What there is to say of the failed criterion: ``[(what it is, text), ...]``."""
    slip = report.slip
    if not slip:
        return []
    given, expected = (tr("You chose:"), tr("What is asked for:")) if slip.question else (tr("What happened:"), tr("What should happen:"))
    found = [(given, slip.given), (expected, slip.expected), *slip.choices, (tr("The story:"), slip.story), (tr("A question back:"), slip.question)]
    if slip.scenario:
        found.append((tr("The run to look at:"), slip.scenario))
    if report.seed is not None:
        found.append((tr("Tried with:"), tr("seed {seed}; this same answer meets the same ids and values again", seed=report.seed)))
    return [(name, text) for name, text in found if text]


def asked(exercise):
    """The questions that stand above a program's cell, for who has only the file: a line for each and for each of its choices."""
    return [line for question in exercise.questions
            for line in (f"BECAUSE[{question.key!r}]: {in_words(question.asks)}", *(f"  {letter}  {in_words(text)}" for letter, text in question.choices.items()))]


def in_words(text):
    """A text in the language in use, plain: without the backticks around code."""
    return tr(text).replace("`", "")


def how_many(steps, n):
    """How far up a ladder of n hints one has come."""
    return tr("({seen} of {n})", seen=len(steps), n=n) if len(steps) < n else tr("({seen} of {n}; there are no more on this)", seen=n, n=n)


def _line(finding):
    text = f"{SIGNS[finding.verdict]} {_esc(says(finding))}"
    return f"<li><b>{text}</b></li>" if finding.verdict == FAIL else f"<li>{text}</li>"


def _esc(text):
    return html.escape(plain(text))
