"""What the Messages API would refuse in a conversation, found without sending it. (lesson 3)

The sentences are the API's own, as people quote them in their bug reports, so whoever met
one in the wild finds it here. In one thing this check is stricter than the API: it asks for
all results of a turn in one user message, as the API's documentation does, where the API
itself joins user messages that follow each other.

Left out: mending a conversation; thinking blocks, as only the model knows what it sent;
server tools, whose results the API adds itself; the insides of images and documents; fields
that don't belong where they are.
"""
import json
import re
from contextlib import suppress

_UNANSWERED = ("{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
               "Each `tool_use` block must have a corresponding `tool_result` block in the next message.")
RULES = {  # short name -> what the API says of a breach
    "any-message": "messages: at least one message is required",
    "list": "{where}: Input should be a valid list",
    "object": "{where}: Input should be an object",
    "role": "{where}.role: Input should be 'user' or 'assistant'",
    "content": "{where}: all messages must have non-empty content except for the optional final assistant message",
    "field": "{where}.{field}: {problem}",
    "id-pattern": "{where}.{field}: String should match pattern '^[a-zA-Z0-9_-]+$'",
    "name-length": "{where}.tool_use.name: String should have at {bound}",
    "result-block": "{where}.tool_result.content.{number}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}",
    "error-text": "{where}.tool_result: all content must be type `text` if `is_error` is true",
    "error-empty": "{where}.tool_result: content cannot be empty if `is_error` is true",
    "empty-text": "messages: text content blocks must be non-empty",
    "blank-text": "messages: text content blocks must contain non-whitespace text",
    "tool_use-role": "{message}: `tool_use` blocks can only be in `assistant` messages",
    "tool_result-role": "{message}: `tool_result` blocks can only be in `user` messages",
    "first-user": 'messages: first message must use the "user" role',
    "unique-id": "{where}: `tool_use` ids must be unique",
    "unanswered": _UNANSWERED,
    "results-first": _UNANSWERED,  # the API does not look for results behind a text
    "orphan-result": "{where}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
                     "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    "single-result": "{where}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}",
    "ends-with-user": "This model does not support assistant message prefill. The conversation must end with a user message.",
}
NAMED = ("id-pattern", "name-length")  # rules on what the model itself has named: one of another provider keeps other rules, and takes it back
_STRING = "Input should be a valid string"
_FIELDS = {  # type of a block -> field -> (its types, what the API says otherwise); other blocks are left alone
    "text": {"text": (str, _STRING)},
    "tool_use": {"id": (str, _STRING), "name": (str, _STRING), "input": (dict, "Input should be a valid dictionary")},
    "tool_result": {"tool_use_id": (str, _STRING), "content": ((str, list), _STRING)},
}
_ID, _LONGEST_NAME = re.compile(r"[a-zA-Z0-9_-]+"), 200
IN_RESULTS = ("browser_state", "document", "image", "search_result", "text", "tool_reference")  # the types of the blocks that a result may hold


def check_transcript(messages, *, ends_with_user=True, start=0, used=()):
    """List every breach of the API's rules for ``messages``; [] for a conversation it accepts.

    messages: any value at all; whatever it is, nothing is raised. ends_with_user=False leaves out
    the one rule that a finished conversation, which ends with the assistant, can't keep.
    start: the number of an assistant message, where all before it is known to be accepted and only
    the rest needs a look; used: the ids of the calls before it.
    Gives dicts: ``where`` ("messages.2.content.0"), ``id`` (the tool_use id, or None), ``rule``
    (a key of RULES) and ``text`` (the API's sentence). The first is what the API would answer.
    Source: the API's page "Handle tool calls", and the errors it answers with.
    """
    if not isinstance(messages, list):
        return [_breach("list", "messages")]
    if not messages:
        return [_breach("any-message", "messages")]
    found, last = [], len(messages) - 1
    for number, message in enumerate(messages[start:], start):  # as the API does: first the shapes, then the sense
        found += _check_message(f"messages.{number}", message, is_last=number == last)
    if role_of(messages[0]) == "assistant":
        found.append(_breach("first-user", "messages.0"))
    found += _check_pairing(messages, start, used)
    # A call left open at the end is one slip, and has been reported.
    if ends_with_user and role_of(messages[last]) == "assistant" and not ids_in(messages[last], "assistant", "tool_use"):
        found.append(_breach("ends-with-user", f"messages.{last}"))
    return found


def lone_surrogates(value, where="messages"):
    """The positions of texts that no request can carry: half a surrogate pair is no character.

    value: any JSON value, nested however deeply; where: what the positions start with.
    Gives ``["messages.3.content.0.input.path"]``, in reading order; a key stands at its value's place.
    """
    with suppress(ValueError, TypeError, RecursionError):
        json.dumps(value, ensure_ascii=False).encode("utf-8")
        return []  # the usual case, and asked before every request
    found, todo = [], [((None, where), value)]  # a place is (the place around it, its own name)
    while todo:
        place, part = todo.pop()
        if _is_broken(part) or _is_broken(place[1]):
            found.append(_path(place))
        if isinstance(part, dict):
            todo += [((place, key), item) for key, item in reversed(part.items())]
        elif isinstance(part, list):
            todo += [((place, i), part[i]) for i in reversed(range(len(part)))]
    return found


def _check_message(where, message, is_last):
    if not isinstance(message, dict):
        return [_breach("object", where)]
    found, role, content = [], message.get("role"), message.get("content")
    if role not in ("user", "assistant"):
        found.append(_breach("role", where))
    if not isinstance(content, (str, list)):
        found.append(_breach("list", f"{where}.content"))
    elif not content and not (is_last and role == "assistant"):
        found.append(_breach("content", where))
    elif content and isinstance(content, str):
        found += _check_text(where, content)
    for i, block in enumerate(content if isinstance(content, list) else []):
        found += _check_block(f"{where}.content.{i}", role, block)
    return found


def _check_block(where, role, block):
    if not isinstance(block, dict):
        return [_breach("object", where)]
    kind = block.get("type")
    if not isinstance(kind, str):
        return [_breach("field", where, field="type", problem=_no_string(block, "type"))]
    found = []
    for field, (types, problem) in _FIELDS.get(kind, {}).items():
        if field not in block and field != "content":  # a result may have none
            found.append(_breach("field", where, field=f"{kind}.{field}", problem="Field required"))
        elif field in block and not isinstance(block[field], types):
            found.append(_breach("field", where, field=f"{kind}.{field}", problem=problem))
        elif field in ("id", "tool_use_id") and not is_id(block[field]):
            found.append(_breach("id-pattern", where, block[field], field=f"{kind}.{field}"))
        elif field == "name" and not 0 < len(block[field]) <= _LONGEST_NAME:
            bound = f"most {_LONGEST_NAME} characters" if block[field] else "least 1 character"
            found.append(_breach("name-length", where, _id(block), bound=bound))
    if kind == "tool_result" and block.get("is_error") is True and block.get("content", "") in ("", []):
        found.append(_breach("error-empty", where, _id(block)))
    if kind == "tool_result" and isinstance(block.get("content"), list):
        found += _check_inside(where, block)
    if (kind, role) in (("tool_use", "user"), ("tool_result", "assistant")):
        found.append(_breach(f"{kind}-role", where, _id(block)))
    return found or (_check_text(where, block["text"]) if kind == "text" else [])


def _check_inside(where, result):
    """The blocks that a result holds."""
    found, call_id, kinds = [], _id(result), set()
    for number, block in enumerate(result["content"]):
        inside, kind = f"tool_result.content.{number}", block.get("type") if isinstance(block, dict) else None
        if not isinstance(block, dict):
            found.append(_breach("field", where, call_id, field=inside, problem="Input should be an object"))
        elif not isinstance(kind, str):
            found.append(_breach("field", where, call_id, field=f"{inside}.type", problem=_no_string(block, "type")))
        elif kind not in IN_RESULTS:
            found.append(_breach("result-block", where, call_id, number=number, kind=kind, expected=", ".join(map(repr, IN_RESULTS))))
        elif kind == "text" and not isinstance(block.get("text"), str):
            found.append(_breach("field", where, call_id, field=f"{inside}.text.text", problem=_no_string(block, "text")))
        else:
            kinds.add(kind)
    if result.get("is_error") is True and kinds - {"text"}:
        found.append(_breach("error-text", where, call_id))
    return found


def _no_string(block, field):
    return _STRING if field in block else "Field required"


def _check_text(where, text):
    return [] if text.strip() else [_breach("blank-text" if text else "empty-text", where)]


def _check_pairing(messages, start, used):
    """Each call has an id of its own and one result, at the head of the very next message."""
    found, known, answered, open_calls = [], set(used), set(), {}
    for number, message in enumerate([*messages[start:], None], start):  # the end closes a turn as any message does
        position = f"messages.{number}.content."
        found += _check_answers(number, message, open_calls)
        if role_of(message) == "assistant":
            answered.clear()
        for i, call_id in ids_in(message, "user", "tool_result"):
            if call_id in answered:
                found.append(_breach("single-result", f"{position}{i}", call_id))
            elif call_id not in open_calls:
                found.append(_breach("orphan-result", f"{position}{i}", call_id))
            answered.add(call_id)
        open_calls = {}
        for i, call_id in ids_in(message, "assistant", "tool_use"):
            if call_id in known:
                found.append(_breach("unique-id", f"{position}{i}", call_id))
            known.add(call_id)
            open_calls.setdefault(call_id, f"{position}{i}")
    return found


def _check_answers(number, message, open_calls):
    """The calls of the message before that ``message`` does not answer before its first block of another kind."""
    results = ids_in(message, "user", "tool_result")
    head = next((i for i, block in typed_blocks(message) if block["type"] != "tool_result"), None)
    in_time = {call_id for i, call_id in results if head is None or i < head}
    late = {call_id: f"messages.{number}.content.{i}" for i, call_id in results}
    missing = [call_id for call_id in open_calls if call_id not in in_time]
    # One sentence names them all and is shared: a copy for each of very many calls would fill the memory.
    text = printable(_UNANSWERED.format(message=f"messages.{number - 1}", ids=", ".join(missing)))
    return [{"where": late.get(call_id, open_calls[call_id]), "id": call_id,
             "rule": "results-first" if call_id in late else "unanswered", "text": text} for call_id in missing]


def ids_in(message, role, kind):
    """(index, id) of each block of a kind that has an id, in a message of a role."""
    blocks = typed_blocks(message) if role_of(message) == role else []
    return [(i, _id(block)) for i, block in blocks if block["type"] == kind and _id(block) is not None]


def typed_blocks(message):
    """(index, block) of each block that has a type; [] for what is no message with blocks."""
    content = message.get("content") if isinstance(message, dict) else None
    return [(i, block) for i, block in enumerate(content if isinstance(content, list) else [])
            if isinstance(block, dict) and isinstance(block.get("type"), str)]


def _id(block):
    call_id = block.get("id" if block["type"] == "tool_use" else "tool_use_id")
    return call_id if isinstance(call_id, str) else None


def is_id(text):
    """Whether a call may have this id."""
    return _ID.fullmatch(text) is not None


def role_of(message):
    return message.get("role") if isinstance(message, dict) else None


def _breach(rule, where, call_id=None, **words):
    text = RULES[rule].format(where=where, id=call_id, message=".".join(where.split(".")[:2]), **words)
    return {"where": where, "id": call_id, "rule": rule, "text": printable(text)}


def _path(place):
    names = []
    while place:
        place, name = place
        names.append(printable(str(name)))
    return ".".join(reversed(names))


def _is_broken(part):
    return isinstance(part, str) and printable(part) != part


def printable(text):
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
