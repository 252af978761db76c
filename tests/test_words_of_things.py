"""What a newcomer to the list must not forget: words for each moment, a rating for each tool, one order of modules."""
import ast
import re
from pathlib import Path

import pytest

from course_lib.moments import LABELS
from course_lib.scenarios import SCENARIOS, policies
from course_lib.scenarios.oracle import OUTCOMES
from course_lib.scenarios.support_desk import CALLS, SUPPORT_DESK, tools
from course_lib.widgets.crash_lab import meaning
from course_lib.widgets.idempotency_lab import answers
from course_lib.widgets.outcome_matrix import signs
from course_lib.widgets.timeline import short
from course_lib.words import numeral, use_language

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("label", LABELS)
def test_a_moment_has_its_words(label):
    assert meaning(label) != label, f"say what {label} is, in meaning() of widgets/crash_lab.py"
    assert short(label) != label, f"give {label} a column head, in short() of widgets/timeline.py"


@pytest.mark.parametrize("tool", CALLS)
def test_a_tool_of_the_desk_is_rated_and_can_be_tried(tool, tmp_path):
    assert tool in tools(tmp_path), f"give {tool} its natures, in tools() of scenarios/support_desk.py"
    assert tool in answers(), f"rate {tool}, in answers() of widgets/idempotency_lab.py"
    assert f"support-desk/{tool}" in SCENARIOS and SUPPORT_DESK[tool].effect == tool


def test_every_policy_that_is_written_can_be_chosen():
    written = {name for name, value in vars(policies).items() if isinstance(value, policies.Policy)}
    listed = {name for name, value in vars(policies).items() if value in list(policies.POLICIES.values())} if written else set()
    assert written == listed, f"add {sorted(written - listed)} to POLICIES in scenarios/policies.py"


def test_every_outcome_has_a_sign_of_its_own():
    assert set(OUTCOMES) <= set(signs())
    assert len({sign for sign, _ in signs().values()}) == len(signs())


def test_modules_import_only_from_what_stands_above_them_in_the_readme():
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("from the bottom up")[1].split("## Dependencies")[0]
    rows = [re.findall(r"`([a-z_]+)/?`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]
    place = {name: number for number, row in enumerate(rows) for name in row}
    on_disk = {path.stem for path in (ROOT / "course_lib").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert place.keys() == on_disk - {"__init__"}, "the table in the README and the modules differ"
    for path in sorted((ROOT / "course_lib").glob("**/*.py")):
        module = path.relative_to(ROOT / "course_lib").parts[0].removesuffix(".py")
        if module == "__init__":
            continue
        for name in imported(path):
            assert place[name] <= place[module], f"{path.name} imports {name}, which stands below it"


def imported(path):
    """The names right below course_lib that a module imports from."""
    depth = len(path.relative_to(ROOT / "course_lib").parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            yield from [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib."):
            yield node.module.split(".")[1]


def test_numbers_are_written_as_the_language_writes_them():
    try:
        assert (numeral(1234567), numeral(0.5, "g"), numeral(1234.56, ",.1f")) == ("1,234,567", "0.5", "1,234.6")
        use_language("pt_BR")
        assert (numeral(1234567), numeral(0.5, "g"), numeral(1234.56, ",.1f")) == ("1.234.567", "0,5", "1.234,6")
    finally:
        use_language("en")
