"""Hostile text in a real browser: what a tool returns, what a file is called and what a checkpoint says is text in every view, and no script of it runs."""
import json

import pytest

from in_lab import execute, expect, press

SCRIPT = "window.pwned = (window.pwned || 0) + 1"
NASTY = (f"</script><script>{SCRIPT}</script><img src=x onerror='{SCRIPT}'><svg onload='{SCRIPT}'><iframe srcdoc='<script>parent.{SCRIPT}</script>'></iframe>"
         f"</pre></td></table></div></details><b id=pwned>bold</b><a href='javascript:{SCRIPT}'>link</a><style>*{{display:none}}</style>"
         f"\"'`><details open ontoggle='{SCRIPT}'><math><mi xlink:href='javascript:{SCRIPT}'>$x$ $\\href{{javascript:{SCRIPT}}}{{y}}$ **md** \\(x\\)\u202e\x00\x1b[2J")
FILE = f"<img src=x onerror='{SCRIPT}'>.txt"
HOSTILE = [{"role": NASTY, "content": NASTY}, {"role": "assistant", "content": [{"type": "tool_use", "id": NASTY, "name": NASTY, "input": {NASTY: NASTY}}]},
           {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "other" + NASTY, "content": NASTY}, {"type": NASTY}]}]
SETUP = f"""
import json, tempfile
from pathlib import Path
from course_lib.scenarios.one_call import one_call
from course_lib.scenarios.scenario import Scenario
NASTY, FILE = {NASTY!r}, {FILE!r}
def nasty(folder, input):
    (Path(folder) / FILE).write_text(NASTY)
    return {{NASTY: [NASTY]}}
nasty.__name__ = nasty.__qualname__ = NASTY
nasty.__doc__ = NASTY
scenario = one_call(nasty, {{NASTY: NASTY}})
scenario = Scenario(**{{**vars(scenario), "name": NASTY, "task": NASTY, "files": {{}}}})
scenario.script[0]["content"].insert(0, {{"type": "text", "text": NASTY}})
scenario.script[0]["content"][-1]["id"] = NASTY
scenario.script[-1]["content"][0]["text"] = NASTY
"""
CRASH_LAB = SETUP + """
from course_lib.widgets.crash_lab import CrashLab
lab = CrashLab(scenario)
lab"""
STEPPER = SETUP + """
from course_lib.widgets.checkpoint_stepper import CheckpointStepper
stepper = CheckpointStepper(scenario)
stepper"""
TREE = SETUP + """
from course_lib.scenarios import wrong_turn
from course_lib.widgets.fork_tree import ForkTree
home = Path(tempfile.mkdtemp(prefix="course-"))
wrong_turn.begin(home, keep="turns")
for path in sorted(home.rglob("*.json")):
    if path.name.startswith("turn-") or path.name == "effects.json":
        text = path.read_text()
        for word in ("A new lamp is on its way to you.", "paid 40 to Ada", "lamp handed to the courier", "send_parcel", "toolu_05"):
            text = text.replace(word, json.dumps(NASTY)[1:-1])
        path.write_text(text)
(home / FILE).write_text(NASTY)
(home / "outbox.txt").write_text(NASTY)
with open(home / "journal.jsonl", "a") as journal:
    journal.write(json.dumps({"tool": NASTY, "input": {NASTY: NASTY}}) + "\\n")
tree = ForkTree(home)
tree"""
DOCTOR = SETUP + """
from course_lib.widgets.transcript_doctor import TranscriptDoctor
doctor = TranscriptDoctor()
doctor"""
CARD = SETUP + """
from course_lib.widgets.exercise_card import ExerciseCard
card = ExerciseCard("4.2", "raise ValueError(" + repr(NASTY) + ")")
card"""


TWINS = "from IPython.display import HTML\nHTML(''.join(each.static_html() for each in (lab, stepper, tree, doctor, card)))"


@pytest.fixture(scope="module")
def page(open_notebook):
    """A notebook with a view of each kind, all of them full of hostile text."""
    page = open_notebook("hostile.ipynb", cells=[CRASH_LAB, STEPPER, TREE, DOCTOR, CARD, TWINS])
    expect(page.locator(".course-view")).to_have_count(5)
    return page


def view(page, number):
    return page.locator(".course-view").nth(number)


def is_only_text(page, part, may_be=""):
    """Nothing of the payload became a tag or ran, and it can be read. may_be: a tag that JupyterLab itself makes."""
    expect(part).to_contain_text("<img src=x onerror=")
    assert page.evaluate("window.pwned") is None
    assert page.locator("#pwned").count() == 0  # at once, and not "in the end": what was there for a moment has been there
    made = part.evaluate("""view => [...view.querySelectorAll('script, img, svg, iframe, math, object, embed, [href*="script:" i], style')]
        .filter(part => !(part.tagName === 'STYLE' && part.textContent.includes('.course-view'))).map(part => part.tagName + ' ' + part.outerHTML.slice(0, 200))""")
    made = [tag for tag in made if tag.split()[0].lower() != may_be]
    handlers = part.evaluate("""view => [...view.querySelectorAll('*')].flatMap(part => [...part.attributes]
        .filter(attribute => attribute.name.startsWith('on') || attribute.name === 'srcdoc').map(attribute => `${part.tagName} ${attribute.name}`))""")
    assert (made, handlers) == ([], [])


def test_the_check_would_see_a_tag_a_handler_and_a_script(page):
    part = view(page, 3)
    execute(page, f"doctor.examine({json.dumps(HOSTILE)!r})")
    is_only_text(page, part)
    for planted in ("<svg></svg>", "<p onclick='1'></p>", "<b id=pwned></b>", "<img src=x onerror='window.pwned = 1'>"):
        part.evaluate("(view, html) => { view.insertAdjacentHTML('beforeend', `<div id=planted>${html}</div>`); }", planted)
        page.wait_for_function("planted => !planted.includes('pwned = 1') || window.pwned", arg=planted)
        with pytest.raises(AssertionError):
            is_only_text(page, part)
        part.evaluate("view => { view.querySelector('#planted').remove(); delete window.pwned; }")


def test_crash_lab(page):
    lab = view(page, 0)
    for label in ("after-save-a", "after-tool", "after-effect-write", "after-save-b"):
        execute(page, f"lab.choose('{label}', 1)")
        expect(lab).to_contain_text(f"{label}:1")
        is_only_text(page, lab)
    execute(page, "lab.kill()")
    expect(lab).to_contain_text("The process is dead.")
    is_only_text(page, lab)


def test_checkpoint_stepper(page):
    stepper = view(page, 1)
    for label, words in [("after-save-a", "Did its tool run?"), ("mid-save-b", "in the middle of save B"), ("after-save-b", "None that it knows of.")]:  # there the run ends: the API takes no such id back
        execute(page, f"stepper.choose('{label}', 1)")
        expect(stepper).to_contain_text(words)
        is_only_text(page, stepper)


def test_fork_tree(page):
    tree = view(page, 2)
    is_only_text(page, tree)
    execute(page, "tree.choose('checkpoints', 3); tree.rewind()")
    expect(tree).to_contain_text("left behind after turn 3")
    is_only_text(page, tree)
    execute(page, "tree.choose('checkpoints', 2); tree.fork('b')")
    expect(tree).to_contain_text("checkpoints-b begins at turn 2")
    is_only_text(page, tree)
    tree.get_by_label("Name of the fork").fill(NASTY.replace("\x00", "").replace("\x1b", ""))
    press(tree, "Fork from here")
    expect(tree.get_by_role("alert")).to_contain_text("name of a branch")
    is_only_text(page, tree)


@pytest.mark.parametrize("text", [json.dumps(HOSTILE), "\n".join(map(json.dumps, [{"type": NASTY}, *HOSTILE])), NASTY, json.dumps({"messages": HOSTILE[1:2], "pendingToolUse": {"id": NASTY, "name": NASTY}})],
                         ids=["messages", "a session", "no JSON", "a checkpoint"])
def test_transcript_doctor(page, text):
    doctor = view(page, 3)
    execute(page, f"doctor.pasted.value = {text!r}; doctor.examine_button.click()")
    if text != NASTY:
        expect(doctor).to_contain_text("of the API's rules")
        is_only_text(page, doctor)
        press(doctor, "Mend it")
        expect(doctor).to_contain_text("change")
        is_only_text(page, doctor)
    else:
        expect(doctor.get_by_role("alert")).to_contain_text("It can't be read as JSON")
        assert page.evaluate("window.pwned") is None and page.locator("#pwned").count() == 0


def test_exercise_card(page):
    card = view(page, 4)
    is_only_text(page, card)
    execute(page, "text = ''.join(f'def {name}(*a, **k):\\n    raise ValueError({NASTY!r})\\n' for name in ('load_effects', 'save_effects', 'run_tool_uses'))\n"
              "card.given = text; card._act(card._judge)")
    expect(card).to_contain_text("✗ load_effects gives an empty dict")
    is_only_text(page, card)
    press(card, "Reset")
    expect(card).to_contain_text("attempts and hints are forgotten")
    assert page.evaluate("window.pwned") is None


def test_what_is_stored_of_them_in_a_notebook(page):
    """JupyterLab typesets what stands between dollars in an HTML output, its own way; no link of it leads to a script."""
    is_only_text(page, page.locator(".jp-Cell").nth(5).locator(".jp-OutputArea-output"), may_be="math")


def test_after_all_that_no_script_has_run_anywhere_and_the_page_is_still_there(page):
    assert page.evaluate("window.pwned") is None
    assert page.locator(".jp-OutputArea-output #pwned, .jp-OutputArea-output img[src=x]").count() == 0
    expect(page.locator(".course-view").first).to_be_visible()
