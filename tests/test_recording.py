"""A recording gives back every file of every moment, and keeps only what was new in it."""
import os
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.scenarios import recording
from course_lib.scenarios.recording import Recording

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None
NAMES = st.sampled_from(["a.json", "a.json.0123456789ab.tmp", "b.txt"])
FEW = st.text("ab", max_size=12).map(str.encode)  # few letters, so that versions share much and in many ways
DATA = FEW | st.binary(max_size=40)
EDITS = st.tuples(st.just("write"), DATA) | st.tuples(st.just("splice"), st.integers(0, 40), st.integers(0, 3), FEW) | st.tuples(st.just("remove"))
HISTORIES = st.lists(st.lists(st.tuples(NAMES, EDITS, st.booleans()), max_size=3), max_size=25)


@given(HISTORIES)
def test_every_moment_comes_back_as_it_was_and_names_what_changed(history):
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder, states = Path(name), [{}]
        record = Recording(folder)
        for edits in history:
            state = dict(states[-1])
            for name, edit, by_rename in edits:
                state.pop(name, None) if edit[0] == "remove" else state.update({name: edited(state.get(name, b""), *edit)})
                put(folder / name, state.get(name), by_rename)
            record(f"moment {len(states)}")
            states.append(state)
    states = states[1:]
    assert record.moments == [f"moment {i + 1}" for i in range(len(states))]
    assert [record.files(i) for i in range(len(states))] == states
    assert [list(record.files(i)) for i in range(len(states))] == [sorted(state) for state in states]
    for i, (before, state) in enumerate(zip([{}, *states], states)):
        assert record.changed(i) == sorted(name for name in before | state if before.get(name) != state.get(name))


def edited(data, kind, *how):
    if kind == "write":
        return how[0]
    at, length, new = how
    return data[:at] + new + data[at + length:]


def put(path, data, by_rename):
    if data is None:
        path.unlink(missing_ok=True)
    elif by_rename:
        path.with_name("new").write_bytes(data)
        path.with_name("new").replace(path)
    else:
        path.write_bytes(data)


def test_a_change_that_leaves_the_size_and_sets_the_time_back_is_seen(tmp_path):
    path, record = tmp_path / "account.txt", Recording(tmp_path)
    for amount in ("10", "20", "30"):
        path.write_text(amount)
        os.utime(path, ns=(0, 0))
        record(amount)
    assert [record.files(i)["account.txt"] for i in range(3)] == [b"10", b"20", b"30"]


def test_a_second_change_within_one_tick_of_the_clock_is_seen(tmp_path, monkeypatch):
    now = time.time_ns()
    monkeypatch.setattr(recording, "_stamp", lambda entry: (now, now, 2, 1))  # a file system that tells the two apart by nothing
    path, record = tmp_path / "account.txt", Recording(tmp_path)
    for amount in ("10", "20"):
        path.write_text(amount)
        record(amount)
    assert [record.files(i)["account.txt"] for i in range(2)] == [b"10", b"20"]


def test_a_file_that_has_lain_still_is_not_read_again(tmp_path, monkeypatch):
    (tmp_path / "notes.txt").write_text("12 units")
    record = Recording(tmp_path)
    record("first")
    monkeypatch.setattr(recording, "FRESH", -10**18)  # as if a long time had passed
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path.name} was read"))
    record("second")
    assert record.files(1) == record.files(0) == {"notes.txt": b"12 units"} and record.changed(1) == []


def test_only_files_are_recorded(tmp_path):
    (tmp_path / "outbox").mkdir()
    record = Recording(tmp_path)
    record("only a folder")
    assert record.files(0) == {} and record.changed(0) == []


def test_a_long_run_keeps_the_bytes_that_each_save_adds_and_any_version_is_near():
    turns, addition = 1000, 1000
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder, messages = Path(name), b""
        record = Recording(folder)
        tracemalloc.start()
        try:
            for turn in range(turns):
                messages += b"%-*d" % (addition, turn)
                data = b'{"messages": [' + messages + b'], "turns": %d}' % turn
                temp = folder / f"checkpoint.json.{turn:012x}.tmp"
                temp.write_bytes(data[:len(data) // 2])
                record("mid-save-b")
                temp.write_bytes(data)
                temp.replace(folder / "checkpoint.json")
                record("after-save-b")
            made = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, recording.__file__)])  # others in this process may keep something, too
            kept = sum(each.size for each in made.statistics("filename"))
        finally:
            tracemalloc.stop()
    # All additions make one conversation; the last version is held once more, and each version has its place in the list.
    # Whole versions would be 500 conversations, and half as many for the temp files.
    assert kept < 2.5 * len(messages) + 2 * turns * 1000, f"{kept:,} bytes are kept of {len(messages):,} that were added"
    steps = lines_run(lambda: record.version("checkpoint.json", 2 * turns - 1))
    assert steps < 100 * turns, f"{steps} lines of Python ran to put one version together"
    assert record.version("checkpoint.json", 2 * turns - 1) == data
    half, whole = record.files(1000)["checkpoint.json.0000000001f4.tmp"], record.version("checkpoint.json", 1001)
    assert whole.endswith(b'], "turns": 500}') and half == whole[:len(whole) // 2]


def lines_run(function):
    count, before = 0, sys.gettrace()

    def trace(frame, event, arg):
        nonlocal count
        count += event == "line"
        return trace
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
