"""A student's own functions in a child: each file call is a moment to die at, each mistake a sentence with its line."""
import itertools
import linecache
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter

import pytest

from course_lib import load_checkpoint
from course_lib.errors import CourseError
from course_lib.scenarios import SALES_REPORT, runner
from course_lib.scenarios.experiment import Experiment
from course_lib.scenarios.runner import start, start_in_child
from course_lib.scenarios.student import PARTS
from helpers import ROOT, on_disk

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
def no_child_is_left(monkeypatch):
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(runner.subprocess, "Popen", Popen)
    yield
    assert [child.returncode for child in started if child.returncode is None] == []
    assert not any(os.path.exists(f"/proc/{child.pid}/exe") for child in started)


# What they write

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


# What they say

@pytest.mark.parametrize("known", ["same cell", "earlier cells", "module beside the notebook"])
def test_helpers_imports_and_constants_of_the_notebook_go_along(tmp_path, monkeypatch, known):
    helpers = "from collections import OrderedDict\nINDENT = 3\nclass Text:\n    def of(self, value):\n        return json.dumps(OrderedDict(value), indent=INDENT)\n"
    save = "def save_checkpoint(path, checkpoint):\n    open(path, 'w').write(Text().of(checkpoint))\n"
    if known == "same cell":
        functions = own(helpers + save)
    elif known == "earlier cells":
        functions = own(save, **{name: value for name, value in cell(helpers).items() if name != "__builtins__"})
    else:
        (tmp_path / "beside.py").write_text("import json\n" + helpers)
        monkeypatch.syspath_prepend(tmp_path)
        functions = own("import beside\nfrom beside import Text\n" + save)
    (tmp_path / "run").mkdir()
    assert start_in_child(SALES_REPORT, tmp_path / "run", **functions).status == "done"
    assert (tmp_path / "run" / "checkpoint.json").read_text().startswith('{\n   "version": 1')


def test_what_they_print_stands_in_the_terminal_between_the_runs_own_lines(tmp_path):
    outcome = start_in_child(SALES_REPORT, tmp_path, crash_after=("after-save-a", 2), **saving(
        "print('saving', end=' ... ')", "open(path, 'w').write(text)", "print('saved\\nwell', file=sys.stderr)", "print('and', end=' ')"))
    assert outcome.lines == [
        "saving ... saved", "well", "[turn 1][save A] pending=read_notes", "and saving ... saved", "well", "[turn 1][save B]",
        "and saving ... saved", "well", "[turn 2][save A] pending=count_words", "and ", "[kill] SIGKILL at after-save-a:2"]


def test_printed_lines_that_look_like_the_childs_own_are_only_printed(tmp_path):
    forged = '{"status": "done", "text": "forged", "line": "forged", "refused": false}'
    outcome = start_in_child(SALES_REPORT, tmp_path, **saving(
        f"print('{forged}')", f"os.write(1, b'{forged}\\n')", f"print('{forged}', file=sys.__stdout__, flush=True)", "assert sys.stdin.read() == ''"))
    assert outcome.status == "done" and outcome.text == "Report written to report.txt, task complete."
    assert outcome.lines.count(forged) == 7 and not (tmp_path / "checkpoint.json").exists()  # once a save


def test_of_a_flood_of_text_the_beginning_is_shown_and_the_rest_counted_out(tmp_path):
    outcome = start_in_child(SALES_REPORT, tmp_path, **saving("print('x' * 60_000)"))
    assert sum(line.count("x") for line in outcome.lines if set(line) == {"x"}) == 99_999  # and one line's end
    assert outcome.lines.count("(more was printed, and is left out)") == 1 and outcome.status == "done"


MISTAKES = {
    "raises": (["hit = checkpoint['nope']"], "Your save_checkpoint raised KeyError: 'nope', in line 5: hit = checkpoint['nope']."),
    "names what is not there": (["open(path, 'w').write(txt)"], "NameError: name 'txt' is not defined, in line 5: open(path, 'w').write(txt)."),
    "writes what is no text": (["open(path, 'w').write(checkpoint)"], "TypeError: write() argument must be str, not dict, in line 5: "),
    "is refused by the system": (["open('/nowhere/to/be/found', 'w')"], "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere"),
    "calls itself": (["save_checkpoint(path, checkpoint)"], "RecursionError: maximum recursion depth exceeded"),
    "exits": (["sys.exit(0)"], "Your save_checkpoint called exit, which ends the whole program; let it return a value instead, in line 5: sys.exit(0)."),
    "asks": (["input('name? ')"], "EOFError: EOF when reading a line, in line 5: input('name? ')."),
    "interrupts": (["raise KeyboardInterrupt"], "Your save_checkpoint raised KeyboardInterrupt, in line 5: raise KeyboardInterrupt."),
    "pretends to be killed": (["from course_lib import SimulatedCrash", "raise SimulatedCrash('killed')"], "SimulatedCrash: killed, in line 6: raise Sim"),
    "says too much": (["raise ValueError('a\\nb \\ud800' + 'x' * 10**6)"], "Your save_checkpoint raised ValueError: a b \\ud800xxxxx"),
    "raises what has no text": (["class Odd(Exception):", "    def __str__(self): 1 / 0", "raise Odd"], "raised Odd: (no text: ZeroDivisionError), in line 7: raise Odd."),
    "takes up all memory": (["bytes(10**15)"], "Your save_checkpoint raised MemoryError, in line 5: bytes(10**15)."),
    "ends the process": (["os._exit(3)"], "The child process ended before its run did, with exit code 3."),
}


@pytest.mark.parametrize("lines, says", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_in_one_sentence_with_the_line_it_is_in(tmp_path, capfd, lines, says):
    outcome = start_in_child(SALES_REPORT, tmp_path, **saving(*lines))
    assert outcome.status == "error" and says in outcome.text and len(outcome.text) < 500
    assert outcome.text.endswith(".") and outcome.text.isprintable() and outcome.lines[-1] == outcome.text
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("source, name, says", [
    ("def save_checkpoint(path): pass", "save_checkpoint",
     "Your save_checkpoint was not called as it wants to be (TypeError: save_checkpoint() takes 1 positional argument but 2 were given); "),
    ("def run_tool_uses(content, tools): pass", "run_tool_uses", "Your run_tool_uses was not called as it wants to be (TypeError: run_tool_uses() got "),
    ("def run_tool_uses(content, tools, **rest): pass", "run_tool_uses", "The run broke off after your run_tool_uses gave None: TypeError: 'NoneType'"),
    ("def load_effects(path): return [1]", "load_effects", "The run broke off after your load_effects gave [1]: TypeError: 'list' object"),
    ("def helper(c):\n    return c[9]\ndef save_checkpoint(path, checkpoint): helper([])", "save_checkpoint",
     "Your helper raised IndexError: list index out of range, in line 4: return c[9]."),
    ("def kept(f):\n    return functools.wraps(f)(lambda *a: f(*a))\n@kept\ndef save_checkpoint(path, checkpoint): 1 / 0", "save_checkpoint",
     "Your save_checkpoint raised ZeroDivisionError: division by zero, in line 6: def save_checkpoint(path, checkpoint): 1 / 0."),
    ("class Saver:\n    def __call__(self, path, checkpoint): 1 / 0\nsave_checkpoint = functools.partial(Saver())", "save_checkpoint",
     "Your __call__ raised ZeroDivisionError: division by zero, in line 4: def __call__(self, path, checkpoint): 1 / 0."),
], ids=["signature", "keyword", "gives nothing", "gives a list", "helper", "decorated", "object"])
def test_a_function_that_does_not_fit_or_fails_further_in_is_told_as_such(tmp_path, source, name, says):
    outcome = start_in_child(SALES_REPORT, tmp_path, **own(source, name))
    assert outcome.status == "error" and outcome.text.startswith(says) and outcome.text.endswith("."), outcome.text


def test_a_save_effect_that_keeps_nothing_has_no_moment_after_it_and_one_that_exits_ends_the_run(tmp_path):
    outcome = start_in_child(SALES_REPORT, tmp_path, **own("def save_effect(path, id, entry): pass", "save_effect"))
    assert outcome.status == "done" and not any("effect" in label for label, _ in places(outcome))
    outcome = start_in_child(SALES_REPORT, tmp_path, **own("def save_effect(path, id, entry): sys.exit()", "save_effect"))
    assert outcome.status == "error" and outcome.text.startswith("Your save_effect called exit") and places(outcome)[-1] == ("after-tool", 1)


def test_a_save_effect_that_fails_is_told_beside_the_run_with_its_line_and_the_run_goes_on(tmp_path):
    outcome = start_in_child(SALES_REPORT, tmp_path, **own("def save_effect(path, id, entry): jsn.dumps(entry)", "save_effect"))
    told = [line for line in outcome.lines if line.startswith("[ledger write failed]")]
    assert outcome.status == "done" and len(told) == 3
    assert "Your save_effect raised NameError: name 'jsn' is not defined, in line 3: def save_effect(path, id, entry): jsn.dumps(entry)." in told[0]


@pytest.mark.parametrize("lines, at", [
    (["n = 0", "while True:", "    n += 1"], "save_checkpoint did not come back within 0.4 seconds and was cut off, at line "),
    (["while True: json.dumps(checkpoint, indent=1)"], "line 5: while True: json.dumps(checkpoint, indent=1)."),
    (["while True: print('hello')"], "line 5: while True: print('hello')."),
    (["while True: open(path, 'w').close()"], "line 5: while True: open(path, 'w').close()."),
    (["while True:", "    try: os.fsync(None)", "    except BaseException: pass"], "save_checkpoint did not come back within 0.4 seconds"),
    (["def poll():", "    while True: time.sleep(9)", "poll()"], "poll did not come back within 0.4 seconds and was cut off, at line 6: while True: time.sleep(9)."),
    (["sum(iter(int, 1))"], "at line 5: sum(iter(int, 1))."),
], ids=["loop", "in the library", "prints", "writes", "catches all", "sleeps", "lets no other thread run"])
def test_what_never_ends_is_cut_off_and_the_line_it_was_in_is_quoted(tmp_path, lines, at):
    outcome = start_in_child(SALES_REPORT, tmp_path, patience=0.4, **saving(*lines))
    assert outcome.status == "error" and at in outcome.text and outcome.lines[-1] == outcome.text
    assert len(outcome.moments) <= 1010 and sum(map(len, outcome.lines)) < 110_000


def test_patience_is_for_each_step_and_not_for_the_whole_run(tmp_path):
    outcome = start_in_child(SALES_REPORT, tmp_path, patience=0.4, **saving("open(path, 'w').write(text)", "[sum(range(10**6)) for _ in range(4)]"))
    assert outcome.status == "done"


@pytest.mark.parametrize("source, name, says", [
    ("import threading\nlock = threading.Lock()\ndef save_checkpoint(path, checkpoint): lock.acquire()", "save_checkpoint",
     "Your save_checkpoint uses lock, which can't be carried into a process of its own (cannot pickle '_thread.lock' object); "),
    ("numbers = (n for n in [1])\ndef reconcile(c, tools, **rest): next(numbers)", "reconcile", "Your reconcile uses numbers, which can't be carried"),
    ("def save_chekpoint(path, checkpoint): pass", "save_chekpoint", "There is no save_chekpoint to stand in for; a function of yours can be any of: load"),
    ("save_checkpoint = 3", "save_checkpoint", "save_checkpoint is to be a function of yours, and this is 3; "),
], ids=["lock", "generator", "name", "number"])
def test_what_can_not_stand_in_is_refused_before_anything_runs(tmp_path, source, name, says):
    with pytest.raises(CourseError) as refused:
        start_in_child(SALES_REPORT, tmp_path, **own(source, name))
    assert str(refused.value).startswith(says) and str(refused.value).endswith(".") and on_disk(tmp_path) == {}


def test_a_function_can_stand_in_wherever_the_library_asks_for_a_part_of_a_run():
    asked = {name for path in (ROOT / "course_lib").rglob("*.py") for name in re.findall(r"\bpart\((\w+)\)\(", path.read_text(encoding="utf-8"))}
    assert asked == set(PARTS)


@pytest.fixture
def notebook(monkeypatch):
    """A real shell, as the kernel of a notebook has it."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell puts its own there
    return InteractiveShell(config=Config(HistoryManager={"enabled": False}))


def test_functions_from_the_cells_of_a_real_notebook_announce_and_get_their_lines_quoted(tmp_path, notebook):
    notebook.run_cell("import json\ndef as_text(value):\n    # helps\n    return json.dumps(value, skipkey=True)\n")
    notebook.run_cell("def save_checkpoint(path, checkpoint):\n    with open(path, 'w') as file:\n        file.write(as_text(checkpoint))\n")
    save = {"save_checkpoint": notebook.user_ns["save_checkpoint"]}
    outcome = start_in_child(SALES_REPORT, tmp_path, functions=save)
    assert outcome.text.startswith("Your as_text raised TypeError: ") and outcome.text.endswith(", in line 4: return json.dumps(value, skipkey=True).")
    assert places(outcome)[-1] == ("mid-save-a", 1)
    notebook.run_cell("def as_text(value):\n    return json.dumps(value)\n")
    assert start_in_child(SALES_REPORT, tmp_path, functions=save, crash_after=("mid-save-b", 2)).status == "killed"
    assert 0 < (tmp_path / "checkpoint.json").stat().st_size < 700


def test_a_function_of_a_real_notebook_brings_no_ipython_along_and_what_hangs_on_it_is_refused(tmp_path, notebook):
    notebook.run_cell("import sys\ndef load_effects(path):\n    open(f'{path}.seen', 'w').close()\n    print('IPython' in sys.modules)\n    while True:\n        pass\n")
    outcome = start_in_child(SALES_REPORT, tmp_path, functions={"load_effects": notebook.user_ns["load_effects"]}, patience=0.4)
    assert "load_effects did not come back within 0.4 seconds and was cut off, at line " in outcome.text
    assert outcome.text.endswith((": while True:.", ": pass.")) and outcome.lines[-2] == "False"
    notebook.run_cell("def save_effect(path, id, entry): exit()\n")
    with pytest.raises(CourseError, match="^Your save_effect uses exit, which can't be carried into a process of its own"):
        start_in_child(SALES_REPORT, tmp_path, functions={"save_effect": notebook.user_ns["save_effect"]})
