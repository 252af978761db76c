"""Who is measured. Each is a module of this folder with one class:

    Store(folder)       open what is in the folder, or begin there
    .run(turns)         that many turns from the beginning, as durable as the rival can make them
    .resume()           the messages to go on from
    .rewind(turn)       the messages as they were after that turn; only reads
    .fork(turn)         a branch of its own from there, after a rewind to look at it; the old one stays
    .go_back(turn)      from now on resume() goes on from there
    .close()

None in place of a method: it has no such thing. Two more where they apply: prepare(turns), what is ready before the
clock starts; walk(turn), a rewind for those who don't know how the rival numbers its saves.
A new rival is one module and one entry here.
"""
from importlib import import_module, metadata
from typing import NamedTuple


class Rival(NamedTuple):
    title: str
    note: str
    packages: tuple = ()  # what it needs beyond the course
    largest: int = 5000  # beyond that, what grows with the square takes too long


OURS = "history"
_GRAPH = ("langgraph", "langgraph-checkpoint-sqlite")
RIVALS = {
    "history": Rival("history.jsonl", "This course's history, its saves alone: Point A, the effect, Point B."),
    "loop": Rival("run_agent with history.jsonl", "The same at work: the whole loop with its tools, ledger and gates, and a model that answers at once."),
    "raw": Rival("raw appends", "The floor: the very lines of history.jsonl, encoded before the clock starts, appended and synced where it syncs. "
                 "Nothing can be read back by turn."),
    "turns": Rival("turn-001-A.json, turn-001-B.json, …", "The lesson's own sequence: a file a save, each with the whole conversation; effects.json is rewritten with each effect.", largest=1000),
    "plain": Rival("checkpoint.json", "The lessons before: one file rewritten at each save, and effects.json with each effect. It holds the latest scene only.", largest=1000),
    "agents": Rival("openai-agents, SQLiteSession", "Two add_items a turn, no ledger. It knows items, no turns: a rewind reads all and counts, a fork is a copy into a second "
                     "session, and to go back, pop_item takes items away one by one, for good.", ("openai-agents",)),
    "dbos": Rival("DBOS on SQLite", "A workflow with two steps a turn, on its default database. A rewind reads the first steps; fork_workflow copies them into a "
                  "new workflow, which then replays them (not counted), and is its way back, too.", ("dbos",)),
    "delta": Rival("LangGraph, SqliteSaver, DeltaChannel", "Two nodes a turn, durability=\"sync\"; the channel, in beta, keeps what is new and the whole every 100 updates. "
                   "A fork is update_state with the checkpoint in hand, and is its way back, too.", _GRAPH, largest=1000),
    "full": Rival("LangGraph, SqliteSaver", "The same with the usual channel, which keeps the whole conversation in each checkpoint.", _GRAPH, largest=1000),
}


def versions(name):
    """``{package: version}`` of what a rival needs. Raises PackageNotFoundError where one is missing."""
    return {package: metadata.version(package) for package in RIVALS[name].packages}


def missing(name):
    """Why a rival can't be measured here, in a sentence, or None."""
    try:
        versions(name)
    except metadata.PackageNotFoundError as error:
        return f"{RIVALS[name].title} is left out: {error.name} is not installed; pip install -c constraints.txt -e .[benchmark] brings it."
    return None


def open_store(name, folder):
    return import_module(f"rivals.{name}").Store(folder)
