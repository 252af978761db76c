"""What came of a class: results.csv for the gradebook, report.html to read. Both hold strangers' texts, and are opened by programs that would run some.

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
from ..catalogue import MODULES
from ..feedback import as_html
from ..report import CORRECT, FAIL, INCORRECT, NOT_ATTEMPTED, PASS, UNCHECKED

NO_ANSWER = "no answer found"
WORDS = {CORRECT: mark("correct"), INCORRECT: mark("not yet"), NOT_ATTEMPTED: mark("not attempted"), NO_ANSWER: mark("no answer found"), UNCHECKED: mark("could not be checked")}
SIGNS = {CORRECT: "✓", INCORRECT: "✗", NOT_ATTEMPTED: "·", NO_ANSWER: "?", UNCHECKED: "!"}
MOST_NAMES = 20  # of files that were passed over; a folder of photographs would hide what was graded
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --line: #767676; --soft: #f2f2f2; --link: #0b57a4; }
@media (prefers-color-scheme: dark) { :root { --paper: #161616; --ink: #eaeaea; --line: #8c8c8c; --soft: #2a2a2a; --link: #8ab8ff; } }
html { background: var(--paper); color: var(--ink); }
body { font: 1rem/1.5 system-ui, sans-serif; background: var(--paper); max-width: 72rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } .wide:focus-visible, a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; overflow-wrap: normal; }
.wide td { min-width: 7rem; }
th, td { border: 1px solid var(--line); padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; } thead th { background: var(--soft); }
a { color: var(--link); } article { border-top: 1px solid var(--line); margin-top: 1.5rem; } article section { margin-left: 1rem; }
@media print { .wide { overflow: visible; } article { break-inside: avoid; } }
"""


def write(graded, out):
    """Write both files of ``[(Submission, Report or None), ...]`` into the folder out. Gives their Paths. Raises StorageError."""
    files = {Path(out) / "results.csv": as_csv(graded).encode("utf-8-sig"), Path(out) / "report.html": as_page(graded).encode()}  # without the mark, Excel reads é as Ã©
    for path, data in files.items():
        write_atomic(path, data, moment="report")
    return list(files)


def outcome(submission, report):
    """The outcome of one answer: a report's, or "no answer found"."""
    return report.outcome if report else NO_ANSWER


def count(graded):
    """How many answers came to what, in a sentence."""
    found = Counter(outcome(*each) for each in graded)
    students = len({submission.student for submission, _ in graded})
    answers = ", ".join(f"{found[which]} {tr(word)}" for which, word in WORDS.items() if found[which])
    return trn("{n} student: {answers}.", "{n} students: {answers}.", students, answers=answers)


def passed_over(names):
    """Lines that say which files were not looked at; none where there is nothing to say."""
    if not names:
        return []
    head = trn("{n} file was passed over, since it is no notebook, no .py and no .json file:", "{n} files were passed over, since they are no notebooks, no .py and no .json files:", len(names))
    more = len(names) - MOST_NAMES
    return [head, *(f"  {name}" for name in names[:MOST_NAMES]), *([trn("  and {n} more", "  and {n} more", more)] if more > 0 else [])]


# --- for the gradebook ----------------------------------------------------------------------

def as_csv(graded):
    """A line for each answer."""
    text = io.StringIO()
    table = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    heads = (tr("student"), tr("file"), tr("exercise"), tr("outcome"), tr("criteria met"), tr("criteria in all"), tr("first that is missing"), tr("what happened"))
    table.writerow(map(cell, heads))
    for submission, report in graded:
        findings = report.findings if report else []
        first = next((tr(finding.says) for finding in findings if finding.verdict == FAIL), "")
        happened = submission.problem or report.problem or (report.slip.given if report.slip else "")
        met = sum(finding.verdict == PASS for finding in findings)
        table.writerow(map(cell, (submission.student, submission.file, submission.exercise, tr(WORDS[outcome(submission, report)]), met, len(findings), first, happened)))
    return text.getvalue()


def cell(value):
    """A value as a spreadsheet may have it: text, never a formula."""
    text = plain(str(value))
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


# --- to read --------------------------------------------------------------------------------

def as_page(graded):
    """The whole page."""
    title = tr("The class, graded")
    by_student = {}
    for submission, report in graded:
        by_student.setdefault(submission.student, []).append((submission, report))
    body = [f"<h1>{esc(title)}</h1><p>{esc(count(graded))}</p>", _overview(by_student, _exercises(graded)), _missing(graded),
            f"<h2>{esc(tr('Each student'))}</h2>", *(_student(number, name, answers) for number, (name, answers) in enumerate(by_student.items()))]
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


def _exercises(graded):
    found = {submission.exercise for submission, _ in graded}
    return [id for id in (*MODULES, "") if id in found]


def _overview(by_student, exercises):
    """A row for each student, a column for each exercise, and links to what was said."""
    heads = "".join(f"<th scope='col'>{esc(id or tr('which exercise?'))}</th>" for id in exercises)
    rows = "".join(f"<tr><th scope='row'><a href='#s{number}'>{esc(name)}</a></th>{''.join(_cell(number, id, answers) for id in exercises)}</tr>"
                   for number, (name, answers) in enumerate(by_student.items()))
    return _table(tr("Who has solved what"), f"<tr><th scope='col'>{esc(tr('student'))}</th>{heads}</tr>", rows)


def _cell(number, id, answers):
    mine = {outcome(submission, report) for submission, report in answers if submission.exercise == id}
    signs = ", ".join(f"{SIGNS[which]} {esc(tr(word))}" for which, word in WORDS.items() if which in mine)
    return f"<td>{signs or esc(tr('not handed in'))}</td>"


def _missing(graded):
    """Which criterion most answers fail first at: what to speak of in the next lesson."""
    first = Counter((report.exercise, finding.says) for _, report in graded if report for finding in report.findings if finding.verdict == FAIL)
    if not first:
        return ""
    rows = "".join(f"<tr><td>{esc(id)}</td><td>{esc(tr(criterion))}</td><td>{n}</td></tr>" for (id, criterion), n in first.most_common(20))
    heads = "".join(f"<th scope='col'>{esc(head)}</th>" for head in (tr("exercise"), tr("criterion"), tr("answers that fail here first")))
    return _table(tr("What is missing most"), f"<tr>{heads}</tr>", rows)


def _table(title, heads, rows):
    # It may be wider than a screen: then it scrolls by itself, with the keyboard too.
    return (f"<h2>{esc(title)}</h2><div class='wide' role='region' tabindex='0' aria-label='{esc(title)}'>"
            f"<table><thead>{heads}</thead><tbody>{rows}</tbody></table></div>")


def _student(number, name, answers):
    return f"<article id='s{number}'><h3>{esc(name)}</h3>{''.join(_answer(*each) for each in answers)}</article>"


def _answer(submission, report):
    where = f"<p>{esc(submission.file)}</p>"
    if not report:
        heading = tr("Exercise {id}: no answer found. {why}", id=submission.exercise or "?", why=submission.problem)
        return f"<section><p><b>{esc(heading)}</b></p>{where}</section>"
    return f"<section>{as_html(report)}{where}</section>"
