"""An exercise on paper: for who has only a terminal, what a notebook's card and the text above its cell say. In plain lines."""
import json
from itertools import groupby
from pathlib import Path

from ..storage import read_file
from ..words import language_in_use, tr
from .feedback import asked, in_words
from .forms.form import Form

EXERCISES = Path(__file__).resolve().parents[2] / "exercises"


def sheet(exercise):
    """Number, title, what to do, and each question with all there is to choose from."""
    task, questions = ([in_words(exercise.task)], form_lines(exercise)) if isinstance(exercise, Form) else (task_of(exercise), asked(exercise))
    title = tr("Exercise {id}", id=exercise.id) + " · " + in_words(exercise.title)
    return "\n\n".join([title, *task, *filter(None, ["\n".join(questions)])]).split("\n")


def form_lines(form):
    """A form's rows under their keys, then the questions that are asked of them, each with its choices under the words to write."""
    lines = []
    for fields, rows in groupby(form.rows, key=lambda row: row.fields):
        lines += [f"{row.name}: {in_words(row.says)}" for row in rows]
        for field in fields:
            lines += [f"  {field.name}: {in_words(field.asks)}", *(f"    {line}" for line in in_columns(field.options))]
    return lines


def in_columns(options):
    """The choices of a field, a line each: the word to write, and what it says where that is more than the word."""
    width = max(map(len, options))
    return [f"{value:{width}}  {says if says != value else ''}".rstrip() for value, says in zip(options, map(in_words, options.values()))]


def worked(exercise, answer):
    """A worked answer: a program's lines, or a form's rows, each with its choices as the word and as what it says."""
    if not isinstance(exercise, Form):
        return answer.rstrip("\n").split("\n")
    lines = []
    for row in exercise.rows:
        lines.append(f"{row.name}: {in_words(row.says)}")
        for field in row.fields:
            value, says = answer[row.name][field.name], in_words(field.options[answer[row.name][field.name]])
            lines.append(f"  {field.name}: {in_words(field.asks)} {value}" + (f" ({says})" if says != value else ""))
    return lines


def task_of(exercise):
    """The paragraphs above a program's cell, as the exercise notebook in the language in use has them; none where there is no such notebook.

    The questions there are left out, and so is the first sentence of the last paragraph: it says how a cell is run.
    """
    text = _above_the_cell(exercise.id)
    if text is None:
        return []
    paragraphs = text.strip().split("\n\n")[1:]  # the first is the title
    first = next((n for n, paragraph in enumerate(paragraphs) for question in exercise.questions if paragraph.startswith(f"`{question.key}`:")), len(paragraphs))
    *task, how = paragraphs[:first]
    rest = how.partition(". ")[2]
    return [paragraph.replace("`", "").replace("*", "") for paragraph in [*task, *filter(None, [rest])]]


def _above_the_cell(id):
    path = EXERCISES / language_in_use() / f"lesson_{id.split('.')[0]}.ipynb"
    try:
        cells = json.loads(read_file(path))["cells"]
    except (OSError, ValueError):
        return None
    return next(("".join(above["source"]) for above, cell in zip(cells, cells[1:]) if f"exercise-{id}" in cell["metadata"].get("tags", [])), None)
