# exercise 3.2
BECAUSE = {"cause": "c", "told": "b"}


def reconcile(checkpoint, tools, *, effects_path=None):
    if checkpoint.get("pendingToolUse"):
        return answer(**checkpoint["pendingToolUse"], tool=tools[checkpoint["pendingToolUse"]["name"]])


def answer(id, name, input, tool):
    block = dict(type="tool_result", tool_use_id=id)
    if tool.read_only:
        try:
            block.update(content=str(tool(input)), is_error=False)
        except Exception as e:
            block.update(content=f"{name} did not work: {e!r}", is_error=True)
    else:
        block.update(content=f"Unknown whether {name} has happened.", is_error=True)
    return block
