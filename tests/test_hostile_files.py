"""Files from an enemy: whatever a checkpoint, a ledger, a history, a turn file, a plan or a transcript holds, nothing of it runs and nothing outside of the run's folder is written.

The interpreter itself tells what was done, by its audit events: a program that ran code, or opened or changed anything elsewhere, can't hide it.
"""
import copy
import json
import os
import pickle
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib import Run, Tool, effects_since, fork_from, go_back_to, load_checkpoint, load_effects, load_latest, rewind_to, run_agent
from course_lib import book, family, standing, turns
from course_lib.doctor import examine
from course_lib.errors import CourseError
from course_lib.repair import repair_transcript
from course_lib.scenarios.matrix import memory_folder
from course_lib.transcript import check_transcript, lone_surrogates
from helpers import Model, World, answer, fail_at, run, said, scene, text, told, use, writing

KEY = "sk-ant-" + "not-a-real-key-0123456789"  # in two parts, so that no search for leaked keys finds this line
RUNS_CODE = {"exec", "compile", "import", "pickle.find_class", "marshal.loads", "code.__new__", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn",
             "os.fork", "ctypes.dlopen", "socket.connect"}
TOUCHES = {"open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "os.symlink", "os.chmod", "shutil.rmtree", "shutil.move"}


# --- what the interpreter saw ----------------------------------------------------------------------------

_heard = []  # where the events go while somebody listens; an audit hook stays for good


def _hook(event, arguments):
    if _heard and (event in RUNS_CODE or event in TOUCHES):
        _heard[-1].append((event, arguments))


@pytest.fixture(scope="module", autouse=True)
def hook():
    for codec in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        "".encode(codec)  # json.loads finds the encoding of bytes by itself, and the first time that imports
    sys.addaudithook(_hook)


@contextmanager
def harmless(home):
    """Within it no code is run that a file could have brought, and nothing is opened or changed but what is in the folder home."""
    _heard.append([])
    try:
        yield
    finally:
        events = _heard.pop()
    home = os.path.realpath(home)
    for event, arguments in events:
        assert event not in RUNS_CODE, (event, arguments)
        for path in arguments[:2 if event in ("os.rename", "shutil.move") else 1]:
            is_ours = isinstance(path, int) or not os.path.isabs(os.fsdecode(path))  # open already, or within a folder that is
            assert is_ours or f"{os.path.realpath(os.fsdecode(path))}/".startswith(f"{home}/"), (event, arguments)


class Bomb:
    def __reduce__(self):
        return os.mkdir, (str(Path(tempfile.gettempdir(), "course-bomb")),)


def test_what_must_not_happen_would_be_seen(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "secret.txt").write_text("x")
    for deed in (lambda: exec("1"), lambda: pickle.loads(pickle.dumps(Path())), lambda: (tmp_path / "out.txt").write_text("x"),
                 lambda: (tmp_path / "home" / ".." / "secret.txt").read_text(),
                 lambda: os.rename(tmp_path / "home" / "in.txt", tmp_path / "out.txt"), lambda: (tmp_path / "home" / ".." / "more").mkdir()):
        (tmp_path / "home" / "in.txt").write_text("x")
        with pytest.raises(AssertionError), harmless(tmp_path / "home"):
            deed()
    with harmless(tmp_path / "home"):
        (tmp_path / "home" / "out.txt").write_text("x")


# --- what one can do with a folder -----------------------------------------------------------------------------

class Calls:
    """A client whose model answers every conversation with its last word."""

    def __init__(self):
        self.messages = self

    def create(self, **_):
        reply = {"content": [text("All done.")], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
        return type("Reply", (), {"to_dict": lambda self: copy.deepcopy(reply)})()


def resumed(folder, resume=True):
    world = World()
    world.tools["look"] = Tool(lambda input: "seen", read_only=True)
    return run_agent(Calls(), None if resume else "do it", world.tools, folder=folder, resume=resume, approve=lambda name, input: True)


DEEDS = {
    "load the checkpoint": lambda folder: load_checkpoint(folder / "checkpoint.json"),
    "load the ledger": lambda folder: load_effects(folder / "effects.json"),
    "resume": resumed,
    "start afresh": lambda folder: resumed(folder, resume=False),
    "load the newest": lambda folder: family.tokens(load_latest(folder=folder)),
    "look back": lambda folder: rewind_to(1, folder=folder),
    "what stands": lambda folder: effects_since(1, folder=folder),
    "go back": lambda folder: go_back_to(1, folder=folder),
    "go back to A": lambda folder: go_back_to(1, "A", folder=folder, tools=World().tools),
    "fork": lambda folder: fork_from(1, "b", folder=folder),
    "fork at A": lambda folder: fork_from(1, "b", "A", folder=folder, tools=World().tools),
    "the family": lambda folder: family.family(folder),
    "what is similar": lambda folder: standing.similar_effects({"id": "t9", "name": "pay", "input": {"amount": "10.0"}}, folder=folder, tools=World().tools),
}




def does_no_harm(files):
    """Everything done to a folder of these files, ``{name: bytes}``, a fresh copy each time, ends well or in a sentence."""
    for deed in DEEDS.values():
        with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as home:
            folder = Path(home, "runs", "checkpoints")
            folder.mkdir(parents=True)
            for name, data in files.items():
                (folder.parent / name if "/" in name else folder / name).parent.mkdir(exist_ok=True)
                (folder.parent / name if "/" in name else folder / name).write_bytes(data)
            with harmless(folder.parent), Run(durability="kill", quiet=True):
                try:
                    deed(folder)
                except CourseError as error:
                    assert str(error)


# --- good files, of which the enemy's are made -----------------------------------------------------------------

def good(way, crash=None):
    """What three turns leave, ``{name: bytes}``, kept that way; with a fork beside it."""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as home:
        folder = Path(home, "checkpoints")
        folder.mkdir()
        turns = [use("t1", "look", at="a")], [use("t2", "note", line="b")], [use("t3", "pay", amount=10)], [text("All done.")]
        run(Model(*turns), World(), folder, keep=way, crash_after=crash, approve=lambda name, input: True)
        if way != "file":
            with Run(durability="kill", quiet=True):
                fork_from(1, "other", folder=folder)
                if crash is None:
                    go_back_to(2, folder=folder)
        (folder / "run.lock").write_text('{"pid": 1, "generation": 1}')
        (folder / "attempts.json").write_text('{"at": [1, "A"], "attempts": 1}')
        return {str(path.relative_to(folder if path.parent == folder else home)): path.read_bytes() for path in Path(home).rglob("*") if path.is_file()}


GOOD = [good("file", ("after-tool", 3)), good("file", ("after-effect-write", 2)), good("turns"), good("turns", ("after-tool", 3)),
        good("history"), good("history", ("mid-save-b", 2))]
PLAN = {"after": [1, "B"], "into": "rewound-1", "scene": json.loads(GOOD[0]["checkpoint.json"])}
SECRETS = ["../../evil.json", "/tmp/evil.json", "..", ".", "", "a/b", "a\\b", "C:\\evil", "\0", "rewound-1/../../evil", "checkpoints", "checkpoints-other", "x" * 300,
           "__import__('os').system('true')", "!!python/object/apply:os.system ['true']", "{0.__class__}", "%s%n", "$(touch evil)", "`touch evil`", "<script>alert(1)</script>",
           "\x1b[2J", "\u202e", "toolu_01", "t1", "A", "B", "final", "look", "pay", "read_file", "tool_use", "tool_result", "user", "assistant", KEY]
hostile = st.sampled_from(SECRETS) | st.none() | st.booleans() | st.integers(-2, 9) | st.sampled_from([10**40, -10**40, 1e308, 0.5]) | st.text(max_size=8)
values = st.recursive(hostile, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(SECRETS) | st.text(max_size=4), inner, max_size=3), max_leaves=6)


def places(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


@st.composite
def spoilt(draw, value):
    """A JSON value that an enemy has changed in one to three places: something else there, something gone, something more."""
    value = [copy.deepcopy(value)]
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([at for at in places(value) if at]))
        inner = value
        for key in way:
            inner = inner[key]
        act = draw(st.sampled_from(["change", "change", "remove", "add"]))
        if act == "add" and isinstance(inner[last], dict):
            inner[last][draw(st.sampled_from(["lineage", "fingerprint", "parent", "messages", "pendingToolUse", *SECRETS]))] = draw(values)
        elif act == "remove" and isinstance(inner, dict):
            del inner[last]
        else:
            inner[last] = draw(values)
    return value[0]


@st.composite
def spoilt_files(draw):
    files = dict(draw(st.sampled_from(GOOD)))
    if draw(st.booleans()) and any(name.startswith("turn-") for name in files):
        files["rewinding.json"] = json.dumps(PLAN).encode()
    for _ in range(draw(st.integers(1, 2))):
        name = draw(st.sampled_from(sorted(files)))
        data = files[name]
        try:
            if name.endswith("history.jsonl"):
                records = [json.loads(line) for line in data.split(b"\n") if line.strip(b"\0")]
                unsigned = [{key: value for key, value in record.items() if key != "sum"} if isinstance(record, dict) else record for record in records]
                files[name] = _summed(draw(spoilt(unsigned)))
            else:
                files[name] = json.dumps(draw(spoilt(json.loads(data)))).encode()
        except ValueError:
            files[name] = draw(st.binary(max_size=40))
    return files


def _summed(records):
    lines, total = b"", 0
    for record in records if isinstance(records, list) else [records]:
        line = book.line_of(record, total) if isinstance(record, dict) and record else json.dumps(record).encode() + b"\n"
        total = book.sum_of(line) if line.endswith(b'"}\n') else total
        lines += line
    return lines


def test_what_is_spoilt_was_good_before():
    for files in GOOD:
        does_no_harm(files)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(spoilt_files())
def test_a_spoilt_folder_does_no_harm(files):
    does_no_harm(files)


BOMBS = {"a pickle": pickle.dumps(Bomb()), "an old pickle": pickle.dumps(Bomb(), 0), "yaml": b"!!python/object/apply:os.mkdir ['/tmp/course-bomb']\n",
         "python": b"__import__('os').mkdir('/tmp/course-bomb')\n", "a marshal": b"\xe3\x00\x00\x00", "deep": b"[" * 200_000, "deep objects": b'{"a":' * 50_000,
         "many digits": b"9" * 10_000, "utf-16": '{"version": 1}'.encode("utf-16"), "zeros": bytes(100_000), "nothing": b""}


@pytest.mark.parametrize("data", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("number", range(len(GOOD)), ids=["file", "file, recorded", "turns", "turns at A", "history", "history, torn"])
def test_a_bomb_in_place_of_any_file_does_not_go_off(number, data):
    names = {*GOOD[number], *(["rewinding.json"] if number in (2, 3) else [])}
    for name in names:
        does_no_harm({**GOOD[number], name: data})


def with_history(change):
    """A folder with a history whose lines have been changed and summed again."""
    records = [{key: value for key, value in json.loads(line).items() if key != "sum"} for line in GOOD[4]["history.jsonl"].split(b"\n") if line.strip(b"\0")]
    change(records)
    return {**GOOD[4], "history.jsonl": _summed(records)}


def with_lineage(**changed):
    """A folder with turn files that say something odd of where they come from."""
    files = dict(GOOD[3])
    for name in [name for name in files if name.startswith("turn-")]:
        scene = json.loads(files[name])
        files[name] = json.dumps({**scene, "lineage": {**scene["lineage"], **changed}}).encode()
    return files


PARENT = {"folder": "checkpoints", "run": "r", "turn": 1, "point": "B", "tokensUsed": 1}


@pytest.mark.parametrize("files", [
    with_history(lambda lines: lines[0].update(parent={"folder": "checkpoints", "bytes": 10**9, "sum": "00000000"})),
    with_history(lambda lines: lines[0].update(parent={"folder": "../..", "bytes": 1, "sum": "00000000"})),
    with_history(lambda lines: lines[0].update(parent={"folder": "..", "bytes": 1, "sum": "00000000"})),
    with_history(lambda lines: lines[0].update(parent={"folder": "/etc", "bytes": -1, "sum": None})),
    with_history(lambda lines: lines[3].update(answers="t9")),
    with_history(lambda lines: lines[1].update(messages=[{"role": "user", "content": [{"type": "tool_use", "id": ["t"], "name": 1}]}])),
    with_lineage(run="r", parent=PARENT),
], ids=["a history that begins in itself", "in a folder far above", "in the folder above", "in a folder elsewhere", "an answer to nothing", "an id that is none", "a run that is its own parent"])
def test_what_leads_round_in_a_circle_or_out_of_the_folder_ends_in_a_sentence(files):
    does_no_harm(files)


ROUGH = {  # files of right sums and shapes whose insides make no sense
    "a run that is a list": with_lineage(run=["r"], parent=PARENT),
    "a parent that is a list": with_lineage(parent=["r"]),
    "tokens that are no number": with_lineage(parent={**PARENT, "tokensUsed": "1"}),
    "a root that leads out of the folder": with_lineage(root="../../evil"),
    "an order of lists": with_history(lambda lines: lines[1].update(order=[["version"]])),
    "a call without a name": with_history(lambda lines: lines[1].update(messages=[{"role": "user", "content": "x"}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t1"}]}])),
}


@pytest.mark.parametrize("files", ROUGH.values(), ids=ROUGH)
def test_every_refusal_is_a_sentence(files):
    does_no_harm(files)


def test_a_fork_of_the_lessons_own_turn_files_can_be_gone_back_in(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    turns.save_checkpoint(tmp_path / "checkpoints" / "checkpoint.json", scene([said(use("t1", "look")), told(answer("t1", "x"))], turns=1))  # no lineage in it
    branch = fork_from(1, "b", folder=tmp_path / "checkpoints")
    assert effects_since(1, folder=branch) == []


@settings(max_examples=200, deadline=None)
@given(spoilt(json.loads(GOOD[0]["checkpoint.json"])["messages"]) | values | st.binary(max_size=60))
def test_a_hostile_transcript_is_examined_and_mended_without_harm(messages):
    data = messages if isinstance(messages, bytes) else json.dumps(messages).encode()
    with harmless("/nowhere"):
        if not isinstance(messages, bytes):
            for breach in check_transcript(messages):
                assert breach["text"].isascii() or breach["text"].encode("utf-8")
            lone_surrogates(messages)
            repair_transcript(messages)
        try:
            examine(data)
        except CourseError as error:
            assert str(error)


# --- the key ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("crash", [None, ("after-tool", 2), ("mid-save-b", 1)], ids=str)
@pytest.mark.parametrize("way", ["file", "turns", "history"])
def test_the_key_in_the_environment_is_in_no_file_of_a_run_and_in_no_line_it_prints(tmp_path, monkeypatch, capsys, way, crash):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    folder, world = tmp_path / "checkpoints", World()
    folder.mkdir(), (tmp_path / "second").mkdir()
    model = Model([use("t1", "look")], [use("t2", "note")], [text("All done.")])
    run(model, world, folder, keep=way, crash_after=crash)
    ends = [run(model, world, folder, resume=True)]
    if way != "file":
        with Run(durability="kill"):
            fork_from(1, "b", folder=folder)
            go_back_to(1, folder=folder)
    (folder / "effects.json").write_bytes(b"{")  # so that there is something to be said, too
    run(model, world, folder, resume=True, crash_after=("before-request", 1))
    with pytest.MonkeyPatch.context() as patch:
        fail_at(patch, "replace", writing("effects.json"), OSError(5, "Input/output error"))
        ends.append(run(model, world, tmp_path / "second"))
    out, err = capsys.readouterr()
    said = [out, err, *(end.words for end in ends), *(str(moment) for end in ends for moment in end.moments)]
    kept = [path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert kept and not any("not-a-real-key" in text for text in [*said, *kept])
