"""What the files say before a resume, and the way the resume then went."""
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.checkpoint import load_checkpoint
from course_lib.scenarios import SALES_REPORT, SUPPORT_DESK, forecast
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.forecast import Facts, branch, facts
from course_lib.scenarios.one_call import one_call
from course_lib.scenarios.policies import BLIND, INTENT, KEY, LESSON_4, LESSON_6, NO_LEDGER, ONLY_B, VERIFY, Policy
from course_lib.tools import result
from helpers import on_disk

PENDING = Facts(is_missing=False, trouble=None, pending="write_report", id="toolu_03", in_ledger=False, read_only=False)
CLOSED = replace(PENDING, pending=None, id=None)


def killed(crash, scenario=SALES_REPORT, policy=LESSON_6):
    run = Experiment(scenario, policy)
    assert run.run(crash).outcome.status == "killed"
    return run


# Before

@pytest.mark.parametrize("crash, expected", [
    (("after-save-a", 3), PENDING),
    (("mid-effect-write", 3), PENDING),
    (("after-effect-write", 3), replace(PENDING, in_ledger=True)),
    (("mid-save-b", 3), replace(PENDING, in_ledger=True)),
    (("after-save-a", 1), replace(PENDING, pending="read_notes", id="toolu_01", read_only=True)),
    (("after-effect-write", 2), replace(PENDING, pending="count_words", id="toolu_02", read_only=True, in_ledger=True)),
    (("mid-save-a", 3), CLOSED),
    (("after-save-b", 3), CLOSED),
    (("after-final-save", 1), CLOSED),
])
def test_the_two_files_say_what_is_pending_and_what_is_on_record(crash, expected):
    run = killed(crash)
    before = on_disk(run.folder)
    assert facts(SALES_REPORT, run.folder) == expected and on_disk(run.folder) == before


@pytest.mark.parametrize("spoil, is_missing", [
    (lambda path: path.unlink(), True),
    (lambda path: path.write_bytes(b""), False),
    (lambda path: path.write_bytes(path.read_bytes()[:300]), False),
    (lambda path: path.write_bytes(b'{"version": 2}'), False),
    (lambda path: (path.unlink(), path.mkdir()), False),
], ids=["missing", "empty", "torn", "version", "unreadable"])
def test_without_a_scene_to_go_on_from_the_reason_is_told_as_a_resume_would(spoil, is_missing):
    run = killed(("after-save-a", 3))
    spoil(run.folder / "checkpoint.json")
    known = facts(SALES_REPORT, run.folder)
    assert known.is_missing == is_missing and (known.pending, known.id, known.in_ledger) == (None, None, False)
    assert run.run().outcome.text == known.trouble
    assert branch(run.legs[-1].outcome, known) == forecast.LOST


@pytest.mark.parametrize("ledger", [b"", b'{"toolu_03": {"na', b"[]", b'{"toolu_03": 1}'])
def test_a_ledger_that_can_not_be_read_counts_as_empty(ledger):
    run = killed(("after-effect-write", 3))
    (run.folder / "effects.json").write_bytes(ledger)
    known = facts(SALES_REPORT, run.folder)
    assert known == PENDING and branch(run.run().outcome, known) == forecast.UNKNOWN


def test_a_pending_call_of_a_tool_that_is_not_there_reads_nothing():
    run = killed(("after-save-a", 1))
    without = replace(SALES_REPORT, tools=lambda folder: {})
    assert facts(without, run.folder) == replace(PENDING, pending="read_notes", id="toolu_01")


# After

def look(folder, input):
    """Look at the folder."""
    return len(list(folder.iterdir()))


def touch(folder, input):
    """Make a file, for one more time."""
    (folder / "done.txt").touch()


def known_by_file(says):
    """A call whose tool can be asked whether it happened; says: folder's file is there → the answer."""
    return one_call(touch, {}, verify=lambda input, key: says)


def say_nothing(checkpoint, tools, *, effects_path):
    """In place of reconcile: an answer out of the air."""
    call = checkpoint["pendingToolUse"]
    return call and result(call, "fine")


def lenient(path):
    """In place of load_checkpoint: a file that is torn is taken from its copy."""
    try:
        return load_checkpoint(path)
    except Exception:
        return load_checkpoint(f"{path}.copy")


EMAIL = SUPPORT_DESK["send_email"]


WAYS = [
    (SALES_REPORT, LESSON_6, ("after-save-b", 2), forecast.NOTHING),
    (SALES_REPORT, LESSON_6, ("mid-save-a", 2), forecast.NOTHING),
    (SALES_REPORT, LESSON_6, ("after-final-save", 1), forecast.NOTHING),
    (EMAIL, ONLY_B, ("after-tool", 2), forecast.NOTHING),
    (SALES_REPORT, LESSON_6, ("mid-save-b", 3), forecast.HIT),
    (EMAIL, LESSON_4, ("after-effect-write", 2), forecast.HIT),
    (SALES_REPORT, LESSON_6, ("after-tool", 2), forecast.READ_ONLY),
    (one_call(look, {}, read_only=True), LESSON_6, ("after-save-a", 1), forecast.READ_ONLY),
    (SALES_REPORT, LESSON_6, ("after-tool", 3), forecast.UNKNOWN),
    (EMAIL, NO_LEDGER, ("mid-save-b", 2), forecast.UNKNOWN),
    (EMAIL, INTENT, ("after-intent", 2), forecast.UNKNOWN),
    (EMAIL, INTENT, ("after-approval", 1), forecast.NEVER_STARTED),
    (EMAIL, KEY, ("after-tool", 2), forecast.SAME_KEY),
    (EMAIL, VERIFY, ("after-tool", 2), forecast.DONE),
    (EMAIL, VERIFY, ("after-save-a", 2), forecast.NOT_DONE),
    (known_by_file(True), LESSON_6, ("after-tool", 1), forecast.DONE),
    (known_by_file(None), LESSON_6, ("after-tool", 1), forecast.UNKNOWN),
    (EMAIL, LESSON_4, ("after-save-a", 2), forecast.RERUN),
    (EMAIL, BLIND, ("after-tool", 2), forecast.RERUN),
    (SALES_REPORT, BLIND, ("after-tool", 3), forecast.RERUN),
    (SALES_REPORT, LESSON_6, ("after-response", 1), forecast.LOST),
    (SALES_REPORT, Policy("own", "own", {"reconcile": say_nothing}), ("after-tool", 3), forecast.UNCLEAR),
]


@pytest.mark.parametrize("scenario, policy, crash, way", WAYS)
def test_a_resume_went(scenario, policy, crash, way):
    run = killed(crash, scenario, policy)
    known = facts(scenario, run.folder)
    assert branch(run.run().outcome, known) == way, run.legs[-1].outcome.lines


def test_of_a_resume_that_was_itself_killed_the_way_is_known_as_far_as_it_came():
    for crash, way in [(("mid-tool", 1), forecast.READ_ONLY), (("mid-save-b", 1), forecast.READ_ONLY)]:
        run = killed(("after-tool", 2))
        known = facts(SALES_REPORT, run.folder)
        assert branch(run.run(crash).outcome, known) == way


def test_a_load_checkpoint_of_ones_own_that_knows_more_than_the_file_is_no_lost_run():
    run = killed(("after-save-a", 3), policy=Policy("own", "own", {"load_checkpoint": lenient}))
    path = Path(run.folder / "checkpoint.json")
    path.with_name("checkpoint.json.copy").write_bytes(path.read_bytes())
    path.write_bytes(b"{")
    known = facts(SALES_REPORT, run.folder)
    assert known.trouble and branch(run.run().outcome, known) == forecast.UNCLEAR and run.verdict.startswith("asks")


def test_every_way_has_a_story_and_those_that_run_the_call_are_told_apart():
    ways = {value for name, value in vars(forecast).items() if name.isupper() and isinstance(value, str)}
    assert {way for *_, way in WAYS} | {forecast.IDEMPOTENT} == ways  # only by rerun_idempotent, which no policy here asks for
    assert set(forecast.RUNS) < ways and not {forecast.HIT, forecast.UNKNOWN, forecast.DONE, forecast.NOTHING} & set(forecast.RUNS)
