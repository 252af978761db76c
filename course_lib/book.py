"""The lines of a history, and what they add up to: saves in order, their messages, the effects. (beyond lesson 5)

    {"history": 1}                          or, in a fork, where it begins:
    {"history": 1, "parent": {"folder": "checkpoints", "bytes": 5120, "sum": "0a1b2c3d"}}
    {"save": "A", "set": {"turns": 3, ...}, "messages": [the new ones], "pending": "toolu_03"}
    {"effect": "toolu_03", "entry": {"name", "result", "at", "input"}}
    {"save": "B", "answers": "toolu_03"}
    {"rewind": [3, "B"], "set": {...}, "messages": [a note]}

Each line ends with a checksum over itself and all before it. A line that a crash cut short is
dropped, loudly; damage anywhere else is an error that names the line.

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

from .checkpoint import CheckpointMissing, check_shape, is_message
from .errors import CourseError
from .ledger import free_name
from .places import home_of, pick
from .storage import StorageError, append, check_ordinary, cut, reason
from .values import as_content, encode_line

FILE = "history.jsonl"
VERSION = 1
_SUM = len(',"sum":"00000000"}')
_REWIND = b'{"rewind"'
_AT_ONCE = 65_536  # bytes read at a time


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
        timeline = Timeline(self.saves[:number + 1], self.messages[:self.saves[number].count])
        if self._told[0] <= number + 1:
            timeline._told = self._told[0], dict(self._told[1])
        return timeline

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
    size: int = 0
    sum: int = 0
    lines: int = 0
    last: str = ""  # the kind of the last line
    torn: int = 0  # bytes behind size that a crash left
    length: int = 0  # of the file
    saved: list | None = None  # the list of messages that was saved last, to know it again


def read(folder, *, until=None, length=None):
    """The Book of a folder. until: no further than needed for that turn. length: as it was at that many bytes.

    Raises HistoryError, which names a damaged line, or CheckpointMissing.
    """
    home, timeline = home_of(folder), Timeline()
    for parent, link, child in _origins(home):
        timeline = _shared(parent, link, child, timeline)
    return _open(home, timeline, until, length)


def _origins(home):
    """Where a history begins, where that begins, and so on: ``(folder, link, name of the branch that has the link)``, the origin first."""
    found = []
    while link := parent_of(home):
        name = link["folder"]
        if Path(name).name != name or name == "..":
            raise HistoryError(f"{FILE} begins in the folder {name!r:.60}, which is none beside this one.")
        if any(name == child for *_, child in found) or name == home.name:
            raise HistoryError(f"The history of {name} begins in itself, so this program did not write it; bring that folder back as it was.")
        found.append((home.with_name(name), link, home.name))
        home = home.with_name(name)
    return found[::-1]


def _shared(parent, link, child, timeline):
    """The timeline of a parent up to where a branch leaves it. timeline: what the parent itself begins with."""
    try:
        book = _open(parent, timeline, None, link["bytes"])
    except CheckpointMissing:
        raise HistoryError(f"{child} begins in the history of {parent.name}, which is not there; bring that folder back.") from None
    if f"{book.sum:08x}" != link["sum"]:
        raise HistoryError(f"The branch {child} begins in {FILE} of {parent.name}, and that has changed since; bring back the folder as it was.")
    return book.timeline


def _open(home, timeline, until, length):
    path = home / FILE
    try:
        check_ordinary(path)
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _read(file, Book(path, home.name, timeline, length=size if length is None else max(0, min(size, length))), until)
    except FileNotFoundError:
        raise CheckpointMissing(f"There is no {FILE} in {home.name}, so there is nothing to go back to.") from None
    except OSError as error:
        raise HistoryError(f"{FILE} in {home.name} could not be read: {reason(error)}; make it readable and try again.") from error


def _read(file, book, until):
    for piece in _pieces(file, book.length):
        *lines, rest = piece.split(b"\n")
        if _take(book, lines) < len(lines) or rest:
            break
        if until is not None and book.timeline.saves and book.timeline.saves[-1].place[0] > until:
            if not _goes_back(file, book.length):
                return book
            until = None
    file.seek(book.size)
    behind = file.read(book.length - book.size).rstrip(b"\0")  # zeros were put there to be written over
    _check_tail(book, behind)
    book.torn = len(behind)
    return book


def _pieces(file, length):
    """What is left of a file, up to that length, in pieces of whole lines."""
    while piece := file.read(min(_AT_ONCE, length - file.tell())):
        yield piece + file.readline(length - file.tell())


def _goes_back(file, length):
    """Whether what is left of a file holds a rewind; the file stands where it stood."""
    here = file.tell()
    try:
        return any(piece.startswith(_REWIND) or b"\n" + _REWIND in piece for piece in _pieces(file, length))
    finally:
        file.seek(here)


# --- lines ----------------------------------------------------------------------------------------

def parent_of(folder):
    """Where the history of a folder begins, as its first line says: ``{"folder", "bytes", "sum"}``, or None."""
    path = Path(folder) / FILE
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        check_ordinary(path)
        with open(path, "rb") as file:
            line = file.readline(10_000)
        parent = json.loads(line).get("parent")
        whole = zlib.crc32(line[:-_SUM - 1]) == sum_of(line)  # else reading says that this line is damaged
        return parent if whole and {key: type(value) for key, value in parent.items()} == {"folder": str, "bytes": int, "sum": str} else None
    return None


def trim(book):
    """Take away what is behind the last line: zeros to be written over, or what a crash has torn.

    Whole lines among that were no crash's doing alone, so they are kept in a file beside it.
    """
    if book.torn:
        _keep_apart(book)
    if book.torn or book.length > book.size:
        cut(book.path, book.size)
        book.torn, book.length = 0, book.size


def _keep_apart(book):
    try:
        behind = book.path.read_bytes()[book.size:].rstrip(b"\0")
        if b"\n" in behind:
            free_name(book.path).write_bytes(behind)
    except OSError as error:
        raise StorageError(f"What stood behind the last whole line of {FILE} could not be set aside: {reason(error)}; put that right and resume.") from error


def add(book, record, moment, *, sync=True, **facts):
    """Write a record to the end of the history and to the book. moment, sync, facts: as in storage.append. Raises StorageError."""
    first = b"" if book.size else line_of({"history": VERSION}, 0)
    line = line_of(record, sum_of(first) or book.sum)
    if book.torn:
        trim(book)
    try:
        book.length = append(book.path, first + line, book.size, book.length - book.size, moment=moment, sync=sync, **facts)
    except StorageError as error:
        if error.__cause__ and error.__cause__.errno != errno.EBUSY:  # else it is not ours to cut
            book.torn, book.length = 1, book.size
        raise
    book.size, book.lines, book.sum, book.last = book.size + len(first + line), book.lines + 1 + bool(first), sum_of(line), next(iter(record))
    _apply(book, {**record, "set": copy.deepcopy(record["set"])} if "set" in record else record, book.sum)


def line_of(record, before):
    """A record as a line of the file. before: the checksum of the line before it, 0 for the first."""
    body = encode_line(record)[:-1]
    return body + b',"sum":"%08x"}\n' % zlib.crc32(body, before)


def sum_of(line):
    """The checksum that a line ends with; 0 of no line."""
    return int(line[-11:-3], 16) if line else 0


def _take(book, lines):
    """Add lines to the book as far as they are whole; gives how many."""
    total, ends, crc32 = book.sum, [], zlib.crc32
    for line in lines:
        total = crc32(line[:-_SUM], total)
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


def _check_tail(book, behind):
    """Raise HistoryError unless what is behind the whole lines may be what a crash left: one line, or an answer that was not synced yet and one more.

    That one is never an effect or a rewind: before these the answer has been synced.
    """
    rest = behind.split(b"\n", 3)
    follow = [line for line in rest[1:] if line]
    if follow and not (len(follow) == 1 and book.last == "effect" and not follow[0].startswith((b'{"effect"', _REWIND))):
        raise HistoryError(f"Line {book.lines + 1} of {FILE} is damaged, and more follow, so this was no crash; "
                           "nothing was changed: take another copy of the file, or start over without --resume.")


def _no_constant(name):
    raise ValueError(f"{name} is not JSON")


# --- records, and what they say ------------------------------------------------------------------------

def _apply(book, record, total):
    if "effect" in record:
        book.effects[record["effect"]] = record["entry"]
        return
    if "history" in record:
        _check_beginning(book, record)
        return
    if "rewind" in record:
        book.left.append(book.timeline)
        book.timeline = book.timeline.back_to(pick(book.timeline.places(), *record["rewind"], book.path.parent))
    timeline = book.timeline
    saves, messages = timeline.saves, timeline.messages
    if "messages" in record:
        new = record["messages"]
        if not all(map(is_message, new)):
            raise ValueError("a message without role and content")
        messages += new
    elif "answers" in record:
        messages.append(_answer(record["answers"], book.effects))
    if not all(type(key) is str for key in record.get("order", ())) or "pending" in record and _call(messages[-1], record["pending"]) is None:
        raise ValueError("it names what is not there")
    changed = record.get("set", ())
    turn = changed["turns"] if "turns" in changed else saves[-1].place[0]
    saves.append(Save((turn, record["save"]), record, len(messages), book.home, book.size, total))


def news_of(book, scene):
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


def _check_beginning(book, record):
    if record["history"] != VERSION or type(record["history"]) is not int:
        raise HistoryError(f"{FILE} has version {record['history']}, and this program reads only version {VERSION}; "
                           "read it with the program that wrote it.")
    if record.get("parent") and not book.timeline.saves:
        raise ValueError("it begins where nothing is")


def _call(message, id):
    for block in message["content"]:
        if block["type"] == "tool_use" and block.get("id") == id and "name" in block and "input" in block:
            return {"id": id, "name": block["name"], "input": block["input"]}


def _answer(id, effects):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": as_content(effects[id].get("result"))}]}
