"""The landing page, lesson 3 and the side-by-side page as a student sees them."""
import pytest

from in_lab import RESUME, THEMES, cells_run, click, complaints, crash_labs, cut_off, expect, fresh, kill_at, predict, press, set_size, set_theme, too_wide

PAGES = ["index", "lesson_3", "side_by_side"]


@pytest.fixture(scope="module")
def pages(open_notebook):
    """Each page opened once, every cell run."""
    return {name: open_notebook(f"notebooks/en/{name}.ipynb") for name in PAGES}


@pytest.mark.parametrize("name", PAGES)
def test_every_cell_runs_and_none_shows_an_error(pages, name):
    assert cells_run(pages[name]) > 0


def test_the_landing_page_plays_a_kill_and_leads_to_lesson_3(open_notebook):
    page = open_notebook("notebooks/en/index.ipynb")
    terminal = page.locator(".jp-OutputArea-output").first
    expect(terminal).to_contain_text("[kill] simulated kill at after-effect-write:3")
    expect(terminal).to_contain_text("write_report happened once")
    page.get_by_role("link", name="3 · Back into the loop").click()
    expect(page.get_by_role("heading", name="Lesson 3 · Back into the loop")).to_be_visible()


def test_a_student_kills_the_e_mail_without_a_ledger_and_a_person_is_asked(pages):
    lab = fresh(crash_labs(pages["lesson_3"]).first)
    kill_at(lab, 2, "② the tool has done its work, the ledger does not know")
    predict(lab, 'the model is told "state unknown"', "send_email has happened, and a person")
    press(lab, RESUME)
    expect(lab).to_contain_text("ledger miss with side effects, unresolvable, appending is_error")
    expect(lab).to_contain_text("send_email ×1")
    expect(lab.get_by_text("you were right")).to_have_count(2)


def test_the_quiz_answers_with_a_reason_for_each_choice(pages):
    question = pages["lesson_3"].locator(".course-view", has_text="So the resume drops that assistant message").first
    click(question.get_by_role("radio").nth(2))
    press(question, "This is my answer")
    expect(question).to_contain_text("That is right.")
    expect(question).to_contain_text("this turn was its only trace")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_outputs_are_accessible_in_each_theme(pages, name, theme):
    page = pages[name]
    page.bring_to_front()
    set_theme(page, theme)
    set_size(page, 1280, 15000)  # axe looks at no contrast where the page is scrolled away
    page.get_by_role("heading", level=1).scroll_into_view_if_needed()
    assert complaints(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_a_projector_or_a_small_laptop(pages, name):
    page = pages[name]
    set_size(page, 1000, 800)
    assert too_wide(page) == []
    assert cut_off(page, ".jp-OutputArea-output, .jp-RenderedMarkdown") == []
