"""Set-up: the list of packages is kept in one place, and run.py meets the machines students have."""
import ast
import errno
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from course_lib import cli

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OVERRIDES = Path("jupyter", "labconfig", "default_setting_overrides.json")
BWRAP = shutil.which("bwrap")
BWRAP_WORKS = bool(BWRAP) and subprocess.run([BWRAP, "--dev-bind", "/", "/", "true"], capture_output=True).returncode == 0


# --- one list of packages ----------------------------------------------------------------

def direct_dependencies():
    extras = PROJECT["optional-dependencies"].values()
    named = [Requirement(line) for line in sum(extras, PROJECT["dependencies"])]
    return [requirement for requirement in named if requirement.name != PROJECT["name"]]  # one extra may take in another


def pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("requirement", direct_dependencies(), ids=lambda requirement: requirement.name)
def test_a_dependency_has_both_bounds_and_one_pin_between_them(requirement):
    assert {">=", "<"} <= {bound.operator for bound in requirement.specifier}
    pinned = [pin for pin in pins() if pin.name == requirement.name]
    assert len(pinned) == 1 and pinned[0].marker is None
    (version,) = pinned[0].specifier
    assert version.operator == "==" and requirement.specifier.contains(version.version)


def test_constraints_pin_everything_exactly_and_name_no_address():
    assert all([bound.operator for bound in pin.specifier] == ["=="] and pin.url is None for pin in pins())
    for name in ("constraints.txt", "environment.yml", "pyproject.toml", "run.py"):
        assert not re.search(r"://|index-url|find-links", (ROOT / name).read_text()), name


@pytest.mark.parametrize("python", ["3.11.0", "3.11.7", "3.12.1", "3.13.0"])
def test_no_package_is_pinned_twice_on_one_python(python):
    environment = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    names = [pin.name for pin in pins() if pin.marker is None or pin.marker.evaluate(environment)]
    assert len(names) == len(set(names))


def test_environment_yml_is_a_thin_shell_over_pyproject():
    lines = [line for line in (ROOT / "environment.yml").read_text().splitlines() if not line.startswith("#")]
    python = lines.pop(4)
    assert lines == [
        f"name: {PROJECT['name']}",
        "channels:", "  - conda-forge",
        "dependencies:", "  - pip",
        "  - pip:", "      - -c constraints.txt", "      - -e .[test]",
    ]
    assert python.startswith("  - python") and "test" in PROJECT["optional-dependencies"]
    bounds = SpecifierSet(python.removeprefix("  - python"))
    assert PROJECT["requires-python"] in map(str, bounds)


def test_jupyterlab_starts_without_news_and_in_the_systems_theme():
    ours = json.loads((ROOT / OVERRIDES).read_text())
    assert ours["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"
    assert ours["@jupyterlab/apputils-extension:themes"]["adaptive-theme"] is True
    installed = Path(sys.prefix, "etc", *OVERRIDES.parts)
    assert json.loads(installed.read_text()) == ours, "the installed copy is older: install the course again"


# --- what every test may rely on ----------------------------------------------------------

def test_this_process_reaches_this_machine_only():
    import socket
    with socket.socket() as stranger, pytest.warns(UserWarning, match="127.0.0.2"):
        with pytest.raises(RuntimeError, match="127.0.0.2"):        # not allowed, and nobody there if it were
            stranger.connect(("127.0.0.2", 9))


def test_child_programs_find_no_way_out_and_no_key():
    code = ("import os, urllib.request as u; print(u.getproxies()['https'], u.proxy_bypass('127.0.0.1'),"
            " [n for n in os.environ if n.startswith('ANTHROPIC_')])")
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["http://127.0.0.1:9", "True", "[]"]


def test_the_guard_takes_keys_away_and_leaves_the_rest():
    conftest = load(ROOT / "conftest.py")
    environ = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t", "PATH": "p"}
    conftest.cut_off(environ)
    assert "k" not in environ.values() and "t" not in environ.values() and environ["PATH"] == "p"


# --- run.py ------------------------------------------------------------------------------

def load(path):
    spec = importlib.util.spec_from_file_location(f"{path.stem}_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path, monkeypatch):
    """run.py of a course just downloaded to a folder with a blank; what it would start is noted, not started."""
    module = load(fresh_course(tmp_path / "my course") / "run.py")
    module.started = []
    monkeypatch.setattr(module, "hand_over", module.started.append)
    monkeypatch.setattr(module, "make_venv", lambda: put_python(module))
    monkeypatch.setattr(module, "install", lambda: None)
    return module


def fresh_course(folder):
    folder.mkdir()
    for name in ("run.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    return folder


def put_python(run):
    run.PYTHON.parent.mkdir(parents=True, exist_ok=True)
    run.PYTHON.symlink_to(sys.executable)


def refusal(function, *arguments):
    """The sentence with which run.py ends."""
    with pytest.raises(SystemExit) as ended:
        function(*arguments)
    assert isinstance(ended.value.code, str)        # so Python prints it on stderr and exits with 1
    return ended.value.code


def test_the_first_start_sets_up_and_the_second_does_not(run, capsys):
    run.main(["lab"])
    assert "Setting up the course" in capsys.readouterr().out
    run.main(["lab"])
    assert capsys.readouterr().out == "" and len(run.started) == 2


@pytest.mark.parametrize("argv, expected", [
    (["test", "-k", "two words", "--maxfail=1"], ["-m", "pytest", "-k", "two words", "--maxfail=1"]),
    (["lab", "--port", "9000"], ["-m", "course_lib.cli", "lab", "--port", "9000"]),
    (["demo"], ["-m", "course_lib.cli", "demo"]),
])
def test_what_follows_the_command_is_passed_on(run, argv, expected):
    run.main(argv)
    assert run.started == [[str(run.PYTHON), *expected]]


def test_a_program_takes_over_with_its_own_output_and_exit_code():
    code = "import sys; print(sys.argv[1:]); sys.exit(7)"
    starter = f"import run; run.hand_over([run.sys.executable, '-c', {code!r}, 'a b', '-q'])"
    done = subprocess.run([sys.executable, "-c", starter], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("['a b', '-q']\n", "", 7)


def test_without_a_command_it_explains_itself_and_a_wrong_one_is_named_before_any_set_up(run, capsys):
    run.main([])
    assert "python3 run.py lab" in capsys.readouterr().out
    assert "'tests'" in refusal(run.main, ["tests"]) and "lab, test, demo" in refusal(run.main, ["tests"])
    assert not run.VENV.exists()


def change_constraints(run, monkeypatch):
    run.ROOT.joinpath("constraints.txt").write_text("idna==1\n")


def kill_during_set_up(run, monkeypatch):
    run.STAMP.unlink()


def take_the_python_away(run, monkeypatch):
    run.PYTHON.unlink()
    run.PYTHON.symlink_to(run.ROOT / "gone")


def start_with_another_python(run, monkeypatch):
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")


def move_the_folder(run, monkeypatch):
    monkeypatch.setattr(run, "ROOT", fresh_course(run.ROOT.with_name("moved")))


@pytest.mark.parametrize("spoil", [
    change_constraints, kill_during_set_up, take_the_python_away, start_with_another_python, move_the_folder])
def test_a_venv_that_does_not_fit_is_made_again(run, monkeypatch, spoil):
    run.main(["demo"])
    assert run.is_ready()
    spoil(run, monkeypatch)
    assert not run.is_ready()


@pytest.mark.parametrize("leftovers", [(), ("lib",), ("bin", "lib/old.txt")])
def test_what_a_killed_set_up_left_is_cleared(tmp_path, monkeypatch, leftovers):
    run = load(fresh_course(tmp_path / "course") / "run.py")
    for name in leftovers:
        run.VENV.joinpath(name).mkdir(parents=True)
    follow = run.follow
    monkeypatch.setattr(run, "follow", lambda command, see: follow([*command, "--without-pip"], see))     # pip takes seconds
    run.make_venv()
    assert run.PYTHON.exists() and not run.VENV.joinpath("lib/old.txt").exists()


def test_the_stamp_is_gone_while_the_set_up_is_under_way(run, monkeypatch):
    run.main(["demo"])
    monkeypatch.setattr(run, "fingerprint", lambda: "newer")
    monkeypatch.setattr(run, "make_venv", lambda: run.stop("killed" if not run.STAMP.exists() else "too late"))
    assert refusal(run.main, ["demo"]) == "killed" and not run.is_ready()


def test_ctrl_c_during_the_set_up_is_no_traceback(run, monkeypatch):
    def interrupt():
        raise KeyboardInterrupt
    monkeypatch.setattr(run, "install", interrupt)
    assert "the next start begins it afresh" in refusal(run.main, ["lab"])
    assert not run.STAMP.exists()


def test_a_second_start_waits_for_the_first_and_does_not_repeat_its_work(run, monkeypatch):
    fcntl = pytest.importorskip("fcntl", reason="the lock is POSIX's")
    with open(run.__file__) as first:
        fcntl.flock(first, fcntl.LOCK_EX)

        def the_first_ends(text):
            assert "waiting" in text
            put_python(run)
            run.STAMP.write_text(run.fingerprint())
            fcntl.flock(first, fcntl.LOCK_UN)
        monkeypatch.setattr(run, "say", the_first_ends)
        monkeypatch.setattr(run, "set_up", lambda: pytest.fail("set up twice"))
        run.main(["demo"])
    assert len(run.started) == 1


# --- run.py on machines that can't ---------------------------------------------------------

def old_pythons():
    """Those that are really here; a pyenv shim for one that is not active fails and is left out."""
    found = filter(None, (shutil.which(f"python3.{minor}") for minor in range(6, 11)))
    return [path for path in found if subprocess.run([path, "-c", ""], capture_output=True).returncode == 0]


PRETEND = ("import runpy, sys; sys.version_info = (3, 10, 13); sys.argv = ['run.py', 'test', '-q']; "
           "runpy.run_path('run.py', run_name='__main__')")


def test_an_old_python_is_told_what_to_do():
    for command in [[sys.executable, "-c", PRETEND], *([python, "run.py", "test", "-q"] for python in old_pythons())]:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert re.fullmatch(r"The course needs Python 3\.11 or newer and this is Python 3\.\d+\.\d+ \(.*\): install "
                            r"a newer one and name it, as in `python3\.12 run\.py test -q`\.\n", done.stderr)
        assert done.returncode == 1 and done.stdout == ""


def test_an_old_python_can_read_run_py_and_the_course_agrees_on_the_oldest(run):
    ast.parse((ROOT / "run.py").read_text(), feature_version=(3, 6))
    assert PROJECT["requires-python"] == ">=" + ".".join(map(str, run.OLDEST))


def test_a_python_without_ensurepip_names_debians_package(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    sentence = refusal(run.main, ["lab"])
    assert "ensurepip" in sentence and "apt install python3-venv" in sentence and not run.VENV.exists()


@pytest.mark.parametrize("where", ["mkdir", "write_text"])
@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_a_folder_that_takes_no_files_is_named_with_the_reason(run, monkeypatch, where, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))
    monkeypatch.setattr(Path, where, refuse)
    sentence = refusal(run.set_up)
    assert str(run.VENV) in sentence and os.strerror(number) in sentence and "folder of your own" in sentence


def test_a_really_read_only_folder(tmp_path):
    if not BWRAP_WORKS:  # in CI a missing sandbox is a failure, not a skip
        (pytest.fail if os.environ.get("CI") else pytest.skip)("NO SANDBOX: a folder that is really read-only needs bubblewrap, and the right to use it")
    course = fresh_course(tmp_path / "course")
    box = [BWRAP, "--dev-bind", "/", "/", "--ro-bind", str(course), str(course)]
    done = subprocess.run([*box, sys.executable, str(course / "run.py"), "lab"], capture_output=True, text=True)
    assert "Read-only file system" in done.stderr and "folder of your own" in done.stderr
    assert done.returncode == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize("step, advice", [("make_venv", "delete .venv"), ("install", "check the network connection")])
def test_a_step_that_fails_shows_its_last_lines_and_what_to_do(tmp_path, monkeypatch, capsys, step, advice):
    run = load(fresh_course(tmp_path / "course") / "run.py")
    monkeypatch.setattr(run, "follow", lambda command, see: (1, ["ERROR: no such host"]))
    assert advice in refusal(getattr(run, step))
    assert "ERROR: no such host" in capsys.readouterr().out


def test_the_lines_of_a_long_program_are_seen_and_the_last_are_kept(run):
    seen = []
    code, last = run.follow([sys.executable, "-c", "for n in range(30): print('line', n)\nexit(3)"], seen.append)
    assert code == 3 and len(seen) == 30 and last[-1] == "line 29" and len(last) < 30


def test_pips_output_becomes_a_few_lines(run, capsys):
    progress = run.Progress(44)
    for line in ["Collecting a", "Processing b", "Using cached a"] * 20 + ["WARNING: Retrying", "WARNING: Retrying",
                                                                        "Installing collected packages: a, b"]:
        progress(line)
    assert capsys.readouterr().out.splitlines() == [
        "  20 of about 44 packages fetched", "  40 of about 44 packages fetched",
        "  no answer from the network yet, trying again", "  installing them"]


# --- the command `course` ----------------------------------------------------------------

def course(*arguments, **settings):
    return subprocess.run([sys.executable, "-m", "course_lib.cli", *arguments], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **settings})


def test_help_names_every_command():
    done = course("--help")
    assert done.returncode == 0 and re.search(r"lab +open the lessons", done.stdout) and "demo" in done.stdout


@pytest.mark.parametrize("argv, expected", [
    ([], ["lab"]), (["--port", "1"], ["lab", "--port", "1"]), (["--help"], ["--help"]), (["demo"], ["demo"])])
def test_lab_is_what_course_means_by_default(argv, expected):
    assert cli.with_default(argv) == expected


def test_a_command_that_takes_nothing_more_says_so():
    done = course("demo", "--port", "1")
    assert done.returncode == 2 and "demo does not know --port 1" in done.stderr


def test_the_command_is_light_until_it_needs_more():
    code = "import sys, course_lib.cli; print([m for m in sys.modules if m.startswith(('jupyter', 'anthropic', 'IPython'))])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout == "[]\n"


def test_a_course_without_its_notebooks_says_how_to_install_it(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    assert cli.main(["lab"]) == 1
    assert "pip install -e ." in capsys.readouterr().err


def test_demo_plays_the_crash_and_the_resume():
    done = course("demo", CRASH_AFTER="before-request:1")      # left over in the terminal from a lesson
    lines = done.stdout.splitlines()
    typed = [line for line in lines if line.startswith("$ ")]
    assert re.fullmatch(r"\$ CRASH_AFTER=after-effect-write:3 python -m course_lib --dir \S+", typed[0])
    assert re.fullmatch(r"\$ python -m course_lib --dir \S+ --resume", typed[1])
    assert "[kill] simulated kill at after-effect-write:3" in lines and "(exit code 137)" in lines
    assert lines[-1].startswith("[done]") and done.returncode == 0


def test_ci_runs_the_readmes_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK) and "exec python3 run.py test </dev/null" in script.read_text()
