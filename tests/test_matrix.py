"""The outcome matrix against a table made by hand, and against runs that are really killed."""
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from course_lib.scenarios import matrix as shortcut
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.matrix import crash_of, matrix
from course_lib.scenarios.oracle import ASKS_DONE, ASKS_NOT_DONE, LOST, ONCE, RAN_TWICE, TWICE
from course_lib.scenarios.policies import LESSON_6, POLICIES
from course_lib.scenarios.support_desk import SUPPORT_DESK
from helpers import on_disk

# --- the table ------------------------------------------------------------------------
# By lesson 4's question: if it quietly ran once more, would the world be in another state?

READS, OVERWRITES, ADDS, PAYS = "reads", "overwrites", "adds", "pays"
KINDS = {
    "read_file": READS,          # leaves nothing behind
    "set_config": OVERWRITES,    # the value is the value, however often it is set
    "write_file": OVERWRITES,    # the whole file, not a piece more
    "delete_file": OVERWRITES,   # gone is gone, since "not there" is no error
    "ensure_ticket": OVERWRITES,  # looks first: as good as an overwrite
    "send_email": ADDS,          # one more in the inbox
    "create_ticket": ADDS,       # one more ticket
    "append_log": ADDS,          # one more line
    "append_file": ADDS,         # one more piece
    "transfer": PAYS,            # adds; and of two equal ones nobody outside can say which was which
}
HIGH_IMPACT = {"send_email", "create_ticket", "delete_file", "transfer"}  # a person is asked before

# Where the policy lets the call run (again) on a resume, or asks a human, the kind of tool decides:
RUNS_AGAIN = {READS: RAN_TWICE, OVERWRITES: RAN_TWICE, ADDS: TWICE, PAYS: TWICE}
ASKS_THOUGH_NOT_DONE = {READS: ONCE, OVERWRITES: ASKS_NOT_DONE, ADDS: ASKS_NOT_DONE, PAYS: ASKS_NOT_DONE}  # a read is simply read
ASKS_ONCE_DONE = {READS: RAN_TWICE, OVERWRITES: ASKS_DONE, ADDS: ASKS_DONE, PAYS: ASKS_DONE}  # … and read again, for nothing worse

# What is on disk, and what has happened. Where nothing of this turn is saved, all policies alike resume at the last Point B
# and ask the model again.
NOTHING_SAVED = ("before-request after-response mid-save-a", ONCE,
                 "the last Point B is all there is, and nothing has happened: the model is asked again, and it happens for the first time")
B_SAVED = ("after-save-b", ONCE, "done, and its result is in messages: nothing is pending, so nothing is run")
A_SAVED = "after-save-a after-approval mid-tool"  # not done; a write_file may be half done, which says neither yes nor no
DONE_UNRECORDED = "after-tool mid-effect-write"  # ②: the one place where the files can't say what the world knows
RECORDED = ("after-effect-write mid-save-b", ONCE, "②': the ledger has its result, so it is done and is not run again")

EXPECTED = {
    "no-checkpoint": [
        ("before-request after-response after-approval mid-tool", ONCE,
         "nothing is ever saved, and it has not happened: starting over comes by and does it for the first time"),
        ("after-tool mid-effect-write after-effect-write", RUNS_AGAIN,
         "it has happened, and starting over does it again; an entry is no help, since a fresh start clears the ledger"),
    ],
    "only-b": [
        ("before-request after-response after-approval mid-tool", ONCE, "the call left no trace and has not happened: the model asks for it again"),
        (DONE_UNRECORDED, RUNS_AGAIN, "the call left no trace, but it has happened: the model asks for it again, and it happens again"),
        ("after-effect-write mid-save-b", RUNS_AGAIN,
         "it is in the ledger, under the id of a call nobody remembers; asked again the model gives a fresh id, which is a miss"),
        B_SAVED,
    ],
    "blind": [
        NOTHING_SAVED,
        (A_SAVED, ONCE, "it is pending, so it runs; as it happens, for the first time"),
        ("after-tool mid-save-b", RUNS_AGAIN, "it is pending, so it runs; nobody wrote down that it has happened"),
        B_SAVED,
    ],
    "no-ledger": [
        NOTHING_SAVED,
        (A_SAVED, ASKS_THOUGH_NOT_DONE, "it is pending, and the checkpoint can't say more: lesson 3 asks, though here one could have run it"),
        ("after-tool mid-save-b", ASKS_ONCE_DONE, "the same files as before it ran, so the same question; the window is as wide as the whole turn"),
        B_SAVED,
    ],
    "record-first": [
        NOTHING_SAVED,
        ("after-save-a after-approval mid-effect-write", ASKS_THOUGH_NOT_DONE, "nothing recorded, nothing done: as in lesson 6"),
        ("after-effect-write mid-tool", LOST, "the ledger says done, and it has not happened: the model is told it has, and nobody will do it"),
        ("after-tool mid-save-b", ONCE, "the ledger says done, and by now it is true (though what it returned is lost)"),
        B_SAVED,
    ],
    "lesson-4": [
        NOTHING_SAVED,
        (A_SAVED, ONCE, "not in the ledger, so it runs, and that is right: it never ran"),
        (DONE_UNRECORDED, RUNS_AGAIN, "not in the ledger, so it runs, and that is wrong: a miss does not mean that it never ran"),
        RECORDED,
        B_SAVED,
    ],
    "lesson-6": [
        NOTHING_SAVED,
        (A_SAVED, ASKS_THOUGH_NOT_DONE, "not in the ledger, so its state is unknown: the price of the stricter rule, where lesson 4 would have been right"),
        (DONE_UNRECORDED, ASKS_ONCE_DONE, "not in the ledger, so its state is unknown: what the stricter rule is for"),
        RECORDED,
        B_SAVED,
    ],
    "intent": [
        NOTHING_SAVED,
        ("after-save-a after-approval mid-intent", ONCE, "no intent on record, so it can't have started: it runs now"),
        ("after-intent mid-tool", ASKS_THOUGH_NOT_DONE, "about to start, says the intent, and not that it did: unknown, as in lesson 6"),
        (DONE_UNRECORDED, ASKS_ONCE_DONE, "the intent can't tell it from a call that died on its way: unknown, as in lesson 6"),
        RECORDED,
        B_SAVED,
    ],
    "key": [
        NOTHING_SAVED,
        (A_SAVED, ONCE, "the outside has not seen this key: it does it"),
        (DONE_UNRECORDED, ONCE, "the outside has seen this key: it gives its answer again, and does nothing"),
        RECORDED,
        B_SAVED,
    ],
    "verify": [
        NOTHING_SAVED,
        (A_SAVED, {READS: ONCE, OVERWRITES: ONCE, ADDS: ONCE, PAYS: ASKS_NOT_DONE},
         "one looks outside, and it has not happened, so it runs; an equal transfer could be another one, so that one stays unknown"),
        (DONE_UNRECORDED, {READS: RAN_TWICE, OVERWRITES: ONCE, ADDS: ONCE, PAYS: ASKS_DONE},
         "one looks outside, and it has happened, so it is not run; a read is not looked for but read again"),
        RECORDED,
        B_SAVED,
    ],
}


def happens(label, tool):
    """Whether a call of the tool comes by this moment."""
    return {"after-approval": tool in HIGH_IMPACT, "mid-tool": KINDS[tool] != READS}.get(label, True)


def expected_cells():
    """``{(tool, policy, label): (outcome, because)}``"""
    cells = {}
    for policy, rows in EXPECTED.items():
        for labels, outcome, because in rows:
            for tool, kind in KINDS.items():
                for label in filter(lambda label: happens(label, tool), labels.split()):
                    assert (tool, policy, label) not in cells, f"EXPECTED has {label} twice for {policy}"
                    cells[tool, policy, label] = (outcome[kind] if isinstance(outcome, dict) else outcome), because
    return cells


def complaints(cells):
    """Where the matrix and the table made by hand differ, in words."""
    expected = expected_cells()
    for cell in cells.keys() - expected.keys():
        yield (f"{'/'.join(cell)} is {cells[cell]!r}, and nobody has said what to expect: think it out, and give the tool its kind in KINDS, "
               "the policy its rows in EXPECTED, or the moment its place in a row, with the reason.")
    for cell in expected.keys() - cells.keys():
        yield f"{'/'.join(cell)} is expected to be {expected[cell][0]!r}, and the matrix has no such cell: is the tool, policy or moment gone?"
    for cell in expected.keys() & cells.keys():
        outcome, because = expected[cell]
        if cells[cell] != outcome:
            yield f"{'/'.join(cell)} is {cells[cell]!r} and should be {outcome!r}: {because}."


@pytest.fixture(scope="module")
def computed():
    """All cells, and the CPU seconds they took."""
    begin = time.process_time()
    return matrix(), time.process_time() - begin


def test_every_cell_is_as_reasoned_and_every_cell_was_reasoned_about(computed):
    wrong = sorted(complaints(computed[0]))
    assert not wrong, f"{len(wrong)} cells:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("change, words", [
    (lambda cells: matrix(["send_email"], [replace(LESSON_6, name="hope")]), "send_email/hope/before-request is 'once', and nobody has said"),
    (lambda cells: {("fax", "lesson-6", "after-tool"): TWICE}, "fax/lesson-6/after-tool is 'twice', and nobody has said"),
    (lambda cells: {("transfer", "key", "mid-payment"): ONCE}, "transfer/key/mid-payment is 'once', and nobody has said"),
    (lambda cells: {("transfer", "key", "after-tool"): TWICE}, "transfer/key/after-tool is 'twice' and should be 'once': the outside has seen this key"),
    (lambda cells: cells.pop(("append_log", "blind", "after-save-a")) and {}, "append_log/blind/after-save-a is expected to be 'once', and the matrix has no such cell"),
], ids=["new policy", "new tool", "new moment", "other outcome", "moment gone"])
def test_a_change_without_an_expectation_is_named(computed, change, words):
    cells = dict(computed[0])
    cells |= change(cells)
    found = list(complaints(cells))
    assert any(complaint.startswith(words) for complaint in found), found


# --- the shortcut, the time and the way there --------------------------------------------

@pytest.fixture
def columns(monkeypatch):
    """columns(tool, policy): by the matrix's own way, ``{label: (outcome, every file at the end)}``."""
    judge, known = shortcut.judge, {}
    monkeypatch.setattr(shortcut, "judge", lambda scenario, folder, outcome: (judge(scenario, folder, outcome), on_disk(folder)))

    def column(tool, policy):
        if (tool, policy) not in known:
            known[tool, policy] = shortcut.column(SUPPORT_DESK[tool], POLICIES[policy])
        return known[tool, policy]
    return column


def by_killing(cell, really):
    """The same by a run that dies at that moment: ``(outcome, every file at the end)``."""
    tool, policy, label = cell
    scenario, policy = SUPPORT_DESK[tool], POLICIES[policy]
    experiment = Experiment(scenario, policy)
    assert experiment.run(crash_of(scenario, policy, label), really=really).outcome.status == "killed", cell
    experiment.run()
    return experiment.verdict, on_disk(experiment.folder)


def test_cells_equal_runs_that_a_signal_really_killed(computed, columns):
    cells, draw = sorted(computed[0]), random.Random(4)
    chosen = [cell for policy in POLICIES for cell in draw.sample([cell for cell in cells if cell[1] == policy], 2)]
    chosen += draw.sample(sorted({*cells} - {*chosen}), 25 - len(chosen))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        killed = list(pool.map(lambda cell: by_killing(cell, really=True), chosen))
    for cell, outcome in zip(chosen, killed):
        assert outcome == columns(*cell[:2])[cell[2]], cell


def test_cells_equal_runs_that_a_simulated_crash_killed(computed, columns):
    for cell in random.Random(44).sample(sorted(computed[0]), 200):
        assert by_killing(cell, really=False) == columns(*cell[:2])[cell[2]], cell


def test_the_whole_matrix_is_cheap_and_costs_no_process(computed):
    # About 1 CPU second on the machine this was written on; the rest is for slower ones.
    assert computed[1] < 4, f"{len(computed[0])} cells took {computed[1]:.1f} CPU seconds"


def test_the_progress_is_told_after_each_tool_under_each_policy_and_can_stop_the_work():
    told = []

    def progress(done, of):
        told.append((done, of))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        matrix(["read_file", "transfer"], ["blind", LESSON_6], progress=progress)
    assert told == [(1, 4), (2, 4), (3, 4)]
