"""The exercises as a student meets them: a form by mouse and by keyboard, a code cell wrong and then right, progress."""
import re

import pytest

from course_lib.grading import catalogue

from in_lab import RESET, THEMES, complaints, execute, expect, keys, press, select, set_size, set_theme, settled, too_wide

OPEN = "Open this run in CrashLab"
NAMES = ["exercises/en/lesson_4", "exercises/en/lesson_6", "notebooks/en/index"]


@pytest.fixture(scope="module")
def pages(open_notebook):
    """Each notebook opened once, every cell run."""
    return {name: open_notebook(f"{name}.ipynb") for name in NAMES}


def card(page, id):
    """The card of an exercise, begun anew. (Lab moves what is far off; the page is in front so that it is drawn.)"""
    page.bring_to_front()
    found = page.locator(".course-view", has=page.get_by_text(f"Exercise {id} · "))
    press(found, re.compile("Reset$"))
    expect(found).to_contain_text("are forgotten")
    return found


def choose(card, row, question, choice):
    select(card.get_by_role("group", name=row).get_by_label(question), choice)


def fill_in(page, card, id):
    """The whole form at once, by the kernel; the choices in question are made in the browser."""
    execute(page, f"""
import gc
from course_lib.widgets.exercise_card import ExerciseCard
found = [each for each in gc.get_objects() if isinstance(each, ExerciseCard) and each.exercise.id == {id!r} and each.comm][-1]
found.choices.value = found.exercise.solution
""")


def test_a_form_is_filled_in_by_mouse_checked_and_put_right(pages):
    page = pages["exercises/en/lesson_4"]
    form = card(page, "4.1")
    press(form, "Check")
    expect(form).to_contain_text("Nothing is chosen yet")
    fill_in(page, form, "4.1")
    expect(form.get_by_role("group", name="set_config").get_by_label("Is it idempotent?")).to_have_value("yes")
    choose(form, "set_config", "Is it idempotent?", "no: each further run changes the world again")
    press(form, "Check")
    expect(form).to_contain_text("✗ All six are rated rightly")
    expect(form).to_contain_text("Look at the world after the first run and after the tenth")
    press(form, "Hint")
    expect(form).to_contain_text("It means that the second run changes nothing more.")
    choose(form, "set_config", "Is it idempotent?", "yes: ten runs leave the world as one run does")
    press(form, "Check")
    expect(form).to_contain_text("Exercise 4.1: correct.")


def test_a_form_is_filled_in_with_the_keyboard_alone(pages):
    page = pages["exercises/en/lesson_4"]
    form = card(page, "4.1")
    first = form.get_by_role("group", name="read_file").get_by_label("Is it idempotent?")
    first.focus()
    keys(page, "ArrowDown")
    expect(first).to_have_value("yes")
    keys(page, "Tab", "h")  # a letter goes to the list, and not to JupyterLab
    expect(form.get_by_role("group", name="read_file").get_by_label("How bad is that?")).to_have_value("high")
    form.get_by_role("button", name="Check").focus()
    keys(page, "Enter")
    expect(form).to_contain_text("✗ Every question has one of its answers.")
    expect(form).to_contain_text("nothing chosen")


def test_one_writes_and_commits_before_the_model_answer_is_shown(pages):
    form = card(pages["exercises/en/lesson_4"], "4.1")
    expect(form).not_to_contain_text("append_log can become")
    form.get_by_label("Your words").fill("append_log, with a number in each line")
    press(form, "Commit, then compare")
    expect(form).to_contain_text("append_log can become")


def test_a_wrong_moment_opens_in_crashlab(pages):
    page = pages["exercises/en/lesson_6"]
    form = card(page, "6.1")
    fill_in(page, form, "6.1")
    choose(form, "③ save B is on disk", "pendingToolUse holds", "null")
    choose(form, "② the tool has done", "effects.json", "an entry with the tool's result")
    press(form, "Check")
    expect(form).to_contain_text("✗ ② is right")
    press(form, OPEN)
    lab = form.locator(".course-view", has=page.get_by_role("button", name=RESET))
    expect(lab).to_contain_text("[kill] simulated kill at after-tool:3")
    expect(lab).to_contain_text("write_report ×1")


WRONG = """# exercise 4.2
import json, os

def load_effects(path):
    return json.loads(path.read_text()) if path.exists() else {}

def save_effects(path, effects):
    with open(f"{path}.tmp", "w") as file:
        json.dump(effects, file)
    os.replace(f"{path}.tmp", path)

def run_tool_uses(content, tools, *, effects_path, approve=None):
    results = []
    for block in content:
        if block["type"] == "tool_use":
            output = tools[block["name"]](block["input"])
            effects = load_effects(effects_path)
            effects[block["id"]] = {"name": block["name"], "result": output, "at": "now"}
            save_effects(effects_path, effects)
            results.append({"type": "tool_result", "tool_use_id": block["id"], "content": json.dumps(output)})
    return results
"""


def put_and_run(page, id, source):
    """Write a cell's text and run it, as a student does."""
    page.evaluate("""async ([marker, source]) => {
        const panel = window.jupyterapp.shell.currentWidget, cells = panel.content.widgets;
        const at = cells.findIndex(cell => cell.model.sharedModel.getSource().startsWith(marker));
        cells[at].model.sharedModel.setSource(source);
        panel.content.activeCellIndex = at;
        await window.jupyterapp.commands.execute('notebook:run-cell');
    }""", [f"# exercise {id}", source])
    settled(page)


def test_a_code_cell_is_wrong_then_right_and_the_wrong_one_is_seen_in_crashlab(pages):
    page = pages["exercises/en/lesson_4"]
    answer = card(page, "4.2")
    put_and_run(page, "4.2", WRONG)
    press(answer, "Check")
    expect(answer).to_contain_text("✗ A call that the ledger knows is answered from it")
    expect(answer).to_contain_text("2 times for one tool_use_id")
    press(answer, OPEN)
    lab = answer.locator(".course-view", has=page.get_by_role("button", name=RESET))
    expect(lab).to_contain_text("[kill]")
    press(answer, "Hint")
    expect(answer).to_contain_text("Who could know that it has been done?")
    press(answer, "Solution")
    expect(answer).to_contain_text("A worked answer")
    put_and_run(page, "4.2", catalogue.exercise("4.2").solution)
    press(answer, "Check")
    expect(answer).to_contain_text("Exercise 4.2: correct.")


def test_an_endless_answer_is_cut_off_and_the_kernel_lives(pages):
    page = pages["exercises/en/lesson_4"]
    answer = card(page, "4.2")
    put_and_run(page, "4.2", WRONG.replace("    results = []\n", "    results = []\n    while True:\n        pass\n"))
    press(answer, "Check")
    expect(answer).to_contain_text("was cut off")
    form = card(page, "4.1")
    press(form, "Check")
    expect(form).to_contain_text("Nothing is chosen yet")


def test_the_first_page_shows_what_was_solved(pages):
    page = pages["exercises/en/lesson_4"]
    form = card(page, "4.1")
    fill_in(page, form, "4.1")
    press(form, "Check")
    expect(form).to_contain_text("Exercise 4.1: correct.")
    index = pages["notebooks/en/index"]
    index.bring_to_front()
    view = index.locator(".course-view", has=index.get_by_role("button", name="Look again"))
    press(view, "Look again")
    expect(view.get_by_role("row", name="4.1")).to_contain_text("✓ solved · 1 attempt")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_accessible_in_each_theme(pages, name, theme):
    page = pages[name]
    page.bring_to_front()
    if name.startswith("exercises"):  # with a report and its hints in view
        form = card(page, "4.1" if name.endswith("4") else "6.1")
        form.get_by_role("combobox").first.select_option(index=1)
        settled(page)
        press(form, "Check")
        expect(form).to_contain_text("A question back:")
        press(form, "Hint")
        expect(form).to_contain_text("Hints so far")
    set_theme(page, theme)
    set_size(page, 1280, 15000)  # axe looks at no contrast where the page is scrolled away
    page.get_by_role("heading", level=1).scroll_into_view_if_needed()
    assert complaints(page) == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_a_projector_or_a_small_laptop(pages, name):
    page = pages[name]
    set_size(page, 1000, 800)
    assert too_wide(page) == []
