"""A scenario code brings the same run to everybody; a wrong one is refused by the part that is wrong."""
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.errors import CourseError
from course_lib.scenarios import SALES_REPORT, SCENARIOS
from course_lib.scenarios.code import read_code, write_code
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.policies import LESSON_6, NO_LEDGER, POLICIES
from helpers import on_disk
from test_experiment import masked, places, run_through, shown

FIRST = {policy.name: places(run_through(policy=policy).rehearse()) for policy in (LESSON_6, NO_LEDGER)}


@settings(max_examples=60)
@given(st.data())
def test_a_code_brings_the_same_run_to_everybody_wherever_its_crashes_are(data):
    policy = data.draw(st.sampled_from([LESSON_6, NO_LEDGER]))
    run = run_through(data.draw(st.sampled_from(FIRST[policy.name])), policy=policy)
    if data.draw(st.booleans()) and places(run.rehearse()):
        run.run(data.draw(st.sampled_from(places(run.rehearse()))))
    one, two = Experiment.from_code(run.code), Experiment.from_code(f"  {run.code}\n")
    assert run.code == one.code == two.code and one.crashes == run.crashes and len(run.crashes) in (1, 2)
    assert masked(on_disk(run.folder)) == masked(on_disk(one.folder)) == masked(on_disk(two.folder))
    assert [shown(leg) for leg in one.legs] == [shown(leg) for leg in run.legs]
    assert shown(one.run()) == shown(two.run()) and one.verdict == two.verdict


@pytest.mark.parametrize("policy", [LESSON_6, NO_LEDGER], ids=lambda policy: policy.name)
def test_every_place_of_a_run_has_a_code_of_its_own(policy):
    codes = [write_code(SALES_REPORT, policy, [place]) for place in FIRST[policy.name]]
    assert [read_code(code) for code in codes] == [(SALES_REPORT, policy, [place]) for place in FIRST[policy.name]]
    assert len(set(codes)) == len(codes) >= 3 * 8 + 4


def test_every_scenario_and_policy_can_be_named():
    for name, scenario in SCENARIOS.items():
        for policy in POLICIES.values():
            assert read_code(f"{name}/{policy.name}") == (scenario, policy, [])


GOOD = "sales-report/write_report/lesson-6/after-tool:3"


@pytest.mark.parametrize("code, says", [
    ("", ["'' is no scenario code", "task/tool/policy"]),
    ("sales-report/write_report", ["'sales-report/write_report' is no scenario code", "task/tool/policy"]),
    (GOOD.replace("sales-report", "sails"), ["'sails/write_report'", "sales-report/write_report", "support-desk/send_email"]),
    (GOOD.replace("write_report", "read_notes"), ["'sales-report/read_notes'", "sales-report/write_report"]),
    (GOOD.replace("lesson-6", "lesson-7"), ["the policy 'lesson-7'", "no-ledger, ", "lesson-6"]),
    (GOOD + "/", ["'' in the scenario code is no crash", "LABEL:N", "after-tool:3"]),
    (GOOD + "/after-tool", ["'after-tool' in the scenario code is no crash"]),
    (GOOD + "/after-tool:0", ["'after-tool:0' in the scenario code"]),
    (GOOD + "/after-tool:٣", ["'after-tool:٣' in the scenario code"]),
    (GOOD + "/after-tool:1/mid-tool:x\ny", [r"'mid-tool:x\ny' in the scenario code"]),
    (GOOD.replace(":3", ":4"), ["kills at after-tool:4, and this run never comes there", "before-request:4", "after-tool:3"]),
    (GOOD.replace("after-tool", "after-lunch"), ["kills at after-lunch:3", "mid-save-a:3", "after-final-save:1"]),
    (GOOD + "/after-tool:1", ["kills at after-tool:1", "it comes to is mid-save-b:1, after-save-b:1, before-request:1"]),
    (GOOD + "/mid-final-save:1/mid-final-save:1/after-final-save:2", ["kills at after-final-save:2", "after-final-save:1"]),
    ("x" * 10**6 + "/" * 3, ["'xxxx"]),
])
def test_a_wrong_code_is_refused_in_one_sentence_that_names_the_wrong_part_and_what_there_is(code, says):
    with pytest.raises(CourseError) as refused:
        Experiment.from_code(code)
    words = str(refused.value)
    assert all(part in words for part in says), words
    assert words.isprintable() and words.endswith(".") and len(words) < 600


PARTS = st.sampled_from(["sales-report", "write_report", "lesson-6", "no-checkpoint", "after-tool:3", "mid-save-b:1", "after-tool:99", "", "no:1", "a:b:1"])


@given(st.text() | st.lists(PARTS | st.text(max_size=5), max_size=6).map("/".join) | st.lists(PARTS, max_size=3).map(lambda more: "/".join([GOOD, *more])))
def test_whatever_is_pasted_as_a_code_is_opened_or_refused_in_words(text):
    try:
        assert Experiment.from_code(text).code == text.strip()
    except CourseError as error:
        assert str(error).isprintable() and str(error).endswith(".")
