"""What really happened, judged by the world: the journal that the tools alone write.

Checkpoint and ledger are what the harness believes, so they have no say in it. What the
model was told does, since an honest "state unknown" is a way out and a false "done" is not.
"""
import tempfile
from functools import lru_cache
from pathlib import Path

from ..checkpoint import FILE, CheckpointError, is_finished, load_checkpoint
from . import world
from .runner import start

ONCE, RAN_TWICE, TWICE, LOST = "once", "once (ran 2×)", "twice", "lost"
ASKS_DONE, ASKS_NOT_DONE = "asks a human (done)", "asks a human (not done)"
REJECTED, RUN_LOST, UNFINISHED = "rejected by the API", "run lost", "not finished"
OUTCOMES = (ONCE, RAN_TWICE, TWICE, LOST, ASKS_DONE, ASKS_NOT_DONE, REJECTED, RUN_LOST)


def executions(scenario, folder):
    """How often the call in question has done its work."""
    call = {"tool": scenario.effect, "input": scenario.call["input"]}
    return world.executions(folder).count(call)


def judge(scenario, folder, outcome):
    """The fate of the scenario's effect, one of OUTCOMES, or UNFINISHED while a resume can go on.

    outcome: the Outcome of the last start or resume.
    """
    if outcome.refused:
        return REJECTED
    try:
        scene = load_checkpoint(folder / FILE)
    except CheckpointError:
        scene = None  # a policy that saves nothing comes to its end without one, too
    if outcome.status == "error" and (scene is None or not outcome.moments):  # no moment: what is there was not taken up
        return RUN_LOST
    if outcome.status != "done" or (scene and not is_finished(scene)):
        return UNFINISHED
    times = executions(scenario, folder)
    if scene and _told_unknown(scenario, scene):
        return ASKS_DONE if times else ASKS_NOT_DONE
    if times < 2:
        return ONCE if times else LOST
    return RAN_TWICE if _outside(folder) == _after_once(scenario) else TWICE


def _outside(folder):
    """The world's files, and nobody's books."""
    return world.outside({path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()})


@lru_cache
def _after_once(scenario):
    """The world after a run that nothing went wrong in: what "once" looks like from outside."""
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        start(scenario, folder)
        return _outside(folder)


def _told_unknown(scenario, scene):
    """Whether the last answer that the model got about the effect is an error."""
    calls = [block.get("id") for block in _blocks(scene, "tool_use") if block.get("name") == scenario.effect]
    answers = [block for block in _blocks(scene, "tool_result") if block.get("tool_use_id") in calls]
    return bool(answers) and answers[-1].get("is_error", False)


def _blocks(scene, kind):
    return [block for message in scene["messages"] if isinstance(message["content"], list)
            for block in message["content"] if block["type"] == kind]
