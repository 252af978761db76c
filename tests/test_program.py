"""The lesson-6 program as a process: both transcripts, every error a command line can meet, the key (DESIGN sections 6 and 12)."""
import ast
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from course_lib.moments import LABELS
from helpers import ROOT, killed, on_disk, program, program_here, read, refused, said, scene, text, tools_run, use, write

FIRST = """\
[turn 1][save A] pending=read_notes
[turn 1][save B]
[turn 2][save A] pending=count_words
[turn 2][save B]
[turn 3][save A] pending=write_report
"""
KILLED = FIRST + "[kill] simulated kill at after-effect-write:3\n"
RESUMED = """\
[resume] read turn=3 pending=write_report
[resume][reconcile] tool_use_id=toolu_03 name=write_report ledger hit, reusing result, not re-running
[turn 3][save B] filled in this turn's tool result after resume
[done] Report written to report.txt, task complete.
"""
DONE = "[done] Report written to report.txt, task complete.\n"


def ended(process, code, out, err=""):
    assert (process.stdout, process.stderr, process.returncode) == (out, err, code)


# the lesson's terminal

def test_both_transcripts_of_the_lesson_come_out_character_for_character(tmp_path):
    ended(program(tmp_path, CRASH_AFTER="after-effect-write:3"), 137, KILLED)
    report = (tmp_path / "report.txt").read_bytes()
    ended(program(tmp_path, "--resume"), 0, RESUMED)
    assert tools_run(tmp_path) == ["read_notes", "count_words", "write_report"]
    assert (tmp_path / "report.txt").read_bytes() == report
    assert sorted(on_disk(tmp_path)) == ["checkpoint.json", "effects.json", "journal.jsonl", "report.txt", "requests.jsonl", "sales-notes.txt"]


def test_without_a_crash_the_run_goes_through_in_one_start(tmp_path):
    ended(program(tmp_path), 0, FIRST + "[turn 3][save B]\n" + DONE)


def test_a_read_only_call_that_is_not_in_the_ledger_runs_again(tmp_path):
    folder = killed(tmp_path, "after-save-a:2")
    ended(program(folder, "--resume"), 0, """\
[resume] read turn=2 pending=count_words
[resume][reconcile] tool_use_id=toolu_02 name=count_words ledger miss, read-only tool, re-running
[turn 2][save B] filled in this turn's tool result after resume
[turn 3][save A] pending=write_report
[turn 3][save B]
""" + DONE)
    assert tools_run(folder) == ["read_notes", "count_words", "write_report"]


@pytest.mark.parametrize(("crash", "runs"), [("after-save-a:3", 0), ("after-tool:3", 1), ("mid-effect-write:3", 1)])
def test_a_call_with_side_effects_that_is_not_in_the_ledger_is_told_as_unknown_whether_it_ran_or_not(tmp_path, crash, runs):
    folder = killed(tmp_path, crash)
    process = program(folder, "--resume")
    lines = process.stdout.splitlines()
    assert lines[:3] == ["[resume] read turn=3 pending=write_report",
                         "[resume][reconcile] tool_use_id=toolu_03 name=write_report ledger miss with side effects, unresolvable, appending is_error",
                         "[turn 3][save B] filled in this turn's tool result after resume"]
    assert lines[3].startswith("[done] I can't confirm") and (len(lines), process.stderr, process.returncode) == (4, "", 0)
    assert tools_run(folder).count("write_report") == runs
    assert "toolu_03" not in read(folder / "effects.json")


@pytest.mark.parametrize(("call", "line"), [
    (use("toolu_ro", "read_notes"), "tool_use_id=toolu_ro name=read_notes ledger miss, read-only tool, re-running"),
    (use("toolu_side", "write_report", text="x"), "tool_use_id=toolu_side name=write_report ledger miss with side effects, unresolvable, appending is_error"),
])
def test_files_as_the_lessons_own_program_writes_them_resume_here_with_the_lessons_line(tmp_path, call, line):
    (tmp_path / "sales-notes.txt").write_text("notes")
    write(tmp_path / "checkpoint.json", scene([], pending=call, turns=1))
    write(tmp_path / "effects.json", {"toolu_00": {"name": "read_notes", "result": "x", "at": 1767603600000}})
    process = program(tmp_path, "--resume")
    assert process.stdout.splitlines()[1] == f"[resume][reconcile] {line}"
    assert (process.stderr, process.returncode) == ("", 0)


def test_with_nothing_pending_nothing_is_filled_in_and_the_model_is_asked_again(tmp_path):
    ended(program(killed(tmp_path, "after-save-b:2"), "--resume"), 0,
          "[resume] read turn=2 pending=null\n[turn 3][save A] pending=write_report\n[turn 3][save B]\n" + DONE)


@pytest.mark.parametrize("crash", [None, "after-final-save:1"])
def test_a_finished_run_resumed_again_asks_nothing_writes_nothing_and_repeats_its_end(tmp_path, crash):
    folder = killed(tmp_path, crash)
    before = on_disk(folder)
    for _ in range(2):
        ended(program(folder, "--resume"), 0, "[resume] read turn=3 pending=null\n" + DONE)
    assert on_disk(folder) == before


@pytest.mark.parametrize("label", sorted(set(LABELS) - {"after-approval", "mid-intent", "after-intent"}))
def test_every_moment_of_the_task_can_be_the_last_and_its_own_line_comes_before_the_kill(tmp_path, label):
    process = program(tmp_path, CRASH_AFTER=f"{label}:1")
    lines = process.stdout.splitlines()
    assert (lines[-1], process.stderr, process.returncode) == (f"[kill] simulated kill at {label}:1", "", 137)
    own = {"after-save-a": "[turn 1][save A] pending=read_notes", "after-save-b": "[turn 1][save B]"}
    assert label not in own or lines[-2] == own[label]


def test_the_resume_counts_its_moments_anew_and_can_be_killed_by_the_same_names(tmp_path):
    folder = killed(tmp_path, "after-save-a:2")
    ended(program(folder, "--resume", CRASH_AFTER="after-effect-write:1"), 137, """\
[resume] read turn=2 pending=count_words
[resume][reconcile] tool_use_id=toolu_02 name=count_words ledger miss, read-only tool, re-running
[kill] simulated kill at after-effect-write:1
""")


def test_a_crash_that_never_came_is_said_on_stderr(tmp_path):
    ended(program(killed(tmp_path, "after-save-b:2"), "--resume", CRASH_AFTER="after-save-a:2"), 0,
          "[resume] read turn=2 pending=null\n[turn 3][save A] pending=write_report\n[turn 3][save B]\n" + DONE,
          "The run ended and the crash never came: after-save-a happened 1 times.\n")


def test_the_turn_limit_is_a_pause_and_a_higher_one_goes_on(tmp_path):
    ended(program(tmp_path, "--max-turns", 1), 0, "[turn 1][save A] pending=read_notes\n[turn 1][save B]\n"
          "[done] Reached the max of 1 turns, stopping on our own\n")
    assert tools_run(tmp_path) == ["read_notes"]
    ended(program(tmp_path, "--resume", "--max-turns=3"), 0, "[resume] read turn=1 pending=null\n" + "".join(FIRST.splitlines(True)[2:])
          + "[turn 3][save B]\n" + DONE)


def test_dir_names_the_folder_and_makes_it_and_the_current_one_stays_clean(tmp_path):
    ended(program(tmp_path, "--dir", "a/b", CRASH_AFTER="after-effect-write:3"), 137, KILLED)
    ended(program(tmp_path, "--resume", "--dir", tmp_path / "a/b"), 0, RESUMED)
    assert os.listdir(tmp_path) == ["a"]


def test_a_students_own_notes_are_used_and_kept(tmp_path):
    (tmp_path / "sales-notes.txt").write_text("four words of notes")
    program(tmp_path)
    assert (tmp_path / "sales-notes.txt").read_text() == "four words of notes"
    assert read(tmp_path / "effects.json")["toolu_02"]["result"] == "4 words"


def test_notes_that_are_gone_when_a_call_runs_again_are_an_error_for_the_model_not_for_the_program(tmp_path):
    folder = killed(tmp_path, "after-save-a:1")
    (folder / "sales-notes.txt").unlink()
    process = program(folder, "--resume")
    assert (process.stdout.count("re-running"), process.stderr, process.returncode) == (1, "", 0)
    assert "FileNotFoundError" in read(folder / "checkpoint.json")["messages"][2]["content"][0]["content"]


def test_a_fresh_start_over_an_unfinished_run_says_so_and_begins_from_the_beginning(tmp_path):
    folder = killed(tmp_path, "after-effect-write:3")
    (folder / "mine.txt").write_text("mine")
    (folder / "checkpoint.json.0123456789ab.tmp").write_text("{")
    process = program(folder)
    assert (process.stdout, process.returncode) == (FIRST + "[turn 3][save B]\n" + DONE, 0)
    assert process.stderr.count("\n") == 1 and "turn=3 pending=write_report" in process.stderr
    assert "mine.txt" in on_disk(folder) and "checkpoint.json.0123456789ab.tmp" not in on_disk(folder)
    assert list(read(folder / "effects.json")) == ["toolu_01", "toolu_02", "toolu_03"]


def test_hostile_text_on_the_terminal_stays_text_in_a_terminal_that_knows_only_ascii(tmp_path):
    write(tmp_path / "checkpoint.json", scene([{"role": "assistant", "content": "caf\u00e9 \ud83d <script>"}]))
    ended(program(tmp_path, "--resume", PYTHONIOENCODING="ascii"), 0, "[resume] read turn=0 pending=null\n[done] caf\\xe9 \\ud83d <script>\n")


# the key

KEY = "sk-ant-" + "api03-Very-Secret_0123456789"  # in two parts, so that no search for leaked keys finds this line


def test_a_key_in_the_environment_reaches_neither_files_nor_output(tmp_path):
    first = program(tmp_path, CRASH_AFTER="after-tool:3", ANTHROPIC_API_KEY=KEY)
    second = program(tmp_path, "--resume", ANTHROPIC_API_KEY=KEY)
    assert first.returncode == 137 and second.returncode == 0
    assert_secret(tmp_path, first, second)


@pytest.mark.parametrize("key", [KEY + "\n", "two words " + KEY, "ü" + KEY])
def test_a_key_that_no_request_can_carry_is_refused_without_quoting_it(tmp_path, key):
    process = program_here(tmp_path, "--live", ANTHROPIC_API_KEY=key)
    refused(process, "ANTHROPIC_API_KEY")
    assert_secret(tmp_path, process)
    assert os.listdir(tmp_path) == []


def test_an_error_of_the_live_model_that_quotes_the_key_is_shown_without_it_and_the_run_can_be_resumed(tmp_path):
    class Server(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if len(sent["messages"]) == 1:
                status, body = 200, {"id": "msg_1", "type": "message", "role": "assistant", "model": sent["model"], "stop_reason": "tool_use", "stop_sequence": None,
                                     "content": [text("Reading."), use("toolu_live", "read_notes")], "usage": {"input_tokens": 9, "output_tokens": 2}}
            else:
                status, body = 400, {"type": "error", "error": {"type": "invalid_request_error", "message": f"I do not like {self.headers['authorization']} at all."}}
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        process = program(tmp_path, "--live", ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    refused(process, "400", "I do not like Bearer [key] at all", out="[turn 1][save A] pending=read_notes\n[turn 1][save B]\n")
    assert_secret(tmp_path, process)
    kept = read(tmp_path / "checkpoint.json")
    assert (kept["turns"], kept["tokensUsed"], kept["messages"][1]) == (1, 11, said(text("Reading."), use("toolu_live", "read_notes")))
    assert program(tmp_path, "--resume").stdout.endswith(DONE)


def assert_secret(folder, *processes):
    for place in [*on_disk(folder).values(), *(process.stdout + process.stderr for process in processes)]:
        assert "Secret" not in (place if isinstance(place, str) else place.decode("utf-8", "replace"))


# what the library pulls in, and from where

def test_importing_the_library_imports_no_sdk_no_widgets_and_no_http():
    code = "import sys, course_lib; print(sorted({name.partition('.')[0] for name in sys.modules} & set(sys.argv[1:])))"
    heavy = ["anthropic", "ipywidgets", "IPython", "httpx", "httpx2", "anywidget", "requests", "urllib3", "asyncio", "http", "socket"]
    process = subprocess.run([sys.executable, "-c", code, *heavy], cwd=ROOT, capture_output=True, text=True)
    assert (process.stdout, process.stderr) == ("[]\n", "")


LAYERS = [{"errors"}, {"values", "moments", "transcript", "words"}, {"storage"}, {"checkpoint", "ledger"}, {"places"}, {"turns", "book"}, {"history"}, {"keeping"},
          {"tools", "stops", "guard", "reopen", "log"}, {"resume"}, {"scenes"}, {"family"}, {"standing"}, {"branches"}, {"agent"}, {"repair", "session", "doctor", "scripted_api"}, {"model"}, {"scenarios"},
          {"proof"}, {"widgets", "grading", "notebook"}, {"__main__", "cli"}]
CORE = set().union(*LAYERS[:15]) - {"words"}


def imported(path):
    """What a module imports: ours by their first name, others as they are."""
    inside = len(path.relative_to(ROOT / "course_lib").parts) - 1
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("course_lib.").partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not 0 < node.level <= inside:  # not a neighbour in the same subpackage
            names = [node.module] if node.module else [alias.name for alias in node.names]
            yield from (name.removeprefix("course_lib.").partition(".")[0] for name in names)


@pytest.mark.parametrize("name", sorted(CORE))
def test_a_core_module_imports_nothing_but_the_standard_library_and_what_lies_below_it(name):
    below = set().union(*LAYERS[:next(i for i, layer in enumerate(LAYERS) if name in layer)])
    assert set(imported(ROOT / "course_lib" / f"{name}.py")) <= below | sys.stdlib_module_names


def test_what_lies_beside_and_above_the_core_imports_downwards_too():
    rank = {name: i for i, layer in enumerate(LAYERS) for name in layer}
    for path in (ROOT / "course_lib").rglob("*.py"):
        own = path.relative_to(ROOT / "course_lib").parts[0].removesuffix(".py")
        if own != "__init__":
            upwards = [name for name in imported(path) if rank.get(name, -1) > rank[own]]
            assert upwards == [], path
