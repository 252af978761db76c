"""values.py: what is saved comes back equal, types included; what can't is refused, or marked in a tool's result.

Cases C46, C48, C49 and C54 are reports of agents that lost a value on its way through a file.
"""
import enum
import math
from collections import OrderedDict, namedtuple
from datetime import date, datetime
from decimal import Decimal
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.values import UnsavableValue, as_content, check, decode, encode, same, storable

Point = namedtuple("Point", "x y")
Colour = enum.Enum("Colour", {"RED": 1})
Level = enum.IntEnum("Level", {"HIGH": 3})
Word = enum.StrEnum("Word", {"YES": "yes"})
Name = type("Name", (str,), {})
Ratio = type("Ratio", (float,), {})


class Broken:
    def __str__(self):
        return 1 / 0


# What JSON would lose or change, with the text that a reader of the ledger finds in its place.
ODD = [
    (Decimal("12.34"), "Decimal", "12.34"),
    (datetime(2026, 1, 5, 9, 30), "datetime", "2026-01-05 09:30:00"),
    (date(2026, 1, 5), "date", "2026-01-05"),
    (b"\xff", "bytes", r"b'\xff'"),
    ((1, 2), "tuple", "(1, 2)"),
    (Point(1, 2), "Point", "Point(x=1, y=2)"),
    ({7}, "set", "{7}"),
    (math.nan, "float", "nan"),
    (-math.inf, "float", "-inf"),
    ({1: 2}, "dict", "{1: 2}"),
    ({None: 2}, "dict", "{None: 2}"),
    (OrderedDict(a=1), "OrderedDict", str(OrderedDict(a=1))),
    (Colour.RED, "Colour", "Colour.RED"),
    (Level.HIGH, "Level", "3"),
    (Word.YES, "Word", "yes"),
    (Name("Ana"), "Name", "Ana"),
    (Ratio(0.5), "Ratio", "0.5"),
    (1 + 2j, "complex", "(1+2j)"),
    (PurePosixPath("a/b"), "PurePosixPath", "a/b"),
    (ValueError("no such file"), "ValueError", "no such file"),
    (Broken(), "Broken", "(no text: ZeroDivisionError)"),
    ("\ud83d\ude00", "str", r"\ud83d\ude00"),  # two halves that a file would give back as one character
    ({"\ud83d\ude00": 1}, "dict", r"{'\ud83d\ude00': 1}"),
    (10 ** 5000, "int", "(no text: ValueError)"),  # Python itself refuses to write it out
    ({10 ** 5000: 1}, "dict", "(no text: ValueError)"),
]
NAMES = [f"{kind} {text}"[:24] for _, kind, text in ODD]

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=8).map(lambda s: s.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
SCALARS = st.none() | st.booleans() | st.integers() | st.integers(-10 ** 3000, 10 ** 3000) | st.floats(allow_nan=False, allow_infinity=False) | ANY_TEXT
JSON = st.recursive(SCALARS, lambda items: st.lists(items) | st.dictionaries(ANY_TEXT, items), max_leaves=25)
ANYTHING = st.recursive(
    SCALARS | st.floats() | st.binary() | st.decimals() | st.datetimes() | st.sampled_from([odd for odd, _, _ in ODD[:-2]]),
    lambda items: st.lists(items) | st.dictionaries(ANY_TEXT | st.integers() | st.none(), items) | st.tuples(items, items), max_leaves=25)


def typed(value):
    """A text that tells 1 from 1.0 and True, 0.0 from -0.0, and one order of keys from another."""
    return repr(value)


def in_a_ledger(result):
    """The result after its way through the bytes of a ledger."""
    return decode(encode({"toolu_01": {"name": "read", "result": result}}))["toolu_01"]["result"]


def nested(levels, core):
    for _ in range(levels):
        core = [core]
    return core


# Equal after saving

@given(JSON)
def test_any_json_value_comes_back_equal_and_of_the_same_type(value):
    assert typed(decode(encode(value))) == typed(value)


@pytest.mark.parametrize("value, text", [
    ({"task": "naïve 😀\u2028", "n": [1, 1.0, True, None, -0.0]},
     '{\n  "task": "naïve 😀\u2028",\n  "n": [\n    1,\n    1.0,\n    true,\n    null,\n    -0.0\n  ]\n}'),
    ({}, "{}"),
    ("half \ud83d and \\\ude00", r'"half \ud83d and \\\ude00"'),
    ("\0\x1f\"", r'"\u0000\u001f\""'),
])
def test_a_file_is_indented_utf8_that_people_can_read(value, text):
    assert encode(value) == text.encode()
    assert decode(text.encode()) == value


def test_ten_megabytes_of_text_come_back():
    text = "résumé 😀 " * 1_000_000
    assert decode(encode([text])) == [text]


# Refused where nothing has happened yet

@pytest.mark.parametrize("odd, kind, text", ODD, ids=NAMES)
def test_what_would_not_come_back_equal_is_refused_with_its_place(odd, kind, text):
    with pytest.raises(UnsavableValue) as refusal:
        encode({"messages": [{"role": "user"}, {"input": {"price": odd}}]})
    sentence = str(refusal.value)
    assert sentence.startswith("messages.1.input.price can't be saved: "), sentence
    assert sentence.endswith("first.") and "\n" not in sentence, sentence


def test_the_refusal_names_the_type_and_the_key():
    for odd, word in [(Decimal(1), "Decimal"), ((1,), "tuple"), (math.nan, "nan"), ({1: 2}, "keys .* int"), (nested(200, 0), "100 levels")]:
        with pytest.raises(UnsavableValue, match=word):
            check(odd)


@pytest.mark.parametrize("data, reason", [
    (b"", "Expecting value"),
    (b"{} {}", "Extra data"),
    (b"NaN", "NaN is not JSON"),
    (b'{"a": -Infinity}', "-Infinity is not JSON"),
    (b'{"a": [1e999]}', r"a\.0: inf"),
    (b"9" * 5000, "digits"),
    (b'"\xff"', "utf-8"),
    ("{}".encode("utf-16"), "utf-8"),
    (b"[" * 101 + b"0" + b"]" * 101, "deeper than 100 levels"),
    (b"[" * 200_000 + b"]" * 200_000, "nested far too deeply"),
])
def test_bytes_that_are_no_strict_json_are_refused_with_the_reason(data, reason):
    with pytest.raises(ValueError, match=reason):
        decode(data)


def test_a_byte_order_mark_which_some_editors_add_is_read_over():
    assert decode(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


def test_a_hundred_levels_are_kept():
    deep = nested(100, 0)
    assert typed(decode(encode(deep))) == typed(deep)


# A tool's result: the effect has happened, so it is recorded in any case

@pytest.mark.parametrize("odd, kind, text", ODD, ids=NAMES)
def test_a_result_that_json_cant_hold_is_kept_as_marked_text(odd, kind, text):
    assert storable({"paid": [odd]}) == {"paid": [{"not_json": kind, "text": text}]}


def test_half_a_surrogate_pair_in_a_result_is_marked_too_since_no_request_can_carry_it():
    assert storable("a\ud83d") == {"not_json": "str", "text": r"a\ud83d"}
    assert storable({"k\ud83d": 1})["not_json"] == "dict"


def test_a_result_in_a_circle_is_marked_as_a_whole():
    circle = []
    circle.append(circle)
    assert storable(circle) == {"not_json": "list", "text": "[[...]]"}
    tree = {"name": "root", "children": []}
    tree["children"] += [{"parent": tree}, {"parent": tree}]  # two ways round at every step: no time to walk them all
    assert storable(tree)["not_json"] == "dict"


@pytest.mark.parametrize("levels", [*range(90, 110), 100_000])
@pytest.mark.parametrize("core", [0, [], Decimal(1)], ids=["number", "list", "Decimal"])
def test_a_result_nested_to_any_depth_fits_into_the_ledger(levels, core):
    kept = storable(nested(levels, core))
    assert typed(in_a_ledger(kept)) == typed(kept)
    assert typed(storable(kept)) == typed(kept)


@given(ANYTHING)
def test_every_result_can_be_recorded_and_comes_back_as_it_was_kept(result):
    kept = storable(result)
    assert typed(in_a_ledger(kept)) == typed(kept)
    assert typed(storable(kept)) == typed(kept), "marking what is marked already changed it"
    as_content(kept).encode("utf-8")  # and a request can carry it


@given(JSON)
def test_a_result_that_json_can_hold_is_kept_as_it_is(value):
    plain = decode(encode(value).replace(b"\\ud", b"\\u00"))  # the same without half pairs
    assert typed(storable(plain)) == typed(plain)


# What the model reads

@pytest.mark.parametrize("value, content", [
    ("Sales rose.", "Sales rose."), ("", ""), ("null", "null"),
    ({"id": "T-1", "título": 2}, '{"id": "T-1", "título": 2}'), (None, "null"), (True, "true"), (12.5, "12.5"),
    (storable(Decimal("12.34")), '{"not_json": "Decimal", "text": "12.34"}'),
])
def test_a_text_is_content_itself_and_anything_else_its_json_text(value, content):
    assert as_content(value) == content


@given(ANYTHING)
def test_the_model_reads_the_same_from_the_first_run_and_from_the_ledger(result):
    kept = storable(result)
    assert as_content(in_a_ledger(kept)) == as_content(kept)


# Equal as JSON (C54)

@pytest.mark.parametrize("a, b, equal", [
    (1, 1.0, True), (True, 1, False), (0, False, False), (None, 0, False), (None, False, False), ("1", 1, False), (0.0, -0.0, True),
    ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}, True), ({"a": 1}, {"a": True}, False), ({"a": 1}, {"a": 1, "b": None}, False),
    ([1, 2], [2, 1], False), ([1], [1, 2], False), ([[1, {"x": [True]}]], [[1, {"x": [1]}]], False), ([], {}, False), ("é", "e\u0301", False),
    (2 ** 53 + 1, 2.0 ** 53, False),
])
def test_inputs_compare_as_json_values(a, b, equal):
    assert same(a, b) is equal
    assert same(b, a) is equal


@given(JSON, st.randoms())
def test_the_order_of_keys_is_nothing(value, random):
    def shuffled(part):
        if isinstance(part, dict):
            return {key: shuffled(part[key]) for key in random.sample(list(part), len(part))}
        return [shuffled(item) for item in part] if isinstance(part, list) else part
    assert same(value, shuffled(value))
