"""How often a rival makes the disk write in a turn, as strace sees it from outside: SQLite's syncs too, which no Python code can count.

Counted in runs of their own, since strace slows down what it looks at.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MEASURE = Path(__file__).with_name("measure.py")
CALLS = "fsync,fdatasync,msync,sync_file_range,syncfs,sync"
SHORT, LONG = 20, 120


def syncs_a_turn(name):
    """The difference of a longer and a shorter run, a turn: opening and closing cancel out. None without strace."""
    if not shutil.which("strace"):
        return None
    return (_syncs(name, LONG) - _syncs(name, SHORT)) / (LONG - SHORT)


def _syncs(name, turns):
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        trace, work = Path(folder, "trace"), Path(folder, "work")
        work.mkdir()
        subprocess.run(["strace", "-f", "--seccomp-bpf", "-qq", "-e", f"trace={CALLS}", "-o", trace, sys.executable, MEASURE, name, str(turns), work, "--run-only"],
                       check=True, stdout=subprocess.DEVNULL)
        # A call that another thread interrupts takes two lines, the second of which says "resumed".
        return len(re.findall(rf"^\d+ +(?:{CALLS.replace(',', '|')})\(", trace.read_text(), re.MULTILINE))
