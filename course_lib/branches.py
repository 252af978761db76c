"""Going back for good and branching off: go_back_to and fork_from. (lesson 5)

A checkpoint is a scene of the loop. Going on from an earlier one takes back decisions and
nothing of the world, which is what standing.py is about. A fork is a folder of its own beside this one.

Left out: undoing effects, and coming back to a timeline that a rewind has left: its saves are kept, to be looked at.
"""
import re
from pathlib import Path

from . import history, ledger
from .checkpoint import lineage_of
from .errors import CourseError
from .guard import LOCK, is_taken, owning, preflight
from .keeping import keeping, way_of
from .ledger import LedgerError, find
from .moments import alert, current, own_run, part
from .places import home_of, place
from .reopen import complete_turn
from .resume import close_turn, open_ledger, reconcile
from .scenes import kept, load_latest, rewind_to
from .standing import effects_since, tell
from .storage import StorageError, reason, sync_folder
from .tools import UNKNOWN, result
from .turns import is_aside
from .values import as_content


class BranchError(CourseError):
    """The branch can't be made: its name is no name, or it is there already."""


def go_back_to(turn, point=None, *, folder="checkpoints", tools=None):
    """Rewind for good: the next resume goes on from there. Gives the scene it goes on with.

    A call that dangles at a Point A is reconciled first. If effects are left standing, a message at
    the end tells the model. Nothing is deleted, and it is durable when this returns. Raises NoSuchTurn.
    """
    with own_run(home_of(folder)), keeping(way_of(folder)), owning(folder):
        scene = _scene(turn, point, folder)
        turn, point = place(scene)
        preflight(folder)
        open_ledger(Path(folder) / ledger.FILE)
        _keep_own_lineage(scene, load_latest(folder=folder))
        standing = effects_since(turn, point, folder=folder, tools=tools)
        if scene["pendingToolUse"]:
            close_turn(scene, reconcile(scene, tools or {}, effects_path=Path(folder) / ledger.FILE))
        tell(scene, turn, standing, kept(folder).effects(folder))
        kept(folder).set_back(folder, turn, point, scene)
    return scene


def fork_from(turn, branch_name, point=None, *, folder="checkpoints", tools=None):
    """Begin a branch at that turn, in a folder beside this one: that scene, and an empty ledger of its own. Gives the folder.

    ``fork_from(14, "plan-b")`` makes ``checkpoints-plan-b``; a resume there goes on from turn 14. At a
    Point A the dangling call is reconciled first, with this branch's ledger. This branch's files
    stay as they are. Raises NoSuchTurn or BranchError.
    """
    with current():  # one run, so that a history is read once
        scene = _scene(turn, point, folder)
        turn, point = place(scene)
        branch = _new_folder(home_of(folder), branch_name, lineage_of(scene))
        with owning(branch):
            if not _is_stillborn(branch):  # another fork of that name was quicker
                raise BranchError(f"There is a {branch.name} already; choose another name for the branch.")
            (branch / history.FILE).unlink(missing_ok=True)
            _begin(branch, scene, (folder, turn, point), tools)
    return branch


def _scene(turn, point, folder):
    """The scene to go on from, with its last turn as the lessons' other programs leave it made whole."""
    if is_aside(home_of(folder)):
        raise BranchError(f"{home_of(folder).name} is what a rewind has left, and no branch to go on with; it can be looked at with rewind_to.")
    scene = rewind_to(turn, point, folder=folder)
    complete_turn(scene)  # the conversation is looked through by the resume that sends it
    return scene


def _keep_own_lineage(scene, latest):
    """A fork that goes back to before its fork point is a fork of that earlier turn from now on, and no second parent."""
    mine = lineage_of(latest)
    if "parent" in mine and mine != lineage_of(scene):
        turn, point = place(scene)
        scene["lineage"] = {**mine, "parent": {**mine["parent"], "turn": turn, "point": point, "tokensUsed": scene["tokensUsed"]}}


def _begin(branch, scene, came_from, tools):
    """Save the first scene of a branch, its dangling call settled and its lineage set."""
    folder, turn, point = came_from
    mine, done = lineage_of(scene), {}
    if scene["pendingToolUse"]:
        close_turn(scene, _settled(scene, folder, tools, done))
    scene["lineage"] = {**mine, "run": current().new_id(), "parent": {
        "folder": home_of(folder).name, "run": mine.get("run"), "turn": turn, "point": point, "tokensUsed": scene["tokensUsed"]}}
    kept(folder).begin(branch, scene, came_from)
    with keeping(way_of(folder)):
        for id, entry in done.items():
            part(ledger.save_effect)(branch / ledger.FILE, id, entry)


def _settled(scene, folder, tools, done):
    """The answer to the dangling call: by the ledger of ``folder``, else as a resume would do it. What runs for that is put into ``done``."""
    try:
        entry = find(kept(folder).effects(folder), scene["pendingToolUse"])
    except LedgerError as error:  # that folder is only read here, so it stays there as it is
        alert(f"[ledger] {str(error).split('; ')[0]}. What it knew counts as unknown.")
        entry = None
    if entry is not None:
        return result(scene["pendingToolUse"], as_content(entry.get("result")))
    if is_taken(folder):  # it may be doing this very thing now, and whoever asks the world asks too early
        return result(scene["pendingToolUse"], f"{UNKNOWN}: the run that this branch leaves is still at work on this {scene['pendingToolUse']['name']}, "
                                               "so it was not run here. Find out what came of it before you rely on it or repeat it.", is_error=True)
    with keeping("file", load_effects=lambda path: done, save_effect=lambda path, id, entry: done.update({id: entry})):
        return reconcile(scene, tools or {}, effects_path=Path(folder) / ledger.FILE)


def _new_folder(folder, name, lineage):
    if type(name) is not str or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", name):
        raise BranchError(f"{name!r:.60} can't be the name of a branch; use letters, digits, - and _, such as plan-b.")
    branch = folder.with_name(f"{lineage.get('root', folder.name)}-{name}")
    if branch.exists() and not (branch.is_dir() and _is_stillborn(branch)):
        raise BranchError(f"There is a {branch.name} already; choose another name for the branch.")
    try:
        branch.mkdir(exist_ok=True)
        sync_folder(branch.parent)
    except OSError as error:
        raise StorageError(f"{branch.name} could not be made: {reason(error)}; make {branch.parent.name or 'that place'} writable and try again.") from error
    return branch


def _is_stillborn(branch):
    """Whether this is all that a fork left which was killed: a folder, a temp file, the first line of a history cut short."""
    if way_of(branch) == "history":
        try:
            return not history.saves(branch)
        except CourseError:
            return False
    return all(path.suffix == ".tmp" or path.name == LOCK for path in branch.iterdir())
