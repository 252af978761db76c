"""What came of a class, as a teacher has it: whose answer is which, the page, and the tables for the gradebook."""
import csv
import io
import os
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path
from threading import Timer

import pytest

from class_sample import notebook
from course_lib.grading import catalogue
from course_lib.grading.classroom import report
from course_lib.grading.classroom.submissions import Submission, find, passed_over
from course_lib.grading.report import CORRECT, FAIL, INCORRECT, NOT_ATTEMPTED, NOT_CHECKED, PASS, UNCHECKED, Finding, Report, Slip
from course_lib.words import use_language
from markup import PAYLOADS, Parsed

ROOT = Path(__file__).resolve().parents[1]
FORM, CODE, STARTER, EMPTY_FORM = (catalogue.cell_text(id, getattr(catalogue.exercise(id), which))
                                   for id, which in (("4.1", "solution"), ("4.2", "solution"), ("4.2", "starter"), ("4.1", "starter")))
JURGEN = unicodedata.normalize("NFC", "Jürgen")
APART = unicodedata.normalize("NFD", JURGEN)  # as macOS writes it


def problems(found):
    return {(each.student, each.exercise): each.problem for each in found}


# --- whose answer is which ------------------------------------------------------------------

def test_a_name_is_one_student_however_its_accents_are_written(handed_in):
    handed_in(f"{APART}-4.1.json", FORM)
    handed_in(f"{JURGEN}-4.2.py", CODE)
    found = find(handed_in(f"{APART}/2.1.json", "{}"))
    assert [(each.student, each.exercise) for each in found] == [(JURGEN, "2.1"), (JURGEN, "4.1"), (JURGEN, "4.2")]


def test_students_stand_in_the_order_of_their_letters_whatever_their_case_and_accents(handed_in):
    for name in ("Zoe", "ada", "O'Brien", "bob", "Ezra", "Élodie", "Ben", "émile"):
        folder = handed_in(f"{name}-4.1.json", FORM)
    assert [each.student for each in find(folder)] == ["ada", "Ben", "bob", "Élodie", "émile", "Ezra", "O'Brien", "Zoe"]


@pytest.mark.parametrize("other, says", [("def helper():\n    pass\n\n\n" + CODE.split("\n", 1)[1], '"def '), ("# exercise 4.2\nledger = {}\n", '"# exercise 4.2"')])
def test_an_answer_in_another_cell_than_its_own_is_told_with_the_number_of_that_cell(handed_in, other, says):
    found = find(handed_in("ada.ipynb", notebook((["exercise-4.1"], FORM), (["exercise-4.2"], STARTER), ([], "x = 1"), ([], other))))
    said = problems(found)
    assert said["ada", "4.1"] == "" and "cell 4 of the notebook" in said["ada", "4.2"] and says in said["ada", "4.2"]


@pytest.mark.parametrize("own, other", [(CODE, CODE), (STARTER, STARTER), (STARTER, "def something_else():\n    pass"), (STARTER, "")],
                         ids=["its own cell is filled in", "the other is as it was given", "another function", "an empty cell"])
def test_another_cell_is_nothing_to_ask_about_where_the_answer_stands_in_its_own_or_nowhere(handed_in, own, other):
    found = find(handed_in("ada.ipynb", notebook((["exercise-4.1"], FORM), (["exercise-4.2"], own), ([], other))))
    assert set(problems(found).values()) == {""} and [each.text for each in found] == [FORM, own]


AS_GIVEN = notebook((["exercise-4.1"], EMPTY_FORM), (["exercise-4.2"], STARTER))
SOLVED = notebook((["exercise-4.1"], FORM), (["exercise-4.2"], CODE))
HALF = notebook((["exercise-4.1"], FORM))
EMPTIED = notebook((["exercise-4.1"], ""), (["exercise-4.2"], " \n"))


@pytest.mark.parametrize("first, second", [(AS_GIVEN, SOLVED), (SOLVED, AS_GIVEN), (SOLVED, SOLVED), (HALF, SOLVED), (EMPTIED, SOLVED)],
                         ids=["as given, solved", "solved, as given", "the same twice", "one with a cell deleted", "one with empty cells"])
def test_what_is_as_it_was_given_or_the_same_competes_with_no_answer(handed_in, first, second):
    handed_in("ada/lesson_4.ipynb", first)
    found = find(handed_in("ada/lesson_4 (1).ipynb", second))
    assert [(each.exercise, each.text, each.problem) for each in found] == [("4.1", FORM, ""), ("4.2", CODE, "")]


def test_two_notebooks_as_they_were_given_are_one_that_was_not_attempted(handed_in):
    handed_in("ada/lesson_4.ipynb", AS_GIVEN)
    found = find(handed_in("ada/lesson_4 (1).ipynb", AS_GIVEN.replace("None}", "None }")))
    assert [(each.exercise, each.problem) for each in found] == [("4.1", ""), ("4.2", "")]


def test_a_file_that_can_t_be_read_may_be_the_answer_that_counts(handed_in):
    handed_in("ada/4.1.json", b"\xff\xfe")
    (found,) = find(handed_in("ada/form-4.1.py", FORM))
    assert "more than one answer" in found.problem and "4.1.json" in found.file and "form-4.1.py" in found.file
    handed_in("ada/form-4.1.py", EMPTY_FORM)
    (found,) = find(handed_in("ada/4.1.json", b"\xff\xfe"))
    assert "UTF-8" in found.problem


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_to_a_folder_is_told_as_what_it_is(handed_in, tmp_path):
    folder = handed_in("ada/4.1.json", FORM)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "4.2.py").write_text(CODE)
    (folder / "ben").symlink_to(tmp_path / "elsewhere")
    (folder / "ada" / "more").symlink_to(tmp_path / "elsewhere")
    said = [(each.student, each.exercise, each.file) for each in find(folder) if "link to another folder" in each.problem]
    assert said == [("ada", "", "ada/more"), ("ben", "", "ben")] and passed_over(folder) == []


# --- the page and the tables ----------------------------------------------------------------

def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def findings(id, *verdicts):
    """The criteria of an exercise, the first of them with these verdicts."""
    criteria = catalogue.exercise(id).criteria
    return [Finding(each.code, each.says, verdict) for each, verdict in zip(criteria, [*verdicts, *[NOT_CHECKED] * len(criteria)])]


def a_class():
    """Ada has solved one and sent a file that nobody can place, Ben fails at a second criterion, of Cleo's two nothing is known yet, Dora has left hers as it was."""
    all_of_41 = [PASS] * len(catalogue.exercise("4.1").criteria)
    return [(Submission("ada", "ada-4.1.py", "4.1", "x"), Report("4.1", CORRECT, findings("4.1", *all_of_41))),
            (Submission("ada", "odd.py", "", problem="which exercise?"), None),
            (Submission("ben", "ben-4.2.py", "4.2", "x"), Report("4.2", INCORRECT, findings("4.2", PASS, FAIL), Slip("hint", given="gave None"))),
            (Submission("cleo", "cleo-4.1.py", "4.1", problem="two of them"), None),
            (Submission("cleo", "cleo-4.2.py", "4.2", "x"), Report("4.2", UNCHECKED, problem="disk full")),
            (Submission("dora", "dora-4.2.py", "4.2", "x"), Report("4.2", NOT_ATTEMPTED, problem="as given"))]


def test_the_table_has_a_line_for_each_student_and_exercise_and_how_many_criteria_there_are():
    rows = table(report.as_csv(a_class()))
    n41, n42 = (str(len(catalogue.exercise(id).criteria)) for id in ("4.1", "4.2"))
    assert [(row["student"], row["exercise"], row["outcome"], row["criteria met"], row["criteria in all"]) for row in rows] == [
        ("ada", "4.1", "correct", n41, n41), ("ada", "4.2", "not handed in", "0", n42), ("ada", "", "no answer found", "", ""),
        ("ben", "4.1", "not handed in", "0", n41), ("ben", "4.2", "not yet", "1", n42),
        ("cleo", "4.1", "no answer found", "", n41), ("cleo", "4.2", "could not be checked", "", n42),
        ("dora", "4.1", "not handed in", "0", n41), ("dora", "4.2", "not attempted", "0", n42)]
    assert rows[4]["first that is missing"] == catalogue.exercise("4.2").criteria[1].says and rows[4]["what happened"] == "gave None"


def test_a_second_table_has_a_line_for_each_student():
    assert table(report.as_students_csv(a_class())) == [
        {"student": "ada", "correct": "1", "exercises in all": "2", "4.1": "correct", "4.2": "not handed in", "which exercise?": "no answer found"},
        {"student": "ben", "correct": "0", "exercises in all": "2", "4.1": "not handed in", "4.2": "not yet", "which exercise?": ""},
        {"student": "cleo", "correct": "0", "exercises in all": "2", "4.1": "no answer found", "4.2": "could not be checked", "which exercise?": ""},
        {"student": "dora", "correct": "0", "exercises in all": "2", "4.1": "not handed in", "4.2": "not attempted", "which exercise?": ""}]


def test_all_three_files_are_written_and_named(tmp_path):
    files = report.write(a_class(), tmp_path)
    assert sorted(path.name for path in files) == sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.csv", "students.csv"]
    for name in ("results.csv", "students.csv"):
        assert (tmp_path / name).read_bytes().startswith(b"\xef\xbb\xbf")  # without it, Excel reads é as Ã©


def test_the_headline_counts_students_and_answers_each_as_what_they_are():
    assert report.count(a_class()) == "4 students; answers: 1 correct, 1 not yet, 1 not attempted, 2 no answer found, 1 could not be checked."


def test_the_page_lists_whom_to_ask_and_why_and_nobody_else():
    page = report.as_page(a_class())
    part = page[page.index("<h2>Whom to ask"):page.index("<h2>What is missing most")]
    asked = Parsed(part).text
    assert all(word in asked for word in ("ada", "odd.py", "cleo", "two of them", "disk full")) and "ben" not in asked and "dora" not in asked
    assert "Whom to ask" not in report.as_page(a_class()[:1])


def test_a_class_of_forty_fits_a_screen_and_names_and_heads_stay_in_view(browser, tmp_path):
    names = ["x" * 210, "Bartholomew Featherstonehaugh-Cholmondeley", *(f"student {n:02}" for n in range(38))]
    graded = [(Submission(name, f"{name}.ipynb", id, "x"), Report(id, CORRECT, findings(id))) for name in names for id in catalogue.MODULES]
    (tmp_path / "report.html").write_text(report.as_page(graded), encoding="utf-8")
    for width, fits in ((1200, True), (400, False)):
        page = browser.new_page(viewport={"width": width, "height": 900})
        try:
            page.goto((tmp_path / "report.html").as_uri())
            box = page.locator(".signs")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert box.evaluate("box => box.scrollWidth <= box.clientWidth") == fits
            box.evaluate("box => box.scrollTo(200, 700)")
            edges = box.evaluate("""box => [box.querySelector("tbody tr:last-child th"), box.querySelector("thead th:last-child"), box]
                                           .map(each => [each.getBoundingClientRect().left, each.getBoundingClientRect().top])""")
            assert edges[0][0] == edges[2][0] and edges[1][1] == edges[2][1]  # the names at the left edge, the heads at the upper one
            page.emulate_media(media="print")
            assert box.evaluate("box => getComputedStyle(box).overflow") == "visible"
            assert box.evaluate("box => box.clientHeight >= box.querySelector('table').offsetHeight")
        finally:
            page.close()


def hostile(payload):
    slip = Slip("hint", given=payload, expected=payload, story=payload, scenario=payload)
    wrong = Report("4.2", INCORRECT, [Finding("runs", "The cell runs by itself and defines its functions.", FAIL)], slip, seed=1)
    return [(Submission(payload, payload, "4.2", "x"), wrong), (Submission(payload, payload, "4.1", problem=payload), None),
            (Submission(payload + "2", payload, "4.1", "x"), Report("4.1", UNCHECKED, problem=payload)), (Submission("ada", "ada.py", "4.2", "x"), Report("4.2", CORRECT))]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "\n=1", "＝1", '=HYPERLINK("http://x","y")', '"=1', "x\n=1", ";=1", ",=1"]


@pytest.mark.parametrize("payload", FORMULAS + PAYLOADS, ids=ascii)
def test_no_cell_of_the_table_is_a_formula_and_no_row_is_broken(payload):
    for text, lines, columns in ((report.as_csv(hostile(payload)), 7, 8), (report.as_students_csv(hostile(payload)), 4, 5)):
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) == lines and {len(row) for row in rows} == {columns}
        assert not [value for row in rows for value in row if value.strip().startswith(tuple("=+-@＝\t\r\n"))]
        text.encode("utf-8")


@pytest.mark.parametrize("payload", FORMULAS + PAYLOADS, ids=ascii)
def test_a_hostile_text_is_text_in_the_page(payload):
    page = report.as_page(hostile(payload)).removeprefix("<!doctype html>")
    start, style = page.index("<style>"), page.index("</style>")
    body = Parsed(page[page.index("<main>"):page.index("</body>")])
    assert set(body.tags) <= set("main h1 h2 h3 p b ul li div table thead tbody tr th td a article section span".split())
    assert body.attributes <= {"style", "role", "tabindex", "aria-label", "scope", "href", "id", "class", "title"}
    assert payload.isprintable() is False or payload in body.text
    assert page[start + 7:style] == report.STYLE and "default-src 'none'" in page[:start] and all(c.isprintable() or c == "\n" for c in page)
    page.encode("utf-8")


def test_the_page_has_everybody_s_state_in_words_what_is_missing_most_and_links_that_lead_somewhere():
    page = report.as_page(hostile("eve"))
    assert "3 students; answers: 1 correct, 1 not yet, 1 no answer found, 1 could not be checked." in page
    overview = page[page.index("class='wide signs'"):page.index("</table>")]
    for sign, word in {"✗": "not yet", "–": "not handed in", "?": "no answer found", "!": "could not be checked", "✓": "correct"}.items():
        assert f"aria-label='{word}' title='{word}'>{sign}</span>" in overview and f"<span>{sign} {word}</span>" in page
    assert "<td>4.2</td><td>The cell runs by itself and defines its functions.</td><td>1</td>" in page
    for number in range(3):
        assert f"href='#s{number}'" in page and f"id='s{number}'" in page


def test_the_page_speaks_the_language_in_use():
    use_language("pt_BR")
    try:
        page = report.as_page(hostile("eve"))
    finally:
        use_language("en")
    assert '<html lang="pt-BR">' in page and "A célula" in page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_has_no_complaint_about_the_page_and_it_fits_a_small_screen(browser, tmp_path, scheme):
    from axe_playwright_python.sync_playwright import Axe
    (tmp_path / "report.html").write_text(report.as_page(hostile("eve")), encoding="utf-8")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 400, "height": 800}, bypass_csp=True)
    try:
        page = context.new_page()
        page.goto((tmp_path / "report.html").as_uri())
        found = [(each["id"], [node["html"] for node in each["nodes"]]) for each in Axe().run(page).response["violations"]]
        assert found == [] and page.evaluate("() => document.documentElement.scrollWidth <= 400")
        assert page.evaluate("() => getComputedStyle(document.querySelector('a')).color") == {"light": "rgb(11, 87, 164)", "dark": "rgb(138, 184, 255)"}[scheme]
    finally:
        context.close()


# --- stopped --------------------------------------------------------------------------------

@pytest.mark.skipif(os.name == "nt", reason="there is no such signal to send to one process on Windows")
def test_ctrl_c_is_answered_at_once(handed_in, tmp_path):
    """Before the answers that are under way have come to their end."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    script = """
import sys
from course_lib import cli
from course_lib.grading.classroom import batch
judge = batch.judge
def waiting(*job):
    open(sys.argv[-1]).read()
    return judge(*job)
batch.judge = waiting
sys.exit(cli.main(sys.argv[1:-1]))
"""
    folder = handed_in("ada-4.1.py", FORM)
    with subprocess.Popen([sys.executable, "-c", script, "grade", folder, "--out", tmp_path / "out", "--lang", "en", gate], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        too_late = Timer(30, process.kill)
        too_late.start()
        with open(gate, "w"):  # opens when the answer is under way, and keeps it there
            process.send_signal(signal.SIGINT)
            for line in process.stderr:
                if "answers" not in line:
                    break
        too_late.cancel()
        out, rest = process.communicate(timeout=60)
    assert line.startswith("Stopping.") and "Traceback" not in rest and process.returncode == 130 and "What was graded is kept" in out
