# exercise 4.2
"""Two gates, a failing tool answered with is_error, a ledger that can't be written reported apart, a broken ledger taken for an empty one."""
import dataclasses
import json
import os
import sys
import time
from pathlib import Path

HIGH_IMPACT = {"send_email", "create_ticket", "delete_file"}


@dataclasses.dataclass
class Result:
    id: "str"
    content: "object"
    is_error: bool = False

    def block(self):
        block = {"type": "tool_result", "tool_use_id": self.id, "content": self.content}
        return {**block, "is_error": True} if self.is_error else block


def load_effects(path):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError):
        return {}


def save_effects(path, effects):
    Path(str(path) + ".tmp").write_text(json.dumps(effects, indent=2))
    Path(str(path) + ".tmp").replace(path)


def answer(block, tools, path, approve):
    effects = load_effects(path)
    if block["id"] in effects:
        return Result(block["id"], json.dumps(effects[block["id"]]["result"]))
    if block["name"] in HIGH_IMPACT and not (approve and approve(block["name"], block["input"])):
        return Result(block["id"], "Declined; it was not run.", True)
    try:
        output = tools[block["name"]](block["input"])
    except Exception as error:
        return Result(block["id"], f"It failed: {error}", True)
    try:
        save_effects(path, {**effects, block["id"]: {"name": block["name"], "result": output, "at": int(time.time() * 1000)}})
    except OSError as error:
        print("ledger write failed", block["id"], error, file=sys.stderr)
    return Result(block["id"], json.dumps(output))


def run_tool_uses(content, tools, *, effects_path, approve=None):
    return [answer(block, tools, effects_path, approve).block() for block in content if block["type"] == "tool_use"]


def test_twice():
    class Counting:
        calls = 0

        def __call__(self, input):
            self.calls += 1
            return {"id": self.calls}

    fake, path = Counting(), Path("proof-effects.json")
    path.unlink(missing_ok=True)
    content = [{"type": "tool_use", "id": "a", "name": "create_ticket", "input": {}}]
    run_tool_uses(content, {"create_ticket": fake}, effects_path=path, approve=lambda name, input: True)
    run_tool_uses(content, {"create_ticket": fake}, effects_path=path, approve=lambda name, input: True)
    path.unlink(missing_ok=True)
    assert fake.calls == 1


if __name__ == "__main__":
    test_twice()
