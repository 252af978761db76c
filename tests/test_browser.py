"""The lesson as a student sees it: real JupyterLab, real Chromium, every cell run."""
import pytest

from in_lab import (DEMO, KILL, RESUME, THEMES, cells_run, choose, click, complaints, crash_labs, cut_off, expect, fresh, kill_at, predict, press, set_size,
                    set_theme, too_wide)

LESSON_6 = "notebooks/en/lesson_6.ipynb"


@pytest.fixture(scope="module")
def lesson(open_notebook):
    """Lesson 6 with every cell run; the tests share it, each starts by putting CrashLab back."""
    return open_notebook(LESSON_6)


def test_every_cell_of_the_lesson_runs_and_none_shows_an_error(lesson):
    assert cells_run(lesson) > 20
    expect(lesson.locator(".course-view").get_by_role("alert")).to_have_count(0)


def test_a_student_reproduces_the_demo_of_the_lesson(lesson):
    lab = fresh(crash_labs(lesson).first)
    kill_at(lab, 3, DEMO)
    expect(lab).to_contain_text("[kill] simulated kill at after-effect-write:3")
    predict(lab, "its result is reused, nothing runs", "write_report happens once.")
    press(lab, RESUME)
    expect(lab).to_contain_text("name=write_report ledger hit, reusing result, not re-running")
    expect(lab).to_contain_text("[done] Report written to report.txt, task complete.")
    expect(lab).to_contain_text("write_report ×1")


def test_a_student_reproduces_the_miss_of_the_ledger(lesson):
    lab = fresh(crash_labs(lesson).first)
    kill_at(lab, 3, "② the tool has done its work, the ledger does not know")
    predict(lab, 'the model is told "state unknown"', "write_report has happened, and a person")
    press(lab, RESUME)
    expect(lab).to_contain_text("ledger miss with side effects, unresolvable, appending is_error")
    expect(lab.get_by_text("you were right")).to_have_count(2)


def test_a_save_of_the_students_own_can_be_killed_between_its_bytes(lesson):
    lab = fresh(crash_labs(lesson).nth(1))
    choose(lab, 1, "in the middle of save A (write checkpoint.json) #3")
    press(lab, KILL)
    expect(lab).to_contain_text("[kill] SIGKILL at mid-save-a:3")


def test_an_answer_stays_hidden_until_the_student_commits(lesson):
    question = lesson.locator(".course-view", has_text="Somebody wants to save a write").first
    reason = question.get_by_text("A kill between the model's call and Point B leaves no trace").nth(1)
    expect(reason).to_be_hidden()
    press(question, "This is my answer")
    expect(question).to_contain_text("Choose one first.")
    click(question.get_by_role("radio").first)
    press(question, "This is my answer")
    expect(question).to_contain_text("Not quite.")
    expect(reason).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_widgets_and_outputs_are_accessible_in_each_theme(lesson, theme):
    set_size(lesson, 1280, 900)
    set_theme(lesson, theme)
    choose(fresh(crash_labs(lesson).first), 3, DEMO)
    assert complaints(lesson) == []


def test_nothing_is_wider_than_a_projector_or_a_small_laptop(lesson):
    set_size(lesson, 1000, 800)
    choose(fresh(crash_labs(lesson).first), 3, DEMO)
    assert too_wide(lesson) == []
    assert cut_off(lesson) == []
