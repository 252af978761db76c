"""A student's own functions in a child: each of their file calls is a moment at which it can really be killed."""
import itertools
import linecache
import os
import textwrap
from collections import Counter

import pytest

from course_lib import load_checkpoint
from course_lib.scenarios import SALES_REPORT
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.runner import start
from helpers import on_disk

_cells = itertools.count(1)
IMPORTS = "import functools, json, os, shutil, sys, tempfile, time\nfrom pathlib import Path\n"


def cell(source, **known):
    """What a cell of a notebook defines, the names of earlier cells known to it."""
    file, source = f"<cell {next(_cells)}>", IMPORTS + textwrap.dedent(source)
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names = {"__name__": "__main__", **known}
    exec(compile(source, file, "exec"), names)
    return names


def own(source, *names, **known):
    """functions={...}: those of the names (save_checkpoint without any) that the cell defines."""
    defined = cell(source, **known)
    return {"functions": {name: defined[name] for name in names or ["save_checkpoint"]}}


def saving(*lines):
    """A save_checkpoint with these lines, which find the file's text in ``text``."""
    return own("def save_checkpoint(path, checkpoint):\n    text = json.dumps(checkpoint, indent=2)\n" + textwrap.indent("\n".join(lines), "    "))


def places(outcome):
    return [(moment.label, moment.count) for moment in outcome.moments if moment.count]


def calls(leg, label="mid-save-a"):
    """What the file calls of the first save A are called."""
    return [moment.facts["call"] for moment in leg.recording.moments if (moment.label, moment.turn) == (label, 1)]


def at_save_a(leg):
    """The checkpoint.json of the first turn's moments up to its save A, and the saved one."""
    seen = [(moment.label, leg.recording.version("checkpoint.json", i)) for i, moment in enumerate(leg.recording.moments) if moment.turn == 1]
    return [data for label, data in seen if label == "mid-save-a"], next(data for label, data in seen if label == "after-save-a")


@pytest.fixture(autouse=True)
def no_child_is_left(children):
    yield
    assert [child.returncode for child in children if child.returncode is None] == []
    assert not any(os.path.exists(f"/proc/{child.pid}/exe") for child in children)


IN_PLACE = saving("with open(path, 'w') as file:", "    json.dump(checkpoint, file, indent=2)")


def test_a_save_in_place_stops_where_the_file_is_empty_and_then_at_each_doubling_of_what_is_in_it():
    leg = Experiment(SALES_REPORT, **IN_PLACE).rehearse()
    on_the_way, whole = at_save_a(leg)
    sizes = list(map(len, on_the_way))
    assert calls(leg) == ["open checkpoint.json for writing"] + ["write checkpoint.json"] * (len(sizes) - 1)
    assert sizes[0] == 0 and sorted(sizes) == sizes and 4 < len(sizes) < 15 and len(whole) / 4 < sizes[-1] < len(whole)
    assert leg.outcome.status == "done" and Counter(label for label, _ in places(leg.outcome))["after-save-a"] == 3


@pytest.mark.parametrize("n, says", [(1, "is empty"), (7, "can't be trusted")])
def test_killed_in_a_save_in_place_a_run_is_lost_as_a_resume_says_and_can_start_over(n, says):
    run = Experiment(SALES_REPORT, **IN_PLACE)
    run.run(("mid-save-a", n))
    left = on_disk(run.folder)
    assert run.run().outcome.status == "error" and says in run.legs[-1].outcome.text and "start over without --resume" in run.legs[-1].outcome.text
    assert on_disk(run.folder) == left
    assert run.is_lost and not run.resumes and run.verdict == "run lost"
    assert run.run().outcome.status == "done" and run.is_over and run.verdict == "once"


@pytest.mark.parametrize("way", [
    ["Path(path).write_text(text)"],
    ["Path(path).write_bytes(text.encode())"],
    ["file = open(path, mode='w')", "file.writelines([text[:50], text[50:]])", "file.close()"],
    ["with open(path, 'wb', buffering=0) as file:", "    file.write(text.encode())"],
    ["with open(path, 'w+') as file:", "    print(text, file=file)", "    file.seek(0)", "    assert len(list(file)) > 5"],
    ["open(path, 'a').close()", "with open(path, 'r+') as file:", "    file.write(text)"],
    ["with open(path, 'w'): pass", "for part in (text[:9], text[9:]):", "    with open(path, 'a') as file: file.write(part)"],
    ["fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)", "assert os.write(fd, text.encode()) == len(text)", "os.close(fd)"],
], ids=lambda way: way[0][:40])
def test_each_way_to_write_in_place_can_be_killed_half_way(way):
    leg = Experiment(SALES_REPORT, **saving(*way)).rehearse()
    assert leg.outcome.status == "done", leg.outcome.text
    on_the_way, whole = at_save_a(leg)
    assert any(on_the_way) and all(whole.startswith(data) and data != whole for data in on_the_way if data is not None)


@pytest.mark.parametrize("way, last", [
    (["new = Path(f'{path}.new')", "new.write_text(text)", "new.rename(path)"], "rename checkpoint.json.new to checkpoint.json"),
    (["new = Path(f'{path}.new')", "new.write_text(text)", "new.replace(path)"], "replace checkpoint.json by checkpoint.json.new"),
    (["with open(f'{path}.new', 'w') as file:", "    file.write(text)", "    os.fsync(file)", "shutil.move(f'{path}.new', path)"],
     "rename checkpoint.json.new to checkpoint.json"),
    (["with tempfile.NamedTemporaryFile('w', dir=Path(path).parent, prefix='new', delete=False) as file:", "    file.write(text)",
      "os.replace(file.name, path)"], "replace checkpoint.json by new"),
    (["fd, name = tempfile.mkstemp(dir=Path(path).parent, prefix='new')", "with os.fdopen(fd, 'w') as file:", "    file.write(text)", "    os.fsync(fd)",
      "os.replace(name, path)"], "replace checkpoint.json by new"),
], ids=lambda way: way[0][:40] if isinstance(way, list) else "")
def test_killed_before_its_rename_an_atomic_save_of_ones_own_has_left_the_old_file_whole(way, last):
    run = Experiment(SALES_REPORT, **saving(*way))
    leg = run.rehearse()
    moments = leg.recording.moments
    first_b = [i for i, moment in enumerate(moments) if (moment.label, moment.turn) == ("mid-save-b", 1)]
    before = leg.recording.version("checkpoint.json", first_b[0] - 1)
    assert [leg.recording.version("checkpoint.json", i) for i in first_b] == [before] * len(first_b) and len(first_b) >= 3
    assert moments[first_b[-1]].facts["call"].startswith(last) and ("fsync" in calls(leg)) == ("fsync" in str(way))
    assert moments[first_b[-1] + 1].label == "after-save-b" and len(leg.recording.version("checkpoint.json", first_b[-1] + 1)) > len(before)
    run.run(("mid-save-b", moments[first_b[-1]].count))
    assert load_checkpoint(run.folder / "checkpoint.json")["pendingToolUse"]["name"] == "read_notes"
    assert run.run().outcome.status == "done" and run.verdict == "once"


@pytest.mark.parametrize("remove", ["os.remove(path)", "Path(path).unlink()"])
def test_killed_between_removing_the_old_file_and_naming_the_new_one_there_is_none(remove):
    leg = Experiment(SALES_REPORT, **saving("new = Path(f'{path}.new')", "new.write_text(text)", f"if os.path.exists(path): {remove}", "new.rename(path)")).rehearse()
    seen = [(moment.facts["call"], leg.recording.version("checkpoint.json", i) is None) for i, moment in enumerate(leg.recording.moments)
            if (moment.label, moment.turn) == ("mid-save-b", 1)]
    assert seen[-2:] == [("remove checkpoint.json", False), ("rename checkpoint.json.new to checkpoint.json", True)]


def test_nothing_that_a_function_does_to_survive_or_tidy_up_outlives_the_kill():
    run = Experiment(SALES_REPORT, **saving(
        "try:", "    open(path, 'w').write(text)", "except BaseException:", "    Path(path).with_name('survived').write_text('')", "    raise",
        "finally:", "    print('tidied up')", "    os.path.getsize(path) > 100 or os.remove(path)"))
    leg = run.run(("mid-save-a", 1))
    assert on_disk(run.folder)["checkpoint.json"] == b"" and "survived" not in on_disk(run.folder)
    assert leg.outcome.lines == ["[kill] SIGKILL at mid-save-a:1"]
    assert leg.recording.files(len(leg.recording.moments) - 1) == on_disk(run.folder)


def test_a_ledger_torn_by_a_save_effect_of_ones_own_is_set_aside_by_the_resume():
    run = Experiment(SALES_REPORT, **own("""
        def save_effect(path, tool_use_id, entry):
            effects = json.loads(Path(path).read_text()) if os.path.exists(path) else {}
            Path(path).write_text(json.dumps({**effects, tool_use_id: entry}))
        """, "save_effect"))
    assert calls(run.rehearse(), "mid-effect-write") == ["open effects.json for writing", "write effects.json"]
    run.run(("mid-effect-write", 6))  # two a turn
    lines = run.run().outcome.lines
    assert any(line.startswith("[ledger set aside] effects.json ") for line in lines), lines
    assert run.verdict == "asks a human (done)" and (run.folder / "effects.json.broken.1").exists()


def test_functions_of_ones_own_that_call_each_other_announce_as_the_librarys_do():
    """The bug of exercise 6.2: recorded before it has run."""
    run = Experiment(SALES_REPORT, **own("""
        def load_effects(path):
            return json.loads(Path(path).read_text()) if os.path.exists(path) else {}

        def save_effect(path, tool_use_id, entry):
            Path(f"{path}.new").write_text(json.dumps({**load_effects(path), tool_use_id: entry}))
            os.replace(f"{path}.new", path)

        def run_tool_uses(content, tools, *, effects_path, approve=None):
            results = []
            for call in content:
                if call["id"] not in load_effects(effects_path):
                    save_effect(effects_path, call["id"], {"name": call["name"], "result": "ok"})
                    tools[call["name"]](call["input"])
                results.append({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"})
            return results
        """, "load_effects", "save_effect", "run_tool_uses"))
    turn = [moment.label for moment in run.rehearse().outcome.moments if moment.turn == 3 and moment.count]
    assert turn == ["before-request", "after-response", "mid-save-a", "after-save-a", *["mid-effect-write"] * 3, "after-effect-write",
                    "mid-tool", "after-tool", "mid-save-b", "after-save-b"]
    run.run(("after-effect-write", 3))
    assert run.run().outcome.status == "done" and run.verdict == "lost" and not (run.folder / "report.txt").exists()


def test_own_functions_decide_on_a_resume_too_and_a_second_crash_hits_them():
    run = Experiment(SALES_REPORT, **own("""
        def load_checkpoint(path):
            print("I load it")
            return json.loads(Path(path).read_text())

        def reconcile(checkpoint, tools, *, effects_path):
            call = checkpoint["pendingToolUse"]
            Path(effects_path).with_name("note.tmp").write_text("again")
            return call and {"type": "tool_result", "tool_use_id": call["id"], "content": tools[call["name"]](call["input"])}
        """, "load_checkpoint", "reconcile"))
    run.run(("after-tool", 3))
    assert run.run(("in-reconcile", 2)).outcome.lines == ["I load it", "[resume] read turn=3 pending=write_report", "[kill] SIGKILL at in-reconcile:2"]
    assert (run.folder / "note.tmp").read_text() == "ag"  # half of it
    assert run.run().outcome.status == "done" and run.verdict == "once (ran 2×)"


@pytest.mark.parametrize("before", ["", "os.path.exists(path) and os.replace(path, f'{path}.bak')"])
def test_the_librarys_own_save_inside_of_theirs_announces_once(tmp_path, before):
    functions = own(f"""
        from course_lib import save_checkpoint as save

        def save_checkpoint(path, checkpoint):
            {before}
            save(path, checkpoint)
        """)
    mine, plain = Experiment(SALES_REPORT, **functions).run().outcome, start(SALES_REPORT, tmp_path)
    expected = Counter(label for label, _ in places(plain))
    if before:  # each save but the first moves a file away
        expected.update({"mid-save-a": 2, "mid-save-b": 3, "mid-final-save": 1})
    assert Counter(label for label, _ in places(mine)) == expected and mine.lines == plain.lines
