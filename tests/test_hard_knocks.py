"""What no student means to do and some code does: pipes for files, processes that stay, folders that vanish."""
import os
import shutil
import signal
import subprocess
import time

import pytest

from course_lib import load_checkpoint, load_effects
from course_lib.checkpoint import CheckpointUnreadable
from course_lib.errors import CourseError
from course_lib.guard import fresh_start
from course_lib.ledger import LedgerUnreadable
from course_lib.scenarios import SALES_REPORT
from course_lib.scenarios.runner import start_in_child
from course_lib.storage import StorageError, write_atomic
from course_lib.widgets.crash_lab import CrashLab
from course_lib.widgets.outcome_matrix import YOURS, OutcomeMatrix

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes and forks are POSIX")


def run(folder, function, **options):
    return start_in_child(SALES_REPORT, folder, functions={"save_checkpoint": function}, **options)


@pytest.mark.parametrize("load, error", [(load_checkpoint, CheckpointUnreadable), (load_effects, LedgerUnreadable)])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(tmp_path, load, error):
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(error, match="no ordinary file"):
        load(tmp_path / "state.json")


def test_a_pipe_or_a_device_is_never_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "out.json")
    with pytest.raises(StorageError, match="no ordinary file"):
        write_atomic(tmp_path / "out.json", b"{}", moment="save-a")
    assert (tmp_path / "out.json").is_fifo() and os.listdir(tmp_path) == ["out.json"]


def test_a_fresh_start_takes_away_a_link_and_leaves_the_file_of_another_name_that_it_points_to(tmp_path):
    (tmp_path / "thesis.txt").write_text("four years of work")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint.json").symlink_to(tmp_path / "thesis.txt")
    fresh_start(tmp_path / "run")
    assert (tmp_path / "thesis.txt").read_text() == "four years of work"
    assert os.listdir(tmp_path / "run") == []


def test_a_process_that_the_code_leaves_behind_neither_hangs_the_notebook_nor_stays(tmp_path):
    def leaves_a_sleeper(path, checkpoint):
        sleeper = subprocess.Popen(["sleep", "600"])
        (path.parent / "sleeper.txt").write_text(str(sleeper.pid))
        os._exit(3)

    began = time.monotonic()
    outcome = run(tmp_path, leaves_a_sleeper, patience=0.5)
    assert outcome.status == "error" and time.monotonic() - began < 60, "it waited for the sleeper"
    pid = int((tmp_path / "sleeper.txt").read_text())
    while is_running(pid):  # a SIGKILL takes its moment; one that never comes is the test's to notice
        assert time.monotonic() - began < 60, "the sleeper outlived the run"


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_file_that_the_code_names_without_a_folder_lands_in_the_folder_of_the_run(tmp_path, monkeypatch):
    def hard_coded(path, checkpoint):
        with open("my-checkpoint.json", "w") as file:
            file.write("{}")

    (tmp_path / "notebook").mkdir()
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "notebook")
    run(tmp_path / "run", hard_coded)
    assert os.listdir(tmp_path / "notebook") == [] and (tmp_path / "run" / "my-checkpoint.json").exists()


def test_a_process_that_stands_still_is_ended_and_counts_as_cut_off(tmp_path):
    def stops(path, checkpoint):
        os.kill(os.getpid(), signal.SIGSTOP)

    outcome = run(tmp_path, stops, patience=0.2)
    assert outcome.cut_off and "was silent for 3.2 seconds" in outcome.text


def test_an_error_that_speaks_of_a_timeout_is_no_cut_off(tmp_path):
    def gives_up(path, checkpoint):
        raise TimeoutError("Timeout (0:00:05)!")

    outcome = run(tmp_path, gives_up)
    assert outcome.status == "error" and not outcome.cut_off and "gives_up raised TimeoutError" in outcome.text


def test_code_that_writes_into_the_channel_is_told_so(tmp_path):
    def scribbles(path, checkpoint):
        for fd in range(3, 20):
            try:
                os.write(fd, b"not for you\n")
            except OSError:
                pass

    assert "wrote into the channel" in run(tmp_path, scribbles).text


def test_an_async_function_is_refused_in_words(tmp_path):
    async def save_checkpoint(path, checkpoint):
        pass

    with pytest.raises(CourseError, match="async or has a yield"):
        run(tmp_path, save_checkpoint)


def test_a_run_whose_folder_is_removed_is_told_and_can_be_reset():
    lab = CrashLab("sales-report")
    shutil.rmtree(lab.experiment.folder)
    lab.run_button.click()
    assert "The folder of the run is gone" in lab.alert.value
    lab.reset_button.click()
    lab.run_button.click()
    assert "[done] Report written" in lab.text


def test_functions_that_do_not_get_through_a_run_get_no_column_and_the_reason_is_drawn():
    def save_checkpoint(path, checkpoint):
        return 1 / 0

    matrix = OutcomeMatrix("append_log", functions={"save_checkpoint": save_checkpoint})
    assert "division by zero" in matrix.alert.value and "no column" in matrix.alert.value
    assert YOURS not in [policy for policy, _ in matrix.outcomes] and YOURS not in [name for _, name in matrix.policy.options]
    assert ("lesson-6", "after-tool") in matrix.outcomes
