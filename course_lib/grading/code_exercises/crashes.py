"""Is a save atomic? It is killed at every file call, and in the middle of its bytes, and watched from outside.

Of its file calls the process itself tells, so those show what a kill leaves; that the file was never gone and never
written into is seen from outside as well.

Right after a rename needs no kill: what a file has then, its temp file had right before.
"""
import json
import os
from pathlib import Path

from ...words import mark, tr
from ..driver import RETURNED, Kill
from ..watch import watched
from .answer import outcome, put, read, slip

MOST = 12  # file calls of one save that are tried
SAVE_HINTS = {
    "unflushed": [mark("When the temp file got its new name: how many of its bytes were in the file, and how many still in the process?"),
                  mark("What you write waits in a buffer, and is in the file for sure when the file has been closed."),
                  mark("os.replace belongs below the with block, not into it.")],
    "elsewhere": [mark("A rename within one disk changes a name. What would it have to do from one disk to another?"),
                  mark("Put the temp file into the folder of the real one, such as f\"{path}.tmp\".")],
    "stale": [mark("A save was killed on its way. What has it left in the folder, and what does the next save do about that?"),
              mark("An old temp file is worth nothing: write over it. open with \"w\" does; \"x\" refuses to, and \"a\" adds to it.")],
}


def check_atomic(answer, name, file, old, new, args, scenario=None, is_stray=lambda other: False):
    """Leave with a slip unless ``name`` replaces a file whole, at any instant of its work, and saves again after a kill.

    file: folder → the path it is to write. old, new: two values; args: (path, value) → what it is
    called with. is_stray: the name of a file beside it → whether a loader would take that for one.
    A second name for the old file shows whether the save wrote into it.
    """
    path, witness = file(answer.folder()), answer.kept / "witness"
    answer.call(name, *args(path, old))
    before, calls = read(path), []
    if before is None:
        slip("nothing-saved", tr("{name} came back, and there is no {file}", name=name, file=path.name), tr("the file is there when the function has returned"))
    if not _is_json(before):
        slip("not-json", tr("{file} begins with {start}", file=path.name, start=repr(before[:40].decode("utf-8", "replace"))), tr("{file} is JSON, as the lessons have it", file=path.name),
             tr("Your own functions can read it. A person with an editor can't, and neither can any other program that has to go on from this file."))
    linked = _link(path, witness)
    answer.process.on_file = lambda what, on, to=None: calls.append((what, on, _given(path, on) if what == "rename" and to == path else None))
    with watched(path) as became:
        answer.call(name, *args(path, new))
        became = became()
    answer.process.on_file, after = None, read(path)
    size = len(after or b"")
    if witness.read_bytes() != before if linked else read(_killed(answer, name, file, before, args, new, None, size // 2)) not in (before, after):
        _torn(answer, name, file, before, size, args, new, scenario)
    for n, (what, on, given) in enumerate(calls[:MOST], 1):
        if given is _ELSEWHERE:
            slip("elsewhere", tr("the temp file lies in another folder: {path}", path=on), tr("the temp file lies beside {file}, in the same folder", file=path.name),
                 tr("os.replace can't rename from one disk to another. It went well here; on a machine where that folder is on a disk of its own, every save ends in an OSError."))
        killed = _killed(answer, name, file, before, args, new, n)
        left = read(killed)
        if left not in (before, after):
            slip("gap" if left is None else "in-place",
                 tr("killed just before the call {call} on {on}, it left {file} {state}", call=what, on=on.name, file=path.name, state=_state(left)),
                 tr("at every instant {file} is the old file, whole, or the new one, whole", file=path.name),
                 tr("The old file was there. The save began, and the process was killed on the way. Whoever looks now finds neither the old state nor the new one."),
                 scenario)
        if given not in (None, before, after):
            slip("unflushed",
                 tr("killed right after {temp} was renamed to {file}, it left {file} {state}", temp=on.name, file=path.name,
                    state=tr("with {n} of its {all} bytes", n=len(given), all=size) if given else tr("empty")),
                 tr("the temp file has all its bytes, and is closed, before it gets the name {file}", file=path.name),
                 tr("What Python writes waits in the process until the file is closed. The rename came first, then the kill, and the bytes went with the process. "
                    "The old file is gone, and the new one is not all there."))
        _check_what_is_left(answer, name, killed, what, on, args, before, new, is_stray)
    if became:
        slip("gap" if became == "gone" else "in-place",
             tr("while {name} was at work, {file} was gone for a moment", name=name, file=path.name) if became == "gone" else
             tr("{name} wrote into {file} itself", name=name, file=path.name),
             tr("at every instant {file} is the old file, whole, or the new one, whole", file=path.name),
             tr("The system was watching the folder. Killed at that moment, the save would have left neither the old state nor the new one."))


def _given(path, temp):
    """What a rename gives the file: the temp file's bytes. None where they can't be read, _ELSEWHERE where it lies outside of the file's folder."""
    return read(temp) if Path(os.path.realpath(temp.parent)).is_relative_to(path.parent) else _ELSEWHERE


_ELSEWHERE = object()


def _check_what_is_left(answer, name, path, what, on, args, before, new, is_stray):
    """After a kill: nothing beside the file looks like one, and the next save gets through."""
    strays = sorted(other.name for other in path.parent.iterdir() if other != path and is_stray(other.name))
    if strays:
        slip("stray", tr("killed just before the call {call} on {on}, it left {names} beside {file}", call=what, on=on.name, names=", ".join(strays), file=path.name),
             tr("the temp file has a name that nobody takes for a saved turn"),
             tr("The save was killed and its temp file stayed. It has a turn's name, so the next resume takes it for one: a turn that never was, and perhaps half of it."))
    ended = answer.process.call(name, *args(path, new))
    left = read(path)
    if ended.status != RETURNED:
        how = outcome(answer, ended, name)
    elif left == before:
        how = tr("{name} came back and wrote nothing", name=name)
    elif not _is_json(left):
        how = tr("{name} came back and left {file} {state}", name=name, file=path.name, state=_state(left))
    else:
        return
    slip("stale", tr("a save was killed just before the call {call} on {on}; the next one: {how}", call=what, on=on.name, how=how),
         tr("the next save gets through, whatever a killed one has left"),
         tr("One save was killed and left its temp file behind. From then on no save gets through any more: the run can't be gone on with."))


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
    left = read(_killed(answer, name, file, before, args, new, None, size // 2))
    slip("in-place",
         tr("the save opens {file} itself and writes into it; killed in the middle of the write, it left {file} {state}",
            file=file(answer.kept).name, state=_state(left)),
         tr("the bytes go into a temp file beside it, and one rename puts that into its place"),
         tr("A save of the new state was under way when the process was killed. The old state had been overwritten already and the new one was not all there, "
            "so a resume finds a file it can't read, and there is no other copy."), scenario)


def _killed(answer, name, file, before, args, new, at_call, at_byte=None):
    """Kill a save at a file call, or at a byte. Gives the file's path in the folder of its own in which that was done."""
    path, seen = file(answer.folder()), []

    def on_file(what, *paths):
        seen.append(what)
        if len(seen) == at_call:
            raise Kill

    put(path, before).close()
    with answer.child(on_file=on_file) as child:
        if at_byte is not None:
            child.dies_at_byte(at_byte)
        child.call(name, *args(path, new))
    return path


def _state(data):
    if data is None:
        return tr("gone")
    if not data:
        return tr("empty")
    if not _is_json(data):
        return tr("with {n} bytes that are no JSON any more: {end}", n=len(data), end=repr(data[-40:].decode("utf-8", "replace")))
    return tr("with other content than either state")


def _is_json(data):
    try:
        json.loads(data or b"")
    except (ValueError, RecursionError):
        return False
    return True
