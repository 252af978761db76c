"""effects.json: which tool calls have happened, by tool_use_id, the idempotency key of a call.

    {"toolu_01": {"name": str, "result": value, "at": "2026-01-05T09:00:00.000Z", "input": {...}}}

An entry is written the instant a tool returns, never before: an entry means "this happened,
and this was its result". `input` is ours; the lessons' own files lack it, and may have `at`
in milliseconds or no `result`. (lessons 4 and 6)

Left out: what to do about a call that is not in here (resume.py decides).
"""
import glob
import os
from pathlib import Path

from .errors import CourseError
from .moments import current, part
from .storage import StorageError, read_file, reason, sync_folder, target_of, write_atomic
from .values import decode, encode, same

FILE = "effects.json"


class LedgerError(CourseError):
    """The ledger is torn or has the wrong shape: it can't be trusted."""


class LedgerUnreadable(CourseError):
    """The operating system would not let us read it; nothing is known to be wrong with it."""


class IdClash(CourseError):
    """One tool_use_id names two different calls, so the ledger can't tell them apart."""


def load_effects(path):
    """All entries by tool_use_id; no file is an empty ledger. Raises LedgerError or LedgerUnreadable."""
    path = Path(path)
    try:
        effects = decode(read_file(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise LedgerUnreadable(f"{path.name} could not be read: {reason(error)}; make it readable and resume again.") from error
    except ValueError as error:
        raise LedgerError(f"{path.name} is cut off or not JSON ({error}); resume sets it aside, a fresh start clears it.") from error
    if type(effects) is not dict or not all(_is_entry(entry) for entry in effects.values()):
        raise LedgerError(f"{path.name} is not a map from tool_use_id to entries with a name; resume sets it aside, a fresh start clears it.")
    return effects


def save_effects(path, effects):
    """Replace the ledger, atomically. Announces effect-write. Raises UnsavableValue or StorageError."""
    write_atomic(path, encode(effects), moment="effect-write")


def save_effect(path, tool_use_id, entry):
    """Add one entry, together with any whose write failed before. Raises what saving raises.

    If it fails the entry stays in memory, counts as known, and goes out with the next one.
    """
    unwritten = current().unwritten
    unwritten[tool_use_id] = entry
    part(save_effects)(path, {**part(load_effects)(path), **unwritten})
    unwritten.clear()


def known_effects(path):
    """The ledger, and the entries of this run that could not be written yet."""
    effects, unwritten = part(load_effects)(path), current().unwritten
    return {**effects, **unwritten} if unwritten else effects


def find(effects, call):
    """The entry of this very call ({id, name, input}), or None. Raises IdClash.

    Same id, other name or input: scripted models and some providers reuse ids, and the old
    result would be a wrong answer.
    """
    entry = effects.get(call["id"])
    if entry is None:
        return None
    family = current().family
    if family and entry.get("lineage", family) != family:
        raise IdClash(f"{call['id']} is in the ledger as a call of another run, so it can't say whether this {call['name']} has happened; "
                      "nothing was run: put back the ledger that belongs to this run, or start over without --resume.")
    if entry["name"] != call["name"] or not same(entry.get("input", call["input"]), call["input"]):
        other = entry["name"] if entry["name"] != call["name"] else "with another input"
        raise IdClash(f"{call['id']} is in the ledger as another call ({other}), so {call['name']} can't be told from it; "
                      "nothing was run: start over without --resume, which clears the old ledger.")
    return entry


def set_aside(path):
    """Move a broken ledger out of the way, durably, and give its new name. Raises StorageError. See also was_set_aside."""
    target = target_of(path)
    moved = free_name(path)
    try:
        os.rename(target, moved)
        sync_folder(target.parent)
    except OSError as error:
        raise StorageError(f"The broken {target.name} could not be set aside: {reason(error)}; put that right and resume.") from error
    return moved


def free_name(path):
    """The next name beside a file under which what is broken can be kept."""
    target = target_of(path)
    return target.with_name(f"{target.name}.broken.{1 + max((int(old.suffix[1:]) for old in broken_ledgers(path)), default=0)}")


def was_set_aside(path):
    """Whether a broken ledger lies beside this one, so that a miss proves nothing."""
    return bool(broken_ledgers(path))


def broken_ledgers(path):
    """The ledgers that set_aside moved out of the way of this one."""
    target = target_of(path)
    return [p for p in target.parent.glob(f"{glob.escape(target.name)}.broken.*") if p.suffix[1:].isdecimal()]


def _is_entry(entry):
    return type(entry) is dict and type(entry.get("name")) is str
