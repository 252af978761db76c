# exercise 2.2
import json
import os
from pathlib import Path

BECAUSE = {"in place": "b", "only b": "c"}  # a letter for each question; they stand above this cell, and course check prints them


FIELDS = {"task": str, "turns": int, "tokensUsed": int, "messages": list, "pendingToolUse": (dict, type(None))}


class CheckpointError(Exception):
    """The checkpoint is not there or can't be trusted."""


def save_checkpoint(path, checkpoint):
    text = json.dumps(checkpoint, ensure_ascii=False, indent=2)  # fails, if it fails, before any file is touched
    temp = f"{path}.tmp"
    Path(temp).write_text(text, encoding="utf-8")
    os.replace(temp, path)


def load_checkpoint(path):
    """The checkpoint at path (a pathlib.Path).

    Where it can't be had or can't be trusted, raise an error whose text says what is wrong and what to do:
    no file; a file cut off anywhere; a version that is not the number 1, which is named; a wrong shape.
    """
    path = Path(path)
    if not path.exists():
        raise CheckpointError(f"There is no {path.name}, so there is nothing to resume from; start without a resume.")
    try:
        checkpoint = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise CheckpointError(f"{path.name} is cut off or damaged ({error}); delete it and start over.") from error
    if type(checkpoint) is not dict:
        raise CheckpointError(f"{path.name} holds no checkpoint; delete it and start over.")
    version = checkpoint.get("version")
    if type(version) is not int or version != 1:
        raise CheckpointError(f"{path.name} has version {version!r}, and this program reads version 1 only.")
    for key, kinds in FIELDS.items():
        if key not in checkpoint or not isinstance(checkpoint[key], kinds):
            raise CheckpointError(f"{path.name} lacks a proper {key}; delete it and start over.")
    return checkpoint


def run_loop(client, task, tools, *, path):
    """Run the task to its end and give the final text, the state in a checkpoint at path.

    pendingToolUse is None, or of the call under way {"id": …, "name": …, "input": …}.
    """
    turns, tokens, messages = 0, 0, [{"role": "user", "content": task}]
    while True:
        reply = client.messages.create(messages=messages).to_dict()
        tokens += reply["usage"]["input_tokens"] + reply["usage"]["output_tokens"]
        messages.append({"role": "assistant", "content": reply["content"]})
        call = next((block for block in reply["content"] if block["type"] == "tool_use"), None)
        if call is None:
            return reply["content"][0]["text"]
        turns += 1
        scene = {"version": 1, "task": task, "turns": turns, "tokensUsed": tokens, "messages": messages}
        save_checkpoint(path, {**scene, "pendingToolUse": {"id": call["id"], "name": call["name"], "input": call["input"]}})
        output = tools[call["name"]](call["input"])
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": output}]})
        save_checkpoint(path, {**scene, "pendingToolUse": None})
