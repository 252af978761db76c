"""course check, hint, reset and progress: the exercises without a notebook."""
import json
import os
import subprocess
import sys

import pytest

from course_lib.grading import catalogue
from course_lib.grading.feedback import in_words
from course_lib.grading.sheet import sheet
from course_lib.words import use_language

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
    assert "\n1. " in first and "\n2. " not in first and first.endswith("\n(1 of 3)\n")
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


@pytest.mark.parametrize("language, asks, choices", [
    ("en", "What is wrong in the run_tool_uses of that day?", "  a  save_effect does not use a temp file."),
    ("pt_BR", "O que está errado no run_tool_uses daquele dia?", "  a  save_effect não usa um arquivo temporário.")])
def test_who_has_only_the_file_reads_what_is_asked_and_what_there_is_to_choose_from(course, tmp_path, language, asks, choices):
    first = course("reset", "6.2", "mine.py", "--lang", language)[1]
    again = course("check", "6.2", "mine.py", "--lang", language)[1]
    for said in (first, again):
        lines = said.splitlines()
        at = lines.index(f"BECAUSE['bug']: {asks}")
        assert lines[at + 1] == choices and [line[:5] for line in lines[at + 1:at + 5]] == ["  a  ", "  b  ", "  c  ", "  d  "]
        assert lines[at + 5].startswith("BECAUSE['consequence']: ")
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text(encoding="utf-8") + "\nbegun = True\n", encoding="utf-8")
    lines = course("check", "6.2", "mine.py", "--lang", language)[1].splitlines()
    assert any("BECAUSE['bug']" in line and "''" in line for line in lines) and any(asks in line for line in lines) and choices.strip().replace("a  ", "a) ", 1) in lines


@pytest.mark.parametrize("language", ["en", "pt_BR"])
def test_a_form_can_be_done_from_what_the_terminal_says(course, tmp_path, language):
    """Reset, a check of the empty form and of a half-filled one, and a hint: each has the task, every question and every choice in words."""
    told = [course("reset", "3.1", "mine.py", "--lang", language), course("check", "3.1", "mine.py", "--lang", language)]
    (tmp_path / "mine.py").write_text((tmp_path / "mine.py").read_text(encoding="utf-8").replace("None", '"ask"', 1), encoding="utf-8")
    told += [course("check", "3.1", "mine.py", "--lang", language), course("hint", "3.1", "--lang", language)]
    form = catalogue.exercise("3.1")
    use_language(language)
    try:
        for _, out, _ in told:
            assert in_words(form.title) in out.splitlines()[0] and in_words(form.task) in out
            for row in form.rows:
                assert f"\n{row.name}: {in_words(row.says)}\n" in out
            for field in form.rows[0].fields:
                assert f"\n  {field.name}: {in_words(field.asks)}\n" in out
                for value, text in field.options.items():
                    assert [line for line in out.splitlines() if line.split() == [value, *in_words(text).split()]]
    finally:
        use_language("en")
    assert "✗" in told[2][1] and "1. " in told[3][1]
    (tmp_path / "mine.py").write_text(json.dumps({**form.solution, "closed": {"do": "delete", "why": "tidy"}}))
    assert "\nread: " not in course("check", "3.1", "mine.py", "--lang", language)[1]  # all is chosen: the report is enough


@pytest.mark.parametrize("id, language, says", [
    ("4.2", "en", "The incident. A customer reported an outage and the agent opened a ticket."), ("4.2", "pt_BR", "O incidente. Um cliente avisou que o sistema estava fora do ar"),
    ("2.2", "en", "It makes two mistakes, and each waits for a kill at the wrong instant."), ("1.2-code", "en", "Write the two averages and the comparison.")])
def test_who_resets_a_program_reads_what_it_is_about(course, id, language, says):
    out = course("reset", id, "--lang", language)[1]
    assert says in out and "`" not in out and "\n\n\n" not in out


@pytest.mark.parametrize("language, cell", [("en", "cell"), ("pt_BR", "célula")])
def test_what_a_program_is_about_is_told_without_the_notebook_s_cells_and_each_question_once(language, cell):
    use_language(language)
    try:
        for exercise in (catalogue.exercise(id) for id, module in catalogue.MODULES.items() if module.startswith("code_exercises.")):
            lines = sheet(exercise)
            task = "\n".join(lines[:next((n for n, line in enumerate(lines) if line.startswith("BECAUSE[")), len(lines))])
            assert len(task) > 150 and cell not in task and not [key for question in exercise.questions for key in [in_words(question.asks)] if "\n".join(lines).count(key) != 1]
    finally:
        use_language("en")


def test_a_run_that_a_check_names_can_be_opened(course, tmp_path):
    (tmp_path / "mine.py").write_text(json.dumps({**catalogue.exercise("3.1").solution, "closed": {"do": "delete", "why": "tidy"}}))
    lines = course("check", "3.1", "mine.py")[1].splitlines()
    load, opened = (line.strip() for line in lines[-2:])
    scope = {}
    exec(load, scope)
    assert f"The run to look at: {eval(opened, scope).code}" in lines


@pytest.mark.parametrize("id, attempt", [("4.1", json.dumps(WRONG_FORM)), ("5.2", "x = 1")])
def test_the_solution_is_shown_after_an_attempt_and_that_is_remembered(course, tmp_path, id, attempt):
    assert course("solution", id)[:2] == (1, "") and "after an attempt" in course("solution", id)[2]
    (tmp_path / "mine.py").write_text(attempt)
    course("check", id, "mine.py")
    code, out, _ = course("solution", id)
    assert code == 0 and "solution looked at" in course("progress")[1]
    if id == "5.2":
        assert out == catalogue.exercise(id).solution
        (tmp_path / "mine.py").write_text(out, encoding="utf-8")
        assert course("check", id, "mine.py")[0] == 0
    else:
        assert "append_log: append_log(line) puts a line" in out and "leaves-nothing (it leaves nothing behind that could be there twice)" in out


def test_reset_again_and_again_loses_nothing_and_says_where_it_went(course, tmp_path):
    mine = tmp_path / "mine.py"
    for n, old in enumerate(["mine.py.old", "mine.py.old.2", "mine.py.old.3"], 1):
        mine.write_text(f"answer {n}")
        code, out, _ = course("reset", "4.2", "mine.py")
        assert code == 0 and f"What was in it is in {old} now." in out and mine.read_text() == catalogue.starter_text("4.2")
    assert [path.read_text() for path in sorted(tmp_path.glob("mine.py.old*"))] == ["answer 1", "answer 2", "answer 3"]


@pytest.mark.parametrize("taken", ["a link to nowhere", "a folder"])
def test_what_stands_at_the_old_name_is_not_touched(course, tmp_path, taken):
    (tmp_path / "mine.py").write_text("mine")
    old = tmp_path / "mine.py.old"
    old.mkdir() if taken == "a folder" else old.symlink_to("nowhere")
    assert "is in mine.py.old.2 now" in course("reset", "4.2", "mine.py")[1]
    assert (tmp_path / "mine.py.old.2").read_text() == "mine" and not (tmp_path / "nowhere").exists()


def test_where_nothing_could_be_written_nothing_is_forgotten(course, tmp_path):
    (tmp_path / "rated.json").write_text(json.dumps(WRONG_FORM))
    course("check", "4.1", "rated.json")
    kept = (tmp_path / "kept.json").read_bytes()
    assert course("reset", "4.1", ".")[0] == 1
    assert (tmp_path / "kept.json").read_bytes() == kept


@pytest.mark.parametrize("code, words, said", [
    (2, ("check", "4.1", "nowhere.py"), "nowhere.py can't be read: No such file"), (2, ("check", "9.9", "binary"), "binary can't be read: it is no text"),
    (2, ("check", "4.1", "."), ". can't be read: "), (2, ("check", "9.9", "text"), "There is no exercise 9.9; there are 1.1"),
    (1, ("hint", "4.1"), "Try it first: change the answer to 4.1"), (1, ("reset", "4.1", "."), ". is a folder; name a file in it, such as answer.py"),
    (1, ("reset", "4.1", "no/folder.py"), "can't be written"), (1, ("hint", "x\x1b[2J"), "There is no exercise")], ids=lambda value: value if isinstance(value, str) else "")
def test_what_cannot_be_done_is_one_sentence_and_an_exit_code_as_the_help_says(course, tmp_path, code, words, said):
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "text").write_text("answer = {}")
    assert (found := course(*words))[:2] == (code, "") and said in found[2] and found[2].count("\n") == 1


SPEAKING = [("check", "4.1", "rated.json"), ("hint", "4.1"), ("solution", "4.1"), ("reset", "4.1"), ("progress",), ("grade", "handed in", "--out", "graded")]


@pytest.fixture
def something_to_say(course, tmp_path):
    """What each command that speaks at length needs for it."""
    (tmp_path / "rated.json").write_text(json.dumps(WRONG_FORM))
    (tmp_path / "handed in").mkdir()
    (tmp_path / "handed in" / "ada-4.1.json").write_text(json.dumps(FORM))
    course("check", "4.1", "rated.json")


def complaints_of(words, tmp_path, stdout):
    ran = subprocess.run([sys.executable, "-m", "course_lib.cli", *words], cwd=tmp_path, stdout=stdout, stderr=subprocess.PIPE, encoding="utf-8", timeout=60,
                         env={**os.environ, "COURSE_PROGRESS": str(tmp_path / "kept.json"), "PYTHONIOENCODING": "utf-8"})
    return ran.returncode, [line for line in ran.stderr.splitlines() if "answers" not in line]  # how far grade has come


@pytest.mark.skipif(sys.platform == "win32", reason="there a closed pipe is another error")
@pytest.mark.parametrize("words", SPEAKING, ids=lambda words: words[0])
def test_a_reader_who_has_gone_is_no_reason_to_complain(something_to_say, tmp_path, words):
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        assert complaints_of(words, tmp_path, theirs) == (1, [])
    finally:
        os.close(theirs)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("words", SPEAKING, ids=lambda words: words[0])
def test_a_full_disk_at_the_other_end_is_one_sentence_and_exit_code_1(something_to_say, tmp_path, words):
    with open("/dev/full", "w") as full:
        code, complaints = complaints_of(words, tmp_path, full)
    assert code == 1 and complaints == ["What this command has to say can't be written to its output: No space left on device."]


def test_the_language_may_stand_before_the_command_or_after_it(course):
    before, after = course("--lang", "pt_BR", "progress"), course("progress", "--lang", "pt_BR")
    assert before == after == course("--lang=pt_BR", "progress") and "ainda não tentado" in after[1]


def test_what_an_answer_says_moves_no_cursor(course, tmp_path):
    (tmp_path / "odd.json").write_text(json.dumps({**FORM, "read_file": {"idempotent": "\x1b[2J\ud800", "risk": "low", "because": "x"}}))
    code, out, _ = course("check", "4.1", "odd.json")
    assert code == 1 and "\x1b" not in out and "nothing chosen" not in out and "[2J" in out
