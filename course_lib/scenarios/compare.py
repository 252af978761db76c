"""The branches of one family as lines to look at: what each holds, where it leaves another, how two of them differ. (lesson 5)

A line is a branch as a resume goes on with it, or what a rewind has left behind. Only reads.
"""
from dataclasses import dataclass
from pathlib import Path

from .. import history, turns
from ..checkpoint import lineage_of
from ..family import family, tokens
from ..keeping import way_of
from ..tools import says


@dataclass(frozen=True)
class Line:
    """name: the branch's folder, or for what was left there ``checkpoints/rewound-1``. scenes: ``{(turn, point): scene}``, its own.

    start: where it leaves the line before, (name, turn), or None. is_left: whether no resume goes on with it.
    """

    name: str
    folder: Path
    scenes: dict
    start: tuple | None = None
    is_left: bool = False

    @property
    def scene(self):
        """The newest one."""
        return [*self.scenes.values()][-1]


def lines(folder):
    """Every Line of the family that the branch in folder belongs to, each branch followed by what was left of it. Raises a CheckpointError."""
    found = []
    for branch, newest in family(folder).items():
        *left, current = _timelines(branch)
        parent, run = lineage_of(newest).get("parent"), lineage_of(newest).get("run")
        start = parent and (parent["folder"], parent["turn"])
        # In a history a fork has its parent's saves as well; they are drawn once, in the parent's line.
        mine = {place: scene for place, scene in current.items() if lineage_of(scene).get("run") == run}
        found.append(Line(branch.name, branch, mine, start))
        for number, (timeline, after) in enumerate(zip(left, [*left, current][1:]), 1):
            own = _not_shared(timeline, [*after.values()][-1]["messages"])
            if own:
                turn, point = next(iter(own))
                found.append(Line(f"{branch.name}/rewound-{number}", branch, own, (branch.name, turn - (point == "A")), is_left=True))
    return found


def shared(a, b):
    """How many messages two scenes begin with in common."""
    pairs = zip(a["messages"], b["messages"])
    return next((number for number, (one, other) in enumerate(pairs) if one != other), min(len(a["messages"]), len(b["messages"])))


def counters(scene):
    """``{"turns", "messages", "tokens": {"inherited", "own"}}``."""
    return {"turns": scene["turns"], "messages": len(scene["messages"]), "tokens": tokens(scene)}


def effects(folder, tools):
    """What stands in the world: every effect of the family, ``[{"id", "name", "branch", ...}, ...]`` as they happened; tools that only read are left out."""
    found = []
    for branch in family(folder):
        entries = (history if way_of(branch) == "history" else turns).effects(branch)
        found += [{"id": id, "branch": branch.name, **entry} for id, entry in entries.items() if not says(tools.get(entry["name"]), "read_only")]
    return sorted(found, key=lambda effect: str(effect.get("at")))


def knows(scene, effect):
    """What a scene knows of an effect: "did" (its own call), "told" (a note names it) or "nothing": it stands, and nobody there knows."""
    contents = [message["content"] for message in scene["messages"]]
    if any(block["type"] == "tool_use" and block["id"] == effect["id"] for content in contents if isinstance(content, list) for block in content):
        return "did"
    return "told" if any(f"({effect['id']})" in content for content in contents if isinstance(content, str)) else "nothing"


def _timelines(folder):
    """``[{(turn, point): scene}, ...]``: those that rewinds have left, oldest first, then the one to go on with."""
    if way_of(folder) == "history":
        book = history.read(folder)
        return [{save.place: timeline.scene(number) for number, save in enumerate(timeline.saves)} for timeline in [*book.left, book.timeline]]
    return [{place: turns.load(place_of, *place) for place in turns.saves(place_of)} for place_of in [*turns.set_aside(folder), folder]]


def _not_shared(timeline, messages):
    """Of a timeline's scenes those that go beyond what the next one took over from it."""
    return {place: scene for place, scene in timeline.items() if scene["messages"] != messages[:len(scene["messages"])]}
