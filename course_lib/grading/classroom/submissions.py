"""A folder of submissions, read as text: whose, to which exercise, and what the answer is. Nothing in it is run.

    ada.ipynb            Ada's notebook; an answer is the cell tagged exercise-4.2
    ben-4.2.py           Ben's answer to 4.2, by the number at the end of the name
    cleo/                all that lies in it is Cleo's
        lesson_4.ipynb
        4.1.json         an answer to 4.1; or any name, with "# exercise 4.1" as the first line of a .py file

What is missing, there in two versions or can't be read is a submission with a problem instead of a text.
A name is the same however a system writes its accents; what is still as it was given competes with no answer.
"""
import json
import re
import unicodedata
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import CourseError
from ...storage import read_file, reason
from ...words import tr
from ..catalogue import MODULES, exercise
from .which import LONGEST_ANSWER, is_untouched, one_each

KINDS = {".ipynb", ".py", ".json"}
LONGEST_FILE = 50_000_000  # bytes; a notebook with pictures in its outputs is long
TAG = "exercise-"
NAMED = re.compile(r"(?:^|[-_ ])(" + "|".join(map(re.escape, sorted(MODULES, key=len, reverse=True))) + r")$")
HEADED = re.compile(r"#\s*exercise\s+(\S+)", re.IGNORECASE)
DEFINED = re.compile(r"^def (\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Submission:
    """One answer. file: where it came from, below the folder. exercise: "" where nobody can tell. text: None, within find
    only, for what a notebook should have and has not. problem: why there is nothing to judge."""

    student: str
    file: str
    exercise: str
    text: str | None = ""
    problem: str = ""


def find(folder, *, leave_out=()):
    """Every Submission in a folder, by student and exercise, one for each; leave_out: Paths that are not a student's. Raises CourseError where there is nothing to grade."""
    folder = Path(folder)
    found = [submission for entry in _entries(folder, leave_out) for submission in _of(entry, folder)]
    if not found:
        raise CourseError(tr("There is no submission in {folder}: a notebook, a .py or a .json file for each student, or a folder for each.", folder=folder))
    return sorted(map(_checked, one_each(found)), key=lambda submission: (*_as_sorted(submission.student), submission.exercise, submission.file))


def _as_sorted(name):
    """What a name is sorted by: its letters without case and accents, then the name itself."""
    return "".join(c for c in unicodedata.normalize("NFKD", name).casefold() if not unicodedata.combining(c)), name


def passed_over(folder, *, leave_out=()):
    """The files in a folder that find takes no notice of, as names below it; but for hidden ones, which the system has made. What can't be read is told by find."""
    folder, names = Path(folder), []
    for entry in _entries(folder, leave_out):
        with suppress(OSError):
            names += [file.relative_to(folder).as_posix() for file in _files(entry) if file.suffix.lower() not in KINDS and not file.is_dir()]
    return names


def _entries(folder, leave_out):
    """What lies in the folder and may be a student's."""
    ours = {path.absolute() for path in leave_out}
    try:
        return sorted(path for path in folder.iterdir() if not _is_hidden(path) and path.absolute() not in ours)
    except OSError as error:
        raise CourseError(tr("{folder} can't be read: {why}; give the folder that holds the submissions.", folder=folder, why=reason(error))) from error


def _files(entry):
    """All files of one entry of the folder, links to folders among them. Raises OSError."""
    if entry.is_symlink() or not entry.is_dir():
        return [entry]
    return sorted(path for path in entry.rglob("*") if not any(map(_is_hidden, [path, *path.relative_to(entry).parents])) and (path.is_symlink() or path.is_file()))


def _of(entry, folder):
    """The submissions of one entry of the folder."""
    try:
        files = [file for file in _files(entry) if file.is_dir() or file.suffix.lower() in KINDS]
        whose = entry.name if entry.is_dir() else None
        found = [submission for file in files for submission in (_link_to_folder(file, folder, whose) if file.is_dir() else _in_file(file, folder, whose))]
    except OSError as error:
        return [_submission(entry.name, entry.name, "", problem=tr("The folder can't be read: {why}.", why=reason(error)))]
    if not found and entry.is_dir():
        return [_submission(entry.name, entry.name, "", problem=tr("The folder has no notebook, no .py and no .json file."))]
    return found


def _submission(student, *rest, **more):
    """A Submission under the one spelling of its student's name: macOS takes an accented letter apart, and others do not."""
    return Submission(unicodedata.normalize("NFC", student), *rest, **more)


def _link_to_folder(path, folder, student):
    return [_submission(student, path.relative_to(folder).as_posix(), "",
                        problem=tr("This is a link to another folder, and links are not followed: hand in the folder itself."))]


def _in_file(path, folder, student):
    named = NAMED.search(path.stem)
    whose = student or path.stem[:named.start() if named else None] or path.stem
    file = path.relative_to(folder).as_posix()
    try:
        text = _read(path)
        answers = _cells(text) if path.suffix.lower() == ".ipynb" else [(_exercise_of(text, named), text, "")]
    except ValueError as error:
        return [_submission(whose, file, named[1] if named else "", problem=str(error))]
    return [_submission(whose, file, id, text, problem) for id, text, problem in answers]


def _read(path):
    """A file's text. Raises ValueError with a sentence."""
    if path.is_symlink():
        raise ValueError(tr("This is a link to another file, and links are not followed: hand in the file itself."))
    try:
        if path.stat().st_size > LONGEST_FILE:
            raise ValueError(tr("The file is larger than {n} MB, which no answer is.", n=LONGEST_FILE // 1_000_000))
        return read_file(path).decode("utf-8-sig")
    except OSError as error:
        raise ValueError(tr("The file can't be read: {why}.", why=reason(error))) from None
    except UnicodeDecodeError:
        raise ValueError(tr("The file is no text in UTF-8.")) from None


def _exercise_of(text, named):
    """Which exercise a file is about, by its first line or its name."""
    headed = HEADED.match(text.lstrip())
    id = headed[1] if headed else named[1] if named else None
    if id not in MODULES:
        raise ValueError(tr("Nobody can tell which exercise this is: let its first line be \"# exercise 4.2\", or let its name end with the number, as in ada-4.2.py."))
    return id


def _cells(text):
    """The answers in a notebook: ``[(exercise, text, problem), ...]``, a text of None for what its lesson has and it has not. Raises ValueError."""
    try:
        cells = [(cell.get("cell_type"), cell.get("metadata", {}).get("tags", []), cell.get("source")) for cell in json.loads(text)["cells"]]
        answers = [(tag.removeprefix(TAG), _source(source)) for _, tags, source in cells for tag in tags if tag.startswith(TAG)]
        others = [(number, _source(source or "")) for number, (kind, tags, source) in enumerate(cells, 1) if kind == "code" and not any(tag.startswith(TAG) for tag in tags)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError(tr("The notebook is broken: it can't be read as one.")) from None
    known = [(id, source, _elsewhere(id, source, others)) for id, source in answers if id in MODULES]
    if not known:
        raise ValueError(tr("No cell has the tag of an exercise, such as exercise-4.2: the answers have to be in the cells that were given for them."))
    lessons, there = {id.split(".")[0] for id, *_ in known}, {id for id, *_ in known}
    return known + [(id, None, "") for id in MODULES if id.split(".")[0] in lessons and id not in there]


def _elsewhere(id, text, others):
    """Where an answer may stand that is not in its cell, in a sentence; "" where nothing looks like it. others: (number, text) of the other cells."""
    names = set(DEFINED.findall(exercise(id).starter)) if exercise(id).kind == "code" else set()
    for number, other in others:
        headed = HEADED.match(other.lstrip())
        says = next((f"def {name}" for name in DEFINED.findall(other) if name in names), f"# exercise {id}" if headed and headed[1] == id else None)
        if says and is_untouched(id, text) and not is_untouched(id, other):
            return tr("The cell of this exercise is as it was given, but cell {n} of the notebook, counted from the top, says \"{says}\": ask whether that is the answer.", n=number, says=says)
    return ""


def _source(source):
    """A cell's text, which a file holds whole or as a list of lines."""
    if not isinstance(source, str):
        source = "".join(source)
    return source.encode("utf-8", "backslashreplace").decode()  # half a character would stop each program that handles it


def _checked(submission):
    """With a problem and without a text, where the text is none that can be checked."""
    if submission.problem:
        return replace(submission, text="")
    if submission.text is None:
        return replace(submission, text="", problem=tr("The notebook has no cell with the tag exercise-{id}; was it deleted, or copied into a new one?", id=submission.exercise))
    if len(submission.text) > LONGEST_ANSWER[exercise(submission.exercise).kind]:
        return replace(submission, text="", problem=tr("The answer is far longer than any that could be right."))
    return submission


def _is_hidden(path):
    return path.name.startswith((".", "__"))  # .ipynb_checkpoints, __MACOSX, __pycache__
