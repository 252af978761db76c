"""run_tool_uses: ledger gate, approval gate, run, record, result (DESIGN section 3, rules 3 and 6)."""
import datetime
import decimal
import enum

import pytest

from course_lib import Run, SimulatedCrash, Tool, crash_point, load_effects, run_tool_uses, save_effects
from course_lib.ledger import IdClash, LedgerError
from course_lib.tools import definitions, says
from helpers import Model, World, answer, fail_at, on_disk, read, run, text, use, writing

SECRET = "sk-ant-" + "api03-0123456789abcdef"  # in two parts, so that no search for leaked keys finds this line


@pytest.fixture
def world():
    return World()


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "effects.json"


def yes(name, input):
    return True


def test_each_tool_use_is_answered_in_order_and_other_blocks_are_passed_over(world, ledger):
    content = [text("Let me see."), use("t1", "look", at="a"), use("t2", "note", line="b")]
    assert run_tool_uses(content, world.tools, effects_path=ledger) == [answer("t1", "look done"), answer("t2", "note done")]
    assert world.done == [("look", {"at": "a"}), ("note", {"line": "b"})]


def test_a_response_without_tool_use_runs_nothing_and_writes_nothing(world, tmp_path, ledger):
    assert run_tool_uses([text("Done.")], world.tools, effects_path=ledger) == []
    assert on_disk(tmp_path) == {}


def test_an_effect_is_recorded_the_instant_its_tool_returns_and_before_the_next_tool_starts(world, ledger):
    seen = []
    world.tools["second"] = lambda input: seen.append(list(load_effects(ledger)))
    run_tool_uses([use("t1", "note"), use("t2", "second")], world.tools, effects_path=ledger)
    assert seen == [["t1"]]
    assert list(load_effects(ledger)) == ["t1", "t2"]


def test_no_entry_is_there_while_the_tool_runs(world, ledger):
    world.tools["check"] = lambda input: ledger.exists()
    assert run_tool_uses([use("t1", "check")], world.tools, effects_path=ledger) == [answer("t1", "false")]


def test_an_entry_holds_name_result_time_and_input(world, ledger):
    with Run(clock=lambda: "2026-01-05T09:00:00.000Z"):
        run_tool_uses([use("t1", "note", line="x")], world.tools, effects_path=ledger)
    assert read(ledger) == {"t1": {"name": "note", "result": "note done", "at": "2026-01-05T09:00:00.000Z", "input": {"line": "x"}}}


@pytest.mark.parametrize(("entry", "content"), [
    ({"name": "pay", "result": "paid", "at": 1767603600000, "input": {"amount": 5}}, "paid"),
    ({"name": "pay", "result": None, "at": "2026-01-05T09:00:00.000Z", "input": {"amount": 5.0}}, "null"),
    ({"name": "pay", "at": 1}, "null"),
    ({"name": "pay", "result": {"ok": True}, "at": 1}, '{"ok": true}'),
])
def test_what_is_in_the_ledger_is_answered_from_it_and_neither_run_nor_asked_about(world, ledger, entry, content):
    save_effects(ledger, {"t1": entry})
    before = ledger.read_bytes()

    def ask(*_):
        raise AssertionError("asked about what has happened")

    assert run_tool_uses([use("t1", "pay", amount=5)], world.tools, effects_path=ledger, approve=ask) == [answer("t1", content)]
    assert world.done == []
    assert ledger.read_bytes() == before


def test_the_ledger_answers_even_for_a_tool_that_is_gone(world, ledger):
    save_effects(ledger, {"t1": {"name": "gone", "result": "it was", "at": 1}})
    assert run_tool_uses([use("t1", "gone")], world.tools, effects_path=ledger) == [answer("t1", "it was")]


@pytest.mark.parametrize("call", [use("t1", "note", amount=1), use("t1", "pay", amount=2), use("t1", "pay", amount=True), use("t1", "pay")])
def test_the_same_id_with_another_call_stops_and_changes_nothing(world, tmp_path, ledger, call):
    save_effects(ledger, {"t1": {"name": "pay", "result": "paid", "at": 1, "input": {"amount": 1}}})
    before = on_disk(tmp_path)
    with pytest.raises(IdClash, match=r"t1 .*start over without --resume"):
        run_tool_uses([call], world.tools, effects_path=ledger, approve=yes)
    assert world.done == []
    assert on_disk(tmp_path) == before


def test_a_torn_ledger_stops_before_the_tool_runs(world, ledger):
    ledger.write_text('{"t0": {"na')
    with pytest.raises(LedgerError):
        run_tool_uses([use("t1", "note")], world.tools, effects_path=ledger)
    assert world.done == []


@pytest.mark.parametrize("approve", [None, lambda name, input: False, lambda name, input: None])
def test_a_high_impact_call_that_nobody_approves_is_not_run_and_not_recorded(world, tmp_path, ledger, approve):
    [result] = run_tool_uses([use("t1", "pay")], world.tools, effects_path=ledger, approve=approve)
    assert result["is_error"] is True and result["tool_use_id"] == "t1"
    assert "not run" in result["content"]
    assert world.done == []
    assert on_disk(tmp_path) == {}


def test_the_gate_asks_for_each_high_impact_call_with_name_and_input_and_for_no_other(world, ledger):
    asked = []

    def approve(name, input):
        asked.append((name, input))
        return input["amount"] < 10

    results = run_tool_uses([use("t1", "note", amount=1), use("t2", "pay", amount=5), use("t3", "pay", amount=9999)], world.tools,
                            effects_path=ledger, approve=approve)
    assert asked == [("pay", {"amount": 5}), ("pay", {"amount": 9999})]
    assert [result.get("is_error", False) for result in results] == [False, False, True]
    assert world.done == [("note", {"amount": 1}), ("pay", {"amount": 5})]


def test_an_approver_can_not_change_what_is_run(world, ledger):
    def approve(name, input):
        input["amount"] = 9999
        return True

    run_tool_uses([use("t1", "pay", amount=5)], world.tools, effects_path=ledger, approve=approve)
    assert world.done == [("pay", {"amount": 5})]


def test_the_approval_is_a_moment_of_its_own_between_the_gate_and_the_tool(world, ledger):
    with Run(crash_after=("after-approval", 1)), pytest.raises(SimulatedCrash):
        run_tool_uses([use("t1", "note"), use("t2", "pay")], world.tools, effects_path=ledger, approve=yes)
    assert world.done == [("note", {})]


@pytest.mark.parametrize(("error", "content"), [
    (ValueError("no such file"), "note failed: ValueError: no such file"),
    (KeyError("text"), "note failed: KeyError: 'text'"),
    (SystemExit(3), "note failed: SystemExit: 3"),
    (OSError(2, "No such file or directory", "caf\udce9"), r"note failed: FileNotFoundError: [Errno 2] No such file or directory: 'caf\udce9'"),
    (ValueError("\ud83d\ude00"), r"note failed: ValueError: \ud83d\ude00"),
    (type("Odd", (Exception,), {"__str__": lambda self: 1 / 0})(), "note failed: Odd: (no text: ZeroDivisionError)"),
])
def test_a_tool_that_raises_is_reported_with_type_and_message_and_not_recorded(world, tmp_path, ledger, error, content):
    world.tools["note"] = world.tool("note", returns=error)
    assert run_tool_uses([use("t1", "note")], world.tools, effects_path=ledger) == [answer("t1", content, is_error=True)]
    assert on_disk(tmp_path) == {}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SimulatedCrash("here")])
def test_what_ends_the_program_is_no_failed_tool(world, ledger, error):
    world.tools["note"] = world.tool("note", returns=error)
    with pytest.raises(type(error)):
        run_tool_uses([use("t1", "note")], world.tools, effects_path=ledger)


def test_a_tool_without_the_input_it_needs_is_reported_not_raised(ledger):
    tools = {"greet": lambda input: "hello " + input["name"]}
    assert run_tool_uses([use("t1", "greet")], tools, effects_path=ledger) == [answer("t1", "greet failed: KeyError: 'name'", is_error=True)]


def test_an_unknown_tool_is_an_error_that_names_it_and_nobody_is_asked(world, tmp_path, ledger):
    [result] = run_tool_uses([use("t1", "shred")], world.tools, effects_path=ledger, approve=yes)
    assert result == answer("t1", "There is no tool named shred; nothing was run.", is_error=True)
    assert on_disk(tmp_path) == {}


def test_a_tool_that_changes_its_input_changes_neither_the_call_nor_its_record(ledger):
    def eat(input):
        input["list"].clear()
        input["more"] = 1
        return "eaten"

    call = use("t1", "eat", list=[1, 2])
    run_tool_uses([call], {"eat": eat}, effects_path=ledger)
    assert call["input"] == {"list": [1, 2]}
    assert read(ledger)["t1"]["input"] == {"list": [1, 2]}


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(("value", "stored"), [
    ("", ""), (None, None), (0, 0), (False, False), ([], []), ({"a": [1.5, "ü"]}, {"a": [1.5, "ü"]}),
    (decimal.Decimal("12.34"), {"not_json": "Decimal", "text": "12.34"}),
    (float("nan"), {"not_json": "float", "text": "nan"}),
    ((1, 2), {"not_json": "tuple", "text": "(1, 2)"}),
    (b"\xff", {"not_json": "bytes", "text": r"b'\xff'"}),
    (datetime.date(2026, 1, 5), {"not_json": "date", "text": "2026-01-05"}),
    (Colour.RED, {"not_json": "Colour", "text": "Colour.RED"}),
    ({1: "one"}, {"not_json": "dict", "text": "{1: 'one'}"}),
    ({"price": decimal.Decimal("1"), "n": 1}, {"price": {"not_json": "Decimal", "text": "1"}, "n": 1}),
    ("half \ud83d", {"not_json": "str", "text": r"half \ud83d"}),
    (ValueError("returned, not raised"), {"not_json": "ValueError", "text": "returned, not raised"}),
])
def test_any_result_is_recorded_and_the_first_run_and_a_ledger_hit_tell_the_model_the_same(world, ledger, value, stored):
    world.tools["note"] = Tool(lambda input: world.done.append(1) or value)
    first = run_tool_uses([use("t1", "note")], world.tools, effects_path=ledger)
    kept = read(ledger)["t1"]["result"]
    assert kept == stored and type(kept) is type(stored)
    assert run_tool_uses([use("t1", "note")], world.tools, effects_path=ledger) == first
    assert world.done == [1]
    assert isinstance(first[0]["content"], str) and "is_error" not in first[0]


def test_the_model_gets_a_string_as_it_is_and_any_other_value_as_json(ledger):
    tools = {"say": lambda input: input["value"]}
    assert run_tool_uses([use("t1", "say", value="plain"), use("t2", "say", value={"ü": [1, None]})], tools, effects_path=ledger) == [
        answer("t1", "plain"), answer("t2", '{"ü": [1, null]}')]


def test_a_result_of_ten_megabytes_is_kept_whole(ledger):
    run_tool_uses([use("t1", "big")], {"big": lambda input: "x" * 10_000_000}, effects_path=ledger)
    assert len(read(ledger)["t1"]["result"]) == 10_000_000


def test_a_failed_ledger_write_alerts_a_person_and_gives_the_model_the_real_result(world, ledger, monkeypatch, capsys):
    fail_at(monkeypatch, "replace", writing("effects.json"))
    assert run_tool_uses([use("t1", "note")], world.tools, effects_path=ledger) == [answer("t1", "note done")]
    alert = capsys.readouterr().err
    assert alert.startswith("[ledger write failed] tool_use_id=t1 name=note") and alert.count("\n") == 1
    assert "No space left on device" in alert
    assert not ledger.exists()


def test_an_entry_that_could_not_be_written_counts_as_known_and_goes_out_with_the_next(world, ledger, monkeypatch, capsys):
    fail_at(monkeypatch, "replace", writing("effects.json", 1, 2))
    with Run():
        run_tool_uses([use("t1", "note"), use("t2", "note"), use("t1", "note")], world.tools, effects_path=ledger)
        assert len(world.done) == 2
        assert not ledger.exists()
        run_tool_uses([use("t3", "look")], world.tools, effects_path=ledger)
    assert list(read(ledger)) == ["t1", "t2", "t3"]
    assert capsys.readouterr().err.count("[ledger write failed]") == 2


def test_a_ledger_that_breaks_while_the_tool_runs_is_an_alert_too_and_is_left_as_it_is(world, ledger, capsys):
    world.tools["vandal"] = lambda input: ledger.write_text("{") and "done"
    assert run_tool_uses([use("t1", "vandal")], world.tools, effects_path=ledger) == [answer("t1", "done")]
    assert "[ledger write failed] tool_use_id=t1 name=vandal" in capsys.readouterr().err
    assert ledger.read_text() == "{"


def test_a_students_own_tool_can_announce_a_moment_and_die_there(ledger):
    def half(input):
        crash_point("half way")

    with Run(crash_after=("half way", 1)), pytest.raises(SimulatedCrash, match="simulated kill at half way:1"):
        run_tool_uses([use("t1", "half")], {"half": half}, effects_path=ledger)
    assert not ledger.exists()


def test_a_plain_function_is_a_tool_that_promises_nothing():
    assert not any(says(print, nature) for nature in ("read_only", "idempotent", "high_impact"))
    assert definitions({"print": lambda input: 1}) == [{"name": "print", "description": "", "input_schema": {"type": "object"}}]


def test_a_tool_says_only_what_is_true_of_it_and_by_default_the_worst():
    tool = Tool(len, read_only="yes", idempotent=True)
    assert (says(tool, "read_only"), says(tool, "idempotent"), says(Tool(len), "destructive")) == (False, True, True)


def test_the_model_is_shown_name_description_and_input_schema_of_each_tool():
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    assert definitions({"note": Tool(len, "Write it down.", schema, high_impact=True)}) == [
        {"name": "note", "description": "Write it down.", "input_schema": schema}]


@pytest.mark.parametrize("returns", [SECRET, {"header": f"x-api-key: {SECRET}!"}, [1, [SECRET]], {SECRET: 1}, ValueError(f"401 for {SECRET}")])
def test_what_looks_like_an_api_key_is_neither_stored_nor_shown_to_the_model(tmp_path, returns):
    world = World()
    world.tools["look"] = world.tool("look", returns=returns)
    model = Model([use("t1", "look")], [text("done")])
    run(model, world, tmp_path)
    everything = b"".join(on_disk(tmp_path).values()) + repr(model.sent).encode()
    assert SECRET.encode() not in everything and b"[key]" in everything
