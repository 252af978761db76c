"""moments.py: one stream of named instants, and the run that each belongs to."""
import re
from datetime import datetime, timedelta, timezone
from threading import Barrier, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import CourseError
from course_lib.moments import LABELS, Moment, Run, SimulatedCrash, crash_point, current, parse_crash_after, part, remark, utc_now


@pytest.fixture
def heard():
    return []


def counted(moments):
    return [(moment.label, moment.count) for moment in moments]


def test_the_labels_are_those_of_the_course_in_the_order_of_a_turn():
    assert list(LABELS) == """before-request after-response mid-save-a after-save-a after-approval mid-intent after-intent mid-tool after-tool
        mid-effect-write after-effect-write mid-save-b after-save-b mid-final-save after-final-save""".split()


# Telling

def test_each_label_is_counted_by_itself_from_one(heard):
    with Run(listeners=[heard.append]):
        for label in ["after-save-a", "after-save-b", "after-save-a", "my-own", "after-save-a"]:
            crash_point(label)
    assert counted(heard) == [("after-save-a", 1), ("after-save-b", 1), ("after-save-a", 2), ("my-own", 1), ("after-save-a", 3)]


def test_a_moment_carries_the_turn_and_what_the_announcer_knows(heard):
    with Run(listeners=[heard.append]) as run:
        run.turn, run.reconciling = 3, True
        crash_point("after-save-b", pending=None)
    assert heard == [Moment("after-save-b", count=1, turn=3, reconciling=True, facts={"pending": None})]


def test_all_listeners_hear_the_same_moments_in_the_same_order():
    told = []
    with Run(listeners=[lambda moment: told.append(("log", moment)), lambda moment: told.append(("timeline", moment))]):
        crash_point("mid-tool")
        remark("reconciled", id="toolu_01")
    assert [who for who, _ in told] == ["log", "timeline"] * 2
    assert told[0][1] is told[1][1]


def test_a_remark_is_told_and_neither_counted_nor_a_place_to_die(heard):
    with Run(listeners=[heard.append], crash_after=("resumed", 1)) as run:
        remark("resumed", pending="send_email")
        remark("resumed", pending="send_email")
    assert counted(heard) == [("resumed", 0)] * 2
    assert run.counts == {}


# Dying

@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_crash_comes_at_the_nth_time_of_its_label_and_the_listeners_hear_it_first(heard, n):
    with pytest.raises(SimulatedCrash, match=f"^simulated kill at after-tool:{n}$"), Run(listeners=[heard.append], crash_after=("after-tool", n)):
        for _ in range(5):
            crash_point("mid-tool")
            crash_point("after-tool")
    assert counted(heard) == [(label, i) for i in range(1, n + 1) for label in ("mid-tool", "after-tool")]


def test_a_label_of_ones_own_is_a_place_to_die_too():
    with pytest.raises(SimulatedCrash), Run(crash_after=("between-record-and-run", 1)):
        crash_point("between-record-and-run")


def test_no_handler_of_exceptions_survives_a_crash():
    def careless():
        try:
            crash_point("mid-tool")
        except Exception:
            return "lived on"
    with pytest.raises(SimulatedCrash), Run(crash_after=("mid-tool", 1)):
        careless()


# Runs don't meet

def test_a_run_inside_a_run_has_its_own_counts_and_the_outer_one_goes_on_after_it_even_after_a_crash(heard):
    with Run(listeners=[heard.append]) as outer:
        crash_point("mid-tool")
        with pytest.raises(SimulatedCrash), Run(crash_after=("mid-tool", 1)) as inner:
            crash_point("mid-tool")
        crash_point("mid-tool")
        assert current() is outer
    assert counted(heard) == [("mid-tool", 1), ("mid-tool", 2)]
    assert inner.counts == {"mid-tool": 1}


def test_runs_in_two_threads_have_their_own_counts_and_crashes():
    together, ends = Barrier(2), {}

    def work(name, crash_after):
        try:
            with Run(crash_after=crash_after) as run:
                for _ in range(50):
                    together.wait(timeout=10)
                    crash_point("mid-tool")
                    assert current() is run
            ends[name] = run.counts
        except SimulatedCrash as crash:
            ends[name] = str(crash)
    threads = [Thread(target=work, args=("a", ("mid-tool", 50))), Thread(target=work, args=("b", None))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == {"a": "simulated kill at mid-tool:50", "b": {"mid-tool": 50}}


def test_outside_a_run_every_call_works_and_nothing_stays_behind():
    with pytest.raises(SimulatedCrash), Run(crash_after=("mid-tool", 1), functions={"work": None}):
        crash_point("mid-tool")
    crash_point("mid-tool")
    remark("resumed")
    assert current().counts == {}
    assert (current().durability, current().crash_after, current().listeners, current().functions) == ("power-loss", None, [], {})


def test_a_students_function_stands_in_for_the_one_of_its_name_and_only_inside_its_run():
    def reconcile():
        return "the library's"
    with Run(functions={"reconcile": lambda: "the student's"}):
        assert part(reconcile)() == "the student's"
        with Run():
            assert part(reconcile)() == "the library's"
    assert part(reconcile)() == "the library's"


def test_a_misspelt_level_of_durability_is_refused_since_it_would_sync_nothing():
    with pytest.raises(ValueError, match="power-loss or kill, not powerloss"):
        Run(durability="powerloss")


def test_the_clock_tells_the_time_in_utc_with_milliseconds():
    before = datetime.now(timezone.utc)
    text = utc_now()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text), text
    assert timedelta(milliseconds=-1) <= datetime.fromisoformat(text) - before < timedelta(minutes=1)


# CRASH_AFTER

@pytest.mark.parametrize("text, meaning", [
    (None, None), ("", None), ("after-save-a:3", ("after-save-a", 3)), ("mid-final-save:1", ("mid-final-save", 1)), ("after-tool:120", ("after-tool", 120)),
])
def test_crash_after_is_read_as_a_label_and_a_count(text, meaning):
    assert parse_crash_after(text) == meaning


@pytest.mark.parametrize("text, problem", [
    ("after-save-c:1", "names no moment"), (":1", "names no moment"), ("AFTER-SAVE-A:1", "names no moment"), (" after-save-a:1", "names no moment"),
    ("resumed:1", "names no moment"), ("1:after-save-a", "names no moment"),
    ("after-save-a", "needs a count"), ("after-save-a:", "needs a count"), ("after-save-a:0", "needs a count"), ("after-save-a:-1", "needs a count"),
    ("after-save-a:1.5", "needs a count"), ("after-save-a:two", "needs a count"), ("after-save-a: 2", "needs a count"), ("after-save-a:1:2", "needs a count"),
    ("after-save-a:٣", "needs a count"), ("after-save-a:²", "needs a count"), ("after-save-a:1_0", "needs a count"), ("after-save-a:" + "9" * 5000, "needs a count"),
])
def test_a_bad_crash_after_is_refused_with_all_the_labels(text, problem):
    with pytest.raises(CourseError) as refusal:
        parse_crash_after(text)
    sentence = str(refusal.value)
    assert sentence.startswith(f"CRASH_AFTER={text} {problem}"), sentence
    assert [label for label in LABELS if label not in sentence] == []


@given(st.sampled_from(LABELS), st.integers(1, 10 ** 9 - 1))
def test_every_label_and_count_can_be_asked_for(label, n):
    assert parse_crash_after(f"{label}:{n}") == (label, n)


@given(st.text())
def test_any_other_text_is_a_course_error_and_nothing_worse(text):
    try:
        assert text == "" or parse_crash_after(text)[0] in LABELS
    except CourseError:
        pass
