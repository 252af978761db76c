"""What the two files say before a resume, and which way the resume then really went."""
from dataclasses import dataclass
from pathlib import Path

from .. import checkpoint, ledger
from ..checkpoint import CheckpointError, CheckpointMissing, load_checkpoint
from ..errors import CourseError
from ..ledger import load_effects

# Ways a resume can go. First those that reconcile remarks, under its own names for them; the others have to be seen.
HIT, READ_ONLY, IDEMPOTENT, UNKNOWN = "hit", "read-only", "idempotent", "unknown"
NEVER_STARTED, SAME_KEY, NOT_DONE, DONE = "never-started", "same-key", "verified-not-done", "verified-done"
RERUN, NOTHING, LOST = "run again", "nothing pending", "no checkpoint"
UNCLEAR = "unclear"  # cut short, or somebody's own function that does not say
RUNS = (READ_ONLY, IDEMPOTENT, NEVER_STARTED, SAME_KEY, NOT_DONE, RERUN)  # the pending call is run
_RUNNING = {"after-approval", "mid-intent", "after-intent", "mid-tool", "after-tool"}


@dataclass(frozen=True)
class Facts:
    """What can be read from the folder. pending, id: of the call under way, or None; trouble: why there is no scene to go on from, or None."""

    is_missing: bool
    trouble: str | None
    pending: str | None
    id: str | None
    in_ledger: bool
    read_only: bool


def facts(scenario, folder):
    """Read the folder as a resume will find it. Gives Facts; a ledger that can't be read counts as empty."""
    folder, call, trouble, is_missing = Path(folder), {}, None, False
    try:
        call = load_checkpoint(folder / checkpoint.FILE)["pendingToolUse"] or {}
    except CheckpointError as error:
        trouble, is_missing = str(error), isinstance(error, CheckpointMissing)
    try:
        effects = load_effects(folder / ledger.FILE)
    except CourseError:
        effects = {}
    tool = scenario.tools(folder).get(call.get("name"))
    return Facts(is_missing, trouble, call.get("name"), call.get("id"), call.get("id") in effects, getattr(tool, "read_only", False))


def branch(outcome, known):
    """The way a resume went, one of the names above. outcome: its Outcome; known: the Facts from before it."""
    if not any(moment.label == "resumed" for moment in outcome.moments):
        return LOST
    if known.pending is None:
        return UNCLEAR if known.trouble else NOTHING
    said = [moment.facts["branch"] for moment in outcome.moments if moment.label == "reconciled"]
    closing = {moment.label for moment in outcome.moments if moment.reconciling}
    if said or closing & _RUNNING:
        return said[0] if said else RERUN
    return HIT if known.in_ledger and "mid-save-b" in closing else UNCLEAR
