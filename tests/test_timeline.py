"""The picture of a run as data: which cells there are, what they stand for, what they say."""
import json

import pytest

from course_lib.moments import LABELS, Moment
from course_lib.widgets.crash_lab import MARKS, meaning
from course_lib.widgets.timeline import WINDOW, Timeline, grid, short


def points(*moments):
    """``(label, turn)`` or ``(label, turn, count)`` each, behind a leg's start."""
    start = Moment("at-start", 0, 0)
    return [(0, moments[0][1], start), *((index, turn, Moment(label, *count or [1], turn)) for index, (label, turn, *count) in enumerate(moments, 1))]


def name(moment):
    return f"the {moment.label}"


def test_a_row_is_a_turn_and_a_column_a_kind_of_moment_in_the_order_of_a_turn():
    drawn = grid(points(("before-request", 1), ("after-tool", 1), ("after-save-b", 1), ("before-request", 2), ("after-save-a", 2)), 1, name, MARKS)
    assert [row["title"] for row in drawn["rows"]] == ["turn 1", "turn 2"]
    assert drawn["columns"] == [short(label) for label in ("before-request", "after-save-a", "after-tool", "after-save-b")]
    assert [[cell and cell["index"] for cell in row["cells"]] for row in drawn["rows"]] == [[1, None, 2, 3], [4, 5, None, None]]


def test_a_cell_has_the_sign_of_the_lesson_and_its_words():
    [row] = grid(points(("after-effect-write", 1)), 1, name, MARKS)["rows"]
    assert row["cells"] == [{"index": 1, "all": [1], "mark": "②'", "text": "the after-effect-write"}]


def test_the_start_of_a_leg_is_no_cell_since_nothing_can_die_there():
    assert grid([(0, 1, Moment("at-start", 0, 0))], 1, name, MARKS)["columns"] == []


def test_moments_of_one_kind_share_a_cell_of_their_turn():
    [row] = grid(points(("mid-save-a", 1, 1), ("mid-save-a", 1, 2), ("mid-save-a", 1, 3)), 1, name, MARKS)["rows"]
    assert [(cell["index"], cell["all"]) for cell in row["cells"]] == [(1, [1, 2, 3])]


def test_labels_of_a_students_own_stand_behind_the_librarys():
    drawn = grid(points(("between-record-and-run", 1), ("after-final-save", 1)), 1, name, MARKS)
    assert drawn["columns"] == ["end", "between-record-and-run"]


def test_of_a_long_run_only_the_turns_near_the_chosen_one_are_drawn():
    drawn = grid(points(*(("before-request", turn, turn) for turn in range(1, 1001))), 500, name, MARKS)
    assert [row["title"] for row in drawn["rows"]] == [f"turn {turn}" for turn in range(500 - WINDOW, 501 + WINDOW)]


def test_the_picture_travels_as_plain_data():
    drawn = grid(points(("after-tool", 1)), 1, name, MARKS)
    timeline = Timeline()
    timeline.grid, timeline.value = drawn, 1
    assert json.loads(json.dumps(timeline.get_state()["grid"])) == drawn
    assert repr(timeline) == "Timeline(1)"


@pytest.mark.parametrize("label", LABELS)
def test_every_moment_has_words_and_a_column_head(label):
    assert meaning(label) != label and short(label) != label


def test_the_words_of_two_moments_are_never_the_same():
    assert len(set(map(meaning, LABELS))) == len(set(map(short, LABELS))) == len(LABELS)
