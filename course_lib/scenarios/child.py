"""The child of runner.start_in_child: runs a scenario and waits at every moment.

The job comes pickled as the first line of stdin. Then it speaks JSON Lines: each moment, and
each line that the code prints, on what was its stdout; after a moment it waits for a line on
stdin; last comes the outcome. It never kills itself while the parent lives: that does it,
from outside. Code that does not come to its next moment in time is cut off.
"""
import base64
import faulthandler
import json
import os
import pickle
import sys
from dataclasses import asdict

from .runner import start
from .student import blame, stand_ins

FLOOD = 100_000  # characters that code may print before the rest is dropped


def main():
    job = pickle.loads(base64.b64decode(sys.stdin.readline()))
    # The channel to the parent is taken out of everybody's reach; what is printed goes through it as such.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = _Printed(channel)

    def wait(moment):
        faulthandler.cancel_dump_traceback_later()
        try:
            _say(channel, asdict(moment))
            told = sys.stdin.readline()
        except OSError:
            told = ""
        if not told:
            os._exit(1)  # the parent is gone: die here, as if killed; an exception would pass for a failed tool or a full disk
        faulthandler.dump_traceback_later(job["patience"], exit=True)

    faulthandler.dump_traceback_later(job["patience"], exit=True)
    functions = stand_ins(job["functions"])
    try:
        outcome = start(job["scenario"], job["folder"], resume=job["resume"], listeners=[wait], functions={**job["policy"], **functions})
        end = {"status": outcome.status, "text": outcome.text, "line": outcome.lines[-1], "refused": outcome.refused}
    except SystemExit:
        end = {"broke": "Your code called exit, which ends the whole program; return a value instead", "frame": None}
    except Exception as error:
        text, frame = blame(error, job["functions"])
        end = {"broke": text, "frame": frame}
    _say(channel, end)


class _Printed:
    """What the code prints, on its way to the parent."""

    encoding = "utf-8"

    def __init__(self, channel):
        self.channel, self.left = channel, FLOOD

    def write(self, text):
        if text and self.left > 0:
            _say(self.channel, {"printed": text[:self.left]})
            self.left -= len(text)
        return len(text)

    def flush(self):
        pass


def _say(channel, value):
    channel.write(json.dumps(value) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
