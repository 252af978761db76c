"""What came of a class: results.csv and students.csv for the gradebook, report.html to read. All hold strangers' texts, and are opened by programs that would run some.

A spreadsheet takes a cell that begins with = + - or @ for a formula: such a text gets a ' in front,
which the spreadsheet takes for "this is text". In the page all that is not ours is escaped, and
the page itself forbids scripts, pictures and requests.
"""
import csv
import html
import io
from collections import Counter
from pathlib import Path

from ...log import plain
from ...storage import write_atomic
from ...words import language_in_use, mark, tr, trn
from ..catalogue import MODULES, exercise
from ..feedback import as_html
from ..report import CORRECT, FAIL, INCORRECT, NOT_ATTEMPTED, PASS, UNCHECKED
from .submissions import Submission

NO_ANSWER, NOT_HANDED_IN = "no answer found", "not handed in"
WORDS = {CORRECT: mark("correct"), INCORRECT: mark("not yet"), NOT_ATTEMPTED: mark("not attempted"), NO_ANSWER: mark("no answer found"),
         UNCHECKED: mark("could not be checked"), NOT_HANDED_IN: mark("not handed in")}
SIGNS = {CORRECT: "✓", INCORRECT: "✗", NOT_ATTEMPTED: "○", NO_ANSWER: "?", UNCHECKED: "!", NOT_HANDED_IN: "–"}
TO_ASK = {NO_ANSWER, UNCHECKED}  # what the answer is worth, nobody knows yet
MOST_NAMES = 20  # of files that were passed over; a folder of photographs would hide what was graded
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --line: #767676; --soft: #f2f2f2; --link: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --paper: #161616; --ink: #eaeaea; --line: #8c8c8c; --soft: #2a2a2a; --link: #8ab8ff; } }
html { background: var(--paper); color: var(--ink); }
body { font: 1rem/1.5 system-ui, sans-serif; background: var(--paper); max-width: 72rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
.wide { overflow: auto; } .wide:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: separate; border-spacing: 0; }
th, td { border: solid var(--line); border-width: 0 1px 1px 0; padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; }
tr > :first-child { border-left-width: 1px; } thead th { border-top-width: 1px; background: var(--soft); overflow-wrap: normal; }
.legend span { margin-right: 1rem; white-space: nowrap; }
.signs { max-height: 90vh; } .signs td { text-align: center; }
.signs thead th { position: sticky; top: 0; z-index: 1; }
.signs tr > :first-child { position: sticky; left: 0; z-index: 1; background: var(--paper); min-width: 7rem; overflow-wrap: anywhere; }
.signs thead tr > :first-child { background: var(--soft); z-index: 2; }
a { color: var(--link); } article { border-top: 1px solid var(--line); margin-top: 1.5rem; } article section { margin-left: 1rem; }
@media print { .wide { overflow: visible; max-height: none; } .signs thead th, .signs tr > :first-child { position: static; } tr, article { break-inside: avoid; }
  .signs table { font-size: 0.75rem; } .signs th, .signs td { padding: 0.1rem 0.3rem; } }
"""


def write(graded, out):
    """Write the files of ``[(Submission, Report or None), ...]`` into the folder out. Gives their Paths. Raises StorageError."""
    tables = {"results.csv": as_csv(graded), "students.csv": as_students_csv(graded)}
    files = {name: text.encode("utf-8-sig") for name, text in tables.items()} | {"report.html": as_page(graded).encode()}  # without the mark, Excel reads é as Ã©
    for name, data in files.items():
        write_atomic(Path(out) / name, data, moment="report")
    return [Path(out) / name for name in files]


def outcome(submission, report):
    """The outcome of one answer: a report's, "no answer found" where something kept it from being one, or "not handed in"."""
    return report.outcome if report else NO_ANSWER if submission.problem else NOT_HANDED_IN


def count(graded):
    """How many students there are, and how many of their answers came to what, in a sentence."""
    found = Counter(outcome(*each) for each in graded)
    students = len({submission.student for submission, _ in graded})
    answers = ", ".join(f"{found[which]} {tr(word)}" for which, word in WORDS.items() if found[which])
    return trn("{n} student; answers: {answers}.", "{n} students; answers: {answers}.", students, answers=answers)


def passed_over(names):
    """Lines that say which files were not looked at; none where there is nothing to say."""
    if not names:
        return []
    head = trn("{n} file was passed over, since it is no notebook, no .py and no .json file:", "{n} files were passed over, since they are no notebooks, no .py and no .json files:", len(names))
    more = len(names) - MOST_NAMES
    return [head, *(f"  {name}" for name in names[:MOST_NAMES]), *([trn("  and {n} more", "  and {n} more", more)] if more > 0 else [])]


def by_student(graded):
    """``{student: {exercise: [(Submission, Report or None), ...]}}``, with every exercise that anybody handed in, last those that nobody can tell ("")."""
    found = {submission.exercise for submission, _ in graded}
    students = {submission.student: {id: [] for id in (*MODULES, "") if id in found} for submission, _ in graded}
    for submission, report in graded:
        students[submission.student][submission.exercise].append((submission, report))
    for student, answers in students.items():
        for id in answers:
            if id and not answers[id]:
                answers[id] = [(Submission(student, "", id), None)]
    return students


def outcomes(answers):
    """The outcomes of some answers, each once."""
    found = {outcome(*each) for each in answers}
    return [which for which in WORDS if which in found]


# --- for the gradebook ----------------------------------------------------------------------

def as_csv(graded):
    """A line for each exercise of each student, whether it was handed in or not, and for each file of which nobody can tell the exercise."""
    heads = (tr("student"), tr("file"), tr("exercise"), tr("outcome"), tr("criteria met"), tr("criteria in all"), tr("first that is missing"), tr("what happened"))
    return _csv([heads, *(_line(*each) for answers in by_student(graded).values() for found in answers.values() for each in found)])


def _line(submission, report):
    which, findings = outcome(submission, report), report.findings if report else []
    # How many are met is left open where nobody knows it; how many there are never is, so that nobody divides by nothing.
    met = "" if which in TO_ASK else sum(finding.verdict == PASS for finding in findings)
    total = len(exercise(submission.exercise).criteria) if submission.exercise else ""
    first = next((tr(finding.says) for finding in findings if finding.verdict == FAIL), "")
    return submission.student, submission.file, submission.exercise, tr(WORDS[which]), met, total, first, _happened(submission, report)


def _happened(submission, report):
    return submission.problem or (report and (report.problem or (report.slip.given if report.slip else ""))) or ""


def as_students_csv(graded):
    """A line for each student: how many exercises are correct, of how many, and what came of each."""
    students = by_student(graded)
    ids = next(iter(students.values()), {})
    lines = [(student, correct(answers), sum(map(bool, answers)), *(", ".join(tr(WORDS[which]) for which in outcomes(found)) for found in answers.values()))
             for student, answers in students.items()]
    return _csv([(tr("student"), tr("correct"), tr("exercises in all"), *map(_head, ids)), *lines])


def correct(answers):
    """How many exercises one student has solved."""
    return sum(outcomes(found) == [CORRECT] for found in answers.values())


def _head(id):
    return id or tr("which exercise?")


def _csv(lines):
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows(map(cell, line) for line in lines)
    return text.getvalue()


def cell(value):
    """A value as a spreadsheet may have it: text, never a formula."""
    text = plain(str(value))
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


# --- to read --------------------------------------------------------------------------------

def as_page(graded):
    """The whole page."""
    title, students = tr("The class, graded"), by_student(graded)
    links = {student: f"<a href='#s{number}'>{esc(student)}</a>" for number, student in enumerate(students)}
    body = [f"<h1>{esc(title)}</h1><p>{esc(count(graded))}</p>", _overview(students, links), _to_ask(graded, links), _missing(graded),
            f"<h2>{esc(tr('Each student'))}</h2>", *(_student(number, name, answers) for number, (name, answers) in enumerate(students.items()))]
    return f"""<!doctype html>
<html lang="{language_in_use().replace('_', '-')}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{esc(title)}</title><style>{STYLE}</style></head>
<body><main>
{chr(10).join(body)}
</main></body></html>
"""


def esc(text):
    """Somebody's text as markup that shows it."""
    return html.escape(plain(text))


def _overview(students, links):
    """A row for each student, a column for each exercise, a sign in each cell; and links to what was said."""
    legend = "".join(f"<span>{SIGNS[which]} {esc(tr(word))}</span> " for which, word in WORDS.items())
    heads = "".join(f"<th scope='col'>{esc(head)}</th>" for head in (tr("student"), tr("correct"), *map(_head, next(iter(students.values()), {}))))
    rows = "".join(f"<tr><th scope='row'>{links[student]}</th><td>{correct(answers)}</td>{''.join(map(_signs, answers.values()))}</tr>" for student, answers in students.items())
    return _table(tr("Who has solved what"), f"<tr>{heads}</tr>", rows, before=f"<p class='legend'>{legend}</p>", kind="wide signs")


def _signs(answers):
    signs = (f"<span role='img' aria-label='{esc(tr(WORDS[which]))}' title='{esc(tr(WORDS[which]))}'>{SIGNS[which]}</span>" for which in outcomes(answers))
    return f"<td>{' '.join(signs)}</td>"


def _to_ask(graded, links):
    """What no check can settle: the student has to be asked, or something here has failed."""
    rows = "".join(f"<tr><td>{links[submission.student]}</td><td>{esc(_head(submission.exercise))}</td><td>{esc(submission.file)}</td><td>{esc(_happened(submission, report))}</td></tr>"
                   for submission, report in graded if outcome(submission, report) in TO_ASK)
    if not rows:
        return ""
    heads = "".join(f"<th scope='col'>{esc(head)}</th>" for head in (tr("student"), tr("exercise"), tr("file"), tr("what happened")))
    return _table(tr("Whom to ask, and what could not be checked"), f"<tr>{heads}</tr>", rows)


def _missing(graded):
    """Which criterion most answers fail first at: what to speak of in the next lesson."""
    first = Counter((report.exercise, finding.says) for _, report in graded if report for finding in report.findings if finding.verdict == FAIL)
    if not first:
        return ""
    rows = "".join(f"<tr><td>{esc(id)}</td><td>{esc(tr(criterion))}</td><td>{n}</td></tr>" for (id, criterion), n in first.most_common(20))
    heads = "".join(f"<th scope='col'>{esc(head)}</th>" for head in (tr("exercise"), tr("criterion"), tr("answers that fail here first")))
    return _table(tr("What is missing most"), f"<tr>{heads}</tr>", rows)


def _table(title, heads, rows, *, before="", kind="wide"):
    # It may be larger than a screen: then it scrolls by itself, with the keyboard too, and what it is about stays in view.
    return (f"<h2>{esc(title)}</h2>{before}<div class='{kind}' role='region' tabindex='0' aria-label='{esc(title)}'>"
            f"<table><thead>{heads}</thead><tbody>{rows}</tbody></table></div>")


def _student(number, name, answers):
    return f"<article id='s{number}'><h3>{esc(name)}</h3>{''.join(_answer(*each) for found in answers.values() for each in found if outcome(*each) != NOT_HANDED_IN)}</article>"


def _answer(submission, report):
    where = f"<p>{esc(submission.file)}</p>"
    if not report:
        heading = tr("Exercise {id}: no answer found. {why}", id=submission.exercise or "?", why=submission.problem)
        return f"<section><p><b>{esc(heading)}</b></p>{where}</section>"
    return f"<section>{as_html(report)}{where}</section>"
