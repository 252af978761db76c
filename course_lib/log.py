"""The lesson's terminal lines, made from the stream of moments. (lesson 6)"""
from .moments import ALERT, plain

_VERDICTS = {
    "hit": "ledger hit, reusing result, not re-running",
    "read-only": "ledger miss, read-only tool, re-running",
    "idempotent": "ledger miss, idempotent tool, re-running",
    "verified-done": "ledger miss, the tool says it happened, recording its result",
    "verified-not-done": "ledger miss, the tool says it did not happen, running it",
    "run again": "ledger miss, so it counts as never run, running it",
    "never-started": "ledger miss, no intent on record, so it never started, running it",
    "same-key": "ledger miss, running it again under the same idempotency key",
    "unknown": "ledger miss with side effects, unresolvable, appending is_error",
}


def line(moment):
    """The line a moment prints, or None."""
    facts = {key: plain(value) if isinstance(value, str) else value for key, value in moment.facts.items()}
    if moment.label == "after-save-a":
        return f"[turn {moment.turn}][save A] pending={facts['pending']}"
    if moment.label == "after-save-b":
        return f"[turn {moment.turn}][save B]" + (" filled in this turn's tool result after resume" if moment.reconciling else "")
    if moment.label == "resumed":
        return f"[resume] read turn={moment.turn} pending={facts['pending'] or 'null'}"
    if moment.label == "reconciled":
        return f"[resume][reconcile] tool_use_id={facts['id']} name={facts['name']} {_VERDICTS[facts['branch']]}"
    return facts["text"] if moment.label == ALERT else None


def print_line(moment):
    """A listener that prints. (Alerts are on stderr already.)"""
    text = line(moment)
    if text is not None and moment.label != ALERT:
        print(text, flush=True)
