"""history.jsonl: a line a save, checked line by line, cut off where a crash tore it, linear in time and bytes."""
import json
import os
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as st

from course_lib import Run, SimulatedCrash, go_back_to, load_latest, rewind_to, run_agent
from course_lib import book, history, storage
from course_lib.checkpoint import CheckpointMissing
from course_lib.errors import CourseError
from course_lib.history import FILE, HistoryError
from course_lib.storage import StorageError
from course_lib.values import encode
from tests.helpers import Model, World, answer, fail_at, read, said, scene, text, told, use

yes = lambda name, input: True


def finished(folder, turns=3, **settings):
    """A folder with the history of a run of that many turns; each notes something."""
    folder.mkdir(exist_ok=True)
    script = [[use(f"t{i}", "note", line=f"line {i} ☕")] for i in range(1, turns + 1)] + [[text("done")]]
    with Run(**{"durability": "kill", "clock": lambda: "2026-01-05T09:00:00.000Z", "new_id": lambda: "run-1", "quiet": True, **settings}):
        run_agent(Model(*script), "do it", World().tools, folder=folder, keep="history", max_turns=turns)
    return folder


@pytest.fixture
def folder(tmp_path):
    return finished(tmp_path / "checkpoints")


def resumed(folder, capsys=None):
    """The final answer after a resume, and what was said on stderr."""
    with Run(durability="kill"):
        final = run_agent(Model(*([use(f"t{i}", "note", line="again")] for i in range(1, 4)), [text("done")]), "do it", World().tools, folder=folder, resume=True)
    return final, capsys.readouterr().err if capsys else ""


# --- what a line holds ----------------------------------------------------------------------------

def test_a_history_has_a_line_a_save_and_a_line_an_effect_and_each_result_once(folder):
    lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["history"] + ["save", "effect", "save"] * 3 + ["save"]
    assert (folder / FILE).read_text(encoding="utf-8").count('"note done"') == 3


def test_both_of_the_lessons_files_are_written_at_the_end_and_on_demand(folder, tmp_path):
    assert read(folder / "checkpoint.json") == load_latest(folder=folder)
    assert list(read(folder / "effects.json")) == ["t1", "t2", "t3"]
    (folder / "checkpoint.json").unlink()
    history.write_files(folder)
    assert read(folder / "checkpoint.json") == load_latest(folder=folder)


def test_on_resume_the_history_decides_and_not_an_old_checkpoint_json(tmp_path):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    world = World()
    script = [[use("t1", "note", line="a")], [use("t2", "note", line="b")], [text("done")]]
    with Run(durability="kill"):
        run_agent(Model(*script), "do it", world.tools, folder=folder, keep="history", max_turns=1)
    assert read(folder / "checkpoint.json")["turns"] == 1
    with suppress(SimulatedCrash), Run(durability="kill", crash_after=("after-effect-write", 1)):
        run_agent(Model(*script), "do it", world.tools, folder=folder, resume=True)
    assert read(folder / "checkpoint.json")["turns"] == 1  # an old one
    with Run(durability="kill"):
        assert run_agent(Model(*script), "do it", world.tools, folder=folder, resume=True) == "done"
    assert [input["line"] for _, input in world.done] == ["a", "b"]


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8)


@settings(max_examples=60, deadline=None)
@given(keys=st.dictionaries(st.text(), JSON, max_size=3), input=st.dictionaries(st.text(), JSON, max_size=3), result=JSON, shuffled=st.randoms())
def test_whatever_a_checkpoint_holds_it_comes_back_byte_for_byte(tmp_path_factory, keys, input, result, shuffled):
    folder = tmp_path_factory.mktemp("h")
    call = {"id": "t1", "name": "pay", "input": input}
    at_a = {**scene([said({"type": "tool_use", **call})], pending=call, turns=1), **{k: v for k, v in keys.items() if k not in scene([])}}
    items = list(at_a.items())
    shuffled.shuffle(items)
    at_a = dict(items)
    at_b = {**at_a, "messages": [*at_a["messages"], told(answer("t1", json.dumps(result, ensure_ascii=False)))], "pendingToolUse": None, "tokensUsed": 9}
    path = folder / "checkpoint.json"
    entry = {"name": "pay", "result": result, "at": "2026-01-05T09:00:00.000Z", "input": input}
    wanted = []
    for saved in (at_a, at_b):
        try:
            wanted.append(encode(saved))
        except CourseError:  # what a file can't hold is refused here as well, and leaves no trace
            with pytest.raises(CourseError):
                with Run(durability="kill"):
                    history.save_checkpoint(path, saved)
            return
        with Run(durability="kill"):
            history.save_checkpoint(path, saved)
            if saved is at_a:
                history.save_effect(folder / "effects.json", "t1", entry)
    assert [encode(rewind_to(1, point, folder=folder)) for point in "AB"] == wanted
    assert encode(history.effects(folder)) == encode({"t1": entry})


# --- torn, damaged, changed ------------------------------------------------------------------------

def test_a_history_cut_at_any_byte_is_resumed_and_says_what_was_dropped(folder, capsys):
    data = (folder / FILE).read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == 10]
    for cut in [*range(ends[3], ends[4] + 1), ends[6] - 1, ends[6] + 1]:
        (folder / FILE).write_bytes(data[:cut])
        capsys.readouterr()
        final, said_ = resumed(folder, capsys)
        assert final == "done"
        torn = cut - max(end for end in ends if end <= cut)
        assert (f"ended in {torn} bytes that a crash had cut short" in said_) is (torn > 0), cut


def test_whole_lines_that_are_dropped_are_kept_apart(folder):
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    edited = lines[-1].replace(b"done", b"gone")
    (folder / FILE).write_bytes(b"".join(lines[:-1]) + edited)
    assert resumed(folder)[0] == "done"
    assert (folder / f"{FILE}.broken.1").read_bytes() == edited


def test_cut_before_its_first_save_there_is_nothing_to_resume_from(folder):
    data = (folder / FILE).read_bytes()
    for cut in (0, 5, data.index(b"\n"), data.index(b"\n") + 1, data.index(b"\n") + 9):
        (folder / FILE).write_bytes(data[:cut])
        with pytest.raises(CheckpointMissing, match="nothing to resume from"):
            resumed(folder)


def test_damage_elsewhere_is_an_error_that_names_the_line_and_changes_nothing(folder):
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    for number in range(len(lines) - 1):
        if number + 2 == len(lines) and next(iter(json.loads(lines[number - 1]))) == "effect":
            continue  # the one line that may still be unsynced, see below
        for damaged in (lines[number].replace(b'"', b"'", 1), b"", lines[number][:-9] + b"\n", lines[number] * 2, lines[number].replace(b"\n", b"")):
            broken = b"".join([*lines[:number], damaged, *lines[number + 1:]])
            (folder / FILE).write_bytes(broken)
            with pytest.raises(HistoryError, match=r"Line \d+ of history.jsonl is damaged"):
                resumed(folder)
            assert (folder / FILE).read_bytes() == broken


def test_an_answer_that_was_not_synced_yet_may_be_lost_with_the_line_after_it_and_the_effect_is_not_repeated(folder):
    """A power cut may leave garbage for both; the effect before them was synced, and answers the call."""
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    (folder / FILE).write_bytes(b"".join(lines[:6]) + b"\0" * 40 + b"\n" + lines[7])
    world = World()
    with Run(durability="kill", quiet=True):
        run_agent(Model(*([use(f"t{i}", "note", line="again")] for i in range(1, 4)), [text("done")]), "do it", world.tools, folder=folder, resume=True)
    assert [input for _, input in world.done] == [{"line": "again"}]  # the third; the second was on record


def test_the_zeros_behind_a_damaged_last_line_are_no_line_that_follows(folder):
    data = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(data[:-30] + b"\0" * 29 + b"\n" + b"\0" * 500)
    assert resumed(folder)[0] == "done"


def test_a_line_behind_an_unsynced_answer_that_tells_of_an_effect_is_never_dropped(folder):
    lines = (folder / FILE).read_bytes().splitlines(keepends=True)
    (folder / FILE).write_bytes(b"".join(lines[:6]) + b"\0" * 40 + b"\n" + lines[5])
    with pytest.raises(HistoryError, match="Line 7"):
        resumed(folder)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=200) | st.lists(st.sampled_from([b'{"history":1', b'{"save":"A","set":{"turns":1}', b'{"effect":"x","entry":{},"asked":1', b'{"rewind":[1,"B"]',
                                                            b'{"history":1,"parent":{"folder":"../up","bytes":3,"sum":""}', b'{"save":[]', b"[]", b"{", b'{"save":"B","answers":"x"'])))
def test_whatever_bytes_it_holds_reading_ends_in_a_sentence(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("odd")
    if isinstance(data, list):  # lines whose sums are right, so that only their sense is wrong
        total, out = 0, b""
        for body in data:
            total = __import__("zlib").crc32(body, total)
            out += body + b',"sum":"%08x"}\n' % total
        data = out
    (folder / FILE).write_bytes(data)
    with suppress(CourseError):
        load_latest(folder=folder)


def test_another_version_is_refused_by_name(folder):
    import zlib
    body = b'{"history":2'
    (folder / FILE).write_bytes(body + b',"sum":"%08x"}\n' % zlib.crc32(body))
    with pytest.raises(HistoryError, match="version 2"):
        resumed(folder)


def test_a_save_whose_past_was_changed_is_refused(folder):
    latest = load_latest(folder=folder)
    with pytest.raises(HistoryError, match="only grows"):
        history.save_checkpoint(folder / "checkpoint.json", {**latest, "messages": [{"role": "user", "content": "another"}, *latest["messages"][1:]]})
    with pytest.raises(HistoryError, match="only grows"):
        history.save_checkpoint(folder / "checkpoint.json", {**latest, "messages": latest["messages"][:3]})
    assert load_latest(folder=folder) == latest


@pytest.mark.parametrize("odd", [None, [], {}, {"messages": None}, {"version": 1, "messages": []}, scene([], turns="3"), {**scene([]), "version": 2}])
def test_what_is_no_checkpoint_is_not_saved(folder, odd):
    before = (folder / FILE).read_bytes()
    with pytest.raises(CourseError):
        history.save_checkpoint(folder / "checkpoint.json", odd)
    assert (folder / FILE).read_bytes() == before


@pytest.mark.parametrize("durability", ["kill", "power-loss"])
def test_what_another_program_wrote_meanwhile_is_not_written_over(tmp_path, durability):
    folder = finished(tmp_path / "checkpoints")
    with Run(durability=durability):
        latest = load_latest(folder=folder)
        history.save_checkpoint(folder / "checkpoint.json", latest)
        with Run(durability=durability):  # another program
            history.save_checkpoint(folder / "checkpoint.json", latest)
        theirs = (folder / FILE).read_bytes()
        with pytest.raises(StorageError, match="another program has written to it"):
            history.save_checkpoint(folder / "checkpoint.json", latest)
    assert (folder / FILE).read_bytes() == theirs


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_failed_write_leaves_the_history_as_it_was(tmp_path, monkeypatch, call):
    folder = finished(tmp_path / "checkpoints")
    before, latest = (folder / FILE).read_bytes(), load_latest(folder=folder)
    fail_at(monkeypatch, call, lambda *_: True)
    if call == "fsync":
        monkeypatch.setattr(storage, "_sync", os.fsync)
    with pytest.raises(StorageError, match="No space left"), Run():
        history.save_checkpoint(folder / "checkpoint.json", latest)
    monkeypatch.undo()
    assert (folder / FILE).read_bytes() == before and load_latest(folder=folder) == latest


def test_an_effect_whose_write_failed_goes_out_with_the_next_one(tmp_path, monkeypatch):
    folder, world, failing = tmp_path / "checkpoints", World(), []
    folder.mkdir()
    real = book.append

    def append(path, data, *rest, moment, **facts):
        if moment == "effect-write" and not failing:
            failing.append(data)
            raise StorageError("history.jsonl could not be written: full.")
        return real(path, data, *rest, moment=moment, **facts)

    monkeypatch.setattr(book, "append", append)
    script = [[use("t1", "note", line="a")], [use("t2", "note", line="b")], [text("done")]]
    with Run(durability="kill", quiet=True):
        run_agent(Model(*script), "do it", world.tools, folder=folder, keep="history")
    assert failing and sorted(history.effects(folder)) == ["t1", "t2"] and len(load_latest(folder=folder)["messages"]) == 6


def test_the_zeros_that_a_killed_run_leaves_behind_its_last_line_are_no_damage(tmp_path, capsys):
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    world = World()
    script = [[use("t1", "note", line="a")], [use("t2", "note", line="b")], [text("done")]]
    with suppress(SimulatedCrash), Run(crash_after=("after-effect-write", 2)):
        run_agent(Model(*script), "do it", world.tools, folder=folder, keep="history")
    assert (folder / FILE).read_bytes().endswith(b"\0" * 1000)
    with Run():
        assert run_agent(Model(*script), "do it", world.tools, folder=folder, resume=True) == "done"
    assert (folder / FILE).read_bytes().endswith(b"}\n") and len(world.done) == 2 and capsys.readouterr().err == ""


# --- cost ---------------------------------------------------------------------------------------------

def costs(folder, turns, monkeypatch):
    """(syncs, bytes) of a run of that many turns."""
    counted = {"syncs": 0, "bytes": 0}
    real_sync, real_write = storage._sync, os.write

    def sync(fd, **_):
        counted["syncs"] += 1
        real_sync(fd, **_)

    def write(fd, data):
        counted["bytes"] += len(data)
        return real_write(fd, data)

    monkeypatch.setattr(storage, "_sync", sync)
    monkeypatch.setattr(storage.os, "write", write)
    monkeypatch.setattr(storage, "_grow", lambda fd, size, needed: needed)  # zeros are counted apart: once the file's length again
    monkeypatch.setattr(history, "write_files", lambda folder: None)
    finished(folder, turns, durability="power-loss")
    monkeypatch.undo()
    return counted["syncs"], counted["bytes"]


def test_a_turn_costs_two_syncs_and_as_many_bytes_late_as_early(tmp_path, monkeypatch):
    few, many = costs(tmp_path / "few", 10, monkeypatch), costs(tmp_path / "many", 60, monkeypatch)
    assert many[0] - few[0] == 2 * 50
    assert (many[1] - few[1]) / 50 < few[1] / 10 * 1.05


def test_a_rewind_and_a_fork_add_little(tmp_path):
    folder = finished(tmp_path / "checkpoints", 200)
    before = (folder / FILE).stat().st_size
    from course_lib import fork_from
    branch = fork_from(100, "b", folder=folder)
    assert sum(path.stat().st_size for path in branch.iterdir()) < 1000
    assert (folder / FILE).stat().st_size == before
    go_back_to(199, folder=folder, tools=World().tools)
    assert (folder / FILE).stat().st_size - before < 1000
