"""What a form is: rows of choices, answered by a plain dict; and the criteria that forms share.

    {"read_file": {"idempotent": "yes", "risk": "low", "because": "..."}, ...}

A wrong choice is met by a question that leads on, never by the right choice. What a student
writes in their own words is not judged here: they compare it with a model answer themselves.
"""
import ast
import json
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from textwrap import fill

from ...words import tr
from ..exercise import Criterion, Exercise, NotAttempted
from ..report import Slip


@dataclass(frozen=True)
class Field:
    """One choice. name: its key in the answer. asks: the question. options: ``{value: text}``, in the order shown."""

    name: str
    asks: str
    options: dict


@dataclass(frozen=True)
class Row:
    """What some choices are about. name: its key in the answer. says: the thing itself; Markdown's backticks are the only markup."""

    name: str
    says: str
    fields: tuple


@dataclass(frozen=True)
class Form(Exercise):
    """An Exercise whose answer is ``{row: {field: value}}``, or the text of such a dict. task: what to do, in a few sentences."""

    task: str = ""
    rows: tuple = ()


def form(id, title, task, rows, criteria, hints, solution, notes):
    """The Form of an exercise. criteria: those after "everything is answered", which all forms begin with."""
    rows = tuple(rows)
    return Form(id=id, title=title, task=task, kind="form", rows=rows, subject=filled(rows), criteria=(complete(rows), *criteria),
                hints={"complete": ["Every list wants a choice. Where you are not sure, take the likelier one: a wrong choice costs nothing and answers with a question."], **hints},
                starter={row.name: {field.name: None for field in row.fields} for row in rows}, solution=solution, notes=notes)


def filled(rows):
    """The subject of a form's criteria: answer → the answer as a whole dict, None for whatever is not chosen, and the keys that are no part of it under ""."""
    @contextmanager
    def subject(answer):
        given = as_dict(answer)
        whole = {row.name: {field.name: _value(given, row, field) for field in row.fields} for row in rows}
        if all(value is None for row in whole.values() for value in row.values()):
            raise NotAttempted(" ".join(filter(None, [
                tr("Nothing is chosen yet: choose in the form, or put the words of your choices into the dict."), _named(_strangers(given, rows))])))
        yield {**whole, "": _strangers(given, rows)}
    return subject


def as_dict(answer):
    """An answer as the dict of its rows, whether it is given as that, as text, or under the name that its cell gives it. Raises NotAttempted."""
    given = read(answer) if isinstance(answer, str) else answer
    if isinstance(given, dict) and list(given) == ["answer"]:
        given = given["answer"]
    if not isinstance(given, dict):
        raise NotAttempted(tr("The answer is to be a dict of rows, as the starter shows."))
    return given


def read(text):
    """The dict in a text: JSON, or Python whose last statement is or names the dict; nothing is run. Raises NotAttempted."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        for statement in reversed(ast.parse(text).body):
            if isinstance(statement, (ast.Assign, ast.Expr)):
                return ast.literal_eval(statement.value)
    except SyntaxError as error:
        raise NotAttempted(tr("The answer is no Python dict: line {line} can't be read ({why}).", line=error.lineno, why=error.msg)) from None
    except (ValueError, RecursionError, MemoryError):
        pass
    raise NotAttempted(tr("The answer is to be a plain dict, with nothing computed in it."))


wrap = partial(fill, width=100, initial_indent="# ", subsequent_indent="#     ", break_on_hyphens=False)


def as_python(form, answer):
    """A form's answer as one writes it, a row a line; above it the words to choose from."""
    choices = {wrap(f"{field.name}: {', '.join(map(repr, field.options))}"): None for row in form.rows for field in row.fields}
    lines = [f"    {row.name!r}: {answer[row.name]!r}," for row in form.rows]
    return "\n".join([*choices, "answer = {", *lines, "}"]).replace("'", '"')  # no key and no value has a quote in it


def complete(rows):
    """The first criterion of each form."""
    def check(answer):
        strangers = _named(answer[""])
        for row in rows:
            for field in row.fields:
                value = answer[row.name][field.name]
                if value not in field.options:
                    meant = next((option for option in field.options if value and option == value.strip().lower()), None)
                    return Slip("complete", given=_said(row, field, tr("nothing chosen") if value is None else repr(value)[:80]) + (strangers and f". {strangers}"),
                                expected=tr("{question} One of: {choices}", question=tr(field.asks).replace("`", ""), choices=", ".join(map(repr, field.options))),
                                question=tr("Did you mean {word}? It has to stand there letter by letter, in small letters and without a space.", word=repr(meant)) if meant
                                else tr("Which is the likeliest, and what speaks for it?"))
        if strangers:
            return Slip("complete", given=strangers, expected=tr("the keys of the starter, and no others: {keys}", keys=", ".join(row.name for row in rows)),
                        question=tr("Is that a slip of the pen, and which of the keys did you mean?"))
    return Criterion("complete", "Every question has one of its answers.", check)


def judged(code, says, rows, key, slips, expected, *, scenario=None):
    """A criterion: each of some choices is one of the right ones.

    key: ``{(row, field): {value, ...}}``, looked at in this order. slips: what leads out of a wrong choice,
    ``{place: (hint, question)}``; a place is (row, value), (field, value), a row, a field or None, and the first of
    these that is there counts. expected: what a right answer does, without naming it, for all or by field.
    scenario: row → the scenario code of a run that shows it, or None.
    """
    names = {row.name: row for row in rows}

    def check(answer):
        for (row, field), good in key.items():
            value = answer[row][field]
            if value in good:
                continue
            hint, question = next(slips[place] for place in ((row, value), (field, value), row, field, None) if place in slips)
            asked = next(each for each in names[row].fields if each.name == field)
            return Slip(hint, given=_said(names[row], asked, tr(asked.options[value])), question=tr(question), scenario=scenario and scenario(row),
                        expected=tr(expected[field] if isinstance(expected, dict) else expected))
    return Criterion(code, says, check)


def column(field, values):
    """The part of a key that is about one field. values: ``{row: value or {value, ...}}``."""
    return {(row, field): {good} if isinstance(good, str) else good for row, good in values.items()}


def _said(row, field, choice):
    """A choice with what it is about, as plain text."""
    says = tr(row.says)
    return f"{says}{'' if says.endswith(('.', '?', '!')) else '.'} {tr(field.asks)} {choice}".replace("`", "")


def _strangers(given, rows):
    """The keys of an answer that are none of the form's, those of a row with its name before."""
    fields = {row.name: {field.name for field in row.fields} for row in rows}
    known = [(row, part) for row, part in given.items() if row in fields and isinstance(part, dict)]
    return [repr(key)[:60] for key in given if key not in fields] + [f"{row}: {key!r}"[:60] for row, part in known for key in part if key not in fields[row]]


def _named(strangers):
    return tr("These keys are not in the form: {keys}.", keys=", ".join(strangers[:6])) if strangers else ""


def _value(given, row, field):
    part = given.get(row.name)
    value = part.get(field.name) if isinstance(part, dict) else None
    return value if value is None or isinstance(value, str) else repr(value)
