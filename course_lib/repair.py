"""A conversation the API refuses, made one that it takes, with nothing lost and nothing made up. (beyond lesson 3)

What is missing is said to be missing: a call without a result gets an error that says so, never
a success. What stands in a wrong place is moved, or told as text that the model can still read.

Left out, since only a person can decide it: malformed blocks, unknown roles, names that no tool
can have, half a surrogate pair in what the model said. They stay as they are, and check_transcript and lone_surrogates
still name them.
"""
import re

from .transcript import IN_RESULTS, ids_in, is_id, lone_surrogates, printable, role_of, typed_blocks
from .values import as_content
from .words import mark, tr

EMPTY = "(empty)"
ERROR = "[Output of a tool that failed. It holds more than text, which the API takes in no result that is marked as an error, so this line is the mark.]"
BEGINS = "(The record begins here; what was said before is not in it.)"
LONE = "lone-surrogate"  # a rule beside those of check_transcript
_UNKNOWN = ("No result on record; state unknown: nothing in this conversation says whether this {name} ran or what came of it.{claimed} "
            "Find out before you rely on it or repeat it.")
_CLAIMED = " A text elsewhere in it holds a result under this id that could not be counted for it."
_SPARE = {  # why a result answers no call -> the rule it breaks, what its text says, what the change says
    "orphan": ("orphan-result", "names {id}, a call that this record does not hold before it",
               mark("No call {id} stands before this result, so it became a text that names it.")),
    "again": ("single-result", "is a further result of {name} ({id}), which had one already",
              mark("{name} ({id}) had a result already; the first one stays, and this one became a text.")),
    "unclear": ("single-result", "names {id}, which several calls of one turn shared, so whose it is can't be told",
                mark("Several calls of one turn share {id}, and not each has one result, so this one became a text.")),
}
_RENAMED = {  # why a call has a new id -> what the change says
    "unique-id": mark("An earlier call has the id {id}; this {name} has {new} now, and so has its result."),
    "id-pattern": mark("The id {id} has characters that the API does not take; this {name} has {new} now, and so has its result."),
}


def repair_transcript(messages):
    """Mend what can be mended honestly. Gives ``(messages, changes)``; the input stays as it is.

    changes: dicts with ``where`` (the position in the input), ``id`` (a tool_use id, or None), ``rule``
    (a rule of check_transcript, or LONE) and ``what``, a sentence. A sound conversation comes back
    equal, with no changes; what was not touched is shared with the input.
    """
    if not isinstance(messages, list) or not messages:
        return messages, []
    changes, told, last = [], set(), len(messages) - 1
    mended = [_mend_message(number, message, number == last, changes, told) for number, message in enumerate(messages)]
    mended = _Pairs(mended, changes, told).in_order()
    if role_of(messages[0]) == "assistant":
        mended.insert(0, {"role": "user", "content": BEGINS})
        _note(changes, "messages.0", None, "first-user", tr("The assistant spoke first; a message that says the record begins here went in front."))
    return mended, sorted(changes, key=_position)


# A message by itself: empty texts, blocks in the wrong role, half characters

def _mend_message(number, message, is_last, changes, told):
    """The message, with as many blocks as before. told: gets the ids of results that became texts."""
    if not isinstance(message, dict):
        return message
    where, role, content = f"messages.{number}", role_of(message), message.get("content")
    if content in ("", []) and not (is_last and role == "assistant"):
        new = EMPTY
        _note(changes, where, None, "content", tr("The message was empty; it says {empty} now.", empty=EMPTY))
    elif content and isinstance(content, str):
        new = _mend_text(content, where, f"{where}.content", role, changes)
    elif isinstance(content, list):
        blocks = [_mend_block(block, f"{where}.content.{i}", role, changes, told) for i, block in enumerate(content)]
        new = content if all(map(_is, blocks, content)) else blocks
    else:
        new = content
    return message if new is content else {**message, "content": new}


def _mend_block(block, where, role, changes, told):
    kind = block.get("type") if isinstance(block, dict) else None
    if (kind, role) in (("tool_use", "user"), ("tool_result", "assistant")):
        return _as_text(block, where, role, changes, told)
    if kind == "text" and isinstance(block.get("text"), str):
        field, new = "text", _mend_text(block["text"], where, f"{where}.text", role, changes)
    elif kind == "tool_result" and block.get("is_error") is True and block.get("content", "") in ("", []):
        _note(changes, where, block.get("tool_use_id"), "error-empty", tr("The error was empty; it says {empty} now.", empty=EMPTY))
        return {**block, "content": EMPTY}
    elif kind == "tool_result" and "content" in block:
        block = _mend_inside(block, where, changes)
        field, new = "content", _mend_characters(block["content"], f"{where}.content", block.get("tool_use_id"), changes)
    else:
        return block
    return block if new is block[field] else {**block, field: new}


def _mend_inside(result, where, changes):
    """The result with blocks in it that a result may hold, and with text alone where it is an error."""
    content, call_id = result["content"], result.get("tool_use_id")
    if not isinstance(content, list):
        return result
    new = [_mend_inner(block, f"{where}.content.{i}", call_id, changes) for i, block in enumerate(content)]
    mended = result if all(map(_is, new, content)) else {**result, "content": new}
    if result.get("is_error") is True and any(block["type"] in IN_RESULTS and block["type"] != "text" for _, block in typed_blocks(mended)):
        _note(changes, where, call_id, "error-text", tr("An error may hold nothing but text, so a line that says it is one took the place of the mark."))
        mended = {key: value for key, value in mended.items() if key != "is_error"} | {"content": [_text(ERROR), *new]}
    return mended


def _mend_inner(block, where, call_id, changes):
    kind = block.get("type") if isinstance(block, dict) else None
    text = _text_of(block) if isinstance(kind, str) and kind not in IN_RESULTS else None
    if text is None:
        return block
    _note(changes, where, call_id, "result-block", tr("A result can't hold a block of type {kind}, so it became a text that holds it.", kind=kind))
    return _text(f"[A {kind} block stood here, in a result, where the API takes none: {text}]")


def _mend_text(text, where, inside, role, changes):
    if not text.strip():
        rule, what = ("blank-text", tr("The text was blank; it says {empty} now.", empty=EMPTY)) if text else \
            ("empty-text", tr("The text was empty; it says {empty} now.", empty=EMPTY))
        _note(changes, where, None, rule, what)
        return EMPTY
    return text if role == "assistant" else _mend_characters(text, inside, None, changes)


def _mend_characters(value, where, call_id, changes):
    broken = [] if isinstance(value, str) and value.isascii() else lone_surrogates(value, where)  # most are, and that is soon seen
    if not broken:
        return value
    whole = _whole(value)
    if lone_surrogates(whole):  # in a key, or nested too deep: it stays
        return value
    _note(changes, broken[0], call_id, LONE, tr("Half a character, which no request can carry, became the sign {sign}.", sign="\ufffd"))
    return whole


def _whole(value):
    """The value with the sign U+FFFD for each lone surrogate in its texts; itself where it is nested too deep."""
    try:
        if isinstance(value, dict):
            return {key: _whole(item) for key, item in value.items()}
        if isinstance(value, list):
            return [_whole(item) for item in value]
    except RecursionError:
        pass
    return re.sub("[\ud800-\udfff]", "\ufffd", value) if isinstance(value, str) else value


def _as_text(block, where, role, changes, told):
    kind, text = block["type"], _text_of(block)
    if text is None:
        return block
    call_id = block.get("id" if kind == "tool_use" else "tool_use_id")
    if kind == "tool_result" and isinstance(call_id, str):
        told.add(call_id)
    _note(changes, where, call_id, f"{kind}-role", tr("A {kind} can't stand in a message of the {role}, so it became a text that holds it.", kind=kind, role=role))
    return {"type": "text", "text": f"[A {kind} block stood here, in a message of the {role}, where the API takes none: {text}]"}


# Calls and results: each call with an id of its own, and its result right behind it

class _Pairs:
    """Which result answers which call. A place is (message, block), as in the input."""

    def __init__(self, messages, changes, told):
        self.messages, self.changes, self.told = messages, changes, told
        self.calls = [[(n, i) for i, _ in ids_in(message, "assistant", "tool_use")] for n, message in enumerate(messages)]
        self.answer, self.spare = {}, {}  # call -> its result; a result that answers none -> (a key of _SPARE, its call)
        for calls, results in self._groups():
            clear = len(calls) in (1, len(results))
            self.answer.update(zip(calls, results if clear else []))
            left = results[len(calls):] if clear else results
            self.spare.update((result, ("again", calls[0]) if clear else ("unclear", None)) for result in left)
        self.call_of = {result: call for call, result in self.answer.items()}
        told.update(self._block(place)["tool_use_id"] for place in self.spare)
        self.new_id = self._new_ids()

    def _groups(self):
        """The calls of one turn that share an id (mostly one), and the results for it up to the next turn that has it."""
        latest, groups = {}, []
        for n, message in enumerate(self.messages):
            turn = {}
            for place in self.calls[n]:
                turn.setdefault(self._block(place)["id"], ([], []))[0].append(place)
            latest.update(turn)
            groups += turn.values()
            for i, call_id in ids_in(message, "user", "tool_result"):
                if call_id in latest:
                    latest[call_id][1].append((n, i))
                else:
                    self.spare[n, i] = ("orphan", None)
        return groups

    def _new_ids(self):
        """A new id for each call whose id an earlier call has, or that has one the API does not take."""
        ids = {place: self._block(place)["id"] for places in self.calls for place in places}
        taken, kept, last, new_ids = self.told.union(ids.values()), set(), {}, {}
        for place, call_id in ids.items():
            if is_id(call_id) and call_id not in kept:
                kept.add(call_id)
                continue
            stem = new = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id) or "call"
            while new in taken:
                last[stem] = last.get(stem, 1) + 1
                new = f"{stem}_{last[stem]}"
            taken.add(new)
            new_ids[place] = new
        return new_ids

    def in_order(self):
        ordered, waiting = [], []
        for n, message in enumerate(self.messages):
            content = message["content"] if role_of(message) == "user" and isinstance(message.get("content"), (str, list)) else None
            if content is not None:
                message = self._answering(n, message, content, waiting)
            elif waiting:
                ordered.append(self._message_of_results(waiting))
            ordered.append(self._renamed(message, self.calls[n]))
            waiting = self.calls[n]
        return [*ordered, self._message_of_results(waiting)] if waiting else ordered

    def _message_of_results(self, calls):
        return {"role": "user", "content": [self._result(call) for call in calls]}

    def _answering(self, n, message, content, waiting):
        """A user message with the results of the waiting calls at its head, and no others."""
        head = next((i for i, block in typed_blocks(message) if block["type"] != "tool_result"), len(content))
        here = [(n, i) for i, _ in ids_in(message, "user", "tool_result")]
        wanted = {self.answer.get(call) for call in waiting}
        in_time = {(n, i) for n, i in here if i < head}
        if wanted <= in_time and wanted.issuperset(here) and not any(call in self.new_id for call in waiting):
            return message
        late = wanted.difference(in_time).intersection(here)
        blocks = [self._result(call, late) for call in waiting]
        for i, block in enumerate(content if isinstance(content, list) else [{"type": "text", "text": content}]):
            if (n, i) in self.spare:
                blocks += self._told((n, i))
            elif (n, i) not in self.call_of:
                blocks.append(block)
            elif (n, i) not in wanted:
                blocks.append(self._moved_away((n, i)))
        return {**message, "content": blocks}

    def _result(self, call, late=()):
        """The result block of a call. late: places in the message it goes to that are not at its head."""
        block, place = self._block(call), self.answer.get(call)
        name, call_id = _name(block), self.new_id.get(call, block["id"])
        if place is None:
            self._note(call, "unanswered", tr("{name} ({id}) had no result on record; an error that says so, state unknown, is its result now.", name=name, id=block["id"]))
            content = _UNKNOWN.format(name=name, claimed=_CLAIMED if block["id"] in self.told else "")
            return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": True}
        if place in late:
            self._note(place, "results-first", tr("The result of {name} ({id}) stood behind other blocks; results come first.", name=name, id=block["id"]))
        result = self._block(place)
        return result if call_id == block["id"] else {**result, "tool_use_id": call_id}

    def _moved_away(self, place):
        call = self._block(self.call_of[place])
        now = self.new_id.get(self.call_of[place], call["id"])
        self._note(place, "orphan-result", tr("The result of {name} ({id}) was moved up, right behind its call.", name=_name(call), id=call["id"]))
        return _text(f"[The result of {_name(call)} ({now}) stood here; it was moved up, right behind its call.]")

    def _told(self, place):
        """A result that answers no call, as blocks of its message: a text that says what it is, then what it holds."""
        block, (why, call) = self._block(place), self.spare[place]
        content, (rule, says, change) = block.get("content"), _SPARE[why]
        alone = _stands_alone(content)
        body = None if alone else EMPTY if content in (None, "", []) else _text_of(content)
        if body is None and not alone:
            return [block]
        now = {"id": self.new_id.get(call, block["tool_use_id"]), "name": call and _name(self._block(call))}
        self._note(place, rule, tr(change, **{**now, "id": block["tool_use_id"]}))
        head = f"[Output of a tool, not words of the user{'; an error' if block.get('is_error') else ''}; it {says.format(**now)}.]"
        return [_text(head), *content] if alone else [_text(f"{head}\n{body if body.strip() else EMPTY}")]

    def _renamed(self, message, calls):
        new = {place: self.new_id[place] for place in calls if place in self.new_id}
        if not new:
            return message
        blocks = list(message["content"])
        for place, call_id in new.items():
            block = blocks[place[1]]
            rule = "unique-id" if is_id(block["id"]) else "id-pattern"
            self._note(place, rule, tr(_RENAMED[rule], id=block["id"], name=_name(block), new=call_id))
            blocks[place[1]] = {**block, "id": call_id}
        return {**message, "content": blocks}

    def _block(self, place):
        return self.messages[place[0]]["content"][place[1]]

    def _note(self, place, rule, what):
        block = self._block(place)
        call_id = block["id" if block["type"] == "tool_use" else "tool_use_id"]
        _note(self.changes, "messages.{}.content.{}".format(*place), call_id, rule, what)


def _note(changes, where, call_id, rule, what):
    changes.append({"where": where, "id": call_id if isinstance(call_id, str) else None, "rule": rule, "what": printable(what)})


def _position(change):
    return [int(part) for part in change["where"].split(".")[1:4:2]]


def _is(new, old):
    return new is old


def _name(call):
    return call["name"] if isinstance(call.get("name"), str) else "tool"


def _text(text):
    return {"type": "text", "text": printable(text)}


def _text_of(value):
    """The value as text; None for what JSON can't hold."""
    try:
        return printable(as_content(value))
    except (ValueError, TypeError, RecursionError):
        return None


def _stands_alone(content):
    """Whether a result's content is a list of blocks that a user message may hold as they are."""
    return isinstance(content, list) and bool(content) and all(
        isinstance(block, dict) and (block.get("type") in ("image", "document") or
                                     block.get("type") == "text" and isinstance(block.get("text"), str) and bool(block["text"].strip()))
        for block in content)
