"""storage.py: a file is the old one or the new one, whole, whatever fails and whenever the process dies.

A fault is put into the N-th call of the operating system, for every N, as SQLite's tests do. Killing a
process never shows a missing fsync, so the order of the syncs is checked on the calls themselves.
"""
import errno
import os
import re
import stat
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import pytest

from course_lib import storage
from course_lib.moments import Run, SimulatedCrash
from course_lib.storage import StorageError, sweep, write_atomic

OLD, NEW = b"the scene of turn one\n" * 3, b"the scene of turn two, which is longer\n" * 5
CALLS = ("open", "stat", "fchmod", "write", "fsync", "close", "replace")
TEMP = re.compile(r"checkpoint\.json\.[0-9a-f]{12}\.tmp")
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes, no limit on file sizes and no handle on a folder")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "checkpoint.json"
    path.write_bytes(OLD)
    return path


def save(path, data=NEW):
    write_atomic(path, data, moment="save-a", pending="read_notes")


def die_halfway(path):
    with pytest.raises(SimulatedCrash), Run(crash_after=("mid-save-a", 1)):
        save(path)


def temps(path):
    return [entry for entry in path.parent.iterdir() if entry != path]


@contextmanager
def calls_go_through(hook):
    """Each call of the operating system that a save makes becomes hook(n, name, real, *args), n from 0."""
    numbers = count()

    def through(name, real):
        return lambda *args: hook(next(numbers), name, real, *args)
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            if hasattr(os, name):
                patch.setattr(os, name, through(name, getattr(os, name)))
        yield


def calls_of_a_save(path):
    """In order, a sync as the inode it was for."""
    calls = []

    def hook(n, name, real, *args):
        calls.append(("fsync", os.fstat(args[0]).st_ino) if name == "fsync" else name)
        return real(*args)
    with calls_go_through(hook):
        save(path)
    return calls


# Dying

def test_halfway_the_old_file_is_in_place_and_half_of_the_new_one_beside_it(path):
    die_halfway(path)
    [temp] = temps(path)
    assert path.read_bytes() == OLD
    assert TEMP.fullmatch(temp.name), temp.name
    assert temp.read_bytes() == NEW[:len(NEW) // 2]


def test_afterwards_the_new_file_is_in_place_alone(path):
    with pytest.raises(SimulatedCrash), Run(crash_after=("after-save-a", 1)):
        save(path)
    assert path.read_bytes() == NEW
    assert temps(path) == []


@pytest.mark.parametrize("when", ["before", "halfway", "after"])
@pytest.mark.parametrize("level", ["kill", "power-loss"])
def test_a_crash_around_any_call_leaves_the_old_file_or_the_new_one(path, level, when):
    total = len(calls_of_a_save(path))
    for at in range(total):
        def hook(n, name, real, *args):
            if n == at and when == "halfway" and name == "write":
                real(args[0], args[1][:len(args[1]) // 2])
            if name == "close" or n == at and when == "after":  # a dead process keeps no file open
                real(*args)
            if n == at:
                raise SimulatedCrash
            return None if name == "close" else real(*args)
        path.write_bytes(OLD)
        with Run(durability=level), suppress(SimulatedCrash), calls_go_through(hook):
            save(path)
        assert path.read_bytes() in (OLD, NEW), f"call {at} of {total}"
        assert all(TEMP.fullmatch(temp.name) for temp in temps(path)), temps(path)
        sweep(path)
        assert temps(path) == []


# Faults

@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS], ids=errno.errorcode.get)
def test_a_fault_in_any_call_is_told_and_leaves_no_half_file(path, number):
    names = calls_of_a_save(path)
    for at, failing in enumerate(names):
        def hook(n, name, real, *args):
            if n == at and name == "close":
                real(*args)  # even a failing close gives the descriptor back
            if n == at:
                raise OSError(number, os.strerror(number), str(path))
            return real(*args)
        path.write_bytes(OLD)
        with pytest.raises(StorageError) as error, calls_go_through(hook):
            save(path)
        assert path.read_bytes() == (NEW if at > names.index("replace") else OLD), f"{failing}, call {at}"
        assert temps(path) == [], f"{failing}, call {at}"
        assert str(error.value) == f"checkpoint.json could not be saved: {os.strerror(number)}; put that right and resume."
        save(path)
        assert path.read_bytes() == NEW


def test_a_disk_that_fills_up_after_any_number_of_bytes_leaves_the_old_file(path):  # C36
    for room in range(len(NEW)):
        left = [room]

        def hook(n, name, real, *args):
            if name != "write":
                return real(*args)
            if not left[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written = real(args[0], args[1][:left[0]])
            left[0] -= written
            return written
        with pytest.raises(StorageError, match="No space left"), calls_go_through(hook):
            save(path)
        assert path.read_bytes() == OLD, f"{room} bytes of room"
        assert temps(path) == []


@pytest.mark.parametrize("most", [1, 7, 100])
def test_a_write_that_takes_less_than_it_was_given_goes_on(path, most):
    with calls_go_through(lambda n, name, real, *args: real(args[0], args[1][:most]) if name == "write" else real(*args)):
        save(path)
    assert path.read_bytes() == NEW


@posix
def test_a_real_limit_on_the_size_of_files_leaves_the_old_file(path):
    import resource
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(OLD), hard))  # the system takes a part first, then refuses
    try:
        with pytest.raises(StorageError, match="File too large"):
            save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == OLD
    assert temps(path) == []


@pytest.mark.parametrize("where", ["no-such-folder/checkpoint.json", "file/checkpoint.json", "folder"])
def test_a_place_that_holds_no_file_is_told_in_one_sentence(tmp_path, where):
    (tmp_path / "file").write_bytes(b"mine")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=r"^[\w.]+ could not be saved: [\w ]+; put that right and resume\.$"):
        save(tmp_path / where)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


# Syncs

@posix
@pytest.mark.parametrize("options, synced", [({}, True), ({"durability": "power-loss"}, True), ({"durability": "kill"}, False)])
def test_the_file_is_synced_then_renamed_then_its_folder_synced_unless_only_a_kill_counts(path, monkeypatch, options, synced):
    monkeypatch.delattr("fcntl.F_FULLFSYNC", raising=False)  # macOS has a stronger call, in the same place
    with Run(**options):
        calls = [call for call in calls_of_a_save(path) if call in ("write", "replace") or call[0] == "fsync"]
    file, folder = [("fsync", path.stat().st_ino)], [("fsync", path.parent.stat().st_ino)]
    assert calls == (["write", "write", *file, "replace", *folder] if synced else ["write", "write", "replace"])


@posix
@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP], ids=errno.errorcode.get)
def test_a_file_system_that_cant_sync_a_folder_is_no_error(path, number):
    def hook(n, name, real, *args):
        if name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode):
            raise OSError(number, os.strerror(number))
        return real(*args)
    with calls_go_through(hook):
        save(path)
    assert path.read_bytes() == NEW


# Temp files, modes, links

def test_every_save_has_a_temp_name_of_its_own_and_the_sweep_takes_what_dead_runs_left(path):  # C37, C39
    for _ in range(10):
        die_halfway(path)
    assert len(temps(path)) == 10
    sweep(path)
    assert temps(path) == []
    assert path.read_bytes() == OLD


def test_the_sweep_takes_our_own_names_only(path):
    strangers = ["checkpoint.json.tmp", "checkpoint.json.0123456789ab.tmp.txt", "checkpoint.json.0123456789a.tmp", "checkpoint.json.0123456789ag.tmp",
                 "my-checkpoint.json.0123456789ab.tmp", "checkpoint-json.0123456789ab.tmp", "effects.json.0123456789ab.tmp", "notes.txt"]
    for name in [*strangers, "checkpoint.json.0123456789ab.tmp"]:
        (path.parent / name).write_bytes(b"mine")
    sweep(path)
    assert sorted(temp.name for temp in temps(path)) == sorted(strangers)


def test_a_temp_file_that_cant_be_removed_is_told_in_one_sentence(path):
    (path.parent / "checkpoint.json.0123456789ab.tmp").mkdir()
    with pytest.raises(StorageError, match=r"^The temp files beside checkpoint\.json could not be removed: [\w ]+; remove them by hand\.$"):
        sweep(path)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_the_mode_of_the_file_is_kept(path, mode):
    path.chmod(mode)
    save(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@posix
def test_a_new_file_has_the_mode_that_new_files_have_here(tmp_path):
    save(tmp_path / "ours")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix
@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_is_followed_and_stays_a_link(tmp_path, dangling):
    target, link = tmp_path / "disk" / "real.json", tmp_path / "checkpoint.json"
    target.parent.mkdir()
    link.symlink_to(Path("disk", "real.json"))
    if not dangling:
        target.write_bytes(OLD)
    die_halfway(link)
    assert [temp.parent for temp in tmp_path.rglob("*.tmp")] == [target.parent], "elsewhere it may lie on another disk"
    sweep(link)
    save(link)
    assert link.is_symlink() and target.read_bytes() == NEW
    assert os.listdir(target.parent) == ["real.json"]


# Windows, where a scanner or a viewer may hold the file for an instant

class Windows:
    """The os module under Windows' name, with a rename that is refused a number of times."""

    name = "nt"

    def __init__(self, refusals):
        self.refusals = refusals

    def __getattr__(self, name):
        return getattr(os, name)

    def replace(self, temp, target):
        self.refusals -= 1
        if self.refusals >= 0:
            raise PermissionError(errno.EACCES, "Permission denied")
        os.replace(temp, target)


@pytest.mark.parametrize("refusals, data", [(0, NEW), (3, NEW), (4, OLD)])
def test_on_windows_a_refused_rename_is_tried_again_for_a_moment(path, monkeypatch, refusals, data):
    waits = []
    monkeypatch.setattr(storage, "os", Windows(refusals))
    monkeypatch.setattr(storage.time, "sleep", waits.append)
    with suppress(StorageError):
        save(path)
    assert path.read_bytes() == data
    assert temps(path) == []
    assert sum(waits) < 1, waits
