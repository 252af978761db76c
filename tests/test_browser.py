"""The course as a student sees it: real JupyterLab, real Chromium, mouse and keyboard."""
import pytest

LESSON_6 = "notebooks/en/lesson_6.ipynb"
THEMES = ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]


@pytest.fixture(scope="module")
def lesson(open_notebook):
    """Lesson 6 with every cell run; the tests share it, each starts by putting CrashLab back."""
    return open_notebook(LESSON_6)


def crash_lab(page):
    lab = page.locator(".course-view", has=page.get_by_role("button", name="Reset files and world")).first
    lab.get_by_role("button", name="Reset files and world").click()
    expect(lab).to_contain_text("Turn 1: before anything has run")
    return lab


def choose(lab, turn, moment):
    lab.get_by_label("Turn").select_option(f"turn {turn}")
    expect(lab).to_contain_text(f"Turn {turn}:")  # the kernel has answered with that turn's moments
    lab.get_by_label("Moment").select_option(moment)


def expect(locator):
    from playwright.sync_api import expect
    return expect(locator)


def test_every_cell_of_the_lesson_runs_and_none_shows_an_error(lesson):
    page = lesson
    kinds = page.evaluate("""() => window.jupyterapp.shell.currentWidget.content.widgets
        .filter(cell => cell.model.type === 'code').map(cell => [cell.model.executionCount, cell.model.outputs.toJSON().map(o => o.output_type)])""")
    assert len(kinds) > 20
    assert all(count for count, _ in kinds), kinds
    assert not [outputs for _, outputs in kinds if "error" in outputs]


def test_a_student_kills_at_the_ledger_write_and_resumes_by_mouse(lesson):
    lab = crash_lab(lesson)
    choose(lab, 3, "②' the ledger knows, save B is missing")
    expect(lab).to_contain_text("after-effect-write:3")
    lab.get_by_role("button", name="Kill it at this moment").click()
    expect(lab).to_contain_text("The process is dead.")
    expect(lab).to_contain_text("[kill] simulated kill at after-effect-write:3")
    lab.get_by_role("button", name="Resume, and run to the end").click()
    expect(lab).to_contain_text("name=write_report ledger hit, reusing result, not re-running")
    expect(lab).to_contain_text("[done] Report written to report.txt, task complete.")
    expect(lab).to_contain_text("write_report ×1")
    lab.get_by_role("button", name="Reset files and world").click()
    expect(lab).to_contain_text("Nothing has been run yet.")


def test_a_student_kills_and_resumes_with_the_keyboard_alone(lesson):
    page, lab = lesson, crash_lab(lesson)
    lab.get_by_label("Turn").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(lab).to_contain_text("Turn 3: before the model is asked")
    page.keyboard.press("Tab")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(lab).to_contain_text("after-tool:3")
    for _ in range(3):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(lab).to_contain_text("[kill] simulated kill at after-tool:3")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(lab).to_contain_text("ledger miss with side effects, unresolvable, appending is_error")


def test_an_answer_stays_hidden_until_the_student_commits(lesson):
    question = lesson.locator(".course-view", has_text="Somebody wants to save a write").first
    reason = question.get_by_text("A kill between the model's call and Point B leaves no trace").nth(1)
    expect(reason).to_be_hidden()
    question.get_by_role("button", name="This is my answer").click()
    expect(question).to_contain_text("Choose one first.")
    question.get_by_role("radio").first.check()
    question.get_by_role("button", name="This is my answer").click()
    expect(question).to_contain_text("Not quite.")
    expect(reason).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_widgets_and_outputs_are_accessible_in_each_theme(lesson, theme):
    from axe_playwright_python.sync_playwright import Axe
    page = lesson
    page.evaluate("async theme => await window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    lab = crash_lab(page)
    choose(lab, 3, "②' the ledger knows, save B is missing")
    expect(lab).to_contain_text("after-effect-write:3")
    page.add_style_tag(content="html, body { height: 100vh !important }")  # axe takes a body without height for invisible, and skips contrast
    report = Axe().run(page, context=".jp-OutputArea-output").response
    assert "color-contrast" in [rule["id"] for rule in report["passes"]], "contrast was not tested"
    assert not report["violations"], [(rule["id"], node["html"][:200], node["failureSummary"][:200])
                                      for rule in report["violations"] for node in rule["nodes"][:3]]


def test_nothing_is_wider_than_a_projector_or_a_small_laptop(lesson):
    page = lesson
    page.set_viewport_size({"width": 1000, "height": 800})
    lab = crash_lab(page)
    choose(lab, 3, "②' the ledger knows, save B is missing")
    expect(lab).to_contain_text("after-effect-write:3")
    too_wide = page.evaluate("""() => [...document.querySelectorAll('.course-view, .jp-OutputArea-output')]
        .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText.slice(0, 60))""")
    assert too_wide == []
