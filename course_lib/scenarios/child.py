"""The child of runner.start_in_child: runs a scenario and waits at every moment.

The job comes pickled as the first line of stdin. Then it speaks JSON Lines: each moment, and
each line that the code prints, on what was its stdout; after a moment it waits for a line on
what was its stdin; last comes the outcome. It never kills itself while the parent lives: that
does it, from outside. Code that does not come to its next moment in time is cut off, and a
turn that never ends has no moments after its first thousand.
"""
import base64
import faulthandler
import io
import json
import os
import pickle
import sys
import threading
from collections import Counter
from dataclasses import asdict

from .runner import start
from .student import Ended, broke_off, stand_ins

FLOOD = 100_000  # characters that code may print before the rest is dropped
MOST = 1000  # moments of one turn


def main():
    # The channel to the parent is taken out of everybody's reach; what is printed goes through it as such.
    parent, channel = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    job = pickle.loads(base64.b64decode(parent.readline()))
    sys.stdout = sys.stderr = _Printed(channel)
    moments, patience = Counter(), _Patience(job["patience"])

    def wait(moment):
        moments[moment.turn] += 1
        if moments[moment.turn] > MOST:
            return
        patience.stop()
        try:
            _say(channel, asdict(moment))
            told = parent.readline()
        except OSError:
            told = ""
        if not told:
            os._exit(1)  # the parent is gone: die here, as if killed; an exception would pass for a failed tool or a full disk
        patience.start()

    patience.start()
    functions = stand_ins(job["functions"], job["sources"])
    try:
        outcome = start(job["scenario"], job["folder"], resume=job["resume"], listeners=[wait], functions={**job["policy"], **functions})
        end = {"status": outcome.status, "text": outcome.text, "line": outcome.lines[-1], "refused": outcome.refused}
    except (Ended, Exception) as error:
        text = str(error) if isinstance(error, Ended) else broke_off(error)
        end = {"status": "error", "text": text, "line": text, "refused": False}
    _say(channel, end)


class _Patience:
    """Ends the process, its traceback on stderr, unless it is stopped in time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def start(self):
        self.timer = threading.Timer(self.seconds, _cut_off)
        self.timer.daemon = True
        self.timer.start()
        faulthandler.dump_traceback_later(self.seconds + 1, exit=True, file=2)  # for code that lets no other thread run

    def stop(self):
        self.timer.cancel()
        faulthandler.cancel_dump_traceback_later()


def _cut_off():
    faulthandler.dump_traceback(file=2)  # from a thread of Python's, so that nothing moves meanwhile
    os._exit(1)


class _Printed(io.TextIOBase):
    """What the code prints, on its way to the parent."""

    encoding = "utf-8"

    def __init__(self, channel):
        self.channel, self.left = channel, FLOOD

    def write(self, text):
        if self.left >= 0:
            more = text[self.left:] and "\n(more was printed, and is left out)\n"
            _say(self.channel, {"printed": text[:self.left] + more})
            self.left -= len(text)
        return len(text)


def _say(channel, value):
    channel.write(json.dumps(value) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
