"""One run, one owner; restarts that nobody watches end; a run goes on only with what it was begun with."""
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from course_lib import Run, SimulatedCrash, Tool, go_back_to, run_agent
from course_lib import agent
from course_lib.errors import CourseError
from course_lib.guard import ATTEMPTS, LOCK, InUse, NoProgress, OtherTools, owning
from tests.helpers import ROOT, Model, World, killed, on_disk, program, program_here, read, refused, run, text, use, write

CALL, DONE = [use("t1", "note", line="x")], [text("done")]
HOLD = """
import sys
from course_lib import Run
from course_lib.guard import owning
with Run(), owning(sys.argv[1]):
    print("mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that owns the folder, until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(ROOT)},
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "mine\n"
    yield process
    process.kill()
    process.communicate()


# --- the lock -------------------------------------------------------------------------------------

def test_a_second_process_is_refused_with_the_owners_process_id_and_changes_nothing(tmp_path, other):
    killed_before = on_disk(tmp_path)
    for options in ([], ["--resume"]):
        refused(program_here(tmp_path, *options), f"in use by process {other.pid}")
    assert on_disk(tmp_path) == killed_before and read(tmp_path / LOCK)["pid"] == other.pid


def test_a_dead_owners_lock_is_taken_over_with_the_next_generation(tmp_path, other):
    other.send_signal(signal.SIGKILL)
    other.wait()
    assert read(tmp_path / LOCK) == {"pid": other.pid, "generation": 1}
    with Run(), owning(tmp_path):
        assert read(tmp_path / LOCK) == {"pid": os.getpid(), "generation": 2}
    assert not (tmp_path / LOCK).exists()


def test_a_run_that_was_killed_for_real_is_resumed_though_its_lock_lies_there(tmp_path):
    folder = killed(tmp_path, "after-save-a:2")
    assert (folder / LOCK).exists()
    assert program_here(folder, "--resume").returncode == 0 and not (folder / LOCK).exists()


def test_a_paused_owner_that_was_replaced_saves_nothing_more_and_runs_nothing_more(tmp_path):
    world = World()

    def pause(moment):  # somebody takes the paused process for dead, removes its lock, and starts another
        if moment.label == "after-save-a":
            (tmp_path / LOCK).unlink()
            write(tmp_path / LOCK, {"pid": 4711, "generation": 2})
            saved.update(on_disk(tmp_path))

    saved = {}
    with pytest.raises(InUse, match=r"no longer owns .* process 4711 has taken over \(generation 2\)"), Run(listeners=[pause], durability="kill"):
        run_agent(Model(CALL, DONE), "do it", world.tools, folder=tmp_path)
    assert world.done == [] and on_disk(tmp_path) == saved and read(tmp_path / LOCK)["pid"] == 4711


def test_an_owner_that_loses_its_folder_while_the_tool_runs_does_not_save_point_b(tmp_path):
    world = World()
    world.tools["note"] = Tool(lambda input: (tmp_path / LOCK).unlink())
    end = run(Model(CALL, DONE), world, tmp_path)
    assert end.how == "InUse" and read(tmp_path / "checkpoint.json")["pendingToolUse"]["id"] == "t1"


def test_two_runs_in_one_process_are_two_owners(tmp_path):
    with Run(), owning(tmp_path):
        with pytest.raises(InUse, match=str(os.getpid())), Run():
            run_agent(Model(CALL, DONE), "do it", World().tools, folder=tmp_path)


def test_a_rewind_waits_for_nobody_and_interrupts_nobody(tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    with Run(durability="kill"):
        run_agent(Model(CALL, DONE), "do it", World().tools, folder=folder, keep="history")
    with Run(), owning(folder):
        with pytest.raises(InUse), Run():
            go_back_to(1, folder=folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b'{"pid": 1}', b"\xff\0", b'{"pid": 99999999, "generation": 7}'])
def test_whatever_a_left_lock_holds_it_locks_nobody_out(tmp_path, content):
    (tmp_path / LOCK).write_bytes(content)
    assert run(Model(CALL, DONE), World(), tmp_path).how == "done"


def test_a_lock_that_cannot_be_made_is_said_before_the_first_request(tmp_path):
    (tmp_path / LOCK).mkdir()
    model = Model(CALL, DONE)
    end = run(model, World(), tmp_path)
    assert end.how == "StorageError" and "run.lock could not be made" in end.words and model.sent == []


# --- automatic restarts -----------------------------------------------------------------------------

def always_dying(folder, attempts):
    with Run(crash_after=("mid-save-b", 1), durability="kill", quiet=True):
        run_agent(Model(CALL, DONE), "do it", World().tools, folder=folder, resume=True, attempts=attempts)


def test_a_restart_loop_that_gets_nowhere_ends_with_a_reason_and_a_way_out(tmp_path):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    for _ in range(3):
        with pytest.raises(SimulatedCrash):
            always_dying(tmp_path, 3)
    before = on_disk(tmp_path)
    with pytest.raises(NoProgress, match="3 resumes in a row got no further than turn 1, Point A.*by hand"):
        always_dying(tmp_path, 3)
    assert on_disk(tmp_path) == before
    assert run(Model(CALL, DONE), World(), tmp_path, resume=True).how == "done"  # the way out
    assert not (tmp_path / ATTEMPTS).exists()


def test_the_attempt_is_noted_before_anything_is_tried(tmp_path):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    with pytest.raises(SimulatedCrash), Run(crash_after=("after-attempt", 1), durability="kill"):
        run_agent(Model(CALL, DONE), "do it", World().tools, folder=tmp_path, resume=True, attempts=5)
    assert read(tmp_path / ATTEMPTS) == {"at": [1, "A"], "attempts": 1}


def test_progress_sets_the_count_back(tmp_path):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    for _ in range(2):
        with pytest.raises(SimulatedCrash):
            always_dying(tmp_path, 2)
    run(Model(CALL, DONE), World(), tmp_path, resume=True, crash_after=("after-save-b", 1))  # a person got it further
    with suppress(SimulatedCrash), Run(crash_after=("before-request", 1), durability="kill"):
        run_agent(Model(CALL, DONE), "do it", World().tools, folder=tmp_path, resume=True, attempts=2)
    assert read(tmp_path / ATTEMPTS)["attempts"] == 1


def test_a_person_may_resume_as_often_as_they_like(tmp_path):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    for _ in range(12):
        assert run(Model(CALL, DONE), World(), tmp_path, resume=True, crash_after=("mid-save-b", 1)).how == "killed"
    assert run(Model(CALL, DONE), World(), tmp_path, resume=True).how == "done"


def test_the_program_takes_a_limit_of_attempts(tmp_path):
    folder = killed(tmp_path, "after-save-a:3")
    for _ in range(2):
        assert program_here(folder, "--resume", "--attempts", "2", CRASH_AFTER="mid-save-b:1").returncode == 137
    refused(program_here(folder, "--resume", "--attempts", "2"), "2 resumes in a row got no further than turn 3", out="[resume] read turn=3 pending=write_report\n")
    assert program_here(folder, "--resume").returncode == 0


@pytest.mark.parametrize("noted", [b"", b"{", b"[]", b'{"at": [1, "A"], "attempts": "many"}'])
def test_a_broken_count_begins_anew(tmp_path, noted):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    (tmp_path / ATTEMPTS).write_bytes(noted)
    with Run(durability="kill", quiet=True):
        assert run_agent(Model(CALL, DONE), "do it", World().tools, folder=tmp_path, resume=True, attempts=1) == "done"


# --- the same task, model and tools --------------------------------------------------------------------

def begun(folder, **changed):
    """A run of three tools that was killed, resumed with them changed."""
    world = World()
    run(Model(CALL, DONE), world, folder, crash_after=("after-save-a", 1))
    world.tools.update({name: tool for name, tool in changed.items() if tool})
    for name in [name for name, tool in changed.items() if tool is None]:
        del world.tools[name]
    before = on_disk(folder)
    end = run(Model(CALL, DONE), world, folder, resume=True)
    if end.how == "OtherTools":
        assert on_disk(folder) == before
    return end


@pytest.mark.parametrize("changed, words", [
    ({"extra": Tool(print)}, "the tool extra is new"),
    ({"look": None}, "the tool look is gone"),
    ({"pay": Tool(print, high_impact=False)}, "the tool pay says something else of itself"),
    ({"note": Tool(print, input_schema={"type": "object", "required": ["line"]})}, "the tool note says something else of itself"),
    ({"note": Tool(print, read_only=True)}, "the tool note says something else of itself"),
])
def test_a_resume_with_other_tools_is_refused_with_the_difference_named(tmp_path, changed, words):
    end = begun(tmp_path, **changed)
    assert end.how == "OtherTools" and words in end.words


def test_the_order_of_the_tools_and_the_code_behind_them_make_no_difference(tmp_path):
    assert begun(tmp_path, look=None, note=None).how == "OtherTools"
    world = World()
    other = World()
    run(Model(CALL, DONE), world, tmp_path, crash_after=("after-save-a", 1))
    other.tools = dict(reversed(other.tools.items()))
    assert run(Model(CALL, DONE), other, tmp_path, resume=True).how == "done"


def test_another_model_is_refused_by_name(tmp_path, monkeypatch):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    was = agent.MODEL
    monkeypatch.setattr(agent, "MODEL", "another-model")
    end = run(Model(CALL, DONE), World(), tmp_path, resume=True)
    assert end.how == "OtherTools" and f"the model was {was} and is another-model" in end.words


def test_another_task_is_refused_and_none_means_the_files(tmp_path):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    with pytest.raises(OtherTools, match="its task was 'do it' and is 'do that'"), Run():
        run_agent(Model(CALL, DONE), "do that", World().tools, folder=tmp_path, resume=True)
    with Run(durability="kill"):
        assert run_agent(Model(CALL, DONE), None, World().tools, folder=tmp_path, resume=True) == "done"


def test_a_file_of_the_lessons_has_no_fingerprint_and_is_not_compared(tmp_path):
    run(Model(CALL, DONE), World(), tmp_path, crash_after=("after-save-a", 1))
    saved = read(tmp_path / "checkpoint.json")
    del saved["fingerprint"]
    write(tmp_path / "checkpoint.json", saved)
    world = World()
    world.tools["extra"] = Tool(print)
    assert run(Model(CALL, DONE), world, tmp_path, resume=True).how == "done"
