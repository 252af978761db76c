"""What lesson 3, the landing page and the side-by-side page play: moves on a dangling call, endless restarts, broken conversations."""
import json
import re
from pathlib import Path

import nbformat
import pytest

from course_lib import cli, load_checkpoint
from course_lib.checkpoint import FILE, save_checkpoint
from course_lib.scenarios import SALES_REPORT, by_lesson
from course_lib.scenarios.broken import BROKEN, SOUND
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.moves import DELETE, MOVES, forget_the_call
from course_lib.scenarios.oracle import ASKS_DONE, ASKS_NOT_DONE, ONCE, RAN_TWICE, TWICE
from course_lib.scenarios.policies import keep_no_record
from course_lib.scenarios.restarts import ONE_MORE_LOOK, lives
from course_lib.scenarios.runner import start
from course_lib.scenarios.support_desk import SUPPORT_DESK
from course_lib.transcript import check_transcript

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "notebooks" / "en").glob("*.ipynb"))


def killed_and_resumed(tool, move, label):
    experiment = Experiment(SUPPORT_DESK[tool], move)
    experiment.run((label, 2))
    experiment.run()
    return experiment


# --- moves ---------------------------------------------------------------------------------

@pytest.mark.parametrize("move, tool, before, after", [
    # before: killed when nothing has been done yet; after: killed when the tool has done its work
    ("delete", "send_email", ONCE, TWICE),              # the model is asked anew and can't know of the first
    ("delete", "read_file", ONCE, RAN_TWICE),           # reading leaves nothing behind
    ("run again", "send_email", ONCE, TWICE),           # nobody asks whether it ran
    ("run again", "read_file", ONCE, RAN_TWICE),
    ("is_error", "send_email", ASKS_NOT_DONE, ASKS_DONE),   # runs nothing, claims nothing
    ("is_error", "read_file", ASKS_NOT_DONE, ASKS_DONE),
    ("by the tool", "send_email", ASKS_NOT_DONE, ASKS_DONE),
    ("by the tool", "read_file", ONCE, RAN_TWICE),      # a reader may run again
])
def test_a_move_ends_as_the_lesson_says(move, tool, before, after):
    assert killed_and_resumed(tool, MOVES[move], "after-save-a").verdict == before
    assert killed_and_resumed(tool, MOVES[move], "after-tool").verdict == after


def test_deleting_the_turn_leaves_two_e_mails_and_a_conversation_with_one():
    run = killed_and_resumed("send_email", DELETE, "after-tool")
    assert (run.folder / "outbox.jsonl").read_text().count("ada@example.org") == 2
    said = json.dumps(load_checkpoint(run.folder / FILE)["messages"])
    assert said.count('"name": "send_email"') == 1 and '"toolu_02_2"' in said and '"toolu_02"' not in said


def test_a_scene_with_nothing_pending_is_left_as_it_is(tmp_path):
    start(SUPPORT_DESK["send_email"], tmp_path, crash_after=("after-save-b", 1))
    assert forget_the_call(tmp_path / FILE) == load_checkpoint(tmp_path / FILE)


@pytest.mark.parametrize("move", MOVES)
def test_after_each_move_the_api_takes_the_conversation(move):
    run = killed_and_resumed("send_email", MOVES[move], "after-tool")
    assert run.legs[-1].outcome.status == "done"
    assert check_transcript(load_checkpoint(run.folder / FILE)["messages"], ends_with_user=False) == []


# --- lives -----------------------------------------------------------------------------------

def from_zero(path):
    return {**load_checkpoint(path), "turns": 0}


@pytest.mark.parametrize("cap", [1, 3, 5])
def test_the_cap_is_met_one_life_after_its_last_turn(tmp_path, cap):
    lived = lives(ONE_MORE_LOOK, tmp_path, ("after-save-b", 1), at_most=50, max_turns=cap)
    assert [life.status for life in lived] == ["killed"] * cap + ["done"]
    assert f"max of {cap} turns" in lived[-1].text
    assert load_checkpoint(tmp_path / FILE)["turns"] == cap


def test_with_turns_from_zero_no_life_meets_the_cap(tmp_path):
    lived = lives(ONE_MORE_LOOK, tmp_path, ("after-save-b", 1), at_most=50, max_turns=5, functions={"load_checkpoint": from_zero})
    assert [life.status for life in lived] == ["killed"] * 50
    assert len(load_checkpoint(tmp_path / FILE)["messages"]) == 1 + 2 * 50


def test_a_life_that_dies_before_its_turn_is_closed_never_moves_the_counter(tmp_path):
    lived = lives(ONE_MORE_LOOK, tmp_path, ("after-tool", 1), at_most=20, max_turns=5)
    assert len(lived) == 20 and load_checkpoint(tmp_path / FILE)["turns"] == 1


def test_lives_end_where_one_of_them_ends_by_itself(tmp_path):
    lived = lives(SUPPORT_DESK["read_file"], tmp_path, ("after-save-b", 1), at_most=50, functions={"save_effect": keep_no_record})
    assert [life.status for life in lived] == ["killed", "killed", "done"]      # two turns with a tool, then the answer


# --- conversations ----------------------------------------------------------------------------

def test_the_sound_conversation_is_sound():
    assert check_transcript(SOUND) == []


@pytest.mark.parametrize("name, found", [
    ("killed, then sent as it was", [("messages.1.content.0", "unanswered")]),
    ("a person spoke in between", [("messages.1.content.0", "unanswered"), ("messages.4.content.0", "orphan-result")]),
    ("text before the result", [("messages.2.content.1", "results-first")]),
    ("resumed twice", [("messages.2.content.1", "single-result")]),
    ("old messages cut away", [("messages.0.content.0", "orphan-result")]),
    ("one of two results lost", [("messages.1.content.0", "unanswered")]),
    ("an id used again", [("messages.3.content.0", "unique-id")]),
])
def test_each_broken_conversation_breaks_what_its_name_says(name, found):
    assert [(breach["where"], breach["rule"]) for breach in check_transcript(BROKEN[name])] == found


def test_no_broken_conversation_goes_untested():
    [mark] = test_each_broken_conversation_breaks_what_its_name_says.pytestmark
    assert {name for name, _ in mark.args[1]} == BROKEN.keys()


# --- the lessons' own files ---------------------------------------------------------------------

@pytest.mark.parametrize("name, text_kept", [("lesson-2.json", True), ("lesson-3.json", True), ("lesson-6.json", False)])
def test_point_a_of_each_lesson_resumes_to_the_end(tmp_path, name, text_kept):
    SALES_REPORT.lay_out(tmp_path)
    save_checkpoint(tmp_path / FILE, by_lesson.POINT_A[name])
    outcome = start(SALES_REPORT, tmp_path, resume=True)
    assert (outcome.status, outcome.lines[0]) == ("done", "[resume] read turn=1 pending=read_notes")
    kinds = [block["type"] for block in load_checkpoint(tmp_path / FILE)["messages"][1]["content"]]
    assert kinds == (["text", "tool_use"] if text_kept else ["tool_use"])


def test_the_three_files_are_the_instant_that_this_course_saves_too(tmp_path):
    start(SALES_REPORT, tmp_path, crash_after=("after-save-a", 1))
    ours = load_checkpoint(tmp_path / FILE)
    del ours["fingerprint"]  # a key that the lessons' programs don't write
    output = ours["tokensUsed"] - SALES_REPORT.client(tmp_path / "..").messages.create(
        model="m", max_tokens=1, messages=ours["messages"][:1]).to_dict()["usage"]["input_tokens"]
    assert by_lesson.LESSON_3 == ours
    assert by_lesson.LESSON_2 == {**ours, "turns": 0, "tokensUsed": output}
    assert by_lesson.LESSON_6 == {**ours, "messages": ours["messages"][:1]}


# --- pages ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_link_between_the_pages_leads_to_a_page(path):
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if not link.startswith("https://")]
    assert links and [link for link in links if not (path.parent / link).exists()] == []


def test_the_first_command_opens_the_landing_page_and_it_leads_to_every_page():
    landing = ROOT / cli.LESSON
    text = "\n".join(cell.source for cell in nbformat.read(landing, as_version=4).cells)
    assert landing.name == "index.ipynb"
    assert [path.name for path in PAGES if f"({path.name})" not in text and path != landing] == []


def test_the_readme_leads_to_every_page():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in PAGES if f"(notebooks/en/{path.name})" not in readme] == []
