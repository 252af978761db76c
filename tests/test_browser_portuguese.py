"""The Portuguese edition in a real JupyterLab: its words on the widgets, nothing cut off, nothing too wide."""
import re

import pytest

from in_lab import expect

PAGES = ["lesson_1", "lesson_2", "lesson_3", "lesson_4", "lesson_5", "lesson_6"]

# A control whose own words don't fit into it: what is drawn is shorter than what is there.
CUT = """() => [...document.querySelectorAll('.course-view button, .course-view label, .course-view th, .course-view .widget-label')]
    .filter((box) => box.offsetParent && (box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX !== 'visible'))
    .map((box) => box.textContent.trim())"""
WIDE = "() => [...document.querySelectorAll('.course-view')].filter((view) => view.scrollWidth > view.clientWidth + 1).map((view) => view.textContent.trim().slice(0, 80))"


@pytest.fixture(scope="module", params=PAGES)
def page(request, open_notebook):
    return open_notebook(f"notebooks/pt_BR/{request.param}.ipynb", width=1000)


def test_the_widgets_speak_portuguese_and_no_word_of_theirs_is_cut(page):
    expect(page.locator(".course-view button", has_text=re.compile("Esta é a minha resposta|Executar|Matar"))).not_to_have_count(0)
    assert page.evaluate(CUT) == [] and page.evaluate(WIDE) == []
