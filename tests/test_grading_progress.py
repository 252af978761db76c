"""A student's progress: kept by an atomic save, readable, deletable, never in the way; and what check, hint, solution and reset do with it."""
import copy
import json

import pytest

from course_lib.errors import CourseError
from course_lib.grading import catalogue, progress
from course_lib.grading.report import CORRECT, INCORRECT, NOT_ATTEMPTED
from course_lib.moments import Run, SimulatedCrash


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress, "_aside", None)  # a solution's notebook, run in this process, keeps its progress to itself
    return tmp_path / "progress.json"


def wrong(id, row, field, value):
    answer = copy.deepcopy(catalogue.exercise(id).solution)
    answer[row][field] = value
    return answer


EMAIL_IS_FINE = wrong("4.1", "send_email", "idempotent", "yes")


def test_an_attempt_is_counted_and_what_it_found_is_kept(file):
    catalogue.check("4.1", EMAIL_IS_FINE)
    catalogue.check("4.1", EMAIL_IS_FINE)
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert kept == {"4.1": {**progress.NEW, "attempts": 2, "outcome": INCORRECT, "ladder": "adds"}}


def test_solved_stays_solved_whatever_is_tried_afterwards():
    catalogue.check("4.1", catalogue.exercise("4.1").solution)
    catalogue.check("4.1", EMAIL_IS_FINE)
    assert progress.entry("4.1")["solved"] and progress.entry("4.1")["outcome"] == INCORRECT


def test_looking_at_an_empty_form_is_no_attempt_and_writes_nothing(file):
    assert catalogue.check("4.1", catalogue.exercise("4.1").starter).outcome == NOT_ATTEMPTED
    assert progress.load() == {} and not file.exists()


def test_hints_climb_the_ladder_of_what_the_last_check_found_and_stay_at_its_top():
    catalogue.check("4.1", EMAIL_IS_FINE)
    ladder = catalogue.exercise("4.1").hints["adds"]
    assert [catalogue.hint("4.1") for _ in range(3)] == [(ladder[:1], 2), (ladder, 2), (ladder, 2)]
    catalogue.check("4.1", wrong("4.1", "read_file", "risk", "high"))
    assert catalogue.hint("4.1") == (catalogue.exercise("4.1").hints["risk-too-high"][:1], 2)
    assert progress.entry("4.1")["hints"] == {"adds": 2, "risk-too-high": 1}


def test_there_is_no_hint_before_an_attempt_and_none_after_a_right_answer():
    with pytest.raises(CourseError, match="Try it first: change the answer to 4.1 and check it"):
        catalogue.hint("4.1")
    catalogue.check("4.1", catalogue.exercise("4.1").solution)
    with pytest.raises(CourseError, match="found nothing wrong"):
        catalogue.hint("4.1")


def test_the_solution_is_shown_after_an_attempt_only(file):
    with pytest.raises(CourseError, match="after an attempt"):
        catalogue.solution("4.1")
    assert not file.exists()
    catalogue.check("4.1", EMAIL_IS_FINE)
    assert catalogue.solution("4.1") == catalogue.exercise("4.1").solution
    assert progress.entry("4.1")["solution seen"]


def test_a_text_is_kept_before_the_model_answer_is_given_and_nobody_judges_it():
    question, model = next(iter(catalogue.exercise("4.1").notes.items()))
    with pytest.raises(CourseError, match="your own sentence first"):
        catalogue.compare("4.1", question, " \n")
    assert progress.load() == {}
    assert catalogue.compare("4.1", question, "I don't know") == model
    assert progress.entry("4.1")["notes"] == {question: "I don't know"} and progress.entry("4.1")["attempts"] == 0


def test_reset_forgets_one_exercise_and_leaves_the_others():
    catalogue.check("4.1", EMAIL_IS_FINE)
    catalogue.check("2.1", catalogue.exercise("2.1").solution)
    assert catalogue.reset("4.1") == catalogue.exercise("4.1").starter
    assert list(progress.load()) == ["2.1"]


def test_the_file_may_be_deleted_at_any_time(file):
    catalogue.check("4.1", EMAIL_IS_FINE)
    file.unlink()
    assert progress.entry("4.1") == progress.NEW
    catalogue.check("4.1", EMAIL_IS_FINE)
    assert progress.entry("4.1")["attempts"] == 1


@pytest.mark.parametrize("label", ["mid-progress", "after-progress"])
def test_a_kill_while_it_is_saved_leaves_the_old_progress_or_the_new(label):
    catalogue.check("4.1", EMAIL_IS_FINE)
    with pytest.raises(SimulatedCrash), Run(crash_after=(label, 1)):
        catalogue.check("4.1", EMAIL_IS_FINE)
    assert progress.entry("4.1")["attempts"] == (1 if label == "mid-progress" else 2)


@pytest.mark.parametrize("broken", [b'{"4.1": {"attempts"', b"[]", b'{"4.1": 7}', b'{"4.1": {"hints": []}}', b'{"4.1": {"attempts": "3"}}', b"\xff"], ids=repr)
def test_a_broken_file_is_set_aside_under_a_printed_name_and_the_check_goes_on(file, broken, capsys):
    file.write_bytes(broken)
    assert catalogue.check("4.1", EMAIL_IS_FINE).outcome == INCORRECT
    assert (file.parent / "progress.json.broken.1").read_bytes() == broken
    assert "progress.json.broken.1" in capsys.readouterr().err
    assert progress.entry("4.1")["attempts"] == 1


def test_progress_that_cannot_be_saved_is_told_and_the_report_is_given_all_the_same(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "nowhere" / "progress.json"))
    assert catalogue.check("4.1", catalogue.exercise("4.1").solution).outcome == CORRECT
    assert "could not be saved" in capsys.readouterr().err


def test_kept_aside_nothing_reaches_the_file(file, monkeypatch):
    monkeypatch.setattr(progress, "_aside", None)
    progress.keep_aside()
    catalogue.check("4.1", catalogue.exercise("4.1").solution)
    assert progress.entry("4.1")["solved"] and not file.exists()
    catalogue.reset("4.1")
    assert progress.load() == {}


def test_progress_is_in_words():
    assert progress.state(progress.NEW) == "not tried yet"
    assert progress.state({**progress.NEW, "attempts": 1, "hints": {"a": 1}}) == "not solved yet · 1 attempt · 1 hint"
    assert progress.state({**progress.NEW, "attempts": 3, "solved": True, "hints": {"a": 1, "b": 2}, "solution seen": True}) \
        == "✓ solved · 3 attempts · 3 hints · solution looked at"


def test_an_exercise_of_two_parts_is_solved_when_both_are_and_counted_as_one():
    solved, tried = ({**progress.NEW, "attempts": 1, "solved": True, "hints": {"a": 1}}, {**progress.NEW, "attempts": 2, "hints": {"a": 2}})
    assert progress.state(progress.together({"1.2": solved, "1.2-code": tried})) == "not solved yet: 1.2-code · 3 attempts · 3 hints"
    assert progress.state(progress.together({"1.2": tried, "1.2-code": {**tried, "attempts": 0}})) == "not solved yet · 2 attempts · 4 hints"
    assert progress.state(progress.together({"1.2": solved, "1.2-code": {**tried, "solved": True}})) == "✓ solved · 3 attempts · 3 hints"
    assert [id for id, _, _ in catalogue.kept_progress()] == ["1.1", "1.2", "2.1", "2.2", "3.1", "3.2", "4.1", "4.2", "5.1", "5.2", "6.1", "6.2"]


def test_an_unknown_exercise_is_refused_with_those_there_are():
    with pytest.raises(CourseError, match=r"no exercise 9\.9; there are 1\.1, "):
        catalogue.check("9.9", {})
