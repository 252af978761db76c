"""The exercises by their numbers, each loaded when it is asked for; and what one does with one: check, hint, solution, reset."""
from importlib import import_module

from ..errors import CourseError
from ..moments import alert
from ..words import tr
from . import progress
from .forms.form import as_python
from .report import CORRECT, INCORRECT

MODULES = {
    "1.1": "forms.ex_1_1", "1.2": "forms.ex_1_2", "1.2-code": "code_exercises.ex_1_2_code",
    "2.1": "forms.ex_2_1", "2.2": "code_exercises.ex_2_2",
    "3.1": "forms.ex_3_1", "3.2": "code_exercises.ex_3_2",
    "4.1": "forms.ex_4_1", "4.2": "code_exercises.ex_4_2",
    "5.1": "forms.ex_5_1", "5.2": "code_exercises.ex_5_2",
    "6.1": "forms.ex_6_1", "6.2": "code_exercises.ex_6_2",
}


def exercise(id):
    """The Exercise of that number. Raises CourseError where there is none."""
    if id not in MODULES:
        raise CourseError(tr("There is no exercise {id}; there are {ids}.", id=f"{id!s:.40}", ids=", ".join(MODULES)))
    return import_module(f".{MODULES[id]}", __package__).EXERCISE


def check(id, answer):
    """Judge an answer and remember that it was tried. Gives the Report; progress that can't be saved is no reason to give none."""
    report = exercise(id).check(answer)
    if report.outcome in (CORRECT, INCORRECT):
        try:
            known = progress.entry(id)
            progress.update(id, attempts=known["attempts"] + 1, outcome=report.outcome,
                            solved=known["solved"] or report.outcome == CORRECT, ladder=report.slip and report.slip.hint)
        except CourseError as error:
            alert(str(error))
    return report


def hint(id):
    """The hints seen so far on what the last check found, one more than before, and how many there are: ``(steps, n)``.

    Raises CourseError where nothing is wrong yet.
    """
    hints, known = exercise(id).hints, progress.entry(id)
    ladder = known["ladder"]
    if ladder not in hints:
        raise CourseError(tr("The last check of {id} found nothing wrong; there is nothing to hint at.", id=id) if known["attempts"] else
                          tr("Try it first: change the answer to {id} and check it. A hint goes by what the check finds, so even a guess will do.", id=id))
    seen = min(known["hints"].get(ladder, 0) + 1, len(hints[ladder]))
    progress.update(id, hints={**known["hints"], ladder: seen})
    return [tr(step) for step in hints[ladder][:seen]], len(hints[ladder])


def solution(id):
    """The worked answer, once an answer has been tried. Raises CourseError before that."""
    worked = exercise(id).solution
    if not progress.entry(id)["attempts"]:
        raise CourseError(tr("The solution of {id} is shown after an attempt: check an answer of your own first, even a guess.", id=id))
    progress.update(id, **{"solution seen": True})
    return worked


def compare(id, question, text):
    """Commit to a text of one's own, then get the model answer to compare it with. Nobody judges it."""
    model = exercise(id).notes[question]
    if not text.strip():
        raise CourseError(tr("Write your own sentence first; the model answer is there to compare it with."))
    progress.update(id, notes={**progress.entry(id)["notes"], question: text})
    return tr(model)


def reset(id):
    """Forget what was done in an exercise. Gives its starter."""
    starter = exercise(id).starter
    progress.forget(id)
    return starter


def starter_text(id):
    """What one begins with, as the text of a notebook's cell or of a file."""
    return cell_text(id, exercise(id).starter)


def cell_text(id, answer):
    """An answer as the text of its cell: a program as it is, a form's dict below the line by which its cell is found."""
    return answer if isinstance(answer, str) else f"# exercise {id}\n{as_python(exercise(id), answer)}\n"


def kept_progress():
    """Every exercise with what is known of it: ``[(id, title, entry), ...]``; the parts of one, as 1.2 and 1.2-code, are one."""
    entries, parts = progress.load(), {}
    for id in MODULES:
        parts.setdefault(id.split("-")[0], {})[id] = {**progress.NEW, **entries.get(id, {})}
    return [(id, tr(exercise(id).title), progress.together(known)) for id, known in parts.items()]
