#!/usr/bin/env python3
"""Everything in one command, with nothing but Python 3.11 or newer:

    python3 run.py lab     open the course in JupyterLab  (more goes to JupyterLab: --port 9000;
                           in Portuguese: --lang pt_BR)
    python3 run.py test    run every test and notebook    (more goes to pytest: -k name)
    python3 run.py demo    kill an agent in the terminal and resume it

The first start makes the folder .venv and installs the course there; deleting it is safe.
"""
# Standard library only, and no syntax newer than Python 3.6: an old Python must get as far as check_python.
import hashlib
import os
import subprocess
import sys
import time
from collections import deque
from contextlib import contextmanager
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "course-ready.txt"       # written last, so an unfinished .venv has none

COMMANDS = {
    "lab": ["-m", "course_lib.cli", "lab"],
    "test": ["-m", "pytest"],
    "demo": ["-m", "course_lib.cli", "demo"],
}


def main(argv):
    check_python(sys.version_info, argv)
    if not argv or argv[0] in ("-h", "--help"):
        print(__doc__.strip())
        return
    if argv[0] not in COMMANDS:
        stop(f"run.py does not know {argv[0]!r}: use one of {', '.join(COMMANDS)}, as in `python3 run.py lab`.")
    if not is_ready():
        make_ready()
    hand_over([str(PYTHON)] + COMMANDS[argv[0]] + argv[1:])


def check_python(version, argv):
    if tuple(version[:2]) < OLDEST:
        needed, this = ".".join(map(str, OLDEST)), ".".join(map(str, version[:3]))
        stop(f"The course needs Python {needed} or newer and this is Python {this} ({sys.executable}): "
             f"install a newer one and name it, as in `python3.12 run.py {' '.join(argv) or 'lab'}`.")


def stop(sentence):
    sys.exit(sentence)                  # Python prints it on stderr and exits with 1


# --- the environment ---------------------------------------------------------------------

def is_ready():
    """True for a .venv that was finished, for this Python, this place and this list of packages."""
    runs = os.access(str(PYTHON), os.X_OK)      # no error where the Python it points to is gone or someone else's
    return runs and STAMP.exists() and STAMP.read_text() == fingerprint()


def fingerprint():
    """Changes with whatever a .venv depends on; the place counts, since a .venv can't be moved."""
    parts = [(ROOT / name).read_bytes() for name in ("pyproject.toml", "constraints.txt")]
    parts += [sys.implementation.cache_tag.encode(), str(ROOT).encode()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def make_ready():
    try:
        with one_at_a_time():
            if not is_ready():          # another start may have done it meanwhile
                set_up()
    except KeyboardInterrupt:
        stop("\nStopped before the set-up was finished; the next start begins it afresh.")


@contextmanager
def one_at_a_time():
    """Two first starts side by side would clear each other's work: the second waits."""
    with open(__file__, encoding="utf-8") as lock:
        try:
            import fcntl
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say("Another start is setting up the course, waiting for it ...")
                fcntl.flock(lock, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass                        # Windows, which keeps files in use from being cleared; some network drives
        yield


def set_up():
    """Always from scratch: mending what an interrupted or older set-up left is not worth its surprises."""
    check_tools()
    started = time.monotonic()
    say("Setting up the course in .venv, which takes about a minute and is done once ...")
    try:
        clear_stamp()
        make_venv()
        install()
        STAMP.write_text(fingerprint())
    except OSError as error:
        stop(f"The course could not set up {VENV} ({error.strerror or error}): "
             "copy the course to a folder of your own with free space and start it there.")
    say(f"Set up in {time.monotonic() - started:.0f} s.")


def check_tools():
    try:
        import ensurepip, venv  # noqa: E401, F401  (Debian and Ubuntu ship Python without them)
    except ImportError as error:
        stop(f"This Python lacks its module {error.name}, which the set-up needs: install it, on Debian or Ubuntu "
             "with `sudo apt install python3-venv`, and start again.")


def clear_stamp():
    VENV.mkdir(exist_ok=True)
    STAMP.touch()                       # fails in a folder that can't be written, before anything is cleared
    STAMP.unlink()


def make_venv():
    # The base Python, since run.py may have been started with the very .venv that is made again.
    python = getattr(sys, "_base_executable", None) or sys.executable
    code, last_lines = follow([python, "-m", "venv", "--clear", str(VENV)], ignore)
    if code:
        give_up("Python could not make the folder .venv", last_lines,
                "delete .venv, see that no program is using it, and start again")


def install():
    total = sum(line[:1].isalnum() for line in (ROOT / "constraints.txt").read_text().splitlines())
    code, last_lines = follow(
        [str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off",
         "-c", "constraints.txt", "-e", ".[test,pt]"], Progress(total))
    if code:
        give_up("pip could not install the course's packages", last_lines,
                "check the network connection and the free disk space, and start again")


def follow(command, see):
    """Run a command in the course's folder; show each line of its output to ``see`` and keep the last ones."""
    last_lines = deque(maxlen=12)
    with subprocess.Popen(command, cwd=str(ROOT), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace") as process:
        for line in process.stdout:
            last_lines.append(line.rstrip())
            see(line.strip())
    return process.returncode, last_lines


def ignore(line):
    pass


class Progress:
    """Turns pip's many lines into a few that show that it is alive."""

    def __init__(self, total):
        self.total, self.found, self.warned = total, 0, False

    def __call__(self, line):
        if line.startswith(("Collecting ", "Processing ")):
            self.found += 1
            if self.found % 20 == 0:
                say(f"  {self.found} of about {self.total} packages fetched")
        elif line.startswith("Installing collected packages"):
            say("  installing them")
        elif "Retrying" in line and not self.warned:
            self.warned = True
            say("  no answer from the network yet, trying again")


def give_up(what, last_lines, advice):
    say("\n".join(last_lines))
    stop(f"{what} (its last lines are above): {advice}.")


def say(text):
    print(text, flush=True)


# --- handing over ------------------------------------------------------------------------

def hand_over(command):
    """Become the program: its output, its Ctrl-C and its exit code are what the student gets."""
    os.chdir(str(ROOT))
    if os.name != "nt":
        os.execv(command[0], command)
    process = subprocess.Popen(command)          # Windows has no true exec
    while True:
        try:
            sys.exit(process.wait())
        except KeyboardInterrupt:                # it went to the program too, which knows how to end
            pass


if __name__ == "__main__":
    main(sys.argv[1:])
