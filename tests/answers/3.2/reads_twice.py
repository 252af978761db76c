# fails: reads "runs, once"
# exercise 3.2
# cause: a customer got the same e-mail twice, after the process had been killed for lack of memory. Why?
#   a  the model asked for the e-mail twice
#   b  the checkpoint was torn, so the task began anew
#   c  the resume ran a pending call again, though nothing said whether it had run already
#   d  the mail system sent it twice by itself
# told: whether a pending e-mail went out, nothing says. What should the answer to its call tell the model?
#   a  nothing: a call from before the crash needs no answer
#   b  that nobody knows, so that it looks or asks before it goes on
#   c  that it went out, so that the customer gets it once at most
#   d  that it failed, so that the model can try again
BECAUSE = {"cause": "c", "told": "b"}  # a letter each


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
    tool(pending["input"])
    try:
        return {**result, "content": tool(pending["input"])}
    except Exception as error:
        return {**result, "is_error": True, "content": f"{pending['name']} failed: {error}"}
