"""Branches of one origin: which they are, and what each comes from. (lesson 5)

Each lies in a folder beside the others, has a run id of its own, and knows its parent and the
turn at which it left it: the ``lineage`` of its scenes.
"""
from .checkpoint import lineage_of
from .errors import CourseError
from .keeping import way_of
from .places import home_of
from .scenes import load_latest
from .storage import StorageError, reason


def family(folder="checkpoints"):
    """Every branch of the same origin that lies beside this one: ``{folder: scene}`` with the newest scene, the origin first."""
    folder = home_of(folder)
    mine = load_latest(folder=folder)
    found = {folder: mine}
    for other in _beside(folder) if lineage_of(mine).get("family") else ():  # a fork of the lessons' own files has none
        try:
            scene = load_latest(folder=other)
        except CourseError:  # a stranger's folder, or a broken one: nobody's branch
            continue
        if lineage_of(scene).get("family") == lineage_of(mine)["family"]:
            found[other] = scene
    return dict(sorted(found.items(), key=lambda item: ("parent" in lineage_of(item[1]), item[0])))


def ancestors(folder, scene):
    """The folders that a branch with that newest scene comes from, the oldest first."""
    found = family(folder) if "parent" in lineage_of(scene) else {}
    runs, chain = {lineage_of(each)["run"]: path for path, each in found.items()}, []
    while "parent" in lineage_of(scene) and lineage_of(scene)["parent"]["run"] in runs:
        chain.insert(0, runs.pop(lineage_of(scene)["parent"]["run"]))  # popped: a file that says it descends from itself must not send us round
        scene = found[chain[0]]
    return chain


def tokens(scene):
    """``{"inherited", "own"}``: what a branch was given at its fork point, and what it has spent itself."""
    inherited = lineage_of(scene).get("parent", {}).get("tokensUsed", 0)
    return {"inherited": inherited, "own": scene["tokensUsed"] - inherited}


def _beside(folder):
    try:
        return [other for other in sorted(folder.parent.iterdir())
                if other != folder and other.is_dir() and not other.is_symlink() and way_of(other) != "file"]
    except OSError as error:
        raise StorageError(f"The branches beside {folder.name} can't be looked for: {reason(error)}; make {folder.parent.name or 'that place'} readable.") from error
