"""The other side of the wire, played from a script: what the Messages API would answer.

A script is a list of turns, ``{"content": [blocks], "stop_reason": "tool_use"}``. Which turn
comes next follows from the conversation alone, so a run can start from any checkpoint. Asked
for the same turn again it names fresh ids, as a model would: toolu_03, then toolu_03_2. And
it checks a request as the API does, so what passes here is not refused there.

Left out: streaming, tool definitions (they are not read), and every error but 400.
"""
import copy
import json
from pathlib import Path

from .errors import CourseError
from .transcript import check_transcript, ids_in, lone_surrogates, role_of

_CANNOT_CONFIRM = ('I can\'t confirm that {} did its work: its result is an error, "{}". '
                   "Please check what really happened, and tell me how to go on.")
_WAS_NOT_RUN = '{} was not run: "{}". Please tell me how to go on.'
_THINKING = ("thinking", "redacted_thinking")
_THINKING_CHANGED = ("messages.{}.content.{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be "
                     "modified. These blocks must remain as they were in the original response.")


class ScriptExhausted(CourseError):
    """The conversation goes on beyond the last turn of the script."""


class ScriptedAPI:
    """A Messages API that plays ``script``, a list of ``{"content": [...], "stop_reason": ...}``.

    log: a file of JSON Lines that counts how often each turn was asked for, across processes;
    None counts in memory.
    """

    def __init__(self, script, *, log=None):
        self.script = script
        self.log = _Log(log)
        self._sound = _Sound()

    def answer(self, request):
        """Answer the body of one POST to /v1/messages: ``(200, message)`` or ``(400, error)``.

        request: a dict with model, max_tokens, messages (and tools, tool_choice, not looked at).
        Raises ScriptExhausted.
        """
        past, problem = self.log.records(), self._problem(request)
        messages = request.get("messages")
        if problem:
            turn, status, body = None, 400, _error(problem, number=len(past) + 1)
        else:
            turn = self._sound.turns
            asked = [(record["status"], record["turn"]) for record in past].count((200, turn))
            status, body = 200, self._message(request, turn, suffix=f"_{asked + 1}" if asked else "")
        # The record comes before the answer: a client killed in between has asked all the same.
        self.log.append({"turn": turn, "status": status, "messages": len(messages) if isinstance(messages, list) else None})
        return status, body

    def _message(self, request, turn, suffix):
        planned = self._turn(request["messages"], turn)
        if planned is None:
            raise ScriptExhausted(f"The script has {len(self.script)} turns and was asked for turn {turn + 1}; "
                                  "the conversation should have ended with the last one.")
        content = copy.deepcopy(planned["content"])
        for block in content:
            if block["type"] == "tool_use":
                block["id"] += suffix
        return {
            "id": f"msg_{turn + 1:02}{suffix}", "type": "message", "role": "assistant", "model": request["model"],
            "content": content, "stop_reason": planned["stop_reason"], "stop_sequence": None,
            "usage": {"input_tokens": _tokens(self._sound.size), "output_tokens": _tokens(_size(content))},
        }

    def _turn(self, before, turn):
        """What is said after the messages ``before``, which hold ``turn`` assistant messages; None beyond the script."""
        failed = _failed_call(before)
        if failed:
            words = _WAS_NOT_RUN if failed[1].endswith("it was not run") else _CANNOT_CONFIRM
            return {"content": [{"type": "text", "text": words.format(*failed)}], "stop_reason": "end_turn"}
        return self.script[turn] if turn < len(self.script) else None

    def _problem(self, request):
        """Why the API would refuse the request, in its words, or None."""
        for key in ("model", "max_tokens", "messages"):
            if key not in request:
                return f"{key}: Field required"
        messages = request["messages"]
        if not self._sound.begins(messages):
            self._sound = _Sound()
        known = len(self._sound.messages)
        broken = lone_surrogates(dict(enumerate(messages[known:], known)) if known else messages)  # a dict, so that positions stay what they are
        if broken:
            return f"The request body is not valid JSON: no low surrogate in string: {broken[0]}"
        breaches = check_transcript(messages, start=self._sound.start, used=self._sound.ids)
        problem = breaches[0]["text"] if breaches else self._changed_thinking(messages)
        if not problem:
            self._sound.take(messages)
        return problem

    def _changed_thinking(self, messages):
        start, turn = self._sound.start, max(self._sound.turns - 1, 0)
        for number, message in enumerate(messages[start:], start):
            if message["role"] != "assistant":
                continue
            planned = self._turn(messages[max(number - 2, 0):number], turn)
            turn += 1
            if planned is not None:
                sent, got = _thinking(planned["content"]), _thinking(message["content"])
                for position in sorted(sent.keys() | got.keys()):
                    if sent.get(position) != got.get(position):
                        return _THINKING_CHANGED.format(number, position)
        return None


class _Sound:
    """The last conversation with nothing to refuse in it: of one that goes on with it, only what is new needs a look.

    Whether one does is asked of a copy: the list may be the same object, and have been changed all the same.
    start: the number of its last assistant message; turns: how many it has; ids: of the calls before
    that one; size: in bytes of JSON.
    """

    def __init__(self):
        self.messages, self.size, self.start, self.turns, self.ids = [], 1, 0, 0, set()

    def begins(self, messages):
        return isinstance(messages, list) and messages[:len(self.messages)] == self.messages

    def take(self, messages):
        """Go on to messages, which begin with these."""
        new = messages[len(self.messages):]
        self.size += sum(_size(message) + 1 for message in new)  # each but the last has a comma behind it, and there are two brackets
        for number, message in enumerate(new, len(self.messages)):
            if role_of(message) == "assistant":
                self.ids.update(id for _, id in ids_in(messages[self.start], "assistant", "tool_use"))
                self.start, self.turns = number, self.turns + 1
        self.messages += json.loads(json.dumps(new))


class _Log:
    """The requests so far: a list, or a file of JSON Lines that outlives the process."""

    def __init__(self, path):
        self.path = path and Path(path)
        self.kept, self.read = [], b""  # the records, and the lines of the file that they are

    def records(self):
        if self.path is None:
            return self.kept
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            data = b""
        if not data.startswith(self.read):
            self.kept, self.read = [], b""
        whole = data.rfind(b"\n") + 1
        self.kept += _read_records(data[len(self.read):whole])
        self.read = data[:whole]
        return self.kept + _read_records(data[whole:])

    def append(self, record):
        if self.path is None:
            self.kept.append(record)
            return
        with open(self.path, "ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                if file.read() != b"\n":  # a killed process left half a line: keep clear of it
                    file.write(b"\n")
            file.write(json.dumps(record).encode() + b"\n")


def _read_records(data):
    return [record for record in map(_read_record, data.splitlines()) if isinstance(record, dict) and {"turn", "status"} <= record.keys()]


def _read_record(line):
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # the torn line of a killed process
        return None


def _failed_call(messages):
    """(name, error text) if the first call of the last turn came back as an error, else None."""
    if len(messages) < 2 or messages[-2]["role"] != "assistant":
        return None
    call = next((block for block in _blocks(messages[-2]) if block["type"] == "tool_use"), None)
    for block in _blocks(messages[-1]):
        if call and block["type"] == "tool_result" and block["tool_use_id"] == call["id"] and block.get("is_error"):
            return call["name"], _text(block.get("content", "")).removesuffix(".")
    return None


def _blocks(message):
    return message["content"] if isinstance(message["content"], list) else []


def _text(content):
    if isinstance(content, str):
        return content
    return "\n".join(str(block["text"]) for block in content if isinstance(block, dict) and "text" in block)


def _thinking(content):
    """{position: block} of the blocks that must come back as they were sent."""
    return {i: block for i, block in enumerate(content) if isinstance(block, dict) and block["type"] in _THINKING}


def _size(value):
    """The bytes of a value as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _tokens(size):
    """A stand-in for a tokenizer: about four bytes of JSON a token."""
    return max(1, size // 4)


def _error(message, number):
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": f"req_{number:04}"}
