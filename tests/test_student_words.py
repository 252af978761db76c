"""What a student's own functions print, and what is said of their mistakes: a sentence, with the line of code."""
import re
import sys

import pytest

from course_lib.errors import CourseError
from course_lib.scenarios import SALES_REPORT, SUPPORT_DESK
from course_lib.scenarios.policies import LESSON_4, VERIFY
from course_lib.scenarios.runner import start_in_child
from course_lib.scenarios.student import PARTS
from helpers import ROOT, on_disk
from test_student import cell, no_child_is_left, own, places, saving  # noqa: F401  (the fixture is for every test here, too)


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
    ("def load_effects(path): return [1]", "load_effects", "The run broke off after your load_effects gave [1]: AttributeError: 'list' object"),
    ("def helper(c):\n    return c[9]\ndef save_checkpoint(path, checkpoint): helper([])", "save_checkpoint",
     "Your helper raised IndexError: list index out of range, in line 4: return c[9]."),
    ("def kept(f):\n    return functools.wraps(f)(lambda *a: f(*a))\n@kept\ndef save_checkpoint(path, checkpoint): 1 / 0", "save_checkpoint",
     "Your save_checkpoint raised ZeroDivisionError: division by zero, in line 6: def save_checkpoint(path, checkpoint): 1 / 0."),
    ("class Saver:\n    def __call__(self, path, checkpoint): 1 / 0\nsave_checkpoint = functools.partial(Saver())", "save_checkpoint",
     "Your __call__ raised ZeroDivisionError: division by zero, in line 4: def __call__(self, path, checkpoint): 1 / 0."),
], ids=["signature", "keyword", "gives a list", "helper", "decorated", "object"])
def test_a_function_that_does_not_fit_or_fails_further_in_is_told_as_such(tmp_path, source, name, says):
    outcome = start_in_child(SALES_REPORT, tmp_path, **own(source, name))
    assert outcome.status == "error" and outcome.text.startswith(says) and outcome.text.endswith("."), outcome.text


@pytest.mark.parametrize("given, said", [
    ("pass", "None"), ("return {'type': 'tool_result', 'tool_use_id': content[0]['id'], 'content': 'ok'}", "{'type': 'tool_result', "), ("return []", "[]"), ("return [None]", "[None]"),
    ("return [{'type': 'tool_result', 'tool_use_id': 'mine', 'content': 'ok'}]", "[{'type': 'tool_result', 'tool_use_id': 'mine', "),
    ("return [{'type': 'text', 'tool_use_id': content[0]['id'], 'content': 'ok'}]", "[{'type': 'text', "), ("return 2 * [{'type': 'tool_result', 'tool_use_id': content[0]['id'], 'content': 'ok'}]", "[{"),
], ids=["nothing", "no list", "an empty list", "a list of nothing", "another id", "another block", "twice"])
def test_what_is_no_answer_to_a_call_is_told_as_what_it_is_whoever_asked_for_it(tmp_path, given, said):
    functions = own(f"def run_tool_uses(content, tools, **rest): {given}", "run_tool_uses")
    desk, killed = SUPPORT_DESK["send_email"], ("after-save-a", 2)
    for folder, policy, crash in (("run", None, None), ("ledger", LESSON_4.functions, killed), ("verify", VERIFY.functions, killed)):
        (tmp_path / folder).mkdir()
        if crash:
            assert start_in_child(desk, tmp_path / folder, crash_after=crash, policy=policy).status == "killed"
        outcome = start_in_child(desk, tmp_path / folder, policy=policy, resume=bool(crash), **functions)
        call = "send_email (toolu_02)" if crash else "read_file (toolu_01)"
        assert outcome.status == "error" and outcome.text.startswith(f"run_tool_uses gave {said}") and outcome.text.isprintable(), outcome.text
        assert outcome.text.endswith(f" for the call {call}; let it give a list with one tool_result for each call, under the call's own id.")


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
