"""What a tool is, and run_tool_uses: ledger gate, approval gate, run, record, result.

The order is the lesson. The ledger asks "has this happened?" before anybody is asked
"should this happen?"; the entry is written after the tool has returned, the instant it
has; and a failed write is never reported to the model as a failed tool, since it would
call again under a new id and the effect would happen twice. (lessons 4 and 6)
"""
import copy
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from dataclasses import dataclass, field

from .errors import CourseError
from .ledger import find, known_effects, save_effect
from .moments import alert, crash_point, current, part
from .values import MARK, as_content, check, storable


UNKNOWN = "State unknown"  # how the result of a call begins of which nobody knows whether it happened


class ForkedAway(CourseError):
    """This process is a copy that a tool has made of the run's own, and has no business with the run."""


@dataclass(frozen=True)
class Tool:
    """A function of one input dict, and what it does to the world, in MCP's terms.

    read_only: changes nothing. idempotent: a second run with the same input changes nothing
    more. destructive: may overwrite or delete. high_impact: a person approves each call first.
    verify(input, key) answers "did this happen?": False, True, or a dict with its ``result``, or
    None for "can't tell"; key is the tool_use_id. business_key(input) → str names the deed itself,
    such as an invoice's number; it goes to the outside system as the idempotency key.
    """

    function: Callable[[dict], object]
    description: str = ""
    input_schema: dict = field(default_factory=lambda: {"type": "object"})
    read_only: bool = False
    idempotent: bool = False
    destructive: bool = True
    high_impact: bool = False
    verify: Callable[[dict, str], object] | None = None
    business_key: Callable[[dict], str] | None = None

    def __call__(self, input):
        value = self.function(input)
        crash_point("after-tool")
        return value


def run_tool_uses(content, tools, *, effects_path, approve=None):
    """Run each tool_use block of a response and give the tool_result blocks, in the same order.

    tools: ``{name: Tool}``. approve(name, input) → bool is asked before a high-impact tool;
    without it such a call is declined. Raises IdClash, LedgerError or LedgerUnreadable before
    the tool in question has run.
    """
    calls = [block for block in content if block["type"] == "tool_use"]
    return [_answer(call, tools, effects_path, approve) for call in calls]


def only_answer(results, call):
    """The tool_result in what run_tool_uses gave for this one call; somebody's own may stand in and give anything. Raises CourseError."""
    if type(results) is list and len(results) == 1 and is_answer(results[0], call):
        return results[0]
    raise CourseError(f"run_tool_uses gave {results!r:.100} for the call {call['name']} ({call['id']}); "
                      "let it give a list with one tool_result for each call, under the call's own id.")


def is_answer(block, call):
    """Whether a block is a tool_result of this call."""
    return (type(block) is dict and block.get("type") == "tool_result" and block.get("tool_use_id") == call["id"]
            and type(block.get("content", "")) in (str, list))


def perform(call, tools, *, effects_path):
    """Run one call and record it; the tool_result, an is_error where the tool raised."""
    current().fence()  # a run that was paused and has lost its folder does nothing more
    tool, run, process = tools[call["name"]], current(), os.getpid()
    before = run.key
    try:
        if getattr(tool, "business_key", None):
            run.key = tool.business_key(copy.deepcopy(call["input"]))
        # A copy: a tool may change its input, but not the record of it.
        value = tool(copy.deepcopy(call["input"]))
        if isinstance(value, (Awaitable, Generator, AsyncGenerator)):
            if hasattr(value, "close"):
                value.close()
            raise TypeError(f"it gave a {type(value).__name__}, which nobody has run; a tool is a plain function that does its work before it returns")
    except (Exception, SystemExit) as error:
        if os.getpid() != process:  # the tool has made a copy of this process, and that one is not the run
            raise
        said = storable(error)  # an error's text may be as odd as any result
        return result(call, f"{call['name']} failed: {said[MARK]}: {said['text']}", is_error=True)
    finally:
        run.key = before
    if os.getpid() != process:
        raise ForkedAway(f"The tool {call['name']} has made a copy of this process with fork and let it return; only the first one goes on with the run.")
    return result(call, as_content(record(call, value, effects_path)))


def record(call, value, effects_path):
    """Put a call that has happened into the ledger; its result in the form the ledger keeps."""
    value = _stored(value)
    entry = {"name": call["name"], "result": value, "at": current().clock(), "input": call["input"]}
    if current().family:
        entry["lineage"] = current().family
    try:
        part(save_effect)(effects_path, call["id"], entry)
    except Exception as error:
        # The effect is real whatever became of its record: a person has to know, not the model.
        alert(f"[ledger write failed] tool_use_id={call['id']} name={call['name']}: the tool ran, "
              f"and a resume won't know; check by hand. Cause: {error}")
    return value


def _stored(value):
    try:
        return storable(value)
    except (Exception, SystemExit) as error:  # a list that another thread still adds to; the effect has happened whatever its result looks like
        return storable(f"(the result could not be read: {type(error).__name__})")


def result(call, content, *, is_error=False):
    """The tool_result block that answers a call."""
    block = {"type": "tool_result", "tool_use_id": call["id"], "content": content}
    return {**block, "is_error": True} if is_error else block


def definitions(tools):
    """The tools as a request's ``tools`` wants them: name, description, input_schema."""
    return [{"name": name, "description": getattr(tool, "description", "") or "",
             "input_schema": getattr(tool, "input_schema", {"type": "object"})} for name, tool in tools.items()]


def says(tool, nature):
    """Whether a tool says this of itself; a plain function says nothing, so the answer is no."""
    return getattr(tool, nature, False) is True


def _answer(call, tools, effects_path, approve):
    check(call["input"])  # what can't be saved must not run: its record could not say what was done
    entry = find(known_effects(effects_path), call)
    if entry is not None:
        return result(call, as_content(entry.get("result")))
    if call["name"] not in tools:
        return result(call, f"There is no tool named {call['name']}; nothing was run.",
                      is_error=True)
    if says(tools[call["name"]], "high_impact"):
        for where, id, like in current().similar(call):
            known = f"is on record in {where.name} since {like['at']}" if "at" in like else f"may have happened in {where.name}"
            alert(f"[similar effect] {call['name']} ({call['id']}) looks like {like['name']} ({id}), which {known}: is this to happen once more?")
        if not _is_approved(approve, call):
            return result(call, f"A person has to approve each {call['name']} and did not; "
                                "it was not run.", is_error=True)
        crash_point("after-approval", name=call["name"])
    return part(perform)(call, tools, effects_path=effects_path)


def _is_approved(approve, call):
    """Whether a person has said True; anything else, an error among it, is no."""
    try:
        return approve is not None and approve(call["name"], copy.deepcopy(call["input"])) is True
    except Exception as error:
        alert(f"[approval failed] tool_use_id={call['id']} name={call['name']}: {type(error).__name__}: {error}; that counts as no.")
        return False
