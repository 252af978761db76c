"""What protects a run from outside: a folder that can be written, and a clean start.

Here is the door for what is still to come on the same side of the loop: a lock with its
owner, the count of attempts, the fingerprint of task and tools.
"""
import os
import secrets
import shutil
from pathlib import Path

from . import checkpoint, history, ledger, turns
from .checkpoint import CheckpointMissing, is_finished, load_checkpoint
from .errors import CourseError
from .keeping import keeping, way_of
from .ledger import broken_ledgers
from .moments import alert, part
from .storage import StorageError, reason, sweep, sync_folder

OURS = (history.FILE, checkpoint.FILE, ledger.FILE)  # a fresh start clears these names and no others


def preflight(folder):
    """Find out now, before the first request, whether folder can be written. Raises StorageError."""
    probe = Path(folder) / f"{checkpoint.FILE}.{secrets.token_hex(6)}.tmp"  # a temp file's name, so that a sweep takes it too
    try:
        try:
            probe.write_bytes(b"can this folder hold a checkpoint?")
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"The folder {probe.parent.name or probe.parent} can't be written: {reason(error)}; "
                           "make it writable or choose another one.") from error


def fresh_start(folder):
    """Clear what an earlier run left: saves of every kind, ledger (broken ones too) and temp files, by our names only.

    Says so on stderr where that throws away an unfinished run. Raises StorageError, or CourseError
    where branches begin in what would be cleared.
    """
    folder = Path(folder)
    preflight(folder)
    _refuse_orphans(folder)
    _say_what_is_lost(folder)
    try:
        # The checkpoint goes first: a ledger without one is harmless, a checkpoint without its
        # ledger would forget that its pending call has happened.
        for path in (*(folder / name for name in OURS), *broken_ledgers(folder / ledger.FILE)):
            target = Path(os.path.realpath(path))
            (target if target.name == path.name else path).unlink(missing_ok=True)  # a link to a file of another name is ours, that file is not
        for path in turns.our_files(folder):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        sweep_all(folder)
        sync_folder(folder)
    except OSError as error:
        raise StorageError(f"The files of the run before could not be cleared: {reason(error)}; remove them by hand.") from error


def sweep_all(folder):
    """Remove the temp files of dead runs."""
    for name in {*OURS, *(path.name for path in turns.our_files(folder))}:
        sweep(Path(folder) / name)


def _refuse_orphans(folder):
    orphans = [branch.name for branch in history.forks_of(folder)]
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
