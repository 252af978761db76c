"""The real SDK over a real socket: a small local server speaks the Messages API, with ScriptedAPI behind it."""
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anthropic
import pytest

from course_lib import Tool, load_checkpoint, run_agent
from course_lib.model import MAX_TOKENS, MODEL, OfflineClient, RequestRefused, as_sdk_error, explain, live_client
from course_lib.scenarios import SALES_REPORT
from course_lib.scripted_api import ScriptedAPI

KEY = "sk-ant-" + "not-a-real-key-0123456789"  # in two parts, so that no search for leaked keys finds this line
TASK = {"role": "user", "content": "Turn the notes into a report."}
SCRIPT = [
    {"content": [{"type": "thinking", "thinking": "Notes first.", "signature": "c2ln"},
                 {"type": "tool_use", "id": "toolu_01", "name": "read_notes", "input": {"path": "sales-notes.txt"}}],
     "stop_reason": "tool_use"},
    {"content": [{"type": "tool_use", "id": "toolu_02", "name": "write_report", "input": {"text": "größer"}}], "stop_reason": "tool_use"},
    {"content": [{"type": "text", "text": "Report written."}], "stop_reason": "end_turn"},
]
OVERLOADED = 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@contextmanager
def serving(answer):
    """A server on a free port of this machine that answers POST /v1/messages with ``answer(request) -> (status, body)``."""
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.path == "/v1/messages"
            status, body = answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("request-id", body.get("request_id", "req_ok"))
            self.send_header("retry-after-ms", "1")  # the SDK's retries wait as long as the server says
            with suppress(ConnectionError):  # a client that gave up does not hear the answer
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()  # waits for the answers still on their way
        thread.join()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


TOOLS = {name: Tool(lambda input: "größer ✓", read_only=True) for name in ("read_notes", "write_report")}


def run(client, folder):
    """A whole run of the agent; gives the conversation it saved."""
    folder.mkdir()
    run_agent(client, TASK["content"], TOOLS, folder=folder)
    return load_checkpoint(folder / "checkpoint.json")["messages"]


def ask(client, messages):
    return client.messages.create(model=MODEL, max_tokens=MAX_TOKENS, messages=messages)


def test_a_whole_run_over_the_wire_gives_the_conversation_of_the_offline_run(tmp_path):
    log = tmp_path / "requests.jsonl"
    with serving(ScriptedAPI(SCRIPT, log=log).answer) as url, live_client(base_url=url) as client:
        conversation = run(client, tmp_path / "live")
    assert conversation == run(OfflineClient(SCRIPT), tmp_path / "offline")
    assert [message["content"] for message in conversation if message["role"] == "assistant"] == [turn["content"] for turn in SCRIPT]
    assert [json.loads(line)["turn"] for line in log.read_text().splitlines()] == [0, 1, 2]


def test_the_program_with_live_is_killed_and_resumed_over_the_wire(tmp_path):
    with serving(ScriptedAPI(SALES_REPORT.script).answer) as url:
        environment = {**os.environ, "ANTHROPIC_BASE_URL": url, "CRASH_AFTER": "after-effect-write:3"}
        program = [sys.executable, "-m", "course_lib", "--live", "--dir", str(tmp_path)]
        killed = subprocess.run(program, env=environment, capture_output=True, text=True)
        del environment["CRASH_AFTER"]
        resumed = subprocess.run([*program, "--resume"], env=environment, capture_output=True, text=True)
    assert (killed.returncode, resumed.returncode) == (137, 0), killed.stderr + resumed.stderr
    assert resumed.stdout.splitlines()[1:] == [
        "[resume][reconcile] tool_use_id=toolu_03 name=write_report ledger hit, reusing result, not re-running",
        "[turn 3][save B] filled in this turn's tool result after resume",
        "[done] Report written to report.txt, task complete."]
    assert not any(KEY.encode() in path.read_bytes() for path in tmp_path.iterdir())


def test_a_refused_conversation_is_the_sdks_bad_request_and_equal_to_the_one_made_offline():
    dangling = [TASK, {"role": "assistant", "content": SCRIPT[0]["content"]}]
    with serving(ScriptedAPI(SCRIPT).answer) as url, live_client(base_url=url) as client:
        with pytest.raises(anthropic.BadRequestError) as live:
            ask(client, dangling)
    with pytest.raises(RequestRefused) as offline:
        ask(OfflineClient(SCRIPT), dangling)
    shown = as_sdk_error(offline.value)
    assert (str(live.value), live.value.body, live.value.request_id) == (str(shown), shown.body, shown.request_id)
    said = explain(live.value)
    assert said == explain(offline.value) and KEY not in said
    assert said.startswith("The API refused the request (400): messages.1: `tool_use` ids were found without "
                           "`tool_result` blocks immediately after: toolu_01.")


def test_the_sdks_own_retries_get_over_an_overloaded_api():
    api, answers = ScriptedAPI(SCRIPT), [OVERLOADED, OVERLOADED]
    with serving(lambda request: answers.pop() if answers else api.answer(request)) as url, live_client(base_url=url) as client:
        reply = ask(client, [TASK]).to_dict()  # the SDK asks three times unless it is told otherwise
    assert answers == [] and reply["content"] == SCRIPT[0]["content"]  # the refused attempts used up no turn


def test_an_api_that_stays_overloaded_is_explained():
    with serving(lambda request: OVERLOADED) as url, live_client(base_url=url) as client:
        with pytest.raises(anthropic.APIStatusError) as error:
            ask(client, [TASK])
    assert explain(error.value) == "The API is overloaded (529), also after the SDK's own retries: wait a little, then resume."


def test_an_api_that_does_not_answer_in_time_is_explained():
    gone = threading.Event()

    def answer_after_the_client_is_gone(request):
        gone.wait(30)
        return OVERLOADED

    with serving(answer_after_the_client_is_gone) as url, live_client(base_url=url, timeout=0.2, max_retries=0) as client:
        try:
            with pytest.raises(anthropic.APITimeoutError) as error:
                ask(client, [TASK])
        finally:
            gone.set()
    assert explain(error.value) == "The API did not answer in time: check the network, then resume."


def test_an_api_that_can_not_be_reached_is_explained():
    with serving(ScriptedAPI(SCRIPT).answer) as url:
        pass  # its port is free again, so nobody listens there
    with live_client(base_url=url, max_retries=0) as client, pytest.raises(anthropic.APIConnectionError) as error:
        ask(client, [TASK])
    said = explain(error.value)
    assert said.startswith("The API could not be reached (") and said.endswith("): check the network, then resume.")


def test_a_wrong_key_is_explained_without_it():
    wrong = 401, {"type": "error", "error": {"type": "authentication_error", "message": f"invalid x-api-key: {KEY}"}}
    with serving(lambda request: wrong) as url, live_client(base_url=url) as client:
        with pytest.raises(anthropic.AuthenticationError) as error:
            ask(client, [TASK])
    assert "did not accept the key" in explain(error.value) and KEY not in explain(error.value)


@pytest.mark.parametrize("in_environment", [True, False])
def test_a_key_with_a_line_break_is_explained_without_it(monkeypatch, in_environment):
    broken = KEY[:15] + "\n" + KEY[15:]
    if in_environment:
        monkeypatch.setenv("ANTHROPIC_API_KEY", broken)
    with serving(ScriptedAPI(SCRIPT).answer) as url, anthropic.Anthropic(api_key=broken, base_url=url, max_retries=0) as client:
        with pytest.raises(anthropic.APIConnectionError) as error:
            ask(client, [TASK])
    assert "not-a-re" in str(error.value.__cause__)  # the HTTP library quotes the header
    for said in (explain(error.value), explain(error.value.__cause__)):
        assert "not-a-re" not in said and KEY[15:] not in said
    assert explain(error.value) == "The request could not be sent: check that the key in ANTHROPIC_API_KEY is one line without spaces."
