"""Saves that fail: what the operating system refuses, and what can't be saved as it is (DESIGN section 3, rules 3, 4 and 6; section 12)."""
import itertools

import pytest

from course_lib import load_checkpoint, run_agent
from helpers import Model, World, answer, fail_at, on_disk, read, run, told, text, use, writing

DONE = [text("All done.")]


@pytest.fixture
def world():
    return World()


def checkpoint(folder):
    return load_checkpoint(folder / "checkpoint.json")


def test_a_point_a_that_can_not_be_saved_starts_no_tool(world, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        fail_at(patch, "replace", writing("checkpoint.json", 3))
        end = run(model := Model([use("t1", "look")], [use("t2", "note")], DONE), world, tmp_path)
    assert end.how == "StorageError" and "No space left on device" in end.words
    assert world.done == [("look", {})]
    assert (checkpoint(tmp_path)["turns"], sorted(on_disk(tmp_path))) == (1, ["checkpoint.json", "effects.json"])
    assert run(model, world, tmp_path, resume=True).how == "done"
    assert world.done == [("look", {}), ("note", {})]


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, (1,)])
def test_a_call_that_can_not_be_saved_as_it_came_is_refused_before_anything_runs(world, tmp_path, value):
    end = run(Model([use("t1", "note", price=value)], DONE), world, tmp_path)
    assert end.how == "UnsavableValue" and "input.price can't be saved" in end.words
    assert (world.done, on_disk(tmp_path)) == ([], {})


def test_a_point_b_that_can_not_be_saved_stops_the_run_and_a_resume_takes_the_result_from_the_ledger(world, tmp_path, monkeypatch):
    model = Model([use("t1", "note")], [use("t2", "note")], DONE)
    with monkeypatch.context() as patch:
        fail_at(patch, "replace", writing("checkpoint.json", 2))
        end = run(model, world, tmp_path)
    assert end.how == "StorageError" and (len(model.sent), len(world.done)) == (1, 1)  # nothing is asked or done on top of it (C43)
    assert list(read(tmp_path / "effects.json")) == ["t1"]
    assert checkpoint(tmp_path)["pendingToolUse"]["id"] == "t1"
    assert run(model, world, tmp_path, resume=True).how == "done"
    assert model.sent[1][2] == told(answer("t1", "note done"))
    assert len(world.done) == 2


def test_a_final_answer_that_can_not_be_saved_is_an_error_and_a_resume_asks_again(world, tmp_path, monkeypatch):
    model = Model([use("t1", "note")], DONE)
    with monkeypatch.context() as patch:
        fail_at(patch, "replace", writing("checkpoint.json", 3))
        assert run(model, world, tmp_path).how == "StorageError"
    assert run(model, world, tmp_path, resume=True).words == "All done."
    assert (len(model.sent), len(world.done)) == (3, 1)


@pytest.mark.parametrize("through", [run, lambda model, world, folder: run_agent(model, "do it", world.tools, folder=folder)], ids=["in a run", "outside any run"])
def test_a_ledger_write_that_fails_does_not_stop_the_run_and_goes_out_with_the_next(world, tmp_path, monkeypatch, capsys, through):
    seen = []
    world.tools["spy"] = lambda input: seen.append((checkpoint(tmp_path)["turns"], (tmp_path / "effects.json").exists()))
    fail_at(monkeypatch, "replace", writing("effects.json", 1))
    model = Model([use("t1", "note")], [use("t2", "spy")], DONE)
    through(model, world, tmp_path)
    assert model.sent[1][2] == told(answer("t1", "note done"))
    assert seen == [(2, False)]  # Point B of turn 1 and Point A of turn 2 were saved all the same
    assert list(read(tmp_path / "effects.json")) == ["t1", "t2"]
    assert "[ledger write failed] tool_use_id=t1 name=note" in capsys.readouterr().err


def test_an_effect_whose_record_was_lost_is_unknown_after_a_crash_before_point_b(world, tmp_path, monkeypatch, capsys):
    model = Model([use("t1", "note")], DONE)
    with monkeypatch.context() as patch:
        fail_at(patch, "replace", writing("effects.json"))
        assert run(model, world, tmp_path, crash_after=("mid-save-b", 1)).how == "killed"
    assert run(model, world, tmp_path, resume=True).how == "done"
    assert "unknown" in model.sent[1][2]["content"][0]["content"]
    assert len(world.done) == 1


@pytest.mark.parametrize(("call", "nth"), [(call, nth) for call in ("open", "write", "fsync", "replace", "close", "scandir", "unlink") for nth in range(1, 12)])
def test_whichever_file_operation_fails_nothing_is_done_twice_or_forgotten(world, tmp_path, monkeypatch, capsys, call, nth):
    model = Model([use("t1", "note", n=1)], [use("t2", "note", n=2)], DONE)
    run(model, world, tmp_path, crash_after=("after-save-a", 1))  # the resume, too, meets the fault
    with monkeypatch.context() as patch:
        fail_at(patch, call, lambda *_, numbers=itertools.count(1): next(numbers) == nth, OSError(5, "Input/output error"))
        first = attempt(model, world, tmp_path)
    assert first == "All done." or "Input/output error" in first
    assert attempt(model, world, tmp_path) == "All done."
    one, two = (message["content"][0] for message in checkpoint(tmp_path)["messages"][2::2])
    assert "unknown" in one["content"] and ("note", {"n": 1}) not in world.done  # killed before it began
    assert world.done in ([], [("note", {"n": 2})])
    assert "unknown" in two["content"] or (two == answer(two["tool_use_id"], "note done") and world.done)


def attempt(model, world, folder):
    """With every sync on: the final text, or the error's."""
    try:
        return run_agent(model, "do it", world.tools, folder=folder, resume=True)
    except Exception as error:
        assert type(error).__name__ in ("StorageError", "CheckpointUnreadable", "LedgerUnreadable")
        return str(error)
