"""Runs in this process and in a child that is really killed: same moments, same lines, same bytes."""
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from course_lib.scenarios import SALES_REPORT, runner
from course_lib.scenarios.recording import Recording
from course_lib.scenarios.runner import start, start_in_child
from helpers import on_disk


def masked(files):
    """Files, ``{name: bytes}``, for comparison: the names of temp files are drawn at random."""
    return sorted((re.sub(r"\.[0-9a-f]{12}\.tmp$", ".tmp", name), data) for name, data in files.items())


def taken(folder):
    return masked(on_disk(folder))


@pytest.fixture
def new_folder(tmp_path):
    """new_folder(killed_at): a folder where nothing has happened, or a run was killed."""
    def make(killed_at=None):
        folder = tmp_path / f"run-{len(os.listdir(tmp_path))}"
        folder.mkdir()
        if killed_at:
            assert start(SALES_REPORT, folder, crash_after=killed_at).status == "killed"
        return folder
    return make


@pytest.mark.parametrize("killed_at, places", [
    (None, 3 * 10 + 4),                     # three turns of ten moments and four for the final answer
    (("after-tool", 2), 6 + 10 + 4),        # the tool runs again: two moments in it, two for the ledger, two for save B
    (("after-effect-write", 2), 2 + 10 + 4),
    (("mid-tool", 3), 2 + 4),               # half a report, and nobody knows
], ids=lambda value: value and value[0] if isinstance(value, tuple) else "")
def test_a_simulated_kill_and_a_real_one_leave_the_same_bytes_at_every_moment(new_folder, killed_at, places):
    again = bool(killed_at)
    moments = [moment for moment in start(SALES_REPORT, new_folder(killed_at), resume=again).moments if moment.count]
    assert len(moments) >= places, moments
    cases = [((moment.label, moment.count), new_folder(killed_at), new_folder(killed_at)) for moment in moments]
    simulated = [start(SALES_REPORT, here, resume=again, crash_after=at) for at, here, _ in cases]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        real = list(pool.map(lambda case: start_in_child(SALES_REPORT, case[2], resume=again, crash_after=case[0]), cases))
    for (at, here, there), outcome, killed in zip(cases, simulated, real):
        assert taken(here) == taken(there), at
        assert (outcome.status, killed.status) == ("killed", "killed"), (at, killed.text)
        assert outcome.moments == killed.moments and (killed.moments[-1].label, killed.moments[-1].count) == at
        assert outcome.lines[:-1] == killed.lines[:-1], at
        assert outcome.lines[-1] == f"[kill] simulated kill at {at[0]}:{at[1]}" and killed.lines[-1] == f"[kill] SIGKILL at {at[0]}:{at[1]}"


@pytest.mark.parametrize("run", [start, start_in_child])
def test_the_lines_of_a_killed_run_and_its_resume_come_in_order_and_nothing_is_printed(new_folder, run, capfd):
    folder = new_folder()
    killed = run(SALES_REPORT, folder, crash_after=("after-save-a", 3))
    resumed = run(SALES_REPORT, folder, resume=True)
    assert killed.lines[:-1] + resumed.lines == [
        "[turn 1][save A] pending=read_notes", "[turn 1][save B]",
        "[turn 2][save A] pending=count_words", "[turn 2][save B]",
        "[turn 3][save A] pending=write_report",
        "[resume] read turn=3 pending=write_report",
        "[resume][reconcile] tool_use_id=toolu_03 name=write_report ledger miss with side effects, unresolvable, appending is_error",
        "[turn 3][save B] filled in this turn's tool result after resume",
        f"[done] {resumed.text}"]
    assert (killed.status, resumed.status) == ("killed", "done")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("run", [start, start_in_child])
def test_a_resume_of_nothing_is_an_error_in_words_and_the_last_line(new_folder, run):
    outcome = run(SALES_REPORT, new_folder(), resume=True)
    assert outcome.status == "error" and "nothing to resume from" in outcome.text
    assert outcome.lines == [outcome.text] and outcome.moments == []


def test_a_pause_at_the_limit_of_turns_is_done_and_a_resume_goes_on(new_folder):
    folder = new_folder()
    paused = start(SALES_REPORT, folder, max_turns=2)
    assert (paused.status, paused.text) == ("done", "Reached the max of 2 turns, stopping on our own")
    assert not (folder / "report.txt").exists()
    assert start(SALES_REPORT, folder, resume=True).status == "done" and (folder / "report.txt").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals; kill() ends a process there in its own way")
def test_the_child_is_killed_by_the_one_signal_that_nobody_can_catch(new_folder, children):
    start_in_child(SALES_REPORT, new_folder(), crash_after=("mid-tool", 1))
    assert children[0].returncode == -signal.SIGKILL


def test_a_kill_that_never_comes_lets_the_run_end(new_folder):
    for run in (start, start_in_child):
        assert run(SALES_REPORT, new_folder(), crash_after=("after-save-a", 4)).status == "done"


def test_the_listeners_hear_of_a_childs_moment_while_it_stands_still_there(new_folder):
    here, there = new_folder(), new_folder()
    mine, of_the_child = Recording(here), Recording(there)
    start(SALES_REPORT, here, listeners=[mine])
    start_in_child(SALES_REPORT, there, listeners=[of_the_child])
    assert mine.moments == of_the_child.moments
    for i, moment in enumerate(mine.moments):
        assert masked(mine.files(i)) == masked(of_the_child.files(i)), moment


def test_a_child_works_in_the_folder_as_this_process_would_name_it(new_folder, monkeypatch):
    folder = new_folder()
    monkeypatch.chdir(folder.parent)
    assert start_in_child(SALES_REPORT, folder.name).status == "done"
    assert (folder / "report.txt").exists()


@pytest.mark.parametrize("scenario, folder, why", [
    (replace(SALES_REPORT, files={"no/such/folder.txt": ""}), "", "FileNotFoundError: "),
    (SALES_REPORT, "not-there", "The folder not-there can't be written: No such file or directory"),
])
def test_a_child_that_fails_is_told_as_an_error_in_words(new_folder, scenario, folder, why, capfd):
    outcome = start_in_child(scenario, new_folder() / folder)
    assert outcome.status == "error" and why in outcome.text and outcome.lines[-1] == outcome.text
    assert "\n" not in outcome.text and "Traceback" not in outcome.text
    assert capfd.readouterr() == ("", "")


def test_a_child_that_someone_else_kills_is_told_as_an_error_in_words(new_folder, children):
    def kill(moment):
        if moment.label == "after-save-b":
            children[0].kill()
            children[0].wait()

    outcome = start_in_child(SALES_REPORT, new_folder(), listeners=[kill])
    assert outcome.status == "error" and "ended before its run did" in outcome.text
    assert outcome.lines == ["[turn 1][save A] pending=read_notes", "[turn 1][save B]", outcome.text]


@pytest.mark.parametrize("last_seen, dies_at", [
    (("mid-tool", 3), ("mid-tool", 3)), (("after-save-a", 3), ("mid-tool", 3)),
    (("mid-save-b", 2), ("mid-save-b", 2)), (("after-effect-write", 2), ("mid-save-b", 2)),
])
def test_a_child_whose_parent_goes_away_dies_at_its_next_moment_as_if_killed(new_folder, children, last_seen, dies_at, monkeypatch):
    monkeypatch.setattr(runner._Guard, "_kill", lambda self: None)  # a parent that is gone kills nobody

    class Gone(Exception):
        pass

    def go_away(moment):
        if (moment.label, moment.count) == last_seen:
            children[0].stdout.close()
            if last_seen != dies_at:
                children[0].stdin.write("\n")  # it may go on, and will find nobody to tell
            raise Gone

    folder = new_folder()
    with pytest.raises(Gone):
        start_in_child(SALES_REPORT, folder, listeners=[go_away])
    assert children[0].returncode == 1
    assert taken(folder) == taken(new_folder(dies_at))
