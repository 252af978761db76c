"""Lesson 5: earlier saves, going back, branching off; in turn files and in a history alike."""
import string
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from course_lib import Run, SimulatedCrash, Tool, effects_since, fork_from, go_back_to, load_latest, rewind_to, run_agent
from course_lib import branches, checkpoint, family, history, keeping, scenes, turns
from course_lib.book import line_of, sum_of
from course_lib.errors import CourseError
from course_lib.moments import part
from course_lib.places import NoSuchTurn
from course_lib.transcript import check_transcript
from course_lib.values import encode
from tests.helpers import Model, World, on_disk, read, said, scene, text, told, use, write

WAYS = ("turns", "history")
LOOK, NOTE, PAY = use("t1", "look", at="menu"), use("t2", "note", line="soup"), use("t3", "pay", amount=100)
THREE = ([LOOK], [NOTE], [PAY], [text("done")])
yes = lambda name, input: True
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def start(folder, world, *turns, way="history", crash=None, **options):
    """One start or resume of an agent that keeps its saves; how it ended."""
    with suppress(SimulatedCrash), Run(crash_after=crash, durability="kill", clock=lambda: "2026-01-05T09:00:00.000Z", quiet=True):
        return run_agent(Model(*(turns or THREE)), "do it", world.tools, folder=folder, keep=way, **{"approve": yes, **options})


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def home(tmp_path):
    """The folder of the first branch."""
    (tmp_path / "checkpoints").mkdir()
    return tmp_path / "checkpoints"


@pytest.fixture
def done(home, way):
    """A finished run of three turns, look, note and pay, and its world."""
    world = World()
    assert start(home, world, way=way) == "done"
    return home, world


# --- the sequence ---------------------------------------------------------------------------

def test_each_save_of_a_turn_has_a_file_of_its_own_named_as_in_the_lesson(home):
    start(home, World(), way="turns")
    assert [name for name in sorted(on_disk(home)) if name.startswith("turn")] == [
        "turn-001-A.json", "turn-001-B.json", "turn-002-A.json", "turn-002-B.json", "turn-003-A.json", "turn-003-B.json", "turn-003-final.json"]
    assert read(home / "turn-002-A.json")["pendingToolUse"] == {"id": "t2", "name": "note", "input": {"line": "soup"}}
    assert not (home / "checkpoint.json").exists()


def test_a_history_rebuilds_byte_for_byte_what_the_turn_files_hold(tmp_path):
    for way in WAYS:
        (tmp_path / way / "checkpoints").mkdir(parents=True)
        with Run(new_id=lambda: "one", clock=lambda: "2026-01-05T09:00:00.000Z"):
            run_agent(Model(*THREE), "do it", World().tools, folder=tmp_path / way / "checkpoints", keep=way, approve=yes)
    for turn, point in history.saves(tmp_path / "history" / "checkpoints"):
        file = tmp_path / "turns" / "checkpoints" / f"turn-{turn:03}-{point}.json"
        assert encode(rewind_to(turn, point, folder=tmp_path / "history" / "checkpoints")) == file.read_bytes()


def test_turn_1000_comes_after_turn_999_and_strangers_are_left_alone(home):
    for turn in (999, 1000):
        turns.save_checkpoint(home / "checkpoint.json", scene([said(LOOK), told({"type": "tool_result", "tool_use_id": "t1", "content": "x"})], turns=turn))
    for name in ("turn-2000-A.json.0123456789ab.tmp", "turn-2000-A.json.bak", "turn-0-X.json", "notes.txt", "turn-20-A.json"):
        (home / name).write_text("no turn file")
    assert load_latest(folder=home)["turns"] == 1000
    assert turns.saves(home) == [(999, "B"), (1000, "B")]


def test_a_turn_means_its_last_point_and_either_point_can_be_named(done):
    home, _ = done
    assert rewind_to(2, folder=home)["pendingToolUse"] is None
    assert rewind_to(2, "A", folder=home)["pendingToolUse"]["name"] == "note"
    assert rewind_to(3, folder=home)["messages"][-1]["role"] == "user"  # the final answer only by its name
    assert rewind_to(3, "final", folder=home)["messages"][-1]["role"] == "assistant"
    assert load_latest(folder=home) == rewind_to(3, "final", folder=home)


@pytest.mark.parametrize("turn, point, words", [
    (9, None, "Turn 9"), (0, None, "turns 1 to 3"), (2, "C", "'C' is no point of turn 2"), (2, "", "'' is no point"), (2, "final", "Point final of turn 2"),
    ("3", None, "'3' is no turn"), (True, None, "True is no turn"), (3.0, None, "3.0 is no turn"), ([3], None, "is no turn"), (2, "A\n", "no point"), (10**300, None, "never saved")])
def test_a_turn_that_is_not_there_is_refused_by_name(done, turn, point, words):
    home, _ = done
    before = on_disk(home.parent)
    for do in (rewind_to, go_back_to):
        with pytest.raises(NoSuchTurn, match=words):
            do(turn, point, folder=home)
    with pytest.raises(NoSuchTurn, match=words):
        fork_from(turn, "b", point, folder=home)
    assert on_disk(home.parent) == before


def test_where_nothing_is_kept_there_is_nothing_to_go_back_to(tmp_path):
    with pytest.raises(checkpoint.CheckpointMissing, match="nothing to resume from|keeps no turns"):
        load_latest(folder=tmp_path)
    start(tmp_path, World(), way="file")
    with pytest.raises(CourseError, match="keeps no turns to go back to"):
        rewind_to(1, folder=tmp_path)


def test_a_rewind_that_only_reads_changes_no_byte(done):
    home, _ = done
    before = on_disk(home)
    rewind_to(1, folder=home), load_latest(folder=home), effects_since(1, folder=home), family.family(home)
    assert on_disk(home) == before


# --- going back -------------------------------------------------------------------------------

def test_after_going_back_a_resume_goes_on_from_there_and_the_model_is_told_what_stands(done, way):
    home, world = done
    scene = go_back_to(1, folder=home, tools=world.tools)
    assert scene["turns"] == 1 and load_latest(folder=home) == scene
    note = scene["messages"][-1]
    assert note["role"] == "user" and "note (t2)" in note["content"] and "pay (t3)" in note["content"] and "look" not in note["content"]
    assert scene["messages"][:-1] == rewind_messages(home, way)
    start(home, world, [LOOK], [use("u2", "note", line="fish")], [text("done")], resume=True)
    assert [name for name, _ in world.done] == ["look", "note", "pay", "note"]
    final = load_latest(folder=home)
    assert (final["turns"], check_transcript(final["messages"], ends_with_user=False)) == (2, [])


def rewind_messages(home, way):
    """Turn 1's messages as they were saved at first."""
    if way == "turns":
        return read(home / "rewound-1" / "turn-001-B.json")["messages"]
    left = history.read(home).left[0]
    return left.scene(left.places().index((1, "B")))["messages"]


def test_the_ledger_only_grows(done):
    home, world = done
    go_back_to(1, folder=home, tools=world.tools)
    start(home, world, [LOOK], [use("u2", "note", line="fish")], [text("done")], resume=True)
    assert list(effects_of(home)) == ["t1", "t2", "t3", "u2"]


def effects_of(folder):
    return scenes.kept(folder).effects(folder)


def test_nothing_of_the_left_timeline_is_lost(done, way):
    home, world = done
    before = {place: rewind_to(*place, folder=home) for place in scenes.kept(home).saves(home)}
    go_back_to(1, folder=home, tools=world.tools)
    go_back_to(1, "A", folder=home, tools=world.tools)
    if way == "turns":
        kept = [read(path) for path in home.glob("rewound-1/*.json")]
    else:
        left = history.read(home).left[0]
        kept = [left.scene(number) for number in range(len(left.saves))]
    after = {place: saved for place, saved in before.items() if place > (1, "B")}
    assert all(saved in kept for saved in after.values())


def test_at_a_point_a_the_dangling_call_is_reconciled_first(home, way):
    world = World()
    start(home, world, way=way)
    scene = go_back_to(3, "A", folder=home, tools=world.tools)
    assert scene["messages"][-1]["content"][0] == {"type": "tool_result", "tool_use_id": "t3", "content": "pay done"}
    assert scene["pendingToolUse"] is None and world.done.count(("pay", {"amount": 100})) == 1


def test_a_rewind_is_there_or_not_wherever_it_is_killed(home, way):
    world = World()
    start(home, world, way=way)
    old = load_latest(folder=home)
    for label in ("mid-rewind", "after-rewind", "mid-save-b", "after-save-b"):
        copy = home.parent / label
        copy.mkdir()
        for name, data in on_disk(home).items():
            (copy / name).write_bytes(data)
        with suppress(SimulatedCrash), Run(crash_after=(label, 1), durability="kill"):
            go_back_to(1, folder=copy, tools=world.tools)
        now = load_latest(folder=copy)
        assert now == old if label == "mid-rewind" else now["turns"] == 1 and "not undone" in now["messages"][-1]["content"], label
        start(copy, world, [LOOK], [text("done")], way=way, resume=True)
        assert load_latest(folder=copy)["messages"][-1]["content"] == [text("done")]


def test_a_plan_of_a_rewind_that_leads_out_of_the_folder_is_refused(home):
    start(home, World(), way="turns")
    write(home / "rewinding.json", {"after": [1, "B"], "into": "../outside", "scene": read(home / "turn-001-B.json")})
    with pytest.raises(CourseError, match="rewinding.json"):
        load_latest(folder=home)
    assert not (home.parent / "outside").exists()


# --- branching off ------------------------------------------------------------------------------

def test_a_fork_has_its_own_folder_its_own_empty_ledger_and_leaves_the_parent_as_it_is(done):
    home, _ = done
    before = on_disk(home)
    branch = fork_from(2, "plan-b", folder=home)
    assert branch == home.parent / "checkpoints-plan-b"
    assert effects_of(branch) == {} and on_disk(home) == before
    mine, parent = load_latest(folder=branch), rewind_to(2, folder=home)
    assert {**mine, "lineage": None} == {**parent, "lineage": None}
    assert mine["lineage"]["family"] == parent["lineage"]["family"] and mine["lineage"]["run"] != parent["lineage"]["run"]
    assert mine["lineage"]["parent"] == {"folder": "checkpoints", "run": parent["lineage"]["run"], "turn": 2, "point": "B", "tokensUsed": parent["tokensUsed"]}


def test_neither_branch_sees_what_the_other_does_later(home, way):
    world = World()
    start(home, world, way=way, crash=("after-save-b", 2))
    branch = fork_from(1, "b", folder=home)
    start(branch, world, [LOOK], [use("b2", "note", line="fish")], [text("b done")], resume=True)
    start(home, world, resume=True)
    assert [m["content"][0].get("id") for m in load_latest(folder=branch)["messages"] if m["role"] == "assistant"] == ["t1", "b2", None]
    assert [m["content"][0].get("id") for m in load_latest(folder=home)["messages"] if m["role"] == "assistant"] == ["t1", "t2", "t3", None]
    assert (list(effects_of(branch)), list(effects_of(home))) == (["b2"], ["t1", "t2", "t3"])


def test_a_fork_at_a_point_a_takes_the_answer_from_the_parents_ledger(done):
    home, world = done
    branch = fork_from(3, "b", "A", folder=home, tools=world.tools)
    scene = load_latest(folder=branch)
    assert scene["messages"][-1]["content"][0]["content"] == "pay done" and scene["pendingToolUse"] is None
    assert effects_of(branch) == {} and check_transcript(scene["messages"]) == []


def test_a_fork_at_a_point_a_without_a_record_says_unknown_or_reads_again(home, way):
    world = World()
    start(home, world, way=way, crash=("after-save-a", 3))
    before = on_disk(home)
    unknown = load_latest(folder=fork_from(3, "b", "A", folder=home, tools=world.tools))
    assert unknown["messages"][-1]["content"][0]["is_error"] and "State unknown" in unknown["messages"][-1]["content"][0]["content"]
    assert not any(name == "pay" for name, _ in world.done) and on_disk(home) == before
    read_again = home.parent / "again"
    read_again.mkdir()
    start(read_again, world, way=way, crash=("after-save-a", 1))
    branch = fork_from(1, "c", "A", folder=read_again, tools=world.tools)
    assert load_latest(folder=branch)["messages"][-1]["content"][0]["content"] == "look done"
    assert list(effects_of(branch)) == ["t1"]


def test_an_approval_of_the_parent_does_not_count_in_the_fork(home, way):
    world, asked = World(), []
    start(home, world, way=way)
    branch = fork_from(2, "b", folder=home)
    start(branch, world, [LOOK], [NOTE], [use("b3", "pay", amount=100)], [text("no")], resume=True, approve=lambda name, input: asked.append(name))
    assert asked == ["pay"] and [name for name, _ in world.done].count("pay") == 1


def test_tokens_are_split_into_inherited_and_own(done):
    home, world = done  # Model: 11 tokens a request
    branch = fork_from(2, "b", folder=home)
    assert family.tokens(load_latest(folder=branch)) == {"inherited": 22, "own": 0}
    start(branch, world, [LOOK], [NOTE], [text("b done")], resume=True)
    assert family.tokens(load_latest(folder=branch)) == {"inherited": 22, "own": 11}
    assert family.tokens(load_latest(folder=home)) == {"inherited": 0, "own": 44}


def test_a_fork_of_a_fork_belongs_to_the_family_too(done):
    home, world = done
    b = fork_from(2, "b", folder=home)
    c = fork_from(2, "c", folder=b)
    assert c.name == "checkpoints-c" and list(family.family(c)) == [home, b, c]
    assert load_latest(folder=c)["lineage"]["parent"]["folder"] == "checkpoints-b"


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", ".hidden", "x" * 60, None])
def test_a_name_that_is_no_name_makes_no_folder(done, name):
    home, _ = done
    before = on_disk(home.parent), sorted(home.parent.iterdir())
    with pytest.raises(branches.BranchError, match="can't be the name of a branch"):
        fork_from(1, name, folder=home)
    assert (on_disk(home.parent), sorted(home.parent.iterdir())) == before


def test_a_branch_that_is_there_is_not_written_over_but_a_killed_fork_can_be_repeated(done):
    home, _ = done
    with suppress(SimulatedCrash), Run(crash_after=("mid-save-b", 1)):
        fork_from(2, "b", folder=home)
    (home.parent / "checkpoints-b" / "x").touch() if False else None
    for left in (home.parent / "checkpoints-b").iterdir():
        left.unlink()  # what was cut short; a sweep or a person removes it
    fork_from(2, "b", folder=home)
    with pytest.raises(branches.BranchError, match="There is a checkpoints-b already"):
        fork_from(2, "b", folder=home)


def test_a_fresh_start_does_not_take_the_ground_from_under_a_branch(home):
    world = World()
    start(home, world)
    fork_from(2, "b", folder=home)
    before = on_disk(home.parent)
    with pytest.raises(CourseError, match="checkpoints-b begins"):
        start(home, world)
    assert on_disk(home.parent) == before


def test_a_branch_whose_parent_was_changed_is_refused(home):
    start(home, World())
    branch = fork_from(2, "b", folder=home)
    (home.parent / "other").mkdir()
    start(home.parent / "other", World(), [LOOK], [use("t2", "note", line="fish")], [PAY], [text("done")])
    (home / history.FILE).write_bytes((home.parent / "other" / history.FILE).read_bytes())
    with pytest.raises(CourseError, match="has changed since|damaged"):
        load_latest(folder=branch)


def test_going_back_before_the_fork_names_what_the_parent_did_on_the_shared_way(home):
    world = World()
    start(home, world)
    branch = fork_from(3, "b", folder=home)
    assert [effect["id"] for effect in effects_since(1, folder=branch, tools=world.tools)] == ["t2", "t3"]


def test_a_fork_that_goes_back_before_its_fork_point_stays_the_branch_it_is(home):
    world = World()
    start(home, world)
    branch = fork_from(3, "b", folder=home)
    mine = load_latest(folder=branch)["lineage"]
    now = go_back_to(1, folder=branch, tools=world.tools)
    assert now["lineage"]["run"] == mine["run"] and now["lineage"]["parent"]["turn"] == 1
    assert family.tokens(now) == {"inherited": 11, "own": 0} and list(family.family(home)) == [home, branch]


# --- what does not come back ---------------------------------------------------------------------

def test_effects_since_names_what_a_rewind_leaves_standing(done):
    home, world = done
    assert [effect["id"] for effect in effects_since(1, folder=home)] == ["t2", "t3"]
    assert [effect["id"] for effect in effects_since(2, "A", folder=home)] == ["t3"]
    assert [effect["name"] for effect in effects_since(1, "A", folder=home, tools=world.tools)] == ["note", "pay"]
    assert effects_since(3, folder=home) == []


def test_after_a_rewind_the_ledger_misses_and_the_payment_is_made_twice(done):
    home, world = done
    go_back_to(2, folder=home, tools=world.tools)
    start(home, world, [LOOK], [NOTE], [use("t9", "pay", amount="100.00")], [text("done")], resume=True)
    assert [input for name, input in world.done if name == "pay"] == [{"amount": 100}, {"amount": "100.00"}]


@pytest.mark.parametrize("amount, warned", [("100.00", True), (100.0, True), (" 100 ", True), (99, False), (True, False)])
def test_the_gate_warns_of_a_similar_effect_in_the_lineage(done, capsys, amount, warned):
    home, world = done
    go_back_to(2, folder=home, tools=world.tools)
    with Run():
        run_agent(Model([LOOK], [NOTE], [use("t9", "pay", amount=amount)], [text("done")]), "do it", world.tools, folder=home, resume=True, approve=yes)
    assert ("[similar effect] pay (t9) looks like pay (t3), which is on record in checkpoints" in capsys.readouterr().err) is warned


def test_the_gate_warns_in_a_fork_of_what_the_parent_has_done(done, capsys):
    home, world = done
    branch = fork_from(2, "b", folder=home)
    with Run():
        run_agent(Model([LOOK], [NOTE], [use("b3", "pay", amount=100)], [text("done")]), "do it", world.tools, folder=branch, resume=True, approve=yes)
    assert "on record in checkpoints since" in capsys.readouterr().err


def test_two_payments_of_one_timeline_that_are_meant_to_be_two_bring_no_warning(home, way, capsys):
    with Run():
        run_agent(Model([use("a", "pay", amount=5)], [use("b", "pay", amount=5)], [text("done")]), "do it", World().tools, folder=home, keep=way, approve=yes)
    assert capsys.readouterr().err == ""


def test_a_business_key_goes_to_the_outside_which_then_pays_once(home, way):
    paid = {}

    def pay(input):
        from course_lib.moments import current
        return paid.setdefault(current().key, f"paid {float(input['amount']):g}")

    world = World()
    world.tools["pay"] = Tool(pay, high_impact=True, business_key=lambda input: input["invoice"])
    start(home, world, [use("t1", "pay", invoice="R7", amount=100)], [text("done")], way=way)
    go_back_to(1, "A", folder=home)
    start(home, world, [use("t1", "pay", invoice="R7", amount=100)], [use("t9", "pay", invoice="R7", amount="100.00")], [text("done")], resume=True)
    assert paid == {"R7": "paid 100"} and len(effects_of(home)) == 2


def test_a_business_key_is_the_key_of_its_own_tool_alone(home):
    from course_lib.moments import current
    keys, world = [], World()
    world.tools["pay"] = Tool(lambda input: keys.append(current().key), business_key=lambda input: "R7")
    world.tools["note"] = Tool(lambda input: keys.append(current().key))
    start(home, world, [use("t1", "pay")], [use("t2", "note")], [text("done")])
    assert keys == ["R7", None]


def test_a_foreign_ledger_is_no_ledger_of_this_run(home):
    world = World()
    start(home, world, way="turns", crash=("after-effect-write", 2))
    entries = read(home / "effects.json")
    write(home / "effects.json", {id: {**entry, "lineage": "another"} for id, entry in entries.items()})
    with pytest.raises(CourseError, match="a call of another run"):
        start(home, world, resume=True)


MOMENTS = ("before-request", "mid-save-a", "after-save-a", "after-tool", "mid-effect-write", "after-effect-write", "mid-save-b", "after-save-b", "mid-final-save")


# --- reload == live --------------------------------------------------------------------------------

@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.parametrize("way", WAYS)
def test_whatever_runs_crashes_rewinds_and_forks_come_a_reload_is_what_was_live(tmp_path_factory, way, data):
    root = tmp_path_factory.mktemp("family")
    (root / "checkpoints").mkdir()
    world, names = World(), iter(string.ascii_letters)
    script = [[use(f"c{i}", ("look", "note", "pay")[i % 3], n=i)] for i in range(5)] + [[text("done")]]

    def run(folder, resume):
        crash = data.draw(st.none() | st.tuples(st.sampled_from(MOMENTS), st.integers(1, 4)))
        with suppress(SimulatedCrash), Run(crash_after=crash, durability="kill", quiet=True):
            run_agent(Model(*script), "do it", world.tools, folder=folder, resume=resume, keep=way, approve=yes)

    run(root / "checkpoints", False)
    for _ in range(data.draw(st.integers(1, 6))):
        folder = data.draw(st.sampled_from(sorted(root.iterdir())))
        saved = saves(folder)
        if not saved:  # killed before its first save: there is nothing to go on from
            return
        before = {place: rewind_to(*place, folder=folder) for place in saved}
        others = {path: on_disk(path) for path in root.iterdir() if path != folder}
        (turn, point), act = data.draw(st.sampled_from(saved)), data.draw(st.sampled_from(["resume", "rewind", "fork"]))
        if act == "resume":
            run(folder, True)
            assert {place: rewind_to(*place, folder=folder) for place in saved} == before
        elif act == "rewind":
            assert go_back_to(turn, point, folder=folder, tools=world.tools) == load_latest(folder=folder)
            assert all(rewind_to(*place, folder=folder) == before[place] for place in saved if place < (turn, point))
        else:
            mine = on_disk(folder)
            branch = fork_from(turn, next(names), point, folder=folder, tools=world.tools)
            given_on = load_latest(folder=branch)["messages"]
            assert on_disk(folder) == mine and given_on[:len(before[turn, point]["messages"])] == before[turn, point]["messages"]
        assert {path: on_disk(path) for path in others} == others
        for path in root.iterdir():
            now = load_latest(folder=path)
            assert now["pendingToolUse"] or check_transcript(now["messages"], ends_with_user=False) == []


def saves(folder):
    return scenes.kept(folder).saves(folder) if keeping.way_of(folder) != "file" else []


# --- what a breaker found -----------------------------------------------------------------------------

def test_a_newest_turn_file_that_is_torn_names_the_save_before_it_and_costs_nothing(home):
    world = World()
    start(home, world, way="turns")
    before = rewind_to(3, "B", folder=home)
    (home / "turn-003-final.json").write_text("{")
    with pytest.raises(checkpoint.CheckpointTorn, match="move that file away, and turn 3, Point B, is the newest again"):
        load_latest(folder=home)
    (home / "turn-003-final.json").rename(home / "aside.json")
    assert load_latest(folder=home) == before


def test_a_fresh_start_leaves_a_persons_own_files_beside_what_a_rewind_moved_aside(home):
    world = World()
    start(home, world, way="turns")
    go_back_to(1, folder=home, tools=world.tools)
    (home / "rewound-1" / "my-notes.txt").write_text("mine")
    start(home, world, way="turns")
    assert list(on_disk(home / "rewound-1")) == ["my-notes.txt"]


def test_a_renamed_parent_is_still_the_ground_of_its_branches(home):
    world = World()
    start(home, world)
    fork_from(2, "b", folder=home)
    renamed = home.rename(home.with_name("another"))
    with pytest.raises(CourseError, match="checkpoints-b begins"):
        start(renamed, world)


def test_a_branch_without_its_parent_says_which_folder_is_missing(home):
    world = World()
    start(home, world)
    branch = fork_from(2, "b", folder=home)
    home.rename(home.with_name("another"))
    with pytest.raises(CourseError, match="checkpoints-b begins in the history of checkpoints, which is not there; bring that folder back"):
        load_latest(folder=branch)


def test_a_branch_may_have_hundreds_of_ancestors(home):
    start(home, World())
    latest, branch = load_latest(folder=home), home
    whole = (home / history.FILE).read_bytes().rstrip(b"\0")
    for generation in range(400):  # each begins where the one before ends, and has nothing of its own yet
        link = {"folder": branch.name, "bytes": len(whole), "sum": f"{sum_of(whole):08x}"}
        whole, branch = line_of({"history": 1, "parent": link}, 0), home.with_name(f"generation-{generation}")
        branch.mkdir()
        (branch / history.FILE).write_bytes(whole)
    assert load_latest(folder=branch) == latest


def test_what_happened_is_told_although_the_ledger_is_gone(home):
    world = World()
    start(home, world, way="turns")
    (home / "effects.json").unlink()
    note = go_back_to(1, folder=home, tools=world.tools)["messages"][-1]["content"]
    assert "note (t2)" in note and "pay (t3)" in note and "look" not in note


def test_a_note_about_very_many_effects_stays_short(home, way):
    turns_ = [[use(f"t{i}", "note", line=f"line {i}")] for i in range(1, 60)]
    world = World()
    start(home, world, *turns_, [text("done")], way=way, max_turns=100)
    note = go_back_to(1, folder=home, tools=world.tools)["messages"][-1]["content"]
    assert "and 18 more" in note and note.count("note (") == 40


def test_a_pause_before_the_first_turn_is_no_error(home, way):
    assert "max of 0 turns" in start(home, World(), way=way, max_turns=0)


def test_of_two_forks_of_one_name_at_one_time_one_is_refused(done):
    home, _ = done
    from course_lib.guard import owning
    (home.parent / "checkpoints-b").mkdir()
    with Run(), owning(home.parent / "checkpoints-b"):  # the other one, which is at it
        with pytest.raises(CourseError, match="in use by process"), Run():
            fork_from(2, "b", folder=home)


def test_a_folder_that_is_not_there_is_said_to_be_not_there(tmp_path):
    with pytest.raises(CourseError, match="There is no folder nowhere here"):
        load_latest(folder=tmp_path / "nowhere")
    with pytest.raises(CourseError, match="make the folder first"):
        start(tmp_path / "nowhere", World())


def test_turn_files_count_although_a_checkpoint_of_another_lesson_lies_beside_them(home):
    start(home, World(), way="turns")
    write(home / "checkpoint.json", scene([]))
    assert load_latest(folder=home)["turns"] == 3


@pytest.mark.parametrize("kept", WAYS)
def test_a_conversation_that_the_api_would_refuse_is_told_with_the_way_back(home, kept):
    with keeping.keeping(kept):  # as another program may have saved it
        part(checkpoint.save_checkpoint)(home / "checkpoint.json", scene([said(text(""), LOOK)], pending=LOOK, turns=1))
    with pytest.raises(CourseError, match="go back to an earlier turn"):
        start(home, World(), [LOOK], resume=True)


# --- what a rewind leaves standing is not forgotten by the next one -------------------------------------

def note_of(scene):
    assert check_transcript(scene["messages"]) == []
    return scene["messages"][-1]["content"]


def warnings_at_the_gate(folder, world, capsys, *turns_, **options):
    """What a person is told before the next payment."""
    capsys.readouterr()
    with Run():
        run_agent(Model(*turns_), "do it", world.tools, folder=folder, resume=True, **{"approve": yes, **options})
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("[similar effect]")]


AGAIN = ([LOOK], [use("u2", "pay", amount=100)], [text("done")])


def test_a_call_that_a_crash_left_dangling_may_have_happened_and_the_rewind_says_so(home, way, capsys):
    world = World()
    start(home, world, way=way, crash=("after-tool", 3))  # paid, and nothing on record says so
    standing = effects_since(1, folder=home)
    assert [(effect["id"], str(effect["result"]).startswith("State unknown")) for effect in standing] == [("t2", False), ("t3", True)]
    note = note_of(go_back_to(1, folder=home, tools=world.tools))
    assert 'pay (t3) with {"amount": 100}, of which nobody knows whether it happened' in note and "soup" in note.split("pay")[0]
    assert warnings_at_the_gate(home, world, capsys, *AGAIN) == [
        "[similar effect] pay (u2) looks like pay (t3), which may have happened in checkpoints: is this to happen once more?"]


def test_a_dangling_call_that_only_reads_is_nothing_that_stands(home, way):
    world = World()
    start(home, world, [NOTE], [LOOK], [text("done")], way=way, crash=("after-tool", 2))
    assert note_count(go_back_to(1, folder=home, tools=world.tools)) == 0


def note_count(scene):
    return sum(message["role"] == "user" and type(message["content"]) is str and message["content"].startswith("This run was taken back") for message in scene["messages"])


def test_what_one_rewind_told_the_next_one_tells_too(home, way):
    world = World()
    start(home, world, way=way, crash=("after-tool", 3))
    start(home, world, way=way, resume=True)  # the payment is told as unknown, and is in no ledger
    assert "pay (t3)" in note_of(go_back_to(2, folder=home, tools=world.tools))
    assert {effect["id"] for effect in effects_since(1, folder=home)} == {"t2", "t3"}
    note = note_of(go_back_to(1, folder=home, tools=world.tools))
    assert "note (t2)" in note and "pay (t3)" in note and note.count("nobody knows") == 1


def test_a_fork_that_is_taken_back_twice_still_knows_what_its_parent_did(done):
    home, world = done
    branch = fork_from(3, "b", folder=home)
    if scenes.kept(branch) is turns:
        with pytest.raises(NoSuchTurn, match="What came before turn 3 is in checkpoints"):
            rewind_to(1, folder=branch)
        return
    go_back_to(2, folder=branch, tools=world.tools)
    assert [effect["id"] for effect in effects_since(1, folder=branch)] == ["t2", "t3"]
    assert "pay (t3)" in note_of(go_back_to(1, folder=branch, tools=world.tools))


def test_a_fork_of_a_rewound_branch_keeps_what_the_note_had_named(done):
    home, world = done
    go_back_to(2, folder=home, tools=world.tools)
    start(home, world, [LOOK], [NOTE], [use("u3", "look")], [text("done")], resume=True)
    branch = fork_from(3, "b", folder=home)
    assert "t3" in [effect["id"] for effect in effects_since(3, "B", folder=branch)]


def test_what_a_fork_was_told_of_is_found_whole_in_the_ledger_of_its_parent(done):
    home, world = done
    go_back_to(2, folder=home, tools=world.tools)
    branch = fork_from(2, "b", folder=home)
    [effect] = effects_since(2, folder=branch)
    assert (effect["id"], effect["result"], effect["input"]) == ("t3", "pay done", {"amount": 100})


def test_going_back_to_the_same_turn_again_tells_only_what_is_new(done):
    home, world = done
    for _ in range(3):
        scene = go_back_to(1, folder=home, tools=world.tools)
    assert note_count(scene) == 1
    assert [effect["id"] for effect in effects_since(1, folder=home)] == ["t2", "t3"]
    start(home, world, [LOOK], [use("u2", "note", line="fish")], [text("done")], resume=True)
    last = go_back_to(1, folder=home, tools=world.tools)["messages"][-1]["content"]
    assert "note (u2)" in last and "t2" not in last.replace("u2", "") and "t3" not in last


def test_effects_are_listed_in_the_order_they_happened_across_a_rewind(done):
    home, world = done
    go_back_to(1, folder=home, tools=world.tools)
    start(home, world, [LOOK], [use("u2", "note", line="fish")], [use("u3", "pay", amount=1)], [text("done")], resume=True)
    assert [effect["id"] for effect in effects_since(1, folder=home)] == ["t2", "t3", "u2", "u3"]


def test_an_id_that_another_branch_has_used_for_another_call_silences_no_warning(done, capsys):
    home, world = done
    branch = fork_from(1, "b", folder=home)
    told_ = warnings_at_the_gate(branch, world, capsys, [LOOK], [use("t3", "pay", amount=100.0)], [text("done")])
    assert told_ and "pay (t3) looks like pay (t3), which is on record in checkpoints" in told_[0]


def test_a_call_that_was_declined_is_not_taken_for_another_branchs_call_of_the_same_id(done):
    home, world = done
    branch = fork_from(1, "b", folder=home)
    start(branch, world, [LOOK], [use("t3", "pay", amount=7)], [text("done")], resume=True, approve=None)
    assert effects_since(1, folder=branch) == []


# --- the warning is a hint, and stops nothing ----------------------------------------------------------------

@pytest.mark.parametrize("first, second", [({"order": "7e4567890"}, {"order": "7E4567890"}), ({"order": "nan"}, {"order": "NaN"}), ({"order": 10**40}, {"order": float(10**40)})])
def test_any_value_can_be_compared(home, way, capsys, first, second):
    world = World()
    start(home, world, [LOOK], [use("t2", "pay", **first)], [text("done")], way=way)
    go_back_to(1, folder=home, tools=world.tools)
    assert len(warnings_at_the_gate(home, world, capsys, [LOOK], [use("u2", "pay", **second)], [text("done")])) == 1


def test_a_business_key_that_fails_on_an_input_says_nothing_of_it(home, way, capsys):
    world = World()
    world.tools["pay"] = world.tool("pay", high_impact=True, business_key=lambda input: input["order"])
    start(home, world, [LOOK], [use("t2", "pay", order="R7")], [text("done")], way=way)
    go_back_to(1, folder=home, tools=world.tools)
    assert warnings_at_the_gate(home, world, capsys, [LOOK], [use("u2", "pay", amount=3)], [text("done")]) == []
    assert load_latest(folder=home)["messages"][-2]["content"][0]["content"].startswith("pay failed: KeyError")


def test_a_broken_ledger_beside_this_branch_is_named_and_the_run_goes_on(home, capsys):
    world = World()
    start(home, world, way="turns")
    branch = fork_from(1, "b", folder=home)
    (home / "effects.json").write_bytes(b'{"t')
    [warning] = warnings_at_the_gate(branch, world, capsys, *AGAIN)
    assert "What checkpoints has done is not compared" in warning and load_latest(folder=branch)["messages"][-1]["content"] == [text("done")]


# --- folders and files as people have them ---------------------------------------------------------------------

def test_a_note_holds_no_half_character(home, way):
    world = World()
    with pytest.raises(CourseError, match="surrogate"):
        start(home, world, [LOOK], [use("t2", "note", line="half \ud83d")], [text("done")], way=way)
    go_back_to(1, folder=home, tools=world.tools)
    assert start(home, world, [LOOK], [text("done")], resume=True) == "done"


def test_a_broken_ledger_is_set_aside_by_going_back_too(home, capsys):
    world = World()
    start(home, world, way="turns")
    (home / "effects.json").write_bytes(b'{"t')
    note = note_of(go_back_to(1, folder=home, tools=world.tools))
    assert "note (t2)" in note and "pay (t3)" in note  # by what the conversation tells
    assert (home / "effects.json.broken.1").read_bytes() == b'{"t' and "[ledger set aside]" in capsys.readouterr().err


def test_a_fork_at_a_point_a_of_a_branch_with_a_broken_ledger_says_unknown_and_leaves_it(home, capsys):
    world = World()
    start(home, world, way="turns")
    (home / "effects.json").write_bytes(b'{"t')
    branch = fork_from(3, "b", "A", folder=home, tools=world.tools)
    assert load_latest(folder=branch)["messages"][-1]["content"][0]["content"].startswith("State unknown")
    assert (home / "effects.json").read_bytes() == b'{"t' and "counts as unknown" in capsys.readouterr().err


@pytest.mark.parametrize("act", [lambda home, world: go_back_to(1, "A", folder=home, tools=world.tools),
                                 lambda home, world: load_latest(folder=fork_from(1, "b", "A", folder=home, tools=world.tools))])
@pytest.mark.parametrize("messages, turn", [([], 1), ([said(LOOK)], 0)], ids=["lesson 6: the turn is not in messages yet", "lesson 2: turns counts the closed ones"])
def test_a_point_a_in_another_lessons_order_can_be_gone_back_to_and_forked(home, act, messages, turn):
    world = World()
    write(home / "turn-001-A.json", scene(messages, pending=LOOK, turns=turn))
    gone_on = act(home, world)
    assert gone_on["turns"] == 1 and gone_on["messages"][1:] == [said(LOOK), told({"type": "tool_result", "tool_use_id": "t1", "content": "look done"})]


def test_going_back_to_the_final_answer_and_further_is_one_more_rewind(done, way):
    home, world = done
    go_back_to(1, folder=home, tools=world.tools)
    start(home, world, [LOOK], [text("done")], resume=True)
    assert go_back_to(1, "final", folder=home, tools=world.tools) == load_latest(folder=home)
    go_back_to(1, "A", folder=home, tools=world.tools)
    assert note_count(go_back_to(1, folder=home, tools=world.tools)) == 1


def test_two_rewinds_with_a_run_between_them_work_in_one_run(done):
    home, world = done
    with Run(quiet=True):
        go_back_to(1, folder=home, tools=world.tools)
        start(home, world, [LOOK], [use("u2", "note", line="fish")], [text("done")], resume=True)
        again = go_back_to(1, folder=home, tools=world.tools)
    assert again == load_latest(folder=home) and "note (u2)" in note_of(again)


def test_a_damaged_line_before_a_rewind_is_no_crash(home):
    world = World()
    start(home, world, crash=("after-save-b", 3))
    go_back_to(1, folder=home, tools=world.tools)
    lines = (home / history.FILE).read_bytes().splitlines(keepends=True)
    assert lines[-1].startswith(b'{"rewind"') and lines[-2].startswith(b'{"save":"B"')
    (home / history.FILE).write_bytes(b"".join([*lines[:-2], lines[-2].replace(b'"B"', b'"C"'), lines[-1]]))
    with pytest.raises(history.HistoryError, match=f"Line {len(lines) - 1} of history.jsonl is damaged"):
        load_latest(folder=home)


def test_after_a_rewind_both_of_the_lessons_files_beside_a_history_say_what_it_says(home):
    world = World()
    start(home, world)
    scene = go_back_to(1, folder=home, tools=world.tools)
    assert read(home / "checkpoint.json") == scene and [*read(home / "effects.json")] == ["t1", "t2", "t3"]


def test_a_turn_that_a_rewind_has_left_is_said_to_be_there(done, way):
    home, world = done
    go_back_to(1, folder=home, tools=world.tools)
    where = {"turns": "rewound-1", "history": "an earlier timeline"}[way]
    with pytest.raises(NoSuchTurn, match=f"Turn 3 was never saved in checkpoints: it has turns 1 to 1. It is in {where}, which a rewind has left."):
        rewind_to(3, folder=home)


def test_what_a_rewind_has_left_can_be_looked_at_and_is_no_branch(home):
    world = World()
    start(home, world, way="turns")
    go_back_to(1, folder=home, tools=world.tools)
    assert rewind_to(3, folder=home / "rewound-1")["turns"] == 3
    before = on_disk(home)
    for act in (go_back_to, lambda turn, folder: fork_from(turn, "b", folder=folder)):
        with pytest.raises(branches.BranchError, match="rewound-1 is what a rewind has left"):
            act(3, folder=home / "rewound-1")
    assert on_disk(home) == before


def test_a_branch_reached_by_dots_or_a_link_is_the_same_branch(done, monkeypatch):
    home, world = done
    (home / "inside").mkdir()
    monkeypatch.chdir(home / "inside")
    branch = fork_from(2, "b", folder="..")
    assert branch == home.with_name("checkpoints-b")
    home.with_name("link").symlink_to(branch)
    assert [*family.family(branch)] == [home, branch]


def test_a_file_of_the_forks_name_is_not_touched(done):
    home, _ = done
    home.with_name("checkpoints-b").write_text("mine")
    with pytest.raises(branches.BranchError, match="There is a checkpoints-b already"):
        fork_from(2, "b", folder=home)
    assert home.with_name("checkpoints-b").read_text() == "mine"


def test_a_file_that_is_no_turn_file_by_a_hair_is_left_alone(home):
    start(home, World(), way="turns")
    for name in ("turn-0009-B.json", "turn-\u0661\u0662\u0663-B.json"):
        (home / name).write_text("{}")
    assert turns.saves(home)[-1] == (3, "final")
