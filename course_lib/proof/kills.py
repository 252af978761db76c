"""``python -m course_lib`` killed for real, by SIGKILL, before every single system call that touches a file of its folder.

strace names the calls of an undisturbed life and then, one life for each, kills it at the n-th.
What a simulated crash leaves out (buffers, a file just created, Python's own reads) is in here.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from .. import checkpoint, history, ledger
from ..errors import CourseError
from ..moments import Run
from ..scenarios import SALES_REPORT
from ..scenarios.matrix import memory_folder
from ..scenarios.recording import Recording
from ..scenarios.runner import ROOT, Outcome, work
from .cases import case_of
from .promises import broken
from .stories import Life, Teller, put, take

PROGRAM = ("-S", "-m", "course_lib")  # without site packages, of which the core needs none: it starts twice as fast
WITH_HISTORY = (*PROGRAM, "--keep", "history")
# What these leave is other than it was.
CHANGING = {"openat", "write", "fsync", "ftruncate", "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "fchmod"}
_EPOCH = "0"
_NOW = "1970-01-01T00:00:00.000Z"
_CALL = re.compile(r"\d+ +(\w+)\((.*)")


@dataclass(frozen=True)
class Call:
    """The n-th call of that name in the whole life of the process. on: the file of the folder that it touches."""

    name: str
    nth: int
    on: str

    def __str__(self):
        return f"{self.name} of {self.on}"


def why_not():
    """Why real kills can't be made here, or None."""
    if sys.platform != "linux" or not shutil.which("strace"):
        return "strace is not here (Debian: apt install strace)"
    return None if _strace_works() else "strace may not trace here"


def calls(files, program=PROGRAM):
    """Every Call of a life that begins with these files."""
    found, count = [], {}
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as home, tempfile.TemporaryDirectory() as warm_up:
        _trace(warm_up, files, program, ["-e", "trace=none"])  # it compiles what it imports; the lives after it find that done
        folder, code, trace = _trace(home, files, program, ["-e", "trace=%file,%desc"])
        if code:
            raise CourseError(f"The program ended with exit code {code} under strace, before anything was killed: {trace[-300:]}")
        for line in trace.splitlines():
            name, arguments = _CALL.fullmatch(line).groups() if _CALL.fullmatch(line) else ("", "")
            count[name] = count.get(name, 0) + 1
            if name != "execve" and str(folder) in arguments:
                found.append(Call(name, count[name], _touched(arguments, folder)))
    return found


def kill_at(files, call, program=PROGRAM):
    """The Life that begins with these files and is killed right before the call. Raises CourseError if it is not."""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as home:
        folder, code, trace = _trace(home, files, program, ["-e", f"trace={call.name}", "-e", f"inject={call.name}:signal=KILL:when={call.nth}"])
        last = [line for line in trace.splitlines() if _CALL.fullmatch(line)][-1:]
        if code != -9 or str(folder) not in "".join(last):
            raise CourseError(f"The kill at {call} went astray (exit code {code}): {last}")
        return Life(checkpoint.FILE in files or history.FILE in files, Outcome("killed", f"SIGKILL before {call}"), take(folder) if folder.is_dir() else {},
                    f"killed by SIGKILL before its {call.name} no. {call.nth} (of {call.on})")


def sweep(story, chosen, program=PROGRAM, *, case=None, progress=lambda story: None):
    """Kill the story's next life at each of the calls, go on to the end, and give what is wrong: ``[(rule, sentence), ...]``.

    case: the sales report, under the policy that the program is started with. progress(story) hears of each kill.
    """
    case = case or case_of(SALES_REPORT)
    found, whole = [], None if "history" in program else versions(story.files)  # a history is checked line by line as it is read
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        teller = Teller(case, folder)
        for life in pool.map(lambda call: kill_at(story.files, call, program), chosen):
            killed = story.then(life)
            ended = teller.go_on(killed)
            wrong = list(broken(teller.case, ended, teller.go_on(ended).lives[-1]))
            if whole and (killed.files.get(checkpoint.FILE), killed.files.get(ledger.FILE)) not in whole:
                wrong.append(("neither", "The kill left files that are neither the old nor the new ones."))
            found += [(rule, f"{ended} {detail}") for rule, detail in wrong]
            progress(killed)
    return found


def versions(files):
    """Every pair (checkpoint, ledger) that is on disk at some moment of an undisturbed life, each as bytes or None."""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as name:
        folder = Path(name)
        put(folder, files)
        pairs, recording = {(files.get(checkpoint.FILE), files.get(ledger.FILE))}, Recording(folder)
        with Run(listeners=[recording], durability="kill", clock=lambda: _NOW):
            work(SALES_REPORT, folder, resume=checkpoint.FILE in files)
        return pairs | {(recording.version(checkpoint.FILE, i), recording.version(ledger.FILE, i)) for i in range(len(recording.moments))}


def _trace(home, files, program, options):
    """One life under strace: its folder, its exit code, what strace wrote."""
    folder, trace = Path(home, "run"), Path(home, "trace")
    if files:
        folder.mkdir()
        put(folder, files)
    command = ["strace", "-f", "-qq", "-y", "-s", "0", "-o", trace, *options, sys.executable, *program, "--dir", folder]
    resume = ["--resume"] if checkpoint.FILE in files or history.FILE in files else []
    environment = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": _compiled().name, "SOURCE_DATE_EPOCH": _EPOCH}
    ended = subprocess.run([*command, *resume], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, env=environment)
    return folder, ended.returncode, trace.read_text(errors="replace")


def _touched(arguments, folder):
    name = re.search(re.escape(str(folder)) + r"/?([^\">]*)", arguments)[1]
    return re.sub(r"\.[0-9a-f]{12}\.tmp", ".….tmp", name) or "the folder"


@lru_cache
def _compiled():
    """Where all lives keep what Python compiles, so that nothing else on the machine changes how many calls a life makes."""
    return tempfile.TemporaryDirectory(prefix="course-")


@lru_cache
def _strace_works():
    with tempfile.TemporaryDirectory() as home:
        return subprocess.run(["strace", "-qq", "-o", os.devnull, "-e", "trace=fsync", "true"], cwd=home, capture_output=True).returncode == 0
