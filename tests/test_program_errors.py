"""Every error a command line can meet: one sentence, exit code 1, no file touched (DESIGN sections 6 and 12)."""
import json
import os
import sys

import pytest

from course_lib.moments import LABELS
from helpers import answer, killed, on_disk, program, program_here, refused, said, scene, told, tools_run, use, write

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's /proc or its file size limit")


OPTIONS = [(["--max-turns", "0"], "--max-turns"), (["--max-turns", "-1"], "--max-turns"), (["--max-turns", "2.5"], "--max-turns"),
           (["--max-turns", "9" * 5000], "--max-turns"), (["--max-turns"], "--max-turns"), (["--dir"], "--dir"), (["--rewind"], "--rewind"),
           (["again"], "again"), (["--live"], "ANTHROPIC_API_KEY"), (["--live", "--resume"], "ANTHROPIC_API_KEY")]


@pytest.mark.parametrize(("options", "named"), OPTIONS, ids=lambda value: str(value)[:30])
def test_a_bad_option_is_refused_by_name_and_no_file_is_touched(tmp_path, options, named):
    folder = killed(tmp_path, "after-effect-write:3")
    before = on_disk(folder)
    refused(program_here(folder, *options), named)
    assert on_disk(folder) == before


@pytest.mark.parametrize("begun, asked", [("file", "turns"), ("file", "history"), ("turns", "history"), ("turns", "file"), ("history", "turns"), ("history", "file")])
def test_a_resume_that_is_to_keep_its_saves_another_way_is_refused_and_no_file_is_touched(tmp_path, begun, asked):
    assert program_here(tmp_path, "--keep", begun, CRASH_AFTER="after-effect-write:3").returncode == 137
    before = on_disk(tmp_path)
    refused(program_here(tmp_path, "--resume", "--keep", asked), f"--keep {begun}", f"to {asked}")
    assert on_disk(tmp_path) == before


@pytest.mark.parametrize("begun", ["file", "turns", "history"])
@pytest.mark.parametrize("says_so", [True, False])
def test_a_resume_goes_on_in_the_way_the_run_was_begun_whether_that_is_said_or_not(tmp_path, begun, says_so):
    assert program_here(tmp_path, "--keep", begun, CRASH_AFTER="after-effect-write:3").returncode == 137
    assert program_here(tmp_path, "--resume", *(["--keep", begun] if says_so else [])).returncode == 0
    assert (tmp_path / "history.jsonl").exists() == (begun == "history") and (tmp_path / "turn-003-B.json").exists() == (begun == "turns")


def test_where_nothing_is_saved_yet_a_way_to_keep_it_is_no_reason_to_refuse(tmp_path):
    assert program_here(tmp_path, "--keep", "history", CRASH_AFTER="after-response:1").returncode == 137
    refused(program_here(tmp_path, "--resume", "--keep", "history"), "nothing to resume from")


@pytest.mark.parametrize("value", ["after-effect-write", "after-effect-write:", "after-effect-write:0", "after-effect-write:-1", "after-effect-write:1.5",
                                   "after-effect-write:two", "after-effect-write:" + "1" * 5000, "nowhere:1", "AFTER-SAVE-A:1", ":1", "1", " "])
def test_an_unknown_moment_or_a_bad_count_is_refused_with_the_moments_there_are_and_no_file_is_touched(tmp_path, value):
    folder = killed(tmp_path, "after-effect-write:3")
    before = on_disk(folder)
    refused(program_here(folder, CRASH_AFTER=value), "CRASH_AFTER", *LABELS)
    assert on_disk(folder) == before


def test_an_empty_crash_after_means_none(tmp_path):
    assert program(tmp_path, CRASH_AFTER="").returncode == 0


GOOD = scene([said(use("t1", "read_notes"))], pending=use("t1", "read_notes"), turns=1)
CHECKPOINTS = {
    "empty": (b"", "empty"), "torn": (json.dumps(GOOD).encode()[:90], "cut off"), "zero bytes": (b"\0" * 512, "zero bytes"),
    "not utf-8": (b"\xff\xfe{}", "checkpoint.json"), "nan": (b'{"version": NaN}', "NaN"), "two values": (b"{} {}", "checkpoint.json"),
    "a list": (b"[1]", "a list"), "a text": (b'"hello"', "a text"), "null": (b"null", "null"), "a number": (b"7", "a number"),
    "deep": (b"[" * 100_000, "nested"), "a hostile text": (b'{"version": "<script>\\u001b[31m\\n[done] ok"}', "version"),
    **{f"version {json.dumps(version)}": (json.dumps({**GOOD, "version": version}).encode(), f"version {json.dumps(version)}") for version in ("1", True, 2, 0, 1.5, None)},
    **{f"no {key}": (json.dumps({name: value for name, value in GOOD.items() if name != key}).encode(), key) for key in GOOD},
    **{f"{key} {json.dumps(value)}": (json.dumps({**GOOD, key: value}).encode(), key) for key, value in [
        ("task", 1), ("turns", -1), ("turns", True), ("turns", 1.0), ("tokensUsed", "7"), ("messages", {}), ("messages", []), ("messages", ["hi"]),
        ("messages", [{"role": "system", "content": "x"}]), ("messages", [{"role": "user"}]), ("messages", [{"role": "user", "content": [1]}]),
        ("pendingToolUse", []), ("pendingToolUse", {"id": "t1"}), ("pendingToolUse", {"id": 1, "name": "x", "input": {}}),
        ("pendingToolUse", {"id": "t1", "name": "x", "input": []})]},
    "a dangling call and nothing pending": (json.dumps({**GOOD, "pendingToolUse": None}).encode(), "t1"),
    "a pending call that the conversation lacks": (json.dumps({**GOOD, "pendingToolUse": {"id": "t2", "name": "read_notes", "input": {}}}).encode(), "t2"),
}


@pytest.mark.parametrize(("data", "words"), CHECKPOINTS.values(), ids=CHECKPOINTS)
def test_a_checkpoint_that_can_not_be_trusted_is_refused_with_the_reason_and_what_to_do_and_no_file_is_touched(tmp_path, data, words):
    (tmp_path / "checkpoint.json").write_bytes(data)
    (tmp_path / "effects.json").write_text("{")
    (tmp_path / "checkpoint.json.0123456789ab.tmp").write_bytes(b"{")
    before = on_disk(tmp_path)
    refused(program_here(tmp_path, "--resume"), "checkpoint.json", words, "start over without --resume")
    assert on_disk(tmp_path) == before


@pytest.mark.parametrize("folder", [".", "nowhere"])
def test_with_no_checkpoint_there_is_nothing_to_resume_from_and_no_folder_is_made(tmp_path, folder):
    refused(program(tmp_path, "--resume", "--dir", folder), "checkpoint.json", "start without --resume")
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_that_is_a_folder_is_named_with_the_systems_reason(tmp_path):
    (tmp_path / "checkpoint.json").mkdir()
    refused(program(tmp_path, "--resume"), "checkpoint.json", "directory")


@pytest.mark.parametrize("options", [[], ["--resume"]])
def test_a_dir_that_is_a_file_is_named(tmp_path, options):
    (tmp_path / "file").write_text("mine")
    refused(program(tmp_path, "--dir", "file", *options), "file", "not a folder")
    refused(program(tmp_path, "--dir", "file/sub", *options), "Not a directory")
    assert on_disk(tmp_path) == {"file": b"mine"}


@LINUX
def test_a_dir_that_can_not_be_made_or_written_is_named_with_the_systems_reason(tmp_path):
    refused(program(tmp_path, "--dir", "/proc/nowhere/x"), "/proc/nowhere/x", "can't be made", "--dir")
    refused(program(tmp_path, "--dir", "/proc/self"), "The folder self can't be written")


@LINUX
def test_a_disk_without_room_is_found_before_the_first_request(tmp_path):
    folder = killed(tmp_path, "after-save-b:2")
    before = on_disk(folder)
    for options in ([], ["--resume"]):
        refused(program(folder, *options, preexec_fn=lambda: limit(0)), "can't be written: File too large",
                out="[resume] read turn=2 pending=null\n" if options else "")
        assert on_disk(folder) == before


@LINUX
def test_a_disk_that_fills_at_point_a_starts_no_tool_and_leaves_the_last_point_b_to_resume_from(tmp_path, tmp_path_factory):
    folder = killed(tmp_path, "after-save-b:2")
    before = on_disk(folder)
    needed = killed(tmp_path_factory.mktemp("needed"), "after-save-a:3") / "checkpoint.json"
    room = needed.stat().st_size - 1
    refused(program(folder, "--resume", preexec_fn=lambda: limit(room)), "checkpoint.json could not be saved: File too large",
            out="[resume] read turn=2 pending=null\n")
    assert {name: data for name, data in on_disk(folder).items() if name != "requests.jsonl"} == {
        name: data for name, data in before.items() if name != "requests.jsonl"}
    assert program(folder, "--resume").stdout.endswith("[done] Report written to report.txt, task complete.\n")
    assert tools_run(folder) == ["read_notes", "count_words", "write_report"]


def limit(size):
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("name", ["sales-notes.txt", "requests.jsonl"])
def test_a_file_of_the_world_that_can_not_be_used_is_an_error_in_one_sentence(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / "sales-notes.txt").mkdir(exist_ok=True)
    process = program(tmp_path)
    if name == "sales-notes.txt":  # the tool's own business, and the model's
        assert (process.returncode, process.stderr) == (0, "")
    else:
        refused(process, "requests.jsonl", "directory")


def test_a_torn_ledger_is_set_aside_under_a_printed_name_and_the_effect_stays_unknown(tmp_path):
    folder = killed(tmp_path, "after-effect-write:3")
    torn = (folder / "effects.json").read_bytes()[:-20]
    (folder / "effects.json").write_bytes(torn)
    process = program(folder, "--resume")
    assert "effects.json.broken.1" in process.stderr and process.stderr.count("\n") == 1
    assert "unresolvable, appending is_error" in process.stdout and process.returncode == 0
    assert (folder / "effects.json.broken.1").read_bytes() == torn
    assert tools_run(folder).count("write_report") == 1


def test_a_ledger_of_another_run_is_refused_and_names_the_way_out(tmp_path):
    folder = killed(tmp_path, "after-save-a:3")
    write(folder / "effects.json", {"toolu_03": {"name": "write_report", "result": "x", "at": 1, "input": {"text": "other"}}})
    before = on_disk(folder)
    refused(program(folder, "--resume"), "toolu_03", "start over without --resume", out="[resume] read turn=3 pending=write_report\n")
    assert on_disk(folder) == before


def test_a_request_that_the_model_refuses_is_one_sentence_and_the_run_can_be_resumed(tmp_path):
    thinking = [{"type": "thinking", "thinking": "not the script's", "signature": "x"}, use("toolu_01", "read_notes")]
    write(tmp_path / "checkpoint.json", scene([said(*thinking), told(answer("toolu_01", "x"))], turns=1))
    before = on_disk(tmp_path)
    refused(program(tmp_path, "--resume"), "400", "thinking", out="[resume] read turn=1 pending=null\n")
    assert {**on_disk(tmp_path), "requests.jsonl": b""} == {**before, "requests.jsonl": b""}
