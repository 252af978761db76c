"""What the system itself saw happen to one file, whoever did it and by whatever means.

A program tells the driver of its file calls by a hook in its own process, which it may take away, go around or leave to
another program. Linux's inotify looks at the folder from outside. Left out: other systems, where nothing is seen.
"""
import ctypes
import os
import struct
from contextlib import contextmanager, suppress

MODIFY, MOVED_FROM, CREATE, DELETE, MOVE_SELF = 0x2, 0x40, 0x100, 0x200, 0x800
WRITTEN, GONE = MODIFY, MOVED_FROM | CREATE | DELETE | MOVE_SELF  # what is created had not been there
HEAD = struct.Struct("iIII")


@contextmanager
def watched(path):
    """Within the block, the function it gives says what became of the file meanwhile: ``"gone"``, ``"written"`` into, or None where it was only replaced."""
    seen = _begin(path.parent)
    try:
        yield lambda: _told(seen, os.fsencode(path.name))
    finally:
        if seen is not None:
            os.close(seen)


def _begin(folder):
    with suppress(OSError, AttributeError, TypeError):  # no such library, no such call in it
        system = ctypes.CDLL(None)
        seen = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if seen >= 0 and system.inotify_add_watch(seen, os.fsencode(folder), WRITTEN | GONE) >= 0:
            return seen
        if seen >= 0:
            os.close(seen)
    return None


def _told(seen, name):
    happened = 0
    with suppress(BlockingIOError):
        while seen is not None:
            data, at = os.read(seen, 1 << 16), 0
            while at < len(data):
                _, mask, _, length = HEAD.unpack_from(data, at)
                at += HEAD.size + length
                if mask & MOVE_SELF or data[at - length:at].rstrip(b"\0") == name:
                    happened |= mask
    return "gone" if happened & GONE else "written" if happened & WRITTEN else None
