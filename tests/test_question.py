"""Questions: choose, commit, then see what each choice is worth; and what every view does with an error."""
import re
import threading

import ipywidgets as W
import pytest

from course_lib.errors import CourseError
from course_lib.widgets.base import View
from course_lib.widgets.question import Choice, Question
from course_lib.widgets.questions import QUESTIONS, ask

CHOICES = [Choice("It runs again", False, "Reason one."), Choice("It is reused", True, "Reason two."), Choice("It is lost", False, "Reason three.")]


def choose(question, index):
    """As the browser does it."""
    question.pick._handle_msg({"content": {"data": {"method": "update", "state": {"index": index}}}, "buffers": []})


def click(button):
    button._handle_msg({"content": {"data": {"method": "custom", "content": {"event": "click"}}}, "buffers": []})


def test_the_reasons_are_hidden_until_a_choice_is_committed():
    question = Question("What happens?", CHOICES)
    shown = question.answer.value + question.static_html()
    assert not any(choice.because in shown for choice in CHOICES)
    choose(question, 0)
    assert question.answer.value == ""
    click(question.commit)
    assert all(choice.because in question.answer.value for choice in CHOICES)


def test_committing_to_nothing_asks_for_a_choice_and_reveals_nothing():
    question = Question("What happens?", CHOICES)
    click(question.commit)
    assert "Choose one first." in question.answer.value and "Reason" not in question.answer.value


@pytest.mark.parametrize("index, verdict", [(0, "Not quite."), (1, "That is right.")])
def test_the_verdict_names_the_choice_and_marks_right_and_wrong_by_sign(index, verdict):
    question = Question("What happens?", CHOICES)
    choose(question, index)
    click(question.commit)
    assert verdict in question.answer.value
    rows = re.findall(r"<li>(.*?)</li>", question.answer.value)
    assert [row.startswith("<b>✓") for row in rows] == [False, True, False]
    assert ["(your answer)" in row for row in rows] == [i == index for i in range(3)]


def test_a_student_may_think_again():
    question = Question("What happens?", CHOICES)
    choose(question, 0)
    click(question.commit)
    choose(question, 1)
    click(question.commit)
    assert "That is right." in question.answer.value


@pytest.mark.parametrize("right", [[], [0, 1]])
def test_a_question_with_no_right_choice_or_two_is_refused(right):
    with pytest.raises(ValueError, match="exactly one right"):
        Question("?", [Choice(str(i), i in right, "because") for i in range(3)])


def test_markup_in_a_question_is_text():
    question = Question("<i>?</i>", [Choice("<b>x</b>", True, "<script>"), Choice("y", False, "&amp;")])
    question.pick.index = 0
    question.commit.click()
    assert "<i>" not in question.static_html() and "<b>x" not in question.static_html()
    assert "<script>" not in question.answer.value and "&amp;amp;" in question.answer.value


def test_the_static_twin_is_plain_and_the_same_each_time():
    bundles = [Question("What happens?", CHOICES)._repr_mimebundle_()[0] for _ in range(2)]
    html = bundles[0]["text/html"]
    assert html == bundles[1]["text/html"] and bundles[0]["text/plain"] == "Question('What happens?')"
    assert "<style" not in html and not re.search(r"[0-9a-f]{32}|IPY_MODEL", html)
    assert all(choice.text in html for choice in CHOICES)


@pytest.mark.parametrize("name", QUESTIONS)
def test_each_question_of_the_course_has_a_reason_of_its_own_for_every_choice(name):
    choices = ask(name).choices
    assert len(choices) >= 3
    reasons = [choice.because for choice in choices]
    assert all(len(reason) > 20 for reason in reasons) and len(set(reasons)) == len(reasons)


# --- what every view does with an error -------------------------------------------------

class Fragile(View):
    """A button and a list whose callbacks do as they are told."""

    def __init__(self, action):
        self.button, self.list = W.Button(description="go"), W.Dropdown(options=[1, 2, 3])
        super().__init__([self.button, self.list])
        self.on_click(self.button, action)
        self.on_change(self.list, action)


def fail(error):
    def action():
        raise error
    return action


def test_an_error_that_is_a_sentence_is_drawn_as_it_is():
    view = Fragile(fail(CourseError("The code is <wrong>; check it.")))
    view.button.click()
    assert "⚠ The code is &lt;wrong&gt;; check it." in view.alert.value and 'role="alert"' in view.alert.value
    assert "<details>" not in view.alert.value


def test_any_other_error_is_drawn_with_its_kind_and_the_details_folded():
    view = Fragile(fail(KeyError("<b>missing</b>")))
    view.list.value = 2
    assert "KeyError: &#x27;&lt;b&gt;missing&lt;/b&gt;&#x27;" in view.alert.value
    assert re.search(r"<details>.*test_question\.py.*</details>", view.alert.value, re.DOTALL)
    assert "<b>missing" not in view.alert.value


def test_the_next_action_takes_the_alert_away():
    errors = [fail(CourseError("broken")), lambda: None]
    view = Fragile(lambda: errors.pop(0)())
    view.button.click()
    assert "broken" in view.alert.value
    view.button.click()
    assert view.alert.value == ""


def test_a_control_that_an_action_sets_starts_no_action_of_its_own():
    done = []

    def action():
        done.append(view.list.value)
        view.list.value = 3
        raise CourseError("after that")

    view = Fragile(action)
    view.button.click()
    assert done == [1] and "after that" in view.alert.value
    view.list.value = 2
    assert done == [1, 2]


def test_an_error_leaves_the_view_able_to_work():
    view = Fragile(fail(ValueError("one")))
    view.button.click()
    view.alert.value = ""
    view.button.click()
    assert "ValueError: one" in view.alert.value


# --- events from another thread, as JupyterLab sends them unless it is told not to --------

def test_an_event_from_another_thread_waits_for_the_one_under_way_and_is_not_lost():
    inside, go, done = threading.Event(), threading.Event(), []

    def action():
        done.append("begins")
        if len(done) == 1:
            inside.set()
            assert go.wait(10)
        done.append("ends")

    view = Fragile(action)
    first, second = threading.Thread(target=view.button.click), threading.Thread(target=view.button.click)
    first.start()
    assert inside.wait(10)
    second.start()
    second.join(0.05)  # what is right needs no time; this gives what is wrong the time to show
    assert done == ["begins"]
    go.set()
    first.join(10)
    second.join(10)
    assert done == ["begins", "ends"] * 2


def test_what_was_chosen_counts_even_if_the_control_has_been_set_anew_by_then():
    chosen = []
    view = View([])
    view.list = W.Dropdown(options=[0, 1, 2, 3])
    view.on_choice(view.list, chosen.append)
    with view._turn:  # something else is under way
        other = threading.Thread(target=lambda: setattr(view.list, "value", 3))
        other.start()
        while view.list.value != 3:
            pass
        view.list.value = 1
    other.join(10)
    assert chosen == [1, 3] and view.list.value == 1
