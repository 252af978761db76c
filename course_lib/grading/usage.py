"""How much a process, with all that it has started, holds in memory, and how much lies in a folder.

The system limits each process and each file; their sum is looked at from outside, again and
again, so it can be passed for a moment. Left out: memory on systems without Linux's /proc.
"""
import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
BLOCK = 4096  # what the smallest file takes on a disk, and about what a folder and an empty one cost


def memory_of(pid):
    """Bytes in memory of a process and its descendants, pages that several share counted for each; 0 where nothing tells."""
    return sum(map(_resident, _family(pid)))


def disk_of(folder):
    """Bytes that a folder takes up with all that is in it."""
    taken, folders = 0, [folder]
    while folders:
        with suppress(OSError), os.scandir(folders.pop()) as found:  # it may be gone by now
            for entry in found:
                taken += BLOCK
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        taken += entry.stat(follow_symlinks=False).st_size
    return taken


def _family(pid):
    """The process ids, its own first."""
    found = [pid]
    for each in found:
        with suppress(OSError):  # it has ended
            for thread in (PROC / str(each) / "task").iterdir():
                found += map(int, (thread / "children").read_text().split())
    return found


def _resident(pid):
    with suppress(OSError, IndexError):
        return int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0
