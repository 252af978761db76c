"""Lesson 1 in real JupyterLab: InterruptionCost with the mouse, with the keyboard, in each theme."""
import re

import pytest

from in_lab import THEMES, cells_run, complaints, expect, keys, set_size, set_theme, settled, too_wide


@pytest.fixture(scope="module")
def lesson(open_notebook):
    """Lesson 1 with every cell run; the tests share it."""
    return open_notebook("notebooks/en/lesson_1.ipynb")


@pytest.fixture
def cost(lesson):
    """The widget at 40 turns, 2 %, 0.05."""
    set_size(lesson, 1280, 900)
    cost = lesson.locator(".course-view", has=lesson.get_by_label("Turns of the task")).first
    expect(cost.locator("svg")).to_have_count(2)
    for name, value in ("Turns of the task", "40"), ("Interruptions per turn", "2"), ("Price of saving", "0.05"):
        cost.get_by_label(name).fill(value)
        cost.get_by_label(name).press("Enter")
    settled(lesson)
    expect(cost).to_contain_text("40 turns, 2.0 % each")
    expect(cost).to_contain_text("42.9")
    return cost


def test_every_cell_runs_and_none_shows_an_error(lesson, cost):
    assert cells_run(lesson) > 15


def test_a_student_asks_what_a_longer_task_costs(lesson, cost):
    cost.get_by_label("Turns of the task").click()
    cost.get_by_label("Turns of the task").fill("200")
    cost.get_by_label("Interruptions per turn").click()  # leaving the field is enough
    settled(lesson)
    expect(cost).to_contain_text("200 turns, 2.0 % each")
    expect(cost.get_by_role("img", name=re.compile("Turns paid.*start over: 2,79"))).to_be_visible()  # (0.98^-200 - 1) / 0.02 = 2793
    expect(cost.get_by_text("logarithmic scale").first).to_be_visible()


def test_the_keyboard_alone_will_do(lesson, cost):
    cost.get_by_label("Turns of the task").focus()
    keys(lesson, "ArrowUp", "Tab")
    expect(cost).to_contain_text("41 turns, 2.0 % each")
    keys(lesson, "ArrowDown", "Tab")
    expect(cost).to_contain_text("41 turns, 1.5 % each")


@pytest.mark.parametrize("theme", THEMES)
def test_it_is_accessible_in_each_theme(lesson, cost, theme):
    set_theme(lesson, theme)
    set_size(lesson, 1280, 15000)  # contrast is only looked at where nothing is scrolled away
    lesson.get_by_role("heading", name="Lesson 1").scroll_into_view_if_needed()
    assert [complaint for complaint in complaints(lesson) if "too short to determine" not in complaint[2]] == []  # the 0 of an axis


def test_nothing_is_wider_than_a_projector_or_a_small_laptop(lesson, cost):
    set_size(lesson, 1000, 800)
    assert too_wide(lesson) == []
