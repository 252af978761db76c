"""What one can do with a dangling call where no ledger is kept: three moves, and the rule that chooses among them. (lesson 3)"""
from ..checkpoint import load_checkpoint
from ..tools import result
from .policies import BLIND, NO_LEDGER, Policy, keep_no_record


def forget_the_call(path):
    """In place of load_checkpoint: drops the turn with the dangling call."""
    scene = load_checkpoint(path)
    if scene["pendingToolUse"]:
        scene["messages"].pop()
        scene["turns"] -= 1
        scene["pendingToolUse"] = None
    return scene


def say_that_nobody_knows(checkpoint, tools, *, effects_path):
    """In place of reconcile: the pending call is answered by what is known."""
    call = checkpoint["pendingToolUse"]
    return call and result(call, is_error=True, content=(
        f"State unknown: the program died around this {call['name']}. "
        "Find out whether it took effect before you rely on it or repeat it."))


DELETE = Policy("delete", "delete the turn", {"save_effect": keep_no_record, "load_checkpoint": forget_the_call})
IS_ERROR = Policy("is-error", "answer: state unknown", {"save_effect": keep_no_record, "reconcile": say_that_nobody_knows})
MOVES = {"delete": DELETE, "run again": BLIND, "is_error": IS_ERROR, "by the tool": NO_LEDGER}
