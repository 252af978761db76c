"""A disk that fails at its n-th operation, for every n; and places where the operating system itself refuses."""
import inspect
import json
import os
import re
from pathlib import Path

import pytest

from course_lib import checkpoint, guard, storage
from course_lib.errors import CourseError
from course_lib.ledger import save_effect
from course_lib.proof import faults, sandbox
from course_lib.proof.cases import BEGINNINGS, begun, case_of
from course_lib.proof.faults import FAULTS, Disk, Fault
from course_lib.scenarios import SALES_REPORT
from course_lib.scenarios.policies import POLICIES, Policy
from course_lib.scenarios.support_desk import SUPPORT_DESK

SALES = case_of(SALES_REPORT)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("what", FAULTS)
def test_whichever_operation_fails_the_files_are_old_or_new_the_run_stops_in_words_and_a_resume_puts_all_right(what, lasting):
    for crash in BEGINNINGS.values():
        met = []
        assert faults.sweep(SALES, begun(SALES, crash), what, lasting=lasting, progress=met.append) == []
        assert len(met) >= 4


@pytest.mark.parametrize("what", FAULTS)
def test_where_an_intent_is_written_too_the_same_holds_and_no_tool_starts_without_it(what):
    case = case_of(SUPPORT_DESK["transfer"]).under(POLICIES["intent"])
    for crash in (None, ("after-save-a", 2), ("after-intent", 1)):
        assert faults.sweep(case, begun(case, crash), what) == []


# --- the failing disk itself ---------------------------------------------------------------------

def test_the_disk_fails_at_the_operation_asked_for_and_at_no_other_file(tmp_path):
    with Disk(tmp_path, Fault("disk full", 2)) as disk:
        (tmp_path / "diary.txt").write_text("not the harness's")
        (tmp_path / "checkpoint.json").write_text("first")
        with pytest.raises(OSError, match="No space left on device"):
            (tmp_path / "effects.json").write_text("second")
        (tmp_path / "effects.json").write_text("third")
    assert [(failed.operation, failed.file) for failed in disk.failed] == [("create", "effects.json")]
    assert sorted(os.listdir(tmp_path)) == ["checkpoint.json", "diary.txt", "effects.json"]


def test_a_lasting_fault_stays_and_afterwards_the_system_is_as_it_was(tmp_path):
    before = os.open, os.write, os.replace, open
    with Disk(tmp_path, Fault("read-only", 1, lasting=True)) as disk:
        for _ in range(3):
            with pytest.raises(OSError, match="Read-only"):
                storage.os.open(tmp_path / "checkpoint.json.tmp", os.O_WRONLY | os.O_CREAT)
    assert len(disk.failed) == 3 and (os.open, os.write, os.replace, open) == before


def test_a_short_write_takes_half_and_says_so(tmp_path):
    path = tmp_path / "checkpoint.json"
    with Disk(tmp_path, Fault("short write", 1)):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT)
        assert os.write(fd, b"twelve bytes") == 6
        assert os.write(fd, b" bytes") == 6
        os.close(fd)
    assert path.read_bytes() == b"twelve bytes"


# --- each rule can be broken -------------------------------------------------------------------------

def save_that_trusts_one_write(path, scene):
    path, data = Path(path), json.dumps(scene).encode()
    temp = path.with_name(f"{path.name}.0123456789ab.tmp")
    try:
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(fd, data)
        os.close(fd)
        os.replace(temp, path)
    except OSError as error:
        raise storage.StorageError(str(error)) from error


def save_that_says_nothing(path, scene):
    try:
        checkpoint.save_checkpoint(path, scene)
    except storage.StorageError:
        pass


def save_that_gives_no_reason(path, scene):
    try:
        checkpoint.save_checkpoint(path, scene)
    except storage.StorageError:
        raise CourseError("It could not be saved.") from None


def save_that_lets_the_systems_error_through(path, scene):
    try:
        checkpoint.save_checkpoint(path, scene)
    except storage.StorageError as error:
        raise error.__cause__


def save_of_an_effect_that_says_nothing(path, tool_use_id, entry):
    try:
        save_effect(path, tool_use_id, entry)
    except storage.StorageError:
        pass


def save_that_tries_once_more_and_then_gives_up(path, scene):
    """A short write passes for an error."""
    data = json.dumps(scene).encode()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        if os.write(fd, data) < len(data):
            raise CourseError("The disk took only a part of it.")
    finally:
        os.close(fd)


WRONG = [  # in place of what, which function, the fault that shows it, the rule that it breaks
    ("save_checkpoint", save_that_trusts_one_write, "short write", "torn"),
    ("save_checkpoint", save_that_says_nothing, "disk full", "silent"),
    ("save_checkpoint", save_that_says_nothing, "disk full", "went on"),
    ("save_checkpoint", save_that_gives_no_reason, "I/O error", "unsaid"),
    ("save_checkpoint", save_that_lets_the_systems_error_through, "read-only", "raw"),
    ("save_effect", save_of_an_effect_that_says_nothing, "no permission", "unheard"),
    ("save_checkpoint", save_that_tries_once_more_and_then_gives_up, "short write", "fragile"),
]


@pytest.mark.parametrize("name, wrong, what, rule", WRONG, ids=lambda value: value.__name__ if callable(value) else value)
def test_a_function_that_breaks_a_rule_is_found_with_the_operation_that_failed(name, wrong, what, rule):
    case = SALES.under(Policy("wrong", "", {name: wrong}))
    found = faults.sweep(case, begun(case, None), what)
    stories = [text for broken, text in found if broken == rule]
    assert stories and f"met {what} at its operation" in stories[0], found


# --- by the operating system itself --------------------------------------------------------------------

@pytest.fixture(scope="module")
def bubblewrap():
    why_not = sandbox.why_not()
    if why_not:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"NOT TRIED: {why_not}")


def test_a_full_disk_a_limit_and_a_folder_that_can_not_be_written_lose_nothing(bubblewrap):
    told = []
    assert sandbox.trials(SALES, progress=told.append) == []
    assert len(told) == 3 * (5 + 12 + 2)
    ended = [story.lives[-3 if len(story.lives) > 2 and story.lives[-1].resumed else -1].outcome.text for story in told]
    for reason in ("No space left on device", "File too large", "Read-only file system", "Permission denied"):
        assert any(reason in text for text in ended), f"nothing met {reason}"


def test_a_disk_that_is_full_from_the_start_is_found_before_the_model_is_asked(bubblewrap):
    story = sandbox.small_disk(begun(SALES, None), 0)
    assert "can't be written: No space left on device" in story.lives[0].outcome.text
    assert [name for name in story.lives[0].files if name.startswith(("checkpoint", "effects"))] == []
    assert [life.outcome.status for life in story.lives] == ["error", "done", "done"]


def test_a_disk_that_fills_up_between_two_saves_keeps_the_last_one(bubblewrap):
    stories = [sandbox.small_disk(begun(SALES, None), spare) for spare in range(1, 5)]
    filled = [story for story in stories if story.lives[0].outcome.status == "error" and "checkpoint.json" in story.lives[0].files]
    assert filled
    for story in filled:
        assert json.loads(story.lives[0].files["checkpoint.json"])["turns"] >= 1
        assert story.lives[1].resumed and story.lives[1].outcome.status == "done"


@pytest.mark.parametrize("place, reason", [(sandbox.read_only, "Read-only file system"), (sandbox.no_permission, "Permission denied")])
def test_a_folder_that_can_not_be_written_is_found_before_anything_runs_and_nothing_in_it_changes(bubblewrap, place, reason):
    before = begun(SALES, ("after-save-a", 2))
    story = place(before)
    assert reason in story.lives[-1].outcome.text and story.lives[-1].outcome.status == "error"
    world = {"sales-notes.txt", "journal.jsonl", "requests.jsonl"}
    assert before.files.keys() - {guard.LOCK} == {"checkpoint.json", "effects.json", *world}
    assert all(story.files.get(name) == data for name, data in before.files.items() if name != guard.LOCK)
    assert story.files.keys() <= before.files.keys()


def test_what_breaks_inside_the_sandbox_is_said(bubblewrap):
    with pytest.raises(CourseError, match="sandbox failed"):
        sandbox._lives(begun(SALES, None), [{"limit": "many"}])


@pytest.mark.parametrize("files, rules", [
    ({"checkpoint.json": b"{", "effects.json": b"{}"}, ["unsaid", "torn", "torn"]),
    ({"checkpoint.json": b'{"turns": 1, "old": 1}', "journal.jsonl": b"{}\n{}\n"}, ["unsaid", "reckless"]),
], ids=["half a file", "a tool without its Point A"])
def test_a_life_that_is_wrong_under_a_true_fault_is_found(files, rules):
    whole = {None, b'{"turns": 1, "old": 1}'}
    life = faults.Life(False, faults.Outcome("error", "it failed"), files)
    assert [rule for rule, _ in sandbox.misbehaved(life, {}, whole, "No space left on device")] == rules


def test_each_rule_for_a_failing_disk_is_broken_by_something_here():
    rules = set(re.findall(r'yield "([a-z -]+)"', inspect.getsource(faults)))
    assert rules == {rule for _, _, _, rule in WRONG} - {"torn"}
