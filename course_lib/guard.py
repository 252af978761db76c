"""What protects a run from outside: a folder that can be written, and a clean start.

Here is the door for what is still to come on the same side of the loop: a lock with its
owner, the count of attempts, the fingerprint of task and tools.
"""
import os
import secrets
from pathlib import Path

from . import checkpoint, ledger
from .checkpoint import CheckpointMissing, CheckpointError, is_finished, load_checkpoint
from .ledger import broken_ledgers
from .moments import alert
from .storage import StorageError, reason, sweep, sync_folder

OURS = (checkpoint.FILE, ledger.FILE)  # a fresh start clears these names and no others


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
    """Clear what an earlier run left: checkpoint, ledger (broken ones too) and temp files, by our names only.

    Says so on stderr where that throws away an unfinished run. Raises StorageError.
    """
    folder = Path(folder)
    preflight(folder)
    _say_what_is_lost(folder / checkpoint.FILE)
    try:
        # The checkpoint goes first: a ledger without one is harmless, a checkpoint without its
        # ledger would forget that its pending call has happened.
        for path in (*(folder / name for name in OURS), *broken_ledgers(folder / ledger.FILE)):
            target = Path(os.path.realpath(path))
            (target if target.name == path.name else path).unlink(missing_ok=True)  # a link to a file of another name is ours, that file is not
        sweep_all(folder)
        sync_folder(folder)
    except OSError as error:
        raise StorageError(f"The files of the run before could not be cleared: {reason(error)}; remove them by hand.") from error


def sweep_all(folder):
    """Remove the temp files of dead runs."""
    for name in OURS:
        sweep(Path(folder) / name)


def _say_what_is_lost(path):
    try:
        scene = load_checkpoint(path)
    except CheckpointMissing:
        return
    except CheckpointError as error:
        alert(f"[fresh start] a checkpoint that can't be trusted is thrown away: {str(error).split('; ')[0]}")
        return
    if not is_finished(scene):
        pending = scene["pendingToolUse"]
        alert(f"[fresh start] an unfinished run is thrown away: turn={scene['turns']} "
              f"pending={pending['name'] if pending else 'null'}; --resume would have gone on with it")
