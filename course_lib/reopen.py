"""A scene that was loaded from a file, made ready to go on from, or refused.

The lessons' own programs write their files in different orders; all are read. What makes
up a conversation the API would refuse is found here, before anything runs. (lessons 2, 3, 6)
"""
from .checkpoint import FILE, START_OVER, NotACheckpoint, is_finished
from .transcript import NAMED, check_transcript
from .values import same


def reopen(scene, *, kept=False):
    """Complete a loaded checkpoint's last turn and counter, in place. kept: whether there are saves before it. Raises NotACheckpoint."""
    name, advice = ("The newest save", "go back to an earlier turn, or start over without --resume") if kept else (FILE, START_OVER)
    complete_turn(scene, name, advice)
    _check_conversation(scene, name, advice)


def complete_turn(scene, name="This save", advice="go back to another one"):
    """Complete its last turn and counter alone, in place. Raises NotACheckpoint."""
    # In lesson 6's order the assistant's turn is not in messages at Point A. A result would then
    # follow no call, so the turn is made again from pendingToolUse (its text and thinking are lost).
    call = scene["pendingToolUse"]
    if call is None:
        return
    last = scene["messages"][-1]
    if last["role"] == "user":
        scene["messages"].append({"role": "assistant", "content": [{"type": "tool_use", **_essence(call)}]})
    elif not any(block["type"] == "tool_use" and same(_essence(block), _essence(call)) for block in _blocks(last)):
        raise NotACheckpoint(f"{name} has {call['name']} ({call['id']}) pending, which the last turn of its messages did not ask for, "
                             f"so one of the two was changed; {advice}.")
    # Lesson 2 raises turns at Point B, so its Point A still counts the turns that are closed.
    named = sum(any(block["type"] == "tool_use" for block in _blocks(message)) for message in scene["messages"])
    if scene["turns"] == named - 1:
        scene["turns"] = named


def _check_conversation(scene, name, advice):
    # What is saved is always the start of something the API accepts; the one thing that may be
    # missing is the answer to the pending call. Ids and names are as the run's own model gave them.
    last, pending = len(scene["messages"]) - 1, scene["pendingToolUse"] is not None
    breaches = [breach for breach in check_transcript(scene["messages"], ends_with_user=not pending and not is_finished(scene))
                if breach["rule"] not in NAMED and not (is_finished(scene) and breach["where"].startswith(f"messages.{last}.")) and not (pending and breach["rule"] == "unanswered" and breach["where"].startswith(f"messages.{last}"))]
    if breaches:
        raise NotACheckpoint(f"{name} holds a conversation the API refuses ({breaches[0]['text'].rstrip('.')}); {advice}.")


def _blocks(message):
    return message["content"] if isinstance(message["content"], list) else []


def _essence(call):
    return {key: call.get(key) for key in ("id", "name", "input")}
