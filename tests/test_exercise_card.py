"""The card of an exercise, without a browser: its form, its buttons, its static twin."""
import copy
import json
import re

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from course_lib.grading import catalogue, progress
from course_lib.widgets import exercise_card
from course_lib.widgets.exercise_card import ExerciseCard, cell_of, check
from course_lib.widgets.progress import Progress

from markup import Parsed

FORMS = [id for id, module in catalogue.MODULES.items() if module.startswith("forms.")]


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))
    monkeypatch.setattr(progress, "_aside", None)  # a solution's notebook, run in this process, keeps its progress to itself
    return tmp_path / "progress.json"


def fill(card, answer, **differs):
    """As the browser does it."""
    value = copy.deepcopy(answer)
    for row, fields in differs.items():
        value[row].update(fields)
    card.choices._handle_msg({"content": {"data": {"method": "update", "state": {"value": value}}}, "buffers": []})


def click(card, name):
    card.buttons[name]._handle_msg({"content": {"data": {"method": "custom", "content": {"event": "click"}}}, "buffers": []})


def wrong_card():
    card = check("6.1")
    fill(card, card.exercise.solution, **{"2": {"ledger": "entry"}})
    click(card, "check")
    return card


@pytest.mark.parametrize("id", FORMS)
def test_a_form_filled_in_and_checked_is_correct(id):
    card = check(id)
    assert repr(card) == f"ExerciseCard('{id}', 'not attempted')" and card.said.value == ""
    fill(card, card.exercise.solution)
    click(card, "check")
    assert repr(card) == f"ExerciseCard('{id}', 'correct')" and "Every criterion is met." in card.said.value
    assert progress.entry(id)["solved"]


def test_an_empty_form_says_what_to_do_and_what_would_have_to_be_true():
    card = check("4.1")
    click(card, "check")
    assert "Nothing is chosen yet" in card.said.value and "Done when:" in card.said.value
    assert "All six are rated rightly" in card.said.value


def test_a_wrong_choice_is_answered_by_what_was_chosen_and_a_question():
    card = wrong_card()
    assert "✗ ② is right" in card.said.value and "Who writes the entry, and when?" in card.said.value
    assert "② the tool has done its work, the ledger does not know. effects.json: what does it hold for this call? an entry" in card.said.value
    assert not card.alert.value


def test_hint_solution_and_reset_do_what_their_buttons_say():
    card = check("6.1")
    click(card, "hint")
    assert "Try it first: change the answer to 6.1" in card.alert.value
    click(card, "solution")
    assert "after an attempt" in card.alert.value and "this turn&#x27;s call" not in card.more.value
    card = wrong_card()
    click(card, "hint")
    assert "(1 of 2)" in card.more.value
    click(card, "hint")
    assert card.more.value.count("<li>") == 2 and "(2 of 2; there are no more on this)" in card.more.value and not card.alert.value
    click(card, "solution")
    assert "this turn&#x27;s call" in card.more.value
    click(card, "reset")
    assert card.choices.value == card.exercise.starter and card.said.value == "" and progress.load() == {}


def test_the_run_that_shows_it_opens_in_crashlab_killed_at_that_moment():
    card = wrong_card()
    assert card.run_button.layout.display == ""
    card.run_button.click()
    lab, = card.run.children
    assert lab.code == "sales-report/write_report/lesson-6/after-tool:3" and "[kill]" in lab.text
    click(card, "reset")
    assert card.run_button.layout.display == "none" and not card.run.children


def test_a_choice_that_no_run_shows_offers_none():
    card = check("4.1")
    fill(card, card.exercise.solution, read_file={"idempotent": "no"})
    click(card, "check")
    assert card.run_button.layout.display == "none"


def test_the_form_comes_back_with_what_was_last_checked_when_the_kernel_has_died():
    wrong_card()
    again = check("6.1")
    assert again.choices.value["2"]["ledger"] == "entry" and again.said.value == ""


def test_what_stands_in_the_cell_goes_before_what_was_kept():
    wrong_card()
    again = check("6.1", catalogue.cell_text("6.1", catalogue.exercise("6.1").solution))
    assert again.choices.value == catalogue.exercise("6.1").solution and again.report.outcome == "correct"


@pytest.mark.parametrize("answer", ["answer = {'1': ", {"1": 7}, {"1": {"pending": ["x"]}}, {"1": {"pending": "<b>"}}, 5], ids=repr)
def test_an_odd_answer_makes_a_card_that_says_so_and_can_be_used(answer):
    card = check("6.1", answer)
    assert card.report.outcome in ("not attempted", "incorrect")
    assert ("<b>" in Parsed(card.said.value).text) == ("<b>" in str(answer))
    Parsed(card.static_html())
    fill(card, card.exercise.solution)
    click(card, "check")
    assert card.report.outcome == "correct"


def test_the_choices_are_given_as_the_cell_that_one_hands_in():
    card = wrong_card()
    text = Parsed(card.plain.value).text
    cell = text[text.index("# exercise 6.1"):]
    assert catalogue.exercise("6.1").check(cell) == card.report


def test_one_writes_first_and_sees_the_model_answer_then():
    card = check("4.1")
    _, text, button, model = card.notes[0].children
    button.click()
    assert "your own sentence first" in card.alert.value and model.value == ""
    text.value = "<i>none</i>"
    button.click()
    assert "append_log can become" in model.value and not card.alert.value
    assert progress.entry("4.1")["notes"].popitem()[1] == "<i>none</i>"


def test_the_code_cell_is_the_last_one_run_that_names_the_exercise(monkeypatch):
    monkeypatch.setattr(exercise_card, "_cells", {})
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))  # as under nbval
    shell.user_ns["In"] = ["", "# exercise 4.2\nrun = 'before the library was loaded'", "# exercise 4.20\nother = 1"]
    exercise_card._follow(shell)
    assert cell_of("4.2").endswith("'before the library was loaded'")
    for cell in ("# exercise 4.2\nx = 1", "#exercise 4.2 \nx = 2", "# exercise 4.2\nx = 1", "x = '# exercise 4.2'", "# exercise 4.2, later\nx = 3"):
        shell.run_cell(cell)
    assert cell_of("4.2") == "# exercise 4.2\nx = 1" and cell_of("4.20") and cell_of("6.2") is None


@pytest.mark.parametrize("id", catalogue.MODULES)
def test_the_static_twin_is_plain_the_same_each_time_and_nobodys(id):
    first = check(id)._repr_mimebundle_()[0]
    progress.update(id, attempts=3, answer=catalogue.exercise(id).solution, notes={"q": "mine"}, solved=True)
    again = check(id)._repr_mimebundle_()[0]
    assert (first["text/html"], first["text/plain"]) == (again["text/html"], again["text/plain"])
    Parsed(first["text/html"])
    assert not re.search(r"[0-9a-f]{32}|IPY_MODEL|<style", first["text/html"])


def test_progress_draws_what_was_done_and_its_static_twin_does_not():
    twin = Progress().static_html()
    wrong_card()
    view = Progress()
    rows = re.findall(r"<tr>(.*?)</tr>", view.table.value)
    assert len(rows) == len({id.split("-")[0] for id in catalogue.MODULES})
    assert [row for row in rows if "not solved yet · 1 attempt" in row] == [row for row in rows if "<b>6.1</b>" in row]
    assert view.static_html() == twin and "attempt" not in twin and repr(view) == "Progress()"


def test_progress_that_cannot_be_read_is_named_in_the_view(file):
    file.mkdir()
    assert "can&#x27;t be read" in Progress().alert.value
    assert check("4.1").choices.value == catalogue.exercise("4.1").starter
