"""Lesson 5 as a student sees it: every cell runs, and the storage meter is driven by mouse and by keyboard, in each theme."""
import pytest

from in_lab import THEMES, cells_run, complaints, expect, keys, select, set_size, set_theme, too_wide


@pytest.fixture(scope="module")
def lesson(open_notebook):
    """Lesson 5 with every cell run; the tests share it."""
    return open_notebook("notebooks/en/lesson_5.ipynb")


@pytest.fixture
def meter(lesson):
    return lesson.locator(".course-view", has=lesson.get_by_label("Turns to run"))


def test_every_cell_of_the_lesson_runs_and_none_shows_an_error(lesson):
    assert cells_run(lesson) > 30


def test_a_student_chooses_how_many_turns_to_run(meter):
    select(meter.get_by_label("Turns to run"), "40")
    expect(meter.get_by_role("status")).to_contain_text("a run of 40 turns made just now")
    expect(meter.get_by_role("rowheader", name="40", exact=True)).to_be_visible()
    expect(meter).to_contain_text("the history 2.0-fold")


def test_the_keyboard_alone_will_do(lesson, meter):
    select(meter.get_by_label("Turns to run"), "20")
    expect(meter.get_by_role("status")).to_contain_text("a run of 20 turns")
    meter.get_by_label("Turns to run").focus()
    keys(lesson, "ArrowUp")
    expect(meter.get_by_role("status")).to_contain_text("a run of 10 turns")
    expect(meter.get_by_label("Turns to run")).to_be_focused()


@pytest.mark.parametrize("theme", THEMES)
def test_it_is_accessible_in_each_theme(lesson, meter, theme):
    set_theme(lesson, theme)
    set_size(lesson, 1280, 20000)  # contrast is only looked at where nothing is scrolled away
    lesson.get_by_role("heading", name="Lesson 5").scroll_into_view_if_needed()
    # In a file's picture the space at which a line wraps hangs over the edge; axe then can't tell what lies behind it.
    assert [complaint for complaint in complaints(lesson) if not (complaint[1].startswith("<pre") and "partially obscured" in complaint[2])] == []


def test_nothing_is_wider_than_a_projector_or_a_small_laptop(lesson, meter):
    set_size(lesson, 1000, 800)
    assert too_wide(lesson) == []
