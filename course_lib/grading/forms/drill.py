"""What a kill leaves and how its resume goes, found by running it: the keys of all tables about crash moments."""
from dataclasses import dataclass
from functools import lru_cache

from ...checkpoint import FILE, CheckpointError, load_checkpoint
from ...ledger import FILE as LEDGER
from ...ledger import load_effects
from ...scenarios import forecast
from ...scenarios.experiment import Experiment


@dataclass(frozen=True)
class Seen:
    """scene: the checkpoint that the kill left, or None. files: the bytes of checkpoint.json and effects.json, None where
    there is none. in_ledger: whether the call in question is. branch: the way the resume went, a name of forecast's."""

    scene: dict | None
    files: tuple
    in_ledger: bool
    branch: str
    verdict: str


@lru_cache
def seen(code, call=None):
    """Run what a scenario code names, then resume to the end. call: the id asked for in the ledger; else the pending one, or the last one asked for. Gives Seen."""
    experiment = Experiment.from_code(code)
    folder, known = experiment.folder, forecast.facts(experiment.scenario, experiment.folder)
    try:
        scene = load_checkpoint(folder / FILE)
    except CheckpointError:
        scene = None
    files = tuple((folder / name).read_bytes() if (folder / name).exists() else None for name in (FILE, LEDGER))
    wanted = call or known.id or (scene and last_call(scene)["id"])
    in_ledger = wanted in load_effects(folder / LEDGER)
    leg = experiment.run()
    return Seen(scene, files, in_ledger, forecast.branch(leg.outcome, known), experiment.verdict)


def last_call(scene):
    """The last tool_use block in a scene's messages."""
    return [block for message in scene["messages"] if isinstance(message["content"], list)
            for block in message["content"] if block["type"] == "tool_use"][-1]


def is_answered(scene):
    """Whether the last call in messages has its result there."""
    return any(block.get("tool_use_id") == last_call(scene)["id"] for message in scene["messages"] if isinstance(message["content"], list)
               for block in message["content"])
