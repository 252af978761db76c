"""The disk model: what is asked of the system comes from the real write_atomic; what may be left follows the three rules."""
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import Run, storage
from course_lib.scenarios import disk
from course_lib.scenarios.disk import atomic, files_after_kill, in_place, plain, states_after_power_cut, states_at_any_time, without

NAME, TEMP = "checkpoint.json", "checkpoint.json.tmp"
OLD, NEW = b"old save", b"the new save"


def test_the_library_writes_syncs_renames_and_syncs_the_folder_in_this_order():
    operations = atomic(NAME, NEW)
    writes = [operation for operation in operations if operation[0] == "write"]
    assert b"".join(data for _, _, _, data in writes) == NEW
    assert [start for _, _, start, _ in writes] == [0, len(NEW) // 2]
    assert [operation for operation in operations if operation[0] != "write"] == [
        ("create", TEMP), ("fsync", TEMP), ("rename", TEMP, NAME), ("fsync folder",)]
    assert [operations.index(write) for write in writes] == [1, 2]


def test_at_the_level_for_kills_nothing_is_synced():
    assert [what for what, *_ in atomic(NAME, NEW, "kill")] == ["create", "write", "write", "rename"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no handle on a folder")
def test_what_is_recorded_is_what_a_real_run_asks_the_system_for(tmp_path, monkeypatch):
    asked = []
    for name in ("open", "write", "fsync", "replace"):
        def note(*args, name=name, real=getattr(os, name), **options):
            asked.append(name)
            return real(*args, **options)
        monkeypatch.setattr(os, name, note)
    monkeypatch.setattr(storage, "_sync", os.fsync)  # macOS has a stronger call of its own
    storage.write_atomic(tmp_path / NAME, NEW, moment="save-a")
    monkeypatch.undo()
    assert asked == ["open", "write", "write", "fsync", "replace", "open", "fsync"]
    assert [what for what, *_ in atomic(NAME, NEW)] == ["create", "write", "write", "fsync", "rename", "fsync folder"]


def test_recording_touches_no_file_and_no_other_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    heard = []
    with Run(listeners=[heard.append], durability="kill", crash_after=("mid-save-a", 1)):
        operations = atomic(NAME, NEW)
    assert list(tmp_path.iterdir()) == [] and heard == []
    assert ("fsync folder",) in operations and storage.os is os


def test_a_call_the_recorder_does_not_know_is_an_error_and_not_a_blank(monkeypatch):
    monkeypatch.setattr(storage, "_rename", lambda temp, target: storage.os.link(temp, target))
    with pytest.raises(AttributeError, match="link"):
        atomic(NAME, NEW)
    assert storage.os is os


# --- a kill: what was asked for counts ------------------------------------------------------

@pytest.mark.parametrize("count", range(len(NEW) + 1))
def test_a_killed_plain_write_leaves_what_a_real_file_then_holds(tmp_path, count):
    (tmp_path / NAME).write_bytes(OLD)
    with open(tmp_path / NAME, "wb", buffering=0) as file:
        file.write(NEW[:count])
        assert files_after_kill(plain(NAME, NEW), {NAME: OLD}, count) == {NAME: (tmp_path / NAME).read_bytes()}


@pytest.mark.parametrize("old", [b"short", b"a much longer old save"])
@pytest.mark.parametrize("count", range(len(NEW) + 1))
def test_a_killed_write_in_place_leaves_what_a_real_file_then_holds(tmp_path, old, count):
    (tmp_path / NAME).write_bytes(old)
    with open(tmp_path / NAME, "r+b", buffering=0) as file:
        file.write(NEW[:count])
        assert files_after_kill(in_place(NAME, NEW), {NAME: old}, count) == {NAME: (tmp_path / NAME).read_bytes()}


@pytest.mark.parametrize("count", range(len(NEW) + 1))
def test_a_killed_atomic_write_leaves_what_the_real_one_leaves(tmp_path, monkeypatch, count):
    class Killed(BaseException):
        pass

    def write(fd, data, real=os.write):
        nonlocal left
        left -= real(fd, data[:left])
        if left == 0:
            raise Killed
        return len(data)

    (tmp_path / NAME).write_bytes(OLD)
    left = count
    monkeypatch.setattr(os, "write", write)
    with pytest.raises(Killed):
        storage.write_atomic(tmp_path / NAME, NEW, moment="save-a")
    monkeypatch.undo()
    real = {NAME if path.name == NAME else TEMP: path.read_bytes() for path in tmp_path.iterdir()}
    assert files_after_kill(atomic(NAME, NEW), {NAME: OLD}, count) == real == {NAME: OLD, TEMP: NEW[:count]}


# --- a power cut: the three rules ------------------------------------------------------------

def checkpoints(states):
    return {state.get(NAME) for state in states}


ZEROS = bytes(len(NEW))


def test_a_plain_write_may_leave_anything():
    assert checkpoints(states_after_power_cut(plain(NAME, NEW), {NAME: OLD})) == {OLD, b"", NEW[:6], ZEROS, NEW}


def test_without_the_files_sync_the_new_name_may_stand_for_an_empty_file():
    for operations in (atomic(NAME, NEW, "kill"), without("fsync", atomic(NAME, NEW))):
        assert b"" in checkpoints(states_after_power_cut(operations, {NAME: OLD}))


def test_without_the_folders_sync_a_save_that_has_returned_may_be_forgotten():
    operations = without("fsync folder", atomic(NAME, NEW))
    assert checkpoints(states_at_any_time(operations, {NAME: OLD})) == {OLD, NEW}
    assert checkpoints(states_after_power_cut(operations, {NAME: OLD})) == {OLD, NEW}
    assert checkpoints(states_after_power_cut(operations, {})) == {None, NEW}  # a run's first save


def test_with_both_it_is_old_or_new_and_new_once_the_save_has_returned():
    assert checkpoints(states_at_any_time(atomic(NAME, NEW), {NAME: OLD})) == {OLD, NEW}
    assert states_after_power_cut(atomic(NAME, NEW), {NAME: OLD}) == [{NAME: NEW}]
    assert states_after_power_cut(atomic(NAME, NEW), {}) == [{NAME: NEW}]


def test_names_reach_the_disk_in_the_order_they_were_asked_for():
    operations = [("create", "a"), ("create", "b"), ("rename", "a", "c")]
    assert [set(state) for state in states_after_power_cut(operations, {})] == [set(), {"a"}, {"a", "b"}, {"b", "c"}]


def test_a_folders_sync_says_nothing_of_contents_and_a_files_sync_nothing_of_names():
    create = [("create", "a"), ("write", "a", 0, b"x")]
    assert {b"", b"x"} <= {state["a"] for state in states_after_power_cut([*create, ("fsync folder",)], {})}
    assert {} in states_after_power_cut([*create, ("fsync", "a")], {})


names = st.sampled_from("ab")
operations_on_two_files = st.lists(st.one_of(
    st.tuples(st.just("write"), names, st.integers(0, 3), st.binary(min_size=1, max_size=3)),
    st.tuples(st.just("truncate"), names, st.integers(0, 3)),
    st.tuples(st.just("fsync"), names),
    st.tuples(st.just("fsync folder"))), max_size=4)


@given(operations_on_two_files)
def test_what_a_reader_saw_may_always_be_left_and_is_all_that_is_left_once_everything_is_synced(operations):
    before = {"a": b"one", "b": b"two"}
    seen = files_after_kill(operations, before, 10**9)
    may = states_after_power_cut(operations, before)
    assert seen in may
    assert all(state in states_at_any_time(operations, before) for state in may)
    synced = [*operations, ("fsync", "a"), ("fsync", "b"), ("fsync folder",)]
    assert states_after_power_cut(synced, before) == [seen]


def test_the_five_writers_differ_in_their_syncs_alone():
    syncs = {name: [what for what, *_ in write(NAME, NEW) if what.startswith("fsync")] for name, write in disk.WRITERS.items()}
    assert syncs == {"plain": [], "rename": [], "file": ["fsync"], "folder": ["fsync folder"], "both": ["fsync", "fsync folder"]}
