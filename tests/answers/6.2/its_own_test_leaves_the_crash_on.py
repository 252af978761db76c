# fails: runs_once "CRASH_AFTER is set to 'between'"
# exercise 6.2
import json
import os
import tempfile
from datetime import datetime, timezone
from pathlib import Path

BECAUSE = {"bug": "b", "consequence": "c"}  # a letter for each question; they stand above this cell, and course check prints them


class SimulatedCrash(BaseException):
    """The process dies here. A BaseException, so that no except Exception survives it."""


def crash_point(label):
    """Die here, if the environment says CRASH_AFTER=label."""
    if os.environ.get("CRASH_AFTER") == label:
        raise SimulatedCrash(label)


def load_effects(path):
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def save_effect(path, tool_use_id, entry):
    """Add one entry to the ledger, atomically."""
    temp = f"{path}.tmp"
    Path(temp).write_text(json.dumps({**load_effects(path), tool_use_id: entry}), encoding="utf-8")
    os.replace(temp, path)


def as_text(value):
    """A result as the API takes it in content: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def run_tool_uses(content, tools, *, effects_path, approve=None):
    """Answer each tool_use block. Put its two steps in order, with crash_point("between") between them."""
    results = []
    for block in content:
        if block["type"] == "tool_use":
            output = tools[block["name"]](block["input"])
            crash_point("between")
            save_effect(effects_path, block["id"], {"name": block["name"], "result": output, "at": datetime.now(timezone.utc).isoformat()})
            results.append({"type": "tool_result", "tool_use_id": block["id"], "content": as_text(output)})
    return results


def test_a_crash_between_the_steps_leaves_no_entry():
    """Your proof: set CRASH_AFTER to "between", run a call, and assert what is in the ledger then. It takes no arguments."""
    call = {"type": "tool_use", "id": "toolu_03", "name": "write_report", "input": {"text": "358 units"}}
    with tempfile.TemporaryDirectory() as folder:
        effects_path = Path(folder) / "effects.json"
        os.environ["CRASH_AFTER"] = "between"
        try:
            run_tool_uses([call], {"write_report": lambda input: "written"}, effects_path=effects_path)
        except SimulatedCrash:
            pass
        else:
            raise AssertionError("the crash never came")
        assert load_effects(effects_path) == {}


test_a_crash_between_the_steps_leaves_no_entry()
