# exercise 4.2
import json
import os


def load_effects(path):
    """The ledger at path (a pathlib.Path) as a dict; {} where there is no file."""
    ...


def save_effects(path, effects):
    """Write the ledger to path, so that a kill at any instant leaves the old file or the new one.

    effects: an entry for each call, such as {"toolu_01": {"name": "create_ticket", "result": {"id": "T-1"}}};
    result is what the tool gave. More keys in an entry, such as the time, are yours.
    """
    ...


def as_text(value):
    """A result as the API takes it in content: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def run_tool_uses(content, tools, *, effects_path, approve=None):
    """Answer each tool_use block. This is the one from the incident: it has no ledger."""
    results = []
    for block in content:
        if block["type"] == "tool_use":
            output = tools[block["name"]](block["input"])
            results.append({"type": "tool_result", "tool_use_id": block["id"], "content": as_text(output)})
    return results


def test_a_replay_does_not_open_a_second_ticket():
    """Your proof, with a create_ticket of your own that counts its calls. It takes no arguments; asserts say what must hold."""
    ...
