"""JupyterLab as `course lab` starts it, on a machine where other courses left their traces."""
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

from course_lib import cli
from course_lib.words import use_language

LIST = ["-m", "jupyter_client.kernelspecapp", "list", "--json"]


@pytest.fixture
def strangers(tmp_path):
    """An environment with kernels named python3 of another Python, in both places where Jupyter looks first."""
    names = ("JUPYTER_PATH", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR",
             "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    places = {name: str(tmp_path / name) for name in names}
    for name in ("JUPYTER_PATH", "JUPYTER_DATA_DIR"):
        kernel = Path(places[name], "kernels", "python3")
        kernel.mkdir(parents=True)
        spec = {"argv": ["/elsewhere/python", "-m", "ipykernel_launcher"], "display_name": "Other", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec))
    return {**os.environ, **places, "JUPYTER_PREFER_ENV_PATH": "0"}


def kernel_program(environment):
    printed = subprocess.run([sys.executable, *LIST], env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(printed)["kernelspecs"]["python3"]["spec"]["argv"][0]


@pytest.mark.parametrize("place", ["JUPYTER_PATH", "JUPYTER_DATA_DIR"])
def test_a_strangers_kernel_would_win_and_does_not(strangers, tmp_path, place):
    for other in {"JUPYTER_PATH", "JUPYTER_DATA_DIR"} - {place}:
        strangers[other] = str(tmp_path / "empty")
    assert kernel_program(strangers) == "/elsewhere/python"
    assert kernel_program({**strangers, **cli.lab_environment(strangers)}) != "/elsewhere/python"


def test_other_kernels_stay_within_reach():
    ours, *others = cli.lab_environment({"JUPYTER_PATH": "first" + os.pathsep + "second"})["JUPYTER_PATH"].split(os.pathsep)
    assert ours.startswith(sys.prefix) and others == ["first", "second"]
    assert cli.lab_environment({}) == {"JUPYTER_PATH": ours}


@pytest.mark.parametrize("system, settings, expected", [
    ("linux", {}, True), ("linux", {"DISPLAY": ":0"}, False), ("linux", {"WAYLAND_DISPLAY": "w"}, False),
    ("darwin", {}, False), ("win32", {}, False)])
def test_a_browser_is_opened_only_where_there_is_a_screen(monkeypatch, system, settings, expected):
    monkeypatch.setattr(sys, "platform", system)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert ("--no-browser" in cli.lab_arguments()) is expected


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no root")
@pytest.mark.parametrize("user, expected", [(0, True), (1000, False)])
def test_root_is_allowed_without_a_word(monkeypatch, user, expected):
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("--allow-root" in cli.lab_arguments()) is expected


# --- the real server -----------------------------------------------------------------------

def start_lab(environment, log, port, *options):
    return subprocess.Popen([sys.executable, "-m", "course_lib.cli", "lab", *options, "--no-browser", f"--port={port}",
                             "--IdentityProvider.token=t"], cwd=log.parent, env=environment,
                            stdin=subprocess.DEVNULL, stdout=log.open("w"), stderr=subprocess.STDOUT)


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.geturl(), answer.read().decode()


def wait_for(condition, process, log):
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline and process.poll() is None:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    pytest.fail(f"JupyterLab did not come up (exit code {process.poll()}):\n{log.read_text()}")


def port_of(environment):
    """The port of the one server that runs there, which writes a file about itself."""
    for path in Path(environment["JUPYTER_RUNTIME_DIR"]).glob("jpserver-*.json"):
        try:
            return json.loads(path.read_text())["port"]
        except ValueError:                       # it is being written
            return None


def test_lab_opens_the_course_although_its_port_is_taken_and_a_strangers_kernel_is_there(strangers, tmp_path):
    log = tmp_path / "lab.log"
    with socket.socket() as neighbour:
        neighbour.bind(("127.0.0.1", 0))
        neighbour.listen()
        process = start_lab(strangers, log, neighbour.getsockname()[1])
        try:
            port = wait_for(lambda: port_of(strangers), process, log)
            assert port != neighbour.getsockname()[1]
            check_what_is_served(port)
            assert f"http://127.0.0.1:{port}/lab/tree/{cli.LESSON}" in log.read_text()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)
    assert process.returncode == 0 and "Traceback" not in log.read_text()


def check_what_is_served(port):
    assert get(port, "/?token=t")[0].split("?")[0].endswith("/lab/tree/" + cli.LESSON)
    kernels = json.loads(get(port, "/api/kernelspecs?token=t")[1])["kernelspecs"]
    assert kernels["python3"]["spec"]["argv"][0] != "/elsewhere/python"
    files = json.loads(get(port, "/api/contents/?token=t")[1])["content"]
    assert {"notebooks", "course_lib"} <= {file["name"] for file in files}
    news = json.loads(get(port, "/lab/api/settings/@jupyterlab/apputils-extension:notification?token=t")[1])
    assert news["schema"]["properties"]["fetchNews"]["default"] == "false"


def test_lab_in_portuguese_opens_the_portuguese_landing_page_and_speaks_it_where_the_language_pack_is_there(strangers, tmp_path):
    log = tmp_path / "lab.log"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        process = start_lab(strangers, log, free.getsockname()[1], "--lang", "pt_BR")     # it takes the next free one
    try:
        port = wait_for(lambda: port_of(strangers), process, log)
        assert get(port, "/?token=t")[0].split("?")[0].endswith("/lab/tree/notebooks/pt_BR/index.ipynb")
        settings = [json.loads(get(port, f"/lab/api/settings/@jupyterlab/{name}?token=t")[1])["schema"]["properties"]
                    for name in ("translation-extension:plugin", "apputils-extension:notification")]
        assert settings[0]["locale"]["default"] == ("pt_BR" if find_spec("jupyterlab_language_pack_pt_BR") else "default")
        assert settings[1]["fetchNews"]["default"] == "false"       # what is set for every language still holds
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)
    assert "Para encerrar, pressione Ctrl-C" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize("language", ["en", "pt_BR"])
def test_each_language_has_its_landing_page(language):
    use_language(language)
    try:
        page = cli.landing_page()
    finally:
        use_language("en")
    assert page == f"notebooks/{language}/index.ipynb" and (cli.ROOT / page).exists()


@pytest.mark.parametrize("argv, system, asked", [
    (["lab", "--lang", "pt_BR", "--port", "1"], "en", "pt_BR"), (["lab", "--port", "1", "--lang=en"], "pt_BR", "en"),
    (["check", "4.2", "x.py"], "pt_BR", "pt_BR"), (["check", "4.2", "x.py"], "de", "en")])
def test_what_is_asked_for_comes_before_what_the_system_speaks(monkeypatch, argv, system, asked):
    monkeypatch.setenv("LANGUAGE", system)
    assert cli.asked_language(argv) == asked


def test_a_language_that_is_not_there_is_refused_with_those_that_are(capsys):
    with pytest.raises(SystemExit):
        cli.main(["demo", "--lang", "xx"])
    assert "pt_BR" in capsys.readouterr().err
