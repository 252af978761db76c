"""The small world a task acts on: files in one folder, and a journal of what the tools did.

The journal is written by the tools alone. Checkpoint and ledger are what the harness
believes; world and journal are what happened, so they decide whether something was done
once, twice or not at all.
"""
import json
import re
from pathlib import Path

from .. import checkpoint, guard, history, ledger, turns

JOURNAL = "journal.jsonl"  # one line an execution: {"tool", "input"}
REQUESTS = "requests.jsonl"  # what the model was asked (scripted_api.py)
KEYS = "keys.json"  # the outside system's own memory of idempotency keys: {key: answer}
ASKED = "asked.txt"  # what the person at the approval gate was asked
INTENTS = "intents.json"  # calls that were about to start (policies.py)
_NOT_THE_WORLD = re.compile("|".join(map(re.escape, (checkpoint.FILE, ledger.FILE, history.FILE, guard.LOCK, guard.ATTEMPTS, turns.MOVING, JOURNAL, REQUESTS, KEYS, ASKED, INTENTS)))
                            + rf"|{turns.FILE.pattern}|.+\.tmp|.+\.broken\.\d+")


def note(folder, tool, input):
    """A tool says that it has done its work."""
    with open(Path(folder) / JOURNAL, "a", encoding="utf-8") as file:
        file.write(json.dumps({"tool": tool, "input": input}) + "\n")


def executions(folder):
    """Every finished execution, in order: ``[{"tool": str, "input": dict}, ...]``."""
    path = Path(folder) / JOURNAL
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def outside(files):
    """Of a folder's files ``{name: bytes}`` those that belong to the world: no books of harness, model or tools."""
    return {name: data for name, data in files.items() if not _NOT_THE_WORLD.fullmatch(name)}
