"""What guards a run from outside: a folder that can be written, a clean start (DESIGN section 3, rules 1 and 12)."""
import io
import os

import pytest

from course_lib.guard import fresh_start, preflight, sweep_all
from course_lib.storage import StorageError
from helpers import Model, World, on_disk, run, said, scene, text, told, answer, use, write

DONE = [text("All done.")]
TEMP = "checkpoint.json.0123456789ab.tmp"


def refusing(monkeypatch, number, words, writes_first=b""):
    """Let each new file be refused as the system refuses it, at opening or, where writes_first is given, at the write."""
    def opening(path, mode="r", *more, **options):
        if "w" in mode:
            if writes_first:
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            raise OSError(number, words, str(path))
        return real(path, mode, *more, **options)

    real = io.open
    monkeypatch.setattr(io, "open", opening)


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path):
    (tmp_path / "checkpoint.json").write_text("mine")
    preflight(tmp_path)
    assert on_disk(tmp_path) == {"checkpoint.json": b"mine"}


@pytest.mark.parametrize(("number", "words"), [(13, "Permission denied"), (30, "Read-only file system"), (28, "No space left on device")])
@pytest.mark.parametrize("started", [b"", b"x"], ids=["at opening", "at the write"])
@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_that_can_not_be_written_is_found_before_the_first_request_and_left_as_it_was(tmp_path, monkeypatch, number, words, started, resume):
    write(tmp_path / "checkpoint.json", scene([said(use("t1", "look"))], pending=use("t1", "look"), turns=1))
    (tmp_path / TEMP).write_text("{")
    before = on_disk(tmp_path)
    refusing(monkeypatch, number, words, started)
    model, world = Model([use("t1", "look")], DONE), World()
    end = run(model, world, tmp_path, resume=resume)
    assert end.how == "StorageError"
    assert end.words == f"The folder {tmp_path.name} can't be written: {words}; make it writable or choose another one."
    monkeypatch.undo()
    assert (model.sent, world.done, on_disk(tmp_path)) == ([], [], before)


@pytest.mark.parametrize("name", ["nowhere", "a-file"])
def test_a_folder_that_is_missing_or_a_file_is_named(tmp_path, name):
    (tmp_path / "a-file").write_text("")
    with pytest.raises(StorageError, match=f"The folder {name} can't be written: (No such file|Not a directory)"):
        preflight(tmp_path / name)


def test_a_finished_run_is_repeated_even_where_nothing_can_be_written(tmp_path, monkeypatch):
    model = Model(DONE)
    run(model, World(), tmp_path)
    refusing(monkeypatch, 30, "Read-only file system")
    assert run(model, World(), tmp_path, resume=True).words == "All done."


def test_a_fresh_start_clears_what_is_ours_by_name_and_nothing_else(tmp_path):
    ours = ["checkpoint.json", "effects.json", "effects.json.broken.1", "effects.json.broken.12", TEMP, "effects.json.0123456789ab.tmp"]
    others = ["report.txt", "checkpoint.json.bak", "checkpoint.json.tmp", "my-checkpoint.json", "effects.json.old", "effects.json.broken.notes",
              "checkpoint.json.broken.1", "checkpoint.json.0123456789AB.tmp", "checkpoint.json.0123456789abc.tmp", "checkpointXjson.0123456789ab.tmp"]
    (tmp_path / "sub").mkdir()
    for name in [*ours, *others, "sub/checkpoint.json", f"sub/{TEMP}"]:
        (tmp_path / name).write_text(name)
    fresh_start(tmp_path)
    assert sorted(on_disk(tmp_path)) == sorted([*others, "sub/checkpoint.json", f"sub/{TEMP}"])


def test_a_fresh_start_in_an_empty_folder_says_nothing(tmp_path, capsys):
    fresh_start(tmp_path)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("state", "words"), [
    (scene([said(use("t1", "pay"))], pending=use("t1", "pay"), turns=1), "turn=1 pending=pay"),
    (scene([said(use("t1", "pay")), told(answer("t1", "x"))], turns=1), "turn=1 pending=null"),
])
def test_a_fresh_start_says_which_unfinished_run_it_throws_away(tmp_path, capsys, state, words):
    write(tmp_path / "checkpoint.json", state)
    fresh_start(tmp_path)
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and words in err and "--resume" in err
    assert on_disk(tmp_path) == {}


def test_a_fresh_start_says_nothing_of_a_finished_run(tmp_path, capsys):
    run(Model(DONE), World(), tmp_path)
    fresh_start(tmp_path)
    assert capsys.readouterr().err == "" and on_disk(tmp_path) == {}


@pytest.mark.parametrize("damage", [b"", b'{"version": 1, "ta', b"[]", b'{"version": 2}'])
def test_a_fresh_start_also_says_so_when_what_it_throws_away_can_not_be_read(tmp_path, capsys, damage):
    (tmp_path / "checkpoint.json").write_bytes(damage)
    fresh_start(tmp_path)
    err = capsys.readouterr().err
    assert "thrown away" in err and "checkpoint.json" in err and err.count("\n") == 1
    assert on_disk(tmp_path) == {}


def test_the_ids_of_an_old_ledger_do_not_reach_a_new_run(tmp_path):
    model, world = Model([use("t1", "note")], DONE), World()
    run(model, world, tmp_path)
    (tmp_path / "checkpoint.json").unlink()  # C31
    assert run(Model([use("t1", "note")], DONE), world, tmp_path).how == "done"
    assert len(world.done) == 2


def test_what_can_not_be_cleared_is_an_error_with_the_systems_reason(tmp_path):
    (tmp_path / "effects.json").mkdir()
    with pytest.raises(StorageError, match="could not be cleared: .+; remove them by hand"):
        fresh_start(tmp_path)


def test_the_checkpoint_is_cleared_before_its_ledger(tmp_path, monkeypatch):
    write(tmp_path / "checkpoint.json", scene([said(use("t1", "pay"))], pending=use("t1", "pay"), turns=1))
    write(tmp_path / "effects.json", {"t1": {"name": "pay", "result": "paid"}})
    monkeypatch.setattr(os, "unlink", lambda path, *more, real=os.unlink, **options: real(path, *more, **options) if "effects.json" not in str(path) else 1 / 0)
    with pytest.raises(ZeroDivisionError):  # the process ends between the two
        fresh_start(tmp_path)
    assert sorted(on_disk(tmp_path)) == ["effects.json"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_is_followed_to_the_files_it_stands_for(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    for name in ("checkpoint.json", "effects.json"):
        (here / name).symlink_to(there / name)
    for name in ("checkpoint.json", "effects.json", "effects.json.broken.1", TEMP):
        (there / name).write_text("{")
    fresh_start(here)
    assert on_disk(there) == {}
    assert run(Model([use("t1", "note")], DONE), World(), here).how == "done"
    assert sorted(on_disk(there)) == ["checkpoint.json", "effects.json"] and (here / "checkpoint.json").is_symlink()


def test_temp_files_do_not_pile_up_over_ten_killed_starts(tmp_path):
    for _ in range(10):
        assert run(Model([use("t1", "note")], DONE), World(), tmp_path, crash_after=("mid-save-a", 1)).how == "killed"
        assert len(on_disk(tmp_path)) == 1
    sweep_all(tmp_path)
    assert on_disk(tmp_path) == {}
