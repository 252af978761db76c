# fails: proof "a version that is right"
# exercise 4.2
import json
import os
import tempfile
from datetime import datetime, timezone
from pathlib import Path


def load_effects(path):
    """The ledger at path (a pathlib.Path) as a dict; {} where there is no file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def save_effects(path, effects):
    """Write the ledger to path, so that a kill at any instant leaves the old file or the new one.

    effects: an entry for each call, such as {"toolu_01": {"name": "create_ticket", "result": {"id": "T-1"}}};
    result is what the tool gave. More keys in an entry, such as the time, are yours.
    """
    temp = f"{path}.tmp"
    with open(temp, "w", encoding="utf-8") as file:
        json.dump(effects, file, indent=2)
    os.replace(temp, path)


def as_text(value):
    """A result as the API takes it in content: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def run_tool_uses(content, tools, *, effects_path, approve=None):
    """Answer each tool_use block: from the ledger where it has the call, by running the tool where it has not."""
    results = []
    effects = load_effects(effects_path)
    for block in content:
        if block["type"] != "tool_use":
            continue
        if block["id"] not in effects:
            output = tools[block["name"]](block["input"])
            effects[block["id"]] = {"name": block["name"], "result": output, "at": datetime.now(timezone.utc).isoformat()}
            save_effects(effects_path, effects)
        results.append({"type": "tool_result", "tool_use_id": block["id"], "content": as_text(effects[block["id"]]["result"])})
    return results


def test_it_has_a_ledger():
    assert {"load_effects", "save_effects"} <= set(run_tool_uses.__code__.co_names)
