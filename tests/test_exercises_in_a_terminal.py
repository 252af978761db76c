"""course check, hint, reset and progress: the exercises without a notebook."""
import json
import os
import subprocess
import sys

import pytest

from course_lib.grading import catalogue

FORM, WRONG_FORM = catalogue.exercise("4.1").solution, {**catalogue.exercise("4.1").solution, "read_file": {"idempotent": "no", "risk": "low", "because": "leaves-nothing"}}


@pytest.fixture
def course(tmp_path):
    """course("check", "4.2", "answer.py"): (exit code, what it printed, what it complained of)."""
    def run(*words):
        ran = subprocess.run([sys.executable, "-m", "course_lib.cli", *words], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=60,
                             env={**os.environ, "COURSE_PROGRESS": str(tmp_path / "kept.json"), "PYTHONIOENCODING": "utf-8"})
        assert "Traceback" not in ran.stderr
        return ran.returncode, ran.stdout, ran.stderr
    return run


def test_a_student_solves_a_form_from_a_file_with_the_hints(course, tmp_path):
    (tmp_path / "rated.json").write_text(json.dumps(WRONG_FORM))
    code, out, _ = course("check", "4.1", "rated.json")
    assert code == 1 and "✗ All six are rated rightly" in out and "A question back:" in out
    first, second, third, fourth = (course("hint", "4.1")[1] for _ in range(4))
    assert first.startswith("1. ") and first.endswith("\n(1 of 3)\n")
    assert "\n2. " in second and second.endswith("\n(2 of 3)\n")
    assert third.endswith("\n(3 of 3; there are no more on this)\n") and fourth == third
    assert "not solved yet · 1 attempt · 3 hints" in course("progress")[1]
    (tmp_path / "rated.json").write_text(json.dumps(FORM))
    assert course("check", "4.1", "rated.json")[0] == 0
    assert "✓ solved · 2 attempts" in course("progress")[1]


def test_a_program_begins_with_reset_and_is_checked(course, tmp_path):
    (tmp_path / "mine.py").write_text("what I had")
    code, out, _ = course("reset", "4.2", "mine.py")
    assert code == 0 and "mine.py holds what one begins with" in out
    assert (tmp_path / "mine.py").read_text() == catalogue.starter_text("4.2") and (tmp_path / "mine.py.old").read_text() == "what I had"
    code, out, _ = course("check", "4.2", "mine.py")
    assert code == 1 and "not attempted" in out
    (tmp_path / "mine.py").write_text(catalogue.exercise("4.2").solution, encoding="utf-8")
    assert course("check", "4.2", "mine.py")[:1] == (0,)
    assert course("reset", "4.2")[0] == 0 and json.loads((tmp_path / "kept.json").read_text()) == {}


@pytest.mark.parametrize("words, said", [
    (("check", "4.1", "nowhere.py"), "nowhere.py can't be read: No such file"), (("check", "9.9", "binary"), "binary can't be read: it is no text"),
    (("check", "9.9", "text"), "There is no exercise 9.9; there are 1.1"), (("hint", "4.1"), "Try it first: change the answer to 4.1"),
    (("reset", "4.1", "no/folder.py"), "can't be written"), (("hint", "x\x1b[2J"), "There is no exercise")], ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_done_is_one_sentence_and_exit_code_1(course, tmp_path, words, said):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "text").write_text("answer = {}")
    code, out, err = course(*words)
    assert code == 1 and out == "" and said in err and err.count("\n") == 1


def test_what_an_answer_says_moves_no_cursor(course, tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps({**FORM, "read_file": {"idempotent": "\x1b[2J\ud800", "risk": "low", "because": "x"}}))
    code, out, _ = course("check", "4.1", "odd.json")
    assert code == 1 and "\x1b" not in out and "nothing" not in out and "[2J" in out
