"""Exercises and solutions are one thing twice: one command derives the one from the other."""
import importlib.util
from pathlib import Path

import nbformat
import pytest

from course_lib.grading import catalogue
from course_lib.words import tr, use_language

ROOT = Path(__file__).resolve().parents[1]
_spec = importlib.util.spec_from_file_location("derive", ROOT / "exercises" / "derive.py")
derive = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(derive)
SOLUTIONS = sorted(derive.SOLUTIONS.glob("*.ipynb"))


def read(path):
    return nbformat.read(path, as_version=4)


def told(notebook):
    """What a notebook says before it is run."""
    return [(cell.id, cell.cell_type, cell.source, cell.metadata) for cell in notebook.cells]


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_an_exercise_notebook_is_what_its_solution_gives(path):
    assert told(read(derive.EXERCISES / path.name)) == told(derive.derive(read(path))), "run: python exercises/derive.py"


@pytest.mark.parametrize("language", ["en", "pt_BR"])
@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_what_a_program_is_asked_stands_above_its_cell_in_the_reader_s_language_and_not_in_the_code(path, language):
    use_language(language)
    try:
        for folder in ("solutions", "exercises"):
            cells = read(ROOT / folder / language / path.name).cells
            for above, cell in zip(cells, cells[1:]):
                for question in [question for id in derive.ids(cell) for question in catalogue.exercise(id).questions]:
                    choices = "".join(f"\n- `{letter}` {tr(text)}" for letter, text in question.choices.items())
                    assert f"`{question.key}`: {tr(question.asks)}\n{choices}" in above.source
                    assert f'"{question.key}": ' in cell.source and not any(text in cell.source for text in question.choices.values())
    finally:
        use_language("en")


def test_there_is_no_exercise_notebook_without_a_solution():
    assert {path.name for path in derive.EXERCISES.glob("*.ipynb")} == {path.name for path in SOLUTIONS}


def test_every_exercise_stands_in_one_notebook_and_in_one_cell():
    found = [id for path in SOLUTIONS for cell in read(path).cells for id in derive.ids(cell)]
    assert sorted(found) == sorted(catalogue.MODULES)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_the_answer_cells_hold_the_worked_answer_and_the_starter_and_the_checks_below_say_so(path):
    for folder, answer, outcome in ((derive.SOLUTIONS, "solution", "correct"), (derive.EXERCISES, "starter", "not attempted")):
        cells = read(folder / path.name).cells
        for cell, below in zip(cells, cells[1:]):
            for id in derive.ids(cell):
                assert cell.source == catalogue.cell_text(id, getattr(catalogue.exercise(id), answer)).rstrip("\n")
                assert below.source == f'check("{id}")'
                assert below.outputs[0].data["text/plain"] == f"ExerciseCard('{id}', '{outcome}')"


def test_the_worked_answer_is_nobodys_progress():
    for path in SOLUTIONS:
        sources = [cell.source for cell in read(path).cells if cell.cell_type == "code"]
        assert "progress.keep_aside()" in sources[1], path.name
        assert not any("keep_aside" in cell.source for cell in read(derive.EXERCISES / path.name).cells)
