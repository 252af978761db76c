"""Every story of kills in process: what a sample of them shows, what is known to go wrong, and that each promise can be broken and is then seen.

All of it, with its progress: ``course prove``.
"""
import inspect
import os
import random
import re
from pathlib import Path

import pytest

from course_lib import checkpoint, ledger, resume, tools, values
from course_lib.moments import current, crash_point
from course_lib.proof import promises as promises_module
from course_lib.proof.cases import HISTORY, TURNS, case_of
from course_lib.proof.explorer import explore
from course_lib.proof.promises import nobody_knows
from course_lib.proof.stories import Teller, masked, stories, take
from course_lib.proof.weaknesses import BREAKS, CHANGING, EVERY, HIGH_IMPACT
from course_lib.scenarios import SALES_REPORT
from course_lib.scenarios.policies import POLICIES, Policy, keep_no_record
from course_lib.scenarios.sales_report import NOTES, REPORT
from course_lib.scenarios.support_desk import FILES, SUPPORT_DESK
from test_support_desk import LESSON, ONCE

SALES = case_of(SALES_REPORT)
SAMPLE = 6  # stories of two kills, and of three, for each tool under each policy


# --- what is known before anything goes wrong ------------------------------------------------

def test_what_the_sales_report_comes_to_is_what_was_counted_by_hand():
    assert [SALES.real({"name": name, "input": {}}) for name in ("read_notes", "count_words")] == [NOTES, "30 words"]
    assert SALES.real({"name": "write_report", "input": {"text": REPORT}}) == "wrote report.txt, 32 words"
    assert SALES.after == {"sales-notes.txt": NOTES.encode(), "report.txt": REPORT.encode()}
    assert (SALES.looks, SALES.gated, SALES.adds_up) == ({"read_notes", "count_words"}, set(), False)


@pytest.mark.parametrize("tool", LESSON)
def test_what_a_desks_tool_comes_to_is_what_was_worked_out_by_hand(tool):
    case, (answer, file, text) = case_of(SUPPORT_DESK[tool]), ONCE[tool]
    assert case.real(case.scenario.call) == values.as_content(answer)
    assert case.real({"name": "read_file", "input": {"path": "outage.txt"}}) == FILES["outage.txt"]
    after = {**case.scenario.files, file: text}
    assert case.after == {name: text.encode() for name, text in after.items() if text is not None}
    assert case.adds_up == ("idempotent" not in LESSON[tool][1])
    assert case.looks == {"read_file"} and case.gated == {name for name, (_, says) in LESSON.items() if "high_impact" in says}


def test_the_sets_of_tools_are_those_of_the_lesson():
    assert EVERY == set(LESSON)
    assert CHANGING == {name for name, (_, says) in LESSON.items() if "read_only" not in says}
    assert HIGH_IMPACT == {name for name, (_, says) in LESSON.items() if "high_impact" in says}


# --- the sales report --------------------------------------------------------------------

def test_no_story_of_up_to_two_kills_breaks_a_promise():
    explored = explore(SALES, 2)
    assert explored.found == {}
    # A turn has 10 moments: two around the request, two for each save, two in the tool, two for the ledger.
    # With the 4 of the final answer, three turns make 34 places for the first kill.
    # Places for the second one, by where the first was. Before the first Point A the run starts afresh (3 × 34), before
    # that of turn 2 or 3 it asks again (3 × 24, 3 × 14). With Point A and no entry in the ledger (4 places a turn) a tool that
    # only looks runs again, which makes 6 moments before the next turn (4 × 30, 4 × 20); write_report makes the 2 of its save
    # and the 4 of the final answer (4 × 6). With an entry: 2 × (26 + 16 + 6). After Point B: 24 + 14 + 4. In the last
    # answer: 3 × 4, and none once that is saved.
    second = 3 * (34 + 24 + 14) + 4 * (30 + 20 + 6) + 2 * (26 + 16 + 6) + (24 + 14 + 4) + 3 * 4
    none, one, two = explored.told
    assert none == 1 and one >= 34 and two >= second, explored.told  # 1, 34 and 590


@pytest.mark.parametrize("way", [HISTORY, TURNS], ids=["a history", "turn files"])
def test_a_run_that_keeps_its_earlier_saves_loses_no_more(way):
    for scenario in (SALES_REPORT, SUPPORT_DESK["transfer"]):
        explored = explore(case_of(scenario).under(way), 3, sample=60)
        assert explored.found == {} and explored.told[2:] == [60, 60]


def test_a_third_kill_in_a_second_resume_changes_nothing():
    for seed in range(3):
        explored = explore(SALES, 3, sample=40, seed=seed)
        assert explored.found == {} and explored.told[2:] == [40, 40]


def test_a_seed_brings_the_same_stories_again_and_another_seed_others(tmp_path):
    def told(seed):
        return [str(story) for story in stories(Teller(SALES, tmp_path), 3, 5, random.Random(seed))]

    assert told("1") == told("1") and told("1")[-5:] != told("2")[-5:]


def test_what_is_remembered_of_a_folder_is_what_living_on_from_it_gives(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    one, two = Teller(SALES, tmp_path / "a"), Teller(SALES, tmp_path / "b", remembers=False)
    pairs = list(zip(*(stories(teller, 3, 60, random.Random("pairs")) for teller in (one, two)), strict=True))
    assert len(pairs) == 1 + 34 + 60 + 60
    for remembered, lived in pairs:
        assert str(remembered) == str(lived)
        for a, b in zip(remembered.lives, lived.lives, strict=True):
            assert masked(a.files) == masked(b.files)
            assert (a.outcome.status, a.outcome.text, a.outcome.moments) == (b.outcome.status, b.outcome.text, b.outcome.moments)
    assert one.lived < two.lived


def test_a_label_of_a_students_own_is_a_place_to_die_as_any_other(tmp_path):
    def run_tool_uses(content, *args, **kwargs):
        crash_point("my-own-instant")
        return tools.run_tool_uses(content, *args, **kwargs)

    own = SALES.under(Policy("own", "", {"run_tool_uses": run_tool_uses}))
    places = [story.kills[0].label for story in stories(Teller(own, tmp_path), most_kills=1) if story.kills]
    assert places.count("my-own-instant") == 3


# --- the support desk under every policy ------------------------------------------------------

@pytest.mark.parametrize("name", POLICIES)
def test_the_desks_stories_break_the_promises_that_the_policy_is_known_to_break_and_no_other(name):
    assert name in BREAKS, f"say in BREAKS of proof/weaknesses.py which promises {name} breaks, for which tools and why"
    explored = [explore(case_of(scenario).under(POLICIES[name]), 3, sample=SAMPLE) for scenario in SUPPORT_DESK.values()]
    news = [sentence for each in explored for sentence in each.news]
    assert not news, "The shortest stories that break a promise:\n" + "\n".join(news)
    unseen = [f"{each.case.scenario.effect}: {sentence}" for each in explored for sentence in each.unseen]
    assert not unseen, f"No story of {name} shows what it is known for:\n" + "\n".join(unseen)


# --- the explorer itself --------------------------------------------------------------------------

# What follows is wrong on purpose: each function breaks one promise, mostly as lessons and exercises warn of it.

def reconcile_that_runs_everything_again(scene, tool_set, *, effects_path):
    call = scene["pendingToolUse"]
    return call and tools.perform(call, tool_set, effects_path=effects_path)


def run_tool_uses_that_records_first(content, tool_set, *, effects_path, approve=None):
    for call in content:
        if call["id"] not in ledger.load_effects(effects_path):
            ledger.save_effect(effects_path, call["id"], {"name": call["name"], "result": None, "at": "", "input": call["input"]})
    return [tools.perform(call, tool_set, effects_path=effects_path) for call in content]


def save_that_skips_point_a(path, scene):
    if scene["pendingToolUse"] is None:
        checkpoint.save_checkpoint(path, scene)


def save_that_skips_the_final_answer(path, scene):
    if not checkpoint.is_finished(scene):
        checkpoint.save_checkpoint(path, scene)


def save_in_place(path, scene):
    data = values.encode(scene)
    with open(path, "wb", buffering=0) as file:
        file.write(data[:len(data) // 2])
        crash_point("mid-save-a")
        file.write(data[len(data) // 2:])


def save_by_a_temp_file_of_its_own(path, scene):
    temp = Path(path).with_suffix(f".{len(os.listdir(Path(path).parent))}")
    temp.write_bytes(values.encode(scene))
    crash_point("mid-save-a")
    temp.replace(path)


def save_that_tidies_up_after_a_kill(path, scene):
    try:
        checkpoint.save_checkpoint(path, scene)
    except BaseException:
        for temp in Path(path).parent.glob("*.tmp"):
            temp.unlink()
        raise


def save_that_survives_a_kill(path, scene):
    try:
        checkpoint.save_checkpoint(path, scene)
    except BaseException:
        pass


def save_that_drops_the_result(path, scene):
    checkpoint.save_checkpoint(path, scene)
    if scene["messages"][-1]["role"] == "user":
        scene["messages"].pop()


def reconcile_that_answers_nothing(scene, tool_set, *, effects_path):
    return None


def reconcile_that_says_not_run(scene, tool_set, *, effects_path):
    answer = resume.reconcile(scene, tool_set, effects_path=effects_path)
    return answer and {**answer, "content": answer["content"].replace("State unknown", "It was not run")}


def reconcile_that_always_says_unknown(scene, tool_set, *, effects_path):
    call = scene["pendingToolUse"]
    return call and tools.result(call, "State unknown", is_error=True)


def load_that_forgets_the_ledger(path):
    return {}


def load_that_counts_the_resumes(path):
    scene = checkpoint.load_checkpoint(path)
    scene["resumes"] = scene.get("resumes", 0) + 1
    Path(path).write_bytes(values.encode(scene))
    return scene


def load_that_remarks_on_each_try(path):
    scene = checkpoint.load_checkpoint(path)
    if nobody_knows(SALES, take(Path(path).parent), "write_report"):
        scene["messages"][-1]["content"][0]["text"] += " Once more."
        Path(path).write_bytes(values.encode(scene))
    return scene


def wrong_sales(functions):
    return SALES.under(Policy("wrong", "", functions))


WRONG = [  # in place of what, which function, the promise that it breaks, the shortest story that shows it
    ("reconcile", reconcile_that_runs_everything_again, "twice", "Started, killed at after-tool:3 in turn 3; resumed, ran to its end."),
    ("run_tool_uses", run_tool_uses_that_records_first, "invented", "Started, killed at after-effect-write:1 in turn 1; resumed, ran to its end."),
    ("save_checkpoint", save_that_skips_point_a, "twice", "Started, killed at after-tool:3 in turn 3; resumed, ran to its end."),
    ("save_checkpoint", save_that_skips_the_final_answer, "unfinished", "Started, ran to its end."),
    ("save_checkpoint", save_in_place, "torn", "Started, killed at mid-save-a:1 in turn 1; resumed, ran to its end."),
    ("save_checkpoint", save_by_a_temp_file_of_its_own, "left-over", "Started, killed at mid-save-a:1 in turn 1; started, ran to its end."),
    ("save_checkpoint", save_that_tidies_up_after_a_kill, "tidied", "Started, killed at mid-save-a:1 in turn 1; started, ran to its end."),
    ("save_checkpoint", save_that_survives_a_kill, "undead", "Started, killed at mid-save-a:1 in turn 1; resumed, ran to its end."),
    ("save_checkpoint", save_that_drops_the_result, "refused", "Started, ran to its end."),
    ("reconcile", reconcile_that_answers_nothing, "unfinished", "Started, killed at after-save-a:1 in turn 1; resumed, ran to its end."),
    ("reconcile", reconcile_that_says_not_run, "forgotten", "Started, killed at after-tool:3 in turn 3; resumed, ran to its end."),
    ("reconcile", reconcile_that_always_says_unknown, "denied", "Started, killed at after-save-a:1 in turn 1; resumed, ran to its end."),
    ("load_effects", load_that_forgets_the_ledger, "unrecorded", "Started, ran to its end."),
    ("load_checkpoint", load_that_counts_the_resumes, "restless", "Started, ran to its end."),
    ("load_checkpoint", load_that_remarks_on_each_try, "other-ending",
     "Started, killed at after-save-a:3 in turn 3; resumed, killed at mid-save-b:1 in turn 3; resumed, ran to its end."),
]


@pytest.mark.parametrize("name, wrong, rule, story", WRONG, ids=lambda value: value.__name__ if callable(value) else "")
def test_a_wrong_function_is_found_by_the_rule_it_breaks_and_in_its_shortest_story(name, wrong, rule, story):
    found = explore(wrong_sales({name: wrong}), 2 if "killed" in story.partition("killed")[2] else 1).found
    assert found, "nothing found"
    first = next(iter(found))
    assert (first, found[first][:len(story)]) == (rule, story), found


def test_a_ledger_that_is_never_written_is_found_in_a_run_that_nobody_killed():
    found = explore(wrong_sales({"save_effect": keep_no_record}), 1).found
    assert found["unrecorded"].startswith("Started, ran to its end.")


def test_a_point_b_saved_before_the_record_is_found_in_a_story_of_one_kill():
    late = []

    def save_effect(path, tool_use_id, entry):
        late.append((path, tool_use_id, entry))

    def save_checkpoint(path, scene):
        checkpoint.save_checkpoint(path, scene)
        while late:
            effect = late.pop()
            if current().turn and Path(effect[0]).parent == Path(path).parent:
                ledger.save_effect(*effect)

    def take_up_afresh(path):  # a new process does not remember what the killed one still had to write
        late.clear()
        return checkpoint.load_checkpoint(path)

    found = explore(wrong_sales({"save_effect": save_effect, "save_checkpoint": save_checkpoint, "load_checkpoint": take_up_afresh}), 1).found
    assert found["unrecorded"].startswith("Started, killed at after-save-b:1 in turn 1; resumed, ran to its end. The ledger does not have read_notes")


def test_each_promise_is_broken_by_something_here_or_by_a_policy():
    promises = set(re.findall(r'yield "([a-z -]+)"', inspect.getsource(promises_module)))
    assert promises == {rule for _, _, rule, _ in WRONG} | {rule for rules in BREAKS.values() for rule in rules}
