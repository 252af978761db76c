"""Every notebook is a test: nbval compares its outputs, and this file closes what nbval lets through."""
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
_spec = importlib.util.spec_from_file_location("refresh", ROOT / "notebooks" / "refresh.py")
refresh = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(refresh)
NOTEBOOKS = refresh.course_notebooks()
IGNORES = re.compile(r"nbval[-_](ignore|skip|check)", re.IGNORECASE)


def names(paths):
    return [f"{path.parent.parent.name}-{path.parent.name}-{path.stem}" for path in paths]


def faults(notebook):
    """What makes nbval pass without checking, or a stored notebook differ from machine to machine."""
    found = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        tags, where = cell.metadata.get("tags", []), f"cell {cell.id}"
        errors = [out for out in cell.outputs if out.output_type == "error"]
        if cell.execution_count != number:
            found.append(f"{where} was not run in its place")
        if "raises-exception" in tags and not errors:
            found.append(f"{where} promises an exception and stores none")
        if errors and "raises-exception" not in tags:
            found.append(f"{where} stores an error")
        if any(IGNORES.search(tag) for tag in tags) or IGNORES.search(cell.source):
            found.append(f"{where} asks nbval to look away")
        if re.search(r"^\s*[%!]", cell.source, re.MULTILINE):
            found.append(f"{where} uses a magic, which is not Python")
        if any(refresh.VIEW in out.get("data", {}) for out in cell.outputs):
            found.append(f"{where} stores a widget view")
        if re.search(r"/tmp/|/home/|/root/|\\\\Users\\\\", json.dumps(cell.outputs)):
            found.append(f"{where} shows a path of one machine")
    if "widgets" in notebook.metadata:
        found.append("the notebook stores widget state")
    if not code:
        found.append("the notebook has no code to run")
    return found


def code_cell(source="1 + 1", **fields):
    cell = nbformat.v4.new_code_cell(source, execution_count=1)
    cell.metadata["tags"] = fields.pop("tags", [])
    cell.update(fields)
    return cell


def test_the_course_has_its_lesson_six():
    assert ROOT / "notebooks" / "en" / "lesson_6.ipynb" in NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_a_notebook_is_run_whole_and_stored_clean(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert faults(notebook) == []


VIEW_OUTPUT = nbformat.v4.new_output("display_data", {refresh.VIEW: {"model_id": "x"}, "text/plain": "w"})


@pytest.mark.parametrize("cell, fault", [
    (code_cell(execution_count=None), "was not run in its place"),
    (code_cell(execution_count=2), "was not run in its place"),
    (code_cell(tags=["raises-exception"]), "promises an exception"),
    (code_cell(outputs=[nbformat.v4.new_output("error", ename="E", evalue="", traceback=[])]), "stores an error"),
    (code_cell("# NBVAL_IGNORE_OUTPUT\n1"), "look away"),
    (code_cell(tags=["nbval-skip"]), "look away"),
    (code_cell("%time 1"), "magic"),
    (code_cell("!ls"), "magic"),
    (code_cell(outputs=[VIEW_OUTPUT]), "stores a widget view"),
    (code_cell(outputs=[nbformat.v4.new_output("stream", text="/tmp/course-x1/run\n")]), "path of one machine"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_the_guard_sees_what_nbval_lets_through(cell, fault):
    notebook = nbformat.v4.new_notebook(cells=[cell])
    assert any(fault in found for found in faults(notebook))


@pytest.mark.parametrize("break_it", ["output", "code"])
def test_a_broken_notebook_turns_the_run_red(tmp_path, break_it):
    cell = code_cell("print('sent once')", outputs=[nbformat.v4.new_output("stream", text="sent once\n")])
    whole, broken = tmp_path / "whole.ipynb", tmp_path / "broken.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), whole)
    if break_it == "output":
        cell.outputs[0].text = "sent twice\n"
    else:
        cell.source = "raise RuntimeError('gone')"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), broken)
    run = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), "-p", "no:cacheprovider", "-n0"]
    assert subprocess.run([*run, str(whole)], cwd=tmp_path, capture_output=True).returncode == 0
    assert subprocess.run([*run, str(broken)], cwd=tmp_path, capture_output=True).returncode == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=names(NOTEBOOKS))
def test_refreshing_a_notebook_changes_no_byte(path, tmp_path):
    copy = tmp_path / path.parent.name / path.name     # a kernel takes its language from its folder
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    refresh.refresh(copy)
    assert copy.read_bytes() == path.read_bytes(), "run: python notebooks/refresh.py"


def cells_alone():
    for path in NOTEBOOKS:
        code = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        for cell in code[1:]:
            yield pytest.param(code[0].source, cell, id=f"{path.parent.name}-{path.stem}-{cell.id}")


@pytest.mark.parametrize("setup, cell", list(cells_alone()))
def test_any_cell_runs_right_after_the_setup_cell_and_again(setup, cell, capsys):
    if "raises-exception" in cell.metadata.get("tags", []):
        return
    space = {}
    exec(compile(setup, "setup", "exec"), space)
    for _ in range(2):
        exec(compile(cell.source, cell.id, "exec"), space)
