"""A real save, cut short at every byte: what load_checkpoint says of what is left."""
import json
from itertools import groupby

import pytest

from course_lib import storage
from course_lib.scenarios import torn
from course_lib.scenarios.torn import LIED, NEW, OLD, answers, is_safe, kills, left_after_kill, power_cuts, read, two_saves

FILE = "checkpoint.json"
EMPTY, CUT = "CheckpointEmpty", "CheckpointTorn"


def in_order(way):
    return [kind for kind, _ in groupby(answers(way))]


def test_the_two_saves_follow_each_other_in_a_real_run():
    old, new = map(json.loads, two_saves())
    assert (old["turns"], old["pendingToolUse"]) == (2, None)
    assert (new["turns"], new["pendingToolUse"]["name"]) == (3, "write_report")
    assert new["messages"][:len(old["messages"])] == old["messages"] and len(new["messages"]) == len(old["messages"]) + 1


@pytest.mark.parametrize("way", torn.WAYS)
def test_there_is_one_kill_for_each_byte_and_one_before_the_first(way):
    assert sum(kills(way).values()) == len(two_saves()[1]) + 1


def test_a_plain_write_can_be_loaded_only_after_its_last_byte():
    assert kills("plain") == {EMPTY: 1, CUT: len(two_saves()[1]) - 1, NEW: 1}
    assert in_order("plain") == [EMPTY, CUT, NEW]


def test_an_atomic_write_is_the_old_save_until_the_rename_and_then_the_new_one():
    old, new = two_saves()
    assert set(answers("atomic")) == {OLD}
    for count in (0, 1, len(new) // 2, len(new)):
        assert left_after_kill("atomic", count) == {FILE: old, f"{FILE}.tmp": new[:count]}
    assert is_safe("both")


def test_a_write_in_place_lies_from_the_first_byte_that_differs():
    old, new = two_saves()
    first = next(i for i in range(len(old)) if old[i] != new[i])
    kinds = answers("in place")
    assert set(kinds[:first + 1]) == {OLD} and kinds[first + 1] == LIED  # one byte more, and "turns" is another number
    assert kinds[-1] == NEW and CUT in kinds
    assert kills("in place")[LIED] > 1000  # LESSONS: 1518 of 5086 in a trial with other saves


def test_a_lie_has_the_counters_of_the_new_save_and_the_conversation_of_the_old():
    old, new = map(json.loads, two_saves())
    lies = [count for count, kind in enumerate(answers("in place")) if kind == LIED]
    for count in (lies[len(lies) // 2], lies[-1]):
        said = json.loads(left_after_kill("in place", count)[FILE])
        assert (said["turns"], said["messages"], said["pendingToolUse"]) == (new["turns"], old["messages"], None)


@pytest.mark.parametrize("data, kind, word", [
    (None, "CheckpointMissing", "in the folder run"), (b"", EMPTY, "is empty"), (bytes(10), CUT, "zero bytes"), (b'{"version": 1', CUT, "cut off"),
    (b"[]", "NotACheckpoint", "a list"), (b'{"version": 2}', "WrongVersion", "version 2")])
def test_each_way_to_be_unusable_keeps_its_own_name_and_sentence(data, kind, word):
    reading = read({} if data is None else {FILE: data})
    assert reading.kind == kind and word in reading.text


@pytest.mark.parametrize("writer, during, after", [
    ("plain", {OLD, EMPTY, CUT, NEW}, {OLD, EMPTY, CUT, NEW}),
    ("rename", {OLD, EMPTY, CUT, NEW}, {OLD, EMPTY, CUT, NEW}),
    ("file", {OLD, NEW}, {OLD, NEW}),  # never broken, but perhaps forgotten
    ("folder", {OLD, EMPTY, CUT, NEW}, {EMPTY, CUT, NEW}),  # the name for certain, the bytes not
    ("both", {OLD, NEW}, {NEW}),
])
def test_what_a_power_cut_may_leave_by_writer(writer, during, after):
    assert set(power_cuts(writer)) == during and set(power_cuts(writer, returned=True)) == after
    assert is_safe(writer) == (writer == "both")


def test_a_library_that_forgot_a_sync_would_be_found_out(monkeypatch):
    monkeypatch.setattr(storage, "_sync", lambda fd: None)
    assert not is_safe("both")


def test_a_library_that_renamed_before_it_synced_would_be_found_out(monkeypatch):
    rename = storage._rename
    monkeypatch.setattr(storage, "_sync", lambda fd: None)
    monkeypatch.setattr(storage, "_rename", lambda temp, target: (rename(temp, target), storage.os.fsync(storage.os.FIRST)))
    assert EMPTY in power_cuts("both")
