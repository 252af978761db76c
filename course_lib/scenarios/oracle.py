"""What really happened, judged by the world: the journal that the tools alone write.

Checkpoint and ledger are what the harness believes, so they have no say in it. What the
model was told does, since an honest "state unknown" is a way out and a false "done" is not.
"""
from ..checkpoint import FILE, CheckpointError, is_finished, load_checkpoint
from . import world

ONCE, RAN_TWICE, TWICE, LOST = "once", "once (ran 2×)", "twice", "lost"
ASKS_DONE, ASKS_NOT_DONE = "asks a human (done)", "asks a human (not done)"
REJECTED, RUN_LOST, UNFINISHED = "rejected by the API", "run lost", "not finished"
OUTCOMES = (ONCE, RAN_TWICE, TWICE, LOST, ASKS_DONE, ASKS_NOT_DONE, REJECTED, RUN_LOST)


def executions(scenario, folder):
    """How often the tool in question has done its work."""
    return sum(done["tool"] == scenario.effect for done in world.executions(folder))


def judge(scenario, folder, outcome):
    """The fate of the scenario's effect, one of OUTCOMES, or UNFINISHED while a resume can go on.

    outcome: the Outcome of the last start or resume.
    """
    if outcome.refused:
        return REJECTED
    try:
        scene = load_checkpoint(folder / FILE)
    except CheckpointError:
        return RUN_LOST if outcome.status == "error" else UNFINISHED
    if outcome.status != "done" or not is_finished(scene):
        return UNFINISHED
    times = executions(scenario, folder)
    if _told_unknown(scenario, scene):
        return ASKS_DONE if times else ASKS_NOT_DONE
    if times < 2:
        return ONCE if times else LOST
    return RAN_TWICE if scenario.tools(folder)[scenario.effect].idempotent else TWICE


def _told_unknown(scenario, scene):
    """Whether the last answer that the model got about the effect is an error."""
    names = {block["id"]: block["name"] for block in _blocks(scene, "tool_use")}
    answers = [block for block in _blocks(scene, "tool_result") if names[block["tool_use_id"]] == scenario.effect]
    return bool(answers) and answers[-1].get("is_error", False)


def _blocks(scene, kind):
    return [block for message in scene["messages"] if isinstance(message["content"], list)
            for block in message["content"] if block["type"] == kind]
