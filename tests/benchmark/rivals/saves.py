"""A run of course_lib reduced to its saves: what the loop asks of its storage in each turn, and nothing else."""
from contextlib import ExitStack

import workload
from course_lib import Run, load_checkpoint, save_checkpoint, save_effect
from course_lib.checkpoint import opening
from course_lib.moments import part


class Saves:
    """Point A, the effect, Point B, turn after turn, on a scene that grows as the loop's does."""

    functions = {}  # what keeps them, in place of checkpoint.json and effects.json

    def __init__(self, folder, durability="power-loss"):
        self.one_run = ExitStack()  # from opening to closing
        self.one_run.enter_context(Run(functions=self.functions, durability=durability))
        self.folder = folder / "checkpoints"
        self.folder.mkdir(exist_ok=True)
        self.path, self.effects_path = self.folder / "checkpoint.json", self.folder / "effects.json"

    def run(self, turns):
        scene = opening(workload.TASK)
        for turn in range(1, turns + 1):
            self._turn(scene, turn)

    def _turn(self, scene, turn):
        call = workload.call(turn)
        use = call["content"][1]
        scene["turns"] = turn
        scene["messages"].append(call)
        scene["pendingToolUse"] = {key: use[key] for key in ("id", "name", "input")}
        part(save_checkpoint)(self.path, scene)
        part(save_effect)(self.effects_path, use["id"], workload.entry(turn))
        scene["messages"].append(workload.answer(turn))
        scene["pendingToolUse"] = None
        part(save_checkpoint)(self.path, scene)

    def resume(self):
        return part(load_checkpoint)(self.path)["messages"]

    rewind = fork = go_back = None

    def close(self):
        self.one_run.close()
