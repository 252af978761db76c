"""Strict values: what is saved comes back equal, types included (DESIGN rule: strict values).

JSON quietly turns tuples into lists and 1 into "1" as a key, and Python writes NaN,
which is no JSON at all. So a value is looked through before it is written. A tool's
result is the exception: the effect has happened and must be recorded whatever the
result looks like, so what JSON can't hold is kept as marked text.

Left out: a way back from marked text to the original object.
"""
import json
import math
import re

from .errors import CourseError

MAX_DEPTH = 100  # far below where the standard library's JSON gives up, which differs between Pythons
MAX_BITS = 13_000  # just under 4,000 digits; Python refuses to read much longer integers
MARK = "not_json"
_KEY = re.compile(r"sk-ant-[\w-]{8,}", re.ASCII)  # what the API's keys look like
_LONE = re.compile("[\ud800-\udfff]")
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # a file would give one character back


_in_one_line = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class UnsavableValue(CourseError):
    """A value that would not come back equal; the text names the place and the type."""


def encode(value):
    """The bytes of a file: indented JSON in UTF-8, a lone surrogate as its \\u escape.

    Raises UnsavableValue with the place, such as ``messages.2.content.0.input.price``.
    """
    check(value)
    return json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "backslashreplace")


def decode(data):
    """The value in a file's bytes. Raises ValueError for what encode would not have written."""
    try:
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested far too deeply") from None
    where, problem = _first_problem(value)
    if problem:
        raise ValueError(f"{where}: {problem}")
    return value


def encode_line(value):
    """The same in one line without its end. Raises UnsavableValue."""
    check(value)
    return _in_one_line(value).encode("utf-8", "backslashreplace")


def check(value):
    """Raise UnsavableValue for the first part that JSON would lose or change."""
    where, problem = _first_problem(value)
    if problem:
        raise UnsavableValue(f"{where} can't be saved: {problem}; make it plain text, a number, a list or a dict first.")


def storable(value):
    """A tool's result as the ledger keeps it: itself, or with marked text where JSON has no form.

    What looks like an API key is kept as ``[key]``: no file and no model is to learn it.
    ``Decimal("12.34")`` becomes ``{"not_json": "Decimal", "text": "12.34"}``. What is nested too
    deep or in a circle becomes one text as a whole.
    """
    try:
        return _stored(value, 2)  # the ledger has it two levels down: {id: {"result": value}}
    except RecursionError:
        return _marked(value)


def as_content(value):
    """What the model reads in ``tool_result.content``: a string itself, anything else as JSON text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def same(a, b):
    """Equal as JSON values: 1 equals 1.0, true differs from 1, the order of keys is nothing."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def _no_constant(name):
    raise ValueError(f"{name} is not JSON")


def _is_sound(value):
    """The same question as _first_problem, level by level and without the places: it is asked at every save."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below = []
        for part in level:
            kind = type(part)
            if kind is dict:
                below += part.values()
            elif kind is list:
                below += part
            elif kind is str and part.isascii():
                continue
            if _problem(part, 0):
                return False
        if not below:
            return True
        level = below
    return False


def _first_problem(value):
    if _is_sound(value):
        return None, None
    todo = [("", value, 0)]
    while todo:
        where, part, depth = todo.pop()
        problem = _problem(part, depth)
        if problem:
            return where or "The value", problem
        if type(part) is dict:
            todo += [(f"{where}.{key}".lstrip("."), item, depth + 1) for key, item in part.items()]
        elif type(part) is list:
            todo += [(f"{where}.{i}".lstrip("."), item, depth + 1) for i, item in enumerate(part)]
    return None, None


def _problem(value, depth):
    kind = type(value)
    if depth > MAX_DEPTH:
        return f"it is nested deeper than {MAX_DEPTH} levels"
    if kind is str:
        return "it holds a split surrogate pair" if _SPLIT_PAIR.search(value) else None
    if kind is float:
        return None if math.isfinite(value) else f"{value} is not JSON"
    if kind is int:
        return None if value.bit_length() <= MAX_BITS else "the number has more than 3,900 digits"
    if kind is dict:
        odd = [key for key in value if type(key) is not str or not key.isascii() and _SPLIT_PAIR.search(key)]
        return f"its keys are not all plain text (one is {type(odd[0]).__name__})" if odd else None
    return None if kind in (list, bool, type(None)) else f"{kind.__name__} is not a JSON type"


def _stored(value, depth):
    kind = type(value)
    odd = _problem(value, depth) or _LONE.search("".join(value) if kind is dict else value if kind is str else "")
    if not odd and kind not in (dict, list):
        return _KEY.sub("[key]", value) if kind is str else value
    if depth >= MAX_DEPTH:
        raise RecursionError  # what a container or a mark holds would lie one level too deep
    if odd:
        return _marked(value)
    if kind is dict:
        return {_KEY.sub("[key]", key): _stored(item, depth + 1) for key, item in value.items()}
    return [_stored(item, depth + 1) for item in value]


def _marked(value):
    try:
        text = repr(value) if isinstance(value, bytes) else str(value)
    except Exception as error:  # a broken __str__ must not lose the record of the effect
        text = f"(no text: {type(error).__name__})"
    return {MARK: type(value).__name__, "text": _KEY.sub("[key]", text.encode("utf-8", "backslashreplace").decode("utf-8"))}
