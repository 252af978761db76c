# fails: proof "raised nothing in run_tool_uses"
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


def test_the_order_of_the_steps():
    global crash_point, save_effect
    real, order = (crash_point, save_effect), []
    crash_point, save_effect = lambda label: None, lambda *args: order.append("entry")
    try:
        with tempfile.TemporaryDirectory() as folder:
            effects_path = Path(folder) / "effects.json"
            os.environ["CRASH_AFTER"] = "between"
            try:
                run_tool_uses([{"type": "tool_use", "id": "toolu_03", "name": "write_report", "input": {"text": "358 units"}}], {"write_report": lambda input: order.append("tool") or "written"}, effects_path=effects_path)
            except SimulatedCrash:
                pass
            finally:
                del os.environ["CRASH_AFTER"]
    finally:
        crash_point, save_effect = real
    assert order == ["tool", "entry"]
