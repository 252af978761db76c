"""What several test files need: the children a run starts, and JupyterLab in a real browser."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path

import nbformat
import pytest

from course_lib.cli import lab_environment
from course_lib.scenarios import runner

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-proxy-server"]
TOKEN = uuid.uuid4().hex  # nobody else's JupyterLab takes it
SETTINGS = {
    # Lab draws far cells when they are scrolled to; a test finds its cell without scrolling.
    "notebook-extension/tracker": '{"windowingMode": "none"}',
    # While Lab follows the system's theme, its first change of theme by command is sometimes lost.
    "apputils-extension/themes": '{"adaptive-theme": false}',
    # Two pages that save the same notebook would have Lab ask which one to keep.
    "docmanager-extension/plugin": '{"autosave": false}',
}
HOMES = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")


@pytest.fixture
def children(monkeypatch):
    """The processes that the runner starts."""
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(runner.subprocess, "Popen", Popen)
    return started


@pytest.fixture
def handed_in(tmp_path):
    """hand_in("ada/4.1.json", text) puts a submission into the folder, which it gives."""
    folder = tmp_path / "handed in"
    folder.mkdir()

    def hand_in(name, text):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        return folder
    return hand_in


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window. Without one the tests are skipped, loudly; in CI that is a failure."""
    if CHROMIUM is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("NO BROWSER: nothing was looked at in JupyterLab; install Chromium (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """JupyterLab's folders, with a copy of the course in ``work`` (Lab saves what it opens)."""
    home = tmp_path_factory.mktemp("jupyter")
    for name in ("notebooks", "exercises", "solutions"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, home / "work" / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    return home


@pytest.fixture(scope="session")
def jupyter(home):
    """The address of a JupyterLab of its own."""
    for name, setting in SETTINGS.items():
        file = home / "jupyterlab_settings_dir" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True)
        file.write_text(setting)
    server, address = _start_jupyter(home)
    try:
        yield address
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


@pytest.fixture(scope="module")
def open_notebook(jupyter, home, browser):
    """open_notebook("notebooks/en/lesson_6.ipynb", color_scheme="dark"): the page, every cell run; cells: of a notebook made for a test."""
    from in_lab import PATIENCE, settled
    contexts = []

    def open_it(path, *, cells=None, run=True, width=1280, **options):
        if cells:
            kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
            nbformat.write(nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)), metadata=kernel), home / "work" / path)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{jupyter}/lab/tree/{path}?token={TOKEN}&reset")
        page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.context")
        page.evaluate("""async () => { const panel = window.jupyterapp.shell.currentWidget;
            await panel.context.ready; await panel.sessionContext.ready; await panel.sessionContext.session.kernel.info; }""")
        if run:
            page.evaluate("async () => await window.jupyterapp.commands.execute('notebook:run-all-cells')")
            settled(page)
        return page

    yield open_it
    for context in contexts:
        context.close()
    _shut_kernels_down(jupyter)  # else the next file would open the same notebook with what this one has left in its kernel


def _start_jupyter(home):
    """The process and its address. A port that is free now may be somebody's a second later; then there is another."""
    environment = {**os.environ, **lab_environment(os.environ), **{name: str(home / name.lower()) for name in HOMES}}
    for _ in range(5):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
                   f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={home / 'work'}", "--LabApp.expose_app_in_browser=True", "--allow-root"]
        with open(home / "server.log", "a") as log:
            server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        if _answers(f"http://127.0.0.1:{port}", server):
            return server, f"http://127.0.0.1:{port}"
    raise AssertionError("JupyterLab does not start:\n" + (home / "server.log").read_text())


def _answers(address, server):
    """Whether the server answers in the end; not, if its process is over."""
    for _ in range(3000):  # five minutes and more
        if server.poll() is not None:
            return False
        with contextlib.suppress(OSError):
            _ask(address, "api/status")
            return True
        time.sleep(0.1)  # polling a server of our own until it answers; no test depends on how long that takes
    server.kill()
    return False


def _shut_kernels_down(address):
    for session in _ask(address, "api/sessions"):
        with contextlib.suppress(OSError):  # gone already
            _ask(address, f"api/sessions/{session['id']}", "DELETE")


def _ask(address, path, method="GET"):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the tests lead HTTP proxies nowhere
    with direct.open(urllib.request.Request(f"{address}/{path}?token={TOKEN}", method=method), timeout=60) as answer:
        return json.loads(answer.read() or "null")
