"""What a history costs, beside other ways to keep one: measured here, now, all in one run.

    python tests/benchmark/compare.py                        the whole comparison; writes the figures and their page
    python tests/benchmark/compare.py --quick                one round of 10 and 100 turns; prints the page, writes nothing
    python tests/benchmark/compare.py --turns 10 100         other numbers of turns

The other libraries come with pip install -c constraints.txt -e .[benchmark]; what is not installed is left out.
Ctrl-C stops it at any time, and the figures on disk stay as they were.
"""
import argparse
import json
import os
import platform
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import page
from rivals import RIVALS, missing, versions
from syncs import syncs_a_turn
from workload import INPUT_BYTES, RESULT_BYTES

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "course_lib" / "figures" / "history.json"
PAGE = ROOT / "docs" / "figures.md"
MEASURE = Path(__file__).with_name("measure.py")
TURNS, ROUNDS = (10, 100, 1000, 5000), 5
QUICK_TURNS, QUICK_ROUNDS = (10, 100), 1


def main(arguments):
    options = _options(arguments)
    turns = options.turns or (QUICK_TURNS if options.quick else TURNS)
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    machine = _machine()
    try:
        data = {"date": date.today().isoformat(), "command": " ".join(["python tests/benchmark/compare.py", *arguments]),
                "machine": machine, **compare(turns, rounds)}
    except KeyboardInterrupt:
        sys.exit("\nStopped; nothing was written.")
    if options.quick:
        print(page.render(data))
    else:
        write(data)


def compare(turns, rounds, names=RIVALS):
    """Every rival at every number of turns, that many times, in an order that is shuffled anew in each round. Gives the data of the page."""
    reasons = {name: missing(name) for name in names}
    say(*filter(None, reasons.values()))
    names = [name for name in names if not reasons[name]]
    jobs = [(name, number) for name in names for number in turns if number <= RIVALS[name].largest]
    samples = {job: [] for job in jobs}
    shuffle = random.Random(len(jobs)).sample
    for this in range(1, rounds + 1):
        start = time.monotonic()
        for done, (name, number) in enumerate(shuffle(jobs, len(jobs)), 1):
            say(f"round {this} of {rounds}, {done} of {len(jobs)}: {RIVALS[name].title}, {number} turns")
            samples[name, number].append(measured(name, number))
        say(f"round {this} took {time.monotonic() - start:.0f} s; {rounds - this} to go")
    rivals = {}
    for name in names:
        say(f"syncs: {RIVALS[name].title}")
        rivals[name] = {"title": RIVALS[name].title, "note": RIVALS[name].note, "syncs_a_turn": syncs_a_turn(name),
                        "turns": {str(number): summary(samples[name, number]) for number in turns if (name, number) in samples}}
    packages = {package: version for name in names for package, version in versions(name).items()}
    return {"rounds": rounds, "turn": {"input_bytes": INPUT_BYTES, "result_bytes": RESULT_BYTES}, "versions": packages, "rivals": rivals}


def measured(name, turns):
    """One rival, once, in a child and a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="benchmark-", ignore_cleanup_errors=True) as folder:
        child = subprocess.run([sys.executable, MEASURE, name, str(turns), folder], capture_output=True, text=True, env=quiet_environment())
    if child.returncode:
        sys.exit(f"{RIVALS[name].title} could not be measured at {turns} turns: {(child.stderr.strip().splitlines() or ['it said nothing'])[-1]}")
    return json.loads(child.stdout.splitlines()[-1])


def quiet_environment():
    """No library phones home while it is being measured."""
    return {**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}


def summary(samples):
    """``{figure: {"median", "minimum"}}`` of what several measurements agree to know; None where they don't."""
    return {figure: None if first is None else
            {"median": statistics.median(sample[figure] for sample in samples), "minimum": min(sample[figure] for sample in samples)}
            for figure, first in samples[0].items()}


def write(data):
    """The figures as data, then the page that is made from them."""
    for path, text in ((DATA, json.dumps(data, indent=1) + "\n"), (PAGE, page.render(data))):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        say(f"{path.relative_to(ROOT)} is written.")


def say(*lines):
    print(*lines, sep="\n", file=sys.stderr, flush=True) if lines else None


def _machine():
    import psutil  # Jupyter's kernel brings it; only this command needs it

    # The file system decides what a sync costs.
    folder = Path(tempfile.gettempdir()).resolve()
    mounts = [disk for disk in psutil.disk_partitions(all=True) if folder.is_relative_to(disk.mountpoint)]
    file_system = max(mounts, key=lambda disk: len(disk.mountpoint)).fstype if mounts else "unknown"
    if file_system in ("tmpfs", "ramfs"):
        sys.exit(f"The temp folder {folder} is in memory, where a sync costs nothing: set TMPDIR to a folder on a disk.")
    return {"system": platform.system(), "file_system": file_system, "cores": os.cpu_count(), "load": round(psutil.getloadavg()[0], 1),
            "python": platform.python_version(), "sqlite": sqlite3.sqlite_version}


def _options(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=_turns, nargs="+", metavar="N", help=f"(default {' '.join(map(str, TURNS))})")
    parser.add_argument("--quick", action="store_true", help="one round, the page printed instead of written")
    return parser.parse_args(arguments)


def _turns(text):
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text} is no number of turns; name a whole number from 2 up, so that there is a middle")
    return int(text)


if __name__ == "__main__":
    main(sys.argv[1:])
