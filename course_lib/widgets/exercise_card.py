"""The card of an exercise: its form, and Check, Hint, Solution, Reset; what a check says; the run that shows it, in CrashLab.

The same buttons stand under a form and under a code cell. A code exercise is answered in a
cell that begins with ``# exercise 4.2``; what is checked is the text of that cell as it was
last run, so it is the same text that a file would hold.
"""
import re

import ipywidgets as W
from IPython import get_ipython

from ..errors import CourseError
from ..grading import catalogue, progress
from ..grading.feedback import as_html, how_many
from ..grading.exercise import NotAttempted
from ..grading.forms.form import Form, as_dict
from ..grading.report import NOT_ATTEMPTED
from ..scenarios.student import PARTS
from ..words import tr
from .base import View
from .choices import Choices
from .crash_lab import CrashLab
from .panels import esc


def check(id, answer=None):
    """The ExerciseCard of an exercise, an answer judged in it: the one given, else the one in the notebook's own cell for it."""
    return ExerciseCard(id, cell_of(id) if answer is None else answer)


def cell_of(id):
    """The text of the cell that begins with ``# exercise ID``, as it was last run in this notebook; None where there is none."""
    return _cells.get(id)


_cells = {}  # the answer cells as they were last run, by exercise


def _keep(text):
    found = re.match(r"\s*#\s*exercise (\S+)\s*$", text, re.MULTILINE)
    if found:
        _cells[found[1]] = text


def _follow(shell):
    """Keep each answer cell from now on, and those that were run before this module was loaded."""
    for text in shell.user_ns.get("In", []):
        _keep(text)
    shell.events.register("pre_run_cell", lambda info: _keep(info.raw_cell or ""))


if get_ipython():
    _follow(get_ipython())


class ExerciseCard(View):
    """The widget. answer: what to judge, or None for nothing yet.

    From Python: ``check()``, ``hint()``, ``solution()``, ``reset()``, ``commit(question, text)`` and ``open_run()`` are what
    the buttons call; ``choices.value`` is a form's answer, ``report`` what the last check said.
    """

    def __init__(self, id, answer=None):
        self.exercise, self.report, self.kept = catalogue.exercise(id), None, _kept(id)
        self.is_form = isinstance(self.exercise, Form)
        self.head, self.said, self.more, self.plain, self.run = W.HTML(head_html(self.exercise)), W.HTML(), W.HTML(), W.HTML(), W.VBox()
        self.buttons = {name: W.Button(description=text, icon=icon, layout=W.Layout(width="max-content")) for name, text, icon in [
            ("check", tr("Check"), "check"), ("hint", tr("Hint"), "lightbulb-o"), ("solution", tr("Solution"), "book"), ("reset", tr("Reset"), "undo")]}
        self.run_button = W.Button(description=tr("Open this run in CrashLab"), icon="bolt", layout=W.Layout(width="max-content", display="none"))
        row = W.HBox(list(self.buttons.values()), layout=W.Layout(flex_flow="row wrap"))
        self.given = answer  # what to judge
        self.choices = Choices(self.exercise.rows, self._first_choices()) if self.is_form else None
        self.notes = [self._note(question) for question in self.exercise.notes]
        super().__init__([self.head, *filter(None, [self.choices]), row, self.said, self.run_button, self.more, self.plain, *self.notes, self.run])
        for name, button in self.buttons.items():
            self.on_click(button, getattr(self, name))
        self.on_click(self.run_button, self.open_run)
        if answer is not None or not self.is_form:
            self._act(self._judge)

    # --- what one can do ---------------------------------------------------------------

    def check(self):
        """Judge the form as it stands, or the cell as it was last run."""
        self.given = self.choices.value if self.is_form else cell_of(self.exercise.id) or self.given
        self.said.value = _status(f"<p>{esc(tr('Checking …'))}</p>")  # a program that never ends takes some seconds
        self._judge()
        if self.is_form:  # so that a kernel that dies takes no choice with it
            progress.update(self.exercise.id, answer=self.given)

    def hint(self):
        """One hint more on what the last check found."""
        steps, n = catalogue.hint(self.exercise.id)
        self.more.value = _status(f"<p><b>{esc(tr('Hints so far'))}</b> {esc(how_many(steps, n))}</p>" + _list(map(prose, steps)))

    def solution(self):
        """The worked answer; after an attempt."""
        worked = catalogue.solution(self.exercise.id)
        shown = chosen_html(self.exercise, worked) if self.is_form else f"<pre>{esc(worked)}</pre>"
        self.more.value = _status(f"<p><b>{esc(tr('A worked answer'))}</b></p>{shown}")

    def reset(self):
        """Forget what was done here; the form is empty again, of code the starter is shown."""
        starter = catalogue.reset(self.exercise.id)
        self.report, self.said.value, self.plain.value, self.run.children, self.run_button.layout.display = None, "", "", [], "none"
        if self.is_form:
            self.given, self.choices.value = None, starter
            self.more.value = _status(f"<p>{esc(tr('The form is empty again, and your attempts and hints are forgotten.'))}</p>")
        else:
            self.more.value = _status(f"<p>{esc(tr('Your attempts and hints are forgotten. This is how the cell began; put it there and run it:'))}</p>"
                                      f"<pre>{esc(catalogue.cell_text(self.exercise.id, starter))}</pre>")

    def commit(self, question, text):
        """Keep a text of one's own, and get the model answer to compare it with."""
        return catalogue.compare(self.exercise.id, question, text)

    def open_run(self):
        """The run that the last check tells of, with the functions of the student's cell."""
        self.run.children = [CrashLab(self.report.slip.scenario, functions=self._functions())]

    def static_html(self):
        given = self.is_form and plain_answer(self.given)
        form = "" if not self.is_form else chosen_html(self.exercise, given) if given else questions_html(self.exercise)
        return f"{self.head.value}{form}{self.said.value}"

    def __repr__(self):
        return f"ExerciseCard({self.exercise.id!r}, {self.report.outcome if self.report else NOT_ATTEMPTED!r})"

    # --- inside ------------------------------------------------------------------------

    def _first_choices(self):
        """What was given; nothing given, what was chosen when the form was last checked."""
        given = plain_answer(self.given)
        if given == self.exercise.starter:
            self.given = given = None
        if given is None:
            given = self.kept["answer"]
        given = given or {}
        return {row.name: {field.name: _chosen(given, row.name, field) for field in row.fields} for row in self.exercise.rows}

    def _judge(self):
        self.report = catalogue.check(self.exercise.id, self.exercise.starter if self.given is None else self.given)
        self.said.value, self.more.value, self.plain.value, self.run.children = _status(said_html(self.exercise, self.report)), "", "", []
        slip = self.report.slip
        self.run_button.layout.display = "" if slip and slip.scenario else "none"
        if self.is_form and self.report.outcome != NOT_ATTEMPTED:
            self.plain.value = handing_in_html(self.exercise.id, self.choices.value)

    def _functions(self):
        """The functions of the student's cell that the run is to be seen with, as the notebook has them."""
        shell = get_ipython()
        if self.is_form or not shell:
            return None
        written = set(re.findall(r"^def (\w+)", self.given, re.MULTILINE))
        return {name: shell.user_ns[name] for name in PARTS if name in written and name in shell.user_ns} or None

    def _note(self, question):
        text = W.Textarea(value=self.kept["notes"].get(question, ""), placeholder=tr("in your own words"), continuous_update=False,
                          layout=W.Layout(width="auto", height="5em"))
        text.description, text.style.description_width = tr("Your words"), "initial"
        button = W.Button(description=tr("Commit, then compare"), layout=W.Layout(width="max-content"))
        model = W.HTML()

        def compare():
            model.value = _status(f"<p><b>{esc(tr('One way to say it'))}</b><br>{prose(self.commit(question, text.value))}</p>"
                                  f"<p>{esc(tr('What does yours have that this lacks, and the other way round? Nobody grades it.'))}</p>")
        self.on_click(button, compare)
        return W.VBox([W.HTML(f"<b>{prose(question)}</b>"), text, button, model])


# --- markup ----------------------------------------------------------------------------

def head_html(exercise):
    """Number, title and, of a form, the task; of a code exercise that stands in the notebook's own words."""
    task = f"<p>{prose(exercise.task)}</p>" if isinstance(exercise, Form) else ""
    return f"<p><b>{esc(tr('Exercise {id}', id=exercise.id))} · {esc(tr(exercise.title))}</b></p>{task}"


def said_html(exercise, report):
    """What a check says; where nothing was attempted yet, also what would have to be true."""
    if report.outcome != NOT_ATTEMPTED:
        return as_html(report)
    return as_html(report) + f"<p>{esc(tr('Done when:'))}</p>" + _list(prose(criterion.says) for criterion in exercise.criteria)


def questions_html(exercise):
    """An empty form: what it is about, then each question once, with its choices."""
    fields = {field.name + field.asks: field for row in exercise.rows for field in row.fields}
    return (_list(prose(row.says) for row in exercise.rows)
            + "".join(f"<p><b>{prose(field.asks)}</b></p>{_list(prose(text) for text in field.options.values())}" for field in fields.values()))


def chosen_html(exercise, answer):
    """A form that is filled in, a choice a line."""
    return _list(f"<b>{prose(row.says)}</b>" + _list(f"{prose(field.asks)} {prose(field.options.get(value, '–'))}" for field in row.fields
                                                     for value in [_chosen(answer, row.name, field)]) for row in exercise.rows)


def handing_in_html(id, answer):
    """The form's answer as a cell holds it: a form lives in the kernel, and what is handed in is the notebook."""
    return (f"<details><summary>{esc(tr('Your choices as plain data, for the cell above, if you hand the notebook in'))}</summary>"
            f"<pre>{esc(catalogue.cell_text(id, answer))}</pre></details>")


def prose(text):
    """Text as markup, `code` in backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", esc(tr(text)))


def plain_answer(given):
    """A form's answer as a dict, whether it was given as one or as text; None where there is none."""
    try:
        return as_dict(given)
    except NotAttempted:
        return None


def _kept(id):
    try:
        return progress.entry(id)
    except CourseError:  # a file that can't be read is no reason to show no exercise; the first check says so
        return progress.NEW


def _chosen(answer, row, field):
    part = answer.get(row)
    value = part.get(field.name) if isinstance(part, dict) else None
    return value if isinstance(value, str) and value in field.options else None


def _status(html):
    return f'<div role="status">{html}</div>'


def _list(rows):
    return "<ul>" + "".join(f"<li>{row}</li>" for row in rows) + "</ul>"
