"""course doctor: as a person runs it, in a process of its own; and what it is made of."""
import json
import subprocess
import sys

import pytest

from course_lib.doctor import examine
from course_lib.scenarios.broken import BROKEN, SOUND
from course_lib.transcript import check_transcript
from helpers import ROOT, on_disk

ODD = {"role": "user", "content": "half a character: \ud83d"}


def doctor(folder, *arguments, **more):
    return subprocess.run([sys.executable, "-m", "course_lib.cli", "doctor", *map(str, arguments)], cwd=folder, capture_output=True, text=True,
                          encoding="utf-8", timeout=60, env={"PYTHONPATH": str(ROOT), "PATH": "", **more})


def written(folder, value, name="session.json"):
    (folder / name).write_text(json.dumps(value))
    return name


def refused(process, *words):
    assert (process.stdout, process.returncode) == ("", 2), process
    assert process.stderr.count("\n") == 1 and process.stderr.endswith(".\n") and "Traceback" not in process.stderr
    assert all(word in process.stderr for word in words), process.stderr


def test_a_sound_conversation_exits_0_and_nothing_is_written_even_if_asked_and_that_is_said(tmp_path):
    process = doctor(tmp_path, written(tmp_path, SOUND))
    assert (process.stdout, process.stderr, process.returncode) == ("session.json: 3 messages, 0 breaches of the API's rules.\n", "", 0)
    asked = doctor(tmp_path, "session.json", "--out", "mended.json")
    assert (asked.stdout, asked.stderr, asked.returncode) == (process.stdout + "There is nothing to mend, so nothing was written.\n", "", 0)
    assert list(on_disk(tmp_path)) == ["session.json"]


def test_a_finished_conversation_is_sound_and_the_report_says_that_it_is_finished(tmp_path):
    process = doctor(tmp_path, written(tmp_path, [*SOUND, {"role": "assistant", "content": "done"}]))
    assert process.returncode == 0 and "finished conversation" in process.stdout


def test_breaches_exit_1_with_position_id_and_mend_and_touch_no_file(tmp_path):
    name = written(tmp_path, BROKEN["a person spoke in between"])
    before = on_disk(tmp_path)
    process = doctor(tmp_path, name)
    assert process.returncode == 1 and process.stderr == ""
    assert "messages.1.content.0 toolu_01: unanswered: messages.1: `tool_use` ids were found without" in process.stdout
    assert "messages.4.content.0 toolu_01: The result of read_file (toolu_01) was moved up, right behind its call." in process.stdout
    assert "--out FILE" in process.stdout and on_disk(tmp_path) == before


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_written_with_out_is_sound_and_the_input_stays(tmp_path, name):
    source = written(tmp_path, BROKEN[name])
    assert doctor(tmp_path, source, "--out", "mended.json").returncode == 1
    assert json.loads((tmp_path / source).read_text()) == BROKEN[name]
    assert check_transcript(json.loads((tmp_path / "mended.json").read_bytes())) == []
    assert doctor(tmp_path, "mended.json").returncode == 0


def test_what_only_a_person_can_mend_is_listed_and_nothing_else_is_claimed(tmp_path):
    process = doctor(tmp_path, written(tmp_path, [{"role": "robot", "content": "x"}]), "--out", "mended.json")
    assert process.returncode == 1 and "without a person" in process.stdout and "Nothing was written." in process.stdout
    assert not (tmp_path / "mended.json").exists()


def test_what_is_left_after_the_mends_is_named(tmp_path):
    process = doctor(tmp_path, written(tmp_path, [{"role": "robot", "content": "x"}, {"role": "user", "content": " "}]))
    assert "What only a person can decide (1)" in process.stdout and "messages.0: role" in process.stdout


@pytest.mark.parametrize("out", ["session.json", "./session.json", "link.json"])
def test_the_evidence_is_never_written_over(tmp_path, out):
    written(tmp_path, BROKEN["resumed twice"])
    (tmp_path / "link.json").symlink_to("session.json")
    before = on_disk(tmp_path)
    refused(doctor(tmp_path, "session.json", "--out", out), "choose another name")
    assert on_disk(tmp_path) == before


@pytest.mark.parametrize(("data", "words"), [
    (b"", ["session.json: ", "empty"]), (b"\xff\xfe", ["not UTF-8"]), (b"[" * 100_000, ["nested"]), (b'{"role": "user", "content": "a"}\n{"ro\n', ["Line 2 is damaged"])])
def test_a_file_that_cannot_be_read_exits_2_with_one_sentence(tmp_path, data, words):
    (tmp_path / "session.json").write_bytes(data)
    refused(doctor(tmp_path, "session.json"), *words)


def test_a_name_without_a_file_or_a_folder_exits_2_with_the_systems_reason(tmp_path):
    refused(doctor(tmp_path, "nowhere.json"), "No such file")
    refused(doctor(tmp_path, tmp_path), "directory")


def test_a_place_that_cannot_be_written_exits_2_and_says_so(tmp_path):
    process = doctor(tmp_path, written(tmp_path, BROKEN["resumed twice"]), "--out", "nowhere/mended.json")
    assert process.returncode == 2 and "mended.json could not be saved" in process.stderr and process.stderr.count("\n") == 1


def test_hostile_text_reaches_no_terminal_as_it_is(tmp_path):
    bad = "t\x1b[2J\u202e\r\n1"
    process = doctor(tmp_path, written(tmp_path, [{"role": "assistant", "content": [{"type": "tool_use", "id": bad, "name": "\x1b]0;x\x07", "input": {}}]}, ODD]))
    assert process.returncode == 1 and r"t\x1b[2J\u202e\r\n1" in process.stdout
    assert all(c.isprintable() or c == "\n" for c in process.stdout)


def test_a_terminal_without_the_sign_still_gets_the_line(tmp_path):
    process = doctor(tmp_path, written(tmp_path, [ODD]), PYTHONIOENCODING="ascii")
    assert process.returncode == 1 and r"became the sign \ufffd" in process.stdout


def test_a_turn_of_very_many_open_calls_is_a_report_of_readable_lines(tmp_path):
    calls = [{"type": "tool_use", "id": f"toolu_{i:05}", "name": "read", "input": {}} for i in range(3000)]
    process = doctor(tmp_path, written(tmp_path, [{"role": "user", "content": "go"}, {"role": "assistant", "content": calls}]))
    assert process.returncode == 1 and max(map(len, process.stdout.splitlines())) < 500


def test_the_report_may_be_cut_off_by_the_reader(tmp_path):
    name = written(tmp_path, [{"role": "user", "content": ""}] * 20_000)
    command = [sys.executable, "-m", "course_lib.cli", "doctor", name]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_half_a_character_is_a_breach_like_the_others():  # C49
    assert [(breach["rule"], breach["where"]) for breach in examine(json.dumps([ODD]).encode()).breaches] == [("lone-surrogate", "messages.0.content")]
