"""What is wrong with a conversation and what would mend it, as plain data and as lines for a terminal. (beyond lesson 3)

Left out: reading the many formats a conversation comes in (session.py) and the mending itself (repair.py).
"""
import os
from dataclasses import dataclass
from pathlib import Path

from .errors import CourseError
from .log import plain
from .repair import LONE, repair_transcript
from .session import read_session
from .storage import reason, write_atomic
from .transcript import check_transcript, lone_surrogates, role_of
from .values import encode
from .words import tr, trn

MAX_WIDTH = 400  # of a sentence that is shown: the API's own names every id of a turn
_NO_CHARACTER = "The request body is not valid JSON: no low surrogate in string: {where}"


@dataclass(frozen=True)
class Diagnosis:
    """A conversation, sentences on how it was read, and its breaches as check_transcript gives them."""

    messages: list
    notes: list
    breaches: list


def examine(data):
    """The Diagnosis of the bytes of a file. Raises CourseError for what can't be read."""
    messages, notes = read_session(data)
    breaches = breaches_of(messages)
    finished = not breaches and role_of(messages[-1]) == "assistant"
    return Diagnosis(messages, [*notes, finished_note()] if finished else notes, breaches)


def finished_note():
    return tr("It ends with the assistant, so it is a finished conversation; as a request it needs one more message of the user.")


def breaches_of(messages):
    """All that the API would refuse in messages, however it ends: the rules of check_transcript, then half characters."""
    return check_transcript(messages, ends_with_user=False) + [
        {"where": where, "id": None, "rule": LONE, "text": _NO_CHARACTER.format(where=where)} for where in lone_surrogates(messages)]


def shorten(text):
    """A sentence as it is shown, cut where it names very many ids."""
    return text if len(text) <= MAX_WIDTH else text[:MAX_WIDTH] + " …"


def visit(path, out=None):
    """The command ``course doctor``: print what is wrong and what mends it, write the mended messages to out.

    Gives the exit code: 0 for a sound conversation, 1 for breaches. Raises CourseError.
    """
    data = _read(path, out)
    try:
        diagnosis = examine(data)
    except CourseError as error:
        raise CourseError(f"{path}: {error}") from None
    mended, changes = repair_transcript(diagnosis.messages)
    messages = trn("{n} message", "{n} messages", len(diagnosis.messages))
    _print(f"{path}: " + trn("{messages}, {n} breach of the API's rules", "{messages}, {n} breaches of the API's rules",
                             len(diagnosis.breaches), messages=messages) + ".")
    for note in diagnosis.notes:
        _print(f"  {shorten(note)}")
    for breach in diagnosis.breaches:
        _print(f"  {_place(breach)} {breach['rule']}: {shorten(breach['text'])}")
    if not diagnosis.breaches:
        if out is not None:
            _print(tr("There is nothing to mend, so nothing was written."))
        return 0
    left = breaches_of(mended)
    _print(trn("What mends it ({n} change):", "What mends it ({n} changes):", len(changes)) if changes else
           tr("Nothing of this can be mended without a person."))
    for change in changes:
        _print(f"  {_place(change)} {shorten(change['what'])}")
    if left and changes:
        _print(tr("What only a person can decide ({n}), by its position in the mended conversation:", n=len(left)))
        for breach in left:
            _print(f"  {_place(breach)} {breach['rule']}")
    if not changes or out is None:
        _print(tr("Nothing was written; --out FILE writes the mended messages.") if changes else tr("Nothing was written."))
    else:
        write_atomic(out, encode(mended), moment="mended")
        _print(tr("The mended messages are in {out}; {path} is as it was.", out=out, path=path))
    return 1


def _read(path, out):
    try:
        if out is not None and os.path.exists(out) and os.path.samefile(path, out):
            raise CourseError(tr("--out names the file itself ({path}), which is the evidence; choose another name.", path=path))
        return Path(path).read_bytes()
    except OSError as error:
        raise CourseError(tr("{path} could not be read: {why}; give the name of a file that holds a conversation.", path=path, why=reason(error))) from None


def _place(found):
    return shorten(f"{found['where']}{' ' + found['id'] if found['id'] else ''}") + ":"


def _print(text):
    print(text if text.isprintable() else plain(text))  # there may be very many lines
