"""The child that an answer runs in, and the pack of forgeries: nothing earns what only behaviour can earn, and nothing harms the one who checks."""
import ast
import contextlib
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.grading import driver
from course_lib.grading.driver import DIED, FLOOD, GREEDY, KILLED, RAISED, RETURNED, TIMEOUT, Child, Fails, Fake, Kill, Response, sandboxed
from course_lib.grading.code_exercises.answer import Answer, put, read
from course_lib.grading.feedback import as_html, as_text
from course_lib.grading.usage import disk_of
from course_lib.grading.report import FAIL, PASS
from test_grading_code import CODES, exercise

ROOT = Path(__file__).resolve().parents[1]


def calls(text, folder, name="f", *args, **options):
    with Child(text, folder, **options) as child:
        return child.call(name, *args)


@pytest.fixture(autouse=True)
def nobody_is_left(monkeypatch):
    """Every child is gone when its block is left, and so is what it has started."""
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(driver.subprocess, "Popen", Popen)
    yield started
    assert all(child.returncode is not None for child in started)
    ours, end = {child.pid for child in started}, time.monotonic() + 20
    while ours & set(groups()) and time.monotonic() < end:  # a killed process needs a moment to be gone
        os.sched_yield()
    assert not ours & set(groups())


def groups():
    """The process groups of all that runs; what has ended and only waits to be noticed does not count."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
            if state != "Z":
                yield int(group)


# --- driving --------------------------------------------------------------------------------

def test_a_tool_runs_on_this_side_and_its_result_goes_to_the_answer(tmp_path):
    seen = []
    ended = calls("def f(tools):\n    return [tools['add']({'n': 2}), tools['add'].read_only]", tmp_path, "f",
                  {"add": Fake(lambda input: seen.append(input) or input["n"] + 1, read_only=True)})
    assert (ended.status, ended.value, seen) == (RETURNED, [3, True], [{"n": 2}])


def test_a_tool_that_fails_raises_in_the_answer_and_can_be_caught_there(tmp_path):
    def down(input):
        raise Fails("the mail is down")

    text = "def f(tool):\n    try:\n        tool({})\n    except Exception as error:\n        return str(error)"
    assert calls(text, tmp_path, "f", down).value == "the mail is down"


@pytest.mark.parametrize("call", ["tool()", "tool(1, 2)", "tool(name='add', input={})", "tool(self=1, input={})", "tool({}, number=0, call=None)", "client()", "client.messages()"])
def test_a_call_of_another_shape_raises_a_type_error_in_the_answer_and_nowhere_else(tmp_path, call):
    seen, client = [], Fake(messages=Fake(create=Fake(lambda **request: None)))
    ended = calls(f"def f(tool, client):\n    return {call}", tmp_path, "f", Fake(lambda input: seen.append(input)), client)
    assert (ended.status, ended.error, ended.line, seen) == (RAISED, "TypeError", 2, [])


@pytest.mark.parametrize("id, call", [("3.2", 'tool(pending["input"])'), ("4.2", 'tools[block["name"]](block["input"])'), ("6.2", 'tools[block["name"]](block["input"])'), ("2.2", 'tools[call["name"]](call["input"])'),
                                      ("2.2", "client.messages.create(messages=messages)")])
@pytest.mark.parametrize("given", ["", "1, 2, 3", "name=1, self=2, input=3", "number=1, call=2, function=3", "*'abc', **{'': 1}"])
def test_whatever_a_call_looks_like_there_is_a_report_and_the_answer_is_not_right(id, call, given):
    report = exercise(id).check(exercise(id).solution.replace(call, f"{call[:call.rindex('(')]}({given})"))
    assert report.outcome == "incorrect" and report.slip.given


def test_a_number_longer_than_python_reads_is_one_beyond_all_others(tmp_path):
    assert calls("import sys\nsys.set_int_max_str_digits(0)\ndef f():\n    return [10 ** 5000, -10 ** 5000, 10 ** 3000]", tmp_path).value == [float("inf"), float("-inf"), 10 ** 3000]


WAYS_TO_WRITE = {
    "open": "with open(path, 'w', {}) as file: file.write(text)", "io": "with io.open(path, mode='w', {}) as file: file.write(text)",
    "append": "with open(path, 'a+', {}) as file: file.write(text)", "pathlib": "path.write_text(text, {})", "a path's open": "with path.open('w', {}) as file: file.write(text)",
    "temp file": "with tempfile.NamedTemporaryFile('w', dir=path.parent, {}) as file: file.write(text); file.flush()",
    "descriptor": "with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT), 'w', {}) as file: file.write(text)"}


@pytest.mark.parametrize("way", WAYS_TO_WRITE)
def test_a_machine_that_knows_ascii_only_has_files_of_any_name_and_no_other_letters_in_them_where_no_encoding_is_named(tmp_path, way):
    text = "import io, os, tempfile\n" + "".join(f"def {name}(path, text):\n    {WAYS_TO_WRITE[way].format(encoding)}\n" for name, encoding in
                                                [("named", "encoding='utf-8'"), ("unnamed", ""), ("locale", "encoding='locale'")])
    with Child(text, tmp_path, ascii=True) as child:
        given = [child.call(name, tmp_path / "Übung", letters).error for name in ("named", "unnamed", "locale") for letters in ("ü", "u")]
    assert given == ["", "", "UnicodeEncodeError", "", "UnicodeEncodeError", ""]
    assert calls(text, tmp_path, "unnamed", tmp_path / "Übung", "ü").status == RETURNED


def test_a_machine_that_knows_ascii_only_reads_no_other_letters_where_no_encoding_is_named(tmp_path):
    (tmp_path / "Übung").write_text("ü", encoding="utf-8")
    with Child("def named(path): return path.read_text(encoding='utf-8')\ndef unnamed(path): return path.read_text()", tmp_path, ascii=True) as child:
        assert (child.call("named", tmp_path / "Übung").value, child.call("unnamed", tmp_path / "Übung").error) == ("ü", "UnicodeDecodeError")


def test_the_model_s_client_is_called_as_the_sdk_s_is(tmp_path):
    client = Fake(messages=Fake(create=Fake(lambda **request: Response({"stop_reason": "end_turn", "content": request["messages"]}))))
    text = "def f(client):\n    reply = client.messages.create(messages=['hello'])\n    return [reply.stop_reason, reply.to_dict()['content']]"
    assert calls(text, tmp_path, "f", client).value == ["end_turn", ["hello"]]


@pytest.mark.parametrize("when, ran, left", [("asked", [], "before"), ("done", ["sent"], "before")])
def test_a_kill_is_a_real_one_and_hits_the_very_moment(tmp_path, nobody_is_left, when, ran, left):
    happened = []

    def send(input):
        if when == "done":
            happened.append("sent")
        raise Kill

    text = """
import atexit
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
def f(path, send):
    atexit.register(write, path, "at exit")
    write(path, "before")
    try:
        send({})
    except BaseException:
        write(path, "caught")
    finally:
        write(path, "finally")
"""
    ended = calls(text, tmp_path, "f", tmp_path / "mark", send)
    assert (ended.status, happened, (tmp_path / "mark").read_text()) == (KILLED, ran, left)
    assert nobody_is_left[0].returncode == -signal.SIGKILL


def test_each_file_call_that_changes_something_is_heard_of_before_it_happens(tmp_path):
    text = """
import os, pathlib, shutil
def f(folder):
    (folder / "new").write_text("new")
    os.replace(folder / "new", folder / "file")
    os.listdir(folder), (folder / "file").read_text()
    shutil.copyfile(folder / "file", folder / "copy")
    os.truncate(folder / "copy", 1)
    os.remove(folder / "copy")
"""
    seen = []
    calls(text, tmp_path, "f", tmp_path, on_file=lambda what, *paths: seen.append((what, *paths, sorted(os.listdir(tmp_path)))))
    new, file, copy = tmp_path / "new", tmp_path / "file", tmp_path / "copy"
    assert seen == [("open", new, []), ("rename", new, file, ["new"]), ("open", copy, ["file"]),
                    ("truncate", copy, ["copy", "file"]), ("remove", copy, ["copy", "file"])]


def test_a_file_call_that_was_made_up_is_heard_of_with_paths_that_can_be_looked_up_and_printed(tmp_path):
    seen = []
    text = "import sys\ndef f():\n    for args in [(), (7,), ('\\ud800\\0', 'b'), (b'\\xff', None, 3, 4)]:\n        sys.audit('os.rename', *args)"
    assert calls(text, tmp_path, "f", on_file=lambda what, *paths: seen.append(paths)).status == RETURNED
    assert [len(paths) for paths in seen] == [1, 1, 2, 2]
    assert [read(path) for paths in seen for path in paths if str(path).encode()] == [None] * 6


def test_killed_before_its_rename_an_atomic_save_has_left_the_old_file(tmp_path):
    def at_rename(what, *paths):
        if what == "rename":
            raise Kill

    (tmp_path / "file").write_text("old")
    text = "import os\ndef f(folder):\n    (folder / 'temp').write_text('new')\n    os.replace(folder / 'temp', folder / 'file')"
    assert calls(text, tmp_path, "f", tmp_path, on_file=at_rename).status == KILLED
    assert (tmp_path / "file").read_text() == "old" and (tmp_path / "temp").read_text() == "new"


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="this system ends no process at a byte")
@pytest.mark.parametrize("n", [0, 1, 57, 99])
def test_the_system_kills_at_the_very_byte(tmp_path, n):
    with Child("def f(path):\n    try:\n        path.write_text('x' * 100)\n    except BaseException:\n        path.write_text('')", tmp_path) as child:
        assert child.dies_at_byte(n)
        assert child.call("f", tmp_path / "file").status == DIED
    assert (tmp_path / "file").read_bytes() == b"x" * n


@pytest.mark.parametrize("text, error, line", [
    ("def f():\n    return 1 / 0", "ZeroDivisionError", 2),
    ("def f():\n    def g():\n        raise KeyError('x')\n    g()", "KeyError", 3),
    ("def f():\n    import json\n    json.loads('{')", "JSONDecodeError", 3),
    ("def f(a):\n    pass", "TypeError", None),
    ("def f():\n    exit()", "NameError", 2),
    ("def f():\n    import sys\n    sys.exit(0)", "SystemExit", 3),
    ("class Odd(Exception):\n    def __str__(self):\n        raise self\ndef f():\n    raise Odd", "Odd", 5),
])
def test_what_an_answer_raises_comes_with_its_own_line(tmp_path, text, error, line):
    ended = calls(text, tmp_path)
    assert (ended.status, ended.error, ended.line) == (RAISED, error, line)


@pytest.mark.parametrize("text, error", [("x = (", "SyntaxError"), ("def f(:\n", "SyntaxError"), ("x = 1\n  y = 2", "IndentationError"), ("\0", None), ("\ud800", None)])
def test_a_text_that_is_no_program_is_said_so_and_then_nothing_can_be_called(tmp_path, text, error):
    with Child(text, tmp_path) as child:
        assert child.loaded.status == RAISED and (error is None or child.loaded.error == error)
        assert child.call("f") == child.loaded and child.names == {}


@pytest.mark.parametrize("value, seen", [("{1: 2}", {"1": 2}), ("(1, 2)", [1, 2]), ("{1, 2}", {"$object": "{1, 2}"}), ("{(1, 2): 3}", {"$object": "{(1, 2): 3}"}), ("b'x'", {"$object": "b'x'"})])
def test_a_value_that_json_can_t_hold_comes_as_what_it_looks_like(tmp_path, value, seen):
    assert calls(f"def f():\n    return {value}", tmp_path).value == seen


# --- limits ---------------------------------------------------------------------------------

@pytest.mark.parametrize("body", ["while True:\n        pass", "while True:\n        try:\n            while True: pass\n        except BaseException:\n            pass"])
def test_an_endless_loop_is_cut_off_and_its_line_is_named(tmp_path, body):
    ended = calls(f"def f():\n    {body}", tmp_path)
    assert ended.status == TIMEOUT and ended.line in (2, 3, 4)


@pytest.mark.skipif(sys.platform == "win32", reason="there it is the parent who ends it")
def test_one_that_waits_for_ever_is_cut_off_too(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "PATIENCE", 0.3)
    ended = calls("import threading\ndef f():\n    threading.Event().wait()", tmp_path)
    assert (ended.status, ended.line) == (TIMEOUT, 3)


@pytest.mark.parametrize("text", ["def f(tool):\n    while True:\n        tool({})", "def f(tool):\n    while True:\n        tool('x' * 900_000)", "def f(tool):\n    return 'x' * 3_000_000", "def f(tool):\n    tool('x' * 3_000_000)"])
def test_a_flood_is_cut_off(tmp_path, text):
    assert calls(text, tmp_path, "f", lambda input: None).status == FLOOD


HOLDERS = """
import os
def f(took):
    for n in range(6):
        come, went = os.pipe()
        if os.fork() == 0:
            held = bytearray(150 << 20)
            held[::4096] = bytes(len(held[::4096])).replace(bytes(1), b"x")
            os.write(went, b"x")
            import time
            time.sleep(60)
        os.read(come, 1)
        took(n)
    import time
    time.sleep(60)
"""
FILLERS = {
    "many files": "    while True:\n        took(1)\n        open(f'{n}', 'wb').write(bytes(1 << 20))\n        n += 1\n",
    "in folders": "    while True:\n        took(1)\n        os.makedirs(f'a/{n}/b')\n        open(f'a/{n}/b/c', 'wb').write(bytes(1 << 20))\n        n += 1\n",
    "several processes": "    for _ in range(3): os.fork()\n    while True:\n        fd = os.open(f'{os.getpid()}-{n}', os.O_RDWR | os.O_CREAT)\n        os.write(fd, bytes(1 << 20))\n        os.close(fd)\n        n += 1\n",
}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system tells nobody what a process holds")
def test_several_processes_get_no_more_memory_together_than_one(tmp_path):
    took = []
    assert calls(HOLDERS, tmp_path, "f", took.append).status == GREEDY
    assert 2 <= len(took) < 6


@pytest.mark.parametrize("way", FILLERS)
def test_many_small_files_get_no_more_of_the_disk_together_than_there_is_for_all(tmp_path, way):
    text = f"import os\ndef f(took):\n    n = 0\n{FILLERS[way]}"
    assert calls(text, tmp_path, "f", lambda n: None).status == GREEDY
    assert disk_of(tmp_path) < 1 << 30  # looked at from time to time, so some more than the limit


def test_what_one_child_has_left_in_the_folder_counts_for_the_next(tmp_path):
    for n in range(70):
        (tmp_path / f"{n}").write_bytes(bytes(1 << 20))
    with Child("import time\ntime.sleep(60)", tmp_path) as child:
        assert child.loaded.status == GREEDY and child.call("f").status == GREEDY


@pytest.mark.parametrize("text", ["def f():\n    x = 'a'\n    while True:\n        x += x", "def f():\n    open('big', 'wb').write(bytes(200_000_000))"])
@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="this system has no such limits")
def test_memory_and_files_have_a_limit(tmp_path, text):
    assert calls(text, tmp_path).status == RAISED
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 1 << 20


def test_what_an_answer_prints_goes_nowhere(tmp_path, capfd):
    calls("import os, sys\ndef f():\n    print('out'); print('err', file=sys.stderr); os.write(1, b'one'); os.write(2, b'two'); os.system('echo three')", tmp_path)
    assert capfd.readouterr() == ("", "")


def test_an_answer_finds_no_key_no_home_and_nothing_of_the_course(tmp_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    text = "import os\ndef f():\n    try:\n        import course_lib\n    except ImportError:\n        return dict(os.environ)"
    environment = calls(text, tmp_path).value
    assert "canary" not in json.dumps(environment) and environment.keys() <= {"PATH", "LANG", "LC_CTYPE", "PWD", "SYSTEMROOT"}


def test_an_answer_can_t_end_the_process_that_checks_it(tmp_path):
    assert calls("import os\ndef f():\n    os.kill(os.getppid(), 9)", tmp_path).error == "PermissionError"
    assert calls("import os\ndef f():\n    os.kill(os.getpid(), 9)", tmp_path).status == DIED
    assert calls("import subprocess, sys\ndef f():\n    child = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n    child.kill()\n    return child.wait()", tmp_path).value == -9


def test_a_child_that_has_children_takes_them_with_it(tmp_path, nobody_is_left):
    assert calls("import os, time\ndef f():\n    if os.fork() == 0:\n        time.sleep(60)", tmp_path).status == RETURNED  # the fixture looks


# --- sandbox --------------------------------------------------------------------------------

def test_a_sandbox_gets_each_child_s_command_and_folder_and_may_wrap_it(tmp_path):
    wrapped = []

    def wrap(command, folder):
        wrapped.append((command[0], command[-1], folder))
        return ["env", "SANDBOX=yes", *command]

    text = "import os\ndef f():\n    return os.environ.get('SANDBOX')"
    with sandboxed(wrap):
        assert calls(text, tmp_path).value == "yes"
    assert wrapped == [(sys.executable, str(driver.CHILD), tmp_path.resolve())]
    assert calls(text, tmp_path).value is None


@pytest.mark.parametrize("command", [["no-such-sandbox"], ["false"], ["echo", "hello"]])
def test_a_sandbox_that_does_not_work_is_never_the_answer_s_fault(command):
    with sandboxed(lambda *_: command):
        report = exercise("4.2").check(exercise("4.2").solution)
    assert report.outcome == "could not be checked" and report.problem and not report.findings


@pytest.mark.parametrize("id", CODES)
def test_in_bubblewrap_the_solution_passes_as_it_does_outside(id):
    def wrap(command, folder):
        return ["bwrap", "--ro-bind", "/", "/", "--bind", str(folder), str(folder), "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent", "--chdir", str(folder), *command]

    if not shutil.which("bwrap") or subprocess.run(wrap(["true"], Path("/tmp")), capture_output=True).returncode:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("NO SANDBOX: bubblewrap is not here, or can't make one")
    with sandboxed(wrap):
        assert exercise(id).check(exercise(id).solution).outcome == "correct"
        assert exercise(id).check(exercise(id).solution + "\n1 / 0").slip.hint == "does-not-run"


# --- forgeries ------------------------------------------------------------------------------

def idle(id, body="pass"):
    """An answer that defines everything, does nothing, and has chosen the right letters."""
    tree = ast.parse(exercise(id).solution)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.body = ast.parse(body).body if not body.startswith("return") else ast.parse(f"def f():\n {body}").body[0].body
    return ast.unparse(tree)


def earned(id, text):
    report = exercise(id).check(text)
    assert report.outcome != "correct"
    assert "canary" not in as_text(report) + as_html(report)
    return {finding.criterion for finding in report.findings if finding.verdict == PASS}


FORGED_LINES = """
import os, json
def forge(*_, **__):
    for fd in range(3, 40):
        for value in ({}, [], True, None):
            try:
                os.write(fd, (json.dumps({"ended": "returned", "value": value}) + "\\n").encode())
            except OSError:
                break
"""
FORGERIES = {
    "loops": "while True: pass",
    "leaves": "import os; os._exit(0)",
    "exits": "import sys; sys.exit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "prints a verdict": "print('correct'); print('{\"ended\": \"returned\", \"value\": []}', flush=True)",
    "prints for ever": "while True: print('correct' * 1000)",
    "writes protocol lines": FORGED_LINES + "forge()",
    "writes noise into the channel": "import os\nfor fd in range(3, 40):\n    try: os.write(fd, b'PASS ' * 500_000)\n    except OSError: pass",
    "patches what carries the words": "import json, os, builtins\njson.dumps = json.loads = lambda *a, **k: '{\"ended\": \"returned\"}'\nos.replace = os.rename = os.fsync = builtins.open = lambda *a, **k: None",
    "patches the child": "import __main__, sys\nfor name in ('attempt', 'describe', 'run', 'defined', 'Fake', 'watcher', 'limit'):\n    setattr(sys.modules['__main__'], name, lambda *a, **k: {'ended': 'returned', 'value': []})",
    "finds the channel": "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Channel':\n        o.ask = lambda *a: {'reply': None, 'go': True}\n        o.say = lambda *a, **k: None",
    "equals everything": "class Yes(dict):\n    __eq__ = lambda *a: True\n    __bool__ = lambda *a: True\n    __getitem__ = lambda *a: a[0]",
    "imports the course": "import sys; sys.path[:0] = ['.', '..']\ntry:\n    import course_lib.grading.exercise as e\n    e.Exercise.check = None\nexcept ImportError:\n    pass",
    "stays alive": "import signal\nfor s in range(1, 32):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
    "raises its limits": "import resource\nfor what in (resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_AS):\n    try: resource.setrlimit(what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n    except (ValueError, OSError): pass\nwhile True: pass",
    "hooks the hooks": "import sys\ndef hook(*a):\n    raise SystemExit\nsys.addaudithook(hook)",
    "starts many": "import os\nfor _ in range(4):\n    if os.fork() == 0:\n        while True: pass",
    "eats memory": "x = [b'x' * 10_000_000 for _ in range(1000)]",
    "nests": "x = []\nfor _ in range(100_000): x = [x]\nprint(x)",
    "reads the environment": "import os\nraise Exception(dict(os.environ), [open(f'/proc/{p}/environ').read() for p in (os.getpid(),) if os.path.exists('/proc')])",
    "lays out ledgers": """
import json, os
def lay():
    for folder, _, _ in os.walk("."):
        for name in ("effects.json", "checkpoint.json"):
            try:
                with open(os.path.join(folder, name), "w") as file:
                    json.dump({f"toolu_{n:08x}": {"name": "create_ticket", "result": None} for n in range(1000)}, file)
            except OSError:
                pass
lay()
""",
}
QUICK = ["writes protocol lines", "patches what carries the words", "patches the child", "finds the channel", "equals everything", "hooks the hooks", "lays out ledgers"]


@pytest.fixture(scope="module")
def nothing_done():
    """What an answer earns that does nothing, by exercise; whichever kind of nothing earns most."""
    return {id: set().union(*(earned(id, idle(id, body)) for body in ("pass", "return {}", "return []", "return args", "raise ValueError('no, thank you')"))) for id in CODES}


@pytest.fixture
def impatient(monkeypatch):
    """For those that fall silent."""
    monkeypatch.setattr(driver, "PATIENCE", 2)


@pytest.mark.parametrize("id", CODES)
def test_an_answer_that_does_nothing_earns_no_more_than_that_it_runs_and_its_letters(id, nothing_done):
    free = {"runs", "bug", "consequence", "cause", "told", "in_place", "only_b"}
    # An empty dict where there is no ledger is the whole of that criterion; it is the first, so it guards nothing.
    assert nothing_done[id] <= free | ({"no_file"} if id == "4.2" else set())


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_earns_nothing_in_4_2(forgery, nothing_done, impatient, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-canary")
    assert earned("4.2", f"{FORGERIES[forgery]}\n{idle('4.2')}") <= nothing_done["4.2"]


@pytest.mark.parametrize("id", [id for id in CODES if id != "4.2"])
def test_the_subtle_forgeries_earn_nothing_anywhere(id, nothing_done, impatient):
    for forgery in QUICK:
        assert earned(id, f"{FORGERIES[forgery]}\n{idle(id)}") <= nothing_done[id], forgery


@pytest.mark.parametrize("id", CODES)
@pytest.mark.parametrize("body", ["forge()", "lay()", "return Yes()", "for a in args: forge(a)", "return __import__('os').environ.copy()"])
def test_a_forgery_inside_of_the_functions_earns_nothing_either(id, body, nothing_done, impatient):
    text = idle(id, body).replace("):\n", ", *args):\n") if "args" in body else idle(id, body)
    assert earned(id, FORGED_LINES + FORGERIES["lays out ledgers"] + FORGERIES["equals everything"] + "\n" + text) <= nothing_done[id]


# As a save that is not atomic, unnoticed by the hook in its own process.
BESIDE_THE_HOOK = {
    "the hook is muted": """
    frame = __import__("sys")._getframe()
    while "channel" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["channel"].ask = lambda message: {"go": True}
    if os.path.exists(path): os.remove(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
""",
    "the C library": """
    import ctypes
    system = ctypes.CDLL(None)
    system.unlink(os.fsencode(path))
    written = system.creat(os.fsencode(path), 0o600)
    system.write(written, text.encode(), len(text.encode()))
    system.close(written)
""",
    "the old one is put aside": """
    import ctypes
    temp = f"{path}.tmp"
    with open(temp, "w", encoding="utf-8") as file:
        file.write(text)
    ctypes.CDLL(None).rename(os.fsencode(path), os.fsencode(f"{path}.old"))
    ctypes.CDLL(None).rename(os.fsencode(temp), os.fsencode(path))
""",
    "another program": """
    import subprocess
    subprocess.run(["/bin/sh", "-c", 'rm -f "$0"; cat > "$0"', str(path)], input=text.encode())
""",
    "a rename before the bytes": """
    import ctypes
    temp = f"{path}.tmp"
    with open(temp, "w", encoding="utf-8") as file:
        ctypes.CDLL(None).rename(os.fsencode(temp), os.fsencode(path))
        file.write(text)
"""}


@pytest.mark.skipif(sys.platform != "linux", reason="no other system is asked what it saw")
@pytest.mark.parametrize("way", BESIDE_THE_HOOK)
@pytest.mark.parametrize("id, name, value", [("2.2", "save_checkpoint", "checkpoint"), ("4.2", "save_effects", "effects")])
def test_a_save_that_is_not_atomic_is_seen_from_outside_whatever_it_does_to_the_hook(id, name, value, way):
    save = f"\n\ndef {name}(path, {value}):\n    text = json.dumps({value}){BESIDE_THE_HOOK[way]}"
    report = exercise(id).check(exercise(id).solution + save)
    assert (report.outcome, next(finding.criterion for finding in report.findings if finding.verdict == FAIL)) == ("incorrect", "atomic"), report.slip


ODD_QUESTIONS = """
def test_it():
    for asked in [(), (None,), (None, "no-ledger"), (None, "run_tool_uses"), (None, "run_tool_uses", 5), (None, "run_tool_uses", [{}]), (0,), (0, 1, 2), (-1, {}), ("a", {}), (10 ** 9, None), ([], {}), (None, None, None)]:
        for keywords in ({}, {"call": None}, {"version": {}}, {"self": 1}):
            try:
                globals().get("_play", int)(*asked, **keywords)
            except Exception:
                pass
"""


@pytest.mark.parametrize("id", ["4.2", "5.2", "6.2"])
def test_a_proof_that_only_asks_the_one_who_plays_the_versions_proves_nothing_and_harms_nothing(id):
    solution = exercise(id).solution
    report = exercise(id).check(solution[:solution.index("def test_")] + ODD_QUESTIONS)
    assert report.outcome == "incorrect" and report.slip.hint in ("proof-blind", "proof-without-crash")


def test_the_order_in_which_a_proof_meets_the_versions_can_t_be_known_from_the_answer_s_own_text(tmp_path):
    seen, solution = tmp_path / "seen", exercise("4.2").solution
    note = f'    with open({str(seen)!r}, "a") as notes:\n        notes.write("{{}}" if len(opened) == 1 else "x")\n    assert len(opened) == 1\n'.replace("{}", "o")
    text = solution.replace("            assert answers[0]", "            answers[0]").replace("    assert len(opened) == 1\n", note)
    for _ in range(12):
        assert exercise("4.2").check(text).outcome == "correct"
        with open(seen, "a") as notes:
            notes.write(" ")
    orders = seen.read_text().split()
    assert {len(order) for order in orders} == {8} and {order.count("o") for order in orders} == {5} and len(set(orders)) > 1


def test_the_same_answer_works_in_a_folder_of_another_name_each_time(tmp_path):
    answers = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        answers.append(Answer("x = 1", tmp_path / name))
    one, two = answers
    assert (one.id(), one.word()) == (two.id(), two.word()) and one.folder().name != two.folder().name


def test_a_link_that_an_answer_puts_in_a_file_s_place_is_not_followed(tmp_path):
    secret, link = tmp_path / "secret", tmp_path / "link"
    secret.write_text("canary")
    link.symlink_to(secret)
    assert read(secret) == b"canary" and read(link) is None and read(tmp_path) is None and read(tmp_path / "none") is None
    with pytest.raises(OSError):
        put(link, b"written")
    assert secret.read_text() == "canary"


@pytest.mark.parametrize("deed", ["import shutil\nfor name in os.listdir():\n        shutil.rmtree(name)", "for name in os.listdir():\n        os.rename(name, name + 'x')\n        open(name, 'w').close()",
                                  "os.path.exists(path) and os.remove(path) or os.symlink('/etc/hostname', path)"])
def test_an_answer_that_takes_away_what_the_check_works_with_has_failed(deed):
    text = exercise("4.2").solution.replace('    temp = f"{path}.tmp"\n', f'    {deed}\n    temp = f"{{path}}.tmp"\n')
    assert exercise("4.2").check(text).outcome == "incorrect"


@pytest.mark.parametrize("name", ["writes_in_place", "removes_first"])
def test_on_a_disk_without_hard_links_a_save_that_is_not_atomic_is_found_all_the_same(name, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert exercise("4.2").check((Path(__file__).parent / f"answers/4.2/{name}.py").read_text(encoding="utf-8")).slip.hint in ("in-place", "gap")
    assert exercise("4.2").check(exercise("4.2").solution).outcome == "correct"


@pytest.mark.parametrize("number, outcome", [(errno.ENOSPC, "could not be checked"), (errno.ENOENT, "incorrect")])
def test_a_full_disk_is_the_machine_s_fault_and_a_lost_folder_the_answer_s(number, outcome, monkeypatch):
    def fails(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Answer, "folder", fails)
    assert exercise("4.2").check(exercise("4.2").solution).outcome == outcome


def test_what_an_answer_says_has_an_end_in_a_report():
    text = exercise("4.2").solution.replace("return {}", "return {'x' * n: n for n in range(100)}")
    assert len(as_text(exercise("4.2").check(text))) < 5000


# --- words ----------------------------------------------------------------------------------

def test_hostile_words_of_an_answer_are_text_in_every_report():
    report = exercise("4.2").check('def load_effects(path):\n    raise ValueError("<script>alert(1)</script>\\x1b[2J\\u202e")\ndef save_effects(p, e): pass\ndef run_tool_uses(*a, **k): pass\n')
    text, markup = as_text(report), as_html(report)
    assert "<script>" not in markup and "&lt;script&gt;" in markup
    assert all(c.isprintable() for c in markup) and all(c.isprintable() for c in text.replace("\n", ""))


def test_a_report_names_the_first_slip_in_full_and_the_rest_a_line_each():
    report = exercise("4.2").check((Path(__file__).parent / "answers/4.2/never_looks.py").read_text(encoding="utf-8"))
    lines = as_text(report).splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ")] == ["✓"] * 7 + ["✗"] + ["·"] * 2
    assert any("create_ticket ran 2 times" in line for line in lines) and any("two tickets" in line for line in lines)
    assert f"seed {report.seed}" in lines[-1]


@pytest.mark.parametrize("answer", [None, 4, ["x"], b"x = 1"])
def test_what_is_no_text_can_t_be_checked_and_is_no_fault(answer):
    assert exercise("4.2").check(answer).outcome == "could not be checked"


def test_the_same_answer_meets_the_same_ids_again_and_another_one_others():
    text = (Path(__file__).parent / "answers/4.2/never_looks.py").read_text(encoding="utf-8")
    first, again, other = (exercise("4.2").check(text + end) for end in ("", "", "\n# another"))
    assert first == again and first.seed != other.seed
