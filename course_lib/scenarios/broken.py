"""Conversations as agents have really sent them, each refused by the API: the smallest form of a bug report. (lesson 3)"""
from ..words import mark

ASK = {"role": "user", "content": "Read outage.txt and do what has to be done about it."}
NEXT = {"role": "user", "content": "Go on."}


def _says(text):
    return {"type": "text", "text": text}


def _calls(*ids):
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read_file", "input": {"path": "outage.txt"}} for id in ids]}


def _result(id):
    return {"type": "tool_result", "tool_use_id": id, "content": "checkout has been down since 08:40"}


def _answers(*blocks):
    return {"role": "user", "content": list(blocks)}


SOUND = [ASK, _calls("toolu_01"), _answers(_result("toolu_01"))]
BROKEN = {
    mark("killed, then sent as it was"): [ASK, _calls("toolu_01")],
    mark("a person spoke in between"): [ASK, _calls("toolu_01"), NEXT, {"role": "assistant", "content": "Yes."}, _answers(_result("toolu_01"))],
    mark("text before the result"): [ASK, _calls("toolu_01"), _answers(_says("Here it is."), _result("toolu_01"))],
    mark("resumed twice"): [ASK, _calls("toolu_01"), _answers(_result("toolu_01"), _result("toolu_01"))],
    mark("old messages cut away"): [_answers(_result("toolu_01"))],
    mark("one of two results lost"): [ASK, _calls("toolu_01", "toolu_02"), _answers(_result("toolu_02"))],
    mark("an id used again"): [*SOUND, _calls("toolu_01"), _answers(_result("toolu_01"))],
}
