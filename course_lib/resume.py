"""From a checkpoint back into the loop: reconcile the call that was under way, close its turn.

A checkpoint with pendingToolUse says that a tool was named. It can't say whether it ran.
The ledger can, except in the one window between effect and record; what is left there is
told to the model as it is: unknown. (lessons 3, 4 and 6)
"""
import copy

from . import checkpoint, ledger
from .checkpoint import is_finished, lineage_of, load_checkpoint, save_checkpoint
from .errors import CourseError
from .guard import check_fingerprint, count_attempt, preflight, sweep_all
from .keeping import say_what_decides, way_of
from .ledger import LedgerError, find, known_effects, load_effects, set_aside, was_set_aside
from .moments import alert, current, part, remark
from .reopen import reopen
from .tools import UNKNOWN, is_answer, only_answer, perform, record, result, run_tool_uses, says
from .values import as_content, storable


def reconcile(checkpoint, tools, *, effects_path, rerun_idempotent=False):
    """The tool_result for the pending call of a checkpoint, or None when nothing is pending.

    In order: in the ledger → its result; not there and read-only → run again and record;
    anything else → what the tool's ``verify`` says (done → its result, not done → through the
    gates of run_tool_uses), or an is_error that says "state unknown". Nothing else with side
    effects is run, unless rerun_idempotent allows tools that declare themselves idempotent, and
    nothing that a person has to approve: that approval is used up.
    Raises IdClash, LedgerError or LedgerUnreadable.
    """
    call = checkpoint["pendingToolUse"]
    if call is None:
        return None
    entry = find(known_effects(effects_path), call)
    if entry is not None:
        _verdict(call, "hit")
        return result(call, as_content(entry.get("result")))
    tool = tools.get(call["name"])
    harmless = says(tool, "read_only") or (
        rerun_idempotent and says(tool, "idempotent") and not was_set_aside(effects_path))
    if harmless and not says(tool, "high_impact"):
        _verdict(call, "read-only" if says(tool, "read_only") else "idempotent")
        return part(perform)(call, tools, effects_path=effects_path)
    return _ask_the_world(call, tools, effects_path)


def take_up(folder, tools, *, model=None, task=None, attempts=None):
    """The scene to go on from, its last turn closed and saved. folder: a Path.

    model, tools and task have to be those it was begun with, as far as it says. attempts: see
    count_attempt. Raises CheckpointError, OtherTools or NoProgress before anything in the folder is touched.
    """
    path, effects_path = folder / checkpoint.FILE, folder / ledger.FILE
    scene = part(load_checkpoint)(path)
    way = way_of(folder)
    reopen(scene, kept=way != "file")
    if way == "history":
        say_what_decides(folder)
    run, pending = current(), scene["pendingToolUse"]
    run.family = lineage_of(scene).get("family")
    run.turn = scene["turns"]
    remark("resumed", pending=pending and pending["name"])
    if is_finished(scene):
        return scene
    check_fingerprint(scene, task, model, tools)
    count_attempt(folder, scene, attempts)
    preflight(folder)
    sweep_all(folder)
    open_ledger(effects_path)
    run.reconciling = True
    answer = part(reconcile)(scene, tools, effects_path=effects_path)
    if pending is not None:
        _check_answer(answer, pending)
        close_turn(scene, answer)
        part(save_checkpoint)(path, scene)
    run.reconciling = False
    return scene


def close_turn(scene, answer):
    """Put the results of the last assistant turn into messages and clear pendingToolUse.

    answer: the tool_result of the pending call; any other call of that turn is told that
    only one runs.
    """
    calls = [block for block in scene["messages"][-1]["content"] if block["type"] == "tool_use"]
    results = [answer if call["id"] == answer["tool_use_id"] else
               result(call, "Only one tool call runs in a turn; this one was not run. Ask for it again.", is_error=True)
               for call in calls]
    scene["messages"].append({"role": "user", "content": results})
    scene["pendingToolUse"] = None


def open_ledger(effects_path):
    """Move a broken ledger aside, loudly: it must not block what comes next, and must not pass for an empty one either."""
    try:
        part(load_effects)(effects_path)
    except LedgerError as error:
        moved = set_aside(effects_path)
        alert(f"[ledger set aside] {error} It is kept as {moved.name}; what it knew counts as unknown.")


def _check_answer(answer, call):
    # Somebody's own reconcile may stand in; what it gives must be the answer to the pending call.
    if not is_answer(answer, call):
        raise CourseError(f"reconcile gave no tool_result for the pending {call['name']} ({call['id']}) but {answer!r:.100}; "
                          "whatever is known, each call needs its answer.")


def _verdict(call, branch):
    remark("reconciled", id=call["id"], name=call["name"], branch=branch)


def _ask_the_world(call, tools, effects_path):
    happened = _verified(tools.get(call["name"]), call)
    if happened is True:
        happened = {"result": f"This {call['name']} happened before the crash, the tool itself says; "
                              "what it returned is lost."}
    if isinstance(happened, dict):
        _verdict(call, "verified-done")
        return result(call, as_content(record(call, happened.get("result"), effects_path)))
    if happened is False:
        _verdict(call, "verified-not-done")  # so it runs now; a person who has to be asked is asked anew
        block = {"type": "tool_use", **call}
        return only_answer(part(run_tool_uses)(
            [block], tools, effects_path=effects_path, approve=current().approve), call)
    _verdict(call, "unknown")
    return result(call, f"{UNKNOWN}: the program died around this {call['name']}, nothing on record "
                        "says whether it took effect, and it was not run a second time. "
                        "Find out before you rely on it or repeat it.", is_error=True)


def _verified(tool, call):
    if getattr(tool, "verify", None) is None:
        return None
    try:
        return tool.verify(copy.deepcopy(call["input"]), call["id"])
    except (Exception, SystemExit) as error:
        alert(f"[verify failed] tool_use_id={call['id']} name={call['name']}: {storable(error)['text']}")
        return None
