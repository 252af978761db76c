"""Is a save atomic? It is killed at every file call, and in the middle of its bytes, and watched from outside."""
import json
import os

from ...words import tr
from ..driver import Kill
from .answer import put, read, slip

MOST = 12  # file calls of one save that are tried


def check_atomic(answer, name, file, old, new, args, scenario=None):
    """Leave with a slip unless ``name`` replaces a file whole, at any instant of its work.

    file: folder → the path it is to write. old, new: two values; args: (path, value) → what it is
    called with. A second name for the old file shows whether the save wrote into it.
    """
    path, witness = file(answer.folder()), answer.kept / "witness"
    answer.call(name, *args(path, old))
    before, calls = read(path), []
    if before is None:
        slip("nothing-saved", tr("{name} came back, and there is no {file}", name=name, file=path.name), tr("the file is there when the function has returned"))
    linked = _link(path, witness)
    answer.process.on_file = lambda *call: calls.append(call)
    answer.call(name, *args(path, new))
    answer.process.on_file, after = None, read(path)
    size = len(after or b"")
    if witness.read_bytes() != before if linked else _killed(answer, name, file, before, args, new, None, size // 2) not in (before, after):
        _torn(answer, name, file, before, size, args, new, scenario)
    for n in range(1, min(len(calls), MOST) + 1):
        left = _killed(answer, name, file, before, args, new, n)
        if left not in (before, after):
            what, on = calls[n - 1]
            slip("gap" if left is None else "in-place",
                 tr("killed just before the call {call} on {on}, it left {file} {state}", call=what, on=on, file=path.name, state=_state(left)),
                 tr("at every instant {file} is the old file, whole, or the new one, whole", file=path.name),
                 tr("The old file was there. The save began, and the process was killed on the way. Whoever looks now finds neither the old state nor the new one."),
                 scenario)


def _link(path, witness):
    """Give the file a second name; False on a disk that has no such thing."""
    witness.unlink(missing_ok=True)
    try:
        os.link(path, witness)
    except OSError:
        if read(path) is None:  # it is not the disk, the file is gone
            raise
        return False
    return True


def _torn(answer, name, file, before, size, args, new, scenario):
    left = _killed(answer, name, file, before, args, new, None, size // 2)
    slip("in-place",
         tr("the save opens {file} itself and writes into it; killed in the middle of the write, it left {file} {state}",
            file=file(answer.kept).name, state=_state(left)),
         tr("the bytes go into a temp file beside it, and one rename puts that into its place"),
         tr("A save of the new state was under way when the process was killed. The old state had been overwritten already and the new one was not all there, "
            "so a resume finds a file it can't read, and there is no other copy."), scenario)


def _killed(answer, name, file, before, args, new, at_call, at_byte=None):
    """The file's bytes after a kill at a file call, or at a byte; None where the file is gone."""
    path, seen = file(answer.folder()), []

    def on_file(what, on):
        seen.append(what)
        if len(seen) == at_call:
            raise Kill

    put(path, before).close()
    with answer.child(on_file=on_file) as child:
        if at_byte is not None:
            child.dies_at_byte(at_byte)
        child.call(name, *args(path, new))
    return read(path)


def _state(data):
    if data is None:
        return tr("gone")
    if not data:
        return tr("empty")
    try:
        json.loads(data)
    except ValueError:
        return tr("with {n} bytes that are no JSON any more: {end}", n=len(data), end=repr(data[-40:].decode("utf-8", "replace")))
    return tr("with other content than either state")
