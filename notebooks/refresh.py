"""python notebooks/refresh.py [FILE ...]: run notebooks and store their outputs so that a second run changes no byte.

Without a FILE it takes every notebook of the course. Widget views and their random ids are
left out: what is stored is each widget's static twin, and the live view comes back on Run.
"""
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("notebooks", "exercises", "solutions")
VIEW = "application/vnd.jupyter.widget-view+json"


def course_notebooks():
    """Every notebook of the course, sorted."""
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*/*.ipynb"))


def refresh(path):
    """Execute one notebook in place and normalise it."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}},
                   store_widget_state=False, coalesce_streams=True, record_timing=False).execute()
    normalise(notebook)
    nbformat.write(notebook, path)


def normalise(notebook):
    """Drop all that differs from run to run or from machine to machine."""
    notebook.metadata = nbformat.from_dict({"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                                            "language_info": {"name": "python"}})
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.metadata.pop("execution", None)
        cell.execution_count = number
        for output in cell.outputs:
            if "data" in output:
                output.data.pop(VIEW, None)
            if output.output_type == "execute_result":
                output.execution_count = number


if __name__ == "__main__":
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # this Python's kernel, whatever else is installed for the user
    for name in sys.argv[1:] or course_notebooks():
        print(name, flush=True)
        refresh(Path(name))
