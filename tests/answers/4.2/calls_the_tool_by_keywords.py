# fails: runs_once "unexpected keyword argument"
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
            output = tools[block["name"]](name=block["name"], input=block["input"])
            effects[block["id"]] = {"name": block["name"], "result": output, "at": datetime.now(timezone.utc).isoformat()}
            save_effects(effects_path, effects)
        results.append({"type": "tool_result", "tool_use_id": block["id"], "content": as_text(effects[block["id"]]["result"])})
    return results


def test_a_replay_does_not_open_a_second_ticket():
    """Your proof, with a create_ticket of your own that counts its calls. It takes no arguments; asserts say what must hold."""
    opened = []

    def create_ticket(input):
        opened.append(input)
        return {"id": f"T-{len(opened)}"}

    call = {"type": "tool_use", "id": "toolu_01", "name": "create_ticket", "input": {"title": "Checkout is down"}}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            answers = run_tool_uses([call], {"create_ticket": create_ticket}, effects_path=Path(folder) / "effects.json")
            assert answers[0]["content"] == as_text({"id": "T-1"})
    assert len(opened) == 1
