"""ForkTree in a real browser: rewind by mouse, fork by keyboard alone, in each theme, on a small screen."""
import pytest

from in_lab import THEMES, busy_kernel, click, complaints, execute, expect, keys, press, select, set_size, set_theme, too_wide

CELL = "from course_lib.widgets.fork_tree import ForkTree\ntree = ForkTree()\ntree"
REWIND, FORK, RUN, ANEW = "Rewind to here", "Fork from here", "Run on, to the end", "Start anew, with a new world"
TURN_3, TURN_2 = "checkpoints: turn 3, Point B: pay_back is answered", "checkpoints: turn 2, Point B: find_order is answered"


@pytest.fixture(scope="module")
def page(open_notebook):
    """A notebook with nothing but a ForkTree."""
    page = open_notebook("fork_tree.ipynb", cells=[CELL])
    expect(page.get_by_role("button", name=REWIND)).to_have_count(1)
    return page


@pytest.fixture
def tree(page):
    """The tree, put back by its own button."""
    set_size(page, 1280, 900)
    tree = page.locator(".course-view", has=page.get_by_role("button", name=REWIND))
    press(tree, ANEW)
    expect(tree.get_by_role("radio")).to_have_count(13)  # six turns with two points each, and the answer
    return tree


def test_by_mouse_a_student_rewinds_runs_on_and_sees_what_stays(tree):
    click(tree.get_by_role("radio", name=TURN_3))
    expect(tree).to_contain_text("A rewind to here would leave standing:")
    press(tree, REWIND)
    expect(tree).to_contain_text("This run was taken back to turn 3.")
    expect(tree.get_by_role("radio", name="checkpoints/rewound-1, left behind after turn 3: turn 4, Point A: send_email has been named")).to_be_visible()
    press(tree, RUN)
    expect(tree).to_contain_text("[done] Ada has her money back, and knows that no lamp was meant to come.")
    expect(tree).to_contain_text("To ada@example.org: A new lamp is on its way to you.")
    expect(tree).to_contain_text("The first 7 messages are the same in both.")


def test_with_the_keyboard_alone_a_student_forks_and_the_payment_is_made_twice(page, tree):
    tree.get_by_role("radio", checked=True).focus()
    with busy_kernel(page):  # quicker than the kernel
        page.keyboard.press("Home")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
    expect(tree.get_by_role("radio", name=TURN_2)).to_be_focused()
    expect(tree).to_contain_text("checkpoints, turn 2, Point B")
    for _ in range(3):  # past the two buttons, to the name
        page.keyboard.press("Tab")
    expect(tree.get_by_label("Name of the fork")).to_be_focused()
    page.keyboard.type("plan-b")
    keys(page, "Tab", "Enter")
    expect(tree).to_contain_text("checkpoints-plan-b begins at turn 2 of checkpoints")
    tree.get_by_role("button", name=RUN).focus()
    keys(page, "Enter")
    expect(tree).to_contain_text("[similar effect] pay_back (toolu_03_2) looks like pay_back (toolu_03)")
    expect(tree).to_contain_text("pay_back ×2")


def test_what_was_left_behind_can_be_chosen_and_not_gone_on_with(tree):
    click(tree.get_by_role("radio", name=TURN_3))
    press(tree, REWIND)
    click(tree.get_by_role("radio", name="left behind after turn 3: turn 5, Point B"))
    expect(tree).to_contain_text("It can be looked at and compared; no run goes on from it.")
    press(tree, RUN)
    expect(tree.get_by_role("alert")).to_contain_text("choose a save of a branch")


def test_two_lines_are_chosen_to_be_compared(page, tree):
    execute(page, "tree.choose('checkpoints', 2); tree.fork('b'); tree.run_on(); tree.choose('checkpoints', 3); tree.fork('c')")
    select(tree.get_by_label("Compare", exact=True), "checkpoints-b")
    select(tree.get_by_label("with", exact=True), "checkpoints-c")
    expect(tree).to_contain_text("The first 5 messages are the same in both.")
    expect(tree.get_by_role("columnheader", name="checkpoints-b")).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
def test_it_is_accessible_in_each_theme_with_everything_drawn(page, tree, theme):
    set_theme(page, theme)
    execute(page, "tree.choose('checkpoints', 3); tree.rewind(); tree.run_on(); tree.choose('checkpoints', 2); tree.fork('plan-b'); tree.run_on()")
    expect(tree).to_contain_text("[done] Ada has her money back, as she asked.")
    press(tree, FORK)
    expect(tree.get_by_role("alert")).to_contain_text("name of a branch")
    set_size(page, 1280, 4000)  # axe looks at no contrast where the page is scrolled away
    assert complaints(page) == []


def test_nothing_is_wider_than_a_small_laptop(page, tree):
    execute(page, "tree.choose('checkpoints', 3); tree.rewind(); tree.run_on(); tree.choose('checkpoints', 2); tree.fork('a-rather-long-name-of-a-branch')")
    expect(tree).to_contain_text("a-rather-long-name-of-a-branch begins")
    set_size(page, 1000, 800)
    assert too_wide(page) == []
