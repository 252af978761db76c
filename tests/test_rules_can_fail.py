"""Each rule of the core's contract broken on purpose: the check that is named for it is green before, and red then.

A row is a rule (DESIGN section 3), what is done wrong, what of the library that replaces, and the check:
a promise of course_lib/proof/promises.py, looked for in every story of one kill, or a test from another file.
"""
import inspect
import math
import os
from decimal import Decimal
from functools import partial

import pytest

import test_agent
import test_cases
import test_checkpoint
import test_faults
import test_guard
import test_hostile_files
import test_model
import test_owner
import test_resume
import test_tools
from course_lib import agent, checkpoint, guard, ledger, resume, tools, values
from course_lib.moments import crash_point, current
from course_lib.proof.cases import case_of
from course_lib.proof.explorer import explore
from course_lib.scenarios import SALES_REPORT
from course_lib.storage import StorageError
from helpers import World, use

SALES = case_of(SALES_REPORT)
REAL = {name: getattr(module, name) for module in (agent, checkpoint, guard, ledger, resume, tools, values)
        for name in dir(module) if callable(getattr(module, name)) and getattr(module, name).__module__ == module.__name__}


# --- what is done wrong; a function bears the name of what it stands in for --------------------------------

def write_in_place(path, data, *, moment, **facts):
    with open(path, "wb", buffering=0) as file:
        file.write(data[:len(data) // 2])
        crash_point(f"mid-{moment}", **facts)
        file.write(data[len(data) // 2:])
    crash_point(f"after-{moment}", **facts)


def begin_anew(data):
    try:
        return values.decode(data)
    except ValueError:
        return checkpoint.opening("whatever it was")


def empty_if_broken(data):
    try:
        return values.decode(data)
    except ValueError:
        return {}


def only_b():
    def save_checkpoint(path, scene):
        if scene["pendingToolUse"] is None:
            REAL["save_checkpoint"](path, scene)
    return save_checkpoint


def shrugging():
    def save_checkpoint(path, scene):
        try:
            REAL["save_checkpoint"](path, scene)
        except StorageError:
            pass
    return save_checkpoint


def without_the_turn():
    def save_checkpoint(path, scene):
        REAL["save_checkpoint"](path, {**scene, "messages": scene["messages"][:-1]} if scene["pendingToolUse"] else scene)
    return save_checkpoint


def b_before_the_record():
    waiting = []

    def save_effect(*entry):
        waiting.append(entry)

    def save_checkpoint(path, scene):
        REAL["save_checkpoint"](path, scene)
        while waiting:
            REAL["save_effect"](*waiting.pop())
    return {"agent.save_checkpoint": save_checkpoint, "resume.save_checkpoint": save_checkpoint, "tools.save_effect": save_effect}


def ask_before_looking(call, tool_set, effects_path, approve):
    if tools.says(tool_set.get(call["name"]), "high_impact") and not (approve and approve(call["name"], call["input"])):
        return tools.result(call, "not run", is_error=True)
    return REAL["_answer"](call, tool_set, effects_path, lambda name, input: True)


def find_by_id_alone(effects, call):
    return effects.get(call["id"])


def recording_first():
    def perform(call, tool_set, *, effects_path):
        ledger.save_effect(effects_path, call["id"], {"name": call["name"], "result": None, "at": "", "input": call["input"]})
        return REAL["perform"](call, tool_set, effects_path=effects_path)
    return perform


def blaming_the_tool():
    def perform(call, tool_set, *, effects_path):
        answer = REAL["perform"](call, tool_set, effects_path=effects_path)
        return answer if call["id"] in ledger.load_effects(effects_path) else tools.result(call, "it could not be recorded", is_error=True)
    return perform


def running_again():
    def reconcile(scene, tool_set, *, effects_path):
        call = scene["pendingToolUse"]
        return call and tools.perform(call, tool_set, effects_path=effects_path)
    return reconcile


def no_limit(client, scene, tool_set, path, effects_path, max_turns):
    return REAL["_loop"](client, scene, tool_set, path, effects_path, math.inf)


def every_call(reply):
    return [block for block in reply["content"] if block["type"] == "tool_use"]


def close_twice(scene, answer):
    REAL["close_turn"](scene, answer)
    REAL["close_turn"](scene, answer)


def counting_itself():
    def load_checkpoint(path):
        scene = REAL["load_checkpoint"](path)
        REAL["save_checkpoint"](path, {**scene, "tokensUsed": scene["tokensUsed"] + 1})
        return scene
    return load_checkpoint


def signed_with_the_key(model, tool_set):
    return f"{REAL['fingerprint'](model, tool_set)} {os.environ['ANTHROPIC_API_KEY']}"


# --- what sees it -------------------------------------------------------------------------------------------

def promise(rule):
    """The check that no story of up to one kill breaks a promise of this name."""
    def check():
        found = explore(SALES, 1).found
        assert rule not in found, found[rule]
    return check


def always(value):
    return lambda *_, **__: value


RULES = [  # rule, what is done wrong, what that replaces, the check
    (1, "a save writes over the old file", {"checkpoint.write_atomic": write_in_place}, promise("torn")),
    (1, "temp files of dead runs stay", {"resume.sweep_all": always(None)}, promise("left-over")),
    (2, "a torn checkpoint is a new beginning", {"checkpoint.decode": begin_anew},
     partial(test_checkpoint.test_what_is_no_checkpoint_has_an_error_of_its_own, data=b'{"version": 1, "ta', kind=checkpoint.CheckpointTorn, words="cut off")),
    (3, "nobody looks whether a value comes back equal", {"values.check": always(None)},
     partial(test_faults.test_a_call_that_can_not_be_saved_as_it_came_is_refused_before_anything_runs, value=math.nan)),
    (3, "what JSON can't hold is kept without its mark", {"tools.storable": str},
     partial(test_tools.test_any_result_is_recorded_and_the_first_run_and_a_ledger_hit_tell_the_model_the_same,
             value=Decimal("12.34"), stored={"not_json": "Decimal", "text": "12.34"})),
    (4, "there is no Point A", {"agent.save_checkpoint": only_b()}, promise("twice")),
    (4, "a Point A that fails goes unnoticed", {"agent.save_checkpoint": shrugging()}, test_faults.test_a_point_a_that_can_not_be_saved_starts_no_tool),
    (4, "Point B comes before the ledger's entry", b_before_the_record(), test_cases.test_whatever_save_has_a_result_the_ledger_had_it_before),
    (5, "Point A lacks the assistant's turn, which is made again from the call", {"agent.save_checkpoint": without_the_turn()},
     test_resume.test_thinking_and_text_come_back_to_the_model_exactly_as_they_came),
    (6, "the approval gate stands before the ledger's", {"tools._answer": ask_before_looking},
     partial(test_tools.test_what_is_in_the_ledger_is_answered_from_it_and_neither_run_nor_asked_about,
             entry={"name": "pay", "result": "paid", "at": 1, "input": {"amount": 5}}, content="paid")),
    (6, "an id is enough for a hit", {"tools.find": find_by_id_alone},
     partial(test_tools.test_the_same_id_with_another_call_stops_and_changes_nothing, call=use("t1", "pay", amount=2))),
    (6, "the entry is written before the tool has run", {"tools.perform": recording_first(), "resume.perform": recording_first()}, promise("invented")),
    (6, "a record that failed passes for a tool that failed", {"tools.perform": blaming_the_tool()},
     test_tools.test_a_failed_ledger_write_alerts_a_person_and_gives_the_model_the_real_result),
    (7, "what is not in the ledger runs again", {"resume.reconcile": running_again()}, promise("twice")),
    (8, "a torn ledger is an empty one", {"ledger.decode": empty_if_broken},
     partial(test_resume.test_a_broken_ledger_is_set_aside_under_a_printed_name_and_its_call_stays_unknown, damage=b'{"t1": {"name": "no')),
    (8, "beside a ledger set aside a miss is a proof", {"resume.was_set_aside": always(False)},
     partial(test_resume.test_while_a_broken_ledger_lies_there_a_miss_proves_nothing_even_for_an_idempotent_tool, aside=True, runs=0)),
    (9, "nobody counts the turns", {"agent._loop": no_limit},
     test_agent.test_at_the_turn_limit_the_run_pauses_with_nothing_more_saved_or_run_and_a_higher_limit_goes_on),
    (10, "a call runs whatever the stop reason says", {"agent.tool_calls": every_call},
     partial(test_agent.test_any_other_stop_ends_the_run_by_name_and_the_last_point_b_resumes, blocks=test_agent.CUT, reason="max_tokens")),
    (11, "a resume closes the turn twice", {"resume.close_turn": close_twice}, promise("refused")),
    (11, "a resume changes what it resumes from", {"resume.load_checkpoint": counting_itself()}, promise("restless")),
    (12, "a fresh start leaves the ledger", {"guard.OURS": (checkpoint.FILE,)}, test_guard.test_the_ids_of_an_old_ledger_do_not_reach_a_new_run),
    (13, "an error is shown as it comes", {"model._without_key": str},
     partial(test_model.test_no_explanation_holds_a_key_even_if_the_error_quotes_it, quoted=test_model.KEY, in_environment=test_model.KEY)),
    (13, "the key gets into the checkpoint", {"agent.fingerprint": signed_with_the_key, "guard.fingerprint": signed_with_the_key},
     partial(test_hostile_files.test_the_key_in_the_environment_is_in_no_file_of_a_run_and_in_no_line_it_prints, way="file", crash=("after-tool", 2))),
    # beside the rules, what guards a run from outside
    ("owner", "nobody asks whose the folder is", {"storage.current": lambda: _Unfenced(current())},
     test_owner.test_an_owner_that_loses_its_folder_while_the_tool_runs_does_not_save_point_b),
]


class _Unfenced:
    """A run that takes every save for its own to make."""

    def __init__(self, run):
        self._run = run

    def fence(self):
        pass

    def __getattr__(self, name):
        return getattr(self._run, name)


@pytest.mark.parametrize("rule, wrong, replaced, check", RULES, ids=[f"{rule}: {wrong}" for rule, wrong, _, _ in RULES])
def test_a_rule_that_is_broken_turns_its_check_red(rule, wrong, replaced, check, tmp_path_factory, monkeypatch, capsys):
    def look():
        folder, given = tmp_path_factory.mktemp("rule"), getattr(check, "keywords", {})
        with pytest.MonkeyPatch.context() as its_own:
            fixtures = {"tmp_path": folder, "world": World(), "ledger": folder / "effects.json", "path": folder / "checkpoint.json",
                        "monkeypatch": its_own, "capsys": capsys}
            check(**{name: fixtures[name] for name in inspect.signature(check).parameters if name not in given})

    look()
    for name, value in replaced.items():
        monkeypatch.setattr(f"course_lib.{name}", value)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        look()


def test_each_rule_is_broken_at_least_once():
    assert {rule for rule, *_ in RULES} >= set(range(1, 14))
