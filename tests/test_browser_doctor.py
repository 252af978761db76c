"""TranscriptDoctor as a student meets it: real JupyterLab, mouse, keyboard, a file, a download, three themes."""
import json

import pytest

from course_lib.scenarios.broken import BROKEN, SOUND
from course_lib.transcript import check_transcript

from in_lab import THEMES, busy_kernel, complaints, cut_off, expect, keys, press, select, set_size, set_theme, too_wide

EXAMPLE, PASTE = "A broken example", "Or paste it"


@pytest.fixture(scope="module")
def page(open_notebook):
    """A notebook with the doctor alone."""
    return open_notebook("doctor.ipynb", cells=["from course_lib.widgets.transcript_doctor import TranscriptDoctor\nTranscriptDoctor()"])


@pytest.fixture
def view(page):
    """The doctor, in a wide window."""
    set_size(page, 1280, 900)
    return page.locator(".course-view")


def example(view, name):
    """One of the examples, chosen anew even if it is the one chosen last."""
    select(view.get_by_label(EXAMPLE), "choose one")
    select(view.get_by_label(EXAMPLE), name)
    expect(view).to_contain_text("of the API's rules")


def mended(view, name, change):
    """An example with its remedy below."""
    example(view, name)
    press(view, "Mend it")
    expect(view).to_contain_text(change)


def test_an_example_is_examined_mended_and_downloaded_by_mouse(page, view, tmp_path):
    example(view, "resumed twice")
    expect(view).to_contain_text("messages.2.content.1 · toolu_01")
    expect(view).to_contain_text("each tool_use must have a single result")
    press(view, "Mend it")
    expect(view).to_contain_text("had a result already; the first one stays")
    with page.expect_download() as download:
        view.get_by_role("link", name="Download mended.json").click()
    assert download.value.suggested_filename == "mended.json"
    download.value.save_as(tmp_path / "mended.json")
    assert check_transcript(json.loads((tmp_path / "mended.json").read_bytes())) == []


def test_a_conversation_is_pasted_and_mended_with_the_keyboard_alone(page, view):
    example(view, "resumed twice")
    view.get_by_label(PASTE).focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(json.dumps(BROKEN["old messages cut away"]))
    keys(page, "Tab", "Enter")
    expect(view).to_contain_text("1 message, 1 breach of the API's rules")
    keys(page, "Tab", "Enter")
    expect(view).to_contain_text("so it became a text that names it")


def test_what_is_typed_while_the_kernel_is_busy_is_not_wiped_out_by_its_late_answer(page, view):
    select(view.get_by_label(EXAMPLE), "choose one")
    with busy_kernel(page):
        view.get_by_label(EXAMPLE).select_option("resumed twice")
        view.get_by_label(PASTE).fill(json.dumps(SOUND))
    expect(view).to_contain_text("each tool_use must have a single result")
    expect(view.get_by_label(PASTE)).to_have_value(json.dumps(SOUND))
    press(view, "Examine")
    expect(view).to_contain_text("✓ 3 messages, nothing that the API would refuse")


def test_a_session_is_loaded_from_a_file_and_a_broken_one_says_why(page, view):
    lines = "\n".join(map(json.dumps, [*BROKEN["killed, then sent as it was"], {"type": "summary"}]))
    for data, words in [(lines + '\n{"ro', "Line 4, the last one, was cut short and is left out."), ("no json", "It can't be read as JSON")]:
        example(view, "resumed twice")
        expect(view).not_to_contain_text(words)
        with page.expect_file_chooser() as chooser:
            view.get_by_role("button", name="Load a file").click()
        chooser.value.set_files({"name": "session.jsonl", "mimeType": "application/json", "buffer": data.encode()})
        expect(view).to_contain_text(words)


@pytest.mark.parametrize("theme", THEMES)
def test_the_doctor_is_accessible_in_each_theme(page, view, theme):
    set_theme(page, theme)
    mended(view, "a person spoke in between", "was moved up, right behind its call")
    assert complaints(page) == []


def test_nothing_is_wider_than_a_small_laptop(page, view):
    set_size(page, 1000, 800)
    mended(view, "a person spoke in between", "was moved up, right behind its call")
    assert too_wide(page) == [] and cut_off(page) == []
