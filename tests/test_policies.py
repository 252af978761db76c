"""Each recovery policy is what it claims: what it writes and when, whom it asks, what a resume makes of it."""
import inspect
import json
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib import agent, checkpoint, ledger, resume, tools
from course_lib.moments import ALERT, LABELS
from course_lib.scenarios import world
from course_lib.scenarios.oracle import ASKS_DONE, ONCE, TWICE, judge
from course_lib.scenarios.policies import INTENT, KEY, LESSON_4, LESSON_6, POLICIES, VERIFY, reconcile_by_asking, start_under
from course_lib.scenarios.scenario import turn
from course_lib.scenarios.support_desk import CALLS, SUPPORT_DESK
from helpers import on_disk

EMAIL, TRANSFER = SUPPORT_DESK["send_email"], SUPPORT_DESK["transfer"]
EFFECT_AND_RECORD = "mid-tool after-tool mid-effect-write after-effect-write"


def life(policy, scenario, folder, crash=None):
    """One more start or resume in the folder, to its end or its crash. Gives the Outcome."""
    resumes = (folder / checkpoint.FILE).exists() and not policy.restarts
    outcome = start_under(policy, scenario, folder, resume=resumes, crash_after=crash)
    assert outcome.status == ("killed" if crash else "done"), outcome.text
    return outcome


def branch(outcome):
    """What reconcile remarked, or None."""
    return next((moment.facts["branch"] for moment in outcome.moments if moment.label == "reconciled"), None)


def asked(folder):
    """How often a person was asked."""
    return len((folder / world.ASKED).read_text().splitlines()) if (folder / world.ASKED).exists() else 0


def done(folder, tool="send_email"):
    """How often the tool did its work."""
    return sum(execution["tool"] == tool for execution in world.executions(folder))


def last_result(folder):
    """The last tool_result that the model was sent."""
    messages = json.loads((folder / checkpoint.FILE).read_text())["messages"]
    return [block for message in messages if message["role"] == "user" and isinstance(message["content"], list) for block in message["content"]][-1]


# --- what is written, and when --------------------------------------------------------------

SAVES_AND = f"mid-save-a after-save-a after-approval {EFFECT_AND_RECORD} mid-save-b after-save-b"


@pytest.mark.parametrize("name, order, books", [
    ("no-checkpoint", f"after-approval {EFFECT_AND_RECORD}", {ledger.FILE}),
    ("only-b", f"after-approval {EFFECT_AND_RECORD} mid-save-b after-save-b", {checkpoint.FILE, ledger.FILE}),
    ("blind", "mid-save-a after-save-a after-approval mid-tool after-tool mid-save-b after-save-b", {checkpoint.FILE}),
    ("no-ledger", "mid-save-a after-save-a after-approval mid-tool after-tool mid-save-b after-save-b", {checkpoint.FILE}),
    ("record-first", "mid-save-a after-save-a after-approval mid-effect-write after-effect-write mid-tool after-tool mid-save-b after-save-b",
     {checkpoint.FILE, ledger.FILE}),
    ("lesson-4", SAVES_AND, {checkpoint.FILE, ledger.FILE}),
    ("lesson-6", SAVES_AND, {checkpoint.FILE, ledger.FILE}),
    ("intent", SAVES_AND.replace("mid-tool", "mid-intent after-intent mid-tool"), {checkpoint.FILE, ledger.FILE, world.INTENTS}),
    ("key", SAVES_AND, {checkpoint.FILE, ledger.FILE, world.KEYS}),
    ("verify", SAVES_AND, {checkpoint.FILE, ledger.FILE}),
])
def test_a_policy_writes_these_books_in_this_order(name, order, books, tmp_path):
    moments = life(POLICIES[name], EMAIL, tmp_path).moments
    assert [moment.label for moment in moments if moment.turn == 2] == ["before-request", "after-response", *order.split()]
    world_and_all = {*EMAIL.files, world.JOURNAL, world.REQUESTS, world.ASKED}
    assert on_disk(tmp_path).keys() == world_and_all | books


def test_the_policies_are_told_apart_by_name_and_only_one_starts_over():
    assert all(name == policy.name and policy.title for name, policy in POLICIES.items())
    assert [name for name, policy in POLICIES.items() if policy.restarts] == ["no-checkpoint"]


# --- what a resume makes of it ----------------------------------------------------------------

# policy: for each place of the crash (how it reconciled, how often it was done in all, how often a person was asked in all);
# None where the policy never comes to that moment.
AFTER = ("after-save-a", "after-approval", "after-tool", "after-effect-write")
RESUMES = {
    "no-checkpoint": (None, (None, 1, 2), (None, 2, 2), (None, 2, 2)),
    "only-b": (None, (None, 1, 2), (None, 2, 2), (None, 2, 2)),
    "blind": ((None, 1, 0), (None, 1, 1), (None, 2, 1), None),  # one yes for two e-mails, or none at all: what C01 warns of
    "no-ledger": (("unknown", 0, 0), ("unknown", 0, 1), ("unknown", 1, 1), None),
    "record-first": (("unknown", 0, 0), ("unknown", 0, 1), ("hit", 1, 1), ("hit", 0, 1)),
    "lesson-4": (("run again", 1, 1), ("run again", 1, 2), ("run again", 2, 2), ("hit", 1, 1)),
    "lesson-6": (("unknown", 0, 0), ("unknown", 0, 1), ("unknown", 1, 1), ("hit", 1, 1)),
    "intent": (("never-started", 1, 1), ("never-started", 1, 2), ("unknown", 1, 1), ("hit", 1, 1)),
    "key": (("same-key", 1, 1), ("same-key", 1, 2), ("same-key", 1, 2), ("hit", 1, 1)),  # not done twice, but the gate can't know
    "verify": (("verified-not-done", 1, 1), ("verified-not-done", 1, 2), ("verified-done", 1, 1), ("hit", 1, 1)),
}


@pytest.mark.parametrize("label", AFTER)
@pytest.mark.parametrize("name", POLICIES)
def test_a_resume_goes_this_way_and_asks_a_person_so_often(name, label, tmp_path):
    assert name in RESUMES, f"say in RESUMES what a resume under {name} does, and how often it asks"
    expected = RESUMES[name][AFTER.index(label)]
    clean = tmp_path / "clean"
    clean.mkdir()
    count = next((m.count for m in life(POLICIES[name], EMAIL, clean).moments if (m.turn, m.label) == (2, label)), None)
    assert (count is None) == (expected is None)
    if count:
        run = tmp_path / "run"
        run.mkdir()
        life(POLICIES[name], EMAIL, run, (label, count))
        assert (branch(life(POLICIES[name], EMAIL, run)), done(run), asked(run)) == expected


def yes_then_no(folder):
    """A person who said yes before the crash, and thinks better of it after."""
    def approve(name, input):
        with open(Path(folder) / world.ASKED, "a", encoding="utf-8") as file:
            file.write(f"{name}\n")
        return asked(Path(folder)) == 1
    return approve


@pytest.mark.parametrize("name, label, says", [
    ("only-b", "after-approval", "A person has to approve each send_email and did not"),
    ("lesson-4", "after-approval", "A person has to approve each send_email and did not"),
    ("intent", "after-approval", "A person has to approve each send_email and did not"),
    ("verify", "after-approval", "A person has to approve each send_email and did not"),
    ("key", "after-approval", "State unknown"),
    ("key", "after-tool", "State unknown"),  # declined now, but it was sent before: "not run" would be a lie
])
def test_a_yes_from_before_the_crash_is_used_up(name, label, says, tmp_path):
    scenario = replace(EMAIL, approve=yes_then_no)
    life(POLICIES[name], scenario, tmp_path, (label, {"after-approval": 1, "after-tool": 2}[label]))
    before = done(tmp_path)
    life(POLICIES[name], scenario, tmp_path)
    assert (done(tmp_path), asked(tmp_path)) == (before, 2)
    assert last_result(tmp_path)["is_error"] and last_result(tmp_path)["content"].startswith(says)


# --- the functions ----------------------------------------------------------------------------

HOME = {"save_checkpoint": checkpoint, "load_checkpoint": checkpoint, "load_effects": ledger, "save_effects": ledger, "save_effect": ledger,
        "run_tool_uses": tools, "perform": tools, "reconcile": resume, "run_agent": agent}


def never_called(policy, folder):
    """Those of a policy's functions that no run and no resume of it asks for."""
    idle = set(policy.functions)

    def noting(name, function):
        def call(*args, **kwargs):
            idle.discard(name)
            return function(*args, **kwargs)
        return call

    noted = replace(policy, functions={name: noting(name, function) for name, function in policy.functions.items()})
    life(noted, EMAIL, folder, ("after-tool", 2))
    life(noted, EMAIL, folder)
    return idle


@pytest.mark.parametrize("name", POLICIES)
def test_every_function_of_a_policy_stands_in_for_one_that_a_run_asks_for(name, tmp_path):
    assert never_called(POLICIES[name], tmp_path) == set(), "spelled wrong, or the library no longer asks for it by part(...)"
    for role, function in POLICIES[name].functions.items():
        theirs = list(inspect.signature(getattr(HOME[role], role)).parameters.values())
        ours = list(inspect.signature(function).parameters.values())
        assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in theirs[:len(ours)]], role
        assert all(p.default is not p.empty for p in theirs[len(ours):]), role  # what it leaves out nobody has to give


def test_a_functions_name_that_is_spelled_wrong_is_found(tmp_path):
    wrong = replace(KEY, functions={**KEY.functions, "reconcille": KEY.functions["reconcile"]})
    assert never_called(wrong, tmp_path) == {"reconcille"}


# --- intents ----------------------------------------------------------------------------------------

def test_an_intent_is_in_a_file_of_its_own_and_never_passes_for_done(tmp_path):
    life(INTENT, EMAIL, tmp_path, ("after-intent", 2))
    assert json.loads((tmp_path / world.INTENTS).read_text()) == ["toolu_02"]
    assert "toolu_02" not in json.loads((tmp_path / ledger.FILE).read_text())
    assert branch(life(INTENT, EMAIL, tmp_path)) == "unknown"
    assert last_result(tmp_path)["content"].startswith("State unknown") and done(tmp_path) == 0


def test_another_policy_takes_no_intent_for_anything(tmp_path):
    life(INTENT, EMAIL, tmp_path, ("after-intent", 2))
    assert branch(life(LESSON_6, EMAIL, tmp_path)) == "unknown"


def test_the_intent_of_another_call_says_nothing_of_this_one(tmp_path):
    life(INTENT, EMAIL, tmp_path, ("after-save-a", 2))
    assert json.loads((tmp_path / world.INTENTS).read_text()) == ["toolu_01"]  # the one before, long done
    assert branch(life(INTENT, EMAIL, tmp_path)) == "never-started" and done(tmp_path) == 1


def test_a_kill_in_the_middle_of_an_intent_means_never_started_and_leaves_nothing_behind(tmp_path):
    life(INTENT, EMAIL, tmp_path, ("mid-intent", 2))
    assert any(name.startswith(world.INTENTS) and name.endswith(".tmp") for name in on_disk(tmp_path))
    assert branch(life(INTENT, EMAIL, tmp_path)) == "never-started" and done(tmp_path) == 1
    assert not any(name.endswith(".tmp") for name in on_disk(tmp_path))


def test_an_entry_in_the_ledger_outweighs_the_intent(tmp_path):
    life(INTENT, EMAIL, tmp_path, ("after-effect-write", 2))
    (tmp_path / world.INTENTS).unlink()
    assert branch(life(INTENT, EMAIL, tmp_path)) == "hit" and done(tmp_path) == 1


# --- keys ---------------------------------------------------------------------------------------------

TWO_TRANSFERS = replace(TRANSFER, script=[
    turn("The first half.", "toolu_01", "transfer", CALLS["transfer"]),
    turn("And the second half, which is the same again.", "toolu_02", "transfer", CALLS["transfer"]),
    {"content": [{"type": "text", "text": "Both are through."}], "stop_reason": "end_turn"}])


def places(policy, scenario, folder):
    """Every place to die in a run that nobody kills: ``[(label, count), ...]``."""
    folder.mkdir()
    return [(moment.label, moment.count) for moment in life(policy, scenario, folder).moments if moment.label in LABELS]


def test_two_transfers_of_the_same_sum_stay_two_under_a_key_wherever_the_first_run_dies(tmp_path):
    crashes = places(KEY, TWO_TRANSFERS, tmp_path / "clean")
    assert len(crashes) >= 26  # eleven moments for each transfer and four for the answer
    for crash in crashes:
        folder = tmp_path / "-".join(map(str, crash))
        folder.mkdir()
        life(KEY, TWO_TRANSFERS, folder, crash)
        life(KEY, TWO_TRANSFERS, folder)
        assert json.loads((folder / "accounts.json").read_text()) == {"shop": 440, "ada": 80}, crash
        assert done(folder, "transfer") == 2 and len(json.loads((folder / world.KEYS).read_text())) == 2, crash


@pytest.mark.parametrize("name", ["lesson-4", "lesson-6", "intent", "verify"])
def test_two_transfers_of_the_same_sum_stay_two_in_the_ledger(name, tmp_path):
    life(POLICIES[name], TWO_TRANSFERS, tmp_path, ("after-effect-write", 2))
    life(POLICIES[name], TWO_TRANSFERS, tmp_path)
    assert json.loads((tmp_path / "accounts.json").read_text()) == {"shop": 440, "ada": 80}


def test_the_outside_answers_a_key_again_with_what_it_answered_first(tmp_path):
    scenario = SUPPORT_DESK["create_ticket"]
    life(KEY, scenario, tmp_path, ("after-tool", 2))
    life(KEY, scenario, tmp_path)
    assert json.loads(last_result(tmp_path)["content"])["id"] == "T-1" and len(json.loads((tmp_path / "tickets.json").read_text())) == 1


# --- asking the outside -----------------------------------------------------------------------------------

@pytest.mark.parametrize("says, way, times", [
    (True, "verified-done", 0), ({"result": "sent"}, "verified-done", 0), (False, "verified-not-done", 1), (None, "unknown", 0),
    (RuntimeError("the mail server is down"), "unknown", 0),
])
def test_what_the_outside_says_decides_and_cant_tell_stays_unknown(says, way, times, tmp_path, monkeypatch):
    def was_done(self, name, input, key):
        assert (name, input, key) == ("send_email", CALLS["send_email"], "toolu_02")
        if isinstance(says, Exception):
            raise says
        return says

    monkeypatch.setattr("course_lib.scenarios.support_desk.Desk.was_done", was_done)
    life(VERIFY, EMAIL, tmp_path, ("mid-tool", 1))
    outcome = life(VERIFY, EMAIL, tmp_path)
    assert (branch(outcome), done(tmp_path)) == (way, times)
    assert ("toolu_02" in json.loads((tmp_path / ledger.FILE).read_text())) is (way != "unknown")
    assert any("mail server is down" in m.facts["text"] for m in outcome.moments if m.label == ALERT) is isinstance(says, Exception)


def test_a_tool_that_can_verify_by_itself_is_asked_itself(tmp_path):
    call = {"id": "toolu_01", "name": "pay", "input": {}}
    pay = tools.Tool(lambda input: pytest.fail("paid"), verify=lambda input, key: {"result": f"paid, says {key}"})
    answer = reconcile_by_asking({"pendingToolUse": call}, {"pay": pay}, effects_path=tmp_path / ledger.FILE)
    assert answer["content"] == "paid, says toolu_01"


# --- a ledger that broke ------------------------------------------------------------------------------------

def load_effects_of_lesson_4(path):
    """What cannot be read counts as empty, so that it blocks no resume."""
    try:
        return json.loads(Path(path).read_text())
    except Exception:
        return {}


def with_a_torn_ledger(policy, folder, keep):
    """Sent and recorded, then the ledger tears, then a resume under the policy. Gives its Outcome."""
    life(policy, EMAIL, folder, ("after-effect-write", 2))
    data = (folder / ledger.FILE).read_bytes()
    (folder / ledger.FILE).write_bytes(data[:int(len(data) * keep)])
    return life(policy, EMAIL, folder)


def alerts(outcome):
    return [moment.facts["text"] for moment in outcome.moments if moment.label == ALERT]


@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
def test_an_unreadable_ledger_that_counts_as_empty_sends_a_second_email_without_a_word(keep, tmp_path):
    lesson_4 = replace(LESSON_4, functions={**LESSON_4.functions, "load_effects": load_effects_of_lesson_4})
    outcome = with_a_torn_ledger(lesson_4, tmp_path, keep)
    assert judge(EMAIL, tmp_path, outcome) == TWICE and done(tmp_path) == 2
    assert alerts(outcome) == [] and not ledger.was_set_aside(tmp_path / ledger.FILE)


@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
def test_the_library_sets_it_aside_says_so_and_takes_the_call_for_unknown(keep, tmp_path):
    outcome = with_a_torn_ledger(LESSON_6, tmp_path, keep)
    assert (judge(EMAIL, tmp_path, outcome), branch(outcome), done(tmp_path)) == (ASKS_DONE, "unknown", 1)
    assert len(alerts(outcome)) == 1 and "effects.json.broken.1" in alerts(outcome)[0]
    assert (tmp_path / "effects.json.broken.1").exists()


@pytest.mark.parametrize("name, outcome", [
    ("lesson-4", ASKS_DONE),  # beside a broken ledger a miss proves nothing, whatever the rule
    ("lesson-6", ASKS_DONE), ("intent", ASKS_DONE),
    ("key", ONCE), ("verify", ONCE),  # who asks the outside needs no ledger for this
])
def test_what_a_torn_ledger_costs_under_each_rule(name, outcome, tmp_path):
    assert judge(EMAIL, tmp_path, with_a_torn_ledger(POLICIES[name], tmp_path, 0.5)) == outcome
