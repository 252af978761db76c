"""What the two files say before a resume, and which way the resume then really went."""
from dataclasses import dataclass
from pathlib import Path

from .. import checkpoint, ledger
from ..checkpoint import CheckpointError, CheckpointMissing, load_checkpoint
from ..ledger import load_effects
from ..errors import CourseError
from .oracle import executions

# Ways a resume can go, by the name that reconcile remarks them under; the last three are not reconcile's.
HIT, READ_ONLY, UNKNOWN = "hit", "read-only", "unknown"
NOTHING, LOST, REFUSED = "nothing pending", "no checkpoint", "refused"


@dataclass(frozen=True)
class Facts:
    """What can be read from the folder. pending, id: of the call under way, or None."""

    has_checkpoint: bool
    pending: str | None
    id: str | None
    in_ledger: bool
    read_only: bool
    times: int  # the effect in question has happened


def facts(scenario, folder):
    """Read the folder as a resume will find it. Gives Facts; a file that can't be read counts as not there."""
    folder = Path(folder)
    try:
        call = load_checkpoint(folder / checkpoint.FILE)["pendingToolUse"] or {}
        found = True
    except CheckpointError as error:
        call, found = {}, not isinstance(error, CheckpointMissing)
    try:
        effects = load_effects(folder / ledger.FILE)
    except CourseError:
        effects = {}
    tool = scenario.tools(folder).get(call.get("name"))
    return Facts(found, call.get("name"), call.get("id"), call.get("id") in effects,
                 getattr(tool, "read_only", False), executions(scenario, folder))


def branch(outcome):
    """The way a resume went: what reconcile remarked, or NOTHING, LOST or REFUSED. outcome: its Outcome."""
    for moment in outcome.moments:
        if moment.label == "reconciled":
            return moment.facts["branch"]
        if moment.label == "resumed" and moment.facts["pending"] is None:
            return NOTHING
    return REFUSED if any(moment.label == "resumed" for moment in outcome.moments) else LOST
