"""What the browser tests do in JupyterLab: find a CrashLab and drive it, change the theme, run code, look for axe's complaints."""
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

expect.set_options(timeout=20_000)  # for a busy machine; nothing waits longer than it has to
THEMES = ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]
DEMO = "②' the ledger knows, save B is missing"
KILL, RESUME, COMMIT, RESET = "Kill it at this moment", "Resume, and run to the end", "This is my prediction", "Reset files and world"


def crash_labs(page):
    return page.locator(".course-view", has=page.get_by_role("button", name=RESET))


def fresh(lab):
    """The same CrashLab, put back by its own button."""
    press(lab, RESET)
    expect(lab).to_contain_text("Turn 1: before anything has run")
    return lab


def press(lab, name):
    lab.get_by_role("button", name=name).click()


def choose(lab, turn, moment):
    """By the two lists."""
    lab.get_by_label("Turn", exact=True).select_option(f"turn {turn}")
    expect(lab).to_contain_text(f"Turn {turn}:")  # the kernel has answered with that turn's moments
    lab.get_by_label("Moment", exact=True).select_option(moment)
    expect(lab.get_by_role("status").last).to_contain_text(moment)


def kill_at(lab, turn, moment):
    choose(lab, turn, moment)
    press(lab, KILL)
    expect(lab).to_contain_text("The process is dead.")


def predict(lab, *choices):
    for choice in choices:
        lab.get_by_role("radio", name=choice).check()
    press(lab, COMMIT)
    expect(lab).to_contain_text("You look at what a resume will do")


def set_theme(page, theme):
    page.evaluate("async theme => await window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme && !document.getElementById('jupyterlab-splash')", arg=theme)


def execute(page, code):
    """Run code in the notebook's kernel."""
    page.evaluate("async code => await window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code}).done", code)


def complaints(page, context=".jp-OutputArea-output"):
    """What axe finds in the outputs, folded parts opened, colour contrast among it."""
    page.evaluate("() => document.querySelectorAll('.course-view details').forEach(part => { part.open = true; })")
    # axe takes a body without height for invisible, and then skips contrast.
    page.evaluate("() => { document.documentElement.style.height = document.body.style.height = '100vh'; }")
    report = Axe().run(page, context=context).response
    assert "color-contrast" in [rule["id"] for rule in report["passes"]], "contrast was not tested"
    unsure = [rule for rule in report["incomplete"] if rule["id"] == "color-contrast"]
    found = [(rule["id"], node["html"][:200], node["failureSummary"][:300]) for rule in [*report["violations"], *unsure] for node in rule["nodes"]]
    return [complaint for complaint in found if "only non-text characters" not in complaint[2]]  # ① is a picture to axe


def too_wide(page):
    """The parts of the course's views that do not fit where they stand. (A timeline that has many columns scrolls in its own box.)"""
    return page.evaluate("""() => [...document.querySelectorAll('.course-view')].flatMap(view => {
        const edge = view.closest('.jp-OutputArea-output').getBoundingClientRect().right + 1;
        return [view, ...view.querySelectorAll('*')].filter(part => part.checkVisibility() && !part.closest('select, .course-timeline') && (
            part.getBoundingClientRect().right > edge || part.matches('div:not(.course-timeline-box), pre, td, button') && part.scrollWidth > part.clientWidth + 1 && part.clientWidth));
    }).map(part => `${part.tagName}.${part.className}: ${part.innerText.slice(0, 60)}`)""")
