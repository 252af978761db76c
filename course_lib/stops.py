"""What a response's stop_reason means for the loop.

Only two things let the loop go on: a tool call (run it) and a final answer (save it).
Everything else stops the run by name and leaves the last Point B to resume from.
(API page "Handling stop reasons")

Left out: asking again with more tokens, and carrying a paused server tool on.
"""
from .errors import CourseError
from .transcript import NAMED, check_transcript

FINAL = ("end_turn", "stop_sequence")
# What sound lets pass: no answers yet, ids (agent.py looks at those), and an answer of blanks, which is the end and is sent no more.
_LEFT_TO_OTHERS = (*NAMED, "unanswered", "unique-id", "blank-text", "empty-text")
_WHY = {
    "max_tokens": "the answer was cut off at the token limit, so a tool call in it may be incomplete and was not run",
    "refusal": "the model declined to go on",
    "pause_turn": "the model paused a long server-side tool, which this loop does not carry on",
    "model_context_window_exceeded": "the conversation fills the model's context window",
}


class ModelStopped(CourseError):
    """The model ended its turn in a way this loop does not go on from."""


def sound(reply):
    """The reply, if the API will take it back; without its blank texts, which it would not, where there is more. Raises ModelStopped.

    What is saved has to be something a resume can send.
    """
    content = reply.get("content") if type(reply) is dict else None
    if type(content) is list:
        said = [block for block in content if not _is_blank(block)]
        reply = {**reply, "content": said or content}
    messages = [{"role": "user", "content": "-"}, {"role": "assistant", "content": reply["content"] if type(content) is list else None}]
    breaches = [breach for breach in check_transcript(messages, ends_with_user=False) if breach["rule"] not in _LEFT_TO_OTHERS]
    if breaches:
        raise ModelStopped(f"The model's reply can't be sent back to it ({breaches[0]['text'].replace('messages.1.', '').rstrip('.')}); "
                           "nothing of it was saved; resume from the last save, or start again if there is none.")
    return reply


def tokens_of(reply):
    """How many tokens a request and its reply took, as far as it says."""
    usage = reply.get("usage")
    counts = [usage.get(key) for key in ("input_tokens", "output_tokens")] if type(usage) is dict else []
    return sum(count for count in counts if type(count) is int)


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


def _is_blank(block):
    return type(block) is dict and block.get("type") == "text" and type(block.get("text")) is str and not block["text"].strip()


def final_text(content):
    """The text of a final answer, or a word on there being none."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text" and block["text"].strip()) or "(the model ended without a text)"
