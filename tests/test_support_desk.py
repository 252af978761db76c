"""The support desk's tools do what they say of themselves, and the world says the same."""
import copy
import inspect
import json
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib import checkpoint, ledger
from course_lib.moments import Run
from course_lib.scenarios import world
from course_lib.scenarios.matrix import memory_folder
from course_lib.scenarios.runner import start
from course_lib.scenarios.support_desk import CALLS, FILES, SUPPORT_DESK, Desk, tools
from helpers import on_disk

# What each scripted call answers, and the one file it leaves other than it was (None: gone). Worked out by hand.
ONCE = {
    "read_file": ("Tell the customer, open a ticket, note it in the log.\n", "runbook.txt", "Tell the customer, open a ticket, note it in the log.\n"),
    "send_email": ("sent to ada@example.org", "outbox.jsonl", '{"to": "ada@example.org", "subject": "Outage", "body": "We are on it."}\n'),
    "create_ticket": ({"id": "T-1", "title": "Checkout is down", "body": "Reported by Ada."}, "tickets.json",
                      '[\n  {\n    "id": "T-1",\n    "title": "Checkout is down",\n    "body": "Reported by Ada."\n  }\n]'),
    "ensure_ticket": ({"id": "T-1", "title": "Checkout is down", "body": "Reported by Ada."}, "tickets.json",
                      '[\n  {\n    "id": "T-1",\n    "title": "Checkout is down",\n    "body": "Reported by Ada."\n  }\n]'),
    "append_log": ("noted", "log.txt", "08:00 shift begins\n08:45 Ada reports: checkout is down\n"),
    "set_config": ("status_page is red", "config.json", '{\n  "status_page": "red"\n}'),
    "delete_file": ("draft.txt is gone", "draft.txt", None),
    "write_file": ("wrote report.txt", "report.txt", "Outages this week:\n1. checkout, since 08:40\n"),
    "append_file": ("appended to report.txt", "report.txt", "Outages this week:\n1. checkout, since 08:40\n"),
    "transfer": ("moved 30 from shop to ada", "accounts.json", '{\n  "shop": 470,\n  "ada": 50\n}'),
}
# name: (its parameters in the lesson's order, what it says of itself)
LESSON = {
    "read_file": ("path", {"read_only", "idempotent"}),
    "send_email": ("to subject body", {"high_impact"}),
    "create_ticket": ("title body", {"high_impact"}),
    "ensure_ticket": ("title body", {"idempotent"}),
    "append_log": ("line", set()),
    "set_config": ("key value", {"idempotent", "destructive"}),
    "delete_file": ("path", {"idempotent", "destructive", "high_impact"}),
    "write_file": ("path text", {"idempotent", "destructive"}),
    "append_file": ("path text", set()),
    "transfer": ("sender receiver amount", {"high_impact", "destructive"}),
}
BOOKS = [checkpoint.FILE, ledger.FILE, world.JOURNAL, world.REQUESTS, world.KEYS, world.ASKED, world.INTENTS]

TEXT = st.text(max_size=12)
PATH = st.sampled_from(sorted(FILES))
INPUTS = {
    "read_file": {"path": PATH},
    "send_email": {"to": TEXT, "subject": TEXT, "body": TEXT},
    "create_ticket": {"title": TEXT, "body": TEXT},
    "ensure_ticket": {"title": TEXT, "body": TEXT},
    "append_log": {"line": TEXT},
    "set_config": {"key": TEXT, "value": TEXT},
    "delete_file": {"path": PATH},
    "write_file": {"path": PATH, "text": TEXT},
    "append_file": {"path": PATH, "text": TEXT},
    "transfer": {"sender": st.sampled_from(["shop", "ada", "nobody"]), "receiver": st.sampled_from(["ada", "shop", "nobody"]),
                 "amount": st.integers(-50, 50)},
}
IDEMPOTENT = sorted(name for name, (_, says) in LESSON.items() if "idempotent" in says)


def calls(names):
    """Any call of one of these tools: ``(name, input)``."""
    return st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), st.fixed_dictionaries(INPUTS[name])))


class Place:
    """A desk with all its files; ``state`` is the world in them."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name, text in FILES.items():
            (self.folder / name).write_text(text, encoding="utf-8", newline="\n")
        self.tools = tools(folder)

    def do(self, name, input):
        """What the call returns, or the class of what it raises."""
        try:
            return self.tools[name](copy.deepcopy(input))
        except Exception as error:
            return type(error)

    @property
    def state(self):
        return world.outside(on_disk(self.folder))


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@contextmanager
def new_place():
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        yield Place(folder)


# --- what they are ----------------------------------------------------------------------

def test_the_ten_tools_have_the_lessons_signatures_and_say_what_they_are(place):
    assert set(place.tools) == set(LESSON) == set(SUPPORT_DESK)
    for name, (parameters, says) in LESSON.items():
        tool = place.tools[name]
        assert list(inspect.signature(getattr(Desk, name)).parameters) == ["self", *parameters.split()], name
        assert {nature for nature in ("read_only", "idempotent", "destructive", "high_impact") if getattr(tool, nature)} == says, name
        assert list(tool.input_schema["properties"]) == tool.input_schema["required"] == parameters.split(), name
        assert tool.description and tool.input_schema["type"] == "object"


@pytest.mark.parametrize("name", LESSON)
def test_the_scripted_call_fits_the_schema_and_does_its_one_thing(name, tmp_path):
    scenario = SUPPORT_DESK[name]
    schema, call = tools(tmp_path)[name].input_schema, scenario.call
    assert (call["name"], call["input"]) == (name, CALLS[name])
    assert set(call["input"]) == set(schema["required"])
    for parameter, value in call["input"].items():
        assert type(value) is {"string": str, "integer": int}[schema["properties"][parameter]["type"]], parameter

    scenario.lay_out(tmp_path)
    before = world.outside(on_disk(tmp_path))
    assert start(scenario, tmp_path).text == f"The outage is taken care of: {name}."
    answer, file, text = ONCE[name]
    assert json.loads((tmp_path / ledger.FILE).read_text())["toolu_02"]["result"] == answer
    after = {**before, file: text and text.encode()}
    assert world.outside(on_disk(tmp_path)) == {file: data for file, data in after.items() if data is not None}
    assert world.executions(tmp_path) == [{"tool": "read_file", "input": {"path": "outage.txt"}}, {"tool": name, "input": CALLS[name]}]
    asked = tmp_path / world.ASKED
    assert (asked.read_text() if asked.exists() else "") == (f"{name}: yes\n" if "high_impact" in LESSON[name][1] else "")


# --- claimed and real -----------------------------------------------------------------------

@pytest.mark.parametrize("name", LESSON)
def test_a_tool_is_idempotent_exactly_where_it_says_so(name, place):
    before, states = place.state, []
    for _ in range(10):
        place.do(name, CALLS[name])
        states.append(place.state)
    said = place.tools[name]
    if said.idempotent:
        assert all(state == states[0] for state in states)
    else:
        assert all(a != b for a, b in zip(states, states[1:]))
    assert (states[0] == before) is said.read_only


@given(calls(IDEMPOTENT), st.integers(2, 10))
@settings(deadline=None)
def test_what_says_it_is_idempotent_is_so_for_every_input(call, times):
    with new_place() as place:
        before = place.state
        place.do(*call)
        after = place.state
        for _ in range(times - 1):
            place.do(*call)
            assert place.state == after
        assert not place.tools[call[0]].read_only or after == before


@given(calls(sorted(LESSON.keys() - {*IDEMPOTENT})))
@settings(deadline=None)
def test_what_does_not_say_so_adds_up_unless_the_call_asks_for_nothing(call):
    name, input = call
    with new_place() as place:
        answers, states = [place.do(*call)], [place.state]
        answers, states = [*answers, place.do(*call)], [*states, place.state]
    asks_for_nothing = input.get("text") == "" or input.get("amount") == 0 or "sender" in input and input["sender"] == input["receiver"]
    assert (states[0] == states[1]) is (asks_for_nothing or answers == [KeyError] * 2)


def test_deleting_twice_is_no_error_and_that_alone_makes_it_idempotent(place):
    assert place.do("delete_file", {"path": "draft.txt"}) == place.do("delete_file", {"path": "draft.txt"}) == "draft.txt is gone"
    assert "draft.txt" not in place.state


def test_what_is_deleted_stays_deleted_when_the_run_starts_over(tmp_path):
    scenario = SUPPORT_DESK["delete_file"]
    start(scenario, tmp_path)
    start(scenario, tmp_path, crash_after=("after-response", 1))
    assert not (tmp_path / "draft.txt").exists()


def test_ensuring_goes_by_the_title_and_creating_by_nothing(place):
    ticket = place.do("ensure_ticket", {"title": "Checkout is down", "body": "one"})
    assert place.do("ensure_ticket", {"title": "Checkout is down", "body": "other words"}) == ticket == {
        "id": "T-1", "title": "Checkout is down", "body": "one"}
    assert place.do("ensure_ticket", {"title": "checkout is down", "body": "one"})["id"] == "T-2"  # no better than its look
    assert place.do("create_ticket", {"title": "Checkout is down", "body": "one"})["id"] == "T-3"


def test_an_impossible_transfer_leaves_the_accounts_as_they_were(place):
    before = place.state
    assert place.do("transfer", {"sender": "shop", "receiver": "nobody", "amount": 30}) is KeyError
    assert place.state == before and world.executions(place.folder) == []


# --- where they may reach ---------------------------------------------------------------------

@pytest.mark.parametrize("name", [name for name in LESSON if "path" in INPUTS[name]])
@pytest.mark.parametrize("path", ["../secret.txt", "sub/../outage.txt", "./outage.txt", "", ".", "..", "new.txt", "OUTAGE.TXT", "outage.txt\0", 7, None,
                                  ["outage.txt"], "absolute", *BOOKS, *[f"{book}.0123456789ab.tmp" for book in BOOKS[:2]]], ids=repr)
def test_a_path_that_is_none_of_the_desks_files_is_refused_and_nothing_is_touched(name, path, tmp_path):
    inner = tmp_path / "run"
    inner.mkdir()
    place = Place(inner)
    (tmp_path / "secret.txt").write_text("secret")
    for book in BOOKS[:2]:
        (inner / book).write_text("{}")
    before, path = on_disk(tmp_path), str(tmp_path / "secret.txt") if path == "absolute" else path
    assert place.do(name, {**CALLS[name], "path": path}) in (ValueError, TypeError)
    assert on_disk(tmp_path) == before


# --- what the outside says -----------------------------------------------------------------------

def asked(place, name, input):
    """What the tool answers when asked whether it was done; None, too, if it can't be asked."""
    try:
        answer = place.tools[name].function.was_done(copy.deepcopy(input), "toolu_02")
    except Exception:
        return None
    assert answer is None or answer is True or answer is False or set(answer) == {"result"}
    return answer


@pytest.mark.parametrize("name", LESSON)
def test_the_outside_says_no_before_and_yes_after_and_of_a_transfer_nothing(name, place):
    says = [asked(place, name, CALLS[name])]
    place.do(name, CALLS[name])
    says.append(asked(place, name, CALLS[name]))
    if name in ("read_file", "transfer"):  # a read leaves nothing to see; of two equal transfers each is meant
        assert says == [None, None]
    else:
        assert says[0] is False and says[1] in (True, {"result": ONCE[name][0]})


@given(calls(sorted(LESSON)), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_what_the_outside_says_agrees_with_what_happened_whatever_the_order_of_the_inputs_keys(call, random):
    name, input = call
    with new_place() as place:
        before, said = place.state, asked(place, *call)
        answer = place.do(*call)
        done, after = bool(world.executions(place.folder)), place.state
        says = asked(place, name, dict(random.sample(sorted(input.items()), len(input))))
    if done:
        assert says is not False
    else:
        assert not says
    if isinstance(says, dict):
        assert says["result"] == answer
    if said not in (None, False):  # it says that it was done already: so it is as it is to be, or looks just so
        assert after == before or name in ("append_log", "append_file")


def test_an_equal_effect_from_before_passes_for_this_one_which_is_why_a_transfer_says_nothing(place):
    line = {"line": "08:00 shift begins"}
    assert asked(place, "append_log", line) is True and world.executions(place.folder) == []
    assert asked(place, "append_log", {"line": "shift begins"}) is False  # but only a whole line is equal
    place.do("create_ticket", {"title": "Checkout is down", "body": "one"})
    assert asked(place, "create_ticket", {"title": "Checkout is down", "body": "two"}) is False
    place.do("transfer", CALLS["transfer"])
    assert asked(place, "transfer", CALLS["transfer"]) is None


# --- the key ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", LESSON)
def test_under_one_key_it_happens_once_and_the_answer_is_the_same(name, place):
    with Run() as run:
        run.key = "toolu_02"
        answer = place.do(name, CALLS[name])
        after = place.state
        assert place.do(name, CALLS[name]) == answer and place.state == after
        run.key = "toolu_03"
        place.do(name, CALLS[name])
    assert [done["tool"] for done in world.executions(place.folder)] == [name, name]
    assert (place.state == after) is place.tools[name].idempotent


def test_without_a_key_nothing_is_remembered(place):
    place.do("transfer", CALLS["transfer"])
    assert world.KEYS not in on_disk(place.folder) and place.do("transfer", CALLS["transfer"]) == "moved 30 from shop to ada"
    assert json.loads(place.state["accounts.json"]) == {"shop": 440, "ada": 80}


def test_a_call_that_fails_leaves_its_key_unused(place):
    with Run() as run:
        run.key = "toolu_02"
        assert place.do("transfer", {"sender": "shop", "receiver": "nobody", "amount": 30}) is KeyError
        assert place.do("transfer", CALLS["transfer"]) == "moved 30 from shop to ada"
