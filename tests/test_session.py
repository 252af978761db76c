"""read_session: conversations from requests, checkpoints and session exports; what can't be read says why in one sentence."""
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import CourseError
from course_lib.session import read_session
from course_lib.transcript import check_transcript

TASK = {"role": "user", "content": "Write the report. Ação 😀"}
CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}}
CALL_2 = {**CALL, "id": "t2"}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
RESULT_2 = {**RESULT, "tool_use_id": "t2"}
SOUND = [TASK, {"role": "assistant", "content": [CALL]}, {"role": "user", "content": [RESULT]}]


def exported(role, content, **more):
    """A record as coding agents write it."""
    message = {"role": role, "content": content, **more}
    return {"type": role, "uuid": "u", "timestamp": "2026-01-05T09:00:00.000Z", "isSidechain": False, "message": message}


def lines(*records):
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


def refused(data, *words):
    with pytest.raises(CourseError) as error:
        read_session(data)
    sentence = str(error.value)
    assert sentence.endswith(".") and "\n" not in sentence and len(sentence) < 600
    assert all(word in sentence for word in words), sentence


# One JSON value

@pytest.mark.parametrize("value", [SOUND, {"messages": SOUND}, {"model": "m", "max_tokens": 5, "messages": SOUND, "tools": []}])
@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_of_messages_or_a_request_that_holds_one_is_read_as_it_is(value, indent):
    assert read_session(json.dumps(value, indent=indent).encode()) == (SOUND, [])


def test_a_byte_order_mark_in_front_is_no_damage():
    assert read_session(b"\xef\xbb\xbf" + json.dumps(SOUND).encode()) == (SOUND, [])


def checkpoint(messages, pending):
    return json.dumps({"version": 1, "task": "t", "turns": 1, "tokensUsed": 1, "messages": messages, "pendingToolUse": pending}).encode()


def test_a_checkpoint_with_nothing_pending_is_its_messages():
    assert read_session(checkpoint(SOUND, None)) == (SOUND, [])


def test_a_checkpoint_with_a_call_pending_says_that_a_resume_knows_more_than_a_mend():  # C16
    messages, notes = read_session(checkpoint(SOUND[:2], {key: CALL[key] for key in ("id", "name", "input")}))
    assert messages == SOUND[:2] and len(notes) == 1 and "read (t1)" in notes[0] and "ledger" in notes[0]


def test_in_the_order_of_lesson_6_the_turn_of_the_pending_call_is_made_again():
    messages, notes = read_session(checkpoint([TASK], {key: CALL[key] for key in ("id", "name", "input")}))
    assert messages == SOUND[:2] and len(notes) == 2 and "pendingToolUse" in notes[1]


# JSON Lines

def test_plain_lines_are_messages_without_what_else_they_hold():
    assert read_session(lines(*[{**message, "ts": 1} for message in SOUND])) == (SOUND, [])


def test_one_line_without_an_end_is_a_session_too():
    assert read_session(json.dumps(TASK).encode()) == ([TASK], [])


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n \t\n"])
def test_records_are_lines_however_they_end_and_a_line_separator_in_a_text_ends_none(ending):
    said = {"role": "user", "content": "a\u2028b\u0085c"}
    assert read_session(lines(said, *SOUND).replace(b"\n", ending)) == ([said, *SOUND], [])


def test_the_blocks_that_an_agent_exports_one_by_one_are_one_turn_and_their_results_one_message():
    data = lines({"type": "summary", "summary": "s"}, exported("user", TASK["content"]),
                 exported("assistant", [{"type": "text", "text": "both"}], id="msg_1", model="m", usage={}),
                 exported("assistant", [CALL], id="msg_1"), {"type": "progress"}, exported("assistant", [CALL_2], id="msg_1"),
                 exported("user", [RESULT]), exported("user", [RESULT_2]), {"type": "progress"}, exported("assistant", "done", id="msg_2"))
    messages, notes = read_session(data)
    assert messages == [TASK, {"role": "assistant", "content": [{"type": "text", "text": "both"}, CALL, CALL_2]},
                        {"role": "user", "content": [RESULT, RESULT_2]}, {"role": "assistant", "content": [{"type": "text", "text": "done"}]}]
    assert check_transcript(messages, ends_with_user=False) == []
    assert "2 progress, 1 summary" in notes[0] and notes[1].endswith(": 3.")


def test_two_turns_of_the_model_in_a_row_stay_two_and_so_do_plain_results():
    two = [exported("assistant", [CALL], id="m1"), exported("assistant", [CALL_2], id="m2"), exported("assistant", "a"), exported("assistant", "b")]
    assert len(read_session(lines(*two))[0]) == 4
    assert len(read_session(lines({"role": "user", "content": [RESULT]}, {"role": "user", "content": [RESULT_2]}))[0]) == 2


def test_the_same_id_after_something_else_was_said_is_a_turn_of_its_own():
    messages, _ = read_session(lines(exported("assistant", [CALL], id="m1"), exported("user", [RESULT]), exported("assistant", [CALL_2], id="m1")))
    assert [message["role"] for message in messages] == ["assistant", "user", "assistant"]


def test_a_helpers_own_conversation_is_left_out_and_counted():
    messages, notes = read_session(lines(*[exported(m["role"], m["content"]) for m in SOUND], {**exported("user", "aside"), "isSidechain": True}))
    assert messages == SOUND and "1 of a side conversation" in notes[0]


def test_a_message_with_an_unknown_role_is_read_and_left_to_the_check():
    messages, _ = read_session(lines({"role": "tool", "content": "x"}))
    assert [breach["rule"] for breach in check_transcript(messages)] == ["role"]


# Damage

@given(st.data())
def test_a_last_line_that_was_cut_short_is_said_and_left_out(data):  # C34
    whole = lines(TASK, SOUND[1])
    start = len(lines(TASK))
    cut = data.draw(st.integers(start + 1, len(whole) - 3), "bytes")
    messages, notes = read_session(whole[:cut])
    assert messages == [TASK] and notes == ["Line 2, the last one, was cut short and is left out."]


def test_zeros_after_a_power_cut_are_a_line_cut_short():  # C38
    assert read_session(lines(TASK) + b"\0" * 4096)[1] == ["Line 2, the last one, was cut short and is left out."]


@pytest.mark.parametrize("damage", [b'{"role": "us\n', b'{"role": "us' + lines(TASK), lines(TASK).rstrip() + lines(TASK), b"\xff\xfe\n", b"\0\0\0\n", b'{"role": NaN}\n'])
def test_damage_elsewhere_names_the_line(damage):  # C34, C36: fused and torn lines
    refused(lines(TASK, TASK) + b"\n" + damage + lines(TASK), "Line 4 is damaged")


def test_a_broken_last_line_that_was_ended_is_damage():
    refused(lines(TASK) + b'{"role": "us\n', "Line 2 is damaged")


@pytest.mark.parametrize(("data", "words"), [
    (b"", ["empty"]), (b"\0" * 4096, ["4096 zero"]), (b" \n\t", ["no text"]), (b"\xef\xbb\xbf", ["no text"]),
    (b"hello\nworld", ["read as JSON", "line 1"]), (b'[\n  {"role": "user",\n', ["read as JSON", "line 3"]), (json.dumps(SOUND).encode()[:-1], ["read as JSON"]),
    (json.dumps(SOUND).encode("utf-16"), ["not UTF-8"]), ("[{\"role\": \"ação\"}]".encode("latin-1"), ["not UTF-8"]),
    (b"[" * 1_000_000, ["nested"]), (b'{"a":' * 1_000_000, ["nested"]), (b"[" * 500 + b"]" * 500, ["nested"]),
    (b"[NaN]", ["NaN"]), (b"1" * 100_000, ["read as JSON"]),
    (b"5", ["no list of messages"]), (b'"x"', ["no list of messages"]), (b"{}", ["no list of messages"]), (b'{"messages": {"a": 1}}', ["no list of messages"]),
    (b'{"type": "summary"}\n{"type": "system"}\n', ["None of its 2 lines"]), (b"1\n2\n", ["None of its 2 lines"]),
])
def test_what_holds_no_conversation_is_refused_in_one_sentence(data, words):
    refused(data, *words)


@given(st.binary(max_size=60) | st.text(max_size=30).map(str.encode) | st.builds(lambda a, b, c: a[:b] + c, st.just(lines(*SOUND)), st.integers(0, 250), st.binary(max_size=9)))
def test_any_bytes_give_messages_or_one_sentence(data):
    try:
        messages, notes = read_session(data)
        assert isinstance(messages, list) and all(note.endswith(".") for note in notes)
    except CourseError as error:
        assert str(error).endswith(".") and "\n" not in str(error)


@pytest.mark.parametrize("records", [
    lambda n: [exported("assistant", [CALL], id="m")] * n, lambda n: [exported("user", [RESULT])] * n, lambda n: [exported("assistant", "x")] * n])
def test_reading_takes_linear_time(records):
    def seconds(n):
        data = lines(*records(n))
        start = time.process_time()
        read_session(data)
        return time.process_time() - start
    # Ten times the work; quadratic would be a hundred times. The better of three, since others use the machine, too.
    assert min(seconds(10_000) for _ in range(3)) < 40 * max(min(seconds(1_000) for _ in range(3)), 0.001)
