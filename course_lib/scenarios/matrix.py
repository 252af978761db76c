"""The outcome matrix: every moment × every policy × every kind of tool, each cell by really running it.

One run of each tool under each policy is recorded at every moment. What a kill at a moment
leaves is what was on disk then, so each cell lays that out in a folder, goes on from it to
the end, and asks the oracle. Equal folders go on equally and are run once; a test kills
for real and compares.
"""
import os
import tempfile
from pathlib import Path

from ..errors import CourseError
from ..moments import LABELS
from .oracle import judge
from .policies import POLICIES, start_under
from .recording import Recording
from .support_desk import SUPPORT_DESK

TURN = 2  # the turn of the call in question


def memory_folder():
    """Where short-lived folders are cheapest: in memory, where the system has such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def matrix(tools=tuple(SUPPORT_DESK), policies=tuple(POLICIES), *, progress=lambda done, of: None):
    """All cells: ``{(tool, policy, label): outcome}``, by name; a label that never happens there is absent.

    tools: names. policies: names or Policy objects.
    progress(done, of) is told after each tool under each policy; what it raises stops the work.
    Raises CourseError where a student's code, in a policy's ``own``, does not get through a run.
    """
    chosen = [POLICIES[policy] if isinstance(policy, str) else policy for policy in policies]
    cells, pairs = {}, [(tool, policy) for tool in tools for policy in chosen]
    for done, (tool, policy) in enumerate(pairs, 1):
        cells |= {(tool, policy.name, label): outcome for label, outcome in column(SUPPORT_DESK[tool], policy).items()}
        progress(done, len(pairs))
    return cells


def column(scenario, policy):
    """The cells of one tool under one policy, in the order of the moments: ``{label: outcome}``."""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as home:
        first = Path(home) / "first"
        first.mkdir()
        scenario.lay_out(first)
        recording = Recording(first)
        rehearsal = start_under(policy, scenario, first, crash_after=("before-request", TURN + 1),  # what comes later is not asked for
                    listeners=[lambda moment: moment.turn == TURN and recording(moment)])
        _refuse_broken(policy, rehearsal)
        cells, known = {}, {}
        for index, moment in enumerate(recording.moments):
            if moment.label in LABELS:
                left = {name: data for name, data in recording.files(index).items() if not name.endswith(".tmp")}
                state = tuple(left.items())  # temp files are swept before anything is read, so they make no difference
                if state not in known:
                    known[state] = _go_on(scenario, policy, left, Path(home) / f"cell-{index}")
                cells.setdefault(moment.label, known[state])
        return {label: cells[label] for label in LABELS if label in cells}


def crash_of(scenario, policy, label):
    """The crash that a cell stands for: ``(label, n)``, n counted from the start of the run."""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder:
        moments = start_under(policy, scenario, folder).moments
    return next((moment.label, moment.count) for moment in moments if (moment.turn, moment.label) == (TURN, label))


def _go_on(scenario, policy, files, folder):
    """Lay out what the crash left, go on to the end, and judge."""
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    outcome = start_under(policy, scenario, folder, resume=not policy.restarts)
    if outcome.cut_off:
        _refuse_broken(policy, outcome)  # else each cell would wait for it anew
    return judge(scenario, folder, outcome)


def _refuse_broken(policy, outcome):
    """Raise CourseError where a student's code stops the run by itself: there is nothing to put into a table then."""
    if policy.own and outcome.status == "error":
        raise CourseError(f"{outcome.text} Your functions get no column until that is mended.")
