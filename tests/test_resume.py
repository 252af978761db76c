"""From a checkpoint back into the loop: reconcile and take_up (DESIGN section 3, rules 5, 7 and 8)."""
import os

import pytest

from course_lib import Run, fork_from, go_back_to, load_checkpoint, reconcile, save_effects
from course_lib.ledger import IdClash, LedgerError
from helpers import Model, World, answer, on_disk, read, run, said, scene, text, told, use, write

DONE = [text("All done.")]


@pytest.fixture
def world():
    return World()


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "effects.json"


def pending(name, **input):
    """A checkpoint whose first turn named a call that nobody has answered."""
    return scene([said(text("Now."), use("t1", name, **input))], pending=use("t1", name, **input), turns=1)


# reconcile, branch by branch

def test_nothing_pending_needs_no_answer_and_touches_nothing(world, tmp_path, ledger):
    assert reconcile(scene([]), world.tools, effects_path=ledger) is None
    assert on_disk(tmp_path) == {}


@pytest.mark.parametrize("name", ["look", "note", "pay", "gone"])
@pytest.mark.parametrize(("entry", "content"), [({"result": "as it was", "at": 1767603600000}, "as it was"), ({"result": None}, "null"), ({}, "null")])
def test_a_call_in_the_ledger_is_answered_from_it_and_not_run_whatever_the_tool(world, ledger, name, entry, content):
    save_effects(ledger, {"t1": {"name": name, **entry}})
    assert reconcile(pending(name), world.tools, effects_path=ledger) == answer("t1", content)
    assert world.done == []


@pytest.mark.parametrize("entry", [{"name": "note", "result": 1}, {"name": "pay", "result": 1, "input": {"amount": 6}}])
def test_another_call_under_the_same_id_in_the_ledger_is_refused(world, tmp_path, ledger, entry):
    save_effects(ledger, {"t1": entry})
    before = on_disk(tmp_path)
    with pytest.raises(IdClash, match="start over without --resume"):
        reconcile(pending("pay", amount=5), world.tools, effects_path=ledger)
    assert (world.done, on_disk(tmp_path)) == ([], before)


def test_a_read_only_call_that_is_not_in_the_ledger_runs_again_and_is_recorded(world, ledger):
    assert reconcile(pending("look", at="x"), world.tools, effects_path=ledger) == answer("t1", "look done")
    assert world.done == [("look", {"at": "x"})]
    assert read(ledger)["t1"]["result"] == "look done"


def test_a_read_only_call_that_fails_when_run_again_is_an_error_for_the_model(world, tmp_path, ledger):
    world.tools["look"] = world.tool("look", returns=FileNotFoundError("notes are gone"), read_only=True)
    assert reconcile(pending("look"), world.tools, effects_path=ledger) == answer("t1", "look failed: FileNotFoundError: notes are gone", is_error=True)
    assert on_disk(tmp_path) == {}


@pytest.mark.parametrize("name", ["note", "pay", "gone"])
def test_a_call_with_side_effects_or_of_an_unknown_tool_is_told_as_unknown_and_not_run(world, tmp_path, ledger, name):
    result = reconcile(pending(name), world.tools, effects_path=ledger)
    assert (result["type"], result["tool_use_id"], result["is_error"]) == ("tool_result", "t1", True)
    assert "unknown" in result["content"] and "not run" in result["content"] and name in result["content"]
    assert (world.done, on_disk(tmp_path)) == ([], {})


@pytest.mark.parametrize(("says", "content"), [
    ({"result": "ticket 7"}, "ticket 7"), ({"result": {"n": 7}}, '{"n": 7}'), (True, "happened before the crash")])
def test_a_tool_that_knows_it_happened_has_it_recorded_and_is_not_run(world, ledger, says, content):
    world.tools["note"] = world.tool("note", verify=lambda input, key: says)
    result = reconcile(pending("note"), world.tools, effects_path=ledger)
    assert content in result["content"] and "is_error" not in result
    assert world.done == []
    world.tools["note"] = None  # from now on the ledger alone answers
    assert reconcile(pending("note"), world.tools, effects_path=ledger) == result


def test_a_tool_that_knows_it_did_not_happen_runs_now_and_is_recorded(world, ledger):
    world.tools["note"] = world.tool("note", verify=lambda input, key: False)
    result = reconcile(pending("note"), world.tools, effects_path=ledger)
    assert "is_error" not in result and len(world.done) == 1
    assert reconcile(pending("note"), world.tools, effects_path=ledger) == result and len(world.done) == 1


@pytest.mark.parametrize("answer, runs", [(True, 1), (False, 0)])
def test_a_high_impact_call_that_did_not_happen_needs_a_new_yes(world, ledger, answer, runs):
    world.tools["note"] = world.tool("note", high_impact=True, verify=lambda input, key: False)
    asked = []
    with Run() as run:
        run.approve = lambda name, input: asked.append(name) or answer
        result = reconcile(pending("note"), world.tools, effects_path=ledger)
    assert (asked, len(world.done), result.get("is_error", False)) == (["note"], runs, not answer)


@pytest.mark.parametrize("verify", [lambda input, key: None, lambda input, key: 1 / 0, lambda input, key: exit(1), lambda input: True, lambda input, key: "yes"])
def test_a_tool_that_can_not_tell_leaves_the_state_unknown(world, tmp_path, ledger, verify):
    world.tools["note"] = world.tool("note", verify=verify)
    result = reconcile(pending("note"), world.tools, effects_path=ledger)
    assert result["is_error"] is True and "unknown" in result["content"]
    assert (world.done, on_disk(tmp_path)) == ([], {})


def test_verify_is_asked_about_the_input_and_the_id_and_can_not_change_the_record(world, ledger):
    asked = []

    def verify(input, key):
        asked.append((dict(input), key))
        input.clear()
        return {"result": "yes"}

    world.tools["note"] = world.tool("note", verify=verify)
    reconcile(pending("note", line="x"), world.tools, effects_path=ledger)
    assert asked == [({"line": "x"}, "t1")]
    assert read(ledger)["t1"]["input"] == {"line": "x"}


def test_verify_is_not_asked_when_the_ledger_knows_or_the_tool_only_reads(world, ledger):
    world.tools["look"] = world.tool("look", read_only=True, verify=lambda input, key: exit(1))
    assert reconcile(pending("look"), world.tools, effects_path=ledger) == answer("t1", "look done")
    assert reconcile(pending("look"), world.tools, effects_path=ledger) == answer("t1", "look done")
    assert len(world.done) == 1


@pytest.mark.parametrize(("option", "runs"), [({}, 0), ({"rerun_idempotent": False}, 0), ({"rerun_idempotent": True}, 1)])
def test_an_idempotent_call_runs_again_only_when_that_is_asked_for(world, ledger, option, runs):
    world.tools["set"] = world.tool("set", idempotent=True)
    result = reconcile(pending("set"), world.tools, effects_path=ledger, **option)
    assert (len(world.done), result.get("is_error", False)) == (runs, not runs)
    assert ledger.exists() == bool(runs)


@pytest.mark.parametrize("nature", [{"read_only": True}, {"idempotent": True}])
def test_what_a_person_has_to_approve_is_never_run_again_on_the_old_approval(world, ledger, nature):
    world.tools["read_secret"] = world.tool("read_secret", high_impact=True, **nature)
    assert reconcile(pending("read_secret"), world.tools, effects_path=ledger, rerun_idempotent=True)["is_error"] is True
    assert world.done == []


def test_a_torn_ledger_is_no_empty_ledger_for_reconcile(world, ledger):
    ledger.write_text('{"t1": {"name": "look", "resu')
    with pytest.raises(LedgerError):
        reconcile(pending("look"), world.tools, effects_path=ledger)
    assert world.done == []


# the way back into the loop

LESSON_2 = scene([said(text("Now."), use("t1", "look"))], pending=use("t1", "look"), turns=0)
LESSON_3 = scene([said(text("Now."), use("t1", "look"))], pending=use("t1", "look"), turns=1)
LESSON_6 = scene([], pending=use("t1", "look"), turns=1)


@pytest.mark.parametrize("order", [LESSON_2, LESSON_3, LESSON_6], ids=["lesson 2", "lesson 3", "lesson 6"])
def test_a_point_a_of_each_lesson_resumes_as_turn_1_with_a_conversation_the_api_accepts(world, tmp_path, order):
    write(tmp_path / "checkpoint.json", order)
    model = Model(None, DONE)
    end = run(model, world, tmp_path, resume=True)
    assert (end.how, end.words) == ("done", "All done.")
    [sent] = model.sent
    assert sent[1]["content"][-1] == use("t1", "look")
    assert sent[2] == told(answer("t1", "look done"))
    assert next(moment for moment in end.moments if moment.label == "resumed").turn == 1
    final = load_checkpoint(tmp_path / "checkpoint.json")
    assert (final["turns"], final["tokensUsed"], final["pendingToolUse"]) == (1, 7 + 11, None)


def test_a_later_turn_in_lesson_6_order_is_rebuilt_behind_the_results_before_it(world, tmp_path):
    write(tmp_path / "checkpoint.json", scene([said(use("t1", "look")), told(answer("t1", "x"))], pending=use("t2", "note", line="y"), turns=2))
    write(tmp_path / "effects.json", {"t1": {"name": "look", "result": "x", "at": 1767603600000}, "t2": {"name": "note", "result": "noted", "at": 1767603600001}})
    model = Model(None, None, DONE)
    assert run(model, world, tmp_path, resume=True).how == "done"
    assert model.sent[0][3:] == [said(use("t2", "note", line="y")), told(answer("t2", "noted"))]
    assert world.done == []
    assert load_checkpoint(tmp_path / "checkpoint.json")["turns"] == 2


def test_a_point_b_of_any_lesson_goes_on_with_the_next_turn(world, tmp_path):
    write(tmp_path / "checkpoint.json", scene([said(use("t1", "look")), told(answer("t1", "x"))], turns=1))
    model = Model(None, [use("t2", "note")], DONE)
    assert run(model, world, tmp_path, resume=True).how == "done"
    assert load_checkpoint(tmp_path / "checkpoint.json")["turns"] == 2


def test_a_final_answer_saved_as_lesson_3_does_is_a_finished_run(world, tmp_path):
    write(tmp_path / "checkpoint.json", scene([said(use("t1", "look")), told(answer("t1", "x")), {"role": "assistant", "content": "The end."}], turns=2))
    before = on_disk(tmp_path)
    model = Model()
    assert run(model, world, tmp_path, resume=True).words == "The end."
    assert (model.sent, on_disk(tmp_path)) == ([], before)


def test_thinking_and_text_come_back_to_the_model_exactly_as_they_came(world, tmp_path):
    thinking = {"type": "thinking", "thinking": "  so é…\n", "signature": "c2ln=="}
    turn = [thinking, {"type": "redacted_thinking", "data": "AA=="}, text("I pay. "), use("t1", "pay", amount=12.50)]
    model = Model(turn, DONE)
    yes = {"approve": lambda name, input: True}
    assert run(model, world, tmp_path, crash_after=("after-tool", 1), **yes).how == "killed"
    assert run(model, world, tmp_path, resume=True, **yes).how == "done"
    assert model.sent[1][1] == said(*turn)
    assert model.sent[1][1]["content"][0].items() == thinking.items()
    assert world.done == [("pay", {"amount": 12.50})]
    assert "unknown" in model.sent[1][2]["content"][0]["content"]  # and nobody was asked again, nor was it done again


def test_keys_that_we_do_not_know_are_kept_through_a_resume(world, tmp_path):
    write(tmp_path / "checkpoint.json", scene([], pending=use("t1", "look"), turns=1, note="mine", lineage=["a"]))
    write(tmp_path / "effects.json", {"t0": {"name": "old", "result": 1, "at": 5, "who": "me"}})
    run(Model(None, DONE), world, tmp_path, resume=True)
    kept = read(tmp_path / "checkpoint.json")
    assert (kept["note"], kept["lineage"]) == ("mine", ["a"])
    assert read(tmp_path / "effects.json")["t0"] == {"name": "old", "result": 1, "at": 5, "who": "me"}


CALL = said(use("t1", "look"))
BROKEN = {
    "a call nobody answered, and nothing pending": scene([CALL]),
    "text between a call and its result (C19)": scene([CALL, said(text("hm")), told(answer("t1", "x"))]),
    "the same result twice": scene([CALL, told(answer("t1", "x"), answer("t1", "x"))]),
    "a result of no call": scene([told(answer("t9", "x"))]),
    "one id for two calls": scene([CALL, told(answer("t1", "x")), CALL], pending=use("t1", "look"), turns=2),
    "a pending call that has been answered": scene([CALL, told(answer("t1", "x"))], pending=use("t1", "look"), turns=1),
    "a pending call that the last turn does not name": scene([CALL], pending=use("t2", "look"), turns=1),
    "a pending call with another input": scene([CALL], pending=use("t1", "look", more=1), turns=1),
    "a pending call behind a plain text": scene([{"role": "assistant", "content": "hm"}], pending=use("t1", "look"), turns=1),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_conversation_the_api_would_refuse_is_refused_before_anything_is_touched(world, tmp_path, broken):
    write(tmp_path / "checkpoint.json", broken)
    (tmp_path / "checkpoint.json.0123456789ab.tmp").write_text("{")
    before = on_disk(tmp_path)
    model = Model()
    end = run(model, world, tmp_path, resume=True)
    assert end.how == "NotACheckpoint" and end.words.endswith("delete it and start over without --resume.")
    assert (model.sent, world.done, on_disk(tmp_path)) == ([], [], before)


def test_temp_files_of_dead_runs_are_swept_after_a_good_load_and_strangers_stay(world, tmp_path):
    write(tmp_path / "checkpoint.json", LESSON_3)
    for name in ("checkpoint.json.0123456789ab.tmp", "effects.json.ffffffffffff.tmp"):
        (tmp_path / name).write_text('{"version": 1')
    strangers = ["checkpoint.json.tmp", "checkpoint.json.0123456789AB.tmp", "effects.json.bak", "notes.tmp"]
    for name in strangers:
        (tmp_path / name).write_text("mine")
    run(Model(None, DONE), world, tmp_path, resume=True)
    assert sorted(on_disk(tmp_path)) == sorted([*strangers, "checkpoint.json", "effects.json"])


@pytest.mark.parametrize("damage", [b"", b'{"t1": {"name": "no', b"[]", b'{"t1": "done"}', b"\0\0\0", b'{"t1": {"result": 1}}'])
def test_a_broken_ledger_is_set_aside_under_a_printed_name_and_its_call_stays_unknown(world, tmp_path, capsys, damage):
    write(tmp_path / "checkpoint.json", pending("note"))
    (tmp_path / "effects.json").write_bytes(damage)
    model = Model(None, DONE)
    assert run(model, world, tmp_path, resume=True).how == "done"
    assert "effects.json.broken.1" in capsys.readouterr().err
    assert (tmp_path / "effects.json.broken.1").read_bytes() == damage
    assert "unknown" in model.sent[0][2]["content"][0]["content"]
    assert world.done == []


def test_each_broken_ledger_is_kept_under_a_name_of_its_own(world, tmp_path):
    for n in (1, 2):
        write(tmp_path / "checkpoint.json", pending("look"))
        (tmp_path / "effects.json").write_bytes(b"{" * n)
        run(Model(None, DONE), world, tmp_path, resume=True)
    assert [(tmp_path / f"effects.json.broken.{n}").read_bytes() for n in (1, 2)] == [b"{", b"{{"]


@pytest.mark.parametrize(("aside", "runs"), [(False, 1), (True, 0)])
def test_while_a_broken_ledger_lies_there_a_miss_proves_nothing_even_for_an_idempotent_tool(world, tmp_path, ledger, aside, runs):
    world.tools["set"] = world.tool("set", idempotent=True)
    if aside:
        (tmp_path / "effects.json.broken.1").write_text("{")
    reconcile(pending("set"), world.tools, effects_path=ledger, rerun_idempotent=True)
    assert len(world.done) == runs


def test_a_finished_run_is_repeated_without_a_request_a_write_or_a_look_at_the_ledger(world, tmp_path):
    model = Model([use("t1", "note")], DONE)
    run(model, world, tmp_path)
    (tmp_path / "effects.json").write_text("{")
    before = on_disk(tmp_path)
    assert run(model, world, tmp_path, resume=True).words == "All done."
    assert (len(model.sent), on_disk(tmp_path)) == (2, before)


def test_an_approval_is_used_up_by_the_crash_and_a_new_call_is_asked_about_again(world, tmp_path):
    asked = []

    def approve(name, input):
        asked.append(input)
        return len(asked) == 1

    model = Model([use("t1", "pay", amount=5)], [use("t2", "pay", amount=5)], DONE)
    assert run(model, world, tmp_path, crash_after=("after-tool", 1), approve=approve).how == "killed"
    assert run(model, world, tmp_path, resume=True, approve=approve).how == "done"
    assert asked == [{"amount": 5}, {"amount": 5}]
    assert world.done == [("pay", {"amount": 5})]
    unknown, declined = (message["content"][0] for message in model.sent[-1][2::2])
    assert "unknown" in unknown["content"] and "not run" in declined["content"] and declined["is_error"] is True


# A checkpoint.json beside a history, which decides

def kept_in_a_history(world, folder, **options):
    return run(Model(*([use(f"t{n}", "note", line=n)] for n in range(1, 5)), DONE), world, folder, **options)


def edited(scene):
    return {**scene, "messages": [{"role": "user", "content": "do something else"}, *scene["messages"][1:]]}


@pytest.mark.parametrize("pause", [2, 9], ids=["paused", "finished"])
@pytest.mark.parametrize("change", [edited, lambda scene: {**scene, "turns": 9}, lambda scene: {**scene, "tokensUsed": 0}, lambda scene: [scene], lambda scene: {}],
                         ids=["another task", "a turn that never was", "other tokens", "a list", "an empty object"])
def test_a_checkpoint_that_is_no_save_of_the_history_beside_it_is_said_once_before_it_is_written_over(world, tmp_path, capsys, change, pause):
    kept_in_a_history(world, tmp_path, keep="history", max_turns=pause)
    write(tmp_path / "checkpoint.json", change(read(tmp_path / "checkpoint.json")))
    assert capsys.readouterr().err == ""
    assert kept_in_a_history(world, tmp_path, resume=True).words == "All done."
    said_of_it = capsys.readouterr().err
    assert said_of_it.count("\n") == 1 and all(words in said_of_it for words in ("checkpoint.json is none of the saves in history.jsonl", "written over"))
    assert kept_in_a_history(world, tmp_path, resume=True).words == "All done." and capsys.readouterr().err == ""


def test_a_checkpoint_cut_short_beside_a_history_is_said_too(world, tmp_path, capsys):
    kept_in_a_history(world, tmp_path, keep="history", max_turns=2)
    (tmp_path / "checkpoint.json").write_bytes((tmp_path / "checkpoint.json").read_bytes()[:50])
    assert kept_in_a_history(world, tmp_path, resume=True).words == "All done."
    assert "none of the saves" in capsys.readouterr().err


@pytest.mark.parametrize("label", ["after-response", "after-save-a", "after-tool", "after-effect-write", "after-save-b", "after-final-save"])
def test_an_older_save_beside_a_history_as_a_crash_leaves_it_is_nothing_to_speak_of(world, tmp_path, capsys, label):
    kept_in_a_history(world, tmp_path, keep="history", max_turns=2)
    old = (tmp_path / "checkpoint.json").read_bytes()
    assert kept_in_a_history(world, tmp_path, resume=True, crash_after=(label, 1)).how == "killed"
    assert (tmp_path / "checkpoint.json").read_bytes() == old
    assert kept_in_a_history(world, tmp_path, resume=True).words == "All done." and capsys.readouterr().err == ""


def test_no_checkpoint_beside_a_history_or_one_that_a_rewind_left_behind_is_nothing_to_speak_of(world, tmp_path, capsys):
    kept_in_a_history(world, tmp_path, keep="history", max_turns=3)
    go_back_to(1, folder=tmp_path, tools=world.tools)
    assert kept_in_a_history(world, tmp_path, resume=True).how == "done"
    (tmp_path / "checkpoint.json").unlink()
    assert kept_in_a_history(world, tmp_path, resume=True).words == "All done." and capsys.readouterr().err == ""


def test_where_a_crash_has_cut_the_history_that_alone_is_said(world, tmp_path, capsys):
    kept_in_a_history(world, tmp_path, keep="history", max_turns=2)
    os.truncate(tmp_path / "history.jsonl", (tmp_path / "history.jsonl").stat().st_size - 20)  # checkpoint.json is newer now than every save of it
    assert kept_in_a_history(world, tmp_path, resume=True).words == "All done."
    said_of_it = capsys.readouterr().err
    assert said_of_it.count("\n") == 1 and "cut short" in said_of_it


def test_a_fork_of_a_history_that_was_paused_and_goes_on_says_nothing(world, tmp_path, capsys):
    (tmp_path / "checkpoints").mkdir()
    kept_in_a_history(world, tmp_path / "checkpoints", keep="history", max_turns=3)
    branch = fork_from(2, "plan-b", folder=tmp_path / "checkpoints", tools=world.tools)
    for turns in (3, 9):
        assert kept_in_a_history(world, branch, resume=True, max_turns=turns).how == "done"
    assert capsys.readouterr().err == ""
