"""CheckpointStepper: what a second process could know is what checkpoint.json says, and nothing more."""
import json

import pytest
from markup import PAYLOADS, Parsed, is_only_ours

from course_lib.scenarios import SALES_REPORT
from course_lib.widgets.checkpoint_stepper import CheckpointStepper, known, step_html, truth

TASK = SALES_REPORT.task
CANT_KNOW = "Did its tool run? It can't know."


@pytest.fixture(scope="module")
def stepper():
    return CheckpointStepper()


def at(stepper, label, count):
    stepper.choose(label, count)
    return stepper.text


def test_before_the_first_save_nothing_can_be_known(stepper):
    for label in ("before-request", "after-response", "mid-save-a"):
        assert "there is no checkpoint" in at(stepper, label, 1) and TASK not in stepper.text


def test_at_point_a_the_call_is_known_and_its_fate_is_not(stepper):
    text = at(stepper, "after-save-a", 2)
    assert TASK in text and "1 turn is closed" in text and "count_words (toolu_02)" in text and CANT_KNOW in text


def test_between_a_and_b_the_truth_changes_and_what_can_be_known_does_not(stepper):
    before, told = at(stepper, "after-save-a", 3), stepper.static_html()
    assert told.endswith("read_notes, count_words</b></li></ul></td></tr></table>")
    assert at(stepper, "after-tool", 3) == before
    assert stepper.static_html().endswith("read_notes, count_words, write_report</b></li></ul></td></tr></table>")
    assert at(stepper, "mid-save-b", 3) == before


def test_at_point_b_the_turn_is_closed(stepper):
    text = at(stepper, "after-save-b", 2)
    assert "2 turns are closed" in text and "None that it knows of." in text and CANT_KNOW not in text


def test_at_the_end_nothing_is_left_to_do(stepper):
    assert "Nothing: the last message is the final answer." in at(stepper, "after-final-save", 1)


def test_in_the_middle_of_a_save_the_temp_file_stands_beside_the_old_one_and_nobody_knows_more(stepper):
    closed = at(stepper, "after-save-b", 1)
    assert at(stepper, "mid-save-a", 2) == closed
    assert "checkpoint.json.….tmp" in stepper.static_html() and "unchanged" in stepper.static_html()


def test_the_ledger_does_not_appear_as_it_is_a_later_lesson(stepper):
    assert not any("effect" in moment.label for _, _, moment in stepper.points)


def test_the_buttons_step_through_every_moment_and_stop_at_both_ends(stepper):
    stepper.choose("before-request", 1)
    stepper.earlier.click()
    stepper.earlier.click()
    first = stepper.moment.value
    seen = [first]
    for _ in range(len(stepper.points) + 3):
        stepper.later.click()
        seen.append(stepper.moment.value)
    assert first == 0 and list(dict.fromkeys(seen)) == [index for index, _, _ in stepper.points]


def test_list_and_timeline_show_the_same_moment(stepper):
    index = stepper.points[5][0]
    stepper.moment.value = index
    assert stepper.timeline.value == index
    stepper.timeline.value = stepper.points[9][0]
    assert stepper.moment.value == stepper.points[9][0]


def test_a_moment_the_run_does_not_have_is_an_error(stepper):
    with pytest.raises(ValueError, match="after-tool:9"):
        stepper.choose("after-tool", 9)


def test_the_static_twin_is_the_first_state_and_plain(stepper):
    fresh = CheckpointStepper()
    parsed = Parsed(fresh.static_html())
    assert "before anything has run" in parsed.text and "style" not in parsed.tags and repr(fresh) == "CheckpointStepper('sales-report')"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_what_a_model_or_a_task_says_is_shown_as_text(payload):
    call = {"id": payload, "name": payload, "input": {}}
    scene = {"version": 1, "task": payload, "turns": 1, "tokensUsed": 1, "messages": [{"role": "user", "content": payload}], "pendingToolUse": call}
    files = {"checkpoint.json": json.dumps(scene).encode(), "journal.jsonl": json.dumps({"tool": payload, "input": {}}).encode()}
    is_only_ours(step_html(payload, files, {"checkpoint.json": b"{}"}))
    assert ("Which task?", payload) in known(files) and payload in truth(files)
