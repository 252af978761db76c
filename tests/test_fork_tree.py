"""ForkTree and what it compares: the branches as they are on disk, what each knows, what stands in the world."""
import json
import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from markup import OURS, PAYLOADS, Parsed

from course_lib import fork_from, go_back_to
from course_lib.branches import BranchError
from course_lib.errors import CourseError
from course_lib.scenarios import compare, wrong_turn
from course_lib.scenarios.compare import Line
from course_lib.widgets.fork_tree import DRAWN, ForkTree, chosen_html, difference_html, message_text, title, tree_grid, tree_html
from helpers import answer, on_disk, said, scene, text, told, tools_run, use

MAIN, PLAN_B, LEFT = "checkpoints", "checkpoints-plan-b", "checkpoints/rewound-1"


@pytest.fixture(params=["turns", "history"])
def keep(request):
    return request.param


@pytest.fixture
def tree(keep):
    return ForkTree(keep=keep)


@pytest.fixture
def family(tmp_path, keep):
    """Six turns with the wrong one; back to turn 3, and on; a fork at turn 2, and on. The first branch's folder."""
    wrong_turn.begin(tmp_path, keep=keep)
    home = tmp_path / MAIN
    with wrong_turn.at_desk(tmp_path):
        go_back_to(3, folder=home, tools=wrong_turn.tools(tmp_path))
    wrong_turn.go_on(home)
    with wrong_turn.at_desk(tmp_path):
        branch = fork_from(2, "plan-b", folder=home)
    wrong_turn.go_on(branch)
    return home


def by_name(lines):
    return {line.name: line for line in lines}


def places(line):
    return " ".join(f"{turn}{point[0]}" for turn, point in line.scenes)


def words(markup):
    return Parsed(markup).text


# --- what is compared -------------------------------------------------------------------------------

def test_each_line_has_its_own_saves_and_says_where_it_begins(family):
    found = compare.lines(family)
    assert [(line.name, line.start, line.is_left, places(line)) for line in found] == [
        (MAIN, None, False, "1A 1B 2A 2B 3A 3B 4A 4B 5A 5B 5f"),
        (LEFT, (MAIN, 3), True, "4A 4B 5A 5B 6A 6B 6f"),
        (PLAN_B, (MAIN, 2), False, "2B 3A 3B 4A 4B 5A 5B 5f")]


def test_the_family_is_the_same_seen_from_any_branch(family):
    assert compare.lines(family.with_name(PLAN_B)) == compare.lines(family)


def test_only_looking_changes_no_file(family):
    before = on_disk(family.parent)
    ForkTree(family.parent)
    assert on_disk(family.parent) == before


def test_a_rewind_that_leaves_nothing_behind_makes_no_line(tmp_path, keep):
    wrong_turn.begin(tmp_path, keep=keep, max_turns=3)
    go_back_to(3, folder=tmp_path / MAIN)
    assert [line.name for line in compare.lines(tmp_path / MAIN)] == [MAIN]


def test_each_of_several_rewinds_leaves_a_line_of_its_own(family):
    with wrong_turn.at_desk(family.parent):
        go_back_to(2, folder=family)
    found = by_name(compare.lines(family))
    assert places(found[LEFT]) == "4A 4B 5A 5B 6A 6B 6f" and found[LEFT].start == (MAIN, 3)
    assert places(found["checkpoints/rewound-2"]) == "3A 3B 4A 4B 5A 5B 5f" and found["checkpoints/rewound-2"].start == (MAIN, 2)


def test_a_fork_of_a_fork_begins_in_its_own_parent(family):
    with wrong_turn.at_desk(family.parent):
        fork_from(4, "plan-c", folder=family.with_name(PLAN_B))
    plan_c = by_name(compare.lines(family))["checkpoints-plan-c"]
    assert plan_c.start == (PLAN_B, 4) and places(plan_c) == "4B"


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(["rewind", "fork", "go on", "die"]), st.integers(0, 99), st.integers(1, 3)), max_size=6))
def test_turn_files_and_a_history_show_the_same_lines_whatever_was_done(tmp_path_factory, acts):
    seen = []
    for way in ("turns", "history"):
        home = tmp_path_factory.mktemp(way)
        wrong_turn.begin(home, keep=way)
        for number, (act, choice, count) in enumerate(acts):
            nodes = [(line, place) for line in compare.lines(home / MAIN) if not line.is_left for place in line.scenes]
            line, (turn, point) = nodes[choice % len(nodes)]
            with wrong_turn.at_desk(home):
                if act == "rewind":
                    go_back_to(turn, point, folder=line.folder, tools=wrong_turn.tools(home))
                elif act == "fork":
                    fork_from(turn, f"b{number}", point, folder=line.folder, tools=wrong_turn.tools(home))
            if act in ("go on", "die"):
                wrong_turn.go_on(line.folder, crash_after=("after-tool", count) if act == "die" else None)
        found = compare.lines(home / MAIN)
        assert tree_grid(found)["rows"]
        effects = compare.effects(home / MAIN, wrong_turn.tools(home))
        seen.append([(line.name, line.start, line.is_left, line.scenes, [compare.knows(line.scene, effect) for effect in effects]) for line in found])
    assert seen[0] == seen[1]


def test_two_scenes_share_what_they_begin_with():
    one = scene([said(use("a", "look")), told(answer("a", "x")), said(text("yes"))])
    assert compare.shared(one, scene([said(use("a", "look")), told(answer("a", "x")), said(text("no"))])) == 3
    assert compare.shared(one, one) == 4
    assert compare.shared(one, scene([])) == 1


def test_every_effect_is_listed_once_with_its_branch_and_those_that_only_read_are_not(family):
    found = [(effect["id"], effect["name"], effect["branch"]) for effect in compare.effects(family, wrong_turn.tools(family.parent))]
    assert found == [
        ("toolu_03", "pay_back", MAIN), ("toolu_04", "send_email", MAIN), ("toolu_05", "send_parcel", MAIN), ("toolu_06", "write_report", MAIN),
        ("toolu_24_2", "send_email", MAIN), ("toolu_25_2", "write_report", MAIN),
        ("toolu_03_2", "pay_back", PLAN_B), ("toolu_14_3", "send_email", PLAN_B), ("toolu_15_3", "write_report", PLAN_B)]


def test_effects_stand_in_the_order_in_which_they_happened_whichever_branch_did_them(family):
    with wrong_turn.at_desk(family.parent):
        go_back_to(2, folder=family)
    wrong_turn.go_on(family)
    payments = [(effect["id"], effect["branch"]) for effect in compare.effects(family, {}) if effect["name"] == "pay_back"]
    assert payments == [("toolu_03", MAIN), ("toolu_03_2", PLAN_B), ("toolu_03_3", MAIN)]


@pytest.mark.parametrize("id, main, left, plan_b", [
    ("toolu_03", "did", "did", "nothing"),  # paid in turn 3, which the fork at turn 2 has never seen
    ("toolu_04", "told", "did", "nothing"),  # the promise: left behind, and named in the note
    ("toolu_24_2", "did", "nothing", "nothing"),  # the correction
    ("toolu_03_2", "nothing", "nothing", "did"),  # the second payment
])
def test_a_line_knows_what_it_did_and_what_a_note_told_it(family, id, main, left, plan_b):
    lines = by_name(compare.lines(family))
    assert [compare.knows(lines[name].scene, {"id": id}) for name in (MAIN, LEFT, PLAN_B)] == [main, left, plan_b]


def test_an_id_that_only_begins_like_another_is_another():
    told_of = scene([{"role": "user", "content": "still stands: pay (t1_2) with {}"}])
    assert compare.knows(told_of, {"id": "t1_2"}) == "told"
    assert compare.knows(told_of, {"id": "t1"}) == "nothing"


def test_tokens_are_inherited_up_to_the_fork_and_its_own_after_it(family):
    lines = by_name(compare.lines(family))
    has = compare.counters(lines[PLAN_B].scene)
    assert has["tokens"]["inherited"] == lines[MAIN].scenes[2, "B"]["tokensUsed"]
    assert sum(has["tokens"].values()) == lines[PLAN_B].scene["tokensUsed"]
    assert (has["turns"], has["messages"]) == (5, 12)  # task, five calls and results, answer


# --- the tree ------------------------------------------------------------------------------------------

def test_the_tree_has_a_row_a_line_a_column_a_point_and_strokes_from_the_fork_points(family):
    grid = tree_grid(compare.lines(family))
    drawn = ["".join("." if cell is None else cell.get("mark", cell.get("line")) for cell in row["cells"]) for row in grid["rows"]]
    assert drawn == ["ABABABABAB..✓",
                     "..│..└ABABAB✓",
                     "..└BABABAB..✓"]
    assert grid["columns"][:3] == ["turn 1", "1", "turn 2"] and grid["columns"][-1] == "end"
    assert [row["title"] for row in grid["rows"]] == [MAIN, f"{LEFT}, left behind after turn 3", f"{PLAN_B}, forked from {MAIN} at turn 2"]


def test_the_nodes_are_numbered_row_by_row_and_each_has_words_of_its_own(family):
    rows = tree_grid(compare.lines(family))["rows"]
    nodes = [(cell["index"], f"{row['title']}: {cell['text']}") for row in rows for cell in row["cells"] if cell and "index" in cell]
    assert [index for index, _ in nodes] == list(range(11 + 7 + 8))
    assert len({text for _, text in nodes}) == len(nodes)
    assert f"{MAIN}: turn 3, Point A: pay_back has been named" in [text for _, text in nodes]


def test_a_stroke_stands_below_the_turn_that_was_gone_back_to(family):
    with wrong_turn.at_desk(family.parent):
        go_back_to(5, folder=family)  # leaves the answer alone, and other lines are longer
    lines = compare.lines(family)
    cells = tree_grid(lines)["rows"][2]["cells"]
    assert places(lines[2]) == "5f" and [position for position, cell in enumerate(cells) if cell == {"line": "└"}] == [9]  # below 5B


def test_the_tree_travels_as_plain_data(tree):
    assert json.loads(json.dumps(tree.tree.grid)) == tree.tree.grid


# --- what one can do -------------------------------------------------------------------------------------

def test_it_begins_with_the_finished_run_that_took_the_wrong_turn(tree):
    assert tree.names == [MAIN] and "new lamp is on its way" in tree.text
    assert "R7: 40 to Ada" in words(tree.news.value) and "lamp to Ada" in words(tree.news.value)
    assert "This save knows all that has been done" in words(tree.chosen.value)


def test_before_a_rewind_it_says_what_would_be_left_standing(tree):
    tree.choose(MAIN, 3)
    after = words(tree.chosen.value).split("A rewind to here would leave standing:")[1]
    assert all(id in after for id in ("toolu_04", "toolu_05", "toolu_06")) and "toolu_03" not in after


def test_what_another_branch_did_is_told_apart_from_what_a_rewind_would_leave(tree):
    tree.choose(MAIN, 2)
    tree.fork("plan-b")
    tree.run_on()
    tree.choose(MAIN, 2)
    later, elsewhere = words(tree.chosen.value).split("Done elsewhere, and unknown here:")
    assert "(toolu_03, checkpoints)" in later and "toolu_03_2" not in later
    assert "(toolu_03_2, checkpoints-plan-b)" in elsewhere and "(toolu_03, checkpoints)" not in elsewhere


def test_a_turn_means_its_last_point_here_too(tree):
    tree.choose(MAIN, 3)
    assert tree._nodes()[tree.tree.value][1] == (3, "B")
    tree.choose(MAIN, 3, "A")
    assert tree._nodes()[tree.tree.value][1] == (3, "A")


def test_what_only_looks_does_not_count_as_left_standing(tree):
    tree.choose(MAIN, 1)
    tree.rewind()
    assert "4 effects still stand" in words(tree.news.value)  # the payment, the mail, the parcel, the report


def test_a_rewind_shows_the_note_and_draws_what_is_left_behind(tree):
    tree.choose(MAIN, 3)
    tree.rewind()
    assert tree.names == [MAIN, LEFT]
    assert "3 effects still stand" in words(tree.news.value) and "This run was taken back to turn 3." in words(tree.news.value)
    assert "A new lamp is on its way" in (tree.home / "outbox.txt").read_text()
    tree.run_on()
    assert tree.text.endswith("knows that no lamp was meant to come.")


def test_a_fork_runs_on_in_its_own_folder_and_pays_twice_in_the_one_world(tree):
    tree.choose(MAIN, 2)
    tree.fork("plan-b")
    assert tree.names == [MAIN, PLAN_B] and "an empty ledger of its own" in words(tree.news.value)
    tree.run_on()
    assert tools_run(tree.home).count("pay_back") == 2 and "[similar effect] pay_back" in tree.text
    assert (tree.left.value, tree.right.value) == (MAIN, PLAN_B)


@pytest.mark.parametrize("remedy", ["careful", "business_key"])
def test_with_either_remedy_it_is_paid_once(tree, remedy):
    getattr(tree, remedy).value = True
    tree.choose(MAIN, 2)
    tree.rewind()
    tree.run_on()
    assert (tree.home / "payments.txt").read_text() == "R7: 40 to Ada\n"


def test_at_a_point_a_the_call_is_answered_from_the_ledger_first(tree):
    tree.choose(MAIN, 3, "A")
    tree.fork("plan-b")
    assert tools_run(tree.home).count("pay_back") == 1
    assert tree._nodes()[tree.tree.value] == (tree.lines[-1], (3, "B"))


def test_what_was_left_behind_can_be_looked_at_and_nothing_else(tree):
    tree.choose(MAIN, 3)
    tree.rewind()
    tree.choose(LEFT, 5)
    assert "A rewind has left this behind" in words(tree.chosen.value)
    before = on_disk(tree.home)
    for act in (tree.rewind, tree.run_on, lambda: tree.fork("x")):
        with pytest.raises(CourseError, match="left this behind"):
            act()
    tree.rewind_button.click()
    assert "left this behind" in tree.alert.value and on_disk(tree.home) == before


def test_a_finished_branch_says_that_there_is_nothing_to_run(tree):
    tree.run_button.click()
    assert "has its final answer" in tree.alert.value


def test_a_name_that_is_no_name_or_is_taken_is_an_alert_and_changes_nothing(tree):
    tree.choose(MAIN, 2)
    tree.fork("plan-b")
    before = on_disk(tree.home)
    for name, complaint in [("", "name of a branch"), ("<b>", "name of a branch"), ("plan-b", "already")]:
        tree.branch_name.value = name
        tree.fork_button.click()
        assert complaint in words(tree.alert.value)
        with pytest.raises(BranchError):
            tree.fork(name)
    assert on_disk(tree.home) == before and tree.names == [MAIN, PLAN_B]


def test_a_save_that_is_not_there_is_refused(tree):
    with pytest.raises(CourseError, match="no such save"):
        tree.choose(MAIN, 9)


def test_the_controls_do_what_the_methods_do(tree):
    tree.tree.value = 5  # turn 3, Point B
    tree.branch_name.value = " plan-b "
    tree.fork_button.click()
    tree.run_button.click()
    assert tree.names == [MAIN, PLAN_B] and tree.alert.value == "" and tree.branch_name.value == ""
    tree.anew_button.click()
    assert tree.names == [MAIN]


def test_a_folder_of_somebodys_own_is_gone_on_with_and_never_cleared(family):
    tree = ForkTree(family.parent)
    assert tree.names == [MAIN, LEFT, PLAN_B]
    before = on_disk(family.parent)
    with pytest.raises(CourseError, match="does not clear"):
        tree.start_anew()
    assert on_disk(family.parent) == before and tree.anew_button.layout.display == "none"


def test_a_folder_without_branches_is_refused_in_a_sentence(tmp_path):
    (tmp_path / MAIN).mkdir()
    with pytest.raises(CourseError, match="keeps no turns"):
        ForkTree(tmp_path)


@pytest.mark.parametrize("home", ["", "nowhere", "a file", "checkpoints"])
def test_a_place_that_holds_no_first_branch_is_refused_in_a_sentence_that_names_it(tmp_path, home):
    (tmp_path / "a file").touch()
    with pytest.raises(CourseError, match=f"{re.escape(str(tmp_path / home))} has no folder checkpoints in it.*; name the folder"):
        ForkTree(tmp_path / home)


# --- pictures ---------------------------------------------------------------------------------------------

def test_two_lines_stand_side_by_side_with_their_own_messages_and_what_each_knows(family):
    lines = by_name(compare.lines(family))
    markup = difference_html(lines[MAIN], lines[PLAN_B], compare.effects(family, wrong_turn.tools(family.parent)))
    found = words(markup)
    assert "The first 5 messages are the same in both." in found  # the task, and two turns
    assert "tokens: 0 inherited" in found and "toolu_03_2" in found and "First the letter." not in found
    row = markup.split("A new lamp is on its way to you. (toolu_04, checkpoints)")[1].split("</tr>")[0]
    assert words(row.replace("</th>", "")) == "○ told by a note✗ does not know"


def test_one_line_alone_is_not_compared_with_itself(tree):
    assert "Choose two lines" in words(tree.difference.value)
    assert words(tree.difference.value).count("its own call") == 4


@pytest.mark.parametrize("nasty", PAYLOADS)
def test_whatever_stands_in_the_files_is_text_in_the_picture(nasty):
    now = scene([said(use("t1", nasty, x=nasty)), told(answer("t1", nasty)), said(text(nasty))], turns=1)
    line = Line(nasty, None, {(1, "final"): now}, (nasty, 1))
    effects = [{"id": "t1", "name": nasty, "branch": nasty, "input": {"x": nasty}}, {"id": "t2", "name": nasty, "branch": nasty}]
    other = replace(line, scenes={(1, "final"): scene([])}, is_left=True)
    for markup in (chosen_html(line, (1, "final"), effects, effects), difference_html(line, other, effects), tree_html([line, other])):
        parsed = Parsed(markup)
        assert set(parsed.tags) <= OURS | {"th", "thead", "tbody", "caption"} and parsed.attributes <= {"style", "role", "scope"}
        assert all(c.isprintable() or c == "\n" for c in parsed.text)


def test_of_a_long_conversation_only_the_end_is_drawn():
    long = scene([said(text("x" * 10_000 + str(number))) for number in range(1000)])
    markup = difference_html(Line("a", None, {(0, "final"): long}), Line("b", None, {(0, "final"): scene([])}), [])
    assert len(markup) < 200 * DRAWN + 2000 and "… 940 earlier messages …" in markup


def test_a_message_says_who_speaks_and_that_a_result_is_an_error():
    assert message_text(told(answer("t", "no", is_error=True))) == "to the model: ✗ error no"
    assert message_text(said(text("I pay."), use("t", "pay", amount=1))) == 'model: I pay. → pay (t) {"amount": 1}'


def test_the_static_twin_has_the_tree_and_is_plain(tree):
    parsed = Parsed(tree.static_html())
    assert "checkpoints: 1A 1B 2A 2B 3A 3B 4A 4B 5A 5B 6A 6B 6✓" in parsed.text and "style" not in parsed.tags
    assert repr(tree) == "ForkTree()" and ForkTree().static_html() == ForkTree().static_html()


def test_a_line_says_what_it_is():
    line = Line("checkpoints-b", None, {}, ("checkpoints", 2))
    assert title(line) == "checkpoints-b, forked from checkpoints at turn 2"
