"""TranscriptDoctor as a student meets it: real JupyterLab, mouse, keyboard, a file, a download, three themes."""
import json

import pytest
from axe_playwright_python.sync_playwright import Axe

from course_lib.scenarios.broken import BROKEN
from course_lib.transcript import check_transcript

THEMES = ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]


@pytest.fixture(scope="module")
def page(open_notebook):
    """A notebook with the doctor alone."""
    return open_notebook("doctor.ipynb", cells=["from course_lib.widgets.transcript_doctor import TranscriptDoctor\nTranscriptDoctor()"])


def expect(locator):
    from playwright.sync_api import expect
    return expect(locator)


def example(page, name):
    view = page.locator(".course-view").first
    view.get_by_label("A broken example").select_option("choose one")
    view.get_by_label("A broken example").select_option(name)
    expect(view).to_contain_text("of the API's rules")
    return view


def test_an_example_is_examined_mended_and_downloaded_by_mouse(page, tmp_path):
    view = example(page, "resumed twice")
    expect(view).to_contain_text("messages.2.content.1 · toolu_01")
    expect(view).to_contain_text("each tool_use must have a single result")
    view.get_by_role("button", name="Mend it").click()
    expect(view).to_contain_text("had a result already; the first one stays")
    with page.expect_download() as download:
        view.get_by_role("link", name="Download mended.json").click()
    assert download.value.suggested_filename == "mended.json"
    download.value.save_as(tmp_path / "mended.json")
    assert check_transcript(json.loads((tmp_path / "mended.json").read_bytes())) == []


def test_a_conversation_is_pasted_and_mended_with_the_keyboard_alone(page):
    view = example(page, "resumed twice")
    view.get_by_label("Or paste it").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(json.dumps(BROKEN["old messages cut away"]))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(view).to_contain_text("1 message, 1 breach of the API's rules")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(view).to_contain_text("so it became a text that names it")


def test_a_session_is_loaded_from_a_file_and_a_broken_one_says_why(page):
    view = example(page, "resumed twice")
    lines = "\n".join(map(json.dumps, [*BROKEN["killed, then sent as it was"], {"type": "summary"}]))
    for data, words in [(lines + '\n{"ro', "Line 4, the last one, was cut short and is left out."), ("no json", "It can't be read as JSON")]:
        with page.expect_file_chooser() as chooser:
            view.get_by_role("button", name="Load a file").click()
        chooser.value.set_files({"name": "session.jsonl", "mimeType": "application/json", "buffer": data.encode()})
        expect(view).to_contain_text(words)


@pytest.mark.parametrize("theme", THEMES)
def test_the_doctor_is_accessible_in_each_theme(page, theme):
    page.evaluate("async theme => await window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    view = example(page, "a person spoke in between")
    view.get_by_role("button", name="Mend it").click()
    expect(view).to_contain_text("was moved up, right behind its call")
    page.add_style_tag(content="html, body { height: 100vh !important }")  # axe takes a body without height for invisible, and skips contrast
    report = Axe().run(page, context=".jp-OutputArea-output").response
    assert "color-contrast" in [rule["id"] for rule in report["passes"]], "contrast was not tested"
    assert not report["violations"], [(rule["id"], node["html"][:200], node["failureSummary"][:200])
                                      for rule in report["violations"] for node in rule["nodes"][:3]]


def test_nothing_is_wider_than_a_small_laptop(page):
    page.set_viewport_size({"width": 1000, "height": 800})
    view = example(page, "a person spoke in between")
    view.get_by_role("button", name="Mend it").click()
    expect(view).to_contain_text("was moved up, right behind its call")
    too_wide = page.evaluate("""() => [...document.querySelectorAll('.course-view, .jp-OutputArea-output')]
        .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText.slice(0, 60))""")
    assert too_wide == []
