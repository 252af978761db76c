"""Lesson 4 as a student sees it: the tools rated and run, a cell of the matrix opened in CrashLab."""
import pytest

from in_lab import RESET, THEMES, cells_run, click, complaints, expect, keys, press, select, set_size, set_theme, too_wide

OPEN = "Open this run in CrashLab"


@pytest.fixture(scope="module")
def page(open_notebook):
    """The lesson, every cell run."""
    return open_notebook("notebooks/en/lesson_4.ipynb")


@pytest.fixture
def matrix(page):
    page.bring_to_front()
    return page.locator(".course-view", has=page.get_by_role("button", name=OPEN)).first


@pytest.fixture
def rating(page):
    page.bring_to_front()
    return page.locator(".course-view", has=page.get_by_role("button", name="Run it")).first


def test_every_cell_runs_and_none_shows_an_error(page):
    assert cells_run(page) > 20


def test_a_tool_is_rated_first_and_then_seen_to_grow_the_outbox(rating):
    select(rating.get_by_label("Tool", exact=True), "send_email")
    expect(rating).to_contain_text("send_email(to='ada@example.org'")
    press(rating, "Run it")
    expect(rating).to_contain_text("Rate it first")
    click(rating.get_by_role("radio", name="ten runs leave the world"))
    click(rating.get_by_role("radio", name="high"))
    press(rating, "Run it")
    expect(rating).to_contain_text("✗ not idempotent")
    expect(rating).to_contain_text("after 2 runs")


def test_a_click_on_a_cell_opens_that_run_in_crashlab(page, matrix):
    select(matrix.get_by_label("Tool", exact=True).first, "create_ticket")
    click(matrix.get_by_role("radio", name="② the tool has done its work, the ledger does not know: ledger, a miss runs (lesson 4): twice"))
    lab = matrix.locator(".course-view", has=page.get_by_role("button", name=RESET)).first
    expect(lab).to_contain_text("[kill] simulated kill at after-tool:2")
    expect(lab.get_by_label("Scenario code")).to_have_value("support-desk/create_ticket/lesson-4/after-tool:2")


def test_a_cell_is_opened_with_the_keyboard_and_the_lists_alone(page, matrix):
    select(matrix.get_by_label("Tool", exact=True).first, "append_log")
    select(matrix.get_by_label("Policy", exact=True).first, "lesson 6 and an intent record")
    expect(matrix.get_by_label("Moment", exact=True).first).to_contain_text("the intent is on disk")
    matrix.get_by_role("button", name=OPEN).focus()
    keys(page, "Enter")
    lab = matrix.locator(".course-view", has=page.get_by_role("button", name=RESET)).first
    expect(lab.get_by_label("Scenario code")).to_have_value("support-desk/append_log/intent/before-request:2")


@pytest.mark.parametrize("theme", THEMES)
def test_the_labs_are_accessible_in_each_theme(page, theme):
    page.bring_to_front()
    set_theme(page, theme)
    set_size(page, 1280, 15000)  # axe looks at no contrast where the page is scrolled away
    page.get_by_role("heading", level=1).scroll_into_view_if_needed()
    assert complaints(page, ".course-view") == []  # the colours of code in other outputs are JupyterLab's own


def test_nothing_is_wider_than_a_projector_or_a_small_laptop(page):
    set_size(page, 1000, 800)
    assert too_wide(page) == []
