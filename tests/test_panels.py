"""Pictures of a moment: what changed is marked by sign and word, hostile text stays text, big files are soon drawn."""
import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markup import PAYLOADS, Parsed, is_only_ours

from course_lib.widgets import panels
from course_lib.widgets.panels import columns, esc, file_panel, files_panel, log_panel, plain_file, world_panel

hostile = st.one_of(st.sampled_from(PAYLOADS), st.text(st.characters(categories=["L", "P", "S", "Z", "C"]), max_size=60))


def marked(markup):
    """The lines that carry the sign, without it."""
    return [line.removeprefix(panels.MARK) for line in Parsed(markup).text.split("\n") if line.startswith(panels.MARK)]


def folds(markup):
    return Parsed(markup).tags.count("details")


# --- hostile text -----------------------------------------------------------------------

@given(hostile, hostile, st.binary(max_size=80), st.none() | st.binary(max_size=80))
@example("checkpoint.json.0123456789ab.tmp", "x", b"<b>", b"")
def test_names_contents_and_terminal_lines_are_text_whatever_they_hold(name, line, data, before):
    text = line.encode("utf-8", "surrogatepass")
    journal = (json.dumps({"tool": line, "input": {"text": line}}) + "\n").encode()
    for markup in (file_panel(name, data, before), file_panel(name, text, data), file_panel(name, None, data), plain_file(name, text),
                   files_panel([name], {name: text}, {}, watch=line), log_panel([line, name]), columns(esc(name), esc(line)),
                   world_panel({name: text}, {name: data}, journal)):
        is_only_ours(markup)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_in_a_file_can_be_read_as_the_text_it_is(payload):
    visible = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in payload)
    parsed = is_only_ours(file_panel("notes.txt", payload.encode("utf-8", "backslashreplace"), None))
    assert visible in parsed.text


@pytest.mark.parametrize("hidden, shown", [("\u202e", r"\u202e"), ("\x00", r"\x00"), ("\x1b[31m", r"\x1b[31m"), ("\u200b", r"\u200b"), ("\ud800", r"\ud800")])
def test_a_character_without_a_shape_of_its_own_is_spelled_out(hidden, shown):
    assert esc(f"a{hidden}b") == f"a{shown}b"


def test_line_breaks_stay_line_breaks():
    assert esc("one\ntwo") == "one\ntwo"


def test_bytes_that_are_no_utf8_are_shown_all_the_same():
    assert "ok" in is_only_ours(file_panel("f", b"\xff\xfe ok \x80", None)).text


# --- what changed -----------------------------------------------------------------------

def test_new_lines_carry_a_sign_and_their_number_is_said_in_words():
    markup = file_panel("f", b"a\nb\nc", b"a\nc")
    assert marked(markup) == ["b"]
    assert "5 bytes, 1 line new (marked ▶)" in Parsed(markup).text


def test_a_changed_line_is_new_and_the_lines_around_it_are_not():
    assert marked(file_panel("f", b"a\nB\nc", b"a\nb\nc")) == ["B"]


def test_a_file_that_was_not_there_is_new_as_a_whole():
    markup = file_panel("f", b"a\nb", None)
    assert "3 bytes, new" in Parsed(markup).text and marked(markup) == ["a", "b"]


def test_an_unchanged_file_says_so_and_marks_nothing():
    markup = file_panel("f", b"a\nb", b"a\nb")
    assert "3 bytes, unchanged" in Parsed(markup).text and marked(markup) == []


def test_lines_that_are_gone_are_told():
    markup = file_panel("f", b"a\nc", b"a\nb\nc")
    assert "3 bytes, lines taken away" in Parsed(markup).text and marked(markup) == []


def test_an_emptied_file_has_no_lines_to_mark():
    markup = file_panel("f", b"", b"a")
    assert "0 bytes, lines taken away" in Parsed(markup).text and "pre" not in Parsed(markup).tags


@pytest.mark.parametrize("before, words", [(None, "not there"), (b"x", "removed a moment ago")])
def test_a_file_that_is_not_there_is_told_from_one_just_removed(before, words):
    assert Parsed(file_panel("f", None, before)).text == f"f: {words}"


def test_a_temp_file_is_shown_without_its_random_name():
    assert Parsed(file_panel("effects.json.0123456789ab.tmp", b"", None)).text.startswith("effects.json.….tmp: ")


def test_a_change_far_apart_from_another_is_found_in_a_long_file_too():
    before = [f"line {i}" for i in range(2000)]
    after = [*before[:3], "first", *before[4:1990], "second", *before[1990:]]
    assert marked(file_panel("f", "\n".join(after).encode(), "\n".join(before).encode())) == ["first", "second"]


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_the_lines_not_marked_stood_in_the_file_before_in_the_same_order(new, old):
    data, before = "\n".join(new).encode(), "\n".join(old).encode()
    lines, fresh = panels._lines(data), panels._new_lines(panels._lines(data), panels._lines(before))
    rest, left = [line for i, line in enumerate(lines) if i not in fresh], iter(panels._lines(before))
    assert all(line in left for line in rest)


# --- folding ----------------------------------------------------------------------------

def test_the_middle_of_a_long_unchanged_file_is_folded_and_all_of_it_is_there():
    lines = [f"line {i}" for i in range(100)]
    markup = file_panel("f", "\n".join(lines).encode(), "\n".join(lines).encode())
    assert folds(markup) == 1
    assert [line.strip() for line in Parsed(markup).text.split("\n") if line.startswith("  line")] == lines


def test_a_line_to_watch_is_not_folded_away():
    lines = [f"line {i}" for i in range(100)]
    data = "\n".join([*lines[:50], '  "id": "toolu_03"', *lines[50:]]).encode()
    assert folds(file_panel("f", data, data)) == 1
    shown = file_panel("f", data, data, watch="toolu_03")
    assert folds(shown) == 2 and "toolu_03" not in "".join(part.split("</details>")[0] for part in shown.split("<details>")[1:])


def test_a_line_to_watch_that_is_everywhere_hides_nothing_that_is_new():
    lines = [text for i in range(1000) for text in ("toolu_03", *"abcdefghi")]
    data = "\n".join([*lines[:5000], "new", *lines[5000:]]).encode()
    markup = file_panel("f", data, "\n".join(lines).encode(), watch="toolu_03")
    assert marked(markup) == ["new"] and len(markup) < 200_000


def test_a_long_line_is_cut_and_says_how_much_is_missing():
    text = Parsed(file_panel("f", b"x" * 5000, None)).text
    assert "x" * 200 + " … 4800 more characters" in text and "x" * 201 not in text


def test_a_line_that_is_only_a_little_too_long_is_whole():
    assert "x" * 250 in file_panel("f", b"x" * 250, None)


def test_a_terminal_that_was_flooded_shows_its_end():
    text = Parsed(log_panel([f"line {i}" for i in range(1000)])).text
    assert "… 700 earlier lines …" in text and "line 999" in text and "line 699" not in text


# --- the world --------------------------------------------------------------------------

def test_the_world_panel_counts_what_the_tools_wrote_down():
    journal = b'{"tool": "read", "input": {}}\n{"tool": "pay", "input": {}}\n{"tool": "pay", "input": {}}\n'
    assert "read ×1, pay ×2" in Parsed(world_panel({}, {}, journal)).text


def test_a_file_of_the_world_that_is_gone_is_shown_as_gone():
    assert "draft.txt: removed a moment ago" in Parsed(world_panel({"draft.txt": None}, {"draft.txt": b"x"}, b"")).text


# --- size -------------------------------------------------------------------------------

TEN_MB = 10_000_000
BIG = {
    "one line": json.dumps({"result": "x" * TEN_MB}).encode(),
    "escaped lines": json.dumps({"result": "a line\n" * (TEN_MB // 8)}, indent=2).encode(),
    "short lines": b"short line\n" * (TEN_MB // 11),
    "lines that all differ": "".join(f"{i}\n" for i in range(TEN_MB // 8)).encode(),
    "line breaks": b"\n" * TEN_MB,
    "zero bytes": b"\0" * TEN_MB,
    "two-byte letters": "é".encode() * (TEN_MB // 2),
    "markup": b"<script>" * (TEN_MB // 8),
}


@pytest.mark.parametrize("kind", BIG)
def test_a_file_of_ten_megabytes_is_soon_drawn_and_its_picture_is_small(kind):
    data = BIG[kind]
    middle = len(data) // 2
    edited, others = data[:middle] + b"\nedited\n" + data[middle:], data[::-1]
    for now, before in [(data, data), (data, None), (edited, data), (others, data)]:
        began = time.process_time()
        markup = file_panel("f", now, before)
        took = time.process_time() - began
        assert took < 0.6, f"{kind}: {took:.3f} s of CPU"
        assert len(markup) < 200_000
    is_only_ours(file_panel("f", data, None))


def test_a_file_too_long_to_compare_says_so_and_shows_both_its_ends():
    data = BIG["lines that all differ"]
    text = Parsed(file_panel("f", data + b"the end", data)).text
    assert "changed (too long to mark the lines)" in text and "  0\n  1\n" in text and text.endswith("  the end\n")
    assert "… 1249693 more lines …" in text  # 1,250,001 lines, less the first 300, less the last 8


def test_a_file_changed_all_over_stays_a_small_picture():
    before = [f"line {i}" for i in range(40_000)]
    after = [text if i % 20 else f"other {i}" for i, text in enumerate(before)]
    markup = file_panel("f", "\n".join(after).encode(), "\n".join(before).encode())
    assert "2000 lines new" in markup and len(markup) < 200_000


def test_the_end_of_the_last_line_is_no_line_of_its_own():
    assert file_panel("outbox.txt", b"one mail\n", None).count("<mark>") == 1
    assert "1 line new" in file_panel("outbox.txt", b"one mail\nanother\n", b"one mail\n")
    assert "1 line new" in file_panel("outbox.txt", b"one mail\n", b"one mail")  # here it is all that is new
