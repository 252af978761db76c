"""A scenario around one function: the model calls it once; what it says of itself decides what a resume may do."""
import itertools
import json

import pytest

from course_lib.errors import CourseError
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.one_call import one_call
from course_lib.scenarios.policies import BLIND, LESSON_4, LESSON_6
from course_lib.scenarios.runner import start, start_in_child
from helpers import on_disk, read, tools_run


def add_line(folder, input):
    """Add a line to log.txt."""
    with open(folder / "log.txt", "a", encoding="utf-8") as file:
        file.write(f"{input['line']}\n")
    return {"lines": len((folder / "log.txt").read_text(encoding="utf-8").splitlines())}


def fail(folder, input):
    raise ConnectionError("the line is dead")


LINE = {"line": "checkout is down <&>"}


def ran(scenario, *crashes, policy=LESSON_6):
    run = Experiment(scenario, policy)
    for crash in crashes:
        assert run.run(crash).outcome.status == "killed"
    run.run()
    return run


def answer(run):
    """What the model was told of the call."""
    return read(run.folder / "checkpoint.json")["messages"][2]["content"][0]


def test_the_model_calls_it_once_and_sums_up():
    run = ran(one_call(add_line, LINE))
    assert run.legs[0].outcome.text == "add_line is done." and run.verdict == "once"
    assert (run.folder / "log.txt").read_text(encoding="utf-8") == LINE["line"] + "\n"
    assert [json.loads(line) for line in (run.folder / "journal.jsonl").read_text().splitlines()] == [{"tool": "add_line", "input": LINE}]
    saved = read(run.folder / "checkpoint.json")
    assert saved["messages"][1]["content"] == [{"type": "tool_use", "id": "toolu_01", "name": "add_line", "input": LINE}]
    assert (saved["task"], saved["turns"], answer(run)["content"]) == ("Call add_line once.", 1, '{"lines": 1}')


def test_the_tool_is_told_to_the_model_by_its_name_and_its_first_words(tmp_path):
    tool = one_call(add_line, LINE).tools(tmp_path)["add_line"]
    assert tool.description == "Add a line to log.txt." and not (tool.read_only or tool.idempotent or tool.high_impact)
    assert one_call(fail, {}).tools(tmp_path)["fail"].description == ""
    assert one_call(fail, {}, input_schema={"type": "object", "required": []}).tools(tmp_path)["fail"].input_schema["required"] == []


@pytest.mark.parametrize("nature, crash, verdict, lines", [
    ({}, "after-save-a", "asks a human (not done)", 0),
    ({}, "after-tool", "asks a human (done)", 1),
    ({}, "after-effect-write", "once", 1),
    ({"idempotent": True}, "after-tool", "asks a human (done)", 1),
    ({"read_only": True}, "after-save-a", "once", 1),
    ({"read_only": True}, "after-tool", "twice", 2),  # it says so, and is not
    ({"high_impact": True}, "after-approval", "asks a human (not done)", 0),
    ({"high_impact": True, "read_only": True}, "after-tool", "asks a human (done)", 1),
    ({"verify": lambda input, key: input == LINE and key == "toolu_01"}, "after-tool", "once", 1),
    ({"verify": lambda input, key: False}, "after-save-a", "once", 1),
    ({"verify": lambda input, key: False}, "after-tool", "twice", 2),  # it says so, and is wrong
    ({"verify": lambda input, key: None}, "after-tool", "asks a human (done)", 1),
], ids=lambda value: ", ".join(value) or "nothing" if isinstance(value, dict) else "")
def test_what_it_says_of_itself_decides_what_a_resume_does(nature, crash, verdict, lines):
    run = ran(one_call(add_line, LINE, **nature), (crash, 1))
    log = run.folder / "log.txt"
    assert run.verdict == verdict and (log.read_text().count("\n") if log.exists() else 0) == lines == len(tools_run(run.folder))
    assert answer(run).get("is_error", False) == verdict.startswith("asks")


def test_only_a_high_impact_call_has_a_moment_of_approval_and_it_comes_before_the_tool(tmp_path):
    def labels(folder, **nature):
        folder.mkdir()
        return [moment.label for moment in start(one_call(add_line, LINE, **nature), folder).moments if moment.count]
    plain, gated = labels(tmp_path / "plain"), labels(tmp_path / "gated", high_impact=True)
    assert "after-approval" not in plain and gated == [*plain[:4], "after-approval", *plain[4:]]
    assert plain == ["before-request", "after-response", "mid-save-a", "after-save-a", "after-tool", "mid-effect-write", "after-effect-write",
                     "mid-save-b", "after-save-b", "before-request", "after-response", "mid-final-save", "after-final-save"]


@pytest.mark.parametrize("policy, crash, verdict", [(BLIND, "after-tool", "twice"), (LESSON_4, "after-tool", "twice"),
                                                    (LESSON_4, "after-effect-write", "once"), (BLIND, "after-save-a", "once")])
def test_a_policy_that_runs_again_does_it_twice_where_the_tool_adds_up(policy, crash, verdict):
    run = ran(one_call(add_line, LINE, high_impact=True), (crash, 1), policy=policy)
    assert run.verdict == verdict and (run.folder / "log.txt").read_text() == f"{LINE['line']}\n" * (1 + (verdict == "twice"))


def test_a_tool_that_raises_has_not_happened_and_the_model_is_told_so():
    run = ran(one_call(fail, LINE))
    assert answer(run) == {"type": "tool_result", "tool_use_id": "toolu_01", "is_error": True,
                           "content": "fail failed: ConnectionError: the line is dead"}
    assert tools_run(run.folder) == [] and not (run.folder / "effects.json").exists() and run.verdict == "asks a human (not done)"


def test_a_tool_that_spoils_its_input_does_not_spoil_the_record():
    def greedy(folder, input):
        input.clear()
    run = ran(one_call(greedy, dict(LINE)), ("after-tool", 1))
    assert read(run.folder / "checkpoint.json")["messages"][1]["content"][0]["input"] == LINE
    assert run.rehearse().outcome.status == "done"


def test_a_tool_may_announce_moments_of_its_own():
    def in_two(folder, input):
        from course_lib import crash_point
        (folder / "one.txt").touch()
        crash_point("between")
        (folder / "two.txt").touch()
    run = ran(one_call(in_two, {}), ("between", 1))
    assert (run.folder / "one.txt").exists() and not (run.folder / "two.txt").exists()
    assert run.verdict == "asks a human (not done)" and run.crashes == [("between", 1)]


@pytest.mark.parametrize("crash", [("after-tool", 1), ("mid-effect-write", 1)])
def test_a_function_of_the_notebook_can_be_killed_for_real_and_leaves_the_same(tmp_path, crash):
    names = {"__name__": "__main__"}  # as in a notebook: carried into the child by value
    exec("STEP = 2\ndef add(folder, input):\n    with open(folder / 'sum.txt', 'a') as file:\n        file.write(str(STEP * input['n']))\n", names)
    scenario = one_call(names["add"], {"n": 21})
    for folder, begin in ((tmp_path / "here", start), (tmp_path / "child", start_in_child)):
        folder.mkdir()
        assert begin(scenario, folder, crash_after=crash).status == "killed"
    here, child = (sorted((name.split(".tmp")[0][:12], data) for name, data in on_disk(folder).items()) for folder in (tmp_path / "here", tmp_path / "child"))
    assert here == child and (tmp_path / "child" / "sum.txt").read_text() == "42"
    assert start_in_child(scenario, tmp_path / "child", resume=True).text.startswith("I can't confirm that add did its work")


def test_a_tool_that_never_comes_back_is_cut_off_in_a_child_and_its_line_quoted(tmp_path):
    def stuck(folder, input):
        for _ in itertools.count():
            pass
    outcome = start_in_child(one_call(stuck, {}), tmp_path, patience=0.4)
    assert outcome.text.startswith("stuck did not come back within 0.4 seconds and was cut off, at line ")
    assert read(tmp_path / "checkpoint.json")["pendingToolUse"]["name"] == "stuck" and tools_run(tmp_path) == []


@pytest.mark.parametrize("odd", ["readonly", "description"])
def test_what_a_tool_can_not_say_of_itself_is_refused_by_name(odd):
    with pytest.raises(CourseError, match=f"^A tool can't say {odd} of itself; it can say read_only, "):
        one_call(add_line, LINE, **{odd: True})
