"""The child of runner.start_in_child: runs a scenario and waits at every moment.

Speaks JSON Lines: each moment on stdout, then it waits for a line on stdin; last a line
with the status. It never kills itself while the parent lives: that does it, from outside.
"""
import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from . import SCENARIOS
from .runner import start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    outcome = start(SCENARIOS[options.scenario], options.folder, resume=options.resume, listeners=[_wait])
    _say({"status": outcome.status, "text": outcome.text, "line": outcome.lines[-1]})


def _wait(moment):
    try:
        _say(asdict(moment))
        told = sys.stdin.readline()
    except OSError:
        told = ""
    if not told:
        os._exit(1)  # the parent is gone: die here, as if killed; an exception would pass for a failed tool or a full disk


def _say(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
