"""A whole class: found without being run, graded in a sandbox, stopped and gone on with, written for people and for spreadsheets."""
import csv
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from class_sample import LOOPS, differences, lay_out, notebook
from course_lib.errors import CourseError
from course_lib.grading import catalogue, usage
from course_lib.grading.classroom import batch, isolation, report
from course_lib.grading.classroom.submissions import find
from course_lib.grading.driver import Child
from course_lib.grading.exercise import CannotCheck
from course_lib.grading.report import CORRECT, INCORRECT, UNCHECKED
from course_lib.words import use_language

ROOT = Path(__file__).resolve().parents[1]
FORM, CODE = (catalogue.cell_text(id, catalogue.exercise(id).solution) for id in ("4.1", "4.2"))
STARTER = catalogue.starter_text("4.1")
CANARY = "sk-canary-5f1d"


@pytest.fixture
def sandbox():
    """Where there is none the test is skipped, loudly; in CI that is a failure."""
    if isolation.why_not():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"NO SANDBOX: {isolation.why_not()}")


def course(*words, **settings):
    environment = {name: value for name, value in os.environ.items() if not name.endswith("API_KEY")}
    return subprocess.run([sys.executable, "-m", "course_lib.cli", "grade", *map(str, words)], cwd=ROOT, capture_output=True, encoding="utf-8", timeout=120,
                          env={**environment, "PYTHONIOENCODING": "utf-8", "LANGUAGE": "en", **settings})


def outcomes(graded):
    return {(submission.student, submission.exercise): found and found.outcome for submission, found in graded}


class Counting(ThreadPoolExecutor):
    """Knows how many answers it was given to check."""

    def __init__(self):
        super().__init__(2)
        self.jobs = []

    def submit(self, function, *args):
        self.jobs.append(args)
        return super().submit(function, *args)


# --- all of it ------------------------------------------------------------------------------

def test_a_class_of_twenty_is_graded_right_endless_loops_and_all(sandbox, tmp_path):
    folder = tmp_path / "handed in"
    folder.mkdir()
    expected = lay_out(folder, 20)
    assert {outcome for outcome, _ in expected.values()} == {"correct", "incorrect", "not attempted"}
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    graded = batch.grade(folder, tmp_path / "out")
    assert differences(graded, expected) == []
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_command_writes_a_page_and_a_table_and_says_where(sandbox, handed_in, tmp_path):
    handed_in("ada.ipynb", notebook((["exercise-4.1"], FORM), (["exercise-4.2"], CODE)))
    folder = handed_in("ben/broken.ipynb", "{")
    done = course(folder, "--out", tmp_path / "out")
    assert done.returncode == 0 and "2 students; answers: 2 correct, 1 no answer found." in done.stdout and "Traceback" not in done.stderr
    assert "0 of 2 answers" in done.stderr and "2 of 2 answers" in done.stderr
    assert str(tmp_path / "out" / "report.html") in done.stdout
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "results.csv").read_text(encoding="utf-8-sig"))))
    assert [(row["student"], row["exercise"], row["outcome"], row["criteria met"] == row["criteria in all"] != "0") for row in rows] == [
        ("ada", "4.1", "correct", True), ("ada", "4.2", "correct", True),
        ("ben", "4.1", "not handed in", False), ("ben", "4.2", "not handed in", False), ("ben", "", "no answer found", True)]
    assert "broken" in rows[4]["what happened"] and rows[4]["criteria in all"] == ""


# --- finding the answers --------------------------------------------------------------------

def test_answers_are_found_by_tag_by_name_and_by_first_line(handed_in):
    handed_in("ada.ipynb", notebook(([], "import os; os.abort()"), (["mine", "exercise-4.1"], FORM), (["exercise-4.2"], "x = 1\ny = 2")))
    handed_in("ben-4.2.py", "x = 3")
    handed_in("ben_4.1.json", "{}")
    handed_in("1.2-code.py", "x = 4")
    handed_in("dora.py", "# Exercise 6.2\nx = 5")
    handed_in("cleo/whatever.ipynb", "\ufeff" + notebook((["exercise-1.1"], "x = 6"), (["exercise-1.2"], "x = 7"), (["exercise-1.2-code"], "x = 8")))
    handed_in("cleo/2.1.json", "{}")
    handed_in("cleo/notes.txt", "no answer")
    handed_in(".ipynb_checkpoints/ada.ipynb", "{")
    found = find(handed_in("cleo/._lesson.ipynb", "{"))
    assert [(each.student, each.exercise, each.text) for each in found] == [
        ("1.2-code", "1.2-code", "x = 4"), ("ada", "4.1", FORM), ("ada", "4.2", "x = 1\ny = 2"), ("ben", "4.1", "{}"), ("ben", "4.2", "x = 3"),
        ("cleo", "1.1", "x = 6"), ("cleo", "1.2", "x = 7"), ("cleo", "1.2-code", "x = 8"), ("cleo", "2.1", "{}"), ("dora", "6.2", "# Exercise 6.2\nx = 5")]
    assert not any(each.problem for each in found)


def test_the_course_s_own_notebooks_are_found_whole():
    for lesson in range(1, 7):
        ids = {id for id in catalogue.MODULES if id.startswith(f"{lesson}.")}
        found = [each for each in find(ROOT / "solutions" / "en") if each.student == f"lesson_{lesson}"]
        assert all(each.text for each in found) and {each.exercise for each in found} == ids and not any(each.problem for each in found)


DEEP = '{"cells": ' + "[" * 100_000
TWICE = notebook((["exercise-4.1"], FORM), (["exercise-4.1"], FORM + "# or this"), (["exercise-4.2"], CODE))


@pytest.mark.parametrize("name, text, exercise, problem", [
    ("ada.ipynb", "{", "", "broken"), ("ada.ipynb", "", "", "broken"), ("ada.ipynb", "[1]", "", "broken"), ("ada.ipynb", DEEP, "", "broken"),
    ("ada.ipynb", '{"cells": [1]}', "", "broken"), ("ada.ipynb", '{"cells": [{"metadata": {"tags": [1]}}]}', "", "broken"), ("ada.ipynb", '{"cells": null}', "", "broken"),
    ("ada.ipynb", '{"cells": [{"metadata": {"tags": ["exercise-4.1"]}, "source": [1]}]}', "", "broken"),
    ("ada.ipynb", notebook(([], FORM)), "", "tag of an exercise"), ("ada.ipynb", notebook((["exercise-9.9"], FORM)), "", "tag of an exercise"),
    ("ada.ipynb", notebook((["exercise-4.1"], FORM)), "4.2", "no cell with the tag exercise-4.2"), ("ada.ipynb", TWICE, "4.1", "more than one answer"),
    ("ada.ipynb", b"\xff\xfe", "", "UTF-8"), ("ada/answer.py", FORM.split("\n", 1)[1], "", "which exercise"), ("ada-9.9.py", "x", "", "which exercise"),
    ("ada-4.2.py", "#" * 200_001, "4.2", "far longer"), ("ada-4.1.json", "[" * 20_001, "4.1", "far longer"), ("ada/notes.txt", "", "", "no notebook"),
], ids=lambda value: ascii(value)[:40])
def test_what_is_missing_or_broken_is_that_student_s_and_the_others_are_graded(handed_in, tmp_path, name, text, exercise, problem):
    handed_in("zoe-4.1.py", FORM)
    graded = batch.grade(handed_in(name, text), tmp_path / "out") if exercise != "4.1" or "ipynb" not in name else [(each, None) for each in find(handed_in(name, text))]
    (said,) = {each.problem for each, _ in graded if each.problem}
    assert problem in said and {each.exercise for each, _ in graded if each.problem} == {exercise}
    assert {each.student for each, _ in graded} >= {"zoe"} and outcomes(graded)["zoe", "4.1"] in (CORRECT, None)
    assert {each.student for each, _ in graded if each.problem} <= {"ada", "ada-9.9"}


def test_two_answers_to_one_exercise_count_as_none_until_the_student_says_which(handed_in):
    handed_in("ada/first-4.1.py", FORM)
    handed_in("ada/4.2.py", CODE)
    found = find(handed_in("ada/second-4.1.py", FORM + "# or this"))
    assert [(each.exercise, "more than one" in each.problem) for each in found] == [("4.1", True), ("4.2", False)]
    assert found[0].file == "ada/first-4.1.py, ada/second-4.1.py"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_what_is_passed_over_is_said(handed_in, tmp_path):
    handed_in("ada/4.1.json", FORM)
    handed_in("ada/4.2.docx", b"PK")
    handed_in("ben-4.2.txt", CODE)
    handed_in("ada/.DS_Store", b"")
    folder = handed_in(".hidden", "")
    done = course(folder, "--out", folder)
    assert done.returncode == 0 and "2 files were passed over" in done.stdout and done.stdout.endswith("  ada/4.2.docx\n  ben-4.2.txt\n")
    assert course(folder, "--out", folder).stdout == done.stdout  # the report in that same folder is ours


def test_of_very_many_files_that_are_passed_over_some_are_named():
    assert report.passed_over([]) == []
    lines = report.passed_over([f"{n}.jpg" for n in range(25)])
    assert len(lines) == 22 and lines[0].startswith("25 files") and lines[-1] == "  and 5 more"


def test_a_link_is_not_followed_to_the_teacher_s_files(handed_in, tmp_path):
    secret = tmp_path / "secret-4.1.py"
    secret.write_text(FORM + f"# {CANARY}")
    folder = handed_in("ada/2.1.json", "{}")
    (folder / "ada" / "4.1.py").symlink_to(secret)
    (folder / "ben-4.1.py").symlink_to(secret)
    (folder / "cleo").symlink_to(tmp_path)
    os.mkfifo(folder / "dora-4.1.py")
    found = find(folder)
    assert [(each.student, each.text, "link" in each.problem) for each in found] == [("ada", "{}", False), ("ada", "", True), ("ben", "", True), ("cleo", "", True), ("dora", "", False)]
    assert "ordinary file" in found[-1].problem


def test_no_folder_and_an_empty_one_are_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder, words in (("nowhere", "can't be read: No such file"), ("empty", "There is no submission in")):
        done = course(tmp_path / folder, "--out", tmp_path / "out")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1) and words in done.stderr


# --- isolation ------------------------------------------------------------------------------

def test_without_a_sandbox_programs_are_refused_in_a_sentence_and_forms_are_graded_all_the_same(handed_in, tmp_path):
    folder = handed_in("ada-4.1.py", FORM)
    assert course(folder, "--out", tmp_path / "forms", PATH="").returncode == 0
    handed_in("ben-4.2.py", f"open({str(tmp_path / 'trace')!r}, 'w')\n{CODE}")
    done = course(folder, "--out", tmp_path / "out", PATH="")
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.count("\n") == 1
    assert "no sandbox" in done.stderr and "apt install bubblewrap" in done.stderr and "--unsafe" in done.stderr
    assert not (tmp_path / "trace").exists()
    assert course(folder, "--out", tmp_path / "out", "--unsafe", PATH="").returncode == 0
    assert (tmp_path / "trace").exists()


def test_without_a_sandbox_no_program_runs_while_a_key_is_in_the_environment(handed_in, tmp_path):
    folder = handed_in("ben-4.2.py", CODE)
    done = course(folder, "--out", tmp_path / "out", "--unsafe", ANTHROPIC_API_KEY=CANARY)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "ANTHROPIC_API_KEY" in done.stderr and CANARY not in done.stderr


SEARCH = """
import os, sys
def everything():
    yield repr(dict(os.environ))
    for folder, below, names in os.walk("/"):
        below[:] = [name for name in below if os.path.join(folder, name) not in ("/usr", "/proc/sys", "/dev", sys.prefix) and name not in ("task", "net", "map_files", "fd")]
        for name in names:
            if folder.startswith("/proc/") and name not in ("environ", "cmdline", "mountinfo"):
                continue
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    yield file.read(100_000).decode("latin-1")
            except OSError:
                pass
found = [text[text.index(mark) - 30:][:200] for text in everything() for mark in ["sk-" + "canary"] if mark in text]
raise Exception(f"looked everywhere, found {found}")
"""


def test_a_key_in_the_environment_or_in_a_file_of_the_teacher_s_reaches_no_program(sandbox, handed_in, tmp_path):
    (tmp_path / "key.txt").write_text(CANARY)
    folder = handed_in("ada-4.2.py", SEARCH)
    done = course(folder, "--out", tmp_path / "out", ANTHROPIC_API_KEY=CANARY, SECRET=CANARY)
    said = done.stdout + done.stderr + "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir())
    assert "looked everywhere, found []" in said and CANARY not in said
    assert not [path for path in folder.rglob("*") if path.name != "ada-4.2.py"]


@contextmanager
def inside(text):
    """What f() of a program in the sandbox gives, or how it ended; and the folder that it worked in."""
    with isolation.isolated(), tempfile.TemporaryDirectory() as folder:
        with Child(text, folder) as child:
            ended = child.call("f")
        yield ended.value if ended.status == "returned" else ended, Path(folder)


TRY = """
def tries(action):
    try:
        return action()
    except OSError as error:
        return type(error).__name__
"""


def test_in_the_sandbox_there_is_one_folder_to_write_to_and_nothing_of_the_teacher_s_to_read(sandbox, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(CANARY)
    places = [secret, tmp_path / "new", "/new", "/tmp/new", "/dev/new", "/dev/shm/new", "/usr/new", Path.home() / "new", ROOT / "new", sys.base_prefix + "/new"]
    text = TRY + f"def f():\n    return [tries(lambda: open(p, 'w').write('x')) for p in {list(map(str, places))}], tries(lambda: open('own', 'w').write('x')), tries(lambda: open({str(secret)!r}).read())"
    with inside(text) as ((elsewhere, own, read), folder):
        assert all(isinstance(each, str) for each in elsewhere) and own == 1 and read == "FileNotFoundError"
        assert (folder / "own").read_text() == "x"
    assert secret.read_text() == CANARY
    assert not [place for place in places[1:] if Path(place).exists()]


def test_a_course_that_lies_among_the_system_s_own_files_is_not_to_be_read_in_the_sandbox(sandbox, tmp_path, monkeypatch):
    course, beside = tmp_path / "system" / "lib" / "course", tmp_path / "system" / "beside"
    child = course / "grading" / "child.py"
    child.parent.mkdir(parents=True)
    shutil.copy(isolation.CHILD, child)
    for folder in [course, *course.parents[:2], course.parents[2], child.parent]:
        folder.chmod(0o755)
    for path in (course / "solution.py", child.parent / "solution.py", beside):
        path.write_text(CANARY)
        path.chmod(0o644)
    places = (*isolation.PLACES, str(tmp_path / "system"))
    monkeypatch.setattr(isolation, "CHILD", child)
    monkeypatch.setattr(isolation, "READABLE", (*isolation._readable(*places), *isolation._hidden(course, child, places)))
    text = TRY + f"def f():\n    return [tries(lambda: open(p).read()) for p in {list(map(str, (course / 'solution.py', child.parent / 'solution.py', beside)))}], tries(lambda: open({str(course / 'new')!r}, 'w').write('x'))"
    with inside(text) as ((*read, written), _):
        assert read == [["FileNotFoundError", "FileNotFoundError", CANARY]] and isinstance(written, str)


def test_in_the_sandbox_no_server_of_this_machine_can_be_reached(sandbox):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        text = TRY + f"import socket\ndef f():\n    return tries(lambda: socket.create_connection({server.getsockname()!r}, 2) and 'reached')"
        with inside(text) as (said, _):
            assert said == "ConnectionRefusedError"


def test_in_the_sandbox_processes_are_few_have_no_rights_and_end_with_it(sandbox):
    import fcntl
    text = """
import fcntl, os, time
def f():
    lock, started = open("lock", "w"), 0
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        while started < 500:
            if os.fork() == 0:
                os.setsid()
                time.sleep(300)
                os._exit(0)
            started += 1
    except OSError:
        pass
    rights = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")]
    return started, sum(name.isdigit() for name in os.listdir("/proc")), os.getuid(), [int(right, 16) for right in rights]
"""
    with inside(text) as ((started, seen, user, rights), folder), open(folder / "lock", "rb") as lock:
        assert 0 < started <= isolation.PROCESSES and seen <= isolation.PROCESSES + 5 and user != 0 and not any(rights)
        signal.alarm(60)  # a process that is left holds the lock for five minutes
        fcntl.flock(lock, fcntl.LOCK_EX)
        signal.alarm(0)


def test_a_bomb_of_processes_does_not_spoil_the_answer_beside_it(sandbox, handed_in, tmp_path):
    bomb = "import os, time\ntry:\n    while True:\n        if os.fork() == 0:\n            time.sleep(60)\nexcept OSError:\n    pass\ntime.sleep(2)\n"
    for number in range(3):
        handed_in(f"bomb{number}-4.2.py", bomb + f"# {number}")
        folder = handed_in(f"right{number}-4.2.py", CODE + f"# {number}")
    assert {student[:4]: outcome for (student, _), outcome in outcomes(batch.grade(folder, tmp_path / "out")).items()} == {"bomb": INCORRECT, "righ": CORRECT}


HOARDERS = {
    "memory": """
import os, time
for _ in range(5):
    if os.fork() == 0:
        held = bytearray(250 << 20)
        for at in range(0, len(held), 4096):
            held[at] = 1
        time.sleep(60)
time.sleep(60)
""",
    "disk": """
import os
n = 0
while True:
    os.makedirs(f"deep/{n}")
    with open(f"deep/{n}/file", "wb") as file:
        file.write(bytes(1 << 20))
    n += 1
""",
}


@pytest.mark.parametrize("hoards", HOARDERS)
def test_a_program_that_hoards_is_cut_off_and_leaves_nothing_while_the_answer_beside_it_is_right(sandbox, handed_in, tmp_path, monkeypatch, hoards):
    checks = Path(tempfile.mkdtemp())
    checks.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(checks))
    handed_in("eve-4.2.py", HOARDERS[hoards])
    folder = handed_in("ada-4.2.py", CODE)
    most, over = [0, 0], threading.Event()
    others = usage.memory_of(os.getpid())  # such as a browser that another test has left open

    def look():
        while not over.wait(0.02):
            most[:] = max(most[0], usage.memory_of(os.getpid())), max(most[1], usage.disk_of(checks))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        found = {submission.student: verdict for submission, verdict in batch.grade(folder, tmp_path / "out")}
    finally:
        over.set()
        looking.join()
    assert found["ada"].outcome == CORRECT and found["eve"].outcome == INCORRECT and "took more memory or disk" in found["eve"].slip.given
    assert most[0] - others < 5 * 250 << 20 and most[1] < 500 << 20
    checks.rmdir()  # it is empty


def test_after_a_check_files_belong_to_whoever_grades_again(sandbox, tmp_path):
    batch.judge("4.2", CODE, "en", batch.grader(), False)
    (tmp_path / "mine").write_text("x")
    assert not hasattr(os, "geteuid") or (tmp_path / "mine").stat().st_uid == os.geteuid()


def test_a_sandbox_that_does_not_come_up_is_told_with_its_reason(monkeypatch, tmp_path):
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    broken = folder / "bwrap"
    broken.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(isolation.shutil, "which", lambda name: str(broken))
    isolation.why_not.cache_clear()
    try:
        with pytest.raises(CannotCheck, match="setting up uid map: Permission denied"), isolation.isolated():
            pass
        found = json.loads(batch.judge("4.2", CODE, "en", batch.grader(), False))
        assert found["outcome"] == UNCHECKED and "no sandbox" in found["problem"]
    finally:
        isolation.why_not.cache_clear()
        shutil.rmtree(folder)


# --- stopped and gone on with ---------------------------------------------------------------

def ledger_of(tmp_path):
    path = tmp_path / "out" / "effects.json"
    return json.loads(path.read_text()) if path.exists() else {}


def forms(handed_in, n):
    for number in range(n):
        folder = handed_in(f"s{number:02}-4.1.py", FORM + f"# {number}")
    return folder


def test_a_second_run_checks_only_what_the_first_did_not_come_to(handed_in, tmp_path):
    folder = forms(handed_in, 12)

    def stop(done, total):
        if done == 5:
            raise KeyboardInterrupt

    with Counting() as pool, pytest.raises(KeyboardInterrupt):
        batch.grade(folder, tmp_path / "out", executor=pool, progress=stop)
    assert len(ledger_of(tmp_path)) == 5
    seen = []
    with Counting() as pool:
        graded = batch.grade(folder, tmp_path / "out", executor=pool, progress=lambda *each: seen.append(each))
    assert len(pool.jobs) == 7 and seen[0] == (5, 12) and seen[-1] == (12, 12)
    assert set(outcomes(graded).values()) == {CORRECT} and len(graded) == 12
    with Counting() as pool:
        assert batch.grade(folder, tmp_path / "out", executor=pool) == graded
    assert pool.jobs == []


def test_ctrl_c_stops_it_and_the_same_command_goes_on(sandbox, handed_in, tmp_path):
    forms(handed_in, 10)
    for number in range(12):  # enough to be at work still when the signal comes
        folder = handed_in(f"t{number:02}-4.2.py", LOOPS[0] + f"# {number}")
    command = [sys.executable, "-m", "course_lib.cli", "grade", folder, "--out", tmp_path / "out", "--lang", "en"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        for line in process.stderr:
            if not line.startswith("0 of"):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Stopped. What was graded is kept" in out and "Traceback" not in err
    kept = len(ledger_of(tmp_path))
    assert 0 < kept < 22
    done = course(folder, "--out", tmp_path / "out")
    assert done.returncode == 0 and done.stderr.startswith(f"{kept} of 22 answers\n") and "22 students; answers: 10 correct, 12 not yet." in done.stdout


@pytest.mark.parametrize("out", [".", "report"])
def test_a_report_in_the_folder_of_the_submissions_is_no_submission(handed_in, out):
    folder = handed_in("ada-4.1.py", FORM)
    for _ in range(2):
        graded = batch.grade(folder, folder / out)
        report.write(graded, folder / out)
        assert outcomes(graded) == {("ada", "4.1"): CORRECT}


@pytest.mark.parametrize("change", ["answer", "exercise", "grader", "language", "sandbox"])
def test_an_answer_is_checked_anew_when_anything_that_counts_has_changed(handed_in, tmp_path, monkeypatch, change):
    folder = handed_in("ada.py", "# exercise 4.1\n{}")
    batch.grade(folder, tmp_path / "out")
    if change == "grader":
        monkeypatch.setattr(batch, "grader", lambda: "another version")
    if change == "language":
        use_language("pt_BR")
    try:
        text = {"answer": "# exercise 4.1\n{'read_file': {}}", "exercise": "# exercise 2.1\n{}"}.get(change, "# exercise 4.1\n{}")
        with Counting() as pool:
            batch.grade(handed_in("ada.py", text), tmp_path / "out", executor=pool, unsafe=change == "sandbox")
    finally:
        use_language("en")
    assert len(pool.jobs) == 1


def test_the_grader_s_version_changes_with_its_programs(monkeypatch, tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    monkeypatch.setattr(batch, "PACKAGE", tmp_path)
    versions = [batch.grader.__wrapped__()]
    (tmp_path / "a.py").write_text("x = 2")
    versions.append(batch.grader.__wrapped__())
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    versions.append(batch.grader.__wrapped__())
    (tmp_path / "notes.txt").write_text("no program")
    assert len(set(versions)) == 3 and batch.grader.__wrapped__() == versions[2]


def test_the_same_answer_of_two_students_is_checked_once_and_told_twice(handed_in, tmp_path):
    handed_in("ada-4.1.py", FORM)
    with Counting() as pool:
        graded = batch.grade(handed_in("ben-4.1.py", FORM), tmp_path / "out", executor=pool)
    assert len(pool.jobs) == 1 and outcomes(graded) == {("ada", "4.1"): CORRECT, ("ben", "4.1"): CORRECT}


class Dying(Executor):
    """Loses every answer of which the text says so."""

    def submit(self, function, *args):
        future = Future()
        if "lost" in args[1]:
            future.set_exception(RuntimeError("the worker died"))
        else:
            future.set_result(function(*args))
        return future


def test_an_answer_whose_worker_died_is_not_counted_against_anybody_and_is_tried_again(handed_in, tmp_path):
    handed_in("ada-4.1.py", FORM + "# lost")
    folder = handed_in("ben-4.1.py", FORM)
    found = {each.student: found for each, found in batch.grade(folder, tmp_path / "out", executor=Dying())}
    assert (found["ada"].outcome, found["ben"].outcome) == (UNCHECKED, CORRECT) and "the worker died" in found["ada"].problem
    assert len(ledger_of(tmp_path)) == 1
    with Counting() as pool:
        assert outcomes(batch.grade(folder, tmp_path / "out", executor=pool))["ada", "4.1"] == CORRECT
    assert len(pool.jobs) == 1


def test_what_is_graded_is_on_disk_before_the_end(handed_in, tmp_path, monkeypatch):
    monkeypatch.setattr(batch, "EVERY", 0)
    kept = []
    batch.grade(forms(handed_in, 4), tmp_path / "out", executor=Dying(), progress=lambda done, total: kept.append((done, len(ledger_of(tmp_path)))))
    assert kept == [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_worker_with_another_course_does_not_judge():
    found = json.loads(batch.judge("4.1", FORM, "en", "another version", False))
    assert found["outcome"] == UNCHECKED and "not the one that gave out the work" in found["problem"]


def test_a_fault_of_the_grader_s_is_not_the_student_s(monkeypatch):
    monkeypatch.setattr(batch, "exercise", lambda id: 1 / 0)
    found = json.loads(batch.judge("4.1", FORM, "en", batch.grader(), False))
    assert found["outcome"] == UNCHECKED and "ZeroDivisionError" in found["problem"]


@pytest.mark.parametrize("ledger", [b"{", b"[]", b'{"x": 1}', b""])
def test_a_broken_ledger_is_set_aside_and_everything_graded_anew(handed_in, tmp_path, ledger, capsys):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "effects.json").write_bytes(ledger)
    assert outcomes(batch.grade(handed_in("ada-4.1.py", FORM), tmp_path / "out")) == {("ada", "4.1"): CORRECT}
    assert (tmp_path / "out" / "effects.json.broken.1").read_bytes() == ledger and "set aside" in capsys.readouterr().err


def test_entries_that_are_no_verdicts_count_for_nothing(handed_in, tmp_path):
    folder = handed_in("ada-4.1.py", FORM)
    batch.grade(folder, tmp_path / "out")
    path = tmp_path / "out" / "effects.json"
    (key,) = json.loads(path.read_text())
    for result in (None, {}, {"outcome": "correct"}, {"exercise": "4.1", "outcome": "brilliant", "findings": [], "slip": None}):
        path.write_text(json.dumps({key: {"name": "check", "result": result}}))
        assert outcomes(batch.grade(folder, tmp_path / "out")) == {("ada", "4.1"): CORRECT}


def test_a_folder_for_the_report_that_can_t_be_made_is_one_sentence(handed_in, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(CourseError, match="can't be made"):
        batch.grade(handed_in("ada-4.1.py", FORM), tmp_path / "file" / "out")


# --- hostile names ---------------------------------------------------------------------------

def test_what_a_student_hands_in_as_a_name_moves_no_cursor(handed_in, tmp_path):
    if os.name == "nt":
        pytest.skip("Windows has no such names")
    folder = handed_in("\x1b[2J=1-4.1.py", FORM)
    done = course(folder, "--out", tmp_path / "out")
    files = [path.read_text(encoding="utf-8-sig") for path in (tmp_path / "out").iterdir() if path.suffix in (".csv", ".html")]
    assert done.returncode == 0 and len(files) == 3 and not any("\x1b" in text for text in [done.stdout, done.stderr, *files])


# --- several machines -----------------------------------------------------------------------

def test_dask_with_two_workers_grades_everything_although_one_is_killed(sandbox, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the extra is not installed: pip install -c constraints.txt -e .[dask]")  # the tests' own extra has it
    folder, killed = tmp_path / "handed in", threading.Event()
    folder.mkdir()
    expected = lay_out(folder, 10)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, distributed.Client(cluster) as client:
        victim, other = client.run(os.getpid).values()

        def kill(done, total):
            if done == 3:
                os.kill(victim, signal.SIGKILL)
                killed.set()

        graded = batch.grade(folder, tmp_path / "out", executor=client.get_executor(), progress=kill)
        assert killed.is_set() and other in client.run(os.getpid).values()
    assert differences(graded, expected) == []
