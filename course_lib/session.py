"""The conversation in a file from anywhere: a request, a checkpoint, or a session as coding agents export it. (beyond lesson 3)

    [{"role", "content"}, ...]  or  {"messages": [...], ...}            Messages API, checkpoint.json
    {"type": "user" or "assistant", "message": {"role", "content"}}     a line each, JSON Lines
    {"role", "content"}                                                 the same, plain

Left out: sessions with branches, of which every record is read in the file's order.
"""
from collections import Counter
from json import JSONDecodeError

from .errors import CourseError
from .values import decode
from .words import tr

def read_session(data):
    """``(messages, notes)`` from the bytes of a file. notes: sentences about what was left out or put together.

    A last line that was cut short is said and left out; any other damage raises CourseError, which
    names the line.
    """
    if not data.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        raise CourseError(tr("There is no text in it, only {n} zero or blank bytes, as a power cut leaves them; take another copy.", n=len(data))
                          if data else tr("It is empty; give it the messages of a request, a checkpoint.json, or a session in JSON Lines."))
    try:
        value = decode(data)
    except ValueError as error:
        return _read_lines(data, error)
    if isinstance(value, list):
        return value, []
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return _complete(value)
    if isinstance(value, dict) and "messages" not in value and _message(value):
        return _read_lines(data, None)
    raise CourseError(tr("It is JSON and holds no list of messages; give it the messages of a request, a checkpoint.json, or a session in JSON Lines."))


def _complete(request):
    """The messages of a request or checkpoint; where the turn of a pending call is not among them (lesson 6), with it."""
    messages, call = request["messages"], request.get("pendingToolUse")
    if not isinstance(call, dict):
        return messages, []
    name, last = f"{call.get('name')} ({call.get('id')})", messages[-1] if messages else None
    notes = [tr("A checkpoint with {name} pending: the program that wrote it settles that call when it resumes, from its ledger; "
                "a mend can only call it unknown.", name=name)]
    if isinstance(last, dict) and last.get("role") == "user":
        block = {"type": "tool_use", **{key: call[key] for key in ("id", "name", "input") if key in call}}
        messages = [*messages, {"role": "assistant", "content": [block]}]
        notes.append(tr("The turn that asked for {name} was not in messages yet and was made again from pendingToolUse; its text, if it had any, is lost.", name=name))
    return messages, notes


# JSON Lines

def _read_lines(data, problem):
    """problem: why the whole is no JSON value."""
    lines = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip(b" \t\r")]
    records, notes = [], []
    for number, line in lines:
        try:
            record = decode(line)
        except ValueError as error:
            if not any(isinstance(record, dict) for record in records):
                raise CourseError(tr("It can't be read as JSON ({why}), nor as a session in JSON Lines; "
                                     "give it the messages of a request, a checkpoint.json, or a session in JSON Lines.", why=_reason(problem))) from None
            if number == lines[-1][0] and not data.endswith(b"\n"):
                notes.append(tr("Line {number}, the last one, was cut short and is left out.", number=number))
                break
            raise CourseError(tr("Line {number} is damaged ({why}), so what was said there can't be known; "
                                 "mend that line by hand or take another copy.", number=number, why=_reason(error, in_line=True))) from None
        records.append(record)
    messages, more = _put_together(records)
    if not messages:
        raise CourseError(tr("None of its {n} lines holds a message; give it the messages of a request, a checkpoint.json, or a session in JSON Lines.", n=len(lines)))
    return messages, more + notes


def _put_together(records):
    messages, skipped, joined, unit = [], Counter(), 0, None
    for record in records:
        message = _message(record)
        if message is None:
            skipped[_kind(record)] += 1
            continue
        before, unit = unit, _unit(record, message)
        if unit is not None and unit == before:
            messages[-1]["content"] += _blocks(message)
            joined += 1
        else:
            messages.append(message if unit is None else {**message, "content": _blocks(message)})
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))
    notes = [tr("Records left out, as they are no messages of this conversation: {kinds}.", kinds=kinds)] if skipped else []
    return messages, notes + ([tr("Records put together with the one before, as parts of one message: {n}.", n=joined)] if joined else [])


def _message(record):
    """The message in a record, or None."""
    if not isinstance(record, dict) or record.get("isSidechain") is True:  # a helper's own conversation
        return None
    message = record.get("message")
    if record.get("type") in ("user", "assistant") and isinstance(message, dict) and "content" in message:
        return {"role": message.get("role", record["type"]), "content": message["content"]}
    if isinstance(record.get("role"), str) and "content" in record:
        return {"role": record["role"], "content": record["content"]}
    return None


def _unit(record, message):
    """What an exported record is a part of; records in a row with the same are one message. None for a message of its own.

    Agents export a turn of the model block by block, under one id, and each result as it comes,
    where the request has them all in one message.
    """
    if "message" not in record:
        return None
    if message["role"] == "assistant":
        call_id = record["message"].get("id")
        return call_id if isinstance(call_id, str) else None
    results = isinstance(message["content"], list) and message["content"] and all(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in message["content"])
    return ("results",) if results else None


def _blocks(message):
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content) if isinstance(content, list) else [content]


def _kind(record):
    kind = record.get("type") if isinstance(record, dict) else None
    side = isinstance(record, dict) and record.get("isSidechain") is True
    return tr("of a side conversation") if side else kind if isinstance(kind, str) and len(kind) < 50 else tr("without a type")


def _reason(error, in_line=False):
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start + 1} is not UTF-8"
    if isinstance(error, JSONDecodeError):
        return f"{error.msg} at column {error.colno}" if in_line else f"{error.msg} at line {error.lineno}, column {error.colno}"
    return str(error) if len(str(error)) < 200 else f"… {str(error)[-200:]}"  # the problem stands last, behind its place
