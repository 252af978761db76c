"""CrashLab without a browser: its controls are driven by the very messages a browser sends."""
import builtins
import dataclasses
import functools
import io
import json
import re
import sys
import time

import pytest
from markup import PAYLOADS, Parsed, is_only_ours
from test_prediction import files

from course_lib.errors import CourseError
from course_lib.moments import Moment
from course_lib.scenarios import SCENARIOS, runner
from course_lib.scenarios.experiment import AT_START, Experiment, Leg
from course_lib.scenarios.one_call import one_call
from course_lib.scenarios.policies import LESSON_6, POLICIES
from course_lib.scenarios.recording import Recording
from course_lib.scenarios.runner import Outcome, start
from course_lib.widgets.crash_lab import FILES, CrashLab

SALES = SCENARIOS["sales-report/write_report"]
HIT, UNKNOWN, LOST, ONCE = 1, 3, 5, 0  # places of choices in the form
DEMO = "sales-report/write_report/lesson-6/after-effect-write:3"


def change(control, **state):
    """As the browser does it."""
    control._handle_msg({"content": {"data": {"method": "update", "state": state}}, "buffers": []})


def click(button):
    assert not button.disabled, f"{button.description} is disabled"
    button._handle_msg({"content": {"data": {"method": "custom", "content": {"event": "click"}}}, "buffers": []})


def choose(lab, turn, words):
    """By the two lists."""
    change(lab.turn, index=[value for _, value in lab.turn.options].index(turn))
    change(lab.moment, index=next(i for i, (text, _) in enumerate(lab.moment.options) if words in text))


def predict(lab, branch, outcome):
    change(lab.branch, index=branch)
    change(lab.outcome, index=outcome)
    click(lab.commit_button)


def killed_at(turn, words, **options):
    lab = CrashLab("sales-report", **options)
    choose(lab, turn, words)
    click(lab.kill_button)
    return lab


def text_of(*widgets):
    return "".join(is_only_ours(widget.value).text for widget in widgets)


def is_shown(widget):
    return widget.layout.display != "none"


def world_of(lab):
    """The files of the run, temp names aside."""
    return {re.sub(r"\.[0-9a-f]{12}\.", ".….", name): data for name, data in files(lab.experiment.folder).items()}


# --- looking at a run -------------------------------------------------------------------

def test_before_anything_has_run_there_is_nothing_on_disk_and_nothing_to_kill():
    lab = CrashLab("sales-report")
    shown = text_of(lab.head, lab.view)
    assert "Nothing has been run yet." in shown and "Turn 1: before anything has run" in shown
    assert "checkpoint.json: not there" in shown and "effects.json: not there" in shown and "(nothing printed yet)" in shown
    assert lab.kill_button.disabled and not lab.run_button.disabled and lab.run_button.description == "Run to the end"
    assert not is_shown(lab.question) and is_shown(lab.timeline) and is_shown(lab.moments_row)


def test_looking_at_a_moment_runs_nothing():
    lab = CrashLab("sales-report")
    before = world_of(lab)
    choose(lab, 3, "②' the ledger knows")
    assert world_of(lab) == before and lab.experiment.legs == [] and lab.text == ""


def test_each_moment_shows_exactly_what_a_run_killed_there_has_on_disk(tmp_path):
    lab = CrashLab("sales-report")
    for number, (index, _, moment) in enumerate(lab.points[1:]):
        folder = tmp_path / str(number)
        folder.mkdir()
        SALES.lay_out(folder)
        start(SALES, folder, crash_after=(moment.label, moment.count))
        lab.choose(moment.label, moment.count)
        left = {re.sub(r"\.[0-9a-f]{12}\.", ".….", name): data for name, data in files(folder).items()}
        there = {re.sub(r"\.[0-9a-f]{12}\.", ".….", name): data for name, data in lab.leg.recording.files(index).items()}
        assert there == left, moment
        for name in [name for name in left if name in FILES or name.endswith(".tmp")]:
            assert f"{name}: {len(left[name])} byte" in Parsed(lab.view.value).text, (moment, name)


def test_the_lists_the_grid_and_the_arrows_lead_to_the_same_picture():
    lists, grid, arrows = (CrashLab("sales-report") for _ in range(3))
    choose(lists, 2, "① save A is on disk")
    cell = next(cell for row in grid.timeline.grid["rows"] if row["title"] == "turn 2" for cell in row["cells"] if cell and cell["mark"] == "①")
    change(grid.timeline, value=cell["index"])
    while arrows.moment.value != cell["index"]:
        click(arrows.later)
    for lab in (lists, grid, arrows):
        assert "after-save-a:2" in lab.head.value
        assert (lab.head.value, lab.view.value) == (lists.head.value, lists.view.value)
        assert (lab.turn.value, lab.moment.value, lab.timeline.value) == (2, cell["index"], cell["index"])
        assert not lab.kill_button.disabled


def test_the_arrows_stop_at_both_ends():
    lab = CrashLab("sales-report")
    click(lab.earlier)
    assert lab.moment.value == 0
    lab.choose("after-final-save", 1)
    click(lab.later)
    assert "after-final-save:1" in lab.head.value


def test_a_new_turn_begins_at_its_first_moment():
    lab = CrashLab("sales-report")
    choose(lab, 3, "②' the ledger knows")
    change(lab.turn, index=1)
    assert "before-request:2" in lab.head.value


def test_a_stale_click_on_a_cell_that_is_gone_changes_nothing():
    lab = CrashLab("sales-report")
    choose(lab, 3, "②' the ledger knows")
    seen = lab.view.value
    change(lab.timeline, value=9999)
    assert lab.view.value == seen and lab.alert.value == ""


def test_what_is_new_is_marked_against_the_moment_before():
    lab = CrashLab("sales-report")
    choose(lab, 3, "②' the ledger knows")
    shown = text_of(lab.view)
    assert re.search(r"checkpoint.json: \d+ bytes, unchanged", shown)
    assert '▶   "toolu_03": {' in shown and "▶ {" not in shown


def test_the_terminal_shows_the_lines_up_to_the_moment():
    lab = CrashLab("sales-report")
    choose(lab, 2, "① save A is on disk")
    assert "[turn 2][save A] pending=count_words" in lab.view.value and "[turn 2][save B]" not in lab.view.value


# --- kill, predict, resume --------------------------------------------------------------

def test_the_kill_leaves_what_was_looked_at_and_says_so():
    lab = CrashLab("sales-report")
    choose(lab, 3, "②' the ledger knows")
    expected = lab.leg.recording.files(lab.moment.value)
    click(lab.kill_button)
    assert world_of(lab) == expected
    shown = text_of(lab.head, lab.view)
    assert "The process is dead. This is what it left." in shown and "[kill] simulated kill at after-effect-write:3" in shown
    assert '▶   "toolu_03": {' in shown  # what the last moment changed is still marked
    assert lab.code == lab.code_field.value == DEMO


def test_until_a_prediction_is_made_nothing_of_the_resume_can_be_seen():
    lab = killed_at(3, "②' the ledger knows")
    assert is_shown(lab.question) and not is_shown(lab.timeline) and not is_shown(lab.moments_row)
    assert lab.kill_button.disabled and lab.run_button.disabled and not lab.commit_button.disabled
    assert len(lab.points) == len(lab.moment.options) == len(lab.turn.options) == 1 and lab.timeline.grid["columns"] == []
    shown = text_of(lab.answer, lab.head, lab.view, lab.alert)
    assert "[resume]" not in shown and "hit" not in shown and lab.answer.value == lab.alert.value == ""
    click(lab.later)
    change(lab.timeline, value=2)
    assert text_of(lab.answer, lab.head, lab.view, lab.alert) == shown


def test_a_resume_that_will_fail_is_not_given_away_either():
    lab = killed_at(1, "before the model is asked")
    assert lab.alert.value == "" and "no checkpoint" not in lab.head.value + lab.view.value


@pytest.mark.parametrize("branch, outcome", [(None, None), (HIT, None), (None, ONCE)])
def test_half_a_prediction_is_none(branch, outcome):
    lab = killed_at(3, "②' the ledger knows")
    change(lab.branch, index=branch)
    change(lab.outcome, index=outcome)
    click(lab.commit_button)
    assert "Choose one of each first." in lab.alert.value and lab.run_button.disabled and is_shown(lab.question)


def test_after_the_prediction_the_moments_of_the_resume_open_and_the_answer_does_not():
    lab = killed_at(3, "②' the ledger knows")
    predict(lab, HIT, ONCE)
    assert not is_shown(lab.question) and is_shown(lab.timeline) and is_shown(lab.moments_row)
    assert not lab.run_button.disabled and lab.run_button.description == "Resume, and run to the end"
    assert lab.answer.value == "" and "You look at what a resume will do" in lab.head.value
    assert [moment.label for _, _, moment in lab.points][:3] == [AT_START, "mid-save-b", "after-save-b"]
    choose(lab, 3, "③ save B is on disk")
    assert "ledger hit, reusing result, not re-running" in lab.view.value


def test_a_right_prediction_is_praised_with_the_bytes_that_decided_it():
    lab = killed_at(3, "②' the ledger knows")
    predict(lab, HIT, ONCE)
    click(lab.run_button)
    answer = text_of(lab.answer)
    assert answer.count("you were right") == 2 and answer.count("(your prediction)") == 2
    assert 'checkpoint.json, line 79: "pendingToolUse": { "id": "toolu_03"' in answer and 'effects.json, line 14: "toolu_03": {' in answer
    assert "The run is over: write_report happened once." in text_of(lab.head)
    assert "[done] Report written to report.txt, task complete." in text_of(lab.view) and "write_report ×1" in text_of(lab.view)
    assert lab.kill_button.disabled and lab.run_button.disabled


def test_a_wrong_prediction_gets_the_right_one_and_both_reasons():
    lab = killed_at(3, "② the tool has done its work")
    predict(lab, HIT, ONCE)
    click(lab.run_button)
    shown = lab.answer.value.split("<details>")[0]
    assert "not as predicted" in shown
    assert re.search(r"✓ [^<]*told &quot;state unknown&quot;", shown) and re.search(r"✗ [^<]*its result is reused.*?</b> \(your prediction\)<br>effects.json has no entry toolu_03", shown)
    assert "a person has to find that out" in text_of(lab.head)


def test_the_lesson_s_demo_gives_the_lesson_s_lines():
    lab = killed_at(3, "②' the ledger knows")
    predict(lab, HIT, ONCE)
    click(lab.run_button)
    assert lab.text.split("\n") == [
        "[turn 1][save A] pending=read_notes", "[turn 1][save B]", "[turn 2][save A] pending=count_words", "[turn 2][save B]",
        "[turn 3][save A] pending=write_report", "[kill] simulated kill at after-effect-write:3",
        "[resume] read turn=3 pending=write_report",
        "[resume][reconcile] tool_use_id=toolu_03 name=write_report ledger hit, reusing result, not re-running",
        "[turn 3][save B] filled in this turn's tool result after resume", "[done] Report written to report.txt, task complete."]


def test_the_resume_may_be_killed_too_and_what_becomes_of_it_stays_open():
    lab = killed_at(3, "②' the ledger knows")
    predict(lab, HIT, ONCE)
    choose(lab, 3, "in the middle of save B")
    click(lab.kill_button)
    answer = text_of(lab.answer)
    assert answer.count("you were right") == 1 and "what becomes of it is still open" in answer
    assert lab.code == f"{DEMO}/mid-save-b:1" and is_shown(lab.question) and lab.run_button.disabled
    assert (lab.branch.index, lab.outcome.index) == (None, None)
    predict(lab, HIT, ONCE)
    click(lab.run_button)
    assert text_of(lab.answer).count("you were right") == 2 and lab.text.count("[kill]") == 2 and "write_report ×1" in lab.view.value


def test_a_run_that_is_over_can_be_looked_back_at():
    lab = killed_at(3, "②' the ledger knows")
    predict(lab, HIT, ONCE)
    click(lab.run_button)
    answer = lab.answer.value
    choose(lab, 3, "as the crash left it")
    assert "[done]" not in lab.view.value and '▶   "toolu_03": {' in text_of(lab.view) and lab.answer.value == answer
    assert lab.kill_button.disabled


def test_a_run_killed_before_its_first_save_is_lost_and_may_start_over():
    lab = killed_at(1, "before the model is asked")
    predict(lab, LOST, LOST)
    click(lab.run_button)
    assert text_of(lab.answer).count("you were right") == 2
    assert "the run is lost, and only a fresh start is left" in text_of(lab.head) and not is_shown(lab.question)
    assert lab.run_button.description == "Start over, and run to the end"
    choose(lab, 1, "① save A is on disk")
    click(lab.kill_button)
    assert lab.code.endswith("/before-request:1/after-save-a:1")
    assert CrashLab(lab.code).text == lab.text


def test_a_policy_that_saves_nothing_starts_over_and_asks_for_no_prediction():
    lab = CrashLab("sales-report/write_report/no-checkpoint/after-tool:3")
    assert not is_shown(lab.question) and not lab.run_button.disabled and lab.run_button.description == "Start over, and run to the end"
    assert "You look at what starting over will do" in lab.head.value
    click(lab.run_button)
    assert "write_report ran more than once" in text_of(lab.head) and lab.answer.value == ""


def test_a_ledger_that_goes_aside_is_seen_going():
    lab = killed_at(3, "②' the ledger knows")
    (lab.experiment.folder / "effects.json").write_text("{torn")
    predict(lab, UNKNOWN, 2)
    choose(lab, 3, "in the middle of save B")
    assert "effects.json: removed a moment ago" in text_of(lab.view) and "[ledger set aside]" in lab.view.value


# --- reset, policy, scenario ------------------------------------------------------------

STATES = {
    "fresh": lambda: CrashLab("sales-report"),
    "killed": lambda: CrashLab(DEMO),
    "predicted": lambda: predict(lab := CrashLab(DEMO), HIT, ONCE) or lab,
    "over": lambda: predict(lab := CrashLab(DEMO), HIT, ONCE) or click(lab.run_button) or lab,
    "an alert": lambda: change(lab := CrashLab(DEMO), bad=1) or change(lab.code_field, value="no code") or click(lab.open_button) or lab,
}


@pytest.mark.parametrize("state", STATES)
def test_one_click_puts_files_and_world_back_from_any_state(state):
    lab, fresh = STATES[state](), CrashLab("sales-report")
    click(lab.reset_button)
    assert world_of(lab) == world_of(fresh) == {name: text.encode() for name, text in SALES.files.items()}
    for part in ("head", "view", "answer", "alert"):
        assert getattr(lab, part).value == getattr(fresh, part).value
    assert (lab.text, lab.code) == ("", "sales-report/write_report/lesson-6") and lab.committed is None
    assert (is_shown(lab.question), lab.kill_button.disabled, lab.run_button.disabled) == (False, True, False)


def test_another_policy_begins_anew_and_a_reset_keeps_it():
    lab = CrashLab(DEMO)
    change(lab.policy, index=list(POLICIES).index("no-ledger"))
    assert lab.text == "" and lab.code_field.value == "sales-report/write_report/no-ledger"
    choose(lab, 3, "② the tool has done its work")
    assert "effects.json: not there" in text_of(lab.view)
    click(lab.kill_button)
    click(lab.reset_button)
    assert lab.policy.value == "no-ledger" and lab.code == "sales-report/write_report/no-ledger"


def test_every_policy_can_be_chosen_by_its_title():
    lab = CrashLab("sales-report")
    assert lab.policy.options == tuple((policy.title, name) for name, policy in POLICIES.items()) and lab.policy.value == LESSON_6.name


@pytest.mark.parametrize("name", ["support-desk/send_email", "support-desk/delete_file"])
def test_the_world_shows_what_the_tool_touches(name):
    lab = CrashLab(name)
    lab.choose("after-tool", 2)
    shown = text_of(lab.view)
    touched = [file for file in SCENARIOS[name].files if file != "outage.txt"][0]
    assert f"{touched}: " in shown and "outage.txt:" not in shown


def test_a_scenario_may_be_given_itself_and_then_has_no_code_to_share():
    lab = CrashLab(SALES)
    assert not is_shown(lab.code_row) and is_shown(CrashLab("sales-report").code_row)


def test_a_name_that_is_no_scenario_is_refused_in_a_sentence():
    with pytest.raises(CourseError, match="'sales' is no scenario code"):
        CrashLab("sales")


@pytest.mark.parametrize("act, words", [
    (lambda lab: lab.kill(), "Choose a moment of the run first"),
    (lambda lab: lab.predict(0, 0), "nothing to predict now"),
    (lambda lab: lab.resume() or lab.resume(), "This run is over"),
])
def test_from_python_too_nothing_is_done_at_the_wrong_time(act, words):
    with pytest.raises(CourseError, match=words):
        act(CrashLab("sales-report"))


def test_a_moment_that_the_run_does_not_have_is_refused():
    with pytest.raises(ValueError, match="no moment after-tool:99"):
        CrashLab("sales-report").choose("after-tool", 99)


# --- codes ------------------------------------------------------------------------------

@pytest.mark.parametrize("code", [DEMO, f"{DEMO}/mid-save-b:1", "support-desk/send_email/lesson-4/after-tool:2"])
def test_a_code_pasted_elsewhere_brings_up_the_same_run(code):
    here, there = CrashLab(code), CrashLab("sales-report")
    change(there.code_field, value=f"  {here.code_field.value}\n")
    click(there.open_button)
    assert (there.code, there.text, there.head.value, there.view.value) == (code, here.text, here.head.value, here.view.value)
    assert world_of(there) == world_of(here) and is_shown(there.question) and there.policy.value == code.split("/")[2]


@pytest.mark.parametrize("code", ["", "nonsense", "a/b/c", "sales-report/write_report/none", f"{DEMO}/x", f"{DEMO}/after-tool:0",
                                  f"{DEMO}/after-tool:7", "sales-report/write_report/lesson-6/after-tool:99", "<script>/x/y", "../../etc/passwd", "x" * 100_000])
@pytest.mark.parametrize("state", ["fresh", "predicted"])
def test_a_wrong_code_is_told_and_the_state_is_kept(code, state):
    lab = STATES[state]()
    before = (lab.experiment, lab.committed, lab.text, lab.head.value, lab.view.value, world_of(lab), lab.run_button.disabled)
    change(lab.code_field, value=code)
    click(lab.open_button)
    assert "⚠" in text_of(lab.alert) and "<details>" not in lab.alert.value and len(lab.alert.value) < 3000
    assert before == (lab.experiment, lab.committed, lab.text, lab.head.value, lab.view.value, world_of(lab), lab.run_button.disabled)


def test_a_code_opened_with_own_functions_runs_them():
    lab = CrashLab("sales-report/write_report/lesson-6/after-tool:3", functions={"save_effect": forget})
    assert not (lab.experiment.folder / "effects.json").exists()


# --- errors -----------------------------------------------------------------------------

def test_an_error_in_a_callback_is_drawn_and_the_next_click_works(monkeypatch):
    lab = CrashLab("sales-report")
    choose(lab, 3, "②' the ledger knows")
    with monkeypatch.context() as broken:
        broken.setattr(Experiment, "run", lambda *_, **__: 1 / 0)
        click(lab.kill_button)
    assert "ZeroDivisionError: division by zero" in text_of(lab.alert) and "<details>" in lab.alert.value and 'role="alert"' in lab.alert.value
    assert lab.experiment.legs == [] and "after-effect-write:3" in lab.head.value
    click(lab.kill_button)
    assert lab.alert.value == "" and "The process is dead." in lab.head.value


def test_an_error_while_drawing_is_drawn_too(monkeypatch):
    lab = CrashLab("sales-report")
    monkeypatch.setattr("course_lib.widgets.crash_lab.picture", lambda *_: {}["gone"])
    change(lab.turn, index=1)
    assert "KeyError: 'gone'" in text_of(lab.alert)


# --- a student's own functions ----------------------------------------------------------

def forget(path, tool_use_id, entry):
    """A save_effect that writes nothing."""


def in_place(path, checkpoint):
    with open(path, "w") as file:
        json.dump(checkpoint, file, indent=2)


def stumble(path, checkpoint):
    if checkpoint["turns"] == 2:
        raise ValueError("<b>two</b>")
    in_place(path, checkpoint)


def stare(checkpoint, tools, *, effects_path):
    while True:
        pass


def talk(path, checkpoint):
    print("saving\x1b[31m", checkpoint["turns"], "<i>")
    in_place(path, checkpoint)


def rerun(checkpoint, tools, *, effects_path):
    call = checkpoint["pendingToolUse"]
    if call:
        return {"type": "tool_result", "tool_use_id": call["id"], "content": str(tools[call["name"]](call["input"]))}


def test_each_file_call_of_a_students_function_is_a_moment_with_a_name_of_its_own():
    lab = CrashLab("sales-report", functions={"save_checkpoint": in_place})
    names = [name for name, _ in lab.moment.options]
    assert any("in the middle of save A (open checkpoint.json for writing) #1" in name for name in names)
    assert len(set(names)) == len(names) > 5
    assert lab.real.value and lab.real.disabled and not is_shown(lab.code_row)


def test_a_function_from_a_notebook_is_no_different(monkeypatch):
    ipythons_open = functools.wraps(io.open)(lambda file, *args, **options: io.open(file, *args, **options))
    notebook = type(sys)("__main__")
    notebook.__dict__.update(open=ipythons_open, json=json, __builtins__=builtins)
    exec("def save_checkpoint(path, checkpoint):\n    with open(path, 'w') as file:\n        json.dump(checkpoint, file)\n", notebook.__dict__)
    lab = CrashLab("sales-report", functions={"save_checkpoint": notebook.save_checkpoint})
    assert [moment.label for _, _, moment in lab.points][3:5] == ["mid-save-a", "mid-save-a"]


def test_a_save_in_place_killed_half_way_is_lost_and_said_to_be_torn_not_missing():
    lab = CrashLab("sales-report", functions={"save_checkpoint": in_place})
    index, _, moment = next(point for point in lab.points if point[2].label == "mid-save-b" and point[2].count == 4)
    change(lab.timeline, value=index)
    click(lab.kill_button)
    assert "[kill] SIGKILL at mid-save-b:4" in lab.text and is_shown(lab.question)
    predict(lab, LOST, LOST)
    click(lab.run_button)
    answer = text_of(lab.answer)
    assert answer.count("you were right") == 2 and "checkpoint.json is there, and can't be trusted" in answer and "There is no checkpoint.json" not in answer


def test_an_error_in_a_students_function_is_told_in_words_with_the_line():
    lab = CrashLab("sales-report", functions={"save_checkpoint": stumble})
    alert = text_of(lab.alert)
    line = stumble.__code__.co_firstlineno + 2
    assert f'Your stumble raised ValueError: <b>two</b>, in line {line}: raise ValueError("<b>two</b>").' in alert and "Traceback" not in alert
    click(lab.run_button)
    assert "ValueError: <b>two</b>" in text_of(lab.alert) and "ValueError: <b>two</b>" in text_of(lab.view) and "stopped" in text_of(lab.head)
    click(lab.reset_button)
    choose(lab, 1, "③ save B is on disk")
    click(lab.kill_button)
    assert lab.text.endswith("[kill] SIGKILL at after-save-b:1")


def test_an_endless_loop_is_cut_off_and_the_widget_lives(monkeypatch):
    monkeypatch.setitem(runner.start_in_child.__kwdefaults__, "patience", 0.5)
    lab = CrashLab("sales-report", functions={"reconcile": stare})
    choose(lab, 3, "②' the ledger knows")
    click(lab.kill_button)
    predict(lab, HIT, ONCE)
    assert re.search(r"stare did not come back within 0\.5 seconds and was cut off, at line \d+: (while True:|pass)", text_of(lab.alert))
    click(lab.run_button)
    assert "has not been seen" in text_of(lab.answer) and "stare did not come back" in text_of(lab.alert)
    assert "stare did not come back" in text_of(lab.view)  # the last line, though the resume announced nothing after its start
    click(lab.reset_button)
    assert lab.alert.value == "" and "Nothing has been run yet." in lab.head.value


def test_what_a_students_function_prints_is_in_the_terminal_as_text():
    lab = CrashLab("sales-report", functions={"save_checkpoint": talk})
    click(lab.run_button)
    assert r"saving\x1b[31m 3 <i>" in text_of(lab.view)


def test_a_reconcile_that_runs_everything_is_judged_by_what_it_did():
    lab = CrashLab("sales-report", functions={"reconcile": rerun})
    choose(lab, 3, "②' the ledger knows")
    click(lab.kill_button)
    predict(lab, 2, 1)
    click(lab.run_button)
    answer = text_of(lab.answer)
    assert answer.count("you were right") == 2 and "this reconcile ran the call all the same" in answer and "write_report ×2" in answer


@pytest.mark.parametrize("functions, words", [({"save_checkpiont": in_place}, "save_checkpiont"), ({"reconcile": None}, "reconcile")])
def test_what_can_not_stand_in_is_refused_in_a_sentence(functions, words):
    with pytest.raises(CourseError, match=words):
        CrashLab("sales-report", functions=functions)


# --- real kills, and the presenter ------------------------------------------------------

def test_a_real_kill_streams_its_lines_one_by_one_and_leaves_the_same_files():
    simulated, lab, seen = killed_at(3, "②' the ledger knows"), CrashLab("sales-report"), []
    change(lab.real, value=True)
    choose(lab, 3, "②' the ledger knows")
    lab.view.observe(lambda event: seen.append(Parsed(event["new"]).text.count("[turn ")), "value")
    click(lab.kill_button)
    assert seen[:5] == [1, 2, 3, 4, 5]
    assert "[kill] SIGKILL at after-effect-write:3" in lab.text
    assert world_of(lab) == world_of(simulated) and lab.code == simulated.code


def test_while_a_child_runs_the_files_stay_in_sight():
    lab, seen = CrashLab("sales-report", really=True), []
    choose(lab, 3, "②' the ledger knows")
    lab.view.observe(lambda event: seen.append(event["new"]), "value")
    click(lab.kill_button)
    assert all("checkpoint.json" in Parsed(markup).text and "toolu_03" in markup for markup in seen)


def test_a_real_resume_goes_on_below_the_lines_of_the_start():
    lab, seen = killed_at(3, "②' the ledger knows", really=True), []
    predict(lab, HIT, ONCE)
    lab.view.observe(lambda event: seen.append(event["new"]), "value")
    click(lab.run_button)
    assert len(seen) > 3 and all("[kill] SIGKILL at after-effect-write:3" in markup for markup in seen)
    lines = lab.text.split("\n")
    assert lines.index("[kill] SIGKILL at after-effect-write:3") < lines.index("[resume] read turn=3 pending=write_report")
    assert text_of(lab.view).count("[turn 1][save A]") == 1


def test_a_presenter_is_never_asked_and_kills_for_real():
    lab = killed_at(3, "②' the ledger knows", presenter=True)
    assert "course-presenter" in lab._dom_classes and lab.real.value and "SIGKILL" in lab.text
    assert not is_shown(lab.question) and is_shown(lab.timeline) and not lab.run_button.disabled
    choose(lab, 3, "③ save B is on disk")
    click(lab.run_button)
    assert lab.answer.value == "" and "write_report happened once" in lab.head.value
    click(lab.reset_button)
    assert "Nothing has been run yet." in lab.head.value and lab.real.value


# --- the static twin --------------------------------------------------------------------

@pytest.mark.parametrize("make", [lambda: CrashLab("sales-report"), lambda: CrashLab(DEMO), lambda: CrashLab(f"{DEMO}/mid-save-b:1"),
                                  lambda: CrashLab("sales-report/write_report/lesson-6/mid-effect-write:2"),
                                  lambda: CrashLab("sales-report", functions={"save_checkpoint": in_place})])
def test_the_static_twin_is_plain_html_the_same_each_time(make):
    one, other = (make()._repr_mimebundle_()[0] for _ in range(2))
    assert (one["text/html"], one["text/plain"]) == (other["text/html"], other["text/plain"])
    text = is_only_ours(one["text/html"]).text
    assert "checkpoint.json" in text and "effects.json" in text and "Terminal" in text
    assert not re.search(r"<style|IPY_MODEL|[0-9a-f]{12}|/tmp|course-\w{8}", one["text/html"])
    assert re.fullmatch(r"CrashLab\('[a-z0-9_:/-]+'\)", one["text/plain"])


def test_the_static_twin_of_a_kill_does_not_give_the_resume_away():
    assert "[resume]" not in CrashLab(DEMO).static_html()


# --- hostile text -----------------------------------------------------------------------

@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_in_a_task_a_call_a_result_and_a_file_is_text_in_every_part(payload):
    def record(folder, input):
        name = "".join(c for c in payload if c not in "/\0" and not "\ud800" <= c <= "\udfff") or "x"
        (folder / name[:60]).write_text(payload, encoding="utf-8", errors="backslashreplace")
        return {payload: payload}

    scenario = one_call(record, {"text": payload.replace("\ud800", "")})
    lab = CrashLab(dataclasses.replace(scenario, task=scenario.task + payload.replace("\ud800", "")))
    parts = (lab.answer, lab.head, lab.view, lab.alert)
    for _, _, moment in lab.points[1:]:
        lab.choose(moment.label, moment.count)
        text_of(*parts)
    choose(lab, 1, "②' the ledger knows")
    click(lab.kill_button)
    text_of(*parts)
    predict(lab, HIT, ONCE)
    click(lab.run_button)
    assert "record happened once" in text_of(*parts) and lab.alert.value == ""
    is_only_ours(lab.static_html())


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_label_of_a_students_own_is_text_too(payload):
    lab = CrashLab("sales-report")
    lab.points = [*lab.points[:2], (2, 1, Moment(payload, 1, 1, facts={"call": payload}))]
    lab._go(2)
    assert all(c.isprintable() for name, _ in lab.moment.options for c in name)
    json.dumps(lab.timeline.grid).encode()
    assert text_of(lab.head)


# --- size -------------------------------------------------------------------------------

def cpu(action):
    began = time.process_time()
    action()
    return time.process_time() - began


@pytest.mark.parametrize("result", ["x" * 10_000_000, "a line\n" * 1_400_000, "<script>" * 1_250_000, "é" * 5_000_000], ids=["x", "lines", "markup", "letters"])
def test_a_result_of_ten_megabytes_is_drawn_at_once(result):
    def fetch(folder, input):
        (folder / "page.txt").write_text(result, encoding="utf-8")
        return result

    lab = CrashLab(one_call(fetch, {}))
    for index, _, moment in lab.points:
        took = cpu(lambda: change(lab.timeline, value=index))
        assert took < 0.6, f"{moment.label}: {took:.3f} s of CPU"
        assert len(lab.view.value) < 200_000
    choose(lab, 1, "②' the ledger knows")
    click(lab.kill_button)
    predict(lab, HIT, ONCE)
    assert cpu(lambda: click(lab.later)) < 0.6
    click(lab.run_button)
    assert "fetch happened once" in lab.head.value and "more characters" in lab.view.value
    assert len(lab.answer.value + lab.view.value) < 200_000


@pytest.fixture(scope="module")
def long_leg(tmp_path_factory):
    """A run of 1000 turns, as its moments and files; the run itself would take the time that saving it a thousand times takes."""
    folder = tmp_path_factory.mktemp("long")
    record, messages, effects = Recording(folder), [], []
    record(Moment(AT_START, 0, 0))

    def save(name, text, moment, turn):
        temp = folder / f"{name}.0123456789ab.tmp"
        temp.write_text(text[:len(text) // 2])
        record(Moment(f"mid-{moment}", turn, turn))
        temp.write_text(text)
        temp.replace(folder / name)
        record(Moment(f"after-{moment}", turn, turn, facts={"pending": "look"}))

    def checkpoint(turn, pending):
        body = ",\n".join(messages)
        return f'{{\n  "version": 1,\n  "turns": {turn},\n  "messages": [\n{body}\n  ],\n  "pendingToolUse": {pending}\n}}'

    for turn in range(1, 1001):
        call = json.dumps({"type": "tool_use", "id": f"toolu_{turn:04}", "name": "look", "input": {"page": turn}}, indent=2)
        record(Moment("before-request", turn, turn))
        messages.append(call)
        save("checkpoint.json", checkpoint(turn, call), "save-a", turn)
        record(Moment("after-tool", turn, turn))
        effects.append(f'  "toolu_{turn:04}": {{\n    "name": "look",\n    "result": "page {turn}"\n  }}')
        save("effects.json", "{\n" + ",\n".join(effects) + "\n}", "effect-write", turn)
        messages.append(json.dumps({"role": "user", "content": f"page {turn} " * 5}, indent=2))
        save("checkpoint.json", checkpoint(turn, "null"), "save-b", turn)
    return Leg(Outcome("done", lines=[f"line {i}" for i in range(4000)], moments=record.moments), record)


def test_a_run_of_a_thousand_turns_is_drawn_at_once(long_leg, monkeypatch):
    monkeypatch.setattr(Experiment, "rehearse", lambda experiment: long_leg)
    lab = CrashLab("sales-report")
    assert len(lab.turn.options) == 1000
    for turn in (1, 500, 999, 1000):
        assert cpu(lambda: change(lab.turn, index=turn - 1)) < 0.6
        assert cpu(lambda: change(lab.moment, index=len(lab.moment.options) - 1)) < 0.6
        assert f"after-save-b:{turn}" in lab.head.value and f"page {turn} " in lab.view.value
        assert len(lab.timeline.grid["rows"]) <= 13 and len(lab.view.value) < 200_000
    assert cpu(lambda: click(lab.earlier)) < 0.6
