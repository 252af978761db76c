"""check_transcript and lone_surrogates: the API's rules, in the API's words.

The sentences expected here are quoted from public reports of people who met them; the
reports are named beside the test. CASES are the project's list of such reports.
"""
import copy
import json
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.transcript import IN_RESULTS, RULES, check_transcript, lone_surrogates


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def text(words="go on"):
    return {"type": "text", "text": words}


def call(call_id, name="read"):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}}


def result(call_id, content="ok"):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


TASK = {"role": "user", "content": "Write the report."}


def found(messages, **options):
    """The breaches without their sentences: (rule, where, id)."""
    return [(b["rule"], b["where"], b["id"]) for b in check_transcript(messages, **options)]


def sentences(messages):
    return [breach["text"] for breach in check_transcript(messages)]


# What the API accepts

def test_a_conversation_with_every_call_answered_has_no_breach():
    assert check_transcript([TASK, assistant(text(), call("t1"), call("t2")), user(result("t2"), result("t1"), text())]) == []


def test_a_finished_conversation_ends_with_the_assistant_and_is_no_request():
    finished = [TASK, assistant(text("The report is there."))]
    assert check_transcript(finished, ends_with_user=False) == []
    # anomalyco/opencode#19981
    assert sentences(finished) == [
        "This model does not support assistant message prefill. The conversation must end with a user message."]


def test_an_empty_final_answer_is_tolerated_and_an_empty_one_before_is_not():
    assert check_transcript([TASK, assistant()], ends_with_user=False) == []
    # glowingjade/obsidian-smart-composer#156
    assert sentences([TASK, assistant(), TASK]) == [
        "messages.1: all messages must have non-empty content except for the optional final assistant message"]
    assert found([{"role": "user", "content": ""}]) == [("content", "messages.0", None)]


def test_the_calls_of_server_tools_are_none_of_the_clients_business():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    answer = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    assert check_transcript([TASK, assistant(search, answer, call("t1")), user(result("t1"))]) == []


def test_a_result_may_be_empty_or_a_list_of_blocks_or_missing():
    for block in (result("t1", ""), result("t1", [text()]), {"type": "tool_result", "tool_use_id": "t1"}):
        assert check_transcript([TASK, assistant(call("t1")), user(block)]) == []


# Calls and their results

def test_a_call_without_a_result_is_named_whoever_comes_next():  # C16: the process died after Point A
    # anthropics/claude-code#3512; two ids stand in one sentence, as in #5989
    assert check_transcript([TASK, assistant(text(), call("t1"), call("t2")), user(text())]) == [
        {"where": f"messages.1.content.{i}", "id": call_id, "rule": "unanswered",
         "text": "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1, t2. "
                 "Each `tool_use` block must have a corresponding `tool_result` block in the next message."}
        for i, call_id in [(1, "t1"), (2, "t2")]]


@pytest.mark.parametrize("ends_with_user", [True, False])
def test_a_call_left_open_at_the_very_end_is_one_breach(ends_with_user):  # C16
    assert found([TASK, assistant(call("t1"))], ends_with_user=ends_with_user) == [("unanswered", "messages.1.content.0", "t1")]


def test_a_result_that_is_not_in_the_very_next_message_answers_nothing():  # C19
    messages = [TASK, assistant(call("t1")), assistant(text()), user(result("t1"))]
    assert found(messages) == [("unanswered", "messages.1.content.0", "t1"), ("orphan-result", "messages.3.content.0", "t1")]
    # anthropics/claude-code#18947
    assert sentences(messages)[1] == (
        "messages.3.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t1. "
        "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.")


def test_results_in_two_messages_leave_the_second_call_open():  # C20
    messages = [TASK, assistant(call("t1"), call("t2")), user(result("t1")), user(result("t2"))]
    assert found(messages) == [("unanswered", "messages.1.content.1", "t2"), ("orphan-result", "messages.3.content.0", "t2")]


@pytest.mark.parametrize("again", [[user(result("t1"), result("t1"))], [user(result("t1")), user(result("t1"))]])
def test_a_second_result_for_one_call_is_reported(again):  # C27: two resumes, each added its result
    breaches = check_transcript([TASK, assistant(call("t1")), *again])
    assert [(b["rule"], b["id"]) for b in breaches] == [("single-result", "t1")]
    # vectorize-io/hindsight#4250
    assert breaches[0]["text"] == breaches[0]["where"] + (
        ": each tool_use must have a single result. Found multiple `tool_result` blocks with id: t1")


def test_a_result_behind_a_text_is_not_seen_by_the_api():
    messages = [TASK, assistant(call("t1"), call("t2")), user(result("t1"), text("a reminder"), result("t2"))]
    assert found(messages) == [("results-first", "messages.2.content.2", "t2")]
    # NousResearch/hermes-agent#65369: the API words it as a missing result
    assert sentences(messages)[0].startswith(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t2. ")


def test_an_id_used_in_an_earlier_turn_can_not_come_back():  # C28
    messages = [TASK, assistant(call("t1")), user(result("t1")), assistant(text(), call("t1")), user(result("t1"))]
    assert found(messages) == [("unique-id", "messages.3.content.1", "t1")]
    # CherryHQ/cherry-studio#14128
    assert sentences(messages) == ["messages.3.content.1: `tool_use` ids must be unique"]


def test_calls_belong_to_the_assistant_and_results_to_the_user():
    # tghamm/Anthropic.SDK#128
    assert sentences([user(call("t1"))]) == ["messages.0: `tool_use` blocks can only be in `assistant` messages"]
    messages = [TASK, assistant(call("t1")), assistant(result("t1")), TASK]
    assert found(messages) == [("tool_result-role", "messages.2.content.0", "t1"), ("unanswered", "messages.1.content.0", "t1")]
    assert sentences(messages)[0] == "messages.2: `tool_result` blocks can only be in `user` messages"


def test_the_first_breach_is_about_shape_since_the_api_looks_at_that_first():
    messages = [TASK, assistant(call("t1")), user(text()), {"role": "robot", "content": "hello"}]
    assert [rule for rule, _, _ in found(messages)] == ["role", "unanswered"]


# Ids and names

@pytest.mark.parametrize("call_id", ["functions.read:0", "call|1", "größe", "t1\n", "a b", ""])
def test_an_id_has_letters_digits_underscores_and_hyphens_and_nothing_else(call_id):
    messages = [TASK, assistant(call(call_id)), user(result(call_id))]
    assert found(messages) == [("id-pattern", "messages.1.content.0", call_id), ("id-pattern", "messages.2.content.0", call_id)]
    # maximhq/bifrost#5097
    assert sentences(messages) == ["messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
                                   "messages.2.content.0.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"]


def test_an_id_from_the_api_or_a_careful_script_is_no_breach():
    for call_id in ("toolu_01A09q90qw90lq917835lq9", "call-1_b", "0", "x" * 500):
        assert check_transcript([TASK, assistant(call(call_id)), user(result(call_id))]) == []


@pytest.mark.parametrize(("name", "problem"), [
    ("x" * 201, "at most 200 characters"),  # anthropics/claude-code#2673: the model put a whole command there
    ("", "at least 1 character")])
def test_the_name_of_a_call_has_1_to_200_characters(name, problem):
    messages = [TASK, assistant(call("t1", name)), user(result("t1"))]
    assert found(messages) == [("name-length", "messages.1.content.0", "t1")]
    assert sentences(messages) == [f"messages.1.content.0.tool_use.name: String should have {problem}"]


@pytest.mark.parametrize("name", ["x" * 200, "mcp__files__read", "git diff", "lês.notas"])
def test_any_other_name_is_for_the_tools_of_a_request_to_refuse(name):
    assert check_transcript([TASK, assistant(call("t1", name)), user(result("t1"))]) == []


# What a result holds

def types_in_the_sdk():
    from anthropic.types import tool_result_block_param
    return {get_args(get_type_hints(block)["type"])[0] for block in get_args(tool_result_block_param.Content)}


def test_a_result_may_hold_every_block_that_the_sdk_has_for_it():
    assert set(IN_RESULTS) == types_in_the_sdk()
    for kind in IN_RESULTS:
        assert check_transcript([TASK, assistant(call("t1")), user(result("t1", [{"type": kind, "text": "", "source": {}}]))]) == []


def test_a_block_of_another_format_in_a_result_is_a_breach():
    # anthropics/claude-code#28870, with today's tags
    messages = [TASK, assistant(call("t1")), user(result("t1", [text(), {"type": "image_url", "image_url": {"url": "x"}}]))]
    assert found(messages) == [("result-block", "messages.2.content.0", "t1")]
    assert sentences(messages) == [
        "messages.2.content.0.tool_result.content.1: Input tag 'image_url' found using 'type' does not match any of the expected tags: "
        "'browser_state', 'document', 'image', 'search_result', 'text', 'tool_reference'"]


def test_a_result_that_is_an_error_holds_text_alone():
    # caozhiyuan/copilot-api#196
    broken = [TASK, assistant(call("t1")), user(result("t1", [text(), {"type": "image", "source": {}}]) | {"is_error": True})]
    assert found(broken) == [("error-text", "messages.2.content.0", "t1")]
    assert sentences(broken) == ["messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true"]
    for fine in (result("t1", [text(), text()]), result("t1", "no")):
        assert check_transcript([TASK, assistant(call("t1")), user(fine | {"is_error": True})]) == []


@pytest.mark.parametrize("content", [{"content": ""}, {"content": []}, {}], ids=["no text", "no blocks", "no content"])
def test_a_result_that_is_an_error_says_something(content):
    # jlevy/markform#153
    silent = {"type": "tool_result", "tool_use_id": "t1", **content}
    assert sentences([TASK, assistant(call("t1")), user(silent | {"is_error": True})]) == [
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true"]
    assert check_transcript([TASK, assistant(call("t1")), user(silent)]) == []


# Shapes

@pytest.mark.parametrize(("messages", "sentence"), [
    ([], "messages: at least one message is required"),
    ("hello", "messages: Input should be a valid list"),
    (None, "messages: Input should be a valid list"),
    ([assistant(text()), TASK], 'messages: first message must use the "user" role'),  # lobehub/lobehub#1601
    ([TASK, "hello"], "messages.1: Input should be an object"),
    ([{"role": "system", "content": "Be brief."}], "messages.0.role: Input should be 'user' or 'assistant'"),
    ([{"content": "hello"}], "messages.0.role: Input should be 'user' or 'assistant'"),
    ([{"role": "user"}], "messages.0.content: Input should be a valid list"),
    ([{"role": "user", "content": {"type": "text"}}], "messages.0.content: Input should be a valid list"),
    ([user("hello")], "messages.0.content.0: Input should be an object"),
    ([user({"text": "hello"})], "messages.0.content.0.type: Field required"),
    ([user({"type": 1})], "messages.0.content.0.type: Input should be a valid string"),
    ([user(text(""))], "messages: text content blocks must be non-empty"),  # anthropics/claude-code#59812
    ([{"role": "user", "content": " \n"}], "messages: text content blocks must contain non-whitespace text"),
    ([TASK, assistant({"type": "tool_use", "name": "read", "input": {}}), TASK], "messages.1.content.0.tool_use.id: Field required"),
    # anthropics/anthropic-sdk-typescript#648
    ([TASK, assistant(call("t1") | {"input": "{}"}), user(result("t1"))],
     "messages.1.content.0.tool_use.input: Input should be a valid dictionary"),
    ([TASK, assistant(call("t1")), user(result("t1", {"rows": 3}))],
     "messages.2.content.0.tool_result.content: Input should be a valid string"),
    ([TASK, assistant(call("t1")), user(result("t1", [{"type": "text"}]))], "messages.2.content.0.tool_result.content.0.text.text: Field required"),
    ([TASK, assistant(call("t1")), user(result("t1", [{"type": "text", "text": 5}]))],
     "messages.2.content.0.tool_result.content.0.text.text: Input should be a valid string"),
    ([TASK, assistant(call("t1")), user(result("t1", ["rows"]))], "messages.2.content.0.tool_result.content.0: Input should be an object"),
    ([TASK, assistant(call("t1")), user(result("t1", [{"text": "rows"}]))], "messages.2.content.0.tool_result.content.0.type: Field required"),
])
def test_a_wrong_shape_is_one_breach_in_the_words_of_the_api(messages, sentence):
    assert sentences(messages) == [sentence]


# Whatever it is, it is reported and not raised

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4))
NAMES = st.sampled_from(["user", "assistant", "text", "tool_use", "tool_result", "t1", "t2", "\ud83d", "{where}"])
HALF_RIGHT_BLOCK = st.fixed_dictionaries({}, optional={
    key: NAMES | JSON for key in ("type", "id", "tool_use_id", "name", "input", "content", "text")})
HALF_RIGHT = st.lists(JSON | st.fixed_dictionaries({}, optional={
    "role": NAMES | JSON, "content": NAMES | JSON | st.lists(HALF_RIGHT_BLOCK | JSON, max_size=4)}), max_size=5)


@given(JSON | HALF_RIGHT, st.booleans())
def test_any_json_value_gives_reports_and_never_an_error(value, ends_with_user):
    before = copy.deepcopy(value)
    for breach in check_transcript(value, ends_with_user=ends_with_user):
        assert breach.keys() == {"where", "id", "rule", "text"}
        assert breach["where"].startswith("messages") and breach["rule"] in RULES
        breach["text"].encode("utf-8")  # can be printed, whatever was in an id
    assert repr(value) == repr(before)  # repr, as nan is not equal to itself


def test_nesting_far_beyond_the_recursion_limit_is_looked_through():
    deep = "\ud83d"
    for _ in range(100_000):
        deep = [deep]
    conversation = [TASK, assistant(call("t1") | {"input": {"path": deep}}), user(result("t1", [{"type": "document", "source": deep}]))]
    assert check_transcript(conversation) == []
    positions = lone_surrogates(conversation)
    assert [position[:37] for position in positions] == ["messages.1.content.0.input.path.0.0.0", "messages.2.content.0.content.0.source"]


# Well-formed conversations, and each way to damage one

@st.composite
def conversations(draw):
    """A conversation of one to four turns with one to three calls each, ready to be sent."""
    messages, ids = [TASK], iter(f"toolu_{n:02}" for n in range(1, 13))
    for _ in range(draw(st.integers(1, 4))):
        calls = [next(ids) for _ in range(draw(st.integers(1, 3)))]
        thinking = [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}] * draw(st.integers(0, 1))
        messages.append(assistant(*thinking, *[text()] * draw(st.integers(0, 1)), *map(call, calls)))
        messages.append(user(*map(result, draw(st.permutations(calls))), *[text()] * draw(st.integers(0, 1))))
    return messages


@given(conversations())
def test_a_well_formed_conversation_has_no_breach(messages):
    assert check_transcript(messages) == []
    assert check_transcript([*messages, assistant(text())], ends_with_user=False) == []


@given(conversations(), st.data())
def test_behind_a_beginning_that_is_known_to_be_sound_the_same_breaches_are_found(messages, data):
    start = data.draw(st.sampled_from(range(1, len(messages), 2)), "an assistant message")
    used = {block["id"] for message in messages[:start] for block in message["content"] if isinstance(block, dict) and block["type"] == "tool_use"}
    tail = data.draw(st.lists(st.sampled_from([*messages, user(text("")), user(result("toolu_x")), "?"]), max_size=4))
    grown = [*messages, *tail]
    assert check_transcript(grown, start=start, used=used) == check_transcript(grown)


def drop(messages, at, i):
    lost = messages[at]["content"].pop(i)
    messages[at]["content"].append(text())
    return [("unanswered", lost["tool_use_id"])]


def put_a_text_before(messages, at, i):
    messages[at]["content"].insert(i, text())
    late = [block["tool_use_id"] for block in messages[at]["content"][i:] if block["type"] == "tool_result"]
    return [("results-first", call_id) for call_id in late]


def repeat(messages, at, i):
    messages[at]["content"].insert(i, dict(messages[at]["content"][i]))
    return [("single-result", messages[at]["content"][i]["tool_use_id"])]


def rename(messages, at, i):
    lost = messages[at]["content"][i]["tool_use_id"]
    messages[at]["content"][i]["tool_use_id"] = "toolu_x"
    return [("unanswered", lost), ("orphan-result", "toolu_x")]


def put_a_message_between(messages, at, i):
    ids = [block["tool_use_id"] for block in messages[at]["content"] if block["type"] == "tool_result"]
    messages.insert(at, user(text()))
    return [(rule, call_id) for rule in ("unanswered", "orphan-result") for call_id in ids]


def copy_the_turn(messages, at, i):
    ids = [block["tool_use_id"] for block in messages[at]["content"] if block["type"] == "tool_result"]
    messages += copy.deepcopy(messages[at - 1:at + 1])
    return [("unique-id", call_id) for call_id in ids]


def give_the_result_to_the_assistant(messages, at, i):
    moved = messages[at]["content"].pop(i)
    messages[at]["content"].append(text())
    messages[at - 1]["content"].append(moved)
    return [("tool_result-role", moved["tool_use_id"]), ("unanswered", moved["tool_use_id"])]


def cut_after_the_call(messages, at, i):
    ids = [block["id"] for block in messages[at - 1]["content"] if block["type"] == "tool_use"]
    del messages[at:]
    return [("unanswered", call_id) for call_id in ids]


def forget_the_task(messages, at, i):
    del messages[0]
    return [("first-user", None)]


def answer_at_the_end(messages, at, i):
    messages.append(assistant(text()))
    return [("ends-with-user", None)]


@pytest.mark.parametrize("damage", [
    drop, put_a_text_before, repeat, rename, put_a_message_between, copy_the_turn, give_the_result_to_the_assistant,
    cut_after_the_call, forget_the_task, answer_at_the_end])
@given(conversations(), st.data())
def test_a_damage_is_reported_with_its_id_and_nothing_else_is(damage, messages, data):
    messages = copy.deepcopy(messages)
    at = data.draw(st.sampled_from(range(2, len(messages), 2)), "message with results")
    results = [i for i, block in enumerate(messages[at]["content"]) if block["type"] == "tool_result"]
    expected = damage(messages, at, data.draw(st.sampled_from(results), "result"))
    assert sorted((b["rule"], b["id"] or "") for b in check_transcript(messages)) == sorted((r, i or "") for r, i in expected)


# Lone surrogates

def test_half_a_surrogate_pair_is_found_where_it_stands():  # C49
    conversation = [TASK, assistant(call("t1") | {"input": {"path": "\ud99c", "fine": "\U0001f600"}}), user(result("t1", "a\udc00b"))]
    assert lone_surrogates(conversation) == ["messages.1.content.0.input.path", "messages.2.content.0.content"]


def test_a_broken_key_is_named_in_letters_that_can_be_printed():
    assert lone_surrogates({"a": {"\ud83d": 1}}, where="input") == ["input.a.\\ud83d"]


@given(JSON)
def test_a_value_without_lone_surrogates_is_exactly_one_that_can_be_sent_as_utf_8(value):
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
        assert lone_surrogates(value) == []
    except UnicodeEncodeError:
        assert lone_surrogates(value) != []
