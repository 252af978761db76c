"""The small world a task acts on: files in one folder, and a journal of what the tools did.

The journal is written by the tools alone. Checkpoint and ledger are what the harness
believes; the journal is what happened, so it decides whether something was done once,
twice or not at all.
"""
import json
from pathlib import Path

JOURNAL = "journal.jsonl"  # one line an execution: {"tool", "input"}
REQUESTS = "requests.jsonl"  # what the model was asked (model.py)


def note(folder, tool, input):
    """A tool says that it has done its work."""
    with open(Path(folder) / JOURNAL, "a", encoding="utf-8") as file:
        file.write(json.dumps({"tool": tool, "input": input}) + "\n")


def executions(folder):
    """Every finished execution, in order: ``[{"tool": str, "input": dict}, ...]``."""
    path = Path(folder) / JOURNAL
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
