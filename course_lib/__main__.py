"""The lesson-6 program: python -m course_lib [--resume] [--dir DIR] [--keep WAY] [--max-turns N] [--attempts N] [--live]

    CRASH_AFTER=after-effect-write:3 python -m course_lib      dies there, exit code 137
    python -m course_lib --resume                              goes on from the last save

Errors go to stderr as one sentence, exit code 1.
"""
import argparse
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

from . import checkpoint
from .agent import MAX_TURNS, run_agent
from .errors import CourseError
from .guard import owning, preflight, refuse_orphans
from .keeping import WAYS, way_of
from .log import print_line
from .model import explain, live_client
from .moments import Run, SimulatedCrash, as_text, parse_crash_after, plain, utc_now
from .scenarios.sales_report import SALES_REPORT
from .storage import reason, sync_folder


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise CourseError(f"{message[:1].upper()}{message[1:]}; see python -m course_lib --help.")


def main(argv=None):
    """Run the program; gives its exit code: 0 done, 1 error, 130 stopped from the keyboard, 137 killed."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that lacks a character must not end the run
    try:
        options = _parser().parse_args(argv)
        crash_after = parse_crash_after(os.environ.get("CRASH_AFTER"))
        with Run(crash_after=crash_after, listeners=[print_line], clock=_clock()) as run:
            text = "\n".join(map(plain, _work(options).splitlines()))
            print(f"[done] {text}", flush=True)
        if crash_after and run.counts.get(crash_after[0], 0) < crash_after[1]:
            print(f"The run ended and the crash never came: {crash_after[0]} happened {run.counts.get(crash_after[0], 0)} times.", file=sys.stderr)
        return 0
    except SimulatedCrash as crash:
        print(f"[kill] {crash}", flush=True)
        return 137
    except KeyboardInterrupt:
        print("Stopped from the keyboard; --resume goes on from the last save.", file=sys.stderr)
        return 130
    except CourseError as error:
        print(explain(error), file=sys.stderr)
        return 1
    except BrokenPipeError:  # who read our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # of the world's files, such as sales-notes.txt
        print(f"{error.filename or 'A file'} could not be used: {reason(error)}; put that right and resume.", file=sys.stderr)
        return 1
    except MemoryError:
        print("The memory of this process is not enough for what its files hold; give it more and resume.", file=sys.stderr)
        return 1
    except Exception as error:
        if not _is_from_the_sdk(error):
            raise
        print(explain(error), file=sys.stderr)
        return 1


def _parser():
    parser = _Parser(prog="python -m course_lib", description="Turn sales notes into a report, by an agent that can be killed and resumed.",
                     epilog="CRASH_AFTER=LABEL:N in the environment kills it at the N-th time LABEL happens.")
    parser.add_argument("--resume", action="store_true", help="go on from checkpoint.json instead of starting anew")
    parser.add_argument("--dir", type=Path, default=Path(), help="where the files live (default: the current folder)")
    parser.add_argument("--keep", choices=WAYS, help="what becomes of earlier saves: one file (the default), a file each or a line each in a history; a resume goes on as the run was begun")
    parser.add_argument("--attempts", type=_count, metavar="N", help="for a restart that nobody watches: give up after N resumes in a row without progress")
    parser.add_argument("--max-turns", type=_count, default=MAX_TURNS, metavar="N", help="pause when this many turns are used (default: %(default)s)")
    parser.add_argument("--live", action="store_true", help="ask the real API; needs ANTHROPIC_API_KEY")
    return parser


def _count(text):
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a whole number from 1 up")
    return int(text)


def _work(options):
    folder, scenario = options.dir, SALES_REPORT
    if os.path.isfile(folder):
        raise CourseError(f"--dir {folder} is a file, not a folder; choose another one.")
    _check_way(options)
    client = live_client() if options.live else scenario.client(folder)
    if not options.resume:
        _make(folder)
    with owning(folder):
        if not options.resume:
            preflight(folder)
            refuse_orphans(folder)
            scenario.lay_out(folder)
        return run_agent(client, scenario.task, scenario.tools(folder), folder=folder, resume=options.resume,
                         max_turns=options.max_turns, keep=options.keep or "file", attempts=options.attempts)


def _check_way(options):
    # Where nothing is saved yet there is nothing to resume, and that is said instead.
    way = way_of(options.dir)
    if options.resume and options.keep not in (None, way) and (way != "file" or os.path.exists(options.dir / checkpoint.FILE)):
        raise CourseError(f"This run keeps its saves as --keep {way} does, and a resume can't change that to {options.keep}; "
                          "resume it without --keep, or start over without --resume.")


def _clock():
    # SOURCE_DATE_EPOCH, as elsewhere, gives whoever wants the same bytes twice a time that stands still.
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if not epoch:
        return utc_now
    try:
        now = as_text(datetime.fromtimestamp(int(epoch), timezone.utc))
    except (ValueError, OverflowError, OSError):
        raise CourseError(f"SOURCE_DATE_EPOCH={epoch} is no time in seconds; correct it or take it out of the environment.") from None
    return lambda: now


def _make(folder):
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in new:
            sync_folder(each.parent)
    except OSError as error:
        raise CourseError(f"The folder {folder} can't be made: {reason(error)}; choose another one with --dir.") from error


def _is_from_the_sdk(error):
    return type(error).__module__.split(".")[0] in ("anthropic", "httpx2")


if __name__ == "__main__":
    sys.exit(main())
