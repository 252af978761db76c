# exercise 2.2
import json
import os
from pathlib import Path

BECAUSE = {"in place": "", "only b": ""}  # a letter for each question; they stand above this cell, and course check prints them


def save_checkpoint(path, checkpoint):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(checkpoint, file)


def load_checkpoint(path):
    """The checkpoint at path (a pathlib.Path).

    Where it can't be had or can't be trusted, raise an error whose text says what is wrong and what to do:
    no file; a file cut off anywhere; a version that is not the number 1, which is named; a wrong shape.
    """
    with open(path, encoding="utf-8") as file:
        return json.load(file)


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
        output = tools[call["name"]](call["input"])
        messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": output}]})
        save_checkpoint(path, {"version": 1, "task": task, "turns": turns, "tokensUsed": tokens, "messages": messages, "pendingToolUse": None})
