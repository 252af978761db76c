"""Faults that the operating system makes by itself: a full disk, a limit on a file's size, a folder that can't be written.

bubblewrap gives a small disk in memory, a read-only folder and a user without rights over it, in
a process of its own and with nothing to clean up after. Only the harness's files lie there; the
tools' world and the model's memory lie on a good disk, so that what they do is not in question.

As a program it is that process: it reads what to live as JSON and writes how it went.
"""
import base64
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

from .. import checkpoint, guard
from ..errors import CourseError
from ..model import OfflineClient
from ..moments import ALERT, Moment
from ..scenarios import SALES_REPORT, world
from ..scenarios.runner import ROOT, Outcome, start
from ..scenarios.scenario import Scenario
from .beliefs import scene_of, torn_in
from .cases import begun
from .faults import alerts
from .promises import broken, lines_of
from .stories import OURS, Life, Story, checkpoints

PAGE = 4096  # a disk in memory is filled by such pieces
DISK = 64 * 1024


@dataclass(frozen=True, eq=False)
class _Elsewhere(Scenario):
    """A scenario whose world, laid out by somebody else, and whose model's memory lie apart from the harness's files."""

    model: OfflineClient = None

    def lay_out(self, folder):
        pass

    def client(self, folder):
        return self.model


def why_not():
    """Why such places can't be made here, or None."""
    if sys.platform != "linux" or not shutil.which("bwrap"):
        return "bubblewrap is not here (Debian: apt install bubblewrap)"
    return None if _bubblewrap_works() else "bubblewrap may make no such place here"


def small_disk(story, spare):
    """The story with three more lives on a disk of 64 KiB, of which only so many pages are left for the first."""
    return _lives(story, [{"spare": spare}, {}, {}], lambda home: ["--size", str(DISK), "--tmpfs", home / "disk"], "disk")


def limited(story, size):
    """The same where no file can grow beyond so many bytes in the first life."""
    return _lives(story, [{"limit": size}, {}, {}])


def read_only(story):
    """The story with one more life in a folder that is mounted read-only."""
    return _lives(story, [{}], lambda home: ["--ro-bind", home / "run", home / "run"])


def no_permission(story):
    """The story with one more life in a folder that its owner may not write, for a user for whom that counts."""
    return _lives(story, [{}], lambda home: ["--unshare-user", "--uid", "1000", "--cap-drop", "ALL"], mode=0o555)


def _lives(story, lives, place=None, folder="run", mode=0o755):
    """The story with one more life for each dict: ``{"spare": pages}``, ``{"limit": bytes}``, or ``{}`` for one without trouble.

    place(home): bubblewrap's options for what folder, below home, is to be.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as name:
        home = Path(name)
        for part in ("run", "disk", "world"):
            (home / part).mkdir()
        for file, data in story.files.items():
            (home / ("run" if file in OURS else "world") / file).write_bytes(data)
        if not story.files:
            SALES_REPORT.lay_out(home / "world")
        (home / "run").chmod(mode)
        sandbox = ["bwrap", "--die-with-parent", "--ro-bind", "/", "/", "--bind", home, home, *place(home)] if place else []
        job = json.dumps({"home": name, "folder": folder, "lives": lives})
        ended = subprocess.run([*map(str, sandbox), sys.executable, "-S", "-B", "-m", __name__], cwd=ROOT, input=job, capture_output=True, text=True)
        (home / "run").chmod(0o755)
    if ended.returncode:
        raise CourseError(f"The process in the sandbox failed: {ended.stderr.strip()[-500:]}")
    for life in map(json.loads, ended.stdout.splitlines()):
        outcome = Outcome(life["status"], life["text"], moments=[Moment(ALERT, 0, 0, facts={"text": text}) for text in life["alerts"]])
        files = {name: base64.b64decode(data) for name, data in life["files"].items()}
        story = story.then(Life(life["resumed"], outcome, files, f"ended: {outcome.text.rstrip('.')}"))
    return story


def trials(case, *, progress=lambda story: None):
    """Every true fault once, and what is wrong, as kills.sweep gives it."""
    found = []
    for place, story, go_on, reason in _all_trials(case):
        whole, told = checkpoints(case, story), go_on(story)
        troubled, *after = told.lives[len(story.lives):]
        wrong = list(misbehaved(troubled, story.files, whole, reason))
        if after:
            forgiven = {"unrecorded"} if alerts(troubled) else set()
            wrong += [pair for pair in broken(case, Story(told.lives[:-1]), told.lives[-1]) if pair[0] not in forgiven]
        elif _ours(troubled.files) != _ours(story.files):
            wrong.append(("touched", "Something in the folder is other than it was."))
        found += [(rule, f"{place}: {told} {detail}") for rule, detail in wrong]
        progress(told)
    return found


def misbehaved(life, before, whole, reason):
    """What DESIGN asks of a life in trouble, and this one did not do, as (rule, sentence). whole: the checkpoints that may be there."""
    outcome = life.outcome
    if outcome.status == "error" and reason not in outcome.text:
        yield "unsaid", "The sentence does not have the operating system's reason."
    if life.files.get(checkpoint.FILE) not in whole:
        yield "torn", f"{checkpoint.FILE} is neither the old nor the new one."
    if torn_in(life.files):
        yield "torn", f"{torn_in(life.files)} is no whole file."
        return
    done, saved = len(lines_of(life.files, world.JOURNAL)), scene_of(life.files)["turns"]
    if done > max(saved, len(lines_of(before, world.JOURNAL))):
        yield "reckless", f"{done} tools have run, and Point A of only {saved} turns is on disk."


def _ours(files):
    return {name: data for name, data in files.items() if name.startswith(OURS) and name != guard.LOCK}  # a lock may change its owner


def _all_trials(case):
    """(place, the story so far, how it goes on, the operating system's reason)."""
    for crash in (None, ("after-save-b", 2), ("after-tool", 3)):
        story = begun(case, crash)
        for spare in range(5):
            yield f"a disk with {spare} pages left", story, lambda story, spare=spare: small_disk(story, spare), os.strerror(errno.ENOSPC)
        for size in (0, *range(200, 3201, 300)):
            yield f"no file beyond {size} bytes", story, lambda story, size=size: limited(story, size), os.strerror(errno.EFBIG)
        yield "a read-only folder", story, read_only, os.strerror(errno.EROFS)
        yield "a folder without permission", story, no_permission, os.strerror(errno.EACCES)


@lru_cache
def _bubblewrap_works():
    with tempfile.TemporaryDirectory() as home:
        command = ["bwrap", "--ro-bind", "/", "/", "--unshare-user", "--uid", "1000", "--size", str(DISK), "--tmpfs", home]
        return subprocess.run([*command, sys.executable, "-S", "-c", f"import {__name__}"], cwd=ROOT, capture_output=True).returncode == 0


# --- in the child ---------------------------------------------------------------------------

def main():
    job = json.load(sys.stdin)
    home = Path(job["home"])
    folder, outside = home / job["folder"], home / "world"
    if job["folder"] == "disk":
        shutil.copytree(home / "run", folder, dirs_exist_ok=True)
    parts = {field.name: getattr(SALES_REPORT, field.name) for field in fields(SALES_REPORT)}
    scenario = _Elsewhere(**{**parts, "tools": lambda _: SALES_REPORT.tools(outside)}, model=OfflineClient(SALES_REPORT.script))
    for trouble in job["lives"]:
        resumed = (folder / checkpoint.FILE).exists()
        with _filled(folder, trouble.get("spare")), _limit(trouble.get("limit")):
            outcome = start(scenario, folder, resume=resumed, durability="power-loss")
        files = {path.name: base64.b64encode(path.read_bytes()).decode() for place in (folder, outside) for path in sorted(place.iterdir())}
        alerts = [moment.facts["text"] for moment in outcome.moments if moment.label == ALERT]
        print(json.dumps({"resumed": resumed, "status": outcome.status, "text": outcome.text, "alerts": alerts, "files": files}))


@contextmanager
def _filled(folder, spare):
    """The disk with no more than so many pages left, by a file that is none of the run's."""
    filler = folder / "somebody-elses"
    if spare is None:
        yield
        return
    with open(filler, "wb", buffering=0) as file:
        with suppress(OSError):
            for _ in range(DISK // PAGE):  # never more, whatever disk this is
                file.write(bytes(PAGE))
        os.truncate(filler, max(filler.stat().st_size - spare * PAGE, 0))
    yield
    filler.unlink()


@contextmanager
def _limit(size):
    if size is None:
        yield
        return
    import resource  # not on Windows
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


if __name__ == "__main__":
    main()
