"""The same turns for everybody: the model names a tool with 500 bytes of input, and 2,000 bytes come back.

Every number of turns gives the same bytes each time, on every machine.
"""
import random
import string

TASK = "Measure what it costs to be able to carry on."
INPUT_BYTES, RESULT_BYTES = 500, 2000
AT = "2026-01-05T09:00:00.000Z"
_letters = random.Random(6).choices(string.ascii_letters + string.digits + '    \n"', k=200_000)
_POOL = "".join(_letters)


def call(turn):
    """The model's message of a turn, from 1: one text, one tool_use."""
    use = {"type": "tool_use", "id": f"toolu_{turn:06d}", "name": "write_note",
           "input": {"body": _text(INPUT_BYTES, 2 * turn)}}
    return {"role": "assistant", "content": [{"type": "text", "text": f"Note {turn}."}, use]}


def answer(turn):
    """The message that carries the tool's result of a turn."""
    block = {"type": "tool_result", "tool_use_id": f"toolu_{turn:06d}", "content": result(turn)}
    return {"role": "user", "content": [block]}


def result(turn):
    """What the tool of a turn returns."""
    return _text(RESULT_BYTES, 2 * turn + 1)


def entry(turn):
    """The ledger's entry of a turn's call."""
    return {"name": "write_note", "result": result(turn), "at": AT, "input": call(turn)["content"][1]["input"]}


def conversation(turns):
    """The messages after that many turns; what every store has to give back."""
    messages = [{"role": "user", "content": TASK}]
    for turn in range(1, turns + 1):
        messages += [call(turn), answer(turn)]
    return messages


def _text(length, seed):
    start = seed * 7919 % (len(_POOL) - length)
    return _POOL[start:start + length]
