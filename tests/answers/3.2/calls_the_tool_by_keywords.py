# fails: reads "failed: got an unexpected keyword argument"
# exercise 3.2
BECAUSE = {"cause": "c", "told": "b"}  # a letter for each question; they stand above this cell, and course check prints them


def reconcile(checkpoint, tools, *, effects_path=None):
    """The tool_result for the call in checkpoint["pendingToolUse"], or None where there is none.

    tools: {name: tool}; a tool is called with the input, and tool.read_only says whether it changes nothing.
    """
    pending = checkpoint["pendingToolUse"]
    if pending is None:
        return None
    tool = tools[pending["name"]]
    result = {"type": "tool_result", "tool_use_id": pending["id"]}
    if not tool.read_only:
        return {**result, "is_error": True,
                "content": f"Nobody knows whether this {pending['name']} happened before the crash. It was not run again; check before you repeat it."}
    try:
        return {**result, "content": tool(name=pending["name"], input=pending["input"])}
    except Exception as error:
        return {**result, "is_error": True, "content": f"{pending['name']} failed: {error}"}
