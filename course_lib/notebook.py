"""What the lesson notebooks call: a folder to work in, a terminal, the real source, the files.

The top of the house: it may use everything below, and nothing below uses it.
"""
import inspect
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from IPython.display import HTML, Markdown, display

from . import checkpoint, ledger
from .scenarios import SALES_REPORT
from .scenarios.experiment import Experiment
from .scenarios.runner import start
from .widgets.crash_lab import verdict_text
from .widgets.panels import columns, plain_file
from .words import language_in_use

ROOT = Path(__file__).resolve().parents[1]
MORNING = "1767603600"  # 2026-01-05T09:00:00Z: a notebook that is run twice shows the same times
_folders = []  # kept until the kernel ends


def workshop(scenario=SALES_REPORT):
    """A new empty folder with the scenario's world in it, gone when the kernel ends. Gives its Path."""
    _folders.append(tempfile.TemporaryDirectory(prefix="course-"))
    folder = Path(_folders[-1].name)
    scenario.lay_out(folder)
    return folder


def killed_at(label, count, scenario=SALES_REPORT):
    """The folder that a run leaves which died at that moment. Gives its Path."""
    folder = workshop(scenario)
    start(scenario, folder, crash_after=(label, count))
    return folder


def terminal(command, folder):
    """Run a command as a real child process in folder; print it, its output and its exit code.

    command: as one types it, such as ``"CRASH_AFTER=after-tool:3 python -m course_lib"``.
    """
    words = shlex.split(command)
    first = next(i for i, word in enumerate(words) if "=" not in word)
    variables = dict(word.split("=", 1) for word in words[:first])
    words = [sys.executable if word == "python" else word for word in words[first:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SOURCE_DATE_EPOCH": MORNING,
                   "LANGUAGE": language_in_use(), **variables}
    print(f"$ {command}", flush=True)
    with subprocess.Popen(words, cwd=folder, env=environment, text=True, encoding="utf-8",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
    print(f"(exit code {child.returncode})")


def verdict(code):
    """What becomes of the run that a scenario code names, in words."""
    experiment = Experiment.from_code(code)
    experiment.run()
    return verdict_text(experiment)


def story(code):
    """Run what a scenario code names, its kill included, then go on to the end; print the terminal and the verdict."""
    experiment = Experiment.from_code(code)
    experiment.run()
    print(*(line for leg in experiment.legs for line in leg.outcome.lines), sep="\n")
    print("→", verdict_text(experiment))


def source(*functions):
    """Show the code that really runs: each function's source, with the file it stands in."""
    for function in functions:
        where = Path(inspect.getsourcefile(function)).relative_to(ROOT).as_posix()
        display(Markdown(f"`{where}`\n```python\n{inspect.getsource(function)}```"))


def show_files(folder, *names, watch=None):
    """Files of a folder side by side, as they are on disk; checkpoint.json and effects.json if none is named.

    The middle of a long file is folded, but for lines that hold the text watch.
    """
    names = names or (checkpoint.FILE, ledger.FILE)
    files = {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}
    display(HTML(columns(*(plain_file(name, files.get(name), watch) for name in names))))
