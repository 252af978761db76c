"""The graders of the code exercises are under test: what is right passes, and each wrong answer fails where it should, in the promised words."""
import ast
import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from course_lib.grading import catalogue
from course_lib.grading.code_exercises.answer import HINTS
from course_lib.grading.report import FAIL, PASS
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.student import PARTS
from mutants import mutants

HERE = Path(__file__).parent
CODES = sorted(path.name for path in (HERE / "answers").iterdir() if any(path.glob("*.py")))
WRONG = [pytest.param(id, path, id=f"{id}-{path.stem}") for id in CODES for path in sorted((HERE / "answers" / id).glob("*.py"))]


def exercise(id):
    return import_module("course_lib.grading.code_exercises.ex_" + re.sub("[.-]", "_", id)).EXERCISE


def checked(id, texts):
    """The report on each of many answers; two at a time, since most of a check is waiting for its children."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(exercise(id).check, texts))


@cache
def reports(id):
    """The reports on the wrong answers to an exercise, by path."""
    paths = sorted((HERE / "answers" / id).glob("*.py"))
    return dict(zip(paths, checked(id, [path.read_text(encoding="utf-8") for path in paths])))


def parts(text):
    """The functions that a program defines, with their parameters."""
    body = ast.parse(text).body
    return [(node.name, ast.unparse(node.args)) for node in body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("id", CODES)
def test_the_solution_meets_every_criterion(id):
    report = exercise(id).check(exercise(id).solution)
    assert report.outcome == "correct", report.slip
    assert {finding.verdict for finding in report.findings} == {PASS}


RIGHT = [pytest.param(id, path, id=f"{id}-{path.stem}") for id in CODES for path in sorted((HERE / "answers" / id / "right").glob("*.py"))]


@pytest.mark.parametrize("id, path", RIGHT)
def test_an_answer_that_is_right_in_its_own_way_is_right(id, path):
    report = exercise(id).check(path.read_text(encoding="utf-8"))
    assert report.outcome == "correct", report.slip


@pytest.mark.parametrize("change", [lambda text: "\ufeff" + text, lambda text: text.replace("\n", "\r\n")], ids=["a mark at its head", "Windows line ends"])
def test_a_file_from_another_editor_is_the_same_answer(change):
    assert exercise("4.2").check(change(exercise("4.2").solution)).outcome == "correct"
    assert {exercise(id).check(change(exercise(id).starter)).outcome for id in CODES} == {"not attempted"}


@pytest.mark.parametrize("letter", [" b ", "B", "\\tb\\n"])
def test_a_letter_is_the_same_letter_large_or_with_blanks_around_it(letter):
    assert exercise("6.2").check(exercise("6.2").solution.replace('"bug": "b"', f'"bug": "{letter}"')).outcome == "correct"


@pytest.mark.parametrize("because, said", [("5", "BECAUSE is 5"), ("'b'", "BECAUSE is 'b'"), ("{'b', }", "BECAUSE is {'b'}"), ("{'bug': 'b'}", "BECAUSE has no 'consequence'"),
                                           ("{'bug': 5, 'consequence': 'c'}", "BECAUSE['bug'] is 5"), ("{'$object': [1]}", "BECAUSE is [1]")])
def test_a_because_that_is_none_is_told_as_what_it_is(because, said):
    line = 'BECAUSE = {"bug": "b", "consequence": "c"}'
    report = exercise("6.2").check(exercise("6.2").solution.replace(line, f"BECAUSE = {because}"))
    assert report.outcome == "incorrect" and report.slip.given == said


@pytest.mark.parametrize("id", CODES)
@pytest.mark.parametrize("change", [lambda text: text, lambda text: "", lambda text: "# nothing yet\n\n", lambda text: f"# mine\n\n{text}\n\n# end"],
                         ids=["as given", "empty", "a comment", "with comments"])
def test_a_cell_that_nobody_has_worked_on_is_not_attempted(id, change):
    report = exercise(id).check(change(exercise(id).starter))
    assert report.outcome == "not attempted" and report.problem and not report.findings


@pytest.mark.parametrize("id", catalogue.MODULES)
@pytest.mark.parametrize("text, said", [("", "nothing in it"), (" \n", "nothing in it"), ("\ufeff#  Exercise 9.9\nx = 1", "an answer to 9.9"), ('{"cells": [], "metadata": {}, "nbformat": 4}', "whole notebook")])
def test_a_text_that_is_something_else_is_told_as_what_it_is(id, text, said):
    report = catalogue.exercise(id).check(text)
    assert report.outcome == "not attempted" and said in report.problem and not report.findings


def test_two_parts_of_one_exercise_are_not_taken_for_each_other():
    for id, other in (("1.2", "1.2-code"), ("1.2-code", "1.2")):
        assert f"an answer to {other};" in catalogue.exercise(id).check(catalogue.starter_text(other)).problem
        assert catalogue.exercise(id).check(catalogue.cell_text(id, catalogue.exercise(id).solution)).outcome == "correct"


@pytest.mark.parametrize("id", CODES)
def test_the_starter_has_the_solution_s_functions(id):
    starter, solution = parts(exercise(id).starter), parts(exercise(id).solution)
    assert starter == [part for part in solution if part in starter]


@pytest.mark.parametrize("id, path", WRONG)
def test_a_wrong_answer_fails_first_where_it_should_and_in_the_promised_words(id, path):
    code, words = re.match(r'# fails: (\w+) "(.+)"\n', path.read_text(encoding="utf-8")).groups()
    report = reports(id)[path]
    assert report.outcome == "incorrect"
    failed = next(finding for finding in report.findings if finding.verdict != PASS)
    said = f"{report.slip.given}\n{report.slip.expected}\n{report.slip.story}\n{report.slip.question}"
    assert (failed.criterion, failed.verdict) == (code, FAIL) and words in said, (failed.criterion, report.slip)
    assert report.slip.given and report.slip.expected and report.slip.hint in exercise(id).hints
    assert [finding.verdict for finding in report.findings].count(FAIL) == 1


@pytest.mark.parametrize("id", CODES)
def test_at_least_six_wrong_answers_are_known(id):
    assert len(reports(id)) >= 6


@pytest.mark.parametrize("id", CODES)
def test_each_hint_is_reached_by_a_wrong_answer(id):
    reached = {report.slip.hint for report in reports(id).values()}
    assert set(exercise(id).hints) - set(HINTS) - reached == set()


def test_each_hint_for_any_program_is_reached_by_some_wrong_answer():
    assert set(HINTS) - {report.slip.hint for id in CODES for report in reports(id).values()} == set()


@pytest.mark.parametrize("id", CODES)
def test_the_run_that_shows_a_slip_can_be_opened_with_the_answer_s_own_functions(id):
    opened = set()
    for path, report in reports(id).items():
        slip = report.slip
        if slip.scenario and slip.hint not in opened:
            space = {"__name__": "answer"}
            exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
            run = Experiment.from_code(slip.scenario, functions={name: space[name] for name in PARTS if name in space})
            assert run.legs[-1].outcome.status == "killed"
            run.run()
            assert run.verdict in SHOWS.get((id, slip.hint), {run.verdict})
            opened.add(slip.hint)
    assert opened >= {hint for exercise, hint in SHOWS if exercise == id}


# What the resume of such a run comes to: what the slip's story tells, seen in the world.
SHOWS = {
    ("2.2", "in-place"): {"run lost"}, ("2.2", "gap"): {"run lost"},
    ("3.2", "ran-again"): {"twice", "asks a human (done)"}, ("3.2", "no-error"): {"lost", "asks a human (not done)"},
    ("4.2", "no-entry"): {"twice"}, ("4.2", "late"): {"twice"}, ("4.2", "too-early"): {"lost"},
    ("6.2", "too-early"): {"lost"}, ("6.2", "no-entry"): {"asks a human (done)"},
}

INDEPENDENT = "two lines that know nothing of each other"
OWN_FAKE = "a detail of the student's own fake data; the proof proves what it proves"
AT = "the done criteria ask for the id and the real result; when it happened decides nothing"
SURVIVORS = {
    "2.2": {"temp = f'{path}.tmp': one line higher": INDEPENDENT,
            "path = Path(path): left out": "it is a Path already",
            "call = next((block for block in reply['content'] if block['type'] == 'tool_use'), None): one line higher": INDEPENDENT},
    "3.2": {"result = {'type': 'tool_result', 'tool_use_id': pending['id']}: one line higher": INDEPENDENT},
    "4.2": {"effects = load_effects(effects_path): one line higher": INDEPENDENT,
            "assert answers[0]['content'] == as_text({'id': 'T-1'}): left out": "the count of calls is the proof; this assert is a bonus",
            "{'title': 'Checkout is down'}: without 'title'": OWN_FAKE,
            "{'name': block['name'], 'result': output, 'at': datetime.now(timezone.utc).isoformat()}: without 'at'": AT},
    "5.2": {"{'version': 1, 'turns': turn, 'messages': ['…'] * turn, 'pendingToolUse': None}: without 'version'": OWN_FAKE,
            "{'version': 1, 'turns': turn, 'messages': ['…'] * turn, 'pendingToolUse': None}: without 'messages'": OWN_FAKE,
            "{'version': 1, 'turns': turn, 'messages': ['…'] * turn, 'pendingToolUse': None}: without 'pendingToolUse'": OWN_FAKE,
            "{'name': 'send_email', 'result': 'sent'}: without 'name'": OWN_FAKE,
            "{'name': 'send_email', 'result': 'sent'}: without 'result'": OWN_FAKE},
    "6.2": {"os.environ['CRASH_AFTER'] = 'between': one line higher": INDEPENDENT,
            "results.append({'type': 'tool_result', 'tool_use_id': block['id'], 'content': as_text(output)}): one line higher": "both come after the tool; the crash point stays where it is",
            "{'type': 'tool_use', 'id': 'toolu_03', 'name': 'write_report', 'input': {'text': '358 units'}}: without 'id'": OWN_FAKE,
            "{'text': '358 units'}: without 'text'": OWN_FAKE,
            "raise AssertionError('the crash never came'): left out": "without a crash there is an entry, which the next assert notices",
            "{'name': block['name'], 'result': output, 'at': datetime.now(timezone.utc).isoformat()}: without 'at'": AT},
}


@pytest.mark.parametrize("id", CODES)
def test_a_slip_of_the_hand_in_the_solution_is_noticed_but_for_those_with_a_reason(id):
    found = list(mutants(exercise(id).solution))
    judged = checked(id, [text for _, text in found])
    assert {what for (what, _), report in zip(found, judged) if report.outcome != "incorrect"} == set(SURVIVORS.get(id, {}))
    assert len(found) >= 20
