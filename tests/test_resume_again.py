"""A resume that is itself killed, at any instant, any number of times (DESIGN section 3, rule 11)."""
import re

import pytest

from course_lib import load_checkpoint
from helpers import Model, World, on_disk, read, run, said, text, use

DONE = [text("All done.")]
TURNS = [[text("One."), use("t1", "look")], [use("t2", "note", line="x")], [use("t3", "pay", amount=5)], DONE]
APPROVE = {"approve": lambda name, input: True}
NOT_STARTED, IN_DOUBT = ("after-save-a", "after-approval"), ("after-save-a", "after-approval", "after-tool", "mid-effect-write")


def kill(model, world, folder, moment, **options):
    """Let the run die at the moment; gives (label, turn)."""
    end = run(model, world, folder, crash_after=moment, **APPROVE, **options)
    assert end.how == "killed"
    return end.moments[-1].label, end.moments[-1].turn


def what_must_come_of_it(kills):
    """By the lessons' reasoning alone: what an effect in doubt leaves, wherever the kills were."""
    doubt = {turn for label, turn in kills if label in IN_DOUBT} - {1}  # turn 1 only looks
    never = {turn for label, turn in kills if label in NOT_STARTED} - {1}
    names = {1: "look", 2: "note", 3: "pay"}
    return {"results": ["unknown" if turn in doubt else f"{names[turn]} done" for turn in names],
            "ledger": [f"t{turn}" for turn in names if turn not in doubt],
            "world": [names[turn] for turn in (2, 3) if turn not in never],
            "turns": 3, "tokens": 44, "files": ["checkpoint.json", "effects.json"]}


def what_came_of_it(world, folder):
    final = load_checkpoint(folder / "checkpoint.json")
    plan = [message for message in final["messages"] if message["role"] == "assistant"]
    assert re.sub(r"_\d", "", str(plan)) == str([said(*turn) for turn in TURNS]) and final["pendingToolUse"] is None
    results = [message["content"][0] for message in final["messages"][2::2]]
    assert all(("unknown" in result["content"]) == result.get("is_error", False) for result in results)
    return {"results": ["unknown" if result.get("is_error") else result["content"] for result in results],
            "ledger": [id.split("_")[0] for id in read(folder / "effects.json")],
            "world": [name for name, _ in world.done if name != "look"],
            "turns": final["turns"], "tokens": final["tokensUsed"], "files": sorted(on_disk(folder))}


FIRST = [("before-request", 2), ("after-response", 3), ("mid-save-a", 2), ("after-save-a", 1), ("after-save-a", 2), ("after-approval", 1),
         ("after-tool", 1), ("after-tool", 2), ("mid-effect-write", 3), ("after-effect-write", 1), ("after-effect-write", 2), ("mid-save-b", 3),
         ("after-save-b", 2), ("mid-final-save", 1), ("after-final-save", 1)]


@pytest.mark.parametrize("first", FIRST, ids=lambda moment: "{}:{}".format(*moment))
def test_a_resume_killed_at_any_of_its_moments_and_resumed_does_nothing_twice_and_forgets_nothing(tmp_path, first):
    def start(name):
        folder = tmp_path / name
        folder.mkdir()
        model, world = Model(*TURNS), World()
        return model, world, folder, kill(model, world, folder, first)

    model, world, folder, when = start("once")
    end = run(model, world, folder, resume=True, **APPROVE)
    assert (end.how, end.words) == ("done", "All done.")
    assert what_came_of_it(world, folder) == what_must_come_of_it([when])
    for moment in [moment for moment in end.moments if moment.count]:
        model, world, folder, when = start(f"{moment.label}-{moment.count}")
        kills = [when, kill(model, world, folder, (moment.label, moment.count), resume=True)]
        assert run(model, world, folder, resume=True, **APPROVE).words == "All done."
        assert what_came_of_it(world, folder) == what_must_come_of_it(kills), kills


def test_a_resume_killed_ten_times_at_one_write_ends_as_if_killed_once_and_leaves_one_temp_file_at_most(tmp_path):
    model, world = Model(*TURNS), World()
    when = kill(model, world, tmp_path, ("after-effect-write", 2))
    for _ in range(10):
        kill(model, world, tmp_path, ("mid-save-b", 1), resume=True)
        assert len(on_disk(tmp_path)) == 3
    assert run(model, world, tmp_path, resume=True, **APPROVE).how == "done"
    assert what_came_of_it(world, tmp_path) == what_must_come_of_it([when])


def test_killed_before_its_first_point_a_a_run_has_nothing_to_resume_from(tmp_path):
    model, world = Model(*TURNS), World()
    kill(model, world, tmp_path, ("after-response", 1))
    assert on_disk(tmp_path) == {}
    end = run(model, world, tmp_path, resume=True)
    assert end.how == "CheckpointMissing" and "start without --resume" in end.words
