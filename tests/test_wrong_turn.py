"""The scene of lesson 5: one world, several timelines; judged by the world's files."""
import pytest

from course_lib import effects_since, fork_from, go_back_to, load_latest
from course_lib.scenarios.wrong_turn import at_desk, begin, go_on, tools
from course_lib.transcript import check_transcript
from helpers import on_disk, tools_run

PROMISE, CORRECTION = "A new lamp is on its way to you.", "Please forget our mail about a new lamp"


@pytest.fixture(params=["turns", "history"])
def keep(request):
    return request.param


@pytest.fixture
def wrong(tmp_path, keep):
    """A finished run that took the wrong turn: its branch."""
    assert begin(tmp_path, keep=keep).text == "Ada has her money, and her new lamp is on its way."
    return tmp_path / "checkpoints"


def back(branch, turn, point=None):
    with at_desk(branch.parent):
        return go_back_to(turn, point, folder=branch, tools=tools(branch.parent))


def fork(branch, turn, name="plan-b"):
    with at_desk(branch.parent):
        return fork_from(turn, name, folder=branch, tools=tools(branch.parent))


def text(branch, name):
    return (branch.parent / name).read_text(encoding="utf-8")


def test_undisturbed_six_turns_pay_once_promise_a_lamp_and_send_it(wrong):
    assert tools_run(wrong.parent) == ["read_letter", "find_order", "pay_back", "send_email", "send_parcel", "write_report"]
    assert (text(wrong, "payments.txt"), text(wrong, "parcels.txt")) == ("R7: 40 to Ada\n", "lamp to Ada\n")
    assert load_latest(folder=wrong)["turns"] == 6 and check_transcript(load_latest(folder=wrong)["messages"], ends_with_user=False) == []


def test_taken_back_to_turn_3_the_agent_corrects_its_mail_and_the_mail_is_still_there(wrong):
    back(wrong, 3)
    assert go_on(wrong).status == "done"
    outbox = text(wrong, "outbox.txt").splitlines()
    assert len(outbox) == 2 and outbox[0].endswith(PROMISE) and CORRECTION in outbox[1]
    assert (text(wrong, "payments.txt"), text(wrong, "parcels.txt")) == ("R7: 40 to Ada\n", "lamp to Ada\n")
    assert text(wrong, "report.txt") == "R7: 40 paid back; a lamp was promised by mistake, and corrected.\n"


def test_taken_back_to_turn_2_it_pays_again_in_other_words_under_a_new_id(wrong):
    back(wrong, 2)
    outcome = go_on(wrong)
    assert text(wrong, "payments.txt") == "R7: 40 to Ada\n" * 2
    calls = [block for message in load_latest(folder=wrong)["messages"] if message["role"] == "assistant" for block in message["content"] if block["type"] == "tool_use"]
    assert next((call["id"], call["input"]) for call in calls if call["name"] == "pay_back") == ("toolu_03_2", {"order": "R7", "amount": "40.00"})
    assert any(line.startswith("[similar effect] pay_back (toolu_03_2) looks like pay_back (toolu_03)") for line in outcome.lines)


def test_with_a_business_key_the_bank_pays_once(tmp_path, keep):
    begin(tmp_path, keep=keep, business_key=True)
    back(tmp_path / "checkpoints", 2)
    go_on(tmp_path / "checkpoints", business_key=True)
    assert text(tmp_path / "checkpoints", "payments.txt") == "R7: 40 to Ada\n" and tools_run(tmp_path).count("pay_back") == 1


def test_a_careful_person_says_no_once_warned_and_only_then(tmp_path, keep):
    begin(tmp_path, keep=keep, careful=True)
    back(tmp_path / "checkpoints", 2)
    go_on(tmp_path / "checkpoints", careful=True)
    assert text(tmp_path / "checkpoints", "payments.txt") == "R7: 40 to Ada\n"
    assert text(tmp_path / "checkpoints", "asked.txt") == "pay_back: yes\npay_back: no\n"


def test_a_fork_knows_nothing_of_the_other_branch_and_leads_somewhere_else(wrong):
    before = on_disk(wrong)
    branch = fork(wrong, 2)
    assert go_on(branch).text == "Ada has her money back, as she asked."
    assert text(wrong, "payments.txt") == "R7: 40 to Ada\n" * 2
    assert text(wrong, "report.txt") == "R7: 40 paid back, no lamp sent.\n" and on_disk(wrong) == before
    assert PROMISE not in str(load_latest(folder=branch)["messages"])


@pytest.mark.parametrize("turn", [4, 5])
def test_a_fork_that_has_the_promise_in_its_conversation_corrects_it(wrong, turn):
    go_on(fork(wrong, turn))
    assert CORRECTION in text(wrong, "outbox.txt")


@pytest.mark.parametrize("turn", range(1, 7))
@pytest.mark.parametrize("act", [back, fork])
def test_from_every_turn_it_runs_to_an_answer_and_says_nothing_the_api_would_refuse(wrong, act, turn):
    made = act(wrong, turn)
    branch = made if act is fork else wrong
    assert go_on(branch).status == "done"
    messages = load_latest(folder=branch)["messages"]
    assert check_transcript(messages, ends_with_user=False) == []
    assert messages[-1]["content"][-1]["type"] == "text"


def test_taken_back_before_anything_was_promised_nothing_is_corrected(tmp_path, keep):
    begin(tmp_path, keep=keep, max_turns=3)
    branch = tmp_path / "checkpoints"
    back(branch, 2)
    assert [effect["id"] for effect in effects_since(2, folder=branch)] == ["toolu_03"]
    go_on(branch)
    assert text(branch, "outbox.txt") == "To ada@example.org: Your 40 euro are paid back.\n"


def test_killed_between_the_record_and_save_b_a_resume_sends_no_second_mail(tmp_path, keep):
    assert begin(tmp_path, keep=keep, crash_after=("after-effect-write", 4)).status == "killed"
    assert go_on(tmp_path / "checkpoints").status == "done"
    assert tools_run(tmp_path).count("send_email") == 1


def test_two_such_stories_leave_the_same_bytes(tmp_path, keep):
    for home in (tmp_path / "one", tmp_path / "two"):
        home.mkdir()
        begin(home, keep=keep)
        back(home / "checkpoints", 3)
        go_on(home / "checkpoints")
        go_on(fork(home / "checkpoints", 2))
    assert on_disk(tmp_path / "one") == on_disk(tmp_path / "two")


def test_run_ids_differ_between_branches(wrong):
    ids = [load_latest(folder=branch)["lineage"]["run"] for branch in (wrong, fork(wrong, 2), fork(wrong, 3, "plan-c"))]
    assert ids == ["run-1", "run-2", "run-3"]
