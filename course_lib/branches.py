"""Going back and branching off: rewind_to, fork_from, load_latest, and what does not come back. (lesson 5)

A checkpoint is a scene of the loop. Going back to one gives back what the agent knew and had
decided then. It gives back nothing of the world: e-mails stay sent, files stay written, and the
ledger, which only grows, goes on saying so.

A branch is a folder, kept in turn files or in a history; all that is done here works on both.
Branches of one origin are a family: each has a run id of its own, and knows its parent.

Left out: undoing effects, which is a task of its own and differs from tool to tool.
"""
import os
import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from pathlib import Path

from . import history, ledger, turns
from .checkpoint import CheckpointMissing, CheckpointUnreadable, lineage_of
from .errors import CourseError
from .guard import LOCK, owning, preflight
from .keeping import keeping, way_of
from .ledger import find
from .moments import current, part
from .places import NoSuchTurn, place  # noqa: F401  (found here, too)
from .resume import close_turn, reconcile
from .storage import StorageError, reason
from .tools import result, says
from .transcript import ids_in
from .values import as_content, same

NOTE = ("This run was taken back to turn {turn}. What its tools did after that is not undone and still stands: {effects}. "
        "Reckon with it, and don't do it again without need.")
MOST = 40  # effects that a note names


class BranchError(CourseError):
    """The branch can't be made: its name is no name, or it is there already."""


def load_latest(*, folder="checkpoints"):
    """The newest scene of a branch, which a resume goes on with. Raises a CheckpointError."""
    kept = _kept(folder)
    saved = kept.saves(folder)
    if not saved:
        raise CheckpointMissing(f"No turn is saved in {Path(folder).absolute().name}, so there is nothing to resume from; start without --resume.")
    return kept.load(folder, *saved[-1])


def rewind_to(turn, point=None, *, folder="checkpoints"):
    """The scene as it was at that turn: at its last point, or at its Point "A" or "B". Only reads. Raises NoSuchTurn."""
    return _kept(folder).load(folder, turn, point)


def go_back_to(turn, point=None, *, folder="checkpoints", tools=None):
    """Rewind for good: the next resume goes on from there. Gives the scene it goes on with.

    A call that dangles at a Point A is reconciled first. If effects are left standing, a message at
    the end tells the model. Nothing is deleted, and it is durable when this returns. Raises NoSuchTurn.
    """
    with keeping(way_of(folder)), owning(folder):
        scene = rewind_to(turn, point, folder=folder)
        turn, point = place(scene)
        preflight(folder)
        _keep_own_lineage(scene, load_latest(folder=folder))
        standing = effects_since(turn, point, folder=folder, tools=tools)
        if scene["pendingToolUse"]:
            close_turn(scene, reconcile(scene, tools or {}, effects_path=Path(folder) / ledger.FILE))
        if standing:
            words = [*map(_in_words, standing[:MOST]), *([f"and {len(standing) - MOST} more"] if len(standing) > MOST else [])]
            scene["messages"].append({"role": "user", "content": NOTE.format(turn=turn, effects="; ".join(words))})
        _kept(folder).set_back(folder, turn, point, scene)
    return scene


def _keep_own_lineage(scene, latest):
    """A fork that goes back to before its fork point is a fork of that earlier turn from now on, and no second parent."""
    mine = lineage_of(latest)
    if "parent" in mine and mine != lineage_of(scene):
        turn, point = place(scene)
        scene["lineage"] = {**mine, "parent": {**mine["parent"], "turn": turn, "point": point, "tokensUsed": scene["tokensUsed"]}}


def fork_from(turn, branch_name, point=None, *, folder="checkpoints", tools=None):
    """Begin a branch at that turn, in a folder beside this one: that scene, and an empty ledger of its own. Gives the folder.

    ``fork_from(14, "plan-b")`` makes ``checkpoints-plan-b``; a resume there goes on from turn 14. At a
    Point A the dangling call is reconciled first, with this branch's ledger. This branch's files
    stay as they are. Raises NoSuchTurn or BranchError.
    """
    with current():  # one run, so that a history is read once
        scene = rewind_to(turn, point, folder=folder)
        turn, point = place(scene)
        branch = _new_folder(Path(folder), branch_name, lineage_of(scene))
        with owning(branch):
            if not _is_stillborn(branch):  # another fork of that name was quicker
                raise BranchError(f"There is a {branch.name} already; choose another name for the branch.")
            (branch / history.FILE).unlink(missing_ok=True)
            _begin(branch, scene, (folder, turn, point), tools)
    return branch


def _begin(branch, scene, came_from, tools):
    """Save the first scene of a branch, its dangling call settled and its lineage set."""
    folder, turn, point = came_from
    mine, done = lineage_of(scene), {}
    if scene["pendingToolUse"]:
        close_turn(scene, _settled(scene, folder, tools, done))
    scene["lineage"] = {**mine, "run": current().new_id(), "parent": {
        "folder": Path(folder).absolute().name, "run": mine.get("run"), "turn": turn, "point": point, "tokensUsed": scene["tokensUsed"]}}
    _kept(folder).begin(branch, scene, came_from)
    with keeping(way_of(folder)):
        for id, entry in done.items():
            part(ledger.save_effect)(branch / ledger.FILE, id, entry)


def effects_since(turn, point=None, *, folder="checkpoints", tools=None):
    """What a rewind to that turn leaves standing: what has happened, by the ledger or the conversation, and that scene doesn't know.

    Gives ``[{"id", "name", "result", "at", ...}, ...]`` in the order they happened. With tools, those that only read are left out.
    """
    known, now = _ids(rewind_to(turn, point, folder=folder)), load_latest(folder=folder)
    told, mine = _told(now), _ids(now)
    inherited = {id: entry for parent in _ancestors(folder, now) for id, entry in _kept(parent).effects(parent).items() if id in mine}
    return [{"id": id, **entry} for id, entry in {**told, **inherited, **_kept(folder).effects(folder)}.items()
            if id not in known and not says((tools or {}).get(entry["name"]), "read_only")]


# --- the family ---------------------------------------------------------------------------------

def family(folder="checkpoints"):
    """Every branch of the same origin that lies beside this one: ``{folder: scene}`` with the newest scene, the origin first."""
    folder = Path(folder).absolute()
    mine = load_latest(folder=folder)
    found = {folder: mine}
    for other in sorted(folder.parent.iterdir()):
        if other != folder and other.is_dir() and way_of(other) != "file" and lineage_of(mine).get("family"):  # a fork of the lessons' own files has none
            try:
                scene = load_latest(folder=other)
            except CourseError:  # a stranger's folder, or a broken one: nobody's branch
                continue
            if lineage_of(scene).get("family") == lineage_of(mine)["family"]:
                found[other] = scene
    return dict(sorted(found.items(), key=lambda item: ("parent" in lineage_of(item[1]), item[0])))


def _ancestors(folder, scene):
    """The folders that a branch comes from, the oldest first."""
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


def similar_effects(call, *, folder, tools):
    """Effects of the family that look like this call and that this timeline knows nothing of: ``[(folder, id, entry), ...]``.

    A rewound or forked model asks with a new id, so the ledger misses. Similar means: equal by the
    tool's business_key, or else the same tool with the same values, however they are written.
    """
    key = getattr(tools.get(call["name"]), "business_key", None)
    alike = (lambda a, b: key(a) == key(b)) if key else _alike
    known = _ids(load_latest(folder=folder))
    return [(branch, id, entry) for branch in family(folder) for id, entry in _kept(branch).effects(branch).items()
            if id not in known and entry["name"] == call["name"] and "input" in entry and alike(entry["input"], call["input"])]


def _kept(folder):
    way, name = way_of(folder), Path(folder).absolute().name
    if way == "file" and not os.path.isdir(folder):
        raise CheckpointMissing(f"There is no folder {name} here; name the folder of a branch, such as checkpoints.")
    if way == "file" and not os.access(folder, os.R_OK | os.X_OK):
        raise CheckpointUnreadable(f"{name} can't be looked into; make it readable and try again.")
    if way == "file":
        raise CheckpointMissing(f"{name} keeps no turns to go back to; run the agent with keep=\"turns\" or keep=\"history\".")
    return {"turns": turns, "history": history}[way]


def _settled(scene, folder, tools, done):
    """The answer to the dangling call: by the ledger of ``folder``, else as a resume would do it. What runs for that is put into ``done``."""
    entry = find(_kept(folder).effects(folder), scene["pendingToolUse"])
    if entry is not None:
        return result(scene["pendingToolUse"], as_content(entry.get("result")))
    with keeping("file", load_effects=lambda path: done, save_effect=lambda path, id, entry: done.update({id: entry})):
        return reconcile(scene, tools or {}, effects_path=Path(folder) / ledger.FILE)


def _new_folder(folder, name, lineage):
    if type(name) is not str or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise BranchError(f"{name!r:.60} can't be the name of a branch; use letters, digits, - and _, such as plan-b.")
    branch = folder.absolute().with_name(f"{lineage.get('root', folder.absolute().name)}-{name}")
    if branch.exists() and not _is_stillborn(branch):
        raise BranchError(f"There is a {branch.name} already; choose another name for the branch.")
    try:
        branch.mkdir(exist_ok=True)
    except OSError as error:
        raise StorageError(f"{branch.name} could not be made: {reason(error)}; make {branch.parent.name or 'that place'} writable and try again.") from error
    return branch


def _is_stillborn(branch):
    """Whether this is all that a fork left which was killed: a folder, a temp file, the first line of a history cut short."""
    if way_of(branch) == "history":
        with suppress(CourseError):
            return not history.saves(branch)
        return False
    return all(path.suffix == ".tmp" or path.name == LOCK for path in branch.iterdir())


def _ids(scene):
    return {id for message in scene["messages"] for _, id in ids_in(message, "assistant", "tool_use")}


def _told(scene):
    """What the conversation says has happened, or may have, as ledger entries: a ledger may have failed, or be gone."""
    calls = {block["id"]: block for message in scene["messages"] if isinstance(message["content"], list)
             for block in message["content"] if block["type"] == "tool_use" and {"id", "name", "input"} <= block.keys()}
    answers = [block for message in scene["messages"] if isinstance(message["content"], list)
               for block in message["content"] if block["type"] == "tool_result" and block.get("tool_use_id") in calls]
    return {block["tool_use_id"]: {"name": calls[block["tool_use_id"]]["name"], "result": block.get("content"), "input": calls[block["tool_use_id"]]["input"]}
            for block in answers if not block.get("is_error") or str(block.get("content")).startswith("State unknown")}


def _in_words(effect):
    return f"{effect['name']} ({effect['id']}) with {as_content(effect['input'])[:200]}" if "input" in effect else f"{effect['name']} ({effect['id']})"


def _alike(a, b):
    return same(_plain(a), _plain(b))


def _plain(value):
    """A value without the accidents of its writing: 100, 100.0 and "100.00" are one, and so are " Ada" and "ada"."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    text = " ".join(str(value).casefold().split())
    try:
        return str(Decimal(text).normalize()) if not isinstance(value, bool) and value is not None else value
    except InvalidOperation:
        return text
