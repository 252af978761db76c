"""ledger.py: what has happened is written down at once, kept until it is on disk, and never taken for another call."""
import errno
import json
import os
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import CourseError
from course_lib.ledger import (IdClash, LedgerError, LedgerUnreadable, find, known_effects, load_effects, save_effect, save_effects, set_aside,
                               was_set_aside)
from course_lib.moments import Run, SimulatedCrash
from course_lib.storage import StorageError
from course_lib.values import UnsavableValue

MAIL = {"name": "send_email", "result": {"id": "m-1"}, "at": "2026-01-05T09:00:00.000Z", "input": {"to": "ana@example.com", "copies": 1}, "lineage": "main"}
NOTE = {"name": "read_notes", "result": "Vendas em março 😀\u2028", "at": "2026-01-05T09:00:01.000Z", "input": {}}
CALL = {"id": "toolu_01", "name": "send_email", "input": {"to": "ana@example.com", "copies": 1}}

# As lesson 6's program writes it, by JSON.stringify(effects, null, 2) with at: Date.now(); a tool that
# returned undefined leaves no result. Lesson 4 has the time as text. Neither has an input.
LESSON_6 = """{
  "toolu_01": {
    "name": "read_notes",
    "result": "Notes é\u2028",
    "at": 1796069734069
  },
  "toolu_02": {
    "name": "write_report",
    "at": 1796069734101
  },
  "toolu_01abc": {
    "name": "create_ticket",
    "result": {
      "id": "T-1"
    },
    "at": "2026-08-26T09:12:03.000Z"
  }
}"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "effects.json"


@pytest.fixture(scope="module")
def one_path(tmp_path_factory):
    return tmp_path_factory.mktemp("ledger") / "effects.json"


@contextmanager
def folder_gone(path):
    """Writing fails for real in here: the folder has another name."""
    away = path.parent.with_name("away")
    path.parent.rename(away)
    try:
        yield
    finally:
        away.rename(path.parent)


def on_disk(path):
    return json.loads(path.read_bytes())


# Writing down

def test_no_file_is_an_empty_ledger_and_stays_no_file(path):
    assert load_effects(path) == {}
    assert os.listdir(path.parent) == []


def test_an_entry_is_added_and_the_others_are_kept_whole(path):
    save_effects(path, {"toolu_01": MAIL})
    with Run():
        save_effect(path, "toolu_02", NOTE)
    assert list(on_disk(path).items()) == [("toolu_01", MAIL), ("toolu_02", NOTE)]
    assert load_effects(path) == known_effects(path) == on_disk(path)


def test_outside_a_run_an_entry_is_written_all_the_same(path):
    save_effect(path, "toolu_01", MAIL)
    save_effect(path, "toolu_02", NOTE)
    assert on_disk(path) == {"toolu_01": MAIL, "toolu_02": NOTE}


@given(st.dictionaries(st.text(), st.fixed_dictionaries(
    {"name": st.text(), "result": st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                                               lambda items: st.lists(items) | st.dictionaries(st.text(), items), max_leaves=10)},
    optional={"at": st.integers(), "by": st.text()})))
def test_any_ledger_comes_back_equal_and_typed(one_path, effects):
    with Run(durability="kill"):
        save_effects(one_path, effects)
    assert repr(load_effects(one_path)) == repr(effects)


def test_a_value_that_would_be_lost_is_refused_and_the_old_ledger_stays(path):
    save_effects(path, {"toolu_01": MAIL})
    with pytest.raises(UnsavableValue, match=r"^toolu_02\.result can't be saved: tuple"):
        save_effects(path, {"toolu_02": {"name": "read_notes", "result": (1, 2)}})
    assert on_disk(path) == {"toolu_01": MAIL}


@pytest.mark.parametrize("label, there", [("mid-effect-write", {"toolu_01": MAIL}), ("after-effect-write", {"toolu_01": MAIL, "toolu_02": NOTE})])
def test_dying_around_the_write_leaves_the_ledger_without_or_with_the_entry(path, label, there):
    save_effects(path, {"toolu_01": MAIL})
    with pytest.raises(SimulatedCrash), Run(crash_after=(label, 1)):
        save_effect(path, "toolu_02", NOTE)
    assert load_effects(path) == there


# A write that fails

def test_an_entry_that_could_not_be_written_is_known_and_goes_out_with_the_next_one(path):
    save_effects(path, {"toolu_00": NOTE})
    with Run():
        with folder_gone(path):
            for id in ("toolu_01", "toolu_02"):
                with pytest.raises(StorageError, match=r"^effects\.json could not be saved: "):
                    save_effect(path, id, MAIL)
            assert known_effects(path) == {"toolu_01": MAIL, "toolu_02": MAIL}
        assert on_disk(path) == {"toolu_00": NOTE}
        assert known_effects(path) == {"toolu_00": NOTE, "toolu_01": MAIL, "toolu_02": MAIL}
        save_effect(path, "toolu_03", NOTE)
    assert on_disk(path) == {"toolu_00": NOTE, "toolu_01": MAIL, "toolu_02": MAIL, "toolu_03": NOTE}


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
def test_no_fault_loses_an_entry(path, monkeypatch, call):
    with Run():
        save_effect(path, "toolu_01", MAIL)
        with monkeypatch.context() as patch:
            patch.setattr(os, call, lambda *args: (_ for _ in ()).throw(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
            with suppress(StorageError):
                save_effect(path, "toolu_02", NOTE)
        assert on_disk(path) == {"toolu_01": MAIL}
        assert known_effects(path) == {"toolu_01": MAIL, "toolu_02": NOTE}
        save_effect(path, "toolu_03", MAIL)
        assert on_disk(path) == {"toolu_01": MAIL, "toolu_02": NOTE, "toolu_03": MAIL}


def test_an_entry_is_written_once_and_does_not_come_back_after_that(path):
    with Run():
        save_effect(path, "toolu_01", MAIL)
        path.unlink()
        save_effect(path, "toolu_02", NOTE)
    assert on_disk(path) == {"toolu_02": NOTE}


def test_runs_never_share_entries_that_are_still_to_be_written(path):
    with Run() as one:
        with folder_gone(path), suppress(StorageError):
            save_effect(path, "toolu_01", MAIL)
        with Run():
            assert known_effects(path) == {}
            save_effect(path, "toolu_02", NOTE)
    assert on_disk(path) == {"toolu_02": NOTE}
    with Run():
        assert known_effects(path) == {"toolu_02": NOTE}
    with one:
        assert known_effects(path) == {"toolu_02": NOTE, "toolu_01": MAIL}


def test_a_students_own_functions_are_used_for_reading_and_writing(path):
    path.write_bytes(b'{"torn')
    written = []
    with Run(functions={"load_effects": lambda path: {}, "save_effects": lambda path, effects: written.append(effects)}):
        save_effect(path, "toolu_01", MAIL)
    assert written == [{"toolu_01": MAIL}]
    assert path.read_bytes() == b'{"torn'


# Finding a call

@pytest.mark.parametrize("entry", [
    MAIL, {**MAIL, "input": {"copies": 1.0, "to": "ana@example.com"}}, {"name": "send_email", "result": "sent", "at": 1796069734069},
    {**MAIL, "result": None}, {"name": "send_email"},
], ids=["same", "1.0 and another order", "lesson 6", "null", "no result"])
def test_the_same_call_is_a_hit_whatever_its_result(entry):
    assert find({"toolu_00": NOTE, "toolu_01": entry}, CALL) is entry


def test_another_id_is_a_miss_even_with_the_same_input():
    assert find({"toolu_01": MAIL}, {**CALL, "id": "toolu_02"}) is None
    assert find({}, CALL) is None


@pytest.mark.parametrize("change, words", [
    ({"name": "transfer"}, r"another call \(send_email\), so transfer"),
    ({"input": {"to": "bob@example.com", "copies": 1}}, "with another input"),
    ({"input": {"to": "ana@example.com", "copies": True}}, "with another input"),
    ({"input": {}}, "with another input"),
])
def test_the_same_id_for_another_call_is_an_error_with_the_way_out(change, words):  # C28, C31
    with pytest.raises(IdClash, match=f"^toolu_01 is in the ledger as .*{words}.*nothing was run: start over without --resume.*$"):
        find({"toolu_01": MAIL}, {**CALL, **change})


# Files that others wrote, or broke

def test_the_ledger_of_a_lessons_own_program_loads_and_is_kept_as_it_is(path):
    path.write_text(LESSON_6, encoding="utf-8", newline="\n")
    effects = load_effects(path)
    assert effects == json.loads(LESSON_6)
    assert find(effects, {"id": "toolu_02", "name": "write_report", "input": {"path": "report.txt"}}) == {"name": "write_report", "at": 1796069734101}
    save_effects(path, effects)
    assert path.read_bytes() == LESSON_6.encode()


def test_a_ledger_cut_at_any_byte_is_an_error_that_leaves_it_as_it_is(path):
    save_effects(path, {"toolu_01": MAIL, "toolu_02": NOTE})
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.unlink()
        path.write_bytes(whole[:cut])
        with pytest.raises(LedgerError, match=r"^effects\.json .*; resume sets it aside, a fresh start clears it\.$"):
            load_effects(path)
        assert path.read_bytes() == whole[:cut], f"cut at {cut}"


@pytest.mark.parametrize("data", [
    b"", bytes(64), b"\xff", b"[]", b"null", b'"toolu_01"', b'{"toolu_01": null}', b'{"toolu_01": "done"}', b'{"toolu_01": {}}', b'{"toolu_01": {"result": 1}}',
    b'{"toolu_01": {"name": 1}}', b'{"toolu_01": {"name": "pay", "result": NaN}}', b'{"a": {"name": "pay"}, "b": []}', b"[" * 100_000,
], ids=range(14))
def test_what_is_no_ledger_is_never_taken_for_an_empty_one(path, data):
    path.write_bytes(data)
    with pytest.raises(LedgerError, match=r"^effects\.json [^\n]*\.$"):
        load_effects(path)
    with Run(), pytest.raises(LedgerError):
        save_effect(path, "toolu_01", MAIL)
    assert path.read_bytes() == data


def test_a_ledger_that_the_system_wont_read_is_unreadable_and_not_broken(path):
    path.mkdir()
    with pytest.raises(LedgerUnreadable, match=r"^effects\.json could not be read: [\w ]+; make it readable and resume again\.$"):
        load_effects(path)
    assert not issubclass(LedgerUnreadable, LedgerError) and issubclass(LedgerUnreadable, CourseError)


# Setting a broken one aside

def test_each_broken_ledger_is_kept_under_a_name_of_its_own(path):
    assert not was_set_aside(path)
    for n, data in enumerate([b"first", b"second", b"third"], start=1):
        path.write_bytes(data)
        assert set_aside(path).name == f"effects.json.broken.{n}"
        assert was_set_aside(path) and not path.exists()
    (path.parent / "effects.json.broken.1").unlink()
    path.write_bytes(b"fourth")
    set_aside(path)
    assert {name: (path.parent / name).read_bytes() for name in os.listdir(path.parent)} == {
        "effects.json.broken.2": b"second", "effects.json.broken.3": b"third", "effects.json.broken.4": b"fourth"}


@pytest.mark.parametrize("name", ["effects.json.broken", "effects.json.broken.txt", "effects.json.1", "my-effects.json.broken.1", "checkpoint.json.broken.1"])
def test_other_files_are_not_taken_for_a_ledger_set_aside(path, name):
    (path.parent / name).write_bytes(b"mine")
    assert not was_set_aside(path)


def test_a_broken_ledger_that_cant_be_moved_is_told_in_one_sentence_and_stays(path, monkeypatch):
    path.write_bytes(b'{"torn')
    monkeypatch.setattr(os, "rename", lambda *args: (_ for _ in ()).throw(OSError(errno.EROFS, os.strerror(errno.EROFS))))
    with pytest.raises(StorageError, match=r"^The broken effects\.json could not be set aside: Read-only file system; put that right and resume\.$"):
        set_aside(path)
    assert path.read_bytes() == b'{"torn'
