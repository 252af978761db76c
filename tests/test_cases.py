"""What people reported of agents that save and resume: for each case of the list, the tests that hold its whole kind.

CASES names them, wherever they stand; those that fit nowhere else are below.
"""
import ast
import itertools
from pathlib import Path

import pytest

from course_lib import load_checkpoint, load_effects, run_agent, run_tool_uses, save_checkpoint, save_effect
from course_lib.model import OfflineClient, RequestRefused
from course_lib.moments import Run, SimulatedCrash
from course_lib.values import encode
from helpers import Model, World, answer, on_disk, read, run, said, scene, text, told, use, write

HERE = Path(__file__).parent
NUMBERS = "01 03 04 05 10 16 19 20 23 25 27 28 31 32 34 36 37 38 39 42 43 46 48 49 52 53 54 57 60 63 66 68 69 70 73 75"
CASES = {  # case: what must not happen again, and the tests that see to it
    "C01": ("an approved effect whose record was lost is done again on the old approval", [
        "test_resume.py::test_an_approval_is_used_up_by_the_crash_and_a_new_call_is_asked_about_again",
        "test_resume.py::test_what_a_person_has_to_approve_is_never_run_again_on_the_old_approval"]),
    "C03": ("Point B reaches the disk before the ledger's entry", [
        "test_proof_explorer.py::test_a_point_b_saved_before_the_record_is_found_in_a_story_of_one_kill",
        "test_proof_power.py::test_a_record_that_is_synced_only_after_point_b_is_found",
        "test_cases.py::test_whatever_save_has_a_result_the_ledger_had_it_before",
        "test_cases.py::test_with_the_order_swapped_that_would_be_seen"]),
    "C04": ("what was done vanishes from the history, since its result could not be saved", [
        "test_faults.py::test_a_point_b_that_can_not_be_saved_stops_the_run_and_a_resume_takes_the_result_from_the_ledger",
        "test_proof_faults.py::test_whichever_operation_fails_the_files_are_old_or_new_the_run_stops_in_words_and_a_resume_puts_all_right"]),
    "C05": ("a re-sampled call is taken for a new deed because it is worded otherwise", [
        "test_branches.py::test_after_a_rewind_the_ledger_misses_and_the_payment_is_made_twice",
        "test_branches.py::test_the_gate_warns_of_a_similar_effect_in_the_lineage",
        "test_branches.py::test_a_business_key_goes_to_the_outside_which_then_pays_once"]),
    "C10": ("a crash in a batch loses the results that were there", [
        "test_tools.py::test_an_effect_is_recorded_the_instant_its_tool_returns_and_before_the_next_tool_starts",
        "test_cases.py::test_a_kill_inside_a_batch_keeps_the_results_before_it"]),
    "C16": ("a call without its result is sent, and every request after that is refused", [
        "test_model.py::test_a_dangling_call_is_refused_with_its_id_in_the_words_of_the_api",
        "test_resume.py::test_a_point_a_of_each_lesson_resumes_as_turn_1_with_a_conversation_the_api_accepts",
        "test_resume_again.py::test_a_resume_killed_at_any_of_its_moments_and_resumed_does_nothing_twice_and_forgets_nothing"]),
    "C19": ("a result is put back elsewhere than right behind its call", [
        "test_transcript.py::test_a_result_that_is_not_in_the_very_next_message_answers_nothing",
        "test_resume.py::test_a_conversation_the_api_would_refuse_is_refused_before_anything_is_touched",
        "test_repair.py::test_a_result_behind_an_assistant_message_moves_up_and_leaves_a_note"]),
    "C20": ("results come in other messages, in another order, or twice", [
        "test_tools.py::test_each_tool_use_is_answered_in_order_and_other_blocks_are_passed_over",
        "test_repair.py::test_results_in_separate_messages_become_one_message_in_call_order",
        "test_repair.py::test_a_made_up_failure_that_came_first_stays_and_the_real_result_stays_readable"]),
    "C23": ("a call that was cut off is run, or left dangling", [
        "test_agent.py::test_any_other_stop_ends_the_run_by_name_and_the_last_point_b_resumes"]),
    "C25": ("a paused turn passes for the end", [
        "test_agent.py::test_any_other_stop_ends_the_run_by_name_and_the_last_point_b_resumes",
        "test_transcript.py::test_the_calls_of_server_tools_are_none_of_the_clients_business"]),
    "C27": ("a result is sent once more", [
        "test_transcript.py::test_a_second_result_for_one_call_is_reported",
        "test_repair.py::test_of_two_results_the_first_stays_and_the_second_is_told",
        "test_resume.py::test_a_conversation_the_api_would_refuse_is_refused_before_anything_is_touched"]),
    "C28": ("ids that start afresh in every turn bring back an old result", [
        "test_tools.py::test_the_same_id_with_another_call_stops_and_changes_nothing",
        "test_agent.py::test_an_id_that_the_conversation_has_used_stops_the_run_before_any_file_holds_it",
        "test_cases.py::test_an_id_that_starts_afresh_in_the_next_turn_never_serves_the_old_result"]),
    "C31": ("the ledger of another run answers for this one", [
        "test_guard.py::test_the_ids_of_an_old_ledger_do_not_reach_a_new_run",
        "test_branches.py::test_a_foreign_ledger_is_no_ledger_of_this_run",
        "test_cases.py::test_a_ledger_that_was_left_over_answers_for_no_new_run",
        "test_cases.py::test_a_ledger_of_another_run_is_refused_by_a_resume_which_then_changes_nothing"]),
    "C32": ("of several results in a turn only the last one is sent", [
        "test_cases.py::test_a_turn_of_three_calls_is_sent_with_three_results_in_call_order_or_not_at_all",
        "test_cases.py::test_three_calls_of_a_turn_have_three_results_wherever_it_was_killed"]),
    "C34": ("half a record and the next one are one line, and all behind it is forgotten without a word", [
        "test_history.py::test_a_history_cut_at_any_byte_is_resumed_and_says_what_was_dropped",
        "test_history.py::test_damage_elsewhere_is_an_error_that_names_the_line_and_changes_nothing",
        "test_session.py::test_damage_elsewhere_names_the_line",
        "test_model.py::test_a_torn_last_line_in_the_log_is_ignored_and_the_next_one_starts_afresh"]),
    "C36": ("a disk that fills up tears the old file, or a tool starts that no file knows of", [
        "test_storage.py::test_a_disk_that_fills_up_after_any_number_of_bytes_leaves_the_old_file",
        "test_faults.py::test_a_point_a_that_can_not_be_saved_starts_no_tool",
        "test_proof_faults.py::test_where_an_intent_is_written_too_the_same_holds_and_no_tool_starts_without_it"]),
    "C37": ("a file of no bytes passes for none, and the next save buries what was there", [
        "test_checkpoint.py::test_all_errors_are_told_apart_and_have_one_root",
        "test_checkpoint.py::test_a_file_cut_at_any_byte_is_refused",
        "test_ledger.py::test_what_is_no_ledger_is_never_taken_for_an_empty_one",
        "test_storage.py::test_every_save_has_a_temp_name_of_its_own_and_the_sweep_takes_what_dead_runs_left"]),
    "C38": ("after a power cut the new name holds nothing, or the old content is back", [
        "test_storage.py::test_the_file_is_synced_then_renamed_then_its_folder_synced_unless_only_a_kill_counts",
        "test_proof_power.py::test_whenever_the_power_goes_a_resume_puts_all_right",
        "test_proof_power.py::test_without_the_files_sync_a_checkpoint_may_be_empty",
        "test_proof_power.py::test_without_the_folders_sync_an_effect_may_be_done_twice"]),
    "C39": ("temp files pile up, or one is loaded", [
        "test_guard.py::test_temp_files_do_not_pile_up_over_ten_killed_starts",
        "test_resume.py::test_temp_files_of_dead_runs_are_swept_after_a_good_load_and_strangers_stay"]),
    "C42": ("that nothing can be written is found when something has been done already", [
        "test_guard.py::test_a_folder_that_can_not_be_written_is_found_before_the_first_request_and_left_as_it_was"]),
    "C43": ("a save fails and the run goes on", [
        "test_faults.py::test_a_point_b_that_can_not_be_saved_stops_the_run_and_a_resume_takes_the_result_from_the_ledger",
        "test_proof_faults.py::test_a_function_that_breaks_a_rule_is_found_with_the_operation_that_failed"]),
    "C46": ("one odd value in a result, and the effect goes unrecorded", [
        "test_tools.py::test_any_result_is_recorded_and_the_first_run_and_a_ledger_hit_tell_the_model_the_same",
        "test_values.py::test_every_result_can_be_recorded_and_comes_back_as_it_was_kept"]),
    "C48": ("a value comes back as another one", [
        "test_values.py::test_any_json_value_comes_back_equal_and_of_the_same_type",
        "test_values.py::test_what_would_not_come_back_equal_is_refused_with_its_place",
        "test_faults.py::test_a_call_that_can_not_be_saved_as_it_came_is_refused_before_anything_runs"]),
    "C49": ("half a surrogate pair makes every later request fail", [
        "test_agent.py::test_half_a_surrogate_pair_from_the_model_is_kept_and_the_next_request_refused_with_its_place",
        "test_agent.py::test_half_a_surrogate_pair_from_a_tool_is_spelled_out_so_that_the_run_goes_on",
        "test_repair.py::test_half_a_character_in_what_the_model_said_stays_as_it_is_and_is_still_named"]),
    "C52": ("a file of another version is read as if it were this one", [
        "test_checkpoint.py::test_another_version_is_refused_by_name_as_it_stands_in_the_file_before_anything_else",
        "test_history.py::test_another_version_is_refused_by_name"]),
    "C53": ("a run is resumed under another task or with other tools", [
        "test_owner.py::test_another_task_is_refused_and_none_means_the_files",
        "test_owner.py::test_a_resume_with_other_tools_is_refused_with_the_difference_named",
        "test_owner.py::test_another_model_is_refused_by_name"]),
    "C54": ("whether two calls are one depends on how their arguments lie in memory", [
        "test_values.py::test_inputs_compare_as_json_values",
        "test_values.py::test_the_order_of_keys_is_nothing",
        "test_ledger.py::test_another_id_is_a_miss_even_with_the_same_input",
        "test_policies.py::test_two_transfers_of_the_same_sum_stay_two_in_the_ledger"]),
    "C57": ("two processes go on with one run", [
        "test_owner.py::test_a_second_process_is_refused_with_the_owners_process_id_and_changes_nothing",
        "test_owner.py::test_a_dead_owners_lock_is_taken_over_with_the_next_generation",
        "test_owner.py::test_a_paused_owner_that_was_replaced_saves_nothing_more_and_runs_nothing_more"]),
    "C60": ("a branch is reloaded with what another one did", [
        "test_branches.py::test_neither_branch_sees_what_the_other_does_later",
        "test_branches.py::test_whatever_runs_crashes_rewinds_and_forks_come_a_reload_is_what_was_live"]),
    "C63": ("a rewind keeps quiet about what it does not undo", [
        "test_branches.py::test_effects_since_names_what_a_rewind_leaves_standing",
        "test_branches.py::test_after_going_back_a_resume_goes_on_from_there_and_the_model_is_told_what_stands"]),
    "C66": ("a fork takes a dangling call along", [
        "test_branches.py::test_at_a_point_a_the_dangling_call_is_reconciled_first",
        "test_branches.py::test_a_fork_at_a_point_a_takes_the_answer_from_the_parents_ledger",
        "test_branches.py::test_a_fork_at_a_point_a_without_a_record_says_unknown_or_reads_again"]),
    "C68": ("a yes counts for other arguments, or for more than one call", [
        "test_tools.py::test_an_approver_can_not_change_what_is_run",
        "test_owner.py::test_a_resume_with_other_tools_is_refused_with_the_difference_named",
        "test_cases.py::test_one_yes_is_good_for_one_call",
        "test_cases.py::test_a_yes_from_before_the_crash_covers_no_other_arguments",
        "test_cases.py::test_where_the_tool_knows_that_nothing_happened_the_changed_call_is_asked_about_anew"]),
    "C69": ("a resume that always dies is tried for ever", [
        "test_owner.py::test_a_restart_loop_that_gets_nowhere_ends_with_a_reason_and_a_way_out",
        "test_owner.py::test_the_attempt_is_noted_before_anything_is_tried"]),
    "C70": ("at the limit of turns a call is left dangling, or the run is lost", [
        "test_agent.py::test_at_the_turn_limit_the_run_pauses_with_nothing_more_saved_or_run_and_a_higher_limit_goes_on",
        "test_cases.py::test_killed_anywhere_a_run_at_its_limit_pauses_with_nothing_dangling_and_goes_on_with_a_higher_one"]),
    "C73": ("thinking does not come back as it was", [
        "test_model.py::test_thinking_must_come_back_exactly_as_it_was_sent",
        "test_cases.py::test_thinking_comes_back_byte_for_byte_wherever_the_run_was_killed",
        "test_cases.py::test_thinking_that_was_changed_on_disk_is_refused_as_the_api_refuses_it"]),
    "C75": ("every save holds all that came before", [
        "test_history.py::test_a_turn_costs_two_syncs_and_as_many_bytes_late_as_early",
        "test_benchmark.py::test_a_turn_adds_its_own_bytes_however_many_came_before",
        "test_storage_meter.py::test_twice_the_turns_take_four_times_the_files_and_twice_the_lines"]),
}
DONE = [text("All done.")]


def test_every_case_of_the_list_has_a_test_and_each_test_that_is_named_is_there():
    assert list(CASES) == [f"C{number}" for number in NUMBERS.split()]
    named = {test for _, tests in CASES.values() for test in tests}
    files = {test.partition("::")[0] for test in named}
    there = {f"{file}::{node.name}" for file in files for node in ast.parse((HERE / file).read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}
    assert all(tests for _, tests in CASES.values()) and named - there == set()


def moments(model, world, **options):
    """(label, n) of each place to die in a run of its own."""
    return [(moment.label, moment.count) for moment in run(model, world, **options).moments if moment.count]


def yes(name, input):
    return True


# --- C03: the record, then Point B -------------------------------------------------------------------

def first_come_the_records(folder, functions=None):
    """At each instant of a run, that whatever the checkpoint has a result of is in the ledger; the first id that is not, or None."""
    late = []

    def look(moment):
        known = load_effects(folder / "effects.json")
        blocks = [block for message in read(folder / "checkpoint.json")["messages"][1:] for block in message["content"]] if (folder / "checkpoint.json").exists() else []
        late.extend(block["tool_use_id"] for block in blocks if block["type"] == "tool_result" and block["tool_use_id"] not in known)

    with Run(listeners=[look], functions=functions):
        run_agent(Model([use("t1", "look")], [use("t2", "note")], [use("t3", "pay")], DONE), "do it", World().tools, folder=folder, approve=yes)
    return late[0] if late else None


def test_whatever_save_has_a_result_the_ledger_had_it_before(tmp_path):
    """C03"""
    assert first_come_the_records(tmp_path) is None


def test_with_the_order_swapped_that_would_be_seen(tmp_path):
    """C03"""
    waiting = []

    def point_b_first(path, state):
        save_checkpoint(path, state)
        while waiting:
            save_effect(*waiting.pop())

    assert first_come_the_records(tmp_path, {"save_effect": lambda *entry: waiting.append(entry), "save_checkpoint": point_b_first}) == "t1"


# --- C10, C32: several calls in one response ------------------------------------------------------------

@pytest.mark.parametrize("kinds", [*itertools.product(["look", "note", "pay"], repeat=2)], ids="-".join)
@pytest.mark.parametrize("crash", [("mid-effect-write", 2), ("after-tool", 2)])
def test_a_kill_inside_a_batch_keeps_the_results_before_it(tmp_path, kinds, crash):
    """C10: the first call is answered from the ledger and only the second is still open."""
    world, ledger, batch = World(), tmp_path / "effects.json", [use("t1", kinds[0], n=1), use("t2", kinds[1], n=2)]
    with pytest.raises(SimulatedCrash), Run(crash_after=crash, durability="kill"):
        run_tool_uses(batch, world.tools, effects_path=ledger, approve=yes)
    assert list(load_effects(ledger)) == ["t1"] and len(world.done) == 2
    asked = []
    first, _ = run_tool_uses(batch, world.tools, effects_path=ledger, approve=lambda name, input: asked.append(input["n"]))
    assert first == answer("t1", f"{kinds[0]} done") and 1 not in asked
    assert [input["n"] for _, input in world.done].count(1) == 1


THREE = said(use("t1", "look", n=1), use("t2", "look", n=2), use("t3", "look", n=3))
RESULTS = [answer("t1", "one"), answer("t2", "two"), answer("t3", "three")]


@pytest.mark.parametrize("kept", [kept for n in range(4) for kept in itertools.combinations(range(3), n)], ids=str)
def test_a_turn_of_three_calls_is_sent_with_three_results_in_call_order_or_not_at_all(tmp_path, kept):
    """C32: a file that has only some of the results is refused, so the model never has to guess the others."""
    world, model = World(), Model(None, DONE)
    write(tmp_path / "checkpoint.json", scene([THREE, told(*(RESULTS[i] for i in kept))] if kept else [THREE], turns=1))
    before = on_disk(tmp_path)
    end = run(model, world, tmp_path, resume=True)
    if len(kept) == 3:
        assert model.sent == [[{"role": "user", "content": "do it"}, THREE, told(*RESULTS)]]
    else:
        assert (end.how, model.sent, world.done, on_disk(tmp_path)) == ("NotACheckpoint", [], [], before)


def test_three_calls_of_a_turn_have_three_results_wherever_it_was_killed(tmp_path):
    """C32: the first call runs, the others are told that they did not; all three in one message, in call order."""
    turns = THREE["content"], DONE
    (tmp_path / "whole").mkdir()
    for label, n in moments(Model(*turns), World(), folder=tmp_path / "whole"):
        folder = tmp_path / f"{label}-{n}"
        folder.mkdir()
        world, model = World(), Model(*turns)
        assert run(model, world, folder, crash_after=(label, n)).how == "killed"
        run(model, world, folder, resume=(folder / "checkpoint.json").exists())
        calls, results = load_checkpoint(folder / "checkpoint.json")["messages"][1:3]
        assert [block["tool_use_id"] for block in results["content"]] == [block["id"] for block in calls["content"]]
        assert [block.get("is_error", False) for block in results["content"]] == [False, True, True]


# --- C28, C31: whose call an id is ------------------------------------------------------------------------

@pytest.mark.parametrize("second", [("look", {"at": "a"}), ("look", {"at": "b"}), ("note", {"at": "a"}), ("pay", {"amount": 1})], ids=str)
@pytest.mark.parametrize("killed_between", [False, True])
def test_an_id_that_starts_afresh_in_the_next_turn_never_serves_the_old_result(tmp_path, second, killed_between):
    """C28: even where the call is the very same, a new call is a new call."""
    name, input = second
    world, model = World(), Model([use("x:0", "look", at="a")], [use("x:0", name, **input)], DONE)
    if killed_between:
        assert run(model, world, tmp_path, crash_after=("after-save-b", 1)).how == "killed"
    end = run(model, world, tmp_path, resume=killed_between, approve=yes)
    assert end.how == "IdClash" and "x:0" in end.words
    assert world.done == [("look", {"at": "a"})]
    kept = load_checkpoint(tmp_path / "checkpoint.json")
    assert (kept["turns"], kept["pendingToolUse"], kept["messages"][-1]) == (1, None, told(answer("x:0", "look done")))


@pytest.mark.parametrize("way", ["file", "turns", "history"])
def test_a_ledger_that_was_left_over_answers_for_no_new_run(tmp_path, way):
    """C31: somebody deletes the saves, keeps the ledger and starts again; a scripted model names the same ids."""
    world, turns = World(), ([use("t1", "note", line="x")], DONE)
    run(Model(*turns), world, tmp_path, keep=way)
    for path in tmp_path.iterdir():
        if path.name != "effects.json":
            path.unlink()
    assert (tmp_path / "effects.json").exists()
    assert run(Model(*turns), world, tmp_path, keep=way).how == "done"
    assert world.done == [("note", {"line": "x"})] * 2


@pytest.mark.parametrize("way, other", [("file", {"line": "another"}), ("turns", {"line": "another"}), ("turns", {"line": "x"})], ids=str)
def test_a_ledger_of_another_run_is_refused_by_a_resume_which_then_changes_nothing(tmp_path, way, other):
    """C31: where runs have an id of their own, even the very same call of another run is none of this one's."""
    (tmp_path / "one").mkdir(), (tmp_path / "two").mkdir()
    run(Model([use("t1", "note", **other)], DONE), World(), tmp_path / "one", keep=way)
    world, model = World(), Model([use("t1", "note", line="x")], DONE)
    run(model, world, tmp_path / "two", keep=way, crash_after=("after-save-a", 1))
    (tmp_path / "one" / "effects.json").rename(tmp_path / "two" / "effects.json")
    before = on_disk(tmp_path / "two")
    end = run(model, world, tmp_path / "two", resume=True)
    assert end.how == "IdClash" and "start over without --resume" in end.words
    assert (world.done, on_disk(tmp_path / "two"), len(model.sent)) == ([], before, 1)


# --- C68: what a yes is good for -------------------------------------------------------------------------------

def test_one_yes_is_good_for_one_call(tmp_path):
    """C68: three payments in a row, one yes."""
    asked, world = [], World()

    def once(name, input):
        asked.append((name, input))
        return len(asked) == 1

    assert run(Model(*([use(f"t{n}", "pay", amount=10)] for n in range(3)), DONE), world, tmp_path, approve=once).how == "done"
    assert asked == [("pay", {"amount": 10})] * 3 and world.done == [("pay", {"amount": 10})]


def approved_then_changed(folder, world, crash):
    """pay{10} was approved and the run killed; since then the file says 9999, in both places. Gives the questions of the resume and how it ended."""
    model, asked = Model([use("t1", "pay", amount=10)], DONE), []
    assert run(model, world, folder, crash_after=(crash, 1), approve=yes).how == "killed"
    path = folder / "checkpoint.json"
    path.write_bytes(path.read_bytes().replace(b'"amount": 10', b'"amount": 9999'))
    assert path.read_bytes().count(b"9999") == 2
    return asked, run(model, world, folder, resume=True, approve=lambda name, input: asked.append(input))


@pytest.mark.parametrize("crash", ["after-save-a", "after-approval", "after-tool", "after-effect-write"])
def test_a_yes_from_before_the_crash_covers_no_other_arguments(tmp_path, crash):
    """C68: the changed call is unknown, or clashes with what the ledger has; it is not run."""
    world = World()
    asked, end = approved_then_changed(tmp_path, world, crash)
    assert ("pay", {"amount": 9999}) not in world.done and asked == []
    if crash == "after-effect-write":
        assert end.how == "IdClash"
    else:
        assert end.how == "done" and "unknown" in read(tmp_path / "checkpoint.json")["messages"][2]["content"][0]["content"]


@pytest.mark.parametrize("crash", ["after-save-a", "after-approval"])
def test_where_the_tool_knows_that_nothing_happened_the_changed_call_is_asked_about_anew(tmp_path, crash):
    """C68: with the arguments that are to run now, and without a new yes nothing does."""
    world = World()
    world.tools["pay"] = world.tool("pay", high_impact=True, verify=lambda input, key: False)
    asked, end = approved_then_changed(tmp_path, world, crash)
    assert (asked, world.done, end.how) == ([{"amount": 9999}], [], "done")


# --- C70: the limit of turns ----------------------------------------------------------------------------------

@pytest.mark.parametrize("tool", ["look", "note"])
def test_killed_anywhere_a_run_at_its_limit_pauses_with_nothing_dangling_and_goes_on_with_a_higher_one(tmp_path, tool):
    """C70"""
    turns = [use("t1", tool, n=1)], [use("t2", tool, n=2)], DONE
    (tmp_path / "whole").mkdir()
    for label, n in moments(Model(*turns), World(), folder=tmp_path / "whole", max_turns=1):
        folder = tmp_path / f"{label}-{n}"
        folder.mkdir()
        world, model = World(), Model(*turns)
        assert run(model, world, folder, crash_after=(label, n), max_turns=1).how == "killed"
        end = run(model, world, folder, resume=(folder / "checkpoint.json").exists(), max_turns=1)
        assert end.words == "Reached the max of 1 turns, stopping on our own"
        kept = load_checkpoint(folder / "checkpoint.json")
        assert (kept["turns"], kept["pendingToolUse"], kept["messages"][-1]["role"], len(kept["messages"])) == (1, None, "user", 3)
        assert run(model, world, folder, resume=True, max_turns=9).words == "All done."
        assert world.done.count((tool, {"n": 2})) == 1 and world.done.count((tool, {"n": 1})) <= (2 if tool == "look" else 1)


# --- C73: thinking ----------------------------------------------------------------------------------------------

THINKING = [{"type": "thinking", "thinking": " So: é, \u2028 and 1.0\n", "signature": "EqQBCgIYAhIM=="}, {"type": "redacted_thinking", "data": "AAEC/+=="},
            {"signature": "c2ln", "thinking": "", "type": "thinking"}]
SCRIPT = [{"content": [*THINKING, use("t1", "pay", amount=12.50)], "stop_reason": "tool_use"},
          {"content": [*reversed(THINKING), text("Paid, and noted.")], "stop_reason": "end_turn"}]


def test_thinking_comes_back_byte_for_byte_wherever_the_run_was_killed(tmp_path):
    """C73: the client compares what it is sent with what it had said, as the API does; the bytes on disk are compared here."""
    (tmp_path / "whole").mkdir()
    places = moments(OfflineClient(SCRIPT), World(), folder=tmp_path / "whole", approve=yes)
    assert ("after-tool", 1) in places and ("mid-save-b", 1) in places
    for label, n in places:
        folder = tmp_path / f"{label}-{n}"
        folder.mkdir()
        world, log = World(), folder / "requests.jsonl"
        assert run(OfflineClient(SCRIPT, log=log), world, folder, crash_after=(label, n), approve=yes).how == "killed"
        end = run(OfflineClient(SCRIPT, log=log), world, folder, resume=(folder / "checkpoint.json").exists(), approve=yes)
        assert end.how == "done", end.words
        content = read(folder / "checkpoint.json")["messages"][1]["content"]
        assert encode(content[:3]) == encode(THINKING)
        assert world.done == [("pay", {"amount": 12.50})] * len(world.done) and len(world.done) <= 1
        assert b'"status": 400' not in log.read_bytes()


@pytest.mark.parametrize("change", [
    lambda blocks: blocks[0].update(thinking=""), lambda blocks: blocks[0].update(thinking=blocks[0]["thinking"].strip()),
    lambda blocks: blocks[1].update(data=""), lambda blocks: blocks.pop(0), lambda blocks: blocks.reverse()],
    ids=["emptied, the signature kept", "trimmed", "redacted data gone", "dropped", "in another order"])
def test_thinking_that_was_changed_on_disk_is_refused_as_the_api_refuses_it(tmp_path, change):
    """C73: and the last save stays what it was, so that it can be mended."""
    run(OfflineClient(SCRIPT), World(), tmp_path, crash_after=("after-save-b", 1), approve=yes)
    kept = read(tmp_path / "checkpoint.json")
    change(kept["messages"][1]["content"])
    write(tmp_path / "checkpoint.json", kept)
    before = on_disk(tmp_path)
    with pytest.raises(RequestRefused, match="cannot be modified"), Run():
        run_agent(OfflineClient(SCRIPT), "do it", World().tools, folder=tmp_path, resume=True)
    assert on_disk(tmp_path) == before
