"""Tools, approvers, clients and callers that do what nobody meant: nothing is done twice, forgotten or thrown away for it."""
import contextvars
import errno
import io
import os
import sys
import threading

import pytest

from course_lib import Run, SimulatedCrash, Tool, fork_from, go_back_to, load_checkpoint, load_effects, load_latest, run_agent
from course_lib import history, ledger, turns
from course_lib.__main__ import main
from course_lib.checkpoint import CheckpointMissing
from course_lib.errors import CourseError
from course_lib.guard import InUse, fresh_start
from course_lib.model import explain
from course_lib.moments import alert
from course_lib.stops import ModelStopped
from course_lib.storage import StorageError
from course_lib.transcript import check_transcript
from tests.helpers import Model, World, fail_at, on_disk, read, run, said, text, use, write

WAYS = ("file", "turns", "history")
LOOK, NOTE, PAY = use("t1", "look"), use("t2", "note", line="soup"), use("t3", "pay", amount=100)
THREE = ([LOOK], [NOTE], [PAY], [text("done")])
yes = lambda name, input: True


def go(folder, world, *turns_, tools=None, **options):
    """One start or resume, quietly."""
    with Run(durability="kill", quiet=True):
        return run_agent(Model(*(turns_ or THREE)), "do it", tools or world.tools, folder=folder, **{"approve": yes, **options})


@pytest.fixture
def home(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    return tmp_path / "checkpoints"


# --- tools ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", WAYS)
def test_a_tool_that_changes_the_current_folder_takes_no_save_with_it(tmp_path, monkeypatch, way):
    (tmp_path / "here").mkdir(), (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    world = World()
    world.tools["look"] = Tool(lambda input: os.chdir(tmp_path / "there"), read_only=True)
    go(".", world, keep=way)
    assert os.listdir(tmp_path / "there") == []
    assert go(tmp_path / "here", world, resume=True) == "done" and len(world.done) == 2


def with_sub_agent(world, folder, **options):
    """The tools, and one that runs an agent of its own in that folder."""
    sub = {"sub-pay": world.tool("sub-pay", high_impact=True)}
    script = [[use("s1", "sub-pay")], [text("done")]]
    return {**world.tools, "note": Tool(lambda input: run_agent(Model(*script), "a smaller task", sub, folder=folder, **{"approve": yes, **options}))}


@pytest.mark.parametrize("inner, outer", [(True, False), (False, True)])
def test_an_agent_within_a_tool_asks_its_own_person_and_the_outer_one_asks_the_outers(home, tmp_path, inner, outer):
    world = World()
    go(home, world, tools=with_sub_agent(world, tmp_path, approve=lambda *_: inner), approve=lambda *_: outer)
    assert [name for name, _ in world.done] == ["look", *(["sub-pay"] if inner else []), *(["pay"] if outer else [])]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("inner", WAYS)
def test_an_agent_within_a_tool_leaves_the_outer_run_resumable(home, tmp_path, way, inner):
    world = World()
    tools = with_sub_agent(world, tmp_path, keep=inner)
    with pytest.raises(SimulatedCrash), Run(crash_after=("after-effect-write", 2), durability="kill"):
        run_agent(Model(*THREE), "do it", tools, folder=home, keep=way, approve=yes)
    assert go(home, world, tools=tools, resume=True) == "done"
    assert [name for name, _ in world.done] == ["look", "sub-pay", "pay"]
    assert (tmp_path / "history.jsonl").exists() is (inner == "history")


def test_an_agent_within_a_tool_can_not_start_in_the_outer_ones_folder(home):
    world = World()
    go(home, world, tools=with_sub_agent(world, home))
    assert "InUse" in load_checkpoint(home / "checkpoint.json")["messages"][4]["content"][0]["content"]
    assert [*load_effects(home / "effects.json")] == ["t1", "t3"]


def test_a_ledger_entry_that_could_not_be_written_is_never_another_runs(home, tmp_path, monkeypatch):
    world = World()
    with Run(durability="kill", quiet=True):
        fail_at(monkeypatch, "replace", lambda old, new: str(new).endswith("effects.json"))
        with pytest.raises(CourseError):
            run_agent(Model([use("t1", "note", line="secret")], ([text("?")], "refusal")), "do it", world.tools, folder=home)
        monkeypatch.undo()
        run_agent(Model([use("t1", "note", line="soup")], [text("done")]), "do it", world.tools, folder=tmp_path)
    assert [input["line"] for _, input in world.done] == ["secret", "soup"]


def test_two_runs_at_once_in_one_context_are_two_runs(home):
    world, at_work, may_end, ends = World(), threading.Event(), threading.Event(), []
    world.tools["note"] = Tool(lambda input: (at_work.set(), may_end.wait(60)) and "noted")

    def start():
        ends.append(run_agent(Model(*THREE), "do it", world.tools, folder=home, approve=yes))

    with Run(durability="kill"):
        first = threading.Thread(target=contextvars.copy_context().run, args=[start])  # as asyncio.to_thread does it
        first.start()
        try:
            assert at_work.wait(60)
            with pytest.raises(InUse):
                contextvars.copy_context().run(start)
        finally:
            may_end.set()
            first.join()
    assert ends == ["done"]
    assert [name for name, _ in world.done] == ["look", "pay"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.parametrize("end", ["returns", "raises", "exits"])
def test_a_copy_of_the_process_that_a_tool_makes_does_not_go_on_with_the_run(home, tmp_path, end):
    def pay(input):
        with open(tmp_path / "paid.txt", "a") as file:
            file.write("paid\n")

    def notify(input):
        child = os.fork()
        if child == 0 and end == "exits":
            sys.exit(0)
        if child == 0 and end == "raises":
            raise RuntimeError("in the copy")
        return os.waitpid(child, 0)[1] if child else "noted"

    here = os.getpid()
    try:
        go(home, None, tools={"look": World().tools["look"], "note": Tool(notify), "pay": Tool(pay)})
    except BaseException:
        if os.getpid() == here:
            raise
    finally:
        if os.getpid() != here:
            os._exit(0)  # the copy ends here, whatever it was told
    assert (tmp_path / "paid.txt").read_text() == "paid\n" and load_checkpoint(home / "checkpoint.json")["turns"] == 3


async def pays_later(input):
    return "paid"


def pays_on_demand(input):
    yield "paid"


@pytest.mark.parametrize("function, kind", [(pays_later, "coroutine"), (pays_on_demand, "generator")])
def test_a_tool_that_only_gives_something_to_be_run_is_not_recorded_as_done(home, function, kind):
    go(home, None, [use("t1", "pay")], [text("done")], tools={"pay": Tool(function)})
    result = load_checkpoint(home / "checkpoint.json")["messages"][2]["content"][0]
    assert result["is_error"] and f"it gave a {kind}, which nobody has run" in result["content"] and load_effects(home / "effects.json") == {}


class Unreadable:
    def __str__(self):
        raise SystemExit("no text of mine")


def test_a_result_that_can_not_be_read_is_recorded_all_the_same(home):
    go(home, None, [use("t1", "note")], [text("done")], tools={"note": Tool(lambda input: Unreadable())})
    assert load_effects(home / "effects.json")["t1"]["name"] == "note"


# --- approvers ----------------------------------------------------------------------------------------------

async def says_yes_later(name, input):
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("approve", [lambda *_: "no", lambda *_: 1, lambda *_: None, says_yes_later, lambda *_: input_is_closed()])
def test_only_true_is_a_yes(home, approve):
    world = World()
    go(home, world, [use("t1", "pay")], [text("done")], approve=approve)
    result = load_checkpoint(home / "checkpoint.json")["messages"][2]["content"][0]
    assert world.done == [] and result["is_error"] and "did not; it was not run" in result["content"]


def input_is_closed():
    raise EOFError("EOF when reading a line")


# --- clients -------------------------------------------------------------------------------------------------

class Client:
    """It gives these contents as they are."""

    def __init__(self, *contents, usage={"input_tokens": 1, "output_tokens": 1}):
        self.messages, self.contents, self.usage = self, list(contents), usage

    def create(self, **request):
        content = self.contents.pop(0)
        calls = isinstance(content, list) and any(type(block) is dict and block.get("type") == "tool_use" for block in content)
        body = {"content": content, "stop_reason": "tool_use" if calls else "end_turn", "usage": self.usage}
        return type("Reply", (), {"to_dict": lambda self: body})()


def test_a_blank_text_beside_a_call_is_left_out_so_that_the_conversation_can_be_sent_back(home):
    world = World()
    with Run(durability="kill"):
        run_agent(Client([text("\n\n"), NOTE, text("")], [text("done")]), "do it", world.tools, folder=home)
    scene = load_checkpoint(home / "checkpoint.json")
    assert scene["messages"][1] == said(NOTE) and check_transcript(scene["messages"], ends_with_user=False) == []


@pytest.mark.parametrize("content", [[], [text("")], [text(" \n")]])
def test_a_run_that_ended_without_a_word_can_be_resumed(home, content):
    with Run(durability="kill"):
        ends = [run_agent(Client(content), "do it", {}, folder=home), run_agent(Client(), None, {}, folder=home, resume=True)]
    assert ends == ["(the model ended without a text)"] * 2


@pytest.mark.parametrize("content, words", [
    (None, "content: Input should be a valid list"), ("hello", "content: Input should be a valid list"), ([{"text": "no type"}], "type: Field required"), ([3], "Input should be an object"),
    ([{"type": "tool_use", "id": "t1", "name": "note"}], "input: Field required"), ([{"type": "tool_use", "id": ["t1"], "name": "note", "input": {}}], "Input should be a valid string"),
    ([NOTE, {"type": "tool_result", "tool_use_id": "t9", "content": "x"}], "can only be in `user` messages"), ([{"type": "text", "text": None}], "Input should be a valid string")])
def test_a_reply_that_could_not_be_sent_back_is_refused_before_anything_is_saved_or_run(home, content, words):
    world = World()
    with pytest.raises(ModelStopped, match="can't be sent back to it") as stopped, Run(durability="kill"):
        run_agent(Client(content), "do it", world.tools, folder=home)
    assert words in str(stopped.value) and "nothing of it was saved" in str(stopped.value)
    assert world.done == [] and not (home / "checkpoint.json").exists()


def test_a_reply_without_a_count_of_tokens_counts_as_none(home):
    with Run(durability="kill"):
        assert run_agent(Client([text("done")], usage=None), "do it", {}, folder=home) == "done"
    assert load_checkpoint(home / "checkpoint.json")["tokensUsed"] == 0


class Meddler(Model):
    """It cuts off what is old and marks what is new, in the very list it was given."""

    def create(self, *, messages, **request):
        reply = super().create(messages=messages, **request)
        messages[-1]["cache_control"] = {"type": "ephemeral"}
        del messages[:-1]
        return reply


@pytest.mark.parametrize("way", WAYS)
def test_what_a_client_does_to_its_list_does_nothing_to_the_scene(home, way):
    with Run(durability="kill"):
        assert run_agent(Meddler(*THREE), "do it", World().tools, folder=home, keep=way, approve=yes) == "done"
    scene = load_checkpoint(home / "checkpoint.json") if way == "file" else load_latest(folder=home)
    assert len(scene["messages"]) == 8 and "cache_control" not in str(scene["messages"])


# --- callers -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("slip", [{"task": None}, {"task": " "}, {"task": b"do it"}, {"tools": None}, {"tools": [Tool(print)]}, {"client": None}, {"max_turns": "5"}], ids=str)
def test_a_start_with_a_slip_in_it_costs_nothing_of_the_run_before(home, slip):
    go(home, World(), max_turns=2)
    before = on_disk(home)
    with pytest.raises(CourseError, match="run_agent can't begin: .+; nothing was changed"):
        run_agent(**{"client": Model(*THREE), "task": "do it", "tools": World().tools, "folder": home, **slip})
    assert on_disk(home) == before


@pytest.mark.parametrize("way", WAYS)
def test_a_fresh_start_killed_anywhere_leaves_the_run_before_or_none(tmp_path, monkeypatch, way):
    killed, at = True, 0
    while killed:
        at, folder, world = at + 1, tmp_path / f"{way}-{at}", World()
        folder.mkdir()
        go(folder, world, keep=way, max_turns=2)  # the pause writes checkpoint.json beside a history, too
        assert run(Model(*THREE), world, folder, resume=True, approve=yes, crash_after=("after-save-b", 1)).how == "killed"
        left = iter(range(at))
        killed = fail_at(monkeypatch, "unlink", lambda *_: not str(_[0]).endswith((".tmp", "run.lock")) and next(left, None) is None, KeyboardInterrupt())
        try:
            fresh_start(folder)
        except KeyboardInterrupt:
            pass
        monkeypatch.undo()
        try:
            go(folder, world, resume=True)
        except CheckpointMissing:
            pass
        assert [name for name, _ in world.done] == ["look", "note", "pay"], (way, at)
    assert at > 2


@pytest.mark.parametrize("way", ["turns", "history"])
def test_going_back_from_within_a_tool_of_the_same_run_is_refused(home, way):
    world = World()
    world.tools["note"] = Tool(lambda input: go_back_to(1, folder=home))
    go(home, world, keep=way)
    assert "InUse" in load_latest(folder=home)["messages"][4]["content"][0]["content"]
    assert go(home, world, resume=True) == "done"


@pytest.mark.parametrize("way", ["turns", "history"])
def test_a_fork_at_a_call_that_its_parent_is_just_making_does_not_make_it_too(home, way):
    world, branches = World(), []

    def pay(input):
        branches.append(fork_from(3, "b", "A", folder=home, tools=world.tools))  # another process could do that at this instant
        world.done.append(("pay", input))
        return "paid"

    world.tools["pay"] = Tool(pay, verify=lambda input, key: bool(world.done[2:]))
    go(home, world, keep=way)
    assert [name for name, _ in world.done] == ["look", "note", "pay"]
    assert load_latest(folder=branches[0])["messages"][-1]["content"][0]["content"].startswith("State unknown: the run that this branch leaves is still at work")


# --- folders and files --------------------------------------------------------------------------------------------

def test_a_rewind_that_can_not_look_into_the_folder_is_an_error_and_is_carried_out_later(home, monkeypatch):
    world = World()
    go(home, world, keep="turns")
    seen = []
    fail_at(monkeypatch, "listdir", lambda *_: (home / turns.MOVING).exists() and not seen.append(1), OSError(errno.EMFILE, "Too many open files"))
    with pytest.raises(StorageError, match="can't be looked into: Too many open files"):
        go_back_to(1, folder=home, tools=world.tools)
    monkeypatch.undo()
    assert load_latest(folder=home)["turns"] == 1


def test_a_folder_that_can_not_be_listed_is_not_taken_for_an_empty_one(home, monkeypatch):
    go(home, World(), keep="turns", max_turns=2)
    before = on_disk(home)
    fail_at(monkeypatch, "listdir", lambda *_: True, PermissionError(errno.EACCES, "Permission denied"))
    for resume in (True, False):
        with pytest.raises(StorageError, match="checkpoints can't be looked into: Permission denied; make it readable"):
            go(home, World(), resume=resume, keep="turns")
    monkeypatch.undo()
    assert on_disk(home) == before


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_lock_that_is_a_link_to_somebodys_file_is_not_written_to(home, tmp_path, link):
    (tmp_path / "thesis.txt").write_text("four years of work")
    link(tmp_path / "thesis.txt", home / "run.lock")
    with pytest.raises(StorageError, match="run.lock could not be made"):
        go(home, World())
    assert (tmp_path / "thesis.txt").read_text() == "four years of work"


@pytest.mark.parametrize("name", ["effects.json", "effects [v1].json"])
def test_no_broken_file_that_was_set_aside_is_ever_written_over(tmp_path, name):
    write(tmp_path / f"{name}.broken.2", {"the": "second"})
    (tmp_path / name).write_text("{")
    assert ledger.set_aside(tmp_path / name).name == f"{name}.broken.3" and ledger.was_set_aside(tmp_path / name)
    assert read(tmp_path / f"{name}.broken.2") == {"the": "second"}


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="a POSIX system's")
def test_a_file_system_without_modes_can_be_saved_to(home, monkeypatch):
    fail_at(monkeypatch, "fchmod", lambda *_: True, PermissionError(errno.EPERM, "Operation not permitted"))
    assert go(home, World()) == "done"


def test_what_a_branch_stands_on_is_on_disk_before_the_branch_is(home, monkeypatch):
    with Run():
        run_agent(Model(*THREE), "do it", World().tools, folder=home, keep="history", approve=yes)
    synced = []
    for name in ("fsync", "fdatasync"):
        if hasattr(os, name):
            real = getattr(os, name)
            monkeypatch.setattr(os, name, lambda fd, real=real: synced.append(os.fstat(fd).st_ino) or real(fd))
    with Run():
        branch = fork_from(2, "b", folder=home)
    inode = lambda path: path.stat().st_ino
    mine, its, above = inode(home / history.FILE), inode(branch / history.FILE), inode(home.parent)
    assert mine in synced and its in synced and synced.index(mine) < synced.index(its)
    assert os.name == "nt" or above in synced  # and so is the new folder's name


def test_a_fresh_start_that_is_refused_leaves_the_models_memory(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("CRASH_AFTER", raising=False)
    folder = tmp_path / "checkpoints"
    assert main(["--dir", str(folder), "--keep", "history"]) == 0
    fork_from(2, "b", folder=folder)
    before = on_disk(folder)
    assert main(["--dir", str(folder), "--keep", "history"]) == 1 and "remove that branch first" in capsys.readouterr().err
    assert on_disk(folder) == before


# --- terminals ---------------------------------------------------------------------------------------------------------

class Full(io.StringIO):
    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_an_alert_that_nobody_can_be_told_stops_nothing(home, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Full())
    fail_at(monkeypatch, "replace", lambda old, new: str(new).endswith("effects.json"))
    world = World()
    with Run(durability="kill"):
        assert run_agent(Model(*THREE), "do it", world.tools, folder=home, approve=yes) == "done"
    assert "note done" in str(load_checkpoint(home / "checkpoint.json")["messages"])


def test_no_escape_code_of_a_file_reaches_the_terminal(capsys):
    alert("pay\x1b[2J\x07")
    assert "\x1b" not in capsys.readouterr().err and "\x1b" not in explain(CourseError("pay\x1b[2J"))


def test_a_log_of_requests_with_odd_lines_is_read_as_far_as_it_makes_sense(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CRASH_AFTER", "after-save-b:2")
    assert main(["--dir", str(tmp_path)]) == 137
    monkeypatch.delenv("CRASH_AFTER")
    with open(tmp_path / "requests.jsonl", "a") as file:
        file.write('{}\n{"turn": 1}\n[]\n' + "[" * 100_000 + "\n")
    assert main(["--dir", str(tmp_path), "--resume"]) == 0


def test_the_program_can_be_called_where_its_output_is_no_terminal_of_its_own(tmp_path, monkeypatch):
    monkeypatch.delenv("CRASH_AFTER", raising=False)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main(["--dir", str(tmp_path)]) == 0
