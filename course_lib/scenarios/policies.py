"""Recovery policies: what a harness writes down, and what a resume makes of it.

A policy is a handful of the library's functions replaced, never a copy of the loop, so
two policies can be compared by reading what differs. They stand in the order in which the
lessons come to them: each mends something of the one before, or shows a way not to.
"""
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..checkpoint import save_checkpoint
from ..ledger import find, known_effects, save_effect, was_set_aside
from ..moments import current, part, remark
from ..resume import reconcile
from ..storage import StorageError, read_file, reason, sweep, write_atomic
from ..tools import only_answer, perform, result, run_tool_uses
from ..values import as_content
from ..words import mark
from . import world
from .runner import start, start_in_child


@dataclass(frozen=True)
class Policy:
    """name: as in a scenario code. title: for people. functions: as Run takes them.

    restarts: after a crash it does not resume but starts over. own: a student's functions on top,
    which run in a child process only.
    """

    name: str
    title: str
    functions: dict = field(default_factory=dict)
    restarts: bool = False
    own: dict = field(default_factory=dict)


def start_under(policy, scenario, folder, **options):
    """One start or resume under a policy; options as runner.start takes them. Gives an Outcome."""
    if policy.own:
        return start_in_child(scenario, folder, policy=policy.functions, functions=policy.own, **options)
    return start(scenario, folder, functions=policy.functions, **options)


# --- saving too little ------------------------------------------------------------------

def save_nothing(path, checkpoint):
    """In place of save_checkpoint: the scene lives in memory only."""


def save_only_b(path, checkpoint):
    """In place of save_checkpoint: a call under way leaves no trace."""
    if checkpoint["pendingToolUse"] is None:
        save_checkpoint(path, checkpoint)


# --- no ledger --------------------------------------------------------------------------

def keep_no_record(path, tool_use_id, entry):
    """In place of save_effect: nobody writes down that a call has happened."""


def rerun_blindly(checkpoint, tools, *, effects_path):
    """In place of reconcile: whatever was pending runs again, and nobody is asked whether it may."""
    call = checkpoint["pendingToolUse"]
    return call and perform(call, tools, effects_path=effects_path)


# --- a ledger in the wrong order (the bug of exercise 6.2) -------------------------------

def record_first(call, tools, *, effects_path):
    """In place of perform: the entry is written before there is a result to write."""
    save_effect(effects_path, call["id"], {"name": call["name"], "result": None, "at": current().clock()})
    return result(call, as_content(tools[call["name"]](call["input"])))


# --- a ledger, and a miss that counts as "never ran" (lesson 4) --------------------------

def run_what_is_missing(checkpoint, tools, *, effects_path):
    """In place of reconcile: in the ledger → its result; not there → through both gates, then run."""
    call = checkpoint["pendingToolUse"]
    if call is None or was_set_aside(effects_path):  # a ledger that was broken: a miss proves nothing
        return reconcile(checkpoint, tools, effects_path=effects_path)
    if part(run_tool_uses) is run_tool_uses:  # a student's own looks into the ledger by itself, or does not
        found = find(known_effects(effects_path), call)
        remark("reconciled", id=call["id"], name=call["name"], branch="hit" if found else "run again")
    return through_the_gates(call, tools, effects_path)


def through_the_gates(call, tools, effects_path):
    """The pending call once more, as if the model had just named it: the ledger, then a person, then the tool."""
    block = {"type": "tool_use", **call}
    return only_answer(part(run_tool_uses)([block], tools, effects_path=effects_path, approve=current().approve), call)


# --- an intent record: "about to start" is on disk, too ----------------------------------

def perform_with_intent(call, tools, *, effects_path):
    """In place of perform: first the intent, in a file of its own, since it must never pass for "done"."""
    path = Path(effects_path).with_name(world.INTENTS)
    sweep(path)
    write_atomic(path, json.dumps([call["id"]]).encode(), moment="intent")  # no other call can be under way
    return perform(call, tools, effects_path=effects_path)


def reconcile_with_intent(checkpoint, tools, *, effects_path):
    """In place of reconcile: no intent → it never started, so it may run now; else as before."""
    call = checkpoint["pendingToolUse"]
    if call and not find(known_effects(effects_path), call) and call["id"] not in _intents(Path(effects_path).with_name(world.INTENTS)):
        remark("reconciled", id=call["id"], name=call["name"], branch="never-started")
        return through_the_gates(call, tools, effects_path)
    return reconcile(checkpoint, tools, effects_path=effects_path)


def _intents(path):
    try:
        return json.loads(read_file(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"{path.name} could not be read: {reason(error)}; make it readable and resume again.") from error


# --- the outside world helps ---------------------------------------------------------------

def perform_with_key(call, tools, *, effects_path):
    """In place of perform: the outside gets the tool_use_id as its idempotency key, and answers the same key once."""
    current().key = call["id"]
    return perform(call, tools, effects_path=effects_path)


def reconcile_by_key(checkpoint, tools, *, effects_path):
    """In place of reconcile: not in the ledger → through both gates again, under the same key, which can't do it twice."""
    call = checkpoint["pendingToolUse"]
    if call is None or find(known_effects(effects_path), call):
        return reconcile(checkpoint, tools, effects_path=effects_path)
    remark("reconciled", id=call["id"], name=call["name"], branch="same-key")
    answer = through_the_gates(call, tools, effects_path)
    if answer.get("is_error"):  # declined or failed now, which says nothing of the time before the crash
        return reconcile(checkpoint, tools, effects_path=effects_path)
    return answer


def reconcile_by_asking(checkpoint, tools, *, effects_path):
    """In place of reconcile: a tool whose outside can be asked "did this happen?" is asked."""
    asked = {name: replace(tool, verify=getattr(tool.function, "was_done", tool.verify)) for name, tool in tools.items()}
    return reconcile(checkpoint, asked, effects_path=effects_path)


NO_CHECKPOINT = Policy("no-checkpoint", mark("no checkpoint: start over"), {"save_checkpoint": save_nothing}, restarts=True)
ONLY_B = Policy("only-b", mark("only Point B"), {"save_checkpoint": save_only_b})
BLIND = Policy("blind", mark("A and B, run again blindly"), {"save_effect": keep_no_record, "reconcile": rerun_blindly})
NO_LEDGER = Policy("no-ledger", mark("A and B, no ledger (lesson 3)"), {"save_effect": keep_no_record})
RECORD_FIRST = Policy("record-first", mark("ledger written first (a bug)"), {"perform": record_first})
LESSON_4 = Policy("lesson-4", mark("ledger, a miss runs (lesson 4)"), {"reconcile": run_what_is_missing})
LESSON_6 = Policy("lesson-6", mark("ledger, three-way split (lesson 6)"))
INTENT = Policy("intent", mark("lesson 6 and an intent record"), {"perform": perform_with_intent, "reconcile": reconcile_with_intent})
KEY = Policy("key", mark("lesson 6 and a key the outside honours"), {"perform": perform_with_key, "reconcile": reconcile_by_key})
VERIFY = Policy("verify", mark("lesson 6 and asking the outside"), {"reconcile": reconcile_by_asking})

POLICIES = {policy.name: policy for policy in (
    NO_CHECKPOINT, ONLY_B, BLIND, NO_LEDGER, RECORD_FIRST, LESSON_4, LESSON_6, INTENT, KEY, VERIFY)}
