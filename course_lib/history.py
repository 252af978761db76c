"""history.jsonl: every save of a branch in one file that only grows, a line each, of what is new. (beyond lesson 5)

    {"history": 1}                          or, in a fork, where it begins:
    {"history": 1, "parent": {"folder": "checkpoints", "bytes": 5120, "sum": "0a1b2c3d"}}
    {"save": "A", "set": {"turns": 3, ...}, "messages": [the new ones], "pending": "toolu_03"}
    {"effect": "toolu_03", "entry": {"name", "result", "at", "input"}}
    {"save": "B", "answers": "toolu_03"}
    {"rewind": [3, "B"], "set": {...}, "messages": [a note]}

Messages are only ever appended, so a checkpoint is a place in this file, and any of them can be
built again, equal byte for byte to what save_checkpoint writes. Each line ends with a checksum
over itself and all before it. A line that a crash cut short is dropped, loudly; damage
anywhere else is an error that names the line.

Two syncs a turn: Point A, and the effect. Point B follows from these two, so it is written at
once and synced with the next line.

Left out: an index. Finding a turn means reading the file up to it.
"""
import copy
import errno
import json
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import checkpoint, ledger
from .checkpoint import CheckpointMissing, check_shape, is_message, moment_of
from .errors import CourseError
from .moments import alert, current
from .places import pick, place
from .storage import StorageError, append, cut, read_file, reason, sweep, write_atomic
from .values import as_content, check, encode, encode_line

FILE = "history.jsonl"
VERSION = 1
_SUM = len(',"sum":"00000000"}')
_AT_ONCE = 200_000  # bytes read at a time


class HistoryError(CourseError):
    """The history can't be trusted, or can't take what was to be saved."""


@dataclass(slots=True)
class Save:
    """A place in the history: what its line says, how many messages there are by then, and where the line ends.

    In a fork the line may be in the history of another folder; home is that folder's name.
    """

    place: tuple
    news: dict
    count: int
    home: str
    end: int
    sum: int


class Timeline:
    """Saves in order, and the messages of all of them."""

    def __init__(self, saves=(), messages=()):
        self.saves, self.messages = list(saves), list(messages)
        self._told = 0, {}  # the head after so many saves: the next one differs from it in little
        self._newest = 0, {}  # the same with its pending call, which is asked for several times a save

    def scene(self, number):
        """The checkpoint of the save of that number."""
        messages = self.messages[:self.saves[number].count]
        return {key: messages if key == "messages" else copy.deepcopy(value) for key, value in self.head(number).items()}

    def head(self, number=-1):
        """The checkpoint of a save without its messages; {} before the first."""
        upto = number % len(self.saves) + 1 if self.saves else 0
        if upto == self._newest[0]:
            return self._newest[1]
        since, head = self._told if self._told[0] <= upto else (0, {})
        for save in self.saves[since:upto]:
            head.update(save.news.get("set", {}))
            head.setdefault("pendingToolUse", None)
            if "order" in save.news:
                head = {key: head[key] for key in save.news["order"]}
        self._told = upto, head
        self._newest = upto, {**head, "pendingToolUse": self._pending(upto, head)} if upto else {}
        return self._newest[1]

    def places(self):
        return [save.place for save in self.saves]

    def back_to(self, number):
        """A timeline of its own that ends with that save."""
        return Timeline(self.saves[:number + 1], self.messages[:self.saves[number].count])

    def _pending(self, upto, head):
        for save in reversed(self.saves[:upto]):
            if "answers" in save.news:
                return None
            if "pending" in save.news:
                return _call(self.messages[save.count - 1], save.news["pending"])
            if "pendingToolUse" in save.news.get("set", {}):
                return head["pendingToolUse"]
        return None


@dataclass
class Book:
    """One history: its timeline, those that rewinds left, the effects, and where the next line goes."""

    path: Path | None = None
    home: str = ""  # the folder's name
    timeline: Timeline = field(default_factory=Timeline)
    left: list = field(default_factory=list)
    effects: dict = field(default_factory=dict)
    parent: dict | None = None
    size: int = 0
    sum: int = 0
    lines: int = 0
    last: str = ""  # the kind of the last line
    torn: int = 0  # bytes behind size that a crash left
    length: int = 0  # of the file
    saved: list | None = None  # the list of messages that was saved last, to know it again


# --- in place of the library's own: what run_agent calls when it keeps a history ------------

def save_checkpoint(path, checkpoint):
    """Add what is new since the last save. Raises NotACheckpoint, UnsavableValue, HistoryError or StorageError."""
    book = _book(path)
    news = _news(book, checkpoint)
    record = {"save": place(checkpoint)[1], **news}
    pending = checkpoint["pendingToolUse"]
    # What an answer to an effect on record says is on disk already: it need not be forced there.
    _append(book, record, moment_of(checkpoint), sync="answers" not in record, pending=pending and pending["name"])
    book.saved = checkpoint["messages"]


def load_checkpoint(path):
    """The newest scene. Raises a CheckpointError or HistoryError."""
    book = _book(path)
    if not book.timeline.saves:
        raise CheckpointMissing(f"{FILE} in {Path(path).parent.name} holds no save yet, so there is nothing to resume from; start without --resume.")
    scene = book.timeline.scene(-1)
    check(scene)
    check_shape(scene, FILE)
    return scene


def load_effects(path):
    """All effects of this branch by tool_use_id; to be read, not changed."""
    return _book(path).effects


def save_effect(path, tool_use_id, entry):
    """Add one effect, together with any whose write failed before. Raises what saving raises."""
    book, unwritten = _book(path), current().unwritten
    unwritten[tool_use_id] = entry
    for id, each in list(unwritten.items()):
        _append(book, {"effect": id, "entry": each}, "effect-write")
        del unwritten[id]


FUNCTIONS = {"save_checkpoint": save_checkpoint, "load_checkpoint": load_checkpoint, "load_effects": load_effects, "save_effect": save_effect}


# --- what the folder holds --------------------------------------------------------------------

def saves(folder):
    """``[(turn, point), ...]`` in order, of the timeline that a resume goes on with."""
    return _look(folder).timeline.places()


def load(folder, turn, point=None):
    """A turn's scene, as saved: at its last point, or the one named. Raises NoSuchTurn or a CheckpointError."""
    timeline = _look(folder, until=turn).timeline
    scene = timeline.scene(pick(timeline.places(), turn, point, folder))
    check_shape({**scene, "messages": scene.get("messages", [])[:1]}, FILE)  # each message was looked at as its line was read
    return scene


def begin(folder, scene, came_from):
    """The first lines of a new branch. came_from, (folder, turn, point), is where it leaves its parent, whose lines up to there it shares."""
    parent, turn, point = came_from
    timeline = _look(parent, until=turn).timeline
    number = pick(timeline.places(), turn, point, parent)
    save = timeline.saves[number]
    link = {"folder": save.home, "bytes": save.end, "sum": f"{save.sum:08x}"}
    first = _line({"history": VERSION, "parent": link}, 0)
    second = _line({"save": place(scene)[1], **_news(Book(timeline=timeline.back_to(number)), scene)}, _sum_of(first))
    path = Path(folder) / FILE
    append(path, first + second, 0, moment=moment_of(scene))
    cut(path, len(first + second))


def effects(folder):
    """The branch's own effects by tool_use_id."""
    return dict(_look(folder).effects)


def set_back(folder, turn, point, scene):
    """Let the branch go on from that save with scene; every line stays. Killed at any instant, it did or it did not. Raises StorageError."""
    book = _book(Path(folder) / FILE)
    there = Book(timeline=book.timeline.back_to(pick(book.timeline.places(), turn, point, folder)), effects=book.effects)
    _append(book, {"rewind": [turn, point], "save": place(scene)[1], **_news(there, scene)}, "rewind")
    _trim(book)


def forks_of(folder):
    """The folders of branches that begin in this folder's history, and share its lines."""
    folder = Path(folder).absolute()
    if not (folder / FILE).exists():
        return []
    found = []
    for other in sorted(folder.parent.iterdir()):
        try:
            parent = other != folder and read(other).parent
        except (CourseError, OSError):
            continue
        found += [other] if parent and parent["folder"] == folder.name else []
    return found


def write_files(folder):
    """Write checkpoint.json and effects.json as they stand, for eyes and for other programs. Raises StorageError."""
    book = _book(Path(folder) / FILE)
    _trim(book)
    for name, value in ((checkpoint.FILE, book.timeline.scene(-1)), (ledger.FILE, book.effects)):
        path, data = Path(folder) / name, encode(value)
        sweep(path)
        if not path.exists() or path.read_bytes() != data:
            write_atomic(path, data, moment="copy")


def read(folder, *, until=None, length=None):
    """The Book of a folder. until: no further than needed for that turn. length: as it was at that many bytes.

    Raises HistoryError, which names a damaged line, or CheckpointMissing.
    """
    path = Path(folder) / FILE
    data, at = _bytes(path)[:length], 0
    book = Book(path.absolute(), path.absolute().parent.name, length=len(data))
    while at < len(data):
        end = max(data.rfind(b"\n", at, at + _AT_ONCE), data.find(b"\n", at)) + 1
        if end == 0:  # a line without its end
            break
        lines = data[at:end - 1].split(b"\n")
        if _take(book, lines) < len(lines):
            break
        at = end
        if until is not None and book.timeline.saves and book.timeline.saves[-1].place[0] > until and data.find(b'\n{"rewind"', at - 1) < 0:
            return book
    _check_tail(book, data)
    book.torn = len(data[book.size:].rstrip(b"\0"))  # zeros were put there to be written over
    return book


# --- lines ----------------------------------------------------------------------------------------

def _book(path):
    """The history beside path, to write to: a run reads it once and then knows it."""
    known = current().books
    if path not in known:
        book = _opened(Path(path).absolute().with_name(FILE), known)
        known[path] = known[book.path] = book
    return known[path]


def _opened(path, known):
    if path in known:
        return known[path]
    try:
        book = read(path.parent)
    except CheckpointMissing:
        book = Book(path, path.parent.name)
    if book.torn:
        alert(f"[history] {FILE} ended in {book.torn} bytes that a crash had cut short; they are dropped, and all before them is whole.")
    return book


def _look(folder, until=None):
    """The history of a folder, to read: what this run knows of it, if nobody else has written since."""
    path = Path(folder).absolute() / FILE
    for known in (path, (path, until)):
        book = current().books.get(known)
        if book and _is_as_read(book, path):
            return book
    current().books[path, until] = book = read(folder, until=until)
    return book


def _trim(book):
    """Take away what is behind the last line: zeros to be written over, or what a crash has torn."""
    if book.torn or book.length > book.size:
        cut(book.path, book.size)
        book.torn, book.length = 0, book.size


def _is_as_read(book, path):
    with suppress(OSError), open(path, "rb") as file:
        file.seek(book.size)
        return os.fstat(file.fileno()).st_size == book.length and file.read(1) in (b"", b"\0") or book.torn > 0
    return False


def _append(book, record, moment, *, sync=True, **facts):
    first = b"" if book.size else _line({"history": VERSION}, 0)
    line = _line(record, _sum_of(first) or book.sum)
    if book.torn:
        _trim(book)
    try:
        book.length = append(book.path, first + line, book.size, book.length - book.size, moment=moment, sync=sync, **facts)
    except StorageError as error:
        if error.__cause__ and error.__cause__.errno != errno.EBUSY:  # else it is not ours to cut
            book.torn, book.length = 1, book.size
        raise
    book.size, book.lines, book.sum, book.last = book.size + len(first + line), book.lines + 1 + bool(first), _sum_of(line), next(iter(record))
    _apply(book, {**record, "set": copy.deepcopy(record["set"])} if "set" in record else record, book.sum)


def _line(record, before):
    body = encode_line(record)[:-1]
    return body + b',"sum":"%08x"}\n' % zlib.crc32(body, before)


def _sum_of(line):
    return int(line[-11:-3], 16) if line else 0


def _take(book, lines):
    """Add lines to the book as far as they are whole; gives how many."""
    total, ends = book.sum, []
    for line in lines:
        total = zlib.crc32(line[:-_SUM], total)
        if line[-_SUM:] != b',"sum":"%08x"}' % total:
            break
        ends.append((len(line) + 1, total))
    try:
        records = json.loads(b"[" + b",".join(lines[:len(ends)]) + b"]", parse_constant=_no_constant)
        for record, (size, total) in zip(records, ends, strict=True):
            book.size += size
            book.lines += 1
            book.sum = total
            _apply(book, record, total)
        book.last = next(iter(record)) if ends else book.last
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise HistoryError(f"Line {book.lines} of {FILE} is whole and makes no sense here ({error!r:.100}), so it was not written by this program; "
                           "resume a copy of the folder, or start over without --resume.") from error
    return len(ends)


def _check_tail(book, data):
    """Raise HistoryError unless what is behind the whole lines may be what a crash left: one line, or an answer that was not synced yet and one more."""
    rest = data[book.size:].split(b"\n", 3)
    follow = [line for line in rest[1:] if line]
    if follow and not (len(follow) == 1 and book.last == "effect" and not follow[0].startswith(b'{"effect"')):
        raise HistoryError(f"Line {book.lines + 1} of {FILE} is damaged, and more follow, so this was no crash; "
                           "nothing was changed: take another copy of the file, or start over without --resume.")


def _no_constant(name):
    raise ValueError(f"{name} is not JSON")


def _bytes(path):
    try:
        return read_file(path)
    except FileNotFoundError:
        raise CheckpointMissing(f"There is no {FILE} in {path.parent.name}, so there is nothing to go back to.") from None
    except OSError as error:
        raise HistoryError(f"{FILE} in {path.parent.name} could not be read: {reason(error)}; make it readable and try again.") from error


# --- records, and what they say ------------------------------------------------------------------------

def _apply(book, record, total):
    if "effect" in record:
        book.effects[record["effect"]] = record["entry"]
        return
    if "history" in record:
        _begin_reading(book, record)
        return
    if "rewind" in record:
        book.left.append(book.timeline)
        book.timeline = book.timeline.back_to(pick(book.timeline.places(), *record["rewind"], book.path.parent))
    timeline, new = book.timeline, record.get("messages", ())
    if not all(map(is_message, new)):
        raise ValueError("a message without role and content")
    if "answers" in record:
        timeline.messages.append(_answer(record["answers"], book.effects))
    timeline.messages += new
    turn = record["set"]["turns"] if "turns" in record.get("set", ()) else timeline.saves[-1].place[0]
    timeline.saves.append(Save((turn, record["save"]), record, len(timeline.messages), book.home, book.size, total))


def _news(book, scene):
    """What a record says of a scene: all that differs from the newest save."""
    if type(scene) is not dict or type(scene.get("messages")) is not list:
        check_shape(scene, FILE, "nothing was saved")
    timeline, messages = book.timeline, scene["messages"]
    known = len(timeline.messages)
    if len(messages) < known or messages is not book.saved and messages[:known] != timeline.messages:
        raise HistoryError("A history only grows, and the messages to be saved are not those saved before with new ones after them; "
                           "go back to an earlier turn with go_back_to.")
    new, old = messages[known:], timeline.head()
    check_shape({**scene, "messages": new or messages[-1:]}, FILE, "nothing was saved")
    head = {key: None if key == "messages" else value for key, value in scene.items()}
    news = {"set": {key: value for key, value in head.items() if key not in old or not _alike(value, old[key])},
            "messages": new}
    _shorten(news, book, scene["pendingToolUse"])
    if [*head] != [*{**old, **news["set"], "pendingToolUse": None}]:
        news["order"] = [*head]
    return {key: value for key, value in news.items() if value}


def _shorten(news, book, pending):
    """Say once what stands in the history already: the call in the message that names it, the answer in its effect."""
    if "pendingToolUse" not in news["set"]:
        return
    before = book.timeline.head().get("pendingToolUse")
    if pending and news["messages"] and _alike(_call(news["messages"][-1], pending["id"]), pending):
        del news["set"]["pendingToolUse"]
        news["pending"] = pending["id"]
    elif before and before["id"] in book.effects and _alike(news["messages"], [_answer(before["id"], book.effects)]):
        del news["set"]["pendingToolUse"]
        news["messages"], news["answers"] = [], before["id"]


def _alike(a, b):
    """Whether a file would say the same of both, byte for byte."""
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return [*a] == [*b] and all(map(_alike, a.values(), b.values()))
    if type(a) is list:
        return len(a) == len(b) and all(map(_alike, a, b))
    return a == b and (type(a) is not float or repr(a) == repr(b))  # 0.0 and -0.0


def _begin_reading(book, record):
    if record["history"] != VERSION or type(record["history"]) is not int:
        raise HistoryError(f"{FILE} has version {record['history']}, and this program reads only version {VERSION}; "
                           "read it with the program that wrote it.")
    book.parent = record.get("parent")
    if book.parent is None:
        return
    name = book.parent["folder"]
    if Path(name).name != name:
        raise HistoryError(f"{FILE} begins in the folder {name!r:.60}, which is none beside this one.")
    shared = read(book.path.parent.with_name(name), length=book.parent["bytes"])
    if f"{shared.sum:08x}" != book.parent["sum"]:
        raise HistoryError(f"This branch begins in {FILE} of {name}, and that has changed since; bring back the folder as it was.")
    book.timeline = shared.timeline


def _call(message, id):
    for block in message["content"]:
        if block["type"] == "tool_use" and block["id"] == id:
            return {"id": id, "name": block["name"], "input": block["input"]}


def _answer(id, effects):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": as_content(effects[id].get("result"))}]}
