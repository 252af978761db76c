"""A class graded: each answer once, by any concurrent.futures executor, in a ledger that a stop can't take away.

Answers travel as text and verdicts come back as JSON, so a worker may be on another machine. The
ledger is the course's own: ``{key: {"name": "check", "result": report, ...}}``, where the key is
made of the answer, the exercise, the language, the grader and whether there was a sandbox. It is written once a second: what a
kill takes is graded again, which does nothing twice that could hurt. (lessons 4 and 6)
"""
import dataclasses
import hashlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path

from ...errors import CourseError
from ...ledger import FILE, LedgerError, load_effects, save_effects, set_aside
from ...moments import alert, utc_now
from ...storage import reason
from ...values import storable
from ...words import language_in_use, tr, use_language
from ..catalogue import exercise
from ..exercise import CannotCheck
from ..report import CORRECT, INCORRECT, NOT_ATTEMPTED, UNCHECKED, Finding, Report, Slip
from .isolation import barred, isolated
from .submissions import find

PACKAGE = Path(__file__).resolve().parents[2]
SETTLED = {CORRECT, INCORRECT, NOT_ATTEMPTED}  # what could not be checked is tried again the next time
EVERY = 1.0  # seconds between two writes of the ledger


def grade(folder, out, *, executor=None, unsafe=False, progress=lambda done, total: None):
    """Grade every submission in a folder: ``[(Submission, Report), ...]``, with None where there was no answer to check.

    out: the folder that keeps the ledger; another call with the same one goes on where the last was
    stopped. executor: where the checks run; without one, threads of this process. unsafe: run
    programs without a sandbox. progress: called after each answer. Raises CourseError.
    """
    submissions, setting = find(folder, leave_out=(Path(out), Path(out) / FILE)), (language_in_use(), grader(), unsafe)
    jobs = {_key(each, *setting): (each.exercise, each.text, *setting) for each in submissions if not each.problem}
    with _kept(Path(out) / FILE) as (known, save):
        verdicts = {key: known[key]["result"] for key in jobs if key in known}
        todo = {key: job for key, job in jobs.items() if key not in verdicts}
        if executor is None and any(map(_runs_code, todo.values())) and barred(unsafe):
            raise CourseError(barred(unsafe))
        progress(len(verdicts), len(jobs))
        for key, verdict in _judged(todo, executor):
            verdicts[key] = verdict
            if verdict["outcome"] in SETTLED:
                known[key] = {"name": "check", "input": {"exercise": jobs[key][0]}, "result": storable(verdict), "at": utc_now()}
                save()
            progress(len(verdicts), len(jobs))
    return [(each, None if each.problem else _report(verdicts[_key(each, *setting)])) for each in submissions]


def judge(id, text, language, version, unsafe):
    """One answer's Report, as JSON; the job that an executor runs. Raises nothing for whatever the answer is or does."""
    if language != language_in_use():
        use_language(language)
    try:
        if version != grader():
            raise CannotCheck(tr("the course on this worker is not the one that gave out the work; install the same on both."))
        asked = exercise(id)
        with isolated(unsafe=unsafe) if asked.kind == "code" else nullcontext():
            report = asked.check(text)
    except CannotCheck as why:
        report = Report(id, UNCHECKED, problem=str(why))
    except Exception as error:  # a fault of ours; the rest of the class goes on
        report = Report(id, UNCHECKED, problem=_stumbled(error))
    return json.dumps(dataclasses.asdict(report))


@lru_cache
def grader():
    """What tells one version of the course from another: a hash of all its programs and words, and Python's version."""
    files = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".mo"))
    parts = [part for path in files for part in (path.relative_to(PACKAGE).as_posix().encode(), hashlib.sha256(path.read_bytes()).digest())]
    return hashlib.sha256(b"\0".join([repr(sys.version_info[:2]).encode(), *parts])).hexdigest()


def _key(submission, *setting):
    # Whether there was a sandbox is part of it: without one a program could have written verdicts itself.
    return hashlib.sha256(json.dumps([submission.exercise, submission.text, *setting]).encode()).hexdigest()


def _runs_code(job):
    return exercise(job[0]).kind == "code"


def _judged(todo, executor):
    """(key, verdict) of each job as it is done. A stop drops those that have not begun."""
    with nullcontext(executor) if executor else ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
        futures = {}
        try:
            for key, job in todo.items():
                futures[pool.submit(judge, *job)] = key
            for future in as_completed(futures):
                key = futures[future]
                try:
                    verdict = json.loads(future.result())
                except Exception as error:  # a worker that died, and nobody gave its work to another
                    verdict = dataclasses.asdict(Report(todo[key][0], UNCHECKED, problem=_stumbled(error)))
                yield key, verdict
        except (KeyboardInterrupt, GeneratorExit):  # the latter where who takes the verdicts was stopped
            alert(tr("Stopping. What is under way is finished first, which takes some seconds."))
            raise
        finally:
            for future in futures:
                future.cancel()


class _kept:
    """The ledger for the length of a block: (its entries, a function that saves them now and then); saved at the end, however that comes."""

    def __init__(self, path):
        self.path, self.next = path, 0

    def __enter__(self):
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CourseError(tr("{folder} can't be made: {why}; give another folder for the report.", folder=self.path.parent, why=reason(error))) from error
        try:
            self.known = {key: entry for key, entry in load_effects(self.path).items() if _is_verdict(entry)}
        except LedgerError:
            self.known = {}
            alert(tr("{file} is broken and was set aside as {moved}; every answer is graded anew.", file=self.path.name, moved=set_aside(self.path).name))
        return self.known, self.save

    def save(self):
        if time.monotonic() >= self.next:
            save_effects(self.path, self.known)
            self.next = time.monotonic() + EVERY

    def __exit__(self, *_):
        save_effects(self.path, self.known)


def _is_verdict(entry):
    try:
        return _report(entry["result"]).outcome in SETTLED
    except (KeyError, TypeError):
        return False


def _report(verdict):
    """A Report out of its JSON."""
    return Report(**{**verdict, "findings": [Finding(**finding) for finding in verdict["findings"]], "slip": verdict["slip"] and Slip(**verdict["slip"])})


def _stumbled(error):
    return tr("the grader itself stumbled over it: {error}", error=f"{type(error).__name__}: {error!s:.300}")
