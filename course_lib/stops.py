"""What a response's stop_reason means for the loop.

Only two things let the loop go on: a tool call (run it) and a final answer (save it).
Everything else stops the run by name and leaves the last Point B to resume from.
(API page "Handling stop reasons")

Left out: asking again with more tokens, and carrying a paused server tool on.
"""
from .errors import CourseError

FINAL = ("end_turn", "stop_sequence")
_WHY = {
    "max_tokens": "the answer was cut off at the token limit, so a tool call in it may be incomplete and was not run",
    "refusal": "the model declined to go on",
    "pause_turn": "the model paused a long server-side tool, which this loop does not carry on",
    "model_context_window_exceeded": "the conversation fills the model's context window",
}


class ModelStopped(CourseError):
    """The model ended its turn in a way this loop does not go on from."""


def tool_calls(reply):
    """The tool_use blocks to run, or [] for a final answer. Raises ModelStopped for all else.

    reply: the response's ``to_dict()``.
    """
    reason = reply.get("stop_reason")
    calls = [block for block in reply["content"] if block["type"] == "tool_use"]
    if reason == "tool_use" and calls:
        return calls
    if reason in FINAL and not calls:
        return []
    why = _WHY.get(reason, f"its content does not fit that: {len(calls)} tool calls" if reason in ("tool_use", *FINAL) else "this loop does not know it")
    raise ModelStopped(f"The model stopped with {reason}: {why}; nothing of this response was saved; resume from the last save, or start again if there is none.")


def final_text(content):
    """The text of a final answer, or a word on there being none."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text") or "(the model ended without a text)"
