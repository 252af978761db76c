"""The forty-turn task of lesson 1, really killed, judged by its world and by the provider's bill."""
import json

import pytest

from course_lib.scenarios.long_task import LONG_TASK, SHOPS, TURNS, begin, go_on, holding, mailed, tokens_paid
from helpers import tools_run

SIX = ["Aveiro", "Braga", "Coimbra", "Evora", "Faro", "Guarda"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nobody killed."""
    folder = laid_out(tmp_path_factory.mktemp("whole"))
    assert begin(folder, checkpoints=False).status == "done"
    return folder


@pytest.fixture
def killed(tmp_path):
    """killed(checkpoints): the folder of a run killed in turn 23."""
    def kill(checkpoints, turn=23):
        outcome = begin(laid_out(tmp_path), checkpoints=checkpoints, killed_in=turn)
        assert (outcome.status, outcome.text) == ("killed", f"SIGKILL at after-tool:{turn}")
        return tmp_path
    return kill


def laid_out(folder):
    LONG_TASK.lay_out(folder)
    return folder


def noted(folder):
    return [line[2:].split(":")[0] for line in (folder / "NOTES.md").read_text().splitlines() if line.startswith("- ")]


def requests(folder):
    return [json.loads(line)["messages"] for line in (folder / "requests.jsonl").read_text().splitlines()]


def test_undisturbed_it_takes_forty_calls_and_a_last_answer(whole):
    assert len(tools_run(whole)) == TURNS == 40
    assert requests(whole) == [1 + 2 * turn for turn in range(41)]
    assert mailed(whole) == noted(whole) == list(SHOPS)
    assert len(tokens_paid(whole)) == 41


def test_each_request_costs_more_than_the_one_before(whole):
    paid = tokens_paid(whole)
    assert paid == sorted(set(paid))


def test_the_kill_comes_between_the_mail_and_its_record(killed):
    folder = killed(False)
    assert len(tools_run(folder)) == 23 and tools_run(folder)[-1] == "send_report"
    assert mailed(folder) == SIX and noted(folder) == SIX[:-1]
    assert requests(folder)[-1] == 45
    assert sorted(path.name for path in folder.glob("report-*")) == [f"report-{shop.lower()}.md" for shop in SIX]


def test_without_checkpoints_the_scene_is_nowhere(killed):
    folder = killed(False)
    assert not (folder / "checkpoint.json").exists() and not (folder / "effects.json").exists()
    assert holding(folder, "new courier") == holding(folder, "toolu_23") == []
    assert holding(folder, "faulty batch") == ["NOTES.md"] and holding(folder, "# Guarda") == ["report-guarda.md"]


def test_with_checkpoints_the_scene_is_in_the_checkpoint(killed):
    folder = killed(True)
    assert holding(folder, "new courier") == holding(folder, "toolu_23") == ["checkpoint.json"]


def test_starting_over_pays_again_and_does_it_again(killed, whole):
    folder = killed(False)
    before = tokens_paid(folder)
    assert before == tokens_paid(whole)[:23]
    assert go_on(folder, checkpoints=False).status == "done"
    assert tokens_paid(folder) == before + tokens_paid(whole)
    assert mailed(folder) == SIX + list(SHOPS)
    assert noted(folder) == SIX[:-1] + list(SHOPS)
    for report in whole.glob("report-*"):  # writing over leaves no trace
        assert (folder / report.name).read_bytes() == report.read_bytes()


@pytest.mark.parametrize("turn", [3, 23, 39])
def test_resuming_pays_once_and_leaves_the_world_of_an_undisturbed_run(killed, whole, turn):
    folder = killed(True, turn)
    assert go_on(folder, checkpoints=True).status == "done"
    assert tokens_paid(folder) == tokens_paid(whole)
    for name in ("outbox.txt", "NOTES.md", "journal.jsonl", "requests.jsonl", *(path.name for path in whole.glob("report-*"))):
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name


def test_killed_before_the_mail_went_out_it_is_sent_on_resume(tmp_path):
    from course_lib.scenarios.runner import start
    from course_lib.scenarios.long_task import run_agent_with_room
    start(LONG_TASK, laid_out(tmp_path), crash_after=("after-save-a", 23), functions={"run_agent": run_agent_with_room})
    assert mailed(tmp_path) == SIX[:-1]
    go_on(tmp_path, checkpoints=True)
    assert mailed(tmp_path) == list(SHOPS)
