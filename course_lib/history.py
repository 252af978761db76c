"""history.jsonl: every save of a branch in one file that only grows, a line each, of what is new. (beyond lesson 5)

Messages are only ever appended, so a checkpoint is a place in this file, and any of them can be
built again, equal byte for byte to what save_checkpoint writes (book.py has the lines).

Two syncs a turn: Point A, and the effect. Point B follows from these two, so it is written at
once and synced with the next line. checkpoint.json and effects.json are written at the end, and
by write_files.

Left out: cutting old turns off. Nothing is ever thrown away.
"""
import os
from contextlib import suppress
from pathlib import Path

from . import checkpoint, ledger
from .book import FILE, VERSION, Book, HistoryError, add, line_of, news_of, parent_of, read, sum_of, trim  # noqa: F401  (HistoryError is found here, too)
from .checkpoint import CheckpointMissing, check_shape, moment_of
from .errors import CourseError
from .moments import alert, current
from .places import home_of, pick, place
from .storage import append, cut, sweep, sync, write_atomic
from .values import check, encode


# --- in place of the library's own: what run_agent calls when it keeps a history ------------

def save_checkpoint(path, checkpoint):
    """Add what is new since the last save. Raises NotACheckpoint, UnsavableValue, HistoryError or StorageError."""
    book = _book(path)
    news = news_of(book, checkpoint)
    record = {"save": place(checkpoint)[1], **news}
    pending = checkpoint["pendingToolUse"]
    # What an answer to an effect on record says is on disk already: it need not be forced there.
    add(book, record, moment_of(checkpoint), sync="answers" not in record, pending=pending and pending["name"])
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
        add(book, {"effect": id, "entry": each}, "effect-write")
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
    sync(home_of(parent) / FILE)  # the branch stands on these lines, and the last one may not be on disk yet
    timeline = _look(parent, until=turn).timeline
    number = pick(timeline.places(), turn, point, parent)
    save = timeline.saves[number]
    link = {"folder": save.home, "bytes": save.end, "sum": f"{save.sum:08x}"}
    first = line_of({"history": VERSION, "parent": link}, 0)
    second = line_of({"save": place(scene)[1], **news_of(Book(timeline=timeline.back_to(number)), scene)}, sum_of(first))
    path = Path(folder) / FILE
    append(path, first + second, 0, moment=moment_of(scene))
    cut(path, len(first + second))


def effects(folder):
    """The branch's own effects by tool_use_id."""
    return dict(_look(folder).effects)


def set_back(folder, turn, point, scene):
    """Let the branch go on from that save with scene; every line stays. Killed at any instant, it did or it did not. Raises StorageError."""
    path, known = home_of(folder) / FILE, current().books
    if path in known and not _is_as_read(known[path], path):  # another run has gone on meanwhile, and has ended
        known.clear()
    book = _book(path)
    there = Book(timeline=book.timeline.back_to(pick(book.timeline.places(), turn, point, folder)), effects=book.effects)
    sync(path)  # an answer may not be on disk yet; what stands before a rewind has to be
    add(book, {"rewind": [turn, point], "save": place(scene)[1], **news_of(there, scene)}, "rewind")
    write_files(folder)


def left_at(folder, turn):
    """What to call the timeline in which a rewind has left that turn; None if there is none."""
    return "an earlier timeline" if any(turn == saved for timeline in _look(folder).left for saved, _ in timeline.places()) else None


def forks_of(folder):
    """The folders of branches that begin in this folder's history, and share its lines."""
    folder = home_of(folder)
    if not (folder / FILE).exists():
        return []
    found = {other: parent_of(other) for other in sorted(folder.parent.iterdir()) if other != folder and other.is_dir()}
    return [other for other, parent in found.items() if parent and _holds(folder, parent)]


def _holds(folder, link):
    """Whether the lines that a fork shares are these; by their checksum, as folders may be renamed."""
    try:
        return f"{read(folder, length=link['bytes']).sum:08x}" == link["sum"]
    except (CourseError, KeyError, TypeError):
        return False


def write_files(folder):
    """Write checkpoint.json and effects.json as they stand, for eyes and for other programs. Raises StorageError."""
    book = _book(Path(folder) / FILE)
    trim(book)
    scene = [(checkpoint.FILE, book.timeline.scene(-1))] if book.timeline.saves else []
    for name, value in (*scene, (ledger.FILE, book.effects)):
        path, data = Path(folder) / name, encode(value)
        sweep(path)
        if not path.exists() or path.read_bytes() != data:
            write_atomic(path, data, moment="copy")


# --- what a run knows of its histories ------------------------------------------------------------

def _book(path):
    """The history beside path, to write to: a run reads it once and then knows it."""
    known = current().books
    if path not in known:
        book = _opened(home_of(path).with_name(FILE), known)
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
    """The history of a folder, to read: what this run knows of it, if nobody else has written since. until: as in read."""
    path, known = home_of(folder) / FILE, current().books
    if path in known and _is_as_read(known[path], path):
        return known[path]
    stamp = _stamp(path)
    if known.get((path, until), (None,))[0] != stamp or stamp is None:
        known[path, until] = stamp, read(folder, until=until)
    return known[path, until][1]


def _stamp(path):
    with suppress(OSError):
        state = os.stat(path)
        return state.st_size, state.st_mtime_ns, state.st_ino


def _is_as_read(book, path):
    with suppress(OSError), open(path, "rb") as file:
        file.seek(book.size)
        return os.fstat(file.fileno()).st_size == book.length and (book.torn > 0 or file.read(1) in (b"", b"\0"))
    return False
