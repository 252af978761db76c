"""One file replaced by another, whole or not at all: temp file, fsync, rename, fsync of the folder.

A kill in the middle leaves the old file and a temp file that nobody loads. A power cut
is harder: without the first fsync the new name may point at bytes that never reached the
disk, without the second the rename itself may be forgotten. (lessons 2 and 6)

Left out: guarding a folder against two writers. guard.py does, and is asked here before each write.
"""
import errno
import os
import re
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path

from .errors import CourseError
from .moments import crash_point, current

_NOT_ORDINARY = "it is no ordinary file"
_AHEAD = 1 << 16  # bytes
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF}  # file systems that have no such thing
_NO_MODES = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS}  # likewise: those of another system, such as FAT


class StorageError(CourseError):
    """The operating system refused; the old file is as it was, or the new one is there whole."""


def write_atomic(path, data, *, moment, **facts):
    """Replace the file at path by data (bytes).

    moment names the instants it announces: ``"save-a"`` gives mid-save-a and after-save-a.
    A link is followed and the file's mode kept. Raises StorageError with the system's reason.
    """
    current().fence()
    path = Path(path)
    target = target_of(path)
    temp = target.with_name(f"{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        check_ordinary(target)
        try:
            _write_new(temp, data, target, moment, facts)
            _rename(temp, target)
        except OSError:  # an error is cleaned up after; a crash, simulated or not, leaves its temp file
            with suppress(OSError):
                temp.unlink()
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise StorageError(f"{path.name} could not be saved: {reason(error)}; put that right and resume.") from error
    crash_point(f"after-{moment}", **facts)


def append(path, data, size, behind=0, *, moment, sync=True, **facts):
    """Add data to the file at path (a Path) after its ``size`` good bytes; gives the file's new length.

    behind: how many zeros there are after those, to be written over. Announces as write_atomic does, with half of the data in the file at mid-…. If it fails,
    what was good is as it was. sync=False leaves it to the next append. Raises StorageError.
    """
    current().fence()
    durable = current().durability == "power-loss"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0), 0o666)
        try:
            state = os.fstat(fd)
            if not stat.S_ISREG(state.st_mode):
                raise OSError(errno.EINVAL, _NOT_ORDINARY)
            if state.st_size != size + behind or behind and _byte_at(fd, size) != b"\0":
                raise OSError(errno.EBUSY, "another program has written to it")
            if durable and behind < len(data):
                behind = _grow(fd, size, len(data))
            _write_at(fd, size, data, moment, facts)
            if sync and durable:
                _sync(fd, data_only=True)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.EINVAL):
                with suppress(OSError):
                    os.ftruncate(fd, size)
            raise
        finally:
            os.close(fd)
        if size == 0:
            sync_folder(path.parent)
    except OSError as error:
        raise StorageError(f"{path.name} could not be written: {reason(error)}; put that right and resume.") from error
    crash_point(f"after-{moment}", **facts)
    return size + max(behind, len(data))


def sync(path):
    """Make durable what was added without it, where the run's level asks for that. Raises StorageError."""
    if current().durability == "kill":
        return
    try:
        fd = os.open(path, os.O_RDWR)
        try:
            _sync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise StorageError(f"{path.name} could not be made durable: {reason(error)}; put that right and try again.") from error


def cut(path, size):
    """Take away what is behind the good bytes of a file. Raises StorageError."""
    current().fence()
    try:
        os.truncate(path, size)
    except OSError as error:
        raise StorageError(f"{path.name} could not be cut to its {size} good bytes: {reason(error)}; put that right and resume.") from error


def target_of(path):
    """The file that is meant by a path: where a link points, or the path itself, as a Path."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def read_file(path):
    """The bytes of an ordinary file. Raises OSError."""
    check_ordinary(path)
    return Path(path).read_bytes()


def check_ordinary(path):
    """Raise OSError for a device, a pipe or a socket: reading one may never end, and replacing one destroys it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, _NOT_ORDINARY)


def sweep(path):
    """Remove the temp files that dead runs left beside path: ours by name, never loaded. Raises StorageError."""
    target = target_of(path)
    ours = re.compile(re.escape(target.name) + r"\.[0-9a-f]{12}\.tmp")
    try:
        for entry in os.scandir(target.parent):
            if ours.fullmatch(entry.name):
                Path(entry.path).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"The temp files beside {target.name} could not be removed: {reason(error)}; remove them by hand.") from error


def sync_folder(folder):
    """Make the folder's names durable, where the system can and the run's level asks for it."""
    if os.name == "nt" or current().durability == "kill":
        return  # Windows gives no handle on a folder
    fd = os.open(folder, os.O_RDONLY)
    try:
        _sync(fd)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(fd)


def reason(error):
    """The operating system's words for an OSError, without path and number."""
    return error.strerror or str(error) or type(error).__name__


def _write_new(temp, data, target, moment, facts):
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        if hasattr(os, "fchmod"):
            with suppress(FileNotFoundError):  # a first save has no mode to keep
                _keep_mode(fd, stat.S_IMODE(os.stat(target).st_mode))
        half = len(data) // 2
        _write_all(fd, data[:half])
        crash_point(f"mid-{moment}", **facts)
        _write_all(fd, data[half:])
        if current().durability == "power-loss":
            _sync(fd)
    finally:
        os.close(fd)


def _keep_mode(fd, mode):
    try:
        os.fchmod(fd, mode)
    except OSError as error:
        if error.errno not in _NO_MODES:
            raise


def _grow(fd, size, needed):
    # Ahead of the data, with zeros: a sync that need not make the file longer costs about half.
    zeros = needed + _AHEAD - (size + needed) % _AHEAD
    os.lseek(fd, size, os.SEEK_SET)
    _write_all(fd, bytes(zeros))
    os.ftruncate(fd, size + zeros)
    return zeros


def _byte_at(fd, place):
    os.lseek(fd, place, os.SEEK_SET)
    return os.read(fd, 1)


def _write_at(fd, start, data, moment, facts):
    os.lseek(fd, start, os.SEEK_SET)
    half = len(data) // 2 if current().is_watched() else 0  # where nobody looks, one write does
    _write_all(fd, data[:half])
    crash_point(f"mid-{moment}", **facts)
    _write_all(fd, data[half:])


def _write_all(fd, data):
    # os.write may take less than it was given (a full disk, a signal) and call that success
    while data:
        data = data[os.write(fd, data):]


def _sync(fd, data_only=False):
    try:
        import fcntl
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # macOS: fsync alone stops at the drive's own cache
    except (ImportError, AttributeError, OSError):
        (os.fdatasync if data_only and hasattr(os, "fdatasync") else os.fsync)(fd)  # the time of the last change may be lost


def _rename(temp, target):
    for wait in (0.01, 0.05, 0.2, None):
        try:
            return os.replace(temp, target)
        except PermissionError:
            if os.name != "nt" or wait is None:  # Windows refuses while a virus scanner or viewer has the file open
                raise
            time.sleep(wait)
