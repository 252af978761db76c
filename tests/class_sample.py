"""A class for the tests: mixed submissions in every format, with what each has to be graded as.

    python tests/class_sample.py 300

grades that many of them, compares, and says what it took. The tests take twenty. A sandbox's CPU seconds
are lost with it when it is killed; with --unsafe, where there is none, all are counted.
"""
import copy
import itertools
import json
import os
import random
import re
import resource
import sys
import tempfile
import time
from pathlib import Path

from course_lib.grading import catalogue
from course_lib.grading.classroom import batch
from course_lib.grading.report import CORRECT, FAIL, INCORRECT, NOT_ATTEMPTED

ANSWERS = Path(__file__).parent / "answers"
CODES = [id for id, module in catalogue.MODULES.items() if module.startswith("code_exercises.")]
FORMS = [id for id in catalogue.MODULES if id not in CODES]
LOOPS = ["while True:\n    pass\n", "import time\nwhile True:\n    time.sleep(1)\n", "import threading\nthreading.Event().wait()\n",
         "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n"]


def right(id):
    """Right answers, as texts."""
    return [catalogue.cell_text(id, catalogue.exercise(id).solution), *(path.read_text(encoding="utf-8") for path in sorted((ANSWERS / id / "right").glob("*.py")))]


def wrong(id):
    """Wrong answers: ``[(text, the criterion that it has to fail at), ...]``."""
    found = []
    for path in sorted((ANSWERS / id).glob("*.py")):
        head, text = path.read_text(encoding="utf-8").split("\n", 1)
        found.append((text, re.match(r"# fails: (\w+)", head)[1]))
    for path in sorted((ANSWERS / id).glob("*.json")):
        slip, answer = json.loads(path.read_text(encoding="utf-8")), copy.deepcopy(catalogue.exercise(id).solution)
        for row, fields in slip["differs"].items():
            answer[row].update(fields)
        found.append((catalogue.cell_text(id, answer), slip["fails"]))
    return found


def notebook(*cells):
    """The text of a notebook; cells: (tags, source)."""
    return json.dumps({"cells": [{"cell_type": "code", "metadata": {"tags": list(tags)}, "source": source.splitlines(keepends=True), "outputs": [], "execution_count": None}
                                 for tags, source in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def lay_out(folder, n, seed=0):
    """n answers of n students in a folder: ``{(student, exercise): (outcome, first criterion failed)}``. No two are the same text."""
    chance, expected = random.Random(seed), {}
    loops, untouched = itertools.cycle(LOOPS), itertools.cycle(catalogue.MODULES)
    wrongs = {id: itertools.cycle(chance.sample(wrong(id), len(wrong(id)))) for id in catalogue.MODULES}
    codes, forms = itertools.cycle(CODES), itertools.cycle(FORMS)
    for number in range(n):
        student = f"student {number:03}"
        id = next(forms) if number % 4 == 3 else next(codes)
        if number % 50 == 10:
            id = next(codes)
            text, verdict = next(loops), (INCORRECT, "runs")
        elif number % 20 == 9:
            id = next(untouched)
            text, verdict = catalogue.starter_text(id), (NOT_ATTEMPTED, None)
        elif number % 2:
            text, criterion = next(wrongs[id])
            verdict = INCORRECT, criterion
        else:
            text, verdict = chance.choice(right(id)), (CORRECT, None)
        hand_in(folder, student, id, text.rstrip("\n") + f"\n# {student}\n", form=number % 3)
        expected[student, id] = verdict
    return expected


def hand_in(folder, student, id, text, form):
    """As one of the formats that there are: a notebook, a file with the exercise in its name, a folder with one that says it in its first line."""
    if form == 0:
        rest = [each for each in catalogue.MODULES if each.split(".")[0] == id.split(".")[0] and each != id]
        cells = [([], "from course_lib.widgets.exercise_card import check"), ([f"exercise-{id}"], text), ([], f'check("{id}")'), *(([f"exercise-{each}"], catalogue.starter_text(each)) for each in rest)]
        (folder / f"{student}.ipynb").write_text(notebook(*cells), encoding="utf-8")
    elif form == 1:
        (folder / f"{student}-{id}.py").write_text(text, encoding="utf-8")
    else:
        (folder / student).mkdir()
        (folder / student / "my answer.py").write_text(f"# exercise {id}\n{text}", encoding="utf-8")


def differences(graded, expected):
    """What was graded as something else: a list of sentences."""
    found = {}
    for submission, report in graded:
        failed = next((finding.criterion for finding in report.findings if finding.verdict == FAIL), None) if report else None
        found[submission.student, submission.exercise] = (report.outcome if report else submission.problem, failed)
    return [f"{place}: {found.get(place)} instead of {verdict}" for place, verdict in expected.items() if found.get(place) != verdict]


def main(n, *options):
    unsafe = "--unsafe" in options
    with tempfile.TemporaryDirectory(prefix="course-class-") as name:
        folder, out = Path(name) / "handed in", Path(name) / "report"
        folder.mkdir()
        expected = lay_out(folder, int(n))
        began, cpu = time.monotonic(), cpu_seconds()
        graded = batch.grade(folder, out, unsafe=unsafe, progress=lambda done, total: print(f"\r{done} of {total}", end="", file=sys.stderr))
        took, cpu, began = time.monotonic() - began, cpu_seconds() - cpu, time.monotonic()
        batch.grade(folder, out, unsafe=unsafe)
        again = time.monotonic() - began
    wrongly = differences(graded, expected)
    print(f"\n{len(graded)} answers of {n} students; of the {n} that were meant, {len(expected) - len(wrongly)} graded as meant. {took:.1f} s, {cpu:.1f} CPU seconds, "
          f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}. Again, from the ledger: {again:.2f} s.", *wrongly, sep="\n")
    return bool(wrongly)


def cpu_seconds():
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
