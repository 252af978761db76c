"""The keys of the forms against the world: what the course says is right is what really happens, and what the lessons say."""
from dataclasses import replace

import pytest

from course_lib.checkpoint import FILE, load_checkpoint
from course_lib.grading import catalogue
from course_lib.grading.forms import drill, ex_2_1, ex_3_1, ex_5_1, ex_6_1
from course_lib.scenarios import SUPPORT_DESK, forecast, long_task
from course_lib.scenarios.fields import drop_each_field
from course_lib.scenarios.repeat import repeat
from course_lib.scenarios.runner import start


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """The folder of lesson 1's long task, really killed in turn 23 with nothing saved; then what starting over made of it."""
    folder = tmp_path_factory.mktemp("run")
    assert long_task.begin(folder, checkpoints=False, killed_in=23).status == "killed"
    left = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
    paid, held = long_task.tokens_paid(folder), {"toolu_23": long_task.holding(folder, "toolu_23")}
    long_task.go_on(folder, checkpoints=False)
    return folder, left, paid, held


def test_what_1_1_says_of_memory_state_and_output_is_what_a_kill_leaves(killed):
    _, left, _, held = killed
    key = catalogue.exercise("1.1").solution
    assert "Aveiro" in left[long_task.NOTES] and key["summary"] == {"kind": "memory", "survives": "yes"}
    assert "report-aveiro.md" in left and key["report"] == {"kind": "output", "survives": "yes"}
    assert FILE not in left and held["toolu_23"] == []  # no messages, no turns, no call under way
    assert {key[name]["survives"] for name in ("messages", "turns", "call", "analysis")} == {"no"}


def test_what_1_2_says_of_starting_over_is_what_it_does(killed):
    folder, left, paid, _ = killed
    key = catalogue.exercise("1.2").solution
    assert left[long_task.OUTBOX].splitlines()[-1].startswith("Guarda") and "Guarda" not in left[long_task.NOTES]
    assert key["mail"] == {"fate": "outside", "again": "twice"} and long_task.mailed(folder).count("Guarda") == 2
    assert key["notes"] == {"fate": "on-disk", "again": "twice"}
    assert (folder / long_task.NOTES).read_text(encoding="utf-8").count("Aveiro") == 2 * left[long_task.NOTES].count("Aveiro")
    assert key["reports"] == {"fate": "on-disk", "again": "replaced"}
    assert (folder / "report-aveiro.md").read_text(encoding="utf-8") == left["report-aveiro.md"]
    assert key["conversation"] == {"fate": "gone", "again": "paid-again"} and long_task.tokens_paid(folder)[len(paid):][:23] == paid


def test_each_field_that_2_1_calls_missing_breaks_a_resume_in_the_way_it_says():
    broken = {row.field: (row.kept, row.dropped) for row in drop_each_field() if row.kept != row.dropped}
    assert broken.keys() == ex_2_1.KEY.keys() | {"messages"}
    looked_at = {"misread": "misread", "which-task": "nothing", "dangling": "refused"}
    for field, how in ex_2_1.KEY.items():
        assert looked_at.get(how, "") in str(broken[field][1])
    assert broken["turns"][1] > broken["turns"][0] and broken["tokensUsed"][1] < broken["tokensUsed"][0]


def test_3_1_goes_as_lesson_3_says_and_as_the_runs_do():
    assert ex_3_1.KEY == {"closed": "ask", "read": "rerun", "email": "is-error", "log": "is-error", "failed": "ask", "finished": "stop"}


def test_a_tool_that_failed_leaves_nothing_to_settle(tmp_path):
    desk = SUPPORT_DESK["create_ticket"]

    def tools(folder):
        def down(input):
            raise OSError("the ticket system is down")
        found = desk.tools(folder)
        return {**found, "create_ticket": replace(found["create_ticket"], function=down)}

    scenario = replace(desk, tools=tools)
    start(scenario, tmp_path, crash_after=("after-save-b", 2))
    scene = load_checkpoint(tmp_path / FILE)
    assert scene["pendingToolUse"] is None and scene["messages"][-1]["content"][0]["is_error"]
    known = forecast.facts(scenario, tmp_path)
    assert forecast.branch(start(scenario, tmp_path, resume=True), known) == forecast.NOTHING


def test_4_1_rates_the_tools_as_ten_runs_of_them_do():
    key = catalogue.exercise("4.1").solution
    for tool in ("read_file", "send_email", "ensure_ticket", "append_log", "set_config", "delete_file"):
        assert repeat(tool, 10).is_idempotent == (key[tool]["idempotent"] == "yes"), tool


def test_5_1_takes_the_cuts_after_which_it_is_the_models_turn_and_nothing_is_open():
    assert ex_5_1.CUT_KEY == {"cut-1": "yes", "cut-2": "no", "cut-3": "yes", "cut-4": "no", "cut-5": "yes", "cut-6": "no", "cut-7": "yes", "cut-8": "no"}


def test_6_1_is_the_table_of_the_lesson():
    open_call = {"pending": "this-call", "result": "no", "ledger": "nothing", "reading": "rerun", "writing": "is-error"}
    assert ex_6_1.KEY == {
        "1": open_call, "2": open_call,
        "2b": {"pending": "this-call", "result": "no", "ledger": "entry", "reading": "reuse", "writing": "reuse"},
        "3": {"pending": "null", "result": "yes", "ledger": "entry", "reading": "nothing", "writing": "nothing"},
        "same": {"disk": "yes", "recovery": "yes", "tells": "unknown", "so": "shrink"}}


def test_the_world_of_6_1_differs_at_1_and_2_while_the_files_do_not():
    first, second = drill.seen(ex_6_1.code_of("1")), drill.seen(ex_6_1.code_of("2"))
    assert first.files == second.files and (first.verdict, second.verdict) == ("asks a human (not done)", "asks a human (done)")
