"""What protects a run from outside: who owns the folder, whether it can be written, a clean start, the same tools as before.

    run.lock       {"pid", "generation"}: whose the folder is; the operating system lets go of it when that process dies
    attempts.json  {"at": [turn, point], "attempts"}: how often an automatic restart has got no further than there

Left out: owners on other machines. A file system that is shared and has no locks protects nobody.
"""
import errno
import hashlib
import json
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path

from . import checkpoint, history, ledger, turns
from .checkpoint import CheckpointMissing, is_finished, load_checkpoint
from .errors import CourseError
from .keeping import keeping, way_of
from .ledger import broken_ledgers
from .moments import SimulatedCrash, alert, current, part
from .places import place
from .storage import StorageError, read_file, reason, sweep, sync_folder, target_of, write_atomic
from .values import decode, encode

LOCK, ATTEMPTS = "run.lock", "attempts.json"
OURS = (checkpoint.FILE, history.FILE, ledger.FILE, ATTEMPTS)  # a fresh start clears these names and no others


class InUse(CourseError):
    """Another process owns the folder, or has taken it over."""


class OtherTools(CourseError):
    """The run was begun with another model, or with tools that were not what they are now."""


class NoProgress(CourseError):
    """An automatic restart has tried often enough."""


@contextmanager
def owning(folder):
    """Within it the folder is this run's alone. Raises InUse, which names the owner's process id.

    A dead owner's lock is taken over, with the next generation. From here on each save makes sure
    that nobody has done that to us meanwhile.
    """
    run, path = current(), Path(folder).absolute() / LOCK
    if path in run.owned:
        yield
        return
    before, process = (run.fence, run.unlocked), os.getpid()
    fd, run.unlocked = None, None
    try:
        fd = _lock(path)
        _held.add(fd)
        run.fence = lambda: _check_mine(path, fd, process)
        run.owned.add(path)
    except OSError as error:  # said by preflight, once it is known that the run is to start
        run.unlocked = reason(error)
    try:
        yield
    except SimulatedCrash:  # a killed process removes nothing
        raise
    except BaseException:
        _unlock(path, fd)
        raise
    else:
        _unlock(path, fd)
    finally:
        run.fence, run.unlocked = before
        run.owned.discard(path)
        if fd in _held:
            _held.discard(fd)
            with suppress(OSError):
                os.close(fd)


def is_taken(folder):
    """Whether a run owns the folder now."""
    with suppress(OSError):
        fd = os.open(Path(folder) / LOCK, os.O_RDWR)
        try:
            _lock_for_us(fd, Path(folder) / LOCK)
        except InUse:
            return True
        finally:
            os.close(fd)
    return False


def preflight(folder):
    """Find out now, before the first request, whether folder can be written. Raises StorageError."""
    probe = Path(folder) / f"{checkpoint.FILE}.{secrets.token_hex(6)}.tmp"  # a temp file's name, so that a sweep takes it too
    try:
        try:
            probe.write_bytes(b"can this folder hold a checkpoint?")
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        advice = "make the folder first" if isinstance(error, FileNotFoundError) else "make it writable or choose another one"
        raise StorageError(f"The folder {probe.parent.name or probe.parent} can't be written: {reason(error)}; {advice}.") from error
    if current().unlocked:
        raise StorageError(f"{LOCK} could not be made: {current().unlocked}; put that right and start again.")


def fresh_start(folder):
    """Clear what an earlier run left: saves of every kind, ledger (broken ones too) and temp files, by our names only.

    Says so on stderr where that throws away an unfinished run. Raises StorageError, or CourseError
    where branches begin in what would be cleared.
    """
    folder = Path(folder)
    preflight(folder)
    refuse_orphans(folder)
    _say_what_is_lost(folder)
    try:
        # Killed on the way, the run before is there as it was, or gone. So what only repeats another file goes first, then what decides, the newest
        # save last, and the ledgers after it: without a checkpoint one is harmless, a checkpoint without its ledger would forget what has happened.
        for path in (folder / OURS[0], *turns.our_files(folder), *(folder / name for name in OURS[1:]),
                     *broken_ledgers(folder / ledger.FILE), *broken_ledgers(folder / history.FILE)):
            _remove(path)
        current().books.clear()  # what was read of them is no more
        sweep_all(folder)
        sync_folder(folder)
    except OSError as error:
        raise StorageError(f"The files of the run before could not be cleared: {reason(error)}; remove them by hand.") from error


def fingerprint(model, tools):
    """What a run must find again when it is resumed, in one line: the model, and each tool with the hash of all it says of itself."""
    return " ".join([model, *(f"{name}:{_hash(tool)}" for name, tool in tools.items())])


def check_fingerprint(scene, task, model, tools):
    """Raise OtherTools, with the difference, where the checkpoint was begun with another task, model or other tools.

    One without a fingerprint, as the lessons' own programs write it, passes; so does task None.
    """
    was, now = str(scene.get("fingerprint") or ""), fingerprint(model, tools)
    if not was or sorted(was.split()) == sorted(now.split()) and task in (None, scene["task"]):
        return
    (old_model, *old), (_, *new) = was.split(), now.split()
    old, new = (dict(each.rpartition(":")[::2] for each in tools) for tools in (old, new))
    changes = [*([f"its task was {scene['task'][:60]!r} and is {task[:60]!r}"] if task not in (None, scene["task"]) else []),
               *([f"the model was {old_model} and is {model}"] if old_model != model else []),
               *(f"the tool {name} is gone" for name in old if name not in new),
               *(f"the tool {name} is new" for name in new if name not in old),
               *(f"the tool {name} says something else of itself" for name in new if name in old and old[name] != new[name])]
    raise OtherTools(f"This run was begun under other conditions: {', '.join(changes)}; resume it with what it was begun with, or start over without --resume.")


def count_attempt(folder, scene, limit):
    """Note one more attempt to get further than this scene; the note comes first, whatever the attempt comes to.

    limit: how many in a row may fail, for a restart that nobody watches; None for a person, who is
    not counted and sets the count back. Raises NoProgress.
    """
    path, here = Path(folder) / ATTEMPTS, list(place(scene))
    if limit is None:
        with suppress(OSError):
            path.unlink()
        return
    try:
        noted = decode(read_file(path))
        made = int(noted["attempts"]) if noted["at"] == here else 0
    except (OSError, ValueError, KeyError, TypeError):  # none yet, or nothing that could be trusted: the count begins anew
        made = 0
    if made >= limit:
        raise NoProgress(f"{made} resumes in a row got no further than turn {here[0]}, Point {here[1]}, so this restart stops: "
                         "find out what fails there, then resume by hand, without a limit of attempts.")
    write_atomic(path, encode({"at": here, "attempts": made + 1}), moment="attempt")


def sweep_all(folder):
    """Remove the temp files of dead runs."""
    for name in (*OURS, *turns.names_of_temp_files(folder)):
        sweep(Path(folder) / name)


def _remove(path):
    if turns.is_aside(path) and path.is_dir() and not path.is_symlink():
        with suppress(OSError):  # somebody keeps files of their own in it
            path.rmdir()
    else:
        target = target_of(path)
        (target if target.name == path.name else path).unlink(missing_ok=True)  # a link to a file of another name is ours, that file is not


def refuse_orphans(folder):
    """Raise CourseError where a fresh start would take the ground from under branches."""
    folder = Path(folder)
    try:
        orphans = [branch.name for branch in history.forks_of(folder)]
    except OSError as error:
        raise StorageError(f"What lies beside {folder.absolute().name} could not be looked at: {reason(error)}; put that right and start again.") from error
    if orphans:
        raise CourseError(f"The history in {folder.absolute().name} is where {', '.join(orphans)} begins, which could not be read without it: "
                          "remove that branch first, or start in another folder.")


def _say_what_is_lost(folder):
    try:
        with keeping(way_of(folder)):
            scene = part(load_checkpoint)(folder / checkpoint.FILE)
    except CheckpointMissing:
        return
    except CourseError as error:
        alert(f"[fresh start] a checkpoint that can't be trusted is thrown away: {str(error).split('; ')[0]}")
        return
    if not is_finished(scene):
        pending = scene["pendingToolUse"]
        alert(f"[fresh start] an unfinished run is thrown away: turn={scene['turns']} "
              f"pending={pending['name'] if pending else 'null'}; --resume would have gone on with it")


def _lock(path):
    """An open, locked run.lock with our name in it. Raises InUse or OSError."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _check_ours(fd)
            _lock_for_us(fd, path)
            if not _is_at(path, fd):  # its owner removed it while we waited at the door
                os.close(fd)
                continue
            generation = _said(path).get("generation", 0) + 1
            os.ftruncate(fd, 0)
            os.write(fd, json.dumps({"pid": os.getpid(), "generation": generation}).encode())
            return fd
        except BaseException:
            with suppress(OSError):
                os.close(fd)
            raise


def _lock_for_us(fd, path):
    try:
        if os.name == "nt":
            import msvcrt
            os.lseek(fd, 1 << 30, os.SEEK_SET)  # far behind the text, so that others can read it
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            import fcntl
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise
        owner = _said(path).get("pid", "that has not said its number yet")
        raise InUse(f"{path.absolute().parent.name} is in use by process {owner}; nothing was changed: let it finish, or stop it, and start again.") from None


def _check_ours(fd):
    # What it says is written over, so it must not be somebody's file under a second name.
    state = os.fstat(fd)
    if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
        raise OSError(errno.EINVAL, "it is a link, or no ordinary file")


def _unlock(path, fd):
    with suppress(OSError):
        if fd in _held and _is_at(path, fd):
            path.unlink()


def _let_go():
    """In a copy of this process that somebody makes with fork: the locks are the first one's alone."""
    for fd in _held:
        with suppress(OSError):
            os.close(fd)
    _held.clear()


_held = set()  # the descriptors of the locks that this process holds
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


def _check_mine(path, fd, process):
    if os.getpid() != process:
        raise InUse(f"This process is a copy of the one that runs {path.parent.name}, which alone goes on with it; nothing was saved.")
    try:
        mine = _is_at(path, fd)
    except OSError as error:
        raise StorageError(f"{LOCK} could not be looked at, so nothing was saved: {reason(error)}; put that right and resume.") from error
    if not mine:
        said = _said(path)
        raise InUse(f"This run no longer owns {path.absolute().parent.name}: its {LOCK} was removed"
                    f"{', and process {} has taken over (generation {})'.format(said['pid'], said['generation']) if said else ''}; nothing was saved.")


def _is_at(path, fd):
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def _said(path):
    with suppress(OSError, ValueError):
        said = decode(read_file(path))
        if type(said) is dict and type(said.get("pid")) is int and type(said.get("generation")) is int:
            return said
    return {}


def _hash(tool):
    nature = {name: getattr(tool, name, None) for name in ("description", "input_schema", "read_only", "idempotent", "destructive", "high_impact")}
    return hashlib.sha256(json.dumps(nature, sort_keys=True, default=str).encode()).hexdigest()[:8]
