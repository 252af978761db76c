"""CrashLab in a real browser: by mouse, by keyboard alone, in each theme, on a small screen, at the speed of a click."""
import re

import pytest

from in_lab import (COMMIT, DEMO, KILL, RESET, RESUME, THEMES, busy_kernel, choose, click, complaints, crash_labs, execute, expect, fresh,
                    keys, kill_at, predict, press, select, set_size, set_theme, too_wide)

REUSED, UNKNOWN = "The ledger has the call: its result is reused, nothing runs.", 'The ledger does not have the call, and the model is told "state unknown".'
ONCE, ASK_DONE = "write_report happens once.", "write_report has happened, and a person has to find that out."
CODE = "sales-report/write_report/lesson-6/after-effect-write:3"
CELLS = [
    'from course_lib.widgets import crash_lab\nlab = crash_lab.CrashLab("sales-report")\nlab',
    'crash_lab.CrashLab("sales-report", presenter=True)',
    '''import json
def save_checkpoint(path, checkpoint):
    with open(path, "w") as file:
        json.dump(checkpoint, file, indent=2)
def reconcile(checkpoint, tools, *, effects_path):
    open(effects_path.with_name("a-rather-long-name-" * 8 + ".txt"), "w").close()
    return effects[checkpoint["pendingToolUse"]["id"]]
crash_lab.CrashLab("sales-report", functions={"save_checkpoint": save_checkpoint, "reconcile": reconcile})''',
    '''from course_lib.scenarios.one_call import one_call
NASTY = "<img src=x onerror='window.pwned=1'><script>window.pwned=1</script></pre></table>\\u202eevil\\x00 " + "x" * 3000
def fetch(folder, input):
    (folder / "<b onmouseover=window.pwned=1>.txt").write_text(NASTY)
    return {NASTY: NASTY}
crash_lab.CrashLab(one_call(fetch, {"page": NASTY}))''',
]


@pytest.fixture(scope="module")
def page(open_notebook):
    """A notebook with nothing but CrashLabs: plain, for a presenter, with own functions, with hostile text."""
    page = open_notebook("crash_lab.ipynb", cells=CELLS)
    expect(crash_labs(page)).to_have_count(len(CELLS))
    return page


@pytest.fixture
def lab(page):
    """The plain one, put back, in a wide light window."""
    set_size(page, 1280, 900)
    lab = crash_labs(page).first
    execute(page, "lab.real.value = False; lab.policy.value = 'lesson-6'")
    return fresh(lab)


# --- by mouse ---------------------------------------------------------------------------

def test_by_mouse_a_student_kills_predicts_resumes_and_resets(lab):
    click(lab.get_by_role("radio", name=f"turn 3: {DEMO}"))
    expect(lab).to_contain_text("after-effect-write:3")
    press(lab, KILL)
    expect(lab).to_contain_text("[kill] simulated kill at after-effect-write:3")
    expect(lab.get_by_role("button", name=RESUME)).to_be_disabled()
    expect(lab.get_by_role("radiogroup", name="Moment of the run")).to_be_hidden()
    expect(lab).not_to_contain_text("ledger hit")
    press(lab, COMMIT)
    expect(lab).to_contain_text("Choose one of each first.")
    click(lab.get_by_text(UNKNOWN))
    click(lab.get_by_text(ONCE))
    press(lab, COMMIT)
    expect(lab.get_by_role("radiogroup", name="Moment of the run")).to_be_visible()
    expect(lab).not_to_contain_text("not as predicted")
    press(lab, RESUME)
    expect(lab).to_contain_text("Which way did it go? not as predicted")
    expect(lab).to_contain_text("And in the end? you were right")
    expect(lab).to_contain_text('effects.json, line 14: "toolu_03": {')
    expect(lab).to_contain_text("[done] Report written to report.txt, task complete.")
    lab.get_by_text("Why not the others").first.click()
    expect(lab.get_by_text("There is nothing to resume from: the run has to start over.").last).to_be_visible()
    press(lab, RESET)
    expect(lab).to_contain_text("Turn 1: before anything has run")
    expect(lab).not_to_contain_text("[done]")


def test_the_resume_can_be_killed_too(lab):
    kill_at(lab, 3, DEMO)
    predict(lab, REUSED, ONCE)
    click(lab.get_by_role("radio", name="turn 3: ②' in the middle of save B"))
    expect(lab).to_contain_text("mid-save-b:1")
    press(lab, KILL)
    expect(lab).to_contain_text("what becomes of it is still open")
    expect(lab.get_by_role("button", name=RESUME)).to_be_disabled()
    expect(lab.get_by_role("radio", checked=True)).to_have_count(0)
    predict(lab, REUSED, ONCE)
    press(lab, RESUME)
    expect(lab).to_contain_text("The run is over: write_report happened once.")
    expect(lab.get_by_label("Scenario code")).to_have_value(f"{CODE}/mid-save-b:1")


def test_a_code_that_was_copied_brings_the_run_back_after_a_reset(lab):
    kill_at(lab, 3, DEMO)
    expect(lab.get_by_label("Scenario code")).to_have_value(CODE)
    fresh(lab)
    lab.get_by_label("Scenario code").fill(CODE)
    press(lab, "Open this code")
    expect(lab).to_contain_text("[kill] simulated kill at after-effect-write:3")
    expect(lab.get_by_role("button", name=COMMIT)).to_be_visible()


def test_a_wrong_code_is_told_and_nothing_else_changes(lab):
    choose(lab, 3, DEMO)
    lab.get_by_label("Scenario code").fill("sales-report/write_report/lesson-6/after-tool:77")
    press(lab, "Open this code")
    expect(lab.get_by_role("alert")).to_contain_text("this run never comes there")
    expect(lab).to_contain_text("after-effect-write:3")
    press(lab, "later")
    expect(lab.get_by_role("alert")).to_have_count(0)


def test_another_policy_gives_another_run(lab):
    select(lab.get_by_label("Policy"), "A and B, no ledger (lesson 3)")
    expect(lab.get_by_label("Scenario code")).to_have_value("sales-report/write_report/no-ledger")
    choose(lab, 3, "② the tool has done its work, the ledger does not know")
    expect(lab).to_contain_text("effects.json: not there")


def test_a_real_kill_streams_the_lines_of_its_process(page, lab):
    click(lab.get_by_label("real SIGKILL"))
    expect(lab.get_by_label("real SIGKILL")).to_be_checked()
    choose(lab, 3, DEMO)
    lab.evaluate("""view => { window.streamed = []; new MutationObserver(() => {
        const lines = [...view.querySelectorAll('pre')].map(pre => (pre.innerText.match(/\\[turn /g) || []).length);
        const last = Math.max(...lines);
        if (window.streamed.at(-1) !== last) window.streamed.push(last);
    }).observe(view, {childList: true, subtree: true}); }""")
    press(lab, KILL)
    expect(lab).to_contain_text("[kill] SIGKILL at after-effect-write:3")
    streamed = page.evaluate("window.streamed")
    assert len(set(streamed)) >= 3 and streamed[-1] == 5, streamed
    predict(lab, REUSED, ONCE)
    press(lab, RESUME)
    expect(lab).to_contain_text("The run is over: write_report happened once.")


def test_an_error_in_a_callback_is_drawn_in_the_widget(page, lab):
    choose(lab, 3, DEMO)
    execute(page, "kept, crash_lab.Experiment.run = crash_lab.Experiment.run, lambda *_, **__: 1 / 0")
    try:
        press(lab, KILL)
        expect(lab.get_by_role("alert")).to_contain_text("ZeroDivisionError: division by zero")
    finally:
        execute(page, "crash_lab.Experiment.run = kept")
    press(lab, KILL)
    expect(lab).to_contain_text("The process is dead.")
    expect(lab.get_by_role("alert")).to_have_count(0)


def test_hostile_text_stays_text_in_the_browser(page):
    lab = fresh(crash_labs(page).nth(3))
    for moment in ("② the tool has done its work, the ledger does not know", DEMO, "③ save B is on disk, the turn is closed"):
        choose(lab, 1, moment)
        expect(lab).to_contain_text("<img src=x onerror=")
    kill_at(lab, 1, DEMO)
    predict(lab, REUSED, "fetch happens once.")
    press(lab, RESUME)
    expect(lab).to_contain_text("The run is over: fetch happened once.")
    assert page.evaluate("window.pwned") is None
    expect(lab.locator("img, script, b[onmouseover]")).to_have_count(0)
    expect(lab.locator("pre").filter(has_text="\\u202eevil\\x00")).not_to_have_count(0)


def test_a_presenter_is_not_asked_and_resets_in_one_click(page):
    lab = fresh(crash_labs(page).nth(1))
    click(lab.get_by_role("radio", name=f"turn 3: {DEMO}"))
    expect(lab).to_contain_text("after-effect-write:3")
    press(lab, KILL)
    expect(lab).to_contain_text("[kill] SIGKILL at after-effect-write:3")
    expect(lab.get_by_role("button", name=COMMIT)).to_be_hidden()
    press(lab, RESUME)
    expect(lab).to_contain_text("The run is over: write_report happened once.")
    sizes = lab.evaluate("view => [view.querySelector('pre'), view.querySelector('button:not([role])')].map(part => parseFloat(getComputedStyle(part).fontSize))")
    assert min(sizes) >= 16
    fresh(lab)


def test_a_students_error_is_shown_in_words_with_its_line(page):
    lab = fresh(crash_labs(page).nth(2))
    kill_at(lab, 1, "③ save B is on disk, the turn is closed")
    predict(lab, "Nothing is pending", ONCE)
    expect(lab.get_by_role("alert")).to_contain_text("Your reconcile raised")
    expect(lab.get_by_role("alert")).to_contain_text('line 7: return effects[checkpoint["pendingToolUse"]["id"]]')


# --- by keyboard alone ------------------------------------------------------------------

FOCUS = """() => { const part = document.activeElement, style = getComputedStyle(part); return {
    name: part.getAttribute('aria-label') || (part.labels?.length ? part.labels[0].innerText : part.innerText) || '',
    role: part.getAttribute('role') || part.type || part.tagName, inside: !!part.closest('.course-view'), tag: part.tagName,
    ring: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 }; }"""


def tab_to(page, name, key="Tab"):
    """Press Tab until the control of that name has the focus; on the way everything is in the view and can be seen to have it."""
    for _ in range(40):
        page.keyboard.press(key)
        focus = page.evaluate(FOCUS)
        assert focus["inside"], f"the keyboard left the widget before it came to {name}: {focus}"
        assert focus["ring"], f"one cannot see that {focus} has the focus"
        if name in focus["name"].strip():
            return
    raise AssertionError(f"Tab does not come to {name}")


def test_the_grid_the_buttons_and_the_form_work_with_the_keyboard_alone(page, lab):
    lab.get_by_label("Policy").focus()
    tab_to(page, "turn 1: before the model is asked")
    for key, label in [("ArrowRight", "after-response:1"), ("ArrowDown", "mid-save-a:1"), ("ArrowLeft", "after-response:1"), ("ArrowUp", "before-request:1"),
                       ("ArrowUp", "before-request:1"), ("End", "after-final-save:1"), ("ArrowRight", "after-final-save:1"), ("Home", "before-request:1")]:
        keys(page, key)
        expect(lab.get_by_role("status").last).to_contain_text(label)
        assert page.evaluate(FOCUS)["role"] == "radio"
    with busy_kernel(page):  # quicker than the kernel
        for _ in range(27):
            page.keyboard.press("ArrowRight")
    expect(lab.get_by_role("status").last).to_contain_text("after-effect-write:3")
    assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"
    tab_to(page, KILL)
    keys(page, "Enter")
    expect(lab).to_contain_text("[kill] simulated kill at after-effect-write:3")
    tab_to(page, REUSED)
    keys(page, "Space")
    tab_to(page, ONCE)
    keys(page, "Space")
    tab_to(page, COMMIT)
    keys(page, "Enter")
    expect(lab.get_by_role("button", name=RESUME)).to_be_focused()
    keys(page, "Enter")
    expect(lab).to_contain_text("The run is over: write_report happened once.")
    expect(lab.get_by_text("you were right")).to_have_count(2)
    tab_to(page, "Why not the others")
    keys(page, "Enter")
    expect(lab.get_by_text("checkpoint.json is there and whole").first).to_be_visible()
    tab_to(page, RESET, key="Shift+Tab")
    keys(page, "Enter")
    expect(lab).to_contain_text("Turn 1: before anything has run")


def test_the_lists_and_the_code_work_with_the_keyboard_alone(page, lab):
    lab.get_by_label("Policy").focus()
    keys(page, "ArrowUp")
    expect(lab.get_by_label("Scenario code")).to_have_value("sales-report/write_report/lesson-4")
    keys(page, "ArrowDown")
    expect(lab.get_by_label("Scenario code")).to_have_value("sales-report/write_report/lesson-6")
    tab_to(page, "real SIGKILL")
    keys(page, "Space")
    expect(lab.get_by_label("real SIGKILL")).to_be_checked()
    keys(page, "Space")
    tab_to(page, "Turn")
    keys(page, "ArrowDown")
    expect(lab).to_contain_text("Turn 2: before the model is asked")
    tab_to(page, "Moment")
    keys(page, "ArrowDown")
    expect(lab).to_contain_text("after-response:2")
    tab_to(page, "later")
    keys(page, "Enter")
    expect(lab).to_contain_text("mid-save-a:2")
    keys(page, "Space")
    expect(lab).to_contain_text("after-save-a:2")
    tab_to(page, "Scenario code")
    page.keyboard.press("Control+a")
    page.keyboard.type(CODE)
    tab_to(page, "Open this code")
    keys(page, "Enter")
    expect(lab).to_contain_text("[kill] simulated kill at after-effect-write:3")


def test_a_letter_typed_in_the_widget_does_nothing_to_the_notebook(page, lab):
    controls = [lab.get_by_role("radio", name=f"turn 3: {DEMO}"), lab.get_by_label("Moment", exact=True), lab.get_by_role("button", name=KILL),
                lab.get_by_label("real SIGKILL"), lab.get_by_label("Scenario code")]
    choose(lab, 3, DEMO)
    for control in controls:
        control.focus()
        for key in "amzm":  # a cell above, into text, undo, into text: none of them in the widget
            keys(page, key)
            expect(page.locator(".jp-Cell")).to_have_count(len(CELLS))
        expect(control).to_be_focused()
    expect(page.locator(".jp-MarkdownCell")).to_have_count(0)


def test_messages_of_the_controls_are_handled_in_their_order(page, lab):
    execute(page, "import threading\nthreads = set()\nlab.turn.observe(lambda _: threads.add(threading.current_thread().name), 'value')")
    choose(lab, 2, DEMO)
    choose(lab, 3, DEMO)
    execute(page, "lab.code_field.value = '/'.join(sorted(threads))")
    expect(lab.get_by_label("Scenario code")).to_have_value("MainThread")


def test_the_ipywidgets_controls_alone_are_enough(page, lab):
    style = page.add_style_tag(content=".course-timeline { display: none }")
    try:
        choose(lab, 2, "② the tool has done its work, the ledger does not know")
        press(lab, "later")
        expect(lab).to_contain_text("mid-effect-write:2")
        press(lab, "earlier")
        expect(lab).to_contain_text("after-tool:2")
        press(lab, KILL)
        expect(lab).to_contain_text("The process is dead.")
        predict(lab, "The ledger does not have the call, and the tool runs.", ONCE)
        choose(lab, 3, "② the tool has done its work, the ledger does not know")
        press(lab, KILL)
        expect(lab).to_contain_text("[kill] simulated kill at after-tool:2")
        expect(lab).to_contain_text("count_words says of itself that it only reads")
        predict(lab, UNKNOWN, ASK_DONE)
        press(lab, RESUME)
        expect(lab).to_contain_text("write_report has happened, and a person has to find that out")
        expect(lab.get_by_text("you were right")).to_have_count(2)
    finally:
        style.evaluate("style => style.remove()")


# --- for everybody's eyes and ears ------------------------------------------------------

def to_error(lab):
    lab.get_by_label("Scenario code").fill("nonsense")
    press(lab, "Open this code")
    expect(lab.get_by_role("alert")).to_contain_text("no scenario code")


def to_over(lab):
    kill_at(lab, 3, DEMO)
    predict(lab, UNKNOWN, ONCE)
    press(lab, RESUME)
    expect(lab).to_contain_text("The run is over")


STATES = {"fresh": lambda lab: None, "chosen": lambda lab: choose(lab, 3, DEMO), "killed": lambda lab: kill_at(lab, 3, DEMO), "over": to_over, "error": to_error}


@pytest.mark.parametrize("theme", THEMES)
def test_axe_has_no_complaint_about_any_state_in_any_theme(page, lab, theme):
    set_theme(page, theme)
    found = {}
    try:
        for state, bring_about in STATES.items():
            bring_about(fresh(lab))
            found[state] = complaints(page)
    finally:
        set_theme(page, THEMES[0])
    assert found == {state: [] for state in STATES}


@pytest.fixture
def spoil(lab):
    """spoil("…"): put markup into the view for the length of the test."""
    yield lambda markup: lab.evaluate("(view, markup) => view.querySelector('.widget-html-content td').insertAdjacentHTML('beforeend', `<div class=spoilt>${markup}</div>`)", markup)
    lab.evaluate("view => view.querySelector('.spoilt')?.remove()")


def test_axe_would_see_a_text_too_faint(page, spoil):
    spoil("<span style='color:#bbb'>as good as invisible</span>")
    assert [rule for rule, *_ in complaints(page)] == ["color-contrast"]


def test_every_control_has_a_name_for_a_screen_reader(lab):
    kill_at(lab, 3, DEMO)
    names = lab.evaluate("""view => [...view.querySelectorAll('button, input, select')].filter(part => part.checkVisibility())
        .map(part => part.getAttribute('aria-label') || (part.labels?.length ? [...part.labels].map(label => label.innerText).join() : part.innerText))""")
    assert len(names) > 15 and all(re.search(r"\w", name) for name in names), names


@pytest.mark.parametrize("state", STATES)
def test_nothing_is_wider_than_a_small_laptop_or_a_projector(page, lab, state):
    set_size(page, 1000, 800)
    presenter, own, nasty = (fresh(crash_labs(page).nth(i)) for i in (1, 2, 3))
    STATES[state](lab)
    if state in ("chosen", "killed"):
        choose(presenter, 3, DEMO)
        choose(nasty, 1, DEMO)
        press(own, "later")
    assert too_wide(page) == []


def test_a_view_that_is_too_wide_would_be_seen(page, spoil):
    spoil(f"<pre style='white-space:pre'>{'x' * 500}</pre>")
    assert too_wide(page) != []


# --- speed ------------------------------------------------------------------------------

MEASURE = """async (view) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const picture = (label) => new Promise((resolve) => {
        const done = () => { if (view.querySelector('[role=status] code')?.innerText === label) { seen.disconnect(); resolve(performance.now()); } };
        const seen = new MutationObserver(done);
        seen.observe(view, {childList: true, subtree: true, characterData: true});
    });
    const clicks = [], trips = [];
    for (let round = 0; round < 12; round++) {
        const label = round % 2 ? 'after-save-b:2' : 'after-effect-write:3';
        const radio = [...view.querySelectorAll('[role=radio]')].find((part) => part.getAttribute('aria-label').startsWith(
            round % 2 ? 'turn 2: ③' : "turn 3: ②' the ledger knows"));
        let began = performance.now();
        await kernel.requestKernelInfo();
        trips.push(performance.now() - began);
        const drawn = picture(label);
        began = performance.now();
        radio.click();
        clicks.push(await drawn - began);
    }
    return [clicks, trips];
}"""


def test_from_click_to_picture_takes_less_than_100_ms_beside_the_kernels_round_trip(lab):
    clicks, trips = lab.evaluate(MEASURE)
    beside = min(clicks) - min(trips)  # the quickest of each, since a busy machine only ever adds to both
    print(f"click to picture {min(clicks):.0f} ms, round trip {min(trips):.0f} ms")
    assert beside < 100, f"{beside:.0f} ms: clicks {sorted(map(round, clicks))}, round trips {sorted(map(round, trips))}"
