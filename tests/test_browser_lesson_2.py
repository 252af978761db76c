"""Lesson 2 as a student sees it: the stepper and the torn-write lab by mouse and by keyboard, in each theme."""
import pytest

from in_lab import THEMES, cells_run, click, complaints, expect, keys, press, select, set_size, set_theme, settled, too_wide


@pytest.fixture(scope="module")
def lesson(open_notebook):
    """Lesson 2 with every cell run; the tests share it."""
    return open_notebook("notebooks/en/lesson_2.ipynb")


def stepper(page):
    return page.locator(".course-view", has_text="What could a second process know now?").first


def torn(page):
    return page.locator(".course-view", has_text="The process is killed").first


def test_every_cell_of_the_lesson_runs_and_none_shows_an_error(lesson):
    assert cells_run(lesson) > 20


def test_a_student_steps_to_point_a_by_mouse_and_on_by_the_button(lesson):
    lab = stepper(lesson)
    click(lab.get_by_role("radio", name="turn 3: ① save A is on disk, the tool has not started"))
    expect(lab).to_contain_text("write_report (toolu_03)")
    expect(lab).to_contain_text("It can't know.")
    for _ in range(2):
        press(lab, "later ▶")
    expect(lab).to_contain_text("② the tool has done its work")
    expect(lab).to_contain_text("read_notes, count_words, write_report")


def test_a_student_steps_with_the_keyboard_alone(lesson):
    lab = stepper(lesson)
    select(lab.get_by_label("Moment", exact=True), "turn 1: before the model is asked")
    expect(lab).to_contain_text("there is no checkpoint")
    lab.get_by_role("radio", checked=True).focus()
    keys(lesson, *["ArrowRight"] * 3)
    expect(lab).to_contain_text("read_notes (toolu_01)")
    expect(lab.get_by_role("radio", checked=True)).to_be_focused()


def test_a_student_cuts_a_write_short_by_typing_a_byte_and_by_jumping(lesson):
    lab = torn(lesson)
    select(lab.get_by_label("Way of writing").first, 'in place: open(path, "r+"), write over the old bytes')
    field = lab.get_by_label("Bytes written before the kill")
    field.fill("200")
    field.press("Enter")
    settled(lesson)
    expect(lab).to_contain_text("accepted, and it is neither: turns is 3, and 5 messages make 2 turns")
    lab.get_by_role("button", name="◀ to the answer before").press("Enter")
    settled(lesson)
    expect(lab).to_contain_text("load_checkpoint says: the old save, whole")
    select(lab.get_by_label("Way of writing").nth(1), "the same, with fsync of the file only")
    expect(lab).to_contain_text("may be forgotten")


@pytest.mark.parametrize("theme", THEMES)
def test_widgets_and_outputs_are_accessible_in_each_theme(lesson, theme):
    set_size(lesson, 1280, 900)
    set_theme(lesson, theme)
    lab = stepper(lesson)
    click(lab.get_by_role("radio", name="turn 3: in the middle of save A"))
    expect(lab).to_contain_text(".tmp")
    assert complaints(lesson) == []


def test_nothing_is_wider_than_a_projector_or_a_small_laptop(lesson):
    set_size(lesson, 1000, 800)
    lab = torn(lesson)
    select(lab.get_by_label("Way of writing").first, "atomic: a temp file, then a rename")
    expect(lab).to_contain_text("checkpoint.json.tmp")
    assert too_wide(lesson) == []
