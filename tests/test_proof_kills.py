"""Real kills: SIGKILL before system calls that touch a file of the run's folder. A sample here, every call with ``course prove``."""
import os
import random
import textwrap

import pytest

from course_lib.proof import kills
from course_lib.proof.cases import BEGINNINGS, HISTORY, begun, case_of
from course_lib.scenarios import SALES_REPORT
from course_lib.scenarios.support_desk import SUPPORT_DESK

SALES = case_of(SALES_REPORT)
SAMPLE = 8  # kills of each beginning


@pytest.fixture(autouse=True)
def strace():
    why_not = kills.why_not()
    if why_not:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"NOT KILLED: {why_not}")


@pytest.mark.parametrize("life", BEGINNINGS)
def test_whichever_call_it_is_killed_at_the_files_are_old_or_new_and_a_resume_puts_all_right(life):
    story = begun(SALES, BEGINNINGS[life])
    changing = [call for call in kills.calls(story.files) if call.name in kills.CHANGING]
    killed = []
    assert kills.sweep(story, random.Random(life).sample(changing, SAMPLE), progress=killed.append) == []
    assert len(killed) == SAMPLE
    assert all(death.lives[-1].outcome.text.startswith("SIGKILL before") for death in killed)


@pytest.mark.parametrize("life", BEGINNINGS)
def test_a_run_that_keeps_a_history_survives_its_kills_too(life):
    case = SALES.under(HISTORY)
    story, killed = begun(case, BEGINNINGS[life]), []
    changing = [call for call in kills.calls(story.files, kills.WITH_HISTORY) if call.name in kills.CHANGING]
    assert kills.sweep(story, random.Random(life).sample(changing, SAMPLE // 2), kills.WITH_HISTORY, case=case, progress=killed.append) == []
    assert any(call.on == "history.jsonl" for call in changing) and len(killed) == SAMPLE // 2


def test_the_calls_that_are_counted_are_all_that_touch_the_folder():
    count = {}
    for call in kills.calls({}):
        name = "rename" if call.name.startswith("rename") else call.name  # some machines have it as renameat
        count[name, call.on] = count.get((name, call.on), 0) + 1
    # Three turns with A, record and B, and the final answer: 7 saves of the checkpoint and 3 of the ledger, each through a
    # file of its own that is written in two halves, synced and renamed, after which the folder is synced.
    assert (count["rename", "checkpoint.json.….tmp"], count["rename", "effects.json.….tmp"]) == (7, 3)
    assert (count["fsync", "checkpoint.json.….tmp"], count["fsync", "effects.json.….tmp"]) == (7, 3)
    assert count["write", "effects.json.….tmp"] == 6
    assert count["fsync", "the folder"] >= 10


def test_a_kill_leaves_the_process_no_chance_to_tidy_up():
    calls = kills.calls({})
    rename = next(call for call in calls if call.name.startswith("rename") and call.on.startswith("checkpoint.json"))
    life = kills.kill_at({}, rename)
    assert [name for name in life.files if name.startswith("checkpoint.json.") and name.endswith(".tmp")]
    assert "checkpoint.json" not in life.files


def test_a_kill_while_the_world_is_laid_out_leaves_no_half_of_it():
    calls = [call for call in kills.calls({}) if call.on.startswith("sales-notes.txt") and call.name in kills.CHANGING]
    assert kills.sweep(begun(SALES, None), calls[:4]) == []


def test_what_happened_to_the_world_is_not_undone_by_laying_it_out_again(tmp_path):
    scenario = SUPPORT_DESK["delete_file"]
    scenario.lay_out(tmp_path)
    (tmp_path / "draft.txt").unlink()
    scenario.lay_out(tmp_path)
    assert not (tmp_path / "draft.txt").exists()
    (tmp_path / "outage.txt").unlink()  # as if the power had gone before the last file was there
    (tmp_path / "draft.txt").write_text("a word of my own")
    scenario.lay_out(tmp_path)
    assert (tmp_path / "outage.txt").read_text() == scenario.files["outage.txt"]
    assert (tmp_path / "draft.txt").read_text() == "a word of my own"


def wrong_program(tmp_path, code):
    """The program with some code run before it."""
    path = tmp_path / "wrong.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(kills.ROOT)!r})\n{textwrap.dedent(code)}\n"
                    "from course_lib.__main__ import main\nsys.exit(main())\n")
    return "-S", str(path)


IN_PLACE = """
    import os
    from course_lib import checkpoint
    def write_atomic(path, data, *, moment, **facts):
        with open(path, "wb", buffering=0) as file:
            file.write(data[:len(data) // 2])
            file.write(data[len(data) // 2:])
    checkpoint.write_atomic = write_atomic
"""
RUNS_AGAIN = """
    from course_lib import resume, tools
    def reconcile(scene, tool_set, *, effects_path):
        call = scene["pendingToolUse"]
        return call and tools.perform(call, tool_set, effects_path=effects_path)
    resume.reconcile = reconcile
"""
FORGETS_A = """
    from course_lib import agent
    save = agent.save_checkpoint
    agent.save_checkpoint = lambda path, scene: scene["pendingToolUse"] or save(path, scene)
"""


@pytest.mark.parametrize("code, crash, at, rule", [
    (IN_PLACE, None, ("write", "checkpoint.json"), "torn"),
    (RUNS_AGAIN, ("after-tool", 3), ("fsync", "checkpoint.json.….tmp"), "twice"),
    (FORGETS_A, None, ("openat", "effects.json.….tmp"), "twice"),
], ids=["a write in place", "a resume that runs everything again", "no Point A"])
def test_a_program_that_breaks_a_promise_is_found_by_a_kill_and_told_in_a_short_story(tmp_path, code, crash, at, rule):
    program, story = wrong_program(tmp_path, code), begun(SALES, crash)
    calls = [call for call in kills.calls(story.files, program) if (call.name, call.on) == at]
    found = dict(kills.sweep(story, calls, program))
    assert rule in found, found
    assert f"killed by SIGKILL before its {at[0]} no. " in found[rule] and found[rule].count(";") <= 2
