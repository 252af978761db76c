"""What a student can predict, judged against every crash of every policy: one way is right, and each reason is true of the files."""
import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from course_lib.guard import LOCK
from course_lib.moments import Moment
from course_lib.scenarios import SCENARIOS, forecast, oracle, world
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.forecast import Facts
from course_lib.scenarios.one_call import one_call
from course_lib.scenarios.policies import POLICIES
from course_lib.scenarios.runner import Outcome
from course_lib.widgets.prediction import branch_choices, evidence, outcome_choices, verdict_html

# One tool of each nature: reads, overwrites, inserts, looks first, moves money.
TOOLS = ["sales-report/write_report", "support-desk/read_file", "support-desk/send_email", "support-desk/ensure_ticket",
         "support-desk/write_file", "support-desk/transfer"]


@dataclass
class Situation:
    """A crash and the resume after it, as they lie on disk. found, left: ``{name: bytes}`` before and after the resume."""

    name: str
    scenario: object
    policy: str
    facts: Facts
    found: dict
    left: dict
    terminal: str
    went: str
    verdict: str
    branches: list
    outcomes: list

    def pending(self):
        return json.loads(self.found["checkpoint.json"])["pendingToolUse"]

    def ledger(self):
        return json.loads(self.found.get("effects.json", b"{}"))

    def times(self):
        done = [json.loads(line) for line in self.left.get("journal.jsonl", b"").splitlines()]
        return sum(entry == {"tool": self.scenario.effect, "input": self.scenario.call["input"]} for entry in done)

    def answer(self):
        """The last tool_result for the effect, as the model has it in the end."""
        blocks = [block for message in json.loads(self.left["checkpoint.json"])["messages"] if isinstance(message["content"], list)
                  for block in message["content"]]
        ids = {block["id"] for block in blocks if block["type"] == "tool_use" and block["name"] == self.scenario.effect}
        return [block for block in blocks if block["type"] == "tool_result" and block["tool_use_id"] in ids][-1]


def files(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.name != LOCK}  # the lock tells of processes


def situation(scenario, policy, crash):
    """The Situation of one crash, or None where no resume follows."""
    experiment = Experiment(scenario, policy)
    experiment.run(crash)
    if experiment.is_over or not experiment.resumes:
        return None
    facts, found = forecast.facts(scenario, experiment.folder), files(experiment.folder)
    went = forecast.branch(experiment.run().outcome, facts)
    return Situation(f"{experiment.code}", scenario, policy.name, facts, found, files(experiment.folder), "\n".join(experiment.legs[-1].outcome.lines),
                     went, experiment.verdict, branch_choices(facts, went),
                     outcome_choices(scenario.effect, oracle.executions(scenario, experiment.folder), experiment.verdict))


@pytest.fixture(scope="module")
def situations():
    """Every crash of every policy, for tools of each nature."""
    found = []
    for name in TOOLS:
        for policy in POLICIES.values():
            seen = set()
            leg = Experiment(SCENARIOS[name], policy).rehearse()
            for index, moment in enumerate(leg.recording.moments):
                state = tuple((name, data) for name, data in leg.recording.files(index).items() if not name.endswith(".tmp"))
                if moment.count and state not in seen:  # equal files go on equally
                    seen.add(state)
                    found.append(situation(SCENARIOS[name], policy, (moment.label, moment.count)))
    return list(filter(None, found))


def test_every_way_and_every_fate_comes_up(situations):
    assert {s.went for s in situations} == {forecast.HIT, forecast.READ_ONLY, forecast.UNKNOWN, forecast.NEVER_STARTED, forecast.SAME_KEY,
                                            forecast.NOT_DONE, forecast.DONE, forecast.RERUN, forecast.NOTHING, forecast.LOST}
    assert {s.verdict for s in situations} == {oracle.ONCE, oracle.RAN_TWICE, oracle.TWICE, oracle.LOST, oracle.ASKS_DONE, oracle.ASKS_NOT_DONE, oracle.RUN_LOST}


def test_exactly_one_way_and_one_fate_is_right(situations):
    for s in situations:
        assert sum(choice.right for choice in s.branches) == 1, (s.name, s.went)
        assert sum(choice.right for choice in s.outcomes) == 1, (s.name, s.verdict)


def test_the_choices_read_the_same_before_and_after_so_nothing_is_given_away(situations):
    assert len({tuple(choice.text for choice in s.branches) for s in situations}) == 1
    for s in situations:
        assert [choice.text for choice in s.outcomes] == [choice.text for choice in outcome_choices(s.scenario.effect, 0, "")]


def test_the_right_way_is_the_one_that_the_files_and_the_terminal_show(situations):
    for s in situations:
        right = next(choice.text for choice in s.branches if choice.right)
        if "checkpoint.json" not in s.found:
            assert right.startswith("There is nothing to resume from")
        elif s.pending() is None:
            assert right.startswith("Nothing is pending")
        elif s.pending()["id"] in s.ledger():
            assert right.startswith("The ledger has the call"), s.name
        elif "unresolvable, appending is_error" in s.terminal:
            assert right.endswith('the model is told "state unknown".'), s.name
        elif "the tool says it happened" in s.terminal:
            assert right.endswith("the outside says that it has happened."), s.name
        else:
            assert right.endswith("the tool runs."), s.name


def clean_run(scenario):
    experiment = Experiment(scenario)
    experiment.run()
    return world.outside(files(experiment.folder))


# What a reason can claim, and how the files decide whether it is so.
CLAIMS = {
    r"^There is no checkpoint\.json": lambda s: "checkpoint.json" not in s.found,
    r"^There was no checkpoint that the run could go on from": lambda s: "checkpoint.json" not in s.found,
    r"^checkpoint\.json is there and whole": lambda s: json.loads(s.found["checkpoint.json"])["version"] == 1,
    r"^There was a checkpoint, and the run went on to its end": lambda s: "checkpoint.json" in s.found and "[done]" in s.terminal,
    r"^pendingToolUse is null": lambda s: s.pending() is None,
    r"^pendingToolUse holds (\S+) \((\S+)\)": lambda s, name, id: (s.pending()["name"], s.pending()["id"]) == (name, id),
    r"effects\.json has an entry (\S+),": lambda s, id: id in s.ledger(),
    r"effects\.json has no (?:entry )?([\w]+)": lambda s, id: id not in s.ledger(),
    r"(\S+) says of itself that it only reads": lambda s, name: s.scenario.tools(Path("."))[name].read_only,
    r"(\S+) changes something": lambda s, name: not s.scenario.tools(Path("."))[name].read_only,
    r"without asking whether it ran before": lambda s: s.policy in ("blind", "lesson-4"),
    r"no intent on record for (\w+)": lambda s, id: id not in json.loads(s.found.get("intents.json", b"[]")) and "never started" in s.terminal,
    r"goes out with (\w+) as its key": lambda s, id: s.policy == "key" and s.pending()["id"] == id,
    r"outside was asked, and says that (\S+) has happened": lambda s, name: "the tool says it happened" in s.terminal,
    r"outside was asked, and says that (\S+) has not": lambda s, name: "the tool says it did not happen" in s.terminal,
    r"Nobody outside was asked who could tell": lambda s: "the tool says" not in s.terminal,
    r"journal has (\S+) ×(\d+)\.": lambda s, name, n: (s.scenario.effect, s.times()) == (name, int(n)),
    r"The world looks as after one run": lambda s: world.outside(s.left) == clean_run(s.scenario),
    r"The model was told that the state is unknown": lambda s: "unknown" in s.answer()["content"] and s.answer()["is_error"],
    r"The model got an answer and had no reason": lambda s: not s.answer().get("is_error"),
}


def test_every_reason_is_true_of_the_very_files_it_is_about(situations):
    for s in situations:
        for choice in [*s.branches, *s.outcomes]:
            claims = [(pattern, holds, match) for pattern, holds in CLAIMS.items() if (match := re.search(pattern, choice.because))]
            assert claims, f"nobody checks this reason: {choice.because}"
            for pattern, holds, match in claims:
                assert holds(s, *match.groups()), (s.name, pattern, choice.because)


def test_the_reason_of_a_wrong_fate_speaks_against_it(situations):
    against = {"happens once": lambda n: n != 1, "happens more than once": lambda n: n < 2, "never happens": lambda n: n > 0}
    for s in situations:
        for choice in s.outcomes:
            counted = re.search(r"×(\d+)", choice.because)
            for words, contradicts in against.items():
                if words in choice.text and counted and "told that the state is unknown" not in choice.because:
                    assert contradicts(int(counted[1])) != choice.right, (s.name, choice)


def test_the_bytes_that_decided_are_quoted_with_their_lines(situations):
    for s in situations:
        text = unescape(evidence(s.facts, s.found))
        quoted = re.findall(r"(\w+\.json), line (\d+): <code>(.*?)</code>", text)
        for name, number, code in quoted:
            line = s.found[name].decode().split("\n")[int(number) - 1].strip()
            assert code.startswith(line), (s.name, name, number, code)
        names = [name for name, _, _ in quoted]
        if "checkpoint.json" not in s.found:
            assert names == [] and "there is no checkpoint.json" in text
        elif s.pending() is None:
            assert names == ["checkpoint.json"]
        elif s.pending()["id"] in s.ledger():
            assert names == ["checkpoint.json", "effects.json"] and quoted[1][2].startswith(f'"{s.pending()["id"]}"')
        else:
            assert names == ["checkpoint.json"] and f"effects.json has no line with {s.pending()['id']}" in text


# --- what the policies do not bring up --------------------------------------------------

def facts(**changed):
    return Facts(**{"is_missing": False, "trouble": None, "pending": "pay", "id": "t1", "in_ledger": False, "read_only": False, **changed})


def right(choices):
    return [choice for choice in choices if choice.right]


def test_a_torn_checkpoint_is_told_from_a_missing_one(tmp_path):
    scenario = SCENARIOS["sales-report/write_report"]
    missing = forecast.facts(scenario, tmp_path)
    (tmp_path / "checkpoint.json").write_text('{"version": 1, "ta')
    torn = forecast.facts(scenario, tmp_path)
    [no_file], [half] = (right(branch_choices(found, forecast.LOST)) for found in (missing, torn))
    assert no_file.because.startswith("There is no checkpoint.json")
    assert half.because.startswith("checkpoint.json is there, and can't be trusted: checkpoint.json is cut off")
    assert "no checkpoint.json" not in "".join(choice.because for choice in branch_choices(torn, forecast.LOST))


def test_a_ledger_that_can_not_be_read_counts_as_empty(tmp_path):
    scenario = SCENARIOS["sales-report/write_report"]
    experiment = Experiment(scenario)
    experiment.run(("after-effect-write", 3))
    (experiment.folder / "effects.json").write_text("{torn")
    assert not forecast.facts(scenario, experiment.folder).in_ledger


def outcome(*moments):
    return Outcome("done", moments=[Moment(label, 1, 1, reconciling, facts) for label, reconciling, facts in moments])


RESUMED = ("resumed", False, {"pending": "pay"})


@pytest.mark.parametrize("moments, found, way", [
    ([], facts(), forecast.LOST),
    ([("resumed", False, {"pending": None})], facts(pending=None, id=None), forecast.NOTHING),
    ([RESUMED], facts(), forecast.UNCLEAR),  # killed, or stopped, before it came to that
    ([RESUMED, ("reconciled", True, {"branch": "hit"})], facts(in_ledger=True), forecast.HIT),
    ([RESUMED, ("mid-tool", True, {})], facts(), forecast.RERUN),
    ([RESUMED, ("after-tool", True, {}), ("mid-save-b", True, {})], facts(in_ledger=True), forecast.RERUN),
    ([RESUMED, ("mid-save-b", True, {})], facts(in_ledger=True), forecast.HIT),
    ([RESUMED, ("mid-save-b", True, {})], facts(), forecast.UNCLEAR),  # somebody's own answer
    ([RESUMED, ("after-tool", False, {})], facts(), forecast.UNCLEAR),  # a later call of the model's
    ([("resumed", False, {"pending": None})], facts(trouble="torn", pending=None, id=None), forecast.UNCLEAR),  # somebody's own load_checkpoint
])
def test_a_way_that_nobody_announces_is_seen_from_what_happens(moments, found, way):
    assert forecast.branch(outcome(*moments), found) == way


@pytest.mark.parametrize("way", [forecast.HIT, *forecast.RUNS, forecast.UNKNOWN, forecast.DONE, forecast.NOTHING, forecast.LOST])
@pytest.mark.parametrize("found", [facts(), facts(in_ledger=True), facts(read_only=True), facts(pending=None, id=None)])
def test_each_way_has_its_choice_and_every_choice_its_reason(way, found):
    choices = branch_choices(found, way)
    assert len(right(choices)) == 1
    assert all(choice.because for choice in choices)


def test_a_reconcile_that_runs_what_the_ledger_has_is_told_so():
    choices = branch_choices(facts(in_ledger=True), forecast.RERUN)
    assert right(choices)[0].because == "effects.json has an entry t1, and this reconcile ran the call all the same."
    assert not any("is asked before anything else" in choice.because for choice in choices)


def test_a_tool_that_only_reads_and_needs_approval_is_not_said_to_change_something():
    choices = branch_choices(facts(read_only=True), forecast.UNKNOWN)
    assert not any("changes something" in choice.because for choice in choices)


def test_an_outside_that_can_be_asked_is_one_of_the_ways():
    def remind(folder, input):
        (folder / "reminders.txt").write_text(input["text"])
        return "noted"

    scenario = one_call(remind, {"text": "x"}, verify=lambda input, key: {"result": "noted"})
    found = situation(scenario, POLICIES["lesson-6"], ("after-tool", 1))
    assert found.went == forecast.DONE and right(found.branches)[0].text.endswith("the outside says that it has happened.")


# --- how it is shown --------------------------------------------------------------------

def test_the_right_choice_and_the_students_are_open_and_the_others_folded():
    choices = branch_choices(facts(), forecast.UNKNOWN)
    html = verdict_html("Which way?", choices, 1)
    shown, folded = html.split("<details>")
    assert "not as predicted" in shown and shown.count("<li>") == 2 and folded.count("<li>") == len(choices) - 2
    assert shown.index("✓") < shown.index("✗") < shown.index("(your prediction)")


def test_a_right_prediction_is_said_to_be_right():
    choices = outcome_choices("pay", 1, oracle.ONCE)
    html = verdict_html("In the end?", choices, 0)
    assert "you were right" in html and html.split("<details>")[0].count("<li>") == 1


def test_markup_in_names_and_files_is_text_in_the_reasons_and_the_evidence():
    nasty = facts(pending="<b>pay</b>", id='t"<script>', in_ledger=True)
    on_disk = {"checkpoint.json": b'{\n  "pendingToolUse": {\n    "id": "t\\"<script>",\n',
               "effects.json": json.dumps({'t"<script>': {"name": "<b>pay</b>", "result": "<img src=x>"}}, indent=2).encode()}
    html = verdict_html("?", branch_choices(nasty, forecast.HIT), 0) + evidence(nasty, on_disk)
    assert not re.search(r"<(b>pay|script|img)", html)
    assert "effects.json, line 2:" in html and "&lt;img src=x&gt;" in html


def test_the_line_quoted_is_the_call_itself_and_not_a_result_that_looks_like_it():
    on_disk = {"checkpoint.json": b"{}", "effects.json": json.dumps({"t0": {"result": {"t1": {}, "pendingToolUse": {}}}, "t1": {"name": "pay"}}, indent=2).encode()}
    number = on_disk["effects.json"].decode().split("\n").index('  "t1": {') + 1
    assert f"effects.json, line {number}:" in evidence(facts(in_ledger=True), on_disk)
