"""An experiment: runs, kills and resumes in one folder, and rehearsals that touch nothing."""
import re
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.checkpoint import FILE
from course_lib.moments import crash_point
from course_lib.scenarios import SALES_REPORT
from course_lib.scenarios.experiment import AT_START, Experiment
from course_lib.scenarios.policies import LESSON_6, NO_CHECKPOINT, NO_LEDGER, Policy
from course_lib.values import encode
from helpers import on_disk, tools_run


def masked(files):
    """Files for comparison: the names of temp files are drawn at random."""
    return sorted((re.sub(r"\.[0-9a-f]{12}\.tmp$", ".tmp", name), data) for name, data in files.items())


def shown(leg):
    """All that a leg shows: its moments, each with the folder."""
    return [(moment, masked(leg.recording.files(i))) for i, moment in enumerate(leg.recording.moments)]


def places(leg):
    return [(moment.label, moment.count) for moment in leg.recording.moments if moment.count]


def run_through(*crashes, policy=LESSON_6, scenario=SALES_REPORT, **options):
    run = Experiment(scenario, policy)
    for crash in crashes:
        assert run.run(crash, **options).outcome.status == "killed", crash
    return run


# Legs

def test_a_new_experiment_holds_the_world_and_nothing_else():
    run = Experiment(SALES_REPORT)
    assert list(on_disk(run.folder)) == ["sales-notes.txt"] and run.legs == run.crashes == []
    assert not (run.is_over or run.is_lost or run.resumes) and run.code == "sales-report/write_report/lesson-6"


@pytest.mark.parametrize("crashes", [[], [("mid-tool", 3)], [("mid-save-b", 2), ("mid-save-b", 1)], [("after-final-save", 1)]], ids=str)
def test_a_rehearsal_shows_the_next_leg_and_changes_nothing(crashes):
    run = run_through(*crashes)
    before, legs = on_disk(run.folder), list(run.legs)
    rehearsed = run.rehearse()
    assert (on_disk(run.folder), run.legs, run.crashes) == (before, legs, crashes)
    assert rehearsed.outcome.status == "done"
    assert rehearsed.recording.moments[0].label == AT_START and rehearsed.recording.files(0) == before
    assert shown(rehearsed) == shown(run.run())


def test_each_leg_goes_on_from_what_the_one_before_left():
    run = run_through(("after-tool", 2))
    assert tools_run(run.folder) == ["read_notes", "count_words"] and run.resumes and not run.is_over
    assert run.run(("after-effect-write", 2)).outcome.lines[:2] == [
        "[resume] read turn=2 pending=count_words",
        "[resume][reconcile] tool_use_id=toolu_02 name=count_words ledger miss, read-only tool, re-running"]
    assert tools_run(run.folder) == ["read_notes", "count_words", "count_words", "write_report"]
    assert run.run(("mid-save-b", 1)).outcome.lines[1].endswith("name=write_report ledger hit, reusing result, not re-running")
    assert run.run().outcome.status == "done" and run.is_over and run.verdict == "once"
    assert run.code == "sales-report/write_report/lesson-6/after-tool:2/after-effect-write:2/mid-save-b:1"
    assert tools_run(run.folder) == ["read_notes", "count_words", "count_words", "write_report"]


@pytest.mark.parametrize("policy, crashes", [
    (LESSON_6, [("mid-tool", 3)]),
    (LESSON_6, [("after-tool", 1), ("mid-save-b", 1), ("mid-effect-write", 1)]),
    (NO_LEDGER, [("after-tool", 3)]), (NO_CHECKPOINT, [("after-tool", 3), ("mid-tool", 2)]),
])
def test_killed_for_real_it_leaves_the_same_files_the_same_recording_and_the_same_verdict(policy, crashes):
    simulated, real = run_through(*crashes, policy=policy), run_through(*crashes, policy=policy, really=True)
    assert [shown(leg) for leg in simulated.legs] == [shown(leg) for leg in real.legs]
    assert masked(on_disk(simulated.folder)) == masked(on_disk(real.folder)) and simulated.code == real.code
    assert "SIGKILL" in real.legs[-1].outcome.text and "simulated" in simulated.legs[-1].outcome.text
    simulated.run(), real.run(really=True)
    assert simulated.verdict == real.verdict and on_disk(simulated.folder) == on_disk(real.folder)


def test_a_listener_hears_each_moment_while_the_folder_is_as_it_was_then():
    run, heard = Experiment(SALES_REPORT), []
    leg = run.run(("mid-tool", 3), listeners=[lambda moment: heard.append((moment, masked(on_disk(run.folder))))])
    assert heard == shown(leg)[1:]


def test_reset_puts_files_and_world_back():
    run = run_through(("mid-tool", 3), ("mid-save-b", 1))
    (run.folder / "sales-notes.txt").write_text("spoilt")
    run.reset()
    fresh = Experiment(SALES_REPORT)
    assert on_disk(run.folder) == on_disk(fresh.folder) and run.code == fresh.code and run.legs == []
    assert shown(run.run()) == shown(fresh.run())


def test_killed_before_its_first_save_a_run_is_lost_on_resume_and_can_start_over():
    run = run_through(("after-response", 1))
    assert run.resumes and not run.is_lost
    run.run()
    assert run.is_lost and not run.resumes and not run.is_over and run.verdict == "run lost"
    assert run.rehearse().outcome.lines[0] == "[turn 1][save A] pending=read_notes"
    run.run(("after-save-a", 2))
    assert run.resumes and not run.is_lost
    again = Experiment.from_code(run.code)
    assert run.code.endswith("/after-response:1/after-save-a:2") and on_disk(again.folder) == on_disk(run.folder)


def torn_save(path, checkpoint):
    data = encode(checkpoint)
    Path(path).write_bytes(data[:len(data) // 2])
    crash_point("mid-save-a")
    Path(path).write_bytes(data)


def unanswered_save(path, checkpoint):
    Path(path).write_bytes(encode({**checkpoint, "messages": checkpoint["messages"] * 2, "pendingToolUse": None}))
    crash_point("after-save-b")


@pytest.mark.parametrize("save, crash", [(torn_save, ("mid-save-a", 2)), (unanswered_save, ("after-save-b", 1))])
def test_a_checkpoint_that_can_not_be_trusted_loses_the_run_as_a_missing_one_does(save, crash):
    run = run_through(crash, policy=Policy("own", "own", {"save_checkpoint": save}))
    left = on_disk(run.folder)
    assert "start over without --resume" in run.run().outcome.text and on_disk(run.folder) == left
    assert run.is_lost and not run.resumes and not run.is_over and run.verdict == "run lost"
    assert (FILE in left) and run.run(crash).outcome.lines[0].startswith("[fresh start] ")


def test_where_nothing_is_saved_every_leg_is_a_fresh_start():
    run = run_through(("after-tool", 3), ("after-tool", 3), policy=NO_CHECKPOINT)
    run.run()
    assert run.is_over and tools_run(run.folder) == ["read_notes", "count_words", "write_report"] * 3 and run.verdict == "once (ran 2×)"


def test_experiments_do_not_meet_and_are_gone_with_their_last_reference():
    one, two = Experiment(SALES_REPORT), Experiment(SALES_REPORT)
    one.run()
    assert list(on_disk(two.folder)) == ["sales-notes.txt"]
    folder = one.folder
    del one
    assert not folder.exists() and two.folder.exists()


def test_a_tool_that_spoils_the_folder_spoils_one_experiment_only():
    def tools(folder):
        return {name: replace(tool, function=lambda input: (Path(folder) / "sales-notes.txt").unlink(missing_ok=True)) for name, tool in SALES_REPORT.tools(folder).items()}
    run = Experiment(replace(SALES_REPORT, tools=tools))
    assert run.rehearse().outcome.status == "done" and (run.folder / "sales-notes.txt").exists()
    assert run.run().outcome.status == "done" and not (run.folder / "sales-notes.txt").exists()
    run.reset()
    assert (run.folder / "sales-notes.txt").exists()
