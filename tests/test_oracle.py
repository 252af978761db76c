"""The oracle goes by what the tools wrote down and what the model was told, whatever checkpoint and ledger claim."""
import json

import pytest

from course_lib.checkpoint import FILE, save_checkpoint
from course_lib.scenarios import SALES_REPORT, SUPPORT_DESK, oracle
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.one_call import one_call
from course_lib.scenarios.oracle import ASKS_DONE, ASKS_NOT_DONE, LOST, ONCE, OUTCOMES, RAN_TWICE, REJECTED, RUN_LOST, TWICE, UNFINISHED, executions, judge
from course_lib.scenarios.policies import BLIND, LESSON_6, NO_CHECKPOINT, NO_LEDGER, RECORD_FIRST, Policy
from course_lib.scenarios.runner import start
from course_lib.storage import StorageError
from course_lib.tools import perform, result
from helpers import on_disk, read, write


def append_line(folder, input):
    """Add a line to a log, once for each call."""
    with open(folder / "log.txt", "a", encoding="utf-8") as file:
        file.write(input["line"] + "\n")


def set_line(folder, input):
    """Make a line the whole log."""
    (folder / "log.txt").write_text(input["line"] + "\n", encoding="utf-8")


def break_down(folder, input):
    """Fail, having done nothing."""
    raise OSError("no connection")


APPEND, SET, BROKEN = (one_call(tool, {"line": "checkout is down"}) for tool in (append_line, set_line, break_down))


def forget_the_result(path, checkpoint):
    """In place of save_checkpoint: Point B without the result that makes it one."""
    if checkpoint["messages"][-1]["role"] == "user":
        checkpoint["messages"].pop()
    save_checkpoint(path, checkpoint)


def forget_it_on_disk(path, checkpoint):
    """The same slip in what is saved; the run itself goes on well."""
    messages = checkpoint["messages"]
    save_checkpoint(path, {**checkpoint, "messages": messages[:-1] if messages[-1]["role"] == "user" else messages})


def claim_success(checkpoint, tools, *, effects_path):
    """In place of reconcile: nobody looks, and the model is told that all is well."""
    call = checkpoint["pendingToolUse"]
    return call and result(call, "done")


def run_again(checkpoint, tools, *, effects_path):
    """In place of reconcile: the call is run once more, whatever the ledger says."""
    call = checkpoint["pendingToolUse"]
    return call and perform(call, tools, effects_path=effects_path)


def own(**functions):
    return Policy("own", "own", functions)


def story(scenario, policy, *crashes):
    """Killed at each of the crashes, resumed, and run to its end."""
    run = Experiment(scenario, policy)
    for crash in crashes:
        assert run.run(crash).outcome.status == "killed"
    run.run()
    return run


STORIES = {
    "not killed": (ONCE, 1, SALES_REPORT, LESSON_6),
    "killed with its effect on record": (ONCE, 1, SALES_REPORT, LESSON_6, ("after-effect-write", 3)),
    "killed before it was asked for": (ONCE, 1, SALES_REPORT, LESSON_6, ("after-save-b", 2), ("after-response", 1)),
    "only a reading tool ran twice": (ONCE, 1, SALES_REPORT, LESSON_6, ("after-tool", 1)),
    "an overwriting tool ran twice": (RAN_TWICE, 2, SALES_REPORT, BLIND, ("after-tool", 3)),
    "it ran three times": (RAN_TWICE, 3, SET, own(reconcile=run_again), ("after-tool", 1), ("after-tool", 1)),
    "an appending tool ran twice": (TWICE, 2, APPEND, own(reconcile=run_again), ("after-effect-write", 1)),
    "started over without a checkpoint": (TWICE, 2, SUPPORT_DESK["append_log"], NO_CHECKPOINT, ("after-tool", 2)),
    "recorded before it ran": (LOST, 0, SALES_REPORT, RECORD_FIRST, ("mid-tool", 3)),
    "claimed without a look": (LOST, 0, APPEND, own(reconcile=claim_success), ("after-save-a", 1)),
    "claimed, and true by luck": (ONCE, 1, APPEND, own(reconcile=claim_success), ("after-tool", 1)),
    "nobody knows, it ran": (ASKS_DONE, 1, SALES_REPORT, LESSON_6, ("after-tool", 3)),
    "nobody knows, it did not run": (ASKS_NOT_DONE, 0, SALES_REPORT, LESSON_6, ("after-save-a", 3)),
    "nobody knows, it ran half": (ASKS_NOT_DONE, 0, SALES_REPORT, LESSON_6, ("mid-tool", 3)),
    "nobody knows, though it was saved as pending": (ASKS_DONE, 1, APPEND, NO_LEDGER, ("mid-save-b", 1), ("mid-save-b", 1)),
    "it failed, and the model was told": (ASKS_NOT_DONE, 0, BROKEN, LESSON_6),
    "its result was dropped": (REJECTED, 0, SALES_REPORT, own(save_checkpoint=forget_the_result)),
    "its result was dropped at the end": (REJECTED, 1, APPEND, own(save_checkpoint=forget_the_result)),
    "its result was dropped on disk": (RUN_LOST, 1, SALES_REPORT, own(save_checkpoint=forget_it_on_disk), ("after-save-b", 3)),
    "killed before the first save": (RUN_LOST, 0, SALES_REPORT, LESSON_6, ("mid-save-a", 1)),
}


@pytest.mark.parametrize("verdict, times, scenario, policy, crashes", [(*told[:4], told[4:]) for told in STORIES.values()], ids=STORIES)
def test_a_story_that_was_really_run_ends_in(verdict, times, scenario, policy, crashes):
    run = story(scenario, policy, *crashes)
    assert (run.verdict, executions(scenario, run.folder)) == (verdict, times), run.legs[-1].outcome.text


def test_every_outcome_is_among_the_stories():
    assert {told[0] for told in STORIES.values()} == set(OUTCOMES) and UNFINISHED not in OUTCOMES


@pytest.mark.parametrize("crash", [("before-request", 1), ("after-save-a", 3), ("after-save-b", 3), ("mid-final-save", 1)])
def test_killed_is_not_the_end_of_it(crash):
    run = Experiment(SALES_REPORT)
    run.run(crash)
    assert run.verdict == UNFINISHED


def test_a_killed_run_whose_final_answer_was_saved_is_not_finished_until_a_resume_has_said_so():
    run = Experiment(SALES_REPORT)
    run.run(("after-final-save", 1))
    assert run.verdict == UNFINISHED
    run.run()
    assert run.verdict == ONCE


def test_an_error_in_the_middle_leaves_a_run_that_can_go_on():
    def full(path, checkpoint):
        if checkpoint["turns"] == 2:
            raise StorageError("No space left on device.")
        save_checkpoint(path, checkpoint)
    run = Experiment(SALES_REPORT, own(save_checkpoint=full))
    assert run.run().outcome.status == "error" and run.verdict == UNFINISHED and run.is_over


def test_a_pause_at_the_limit_of_turns_is_not_finished(tmp_path):
    assert judge(SALES_REPORT, tmp_path, start(SALES_REPORT, tmp_path, max_turns=2)) == UNFINISHED
    assert judge(SALES_REPORT, tmp_path, start(SALES_REPORT, tmp_path, max_turns=3)) == ONCE


# Beyond the reach of the harness's books

def test_neither_checkpoint_nor_ledger_can_talk_the_oracle_round():
    run = story(SALES_REPORT, RECORD_FIRST, ("mid-tool", 3))
    write(run.folder / "effects.json", {f"toolu_{n}": {"name": "write_report", "result": "ok"} for n in range(9)})
    write(run.folder / FILE, {**read(run.folder / FILE), "effects": "write_report once", "turns": 1})
    assert run.verdict == LOST
    (run.folder / "effects.json").unlink()
    assert run.verdict == LOST


def test_the_journal_alone_says_how_often():
    run = story(SALES_REPORT, LESSON_6)
    journal = run.folder / "journal.jsonl"
    last = journal.read_text(encoding="utf-8").splitlines()[-1]
    assert json.loads(last)["tool"] == "write_report"
    journal.write_text(journal.read_text(encoding="utf-8") + last + "\n", encoding="utf-8")
    assert run.verdict == RAN_TWICE  # as a tool would have it that ran again and left the world the same
    (run.folder / "report.txt").write_text("and again", encoding="utf-8")
    assert run.verdict == TWICE
    journal.unlink()
    assert run.verdict == LOST


def test_another_call_of_the_same_tool_is_not_the_call_in_question():
    scenario = SUPPORT_DESK["read_file"]  # it reads the report first, then the runbook
    assert executions(scenario, story(scenario, LESSON_6).folder) == 1


@pytest.mark.parametrize("odd", [
    {"type": "tool_result"}, {"type": "tool_result", "tool_use_id": ["toolu_03"], "is_error": True}, {"type": "tool_use"}, {"type": "thinking"}])
def test_a_file_that_somebodys_save_has_spoilt_is_judged_all_the_same(odd):
    run = story(SALES_REPORT, LESSON_6)
    spoilt = read(run.folder / FILE)
    spoilt["messages"].insert(1, {"role": "user", "content": [odd]})
    write(run.folder / FILE, spoilt)
    assert run.verdict == ONCE


def test_judging_leaves_the_folder_alone_and_runs_the_world_once_at_most(monkeypatch):
    run = story(APPEND, BLIND, ("after-tool", 1))
    before = on_disk(run.folder)
    assert run.verdict == TWICE
    monkeypatch.setattr(oracle, "start", None)
    assert run.verdict == TWICE and on_disk(run.folder) == before
