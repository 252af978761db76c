"""What the browser tests do in JupyterLab: press, choose and type, drive a CrashLab, change the theme, run code, look for axe's complaints.

Whatever acts on the page here waits until that is settled, so a test never takes what an
earlier action has left in view for the answer to its own.
"""
import contextlib
import socket

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

PATIENCE = 120_000  # ms, for a busy machine; nothing waits longer than it has to
expect.set_options(timeout=PATIENCE)
THEMES = ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]
DEMO = "②' the ledger knows, save B is missing"
KILL, RESUME, COMMIT, RESET = "Kill it at this moment", "Resume, and run to the end", "This is my prediction", "Reset files and world"


# A kernel handles its messages in order. Of a widget that changes again before its last change is handled,
# ipywidgets sends the newer value only then: one round trip lets it go out, another brings its answer back.
ROUND_TRIPS = """async () => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    for (let trip = 0; trip < 2; trip++) await kernel.requestKernelInfo();
    return true;
}"""
# A view that is still being made has an empty part in its place.
IS_DRAWN = """() => !document.querySelector('.widget-box > [class="lm-Widget"]')
    && ![...document.querySelectorAll('.jp-OutputArea-output')].some(output => output.textContent === 'Loading widget...')"""


def settled(page):
    """Wait until the kernel has handled all that was done on the page, and the page shows what came of it."""
    page.wait_for_function(ROUND_TRIPS, timeout=5 * PATIENCE)  # what the kernel does may take long
    page.wait_for_function(IS_DRAWN)


def click(part):
    part.click()
    settled(part.page)


def press(part, name):
    """The button of that name."""
    click(part.get_by_role("button", name=name))


def select(choices, choice):
    """One of a list's choices, by its text."""
    choices.select_option(choice)
    settled(choices.page)


def keys(page, *names):
    """Press keys, one after the other and each as if the one before had been answered."""
    for name in names:
        page.keyboard.press(name)
        settled(page)


def execute(page, code):
    """Run code in the notebook's kernel, without an error."""
    reply = page.evaluate("""async code => (await window.jupyterapp.shell.currentWidget
        .sessionContext.session.kernel.requestExecute({code}).done).content""", code)
    assert reply["status"] == "ok", reply
    settled(page)


@contextlib.contextmanager
def busy_kernel(page):
    """For the length of the block the kernel is at work and handles nothing of what is done on the page; then all of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket\nsocket.create_connection({server.getsockname()!r}).recv(1)"
        server.settimeout(PATIENCE / 1000)
        page.evaluate("code => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code}); }", code)
        with server.accept()[0]:
            yield
    settled(page)


def cells_run(page):
    """How many cells of code the notebook has; all of them have been run, and none shows an error."""
    cells = page.evaluate("""() => window.jupyterapp.shell.currentWidget.content.widgets
        .filter(cell => cell.model.type === 'code').map(cell => [cell.model.executionCount, cell.model.outputs.toJSON().map(output => output.output_type)])""")
    assert all(count for count, _ in cells), cells
    assert not [outputs for _, outputs in cells if "error" in outputs]
    return len(cells)


def crash_labs(page):
    return page.locator(".course-view", has=page.get_by_role("button", name=RESET))


def fresh(lab):
    """The same CrashLab, put back by its own button."""
    press(lab, RESET)
    expect(lab).to_contain_text("Turn 1: before anything has run")
    return lab


def choose(lab, turn, moment):
    """By the two lists."""
    select(lab.get_by_label("Turn", exact=True), f"turn {turn}")
    expect(lab).to_contain_text(f"Turn {turn}:")
    select(lab.get_by_label("Moment", exact=True), moment)
    expect(lab.get_by_role("status").last).to_contain_text(moment)


def kill_at(lab, turn, moment):
    choose(lab, turn, moment)
    press(lab, KILL)
    expect(lab).to_contain_text("The process is dead.")


def predict(lab, *choices):
    for choice in choices:
        click(lab.get_by_role("radio", name=choice))
    press(lab, COMMIT)
    expect(lab).to_contain_text("You look at what a resume will do")


def set_theme(page, theme):
    page.evaluate("async theme => await window.jupyterapp.commands.execute('apputils:change-theme', {theme})", theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme && !document.getElementById('jupyterlab-splash')", arg=theme)


def set_size(page, width, height):
    """Of the window; JupyterLab moves its panels a little later."""
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_function("""([width, height]) => {
        const panel = window.jupyterapp.shell.currentWidget.node.getBoundingClientRect();
        return width - 60 < panel.right && panel.right <= width && height - 60 < panel.bottom && panel.bottom <= height;
    }""", arg=[width, height])


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


def cut_off(page, parts=".jp-OutputArea-output"):
    """The outputs, or other parts, that hold more than fits into them."""
    return page.evaluate("""parts => [...document.querySelectorAll(parts)]
        .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText.slice(0, 60))""", parts)
