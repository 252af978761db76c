"""python exercises/derive.py: make the exercise notebooks out of the solutions, so that the two can't drift apart.

The answer to exercise 4.2 stands in a cell tagged ``exercise-4.2``: in the solution the worked
answer, here what one begins with; both come from course_lib/grading, which checks them. Cells
tagged ``solution-only`` are left out here. All else is the same, and is written in the solution.
"""
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "notebooks")]

from course_lib.grading.catalogue import cell_text, exercise  # noqa: E402
from refresh import refresh  # noqa: E402

SOLUTIONS, EXERCISES = ROOT / "solutions" / "en", ROOT / "exercises" / "en"


def derive(solution):
    """The exercise notebook of a solution notebook, not run yet."""
    cells = [nbformat.from_dict(cell) for cell in solution.cells if "solution-only" not in cell.metadata.get("tags", [])]
    for cell in cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=solution.metadata, nbformat_minor=solution.nbformat_minor)
    return put(notebook, "starter")


def put(notebook, which):
    """Put the ``"starter"`` or the ``"solution"`` of each exercise into its cell. Gives the notebook."""
    for cell in notebook.cells:
        for id in ids(cell):
            cell.source = cell_text(id, getattr(exercise(id), which)).rstrip("\n")
    return notebook


def ids(cell):
    """The exercise that a cell answers, by its tag; a list of one or none."""
    return [tag.removeprefix("exercise-") for tag in cell.metadata.get("tags", []) if tag.startswith("exercise-")]


def main():
    for path in sorted(SOLUTIONS.glob("*.ipynb")):
        print(path.name, flush=True)
        solution = put(nbformat.read(path, as_version=4), "solution")
        for notebook, file in ((solution, path), (derive(solution), EXERCISES / path.name)):
            nbformat.write(notebook, file)
            refresh(file)


if __name__ == "__main__":
    main()
