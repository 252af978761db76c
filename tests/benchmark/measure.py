"""One rival, once, in a process of its own: ``python measure.py RIVAL TURNS FOLDER`` prints what it cost as one line of JSON.

With ``--run-only`` it stops after the turns; that is what is run under strace, see syncs.py.
"""
import json
import sys
import time
from contextlib import closing
from pathlib import Path

import workload
from rivals import open_store


def measure(name, turns, folder):
    """What the turns cost, what they left, and what it takes to come back, to rewind to the middle, to fork there and to go on from there.

    Times in seconds, sizes in bytes; None where the rival or the system has no answer.
    Raises AssertionError where a store doesn't give back the conversation that went in.
    """
    middle = turns // 2
    figures = run(name, turns, folder)
    figures["disk"] = on_disk(folder)
    with closing(open_store(name, folder)) as store:  # as another process would
        figures["resume"] = _given_back(turns, store.resume)
    with closing(open_store(name, folder)) as store:
        figures["rewind"] = _given_back(middle, store.rewind, middle)
        figures["walk"] = _given_back(middle, getattr(store, "walk", None), middle)
    before = on_disk(folder)
    with closing(open_store(name, folder)) as store:
        if store.fork:
            store.rewind(middle)  # one looks at a turn before leaving it; that look is not counted twice
        figures["fork"] = store.fork and _timed(store.fork, middle)[0]
    figures["fork_bytes"] = store.fork and on_disk(folder) - before
    with closing(open_store(name, folder)) as store:  # last: for some it takes away what comes after
        figures["go_back"] = store.go_back and _timed(store.go_back, middle)[0]
    if store.go_back:
        with closing(open_store(name, folder)) as store:
            kept = store.resume()[:1 + 2 * middle]  # ours has a note to the model behind them
            assert kept == workload.conversation(middle), f"going back to turn {middle} went elsewhere"
    return figures


def run(name, turns, folder):
    """The turns alone."""
    with closing(open_store(name, folder)) as store:
        if hasattr(store, "prepare"):
            store.prepare(turns)
        cpu, written = time.process_time(), _bytes_written()
        seconds, _ = _timed(store.run, turns)
        cpu = time.process_time() - cpu
        written = None if written is None else _bytes_written() - written
    return {"seconds": seconds, "cpu": cpu, "written": written}


def on_disk(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _given_back(turns, get, *arguments):
    """How long it takes to get the messages after that many turns; None where there is no way."""
    if get is None:
        return None
    seconds, messages = _timed(get, *arguments)
    assert messages == workload.conversation(turns), f"other messages came back than those of {turns} turns"
    return seconds


def _timed(work, *arguments):
    start = time.perf_counter()
    value = work(*arguments)
    return time.perf_counter() - start, value


def _bytes_written():
    """What this process has handed to the system's write calls so far; only Linux counts that."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return None
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])


if __name__ == "__main__":
    name, turns, folder, *option = sys.argv[1:]
    figures = (run if option == ["--run-only"] else measure)(name, int(turns), Path(folder))
    print(json.dumps(figures))
