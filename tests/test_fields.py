"""Each field left out once: what breaks is what the lesson says breaks."""
import json

import pytest

from course_lib import load_checkpoint
from course_lib.checkpoint import CheckpointError, WrongVersion, opening
from course_lib.scenarios import fields
from course_lib.scenarios.support_desk import TASK


@pytest.fixture(scope="module")
def rows():
    return {row.field: row for row in fields.drop_each_field()}


def test_there_is_a_row_for_each_field_of_a_checkpoint_in_its_order(rows):
    assert list(rows) == list(opening("any"))


def test_without_version_a_later_format_is_misread_instead_of_refused(rows):
    assert rows["version"].kept == "checkpoint.json has version 2, and this program reads only version 1"
    assert "misread" in rows["version"].dropped


def test_without_task_nobody_can_say_which_it_is(rows):
    assert (rows["task"].kept, rows["task"].dropped) == (TASK, "nothing")


def test_without_turns_the_cap_fires_late_by_the_turns_before_the_kill(rows):
    assert (rows["turns"].kept, rows["turns"].dropped) == (5, 3 + 5)  # killed after turn 3, capped at 5


def test_without_tokens_used_what_came_before_the_kill_is_not_counted(rows):
    assert 0 < rows["tokensUsed"].dropped < rows["tokensUsed"].kept


def test_without_messages_a_new_task_repeats_the_old_effects(rows):
    assert (rows["messages"].kept, rows["messages"].dropped) == (1, 2)


def test_without_pending_tool_use_the_open_call_is_sent_and_refused(rows):
    assert rows["pendingToolUse"].kept == "accepted"
    assert rows["pendingToolUse"].dropped == "refused (400), toolu_02 has no result"


@pytest.mark.parametrize("field", opening("any"))
def test_the_lenient_loader_takes_what_the_real_one_refuses(tmp_path, field):
    path = tmp_path / "checkpoint.json"
    scene = opening("any")
    path.write_text(json.dumps({key: scene[key] for key in scene if key != field}))
    with pytest.raises(CheckpointError):
        load_checkpoint(path)
    assert fields.believe(path).keys() == scene.keys()


def test_even_the_lenient_loader_refuses_a_version_that_is_there_and_not_ours(tmp_path):
    path = tmp_path / "checkpoint.json"
    path.write_text(json.dumps({**opening("any"), "version": 2}))
    with pytest.raises(WrongVersion):
        fields.believe(path)
