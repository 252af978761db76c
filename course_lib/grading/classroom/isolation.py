"""Where a stranger's program runs: bubblewrap's sandbox, one for each child process of the driver.

Inside there are Python, its libraries and the driver's child.py, all read-only, and one folder to
work in; nothing else of the course, wherever it is installed; no network, no other process, no file of the teacher's, no environment but the driver's.
Whoever grades as root gets a user of its own for each thread, one that exists nowhere else: the
limit on processes does not hold for root, and would be shared if all sandboxes had the same user.

What all processes and files of a program take together the driver looks at from outside.

Left out: protection from a hole in the kernel itself.
"""
import ctypes
import os
import shutil
import sys
import tempfile
import threading
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from pathlib import Path

from ...words import tr
from ..driver import CHILD, Child, sandboxed
from ..exercise import CannotCheck

NOBODIES = 1_000_000_000  # users above this number are nobody's
PROCESSES = 8  # and threads; the driver's own child has two
PACKAGE = Path(__file__).resolve().parents[2]
COURSE = PACKAGE.parent if (PACKAGE.parent / "pyproject.toml").exists() else PACKAGE  # a checkout has solutions beside the package as well
PYTHON = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)  # of a virtual environment nothing is needed


def _readable(*places):
    """bubblewrap's words for what can be read inside; of /bin, where it is a link, for the link."""
    for place in places:
        if os.path.islink(place):
            yield from ("--symlink", os.readlink(place), place)
        elif os.path.exists(place) and not place.startswith("/usr/"):
            yield from (*_folders_above(place), "--ro-bind", place, place)


def _hidden(course, child, places):
    """bubblewrap's words for an empty folder in the course's place, where that is below what can be read; of the course there is the child alone."""
    if any(course.is_relative_to(os.path.realpath(place)) for place in places if os.path.isdir(place)):
        yield from ("--tmpfs", str(course), *_folders_above(child), "--ro-bind", str(child), str(child), "--remount-ro", str(course))


def _folders_above(place):
    # Left to itself, bubblewrap makes them so that root alone may go through.
    return [word for folder in reversed(Path(place).parents) for word in ("--dir", str(folder)) if folder.name]


# Looked up once and as who we are: whom the sandbox runs as may not see that it is there.
PLACES = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", os.path.realpath(sys.base_prefix))
READABLE = (*_readable(*PLACES, str(CHILD.resolve())), *_hidden(COURSE, CHILD.resolve(), PLACES))


@contextmanager
def isolated(*, unsafe=False):
    """Within the block each child that this thread starts is alone in a sandbox; or, if unsafe, in none. Raises CannotCheck where barred says so."""
    reason = barred(unsafe)
    if reason:
        raise CannotCheck(reason)
    with nullcontext() if unsafe else _inside():
        yield


def barred(unsafe):
    """Why programs of strangers are not run here, in a sentence, or None."""
    keys = [name for name in os.environ if name.upper().endswith("API_KEY")]
    if unsafe and keys:
        return tr("Without a sandbox a student's program could read {names} out of this process; unset that and start again.", names=", ".join(keys))
    if not unsafe and why_not():
        return tr("The students' programs were not run, since there is no sandbox for them: {why} (With --unsafe they run as you, and can do whatever you can.)", why=why_not())


@lru_cache
def why_not():
    """Why programs can't be isolated on this machine, in a sentence, or None. Tried out once, with a program that works."""
    if sys.platform != "linux" or not shutil.which("bwrap"):
        return tr("bubblewrap is not installed (Debian, Ubuntu: apt install bubblewrap; on Windows and macOS it needs a Linux in a virtual machine).")
    try:
        with _inside(), tempfile.TemporaryDirectory(prefix="course-") as folder, Child("import this_is_no_module", folder) as child:
            if child.loaded.error == "ModuleNotFoundError":
                return None
            why = tr("the process inside {ended}.", ended=child.loaded.status)
    except (CannotCheck, OSError) as error:
        why = str(error)
    return tr("bubblewrap makes no sandbox here, which many containers and Ubuntu's AppArmor forbid. {why}", why=why)


@contextmanager
def _inside():
    user = NOBODIES + threading.get_native_id() if os.geteuid() == 0 else None
    with _files_of(user), sandboxed(partial(_wrap, user)):
        yield


def _wrap(user, command, folder):
    """The driver's command in a sandbox; see driver.sandboxed."""
    inside = ["prlimit", f"--nproc={PROCESSES}:{PROCESSES}", PYTHON, *command[1:-1], str(CHILD.resolve())]  # set inside, where nobody else's processes count
    if user is None:
        own = ["--unshare-user"]
    else:  # root makes the sandbox, since others may not read root's Python, and is given up inside
        own = []
        inside = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", *inside]
    return [shutil.which("bwrap"), "--die-with-parent", *own, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
            *READABLE, "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev", *_folders_above(folder), "--bind", str(folder), str(folder), "--remount-ro", "/",
            "--chdir", str(folder), *inside]


@contextmanager
def _files_of(user):
    """What this thread creates belongs to that user, so that who runs inside may use what is laid out for them. None: as ever."""
    if user is None:
        yield
        return
    system = ctypes.CDLL(None)
    system.setfsgid(user)
    system.setfsuid(user)
    try:
        yield
    finally:
        system.setfsuid(0)
        system.setfsgid(0)
