"""checkpoint.json: the scene of the loop, so that another process can carry on.

    {"version": 1, "task": str, "turns": int, "tokensUsed": int,
     "messages": [...], "pendingToolUse": null or {"id", "name", "input"}}

Point A is saved when the model has named a tool and before the tool runs (pendingToolUse
is that call), Point B when its result is in messages (null). Keys we don't know are kept.
A file that can't be trusted is refused with the reason; nothing is guessed. (lessons 2, 3, 6)

Left out: several calls in one turn, which is version 2 of the file.
"""
import json
import os
from pathlib import Path

from .errors import CourseError
from .storage import read_file, reason, write_atomic
from .values import decode, encode

FILE = "checkpoint.json"
VERSION = 1
START_OVER = "delete it and start over without --resume"
ANOTHER_PROGRAM = "resume it with the program that wrote it, or start over without --resume"
_COUNT = (lambda v: type(v) is int and v >= 0, "a whole number from 0 up")
_FIELDS = {
    "task": (lambda v: type(v) is str, "text"),
    "turns": _COUNT,
    "tokensUsed": _COUNT,
    "messages": (lambda v: type(v) is list and v and all(map(is_message, v)), "a list of messages, each with role and content"),
    "pendingToolUse": (lambda v: v is None or _is_call(v), "null or a call with id, name and input"),
}


class CheckpointError(CourseError):
    """There is no checkpoint to go on from; the subclass says why."""


class CheckpointMissing(CheckpointError):
    """No file: this run never reached its first Point A, or was started elsewhere."""


class CheckpointUnreadable(CheckpointError):
    """The operating system would not let us read it."""


class CheckpointEmpty(CheckpointError):
    """A file of no bytes: what a power cut leaves when nothing was synced."""


class CheckpointTorn(CheckpointError):
    """Part of a file, or bytes that are no JSON: a write was cut short."""


class NotACheckpoint(CheckpointError):
    """JSON, but not the scene of a run: a key is missing or has the wrong type."""


class WrongVersion(CheckpointError):
    """A checkpoint in a format this program does not speak."""


def load_checkpoint(path):
    """The checkpoint at path, as a dict. Raises a CheckpointError and touches nothing."""
    path = Path(path)
    try:
        data = read_file(path)
    except FileNotFoundError:
        raise CheckpointMissing(f"There is no {path.name} in {_folder(path)}, so there is nothing "
                                "to resume from; start without --resume.") from None
    except OSError as error:
        raise CheckpointUnreadable(f"{path.name} could not be read: {reason(error)}; "
                                   "make it readable and resume again.") from error
    if not data:
        raise CheckpointEmpty(f"{path.name} is empty, as after a power cut; {START_OVER}.")
    if not data.strip(b"\0"):
        raise CheckpointTorn(f"{path.name} is all zero bytes, as after a power cut; {START_OVER}.")
    try:
        checkpoint = decode(data)
    except ValueError as error:
        raise CheckpointTorn(f"{path.name} is cut off or not JSON ({error}), so it can't be trusted; "
                             f"{START_OVER}.") from error
    check_shape(checkpoint, path.name)
    return checkpoint


def save_checkpoint(path, checkpoint):
    """Replace the file at path, atomically. Raises NotACheckpoint, UnsavableValue or StorageError.

    Announces save-a, save-b or final-save, by what the checkpoint says.
    """
    path = Path(path)
    data = encode(checkpoint)
    check_shape(checkpoint, path.name, "nothing was saved")
    pending = checkpoint["pendingToolUse"]
    write_atomic(path, data, moment=moment_of(checkpoint), pending=pending and pending["name"])


def opening(task):
    """The scene before the first request: the task as the first message, all counters at zero."""
    return {"version": VERSION, "task": task, "turns": 0, "tokensUsed": 0,
            "messages": [{"role": "user", "content": task}], "pendingToolUse": None}


def is_finished(checkpoint):
    """Whether the last message is the model's final answer, so that there is nothing left to ask."""
    last = checkpoint["messages"][-1]
    return checkpoint["pendingToolUse"] is None and last["role"] == "assistant" and not any(
        block["type"] == "tool_use" for block in last["content"] if isinstance(block, dict))


def moment_of(checkpoint):
    """Which save this is: ``"save-a"``, ``"save-b"`` or ``"final-save"``."""
    if checkpoint["pendingToolUse"] is not None:
        return "save-a"
    return "final-save" if is_finished(checkpoint) else "save-b"


def lineage_of(checkpoint):
    """Where it comes from, ``{"family", "run", "root"}`` and in a fork ``"parent"``; {} where nothing is known, or nothing that makes sense."""
    lineage = checkpoint.get("lineage")
    if type(lineage) is not dict or not all(type(lineage.get(key, "")) is str for key in ("family", "run", "root")):
        return {}
    parent = lineage.get("parent", {"folder": "", "run": None, "turn": 0, "point": "", "tokensUsed": 0})
    whole = type(parent) is dict and type(parent.get("tokensUsed")) is int and type(parent.get("run")) in (str, type(None))
    return lineage if whole and Path(lineage.get("root", "")).name == lineage.get("root", "") != ".." else {}


def check_shape(checkpoint, name, advice=None):
    """Raise NotACheckpoint or WrongVersion, with what to do about the file of that name, for what is no checkpoint."""
    if type(checkpoint) is not dict:
        raise NotACheckpoint(f"{name} holds {_kind(checkpoint)} where a checkpoint is an object; {advice or START_OVER}.")
    version = f"version {json.dumps(checkpoint['version'])}" if "version" in checkpoint else "no version"
    if version != f"version {VERSION}":
        raise WrongVersion(f"{name} has {version}, and this program reads only version {VERSION}; {advice or ANOTHER_PROGRAM}.")
    for key, (good, meaning) in _FIELDS.items():
        if key not in checkpoint:
            raise NotACheckpoint(f"{name} has no {key}; {advice or START_OVER}.")
        if not good(checkpoint[key]):
            raise NotACheckpoint(f"In {name}, {key} is not {meaning}; {advice or START_OVER}.")


def is_message(message):
    """Whether this has the shape of a message: a role, and text or blocks as its content."""
    return (type(message) is dict and message.get("role") in ("user", "assistant")
            and (type(message.get("content")) is str or _is_blocks(message.get("content"))))


def _is_blocks(content):
    return type(content) is list and all(type(block) is dict and type(block.get("type")) is str for block in content)


def _is_call(call):
    return (type(call) is dict and type(call.get("id")) is str and type(call.get("name")) is str
            and type(call.get("input")) is dict)


def _kind(value):
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


def _folder(path):
    return "this folder" if path.parent in (Path(os.curdir), Path.cwd()) else f"the folder {path.parent.name or path.parent}"
