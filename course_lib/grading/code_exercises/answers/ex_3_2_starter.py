# exercise 3.2
BECAUSE = {"cause": "", "told": ""}  # a letter for each question; they stand above this cell, and course check prints them


def reconcile(checkpoint, tools, *, effects_path=None):
    """The tool_result for the call in checkpoint["pendingToolUse"], or None where there is none.

    tools: {name: tool}; a tool is called with the input, and tool.read_only says whether it changes nothing.
    This is the one from the incident. (effects_path is for lesson 4; there is no ledger yet.)
    """
    pending = checkpoint["pendingToolUse"]
    if pending is None:
        return None
    output = tools[pending["name"]](pending["input"])
    return {"type": "tool_result", "tool_use_id": pending["id"], "content": output}
