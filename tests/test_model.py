"""The model: the scripted API against the rules, and the offline client against the real SDK.

The SDK runs over its own mock transport, so the same ScriptedAPI answers both and any
difference between them is the client's.
"""
import copy
import json
import pickle
import subprocess
import sys

import anthropic
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import CourseError
from course_lib.model import MAX_TOKENS, MODEL, OfflineClient, RequestRefused, as_sdk_error, explain, live_client
from course_lib.scripted_api import ScriptedAPI, ScriptExhausted

KEY = "sk-ant-" + "not-a-real-key-0123456789"  # in two parts, so that no search for leaked keys finds this line


def text(words):
    return {"type": "text", "text": words}


def thinking(words, signature):
    return {"type": "thinking", "thinking": words, "signature": signature}


def call(call_id, name, **arguments):
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def turn(*blocks, stop_reason="tool_use"):
    return {"content": list(blocks), "stop_reason": stop_reason}


REDACTED = {"type": "redacted_thinking", "data": "ZW5j"}
SCRIPT = [
    turn(thinking("The notes come first.", "c2lnLTE="), text("Ich lese die Notizen – größer als gedacht."),
         call("toolu_01", "read_notes", path="sales-notes.txt")),
    turn(call("toolu_02", "count_words", text="ação 📈", limits={"low": 1.0, "high": None, "strict": True, "of": [1, 2]})),
    turn(thinking("Now write.", "c2lnLTM="), REDACTED, call("toolu_03", "write_report", path="report.txt")),
    turn(thinking("Done?", "c2lnLTQ="), text("Report written to report.txt, task complete."), stop_reason="end_turn"),
]
TASK = {"role": "user", "content": "Turn the notes into a report."}


def request(messages, **more):
    return {"model": MODEL, "max_tokens": MAX_TOKENS, "messages": messages} | more


def result(call_id, content="ok", **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def after_turns(count, script=SCRIPT):
    """The conversation after so many closed turns of a script."""
    messages = [TASK]
    for played in copy.deepcopy(script[:count]):
        calls = [block["id"] for block in played["content"] if block["type"] == "tool_use"]
        messages.append({"role": "assistant", "content": played["content"]})
        messages.append({"role": "user", "content": [result(call_id) for call_id in calls]})
    return messages


def ask(api, messages):
    status, body = api.answer(request(messages))
    assert status == 200, body
    return body


def refusal(api, messages):
    status, body = api.answer(request(messages))
    assert (status, body["type"], body["error"]["type"]) == (400, "error", "invalid_request_error")
    return body["error"]["message"]


def ids(body):
    return [block["id"] for block in body["content"] if block["type"] == "tool_use"]


# Which turn comes next

@pytest.mark.parametrize("closed", range(4))
def test_the_next_turn_follows_from_the_conversation_so_any_checkpoint_can_be_the_start(closed):
    body = ask(ScriptedAPI(SCRIPT), after_turns(closed))
    assert (body["content"], body["stop_reason"]) == (SCRIPT[closed]["content"], SCRIPT[closed]["stop_reason"])


def test_a_turn_that_is_asked_for_again_carries_fresh_ids():
    api = ScriptedAPI(SCRIPT)
    assert [ids(ask(api, after_turns(2))) for _ in range(3)] == [["toolu_03"], ["toolu_03_2"], ["toolu_03_3"]]
    assert ids(ask(api, after_turns(1))) == ["toolu_02"]  # another turn has a count of its own


def test_the_count_of_a_turn_holds_across_processes(tmp_path):
    log = tmp_path / "requests.jsonl"
    assert [ids(ask(ScriptedAPI(SCRIPT, log=log), after_turns(0))) for _ in range(2)] == [["toolu_01"], ["toolu_01_2"]]
    assert [json.loads(line) for line in log.read_text().splitlines()] == [{"turn": 0, "status": 200, "messages": 1}] * 2


def test_a_refused_request_is_in_the_log_and_uses_up_no_id(tmp_path):
    log = tmp_path / "requests.jsonl"
    api = ScriptedAPI(SCRIPT, log=log)
    refusal(api, after_turns(1)[:-1])
    assert json.loads(log.read_text()) == {"turn": None, "status": 400, "messages": 2}
    assert ids(ask(api, after_turns(1))) == ["toolu_02"]


def test_a_torn_last_line_in_the_log_is_ignored_and_the_next_one_starts_afresh(tmp_path):  # C34
    log = tmp_path / "requests.jsonl"
    ask(ScriptedAPI(SCRIPT, log=log), after_turns(0))
    line = log.read_bytes()
    for cut in range(1, len(line)):
        log.write_bytes(line + line[:cut])
        whole = 2 if cut == len(line) - 1 else 1  # without its line break alone, a record is still whole
        first, second = (ids(ask(ScriptedAPI(SCRIPT, log=log), after_turns(0))) for _ in range(2))
        assert (first, second) == ([f"toolu_01_{whole + 1}"], [f"toolu_01_{whole + 2}"]), cut


def test_asked_beyond_its_script_it_raises_and_counts_nothing(tmp_path):
    script, log = SCRIPT[:3], tmp_path / "requests.jsonl"
    with pytest.raises(ScriptExhausted, match="has 3 turns and was asked for turn 4"):
        OfflineClient(script, log=log).messages.create(**request(after_turns(3)))
    assert issubclass(ScriptExhausted, CourseError) and not log.exists()


# A call whose result is an error

@pytest.mark.parametrize("content", [
    "State unknown: the program died.", [text("State unknown: the program died.")], [text("State unknown:"), text("the program died")]])
def test_after_an_error_it_asks_for_a_check_and_claims_nothing(content):
    messages = after_turns(3)
    messages[-1]["content"] = [result("toolu_03", content, is_error=True)]
    body = ask(ScriptedAPI(SCRIPT), messages)
    assert body["stop_reason"] == "end_turn"
    [block] = body["content"]
    for part in ("can't confirm that write_report did its work", 'State unknown: the program died". Please check'):  # one full stop, not two
        assert part in block["text"].replace("\n", " ")
    for claim in ("complete", "success", "Report written"):
        assert claim not in block["text"]


def test_a_call_that_was_declined_is_known_not_to_have_run():
    messages = after_turns(3)
    messages[-1]["content"] = [result("toolu_03", "A person has to approve each write_report and did not; it was not run.", is_error=True)]
    [block] = ask(ScriptedAPI(SCRIPT), messages)["content"]
    assert block["text"].startswith("write_report was not run:") and "can't confirm" not in block["text"] and block["text"].count(".") == 2


def test_only_the_first_call_of_a_turn_decides_as_in_one_call_mode_the_others_are_errors():
    script = [turn(call("t1", "read"), call("t2", "pay")), turn(text("Both are known."), stop_reason="end_turn")]
    messages = after_turns(1, script)
    messages[-1]["content"][1]["is_error"] = True
    assert ask(ScriptedAPI(script), messages)["content"] == script[1]["content"]
    messages[-1]["content"][0]["is_error"] = True
    assert "can't confirm that read did" in ask(ScriptedAPI(script), messages)["content"][0]["text"]


def test_the_conversation_can_go_on_after_it_could_not_confirm():
    script = [turn(call("t1", "pay")), turn(thinking("Fine.", "c2ln"), text("Paid."), stop_reason="end_turn"),
              turn(text("Good, then we are there."), stop_reason="end_turn")]
    api = ScriptedAPI(script)
    messages = after_turns(1, script)
    messages[-1]["content"][0]["is_error"] = True
    # Its own words stand where the script has a turn with thinking, which must not be missed there.
    messages += [{"role": "assistant", "content": ask(api, messages)["content"]}, {"role": "user", "content": "It was paid."}]
    assert ask(api, messages)["content"] == script[2]["content"]


# What it refuses

def test_a_dangling_call_is_refused_with_its_id_in_the_words_of_the_api():  # C16
    assert refusal(ScriptedAPI(SCRIPT), after_turns(1)[:-1]) == (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message.")


def test_each_refusal_has_a_request_id_that_counts_the_requests():
    api = ScriptedAPI(SCRIPT)
    numbers = [api.answer(request(messages))[1].get("request_id") for messages in (after_turns(1)[:-1], [TASK], [])]
    assert numbers == ["req_0001", None, "req_0003"]


@pytest.mark.parametrize("missing", ["model", "max_tokens", "messages"])
def test_a_request_without_a_required_key_is_refused_by_name(missing):
    body = request([TASK])
    del body[missing]
    assert ScriptedAPI(SCRIPT).answer(body)[1]["error"]["message"] == f"{missing}: Field required"


def test_a_lone_surrogate_is_refused_with_its_position():  # C49
    script = [turn(call("t1", "read", path="\ud99c")), turn(text("Read."), stop_reason="end_turn")]
    api = ScriptedAPI(script)
    assert ask(api, [TASK])["content"][0]["input"]["path"] == "\ud99c"  # the model itself may send one
    assert refusal(api, after_turns(1, script)) == (
        "The request body is not valid JSON: no low surrogate in string: messages.1.content.0.input.path")


CHANGED = (": `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
           "These blocks must remain as they were in the original response.")  # anthropics/claude-code#63404


@pytest.mark.parametrize(("change", "where"), [
    (lambda messages: messages[1]["content"].pop(0), "messages.1.content.0"),
    (lambda messages: messages[1]["content"][0].update(thinking=""), "messages.1.content.0"),  # C73: text gone, signature kept
    (lambda messages: messages[1]["content"].reverse(), "messages.1.content.0"),
    (lambda messages: messages[3]["content"].insert(0, thinking("made up", "c2ln")), "messages.3.content.0"),
    (lambda messages: messages[5]["content"][1].update(data="b3RoZXI="), "messages.5.content.1"),
    (lambda messages: messages[5]["content"].remove(REDACTED), "messages.5.content.1"),
], ids=["dropped", "emptied", "moved", "added", "redacted changed", "redacted dropped"])
def test_thinking_must_come_back_exactly_as_it_was_sent(change, where):  # C73
    messages = after_turns(3)
    change(messages)
    assert refusal(ScriptedAPI(SCRIPT), messages) == where + CHANGED


# What it has seen before

def damages():
    """Ways to change a conversation of three turns in place; None for none."""
    return [None, lambda messages: messages.pop(), lambda messages: messages[1]["content"][-1].update(id="toolu_x"), lambda messages: messages[2]["content"].clear(),
            lambda messages: messages[1]["content"].pop(0), lambda messages: messages[0].update(content="\ud83d"), lambda messages: messages[0].update(content="more"),
            lambda messages: messages.append(copy.deepcopy(messages[-1])), lambda messages: messages.insert(0, {"role": "assistant", "content": "so"})]


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(damages())), min_size=1, max_size=6), st.booleans())
def test_what_it_was_asked_before_changes_neither_what_it_refuses_nor_what_it_counts(requests, in_place):
    seen, shared = ScriptedAPI(SCRIPT), []
    for turns, damage in requests:
        messages = copy.deepcopy(after_turns(turns))
        if damage:
            damage(messages)
        shared[:] = messages  # the same list object, as an agent has it
        (status, body), (expected, fresh) = (api.answer(request(shared if in_place else messages)) for api in (seen, ScriptedAPI(SCRIPT)))
        assert status == expected and body.get("error") == fresh.get("error")
        assert status == 400 or body["usage"]["input_tokens"] == fresh["usage"]["input_tokens"]


def test_a_message_changed_in_place_after_it_was_accepted_is_seen():
    api, messages = ScriptedAPI(SCRIPT), after_turns(2)
    ask(api, messages)
    messages[2]["content"][0]["tool_use_id"] = "toolu_09"
    assert refusal(api, messages).startswith("messages.1: `tool_use` ids were found without")


def test_an_id_of_the_first_turn_is_still_known_in_the_last(tmp_path):
    script = [turn(call(f"t{n}", "read")) for n in range(20)]
    api = ScriptedAPI(script, log=tmp_path / "requests.jsonl")
    for turns in range(20):
        ask(api, after_turns(turns, script))
    script[19]["content"][0]["id"] = "t0"
    assert refusal(api, after_turns(20, script)) == "messages.39.content.0: `tool_use` ids must be unique"


def test_the_requests_of_another_process_count_also_between_two_of_ones_own(tmp_path):
    log = tmp_path / "requests.jsonl"
    mine, other = (ScriptedAPI(SCRIPT, log=log) for _ in range(2))
    assert [ids(ask(api, after_turns(0))) for api in (mine, other, mine)] == [["toolu_01"], ["toolu_01_2"], ["toolu_01_3"]]
    log.unlink()  # a new world
    assert ids(ask(mine, after_turns(0))) == ["toolu_01"]


def test_a_request_of_a_long_conversation_costs_about_as_much_as_one_of_a_short_one(tmp_path):
    def steps(turns):
        """The function calls that the last of so many requests takes: work that no busy machine makes more."""
        script = [turn(text("On we go."), call(f"t{n}", "note")) for n in range(turns)]
        api, counted, before = ScriptedAPI(script, log=tmp_path / f"{turns}.jsonl"), [], sys.getprofile()
        for n in range(turns - 1):
            ask(api, after_turns(n, script))
        messages = after_turns(turns - 1, script)
        sys.setprofile(lambda frame, event, _: counted.append(event) if event == "call" else None)
        try:
            ask(api, messages)
        finally:
            sys.setprofile(before)
        return len(counted)
    assert steps(200) < 2 * steps(20)  # looked at from the beginning it would be ten times as much


def test_an_answer_has_the_shape_of_the_apis_message_and_a_usage_that_follows_from_sizes():
    script = [turn(text("é"), stop_reason="end_turn")]
    assert ask(ScriptedAPI(script), [{"role": "user", "content": "hi"}]) == {
        "id": "msg_01", "type": "message", "role": "assistant", "model": MODEL,
        "content": [{"type": "text", "text": "é"}], "stop_reason": "end_turn", "stop_sequence": None,
        # [{"role":"user","content":"hi"}] is 32 bytes; [{"type":"text","text":"é"}] is 29, as é takes two
        "usage": {"input_tokens": 8, "output_tokens": 7}}
    nothing = ask(ScriptedAPI([turn(stop_reason="end_turn")]), [TASK])
    assert nothing["usage"]["output_tokens"] == 1


def test_neither_the_request_nor_the_script_is_changed_and_each_answer_is_a_copy():
    script, messages = copy.deepcopy(SCRIPT), after_turns(2)
    client = OfflineClient(script)
    client.messages.create(**request(messages))
    reply = client.messages.create(**request(messages))
    reply.to_dict()["content"].clear()
    assert ids(reply.to_dict()) == ["toolu_03_2"]
    assert script == SCRIPT and messages == after_turns(2)


# The real SDK says the same

def sdk_client(api):
    """The SDK's client with ``api`` at the other end of the wire."""
    def serve(http_request):
        status, body = api.answer(json.loads(http_request.content))
        return httpx2.Response(status, json=body, headers={"request-id": body.get("request_id", "req_ok")})
    return anthropic.Anthropic(api_key="none", max_retries=0, http_client=httpx2.Client(transport=httpx2.MockTransport(serve)))


TOOLS = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("read_notes", "count_words", "write_report")]
MORE = {"tools": TOOLS, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}


def play(client, script):
    """Drive a whole conversation; give each response and the conversation at the end."""
    messages, replies = [TASK], []
    while not replies or replies[-1]["stop_reason"] == "tool_use":
        replies.append(client.messages.create(**request(messages, **MORE)).to_dict())
        messages.append({"role": "assistant", "content": replies[-1]["content"]})
        results = [result(call_id, "größer ✓") for call_id in ids(replies[-1])]
        messages += [{"role": "user", "content": results}] if results else []
    return replies, messages


def test_the_sdk_and_the_offline_client_give_equal_responses_over_a_whole_conversation():
    offline, live = OfflineClient(SCRIPT), sdk_client(ScriptedAPI(SCRIPT))
    for _ in range(2):  # the second time with fresh ids
        (ours, our_messages), (theirs, their_messages) = play(offline, SCRIPT), play(live, SCRIPT)
        assert len(ours) == len(SCRIPT)
        # as JSON text, so that 1 and 1.0 and true are told apart
        assert json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)
        assert our_messages == their_messages
    assert ids(ours[0]) == ["toolu_01_2"]


JSON = st.recursive(st.none() | st.booleans() | st.integers(-2**53, 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3), max_leaves=8)


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.text(min_size=1), st.text())
def test_the_sdk_passes_any_input_signature_and_result_on_as_the_offline_client_does(arguments, words, content):
    script = [turn(thinking(words, words), call("t1", "read", **{}) | {"input": arguments}), turn(text("Read."), stop_reason="end_turn")]
    messages = after_turns(1, script)
    messages[-1]["content"][0]["content"] = content
    for conversation in ([TASK], messages):
        ours = OfflineClient(script).messages.create(**request(conversation)).to_dict()
        theirs = sdk_client(ScriptedAPI(script)).messages.create(**request(conversation)).to_dict()
        assert json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True)


@pytest.mark.parametrize("broken", [
    after_turns(1)[:-1],
    [*after_turns(1), after_turns(1)[-1]],
    [TASK, {"role": "assistant", "content": [*SCRIPT[0]["content"][1:]]}, after_turns(1)[-1]],
], ids=["dangling call", "two results", "thinking dropped"])
def test_the_sdk_and_the_offline_client_give_equal_error_texts(broken):
    with pytest.raises(RequestRefused) as ours:
        OfflineClient(SCRIPT).messages.create(**request(broken))
    with pytest.raises(anthropic.BadRequestError) as theirs:
        sdk_client(ScriptedAPI(SCRIPT)).messages.create(**request(broken))
    assert str(ours.value) == str(theirs.value)
    assert str(ours.value).startswith("Error code: 400 - {'type': 'error', 'error': {'type': 'invalid_request_error', 'message': 'messages")
    assert (ours.value.status, ours.value.body) == (theirs.value.status_code, theirs.value.body)
    assert explain(ours.value) == explain(theirs.value)

    shown = as_sdk_error(ours.value)
    assert (type(shown), str(shown), shown.body, shown.request_id) == (
        anthropic.BadRequestError, str(theirs.value), theirs.value.body, theirs.value.request_id)


def test_a_refusal_survives_the_way_out_of_a_child_process():
    error = RequestRefused(400, {"error": {"message": "no"}})
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.status, again.body, str(again)) == (RequestRefused, 400, error.body, str(error))


# The live client, and words for errors

def test_importing_the_model_and_running_offline_does_not_import_the_sdk():
    code = ("import sys, course_lib.model as m\n"
            "m.OfflineClient([{'content': [{'type': 'text', 'text': 'x'}], 'stop_reason': 'end_turn'}])"
            ".messages.create(model='m', max_tokens=1, messages=[{'role': 'user', 'content': 'x'}])\n"
            "m.explain(m.RequestRefused(400, {})); m.explain(ValueError('x'))\n"
            "print([n for n in sys.modules if n.split('.')[0] in ('anthropic', 'httpx2', 'pydantic')])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("value", [None, "", "  "])
def test_without_a_key_the_live_client_says_where_to_put_one(monkeypatch, value):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", value)
    with pytest.raises(CourseError, match="environment variable ANTHROPIC_API_KEY"):
        live_client()


def test_with_a_key_the_live_client_is_the_sdks_own_with_the_options_passed_on(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    client = live_client(max_retries=7)
    assert isinstance(client, anthropic.Anthropic)
    assert (client.api_key, client.max_retries) == (KEY, 7)


@pytest.mark.parametrize("spoilt", [KEY + "\n", KEY[:15] + "\n" + KEY[15:], KEY + " ", KEY + "é"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_quoted(monkeypatch, spoilt):
    monkeypatch.setenv("ANTHROPIC_API_KEY", spoilt)
    with pytest.raises(CourseError) as error:
        live_client()
    assert "not-a-real" not in str(error.value) and "ANTHROPIC_API_KEY" in str(error.value)


def sdk_error(status, body):
    """The error the SDK makes of a response."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, content=body))
    client = anthropic.Anthropic(api_key=KEY, max_retries=0, http_client=httpx2.Client(transport=transport))
    with pytest.raises(anthropic.APIStatusError) as error:
        client.messages.create(**request([TASK]))
    return error.value


@pytest.mark.parametrize(("status", "sentence"), [
    (400, "The API refused the request (400): too many cooks"),
    (401, "The API did not accept the key (401): check what ANTHROPIC_API_KEY holds, or make a new key."),
    (403, "The key in ANTHROPIC_API_KEY may not do this (403): too many cooks"),
    (404, "The API does not know this (404): too many cooks"),
    (413, "The API refused the request (413): too many cooks"),
    (429, "The API's rate limit is reached (429), also after the SDK's own retries: wait a little, then resume."),
    (500, "The API failed on its own side (500): wait a little, then resume."),
    (529, "The API is overloaded (529), also after the SDK's own retries: wait a little, then resume."),
])
def test_each_status_has_its_sentence_whoever_reports_it(status, sentence):
    body = {"type": "error", "error": {"type": "some_error", "message": "too many cooks"}}
    assert explain(sdk_error(status, json.dumps(body).encode())) == sentence
    assert explain(RequestRefused(status, body)) == sentence


@pytest.mark.parametrize("body", [b"<html>Bad\ngateway</html>", b"", b"[1]", b'{"error": "down"}', b"null"])
def test_an_error_page_that_is_not_the_apis_still_gives_one_line(body):
    assert "\n" not in explain(sdk_error(418, body))
    assert explain(sdk_error(502, body)) == "The API failed on its own side (502): wait a little, then resume."


def test_other_errors_are_named_and_the_courses_own_speak_for_themselves():
    assert explain(ValueError("no\nsuch thing")) == "ValueError: no such thing"
    assert explain(CourseError("Say what to do.")) == "Say what to do."


@pytest.mark.parametrize("quoted", [
    KEY, f"Bearer {KEY}", repr(f"Bearer {KEY}\nrest-of-it".encode()), f"<a href='{KEY}'>", "sk-ant-another-key, not the environment's"])
@pytest.mark.parametrize("in_environment", [KEY, f"{KEY}\nrest-of-it", "another-shape-of-key"])
def test_no_explanation_holds_a_key_even_if_the_error_quotes_it(monkeypatch, quoted, in_environment):
    monkeypatch.setenv("ANTHROPIC_API_KEY", in_environment)
    error = {"error": {"message": f"rejected {quoted} and {in_environment}"}}
    for said in (explain(RequestRefused(400, error)), explain(ValueError(error)), explain(sdk_error(400, json.dumps(error).encode()))):
        assert "rejected" in said and "[key]" in said
        for secret in ("not-a-real", "0123456789", "rest-of-it", "another"):
            assert secret not in said
