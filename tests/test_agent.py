"""The loop: Point A, Point B, the turn limit, stop reasons, faults, a student's own functions (rules 3 to 6, 9, 10, 12)."""
import json
import os

import pytest

from course_lib.agent import MODEL
from course_lib.guard import fingerprint
from course_lib import SimulatedCrash, load_checkpoint, save_checkpoint
from helpers import Model, World, answer, fail_at, on_disk, read, run, said, scene, text, told, use, write, writing

DONE = [text("All done.")]
APPROVE = {"approve": lambda name, input: True}


@pytest.fixture
def world():
    return World()


def checkpoint(folder):
    return load_checkpoint(folder / "checkpoint.json")


# what is on disk, and when

def test_point_a_holds_the_turn_and_its_call_before_the_tool_runs_and_point_b_the_result(world, tmp_path):
    seen = []
    world.tools["spy"] = lambda input: seen.append(checkpoint(tmp_path)) or "seen"
    turn = [text("Now."), use("t1", "spy", x=1)]
    run(Model(turn, DONE), world, tmp_path, crash_after=("after-save-b", 1))
    assert seen == [{"version": 1, "task": "do it", "turns": 1, "tokensUsed": 11, "messages": [{"role": "user", "content": "do it"}, said(*turn)],
                     "pendingToolUse": {"id": "t1", "name": "spy", "input": {"x": 1}}, "fingerprint": fingerprint(MODEL, world.tools)}]
    assert checkpoint(tmp_path) == {**seen[0], "messages": [*seen[0]["messages"], told(answer("t1", "seen"))], "pendingToolUse": None}


def test_the_moments_of_a_turn_come_in_the_order_of_the_lessons(world, tmp_path):
    end = run(Model([use("t1", "pay")], DONE), world, tmp_path, **APPROVE)
    assert [(moment.label, moment.turn) for moment in end.moments] == [
        (label, 1) for label in ("before-request", "after-response", "mid-save-a", "after-save-a", "after-approval", "after-tool",
                                 "mid-effect-write", "after-effect-write", "mid-save-b", "after-save-b")] + [
        (label, 2) for label in ("before-request", "after-response", "mid-final-save", "after-final-save")]


def test_the_final_turn_is_saved_and_is_no_turn_with_a_tool(world, tmp_path):
    assert run(Model([use("t1", "look")], DONE), world, tmp_path).words == "All done."
    final = checkpoint(tmp_path)
    assert (final["turns"], final["tokensUsed"], final["messages"][-1]) == (1, 22, said(*DONE))


def test_the_model_is_sent_the_task_first_and_then_the_whole_conversation(world, tmp_path):
    model = Model([use("t1", "look")], DONE)
    run(model, world, tmp_path)
    task = {"role": "user", "content": "do it"}
    assert model.sent == [[task], [task, said(use("t1", "look")), told(answer("t1", "look done"))]]


# identity of a call

def test_an_id_that_the_conversation_has_used_stops_the_run_before_any_file_holds_it(world, tmp_path):
    model = Model([use("x:0", "look", a=1)], [use("x:0", "pay", b=2)], DONE)
    end = run(model, world, tmp_path, crash_after=("after-save-b", 1))
    before = on_disk(tmp_path)
    end = run(model, world, tmp_path, resume=True, **APPROVE)
    assert end.how == "IdClash" and "x:0" in end.words and "start over without --resume" in end.words
    assert (world.done, on_disk(tmp_path)) == ([("look", {"a": 1})], before)


def test_an_id_that_only_the_ledger_knows_as_another_call_stops_the_run_before_point_a(world, tmp_path):
    write(tmp_path / "checkpoint.json", scene([said(use("t1", "look")), told(answer("t1", "x"))], turns=1))
    write(tmp_path / "effects.json", {"t2": {"name": "note", "result": "of another run", "at": 1}})  # C31
    before = on_disk(tmp_path)
    end = run(Model(None, [use("t2", "pay")], DONE), world, tmp_path, resume=True, **APPROVE)
    assert end.how == "IdClash" and "start over without --resume" in end.words
    assert (world.done, on_disk(tmp_path)) == ([], before)


def test_two_calls_of_one_response_with_one_id_stop_the_run_before_point_a(world, tmp_path):
    assert run(Model([use("t1", "look"), use("t1", "note")], DONE), world, tmp_path).how == "IdClash"
    assert (world.done, on_disk(tmp_path)) == ([], {})


# turns and stop reasons

def test_at_the_turn_limit_the_run_pauses_with_nothing_more_saved_or_run_and_a_higher_limit_goes_on(world, tmp_path):
    model = Model([use("t1", "look")], [use("t2", "note")], [use("t3", "note")], DONE)
    end = run(model, world, tmp_path, max_turns=1)
    assert (end.how, end.words) == ("done", "Reached the max of 1 turns, stopping on our own")
    assert end.moments[-1].label == "after-response" and world.done == [("look", {})]
    paused = checkpoint(tmp_path)
    assert (paused["turns"], paused["pendingToolUse"], paused["messages"][-1]) == (1, None, told(answer("t1", "look done")))
    before = on_disk(tmp_path)
    assert run(model, world, tmp_path, resume=True, max_turns=1).words.startswith("Reached the max of 1 turns")
    assert on_disk(tmp_path) == before
    assert run(model, world, tmp_path, resume=True, max_turns=2).words.startswith("Reached the max of 2 turns")
    assert run(model, world, tmp_path, resume=True, max_turns=3).words == "All done."
    final = checkpoint(tmp_path)
    assert (final["turns"], final["tokensUsed"], len(world.done)) == (3, 44, 3)


def test_a_final_answer_at_the_limit_is_a_final_answer(world, tmp_path):
    assert run(Model([use("t1", "look")], DONE), world, tmp_path, max_turns=1).words == "All done."


def test_a_call_under_way_at_the_limit_is_closed_before_the_pause(world, tmp_path):
    model = Model([use("t1", "look")], [use("t2", "look")], DONE)
    run(model, world, tmp_path, crash_after=("after-save-a", 1), max_turns=1)
    assert run(model, world, tmp_path, resume=True, max_turns=1).words.startswith("Reached the max")
    assert checkpoint(tmp_path)["messages"][-1] == told(answer("t1", "look done"))


def test_a_task_that_crashes_in_every_turn_still_meets_its_limit(world, tmp_path):
    model = Model(*[[use(f"t{n}", "note", n=n)] for n in range(9)])
    ends = [run(model, world, tmp_path, max_turns=3, crash_after=("after-save-b", 1))]
    while ends[-1].how == "killed":
        ends.append(run(model, world, tmp_path, resume=True, max_turns=3, crash_after=("after-save-b", 1)))
    assert [end.how for end in ends] == ["killed", "killed", "killed", "done"]
    assert len(world.done) == 3 and checkpoint(tmp_path)["turns"] == 3


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
def test_a_final_answer_ends_the_run_and_is_saved(world, tmp_path, reason):
    model = Model((DONE, reason))
    assert run(model, world, tmp_path).words == "All done."
    assert run(model, world, tmp_path, resume=True).words == "All done."
    assert len(model.sent) == 1


def test_a_final_answer_without_a_text_ends_the_run_and_stays_ended(world, tmp_path):
    model = Model([use("t1", "look")], [])
    words = run(model, world, tmp_path).words
    assert words == "(the model ended without a text)"
    assert run(model, world, tmp_path, resume=True).words == words and len(model.sent) == 2


CUT = [text("I pay"), use("t2", "pay", amount=1)]


@pytest.mark.parametrize(("blocks", "reason"), [
    (CUT, "max_tokens"), ([text("I was about")], "max_tokens"), ([text("No.")], "refusal"), (CUT, "refusal"),
    ([{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}], "pause_turn"), (DONE, "model_context_window_exceeded"),
    (DONE, "something_new"), (CUT, "something_new"), (CUT, "end_turn"), (DONE, "tool_use")])
def test_any_other_stop_ends_the_run_by_name_and_the_last_point_b_resumes(world, tmp_path, blocks, reason):
    turns = [[use("t1", "note")], (blocks, reason), DONE]
    end = run(Model(*turns), world, tmp_path, **APPROVE)
    assert end.how == "ModelStopped" and reason in end.words and "resume" in end.words
    assert world.done == [("note", {})]
    assert (checkpoint(tmp_path)["turns"], checkpoint(tmp_path)["pendingToolUse"]) == (1, None)
    turns[1] = [use("t9", "pay")]
    assert run(Model(*turns), world, tmp_path, resume=True, **APPROVE).words == "All done."
    assert world.done == [("note", {}), ("pay", {})]


@pytest.mark.parametrize("crash", [None, "after-save-a", "after-tool", "after-effect-write", "mid-save-b"])
def test_of_two_calls_in_one_response_the_first_runs_and_the_second_is_told_one_a_turn(world, tmp_path, crash):
    turn = [text("Both."), use("t1", "look"), use("t2", "pay"), use("t3", "note")]
    model = Model(turn, DONE)
    if crash:
        assert run(model, world, tmp_path, crash_after=(crash, 1), **APPROVE).how == "killed"
        assert checkpoint(tmp_path)["pendingToolUse"] == {"id": "t1", "name": "look", "input": {}}
    assert run(model, world, tmp_path, resume=bool(crash), **APPROVE).how == "done"
    assert {name for name, _ in world.done} == {"look"}
    assert model.sent[1][1] == said(*turn)
    first, second, third = model.sent[1][2]["content"]
    assert first == answer("t1", "look done")
    assert (second["tool_use_id"], second["is_error"], third["tool_use_id"], third["is_error"]) == ("t2", True, "t3", True)
    assert "one" in second["content"] and "not run" in second["content"]


# what the model or a tool sends

def test_half_a_surrogate_pair_from_the_model_is_kept_and_the_next_request_refused_with_its_place(world, tmp_path):
    model = Model([use("t1", "look", path="\ud99c")], DONE)
    end = run(model, world, tmp_path)
    assert end.how == "RequestNotSent" and "messages.1.content.0.input.path" in end.words and len(model.sent) == 1
    assert rb'"\ud99c"' in (tmp_path / "checkpoint.json").read_bytes()
    assert checkpoint(tmp_path)["messages"][1]["content"][0]["input"] == {"path": "\ud99c"}
    assert world.done == [("look", {"path": "\ud99c"})]


@pytest.mark.parametrize("returns", ["half \ud83d", ValueError("half \ud83d"), ValueError("\ud83d\ude00")])
def test_half_a_surrogate_pair_from_a_tool_is_spelled_out_so_that_the_run_goes_on(world, tmp_path, returns):
    world.tools["look"] = world.tool("look", returns=returns)
    model = Model([use("t1", "look")], DONE)
    assert run(model, world, tmp_path).how == "done"
    assert "\\ud83d" in json.loads(json.dumps(model.sent[1][2]["content"][0]["content"]))


@pytest.mark.parametrize("name", ["shred", "../pay", ""])
def test_an_unknown_tool_is_answered_and_the_run_goes_on(world, tmp_path, name):
    model = Model([use("t1", name)], DONE)
    assert run(model, world, tmp_path).how == "done"
    assert model.sent[1][2]["content"][0]["is_error"] is True
    assert sorted(on_disk(tmp_path)) == ["checkpoint.json"]


# a student's own functions

def test_each_function_of_a_students_own_stands_in_for_the_librarys(world, tmp_path):
    used = []

    def stand_in(name, real):
        def own(*arguments, **options):
            used.append(name)
            return real(*arguments, **options)
        return own

    import course_lib
    names = ["save_checkpoint", "load_checkpoint", "run_tool_uses", "reconcile", "load_effects", "save_effects", "save_effect"]
    functions = {name: stand_in(name, getattr(course_lib, name)) for name in names}
    model = Model([use("t1", "look")], DONE)
    assert run(model, world, tmp_path, functions=functions, crash_after=("after-effect-write", 1)).how == "killed"
    assert run(model, world, tmp_path, functions=functions, resume=True).how == "done"
    assert set(used) == set(names)


def test_a_students_save_that_skips_point_a_forgets_the_call_as_the_lesson_says(world, tmp_path):
    only_b = {"save_checkpoint": lambda path, state: state["pendingToolUse"] or save_checkpoint(path, state)}
    model = Model([use("t1", "look")], [use("t2", "note")], DONE)
    assert run(model, world, tmp_path, functions=only_b, crash_after=("after-tool", 2)).how == "killed"
    assert run(model, world, tmp_path, functions=only_b, resume=True).how == "done"
    assert [name for name, _ in world.done] == ["look", "note", "note"]


def test_a_students_reconcile_that_runs_everything_again_does_the_effect_twice(world, tmp_path):
    def blind(state, tools, *, effects_path):
        call = state["pendingToolUse"]
        return call and answer(call["id"], tools[call["name"]](call["input"]))

    model = Model([use("t1", "note")], DONE)
    run(model, world, tmp_path, crash_after=("after-tool", 1))
    assert run(model, world, tmp_path, resume=True, functions={"reconcile": blind}).how == "done"
    assert len(world.done) == 2


def test_a_students_save_effect_that_fails_is_an_alert_like_any_other(world, tmp_path, capsys):
    model = Model([use("t1", "note")], DONE)
    assert run(model, world, tmp_path, functions={"save_effect": lambda path, id, entry: 1 / 0}).how == "done"
    assert "division by zero" in capsys.readouterr().err


def test_two_runs_in_one_process_never_meet(tmp_path, monkeypatch, capsys):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir(), two.mkdir()
    inner = World()
    outer = World()
    outer.tools["nest"] = lambda input: run(Model([use("t1", "note")], DONE), inner, two).words
    fail_at(monkeypatch, "replace", writing("effects.json", 1))
    end = run(Model([use("t1", "note")], [use("t2", "nest")], DONE), outer, one)
    assert [moment.count for moment in end.moments if moment.label == "after-save-a"] == [1, 2]
    assert list(read(one / "effects.json")) == ["t1", "t2"]
    assert list(read(two / "effects.json")) == ["t1"]


def test_a_simulated_crash_passes_an_except_exception_on_its_way(world, tmp_path):
    def stubborn(input):
        try:
            raise SimulatedCrash("here")
        except Exception:
            return "survived"

    world.tools["look"] = stubborn
    assert run(Model([use("t1", "look")], DONE), world, tmp_path).how == "killed"
    assert list(on_disk(tmp_path)) == ["checkpoint.json"]
