"""Exercise 5.2: from one checkpoint file to one a turn, so that a run can go back. (lesson 5)"""
import json
import re

from ...words import mark, tr
from ..driver import RETURNED
from .answer import TEXTS, code_exercise, criterion, no_own_error, outcome, put, read, runs, shown, slip
from .crashes import SAVE_HINTS, check_atomic
from .proofs import RIGHT, check_proof, functions

SOLUTION = functions((TEXTS / "ex_5_2_solution.py").read_text(encoding="utf-8"), "save_turn", "load_latest", "rewind_to", "_saved", "_load")
PLAYED = SOLUTION + '''

_only_reads = rewind_to


def _cut(folder, keep):
    for ledger in (folder / "effects.json", folder.parent / "effects.json"):
        entries = json.loads(ledger.read_text()) if ledger.exists() else {}
        if len(entries) > keep:
            ledger.write_text(json.dumps(dict(list(entries.items())[:keep])))


def rewind_to(folder, turn):
    return _played("rewind_to", {"read": lambda: _only_reads(folder, turn), "latest": lambda: load_latest(folder), "cut": lambda keep: _cut(folder, keep)}, turn)
'''
WRONG = {mark("gives the latest turn whatever it is asked for"): "latest", mark("takes the later entries out of the ledger as well"): "ledger"}
# What else lies in such a folder; none of it is a turn, though each comes last in some order.
STRANGERS = {"turn-099-B.json.tmp": mark("the temp file of a save that was killed"), "turn-099-B.json.4f2a9c01be77.tmp": mark("the temp file of a save that was killed"),
             "turn-099-B.json.bak": mark("somebody's copy"), "xturn-099-B.json": mark("somebody's copy"), "turn-last-B.json": mark("somebody's copy"),
             "zz-notes.json": mark("somebody's notes"), "effects.json": mark("a ledger"), "rewound-1": mark("a folder")}


def version(fault):
    """What a version does that has this fault; see check_proof. The other right way looks at the latest turn as well, and cuts nothing off."""
    def rewind_to(turn):
        if fault == "latest":
            return (yield "latest",)
        scene = yield "read",
        if fault is RIGHT:
            yield "latest",
        if fault:
            yield "cut", turn if fault == "ledger" else 1_000_000
        return scene

    return {"rewind_to": rewind_to}


def scene(answer, turn, point="B"):
    """A checkpoint of that turn: at A a call is pending, at B there is none."""
    call = {"id": answer.id(), "name": "send_email", "input": {"to": answer.word()}}
    return {"version": 1, "task": "Tell everybody.", "turns": turn, "tokensUsed": 100 * turn,
            "messages": [{"role": "user", "content": answer.word()}] * turn, "pendingToolUse": call if point == "A" else None}


def saved(answer, points):
    """A folder of checkpoints beside a ledger of five entries, and what was saved there: ``{(turn, point): checkpoint}``."""
    folder = answer.folder() / "checkpoints"
    folder.mkdir()
    put(folder.parent / "effects.json", {answer.id(): {"name": "send_email", "result": "sent"} for _ in range(5)}).close()
    scenes = {(turn, point): scene(answer, turn, point) for turn, point in points}
    for (_, point), checkpoint in scenes.items():
        answer.write("save_turn", folder, checkpoint, point)
    return folder, scenes


FIVE = [(turn, point) for turn in range(1, 6) for point in "AB"]


@criterion("turn_files", mark("Each save is a file of its own, named by its turn and point, and the earlier ones stay."))
def turn_files(answer):
    folder, scenes = saved(answer, FIVE)
    for (turn, point), checkpoint in scenes.items():
        data = read(folder / f"turn-{turn:03d}-{point}.json")
        try:
            found = None if data is None else json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if found != checkpoint:
            slip("turn-files", tr("five turns were saved; turn-{turn}-{point}.json has {found}; the folder has: {names}", turn=f"{turn:03d}", point=point,
                                  found=tr("nothing that can be read") if found is None else shown(found), names=", ".join(sorted(p.name for p in folder.iterdir())[:12])),
                 tr("turn-{turn}-{point}.json holds what was saved at turn {n}, point {point}", turn=f"{turn:03d}", point=point, n=turn),
                 tr("At turn 5 somebody wants back to turn {n}. What the loop knew then is on no disk any more.", n=turn))


@criterion("atomic", mark("Killed at any instant, a save leaves each turn's file as it was or as it will be."))
def atomic(answer):
    old, new = scene(answer, 3), {**scene(answer, 3), "tokensUsed": 999}
    check_atomic(answer, "save_turn", lambda folder: folder / "turn-003-B.json", old, new, lambda path, checkpoint: (path.parent, checkpoint, "B"),
                 is_stray=re.compile(r"turn-\d+-[AB]\.json").fullmatch)


@criterion("latest", mark("load_latest gives the last point of the highest turn, for a resume."))
def latest(answer):
    for points in (FIVE, FIVE[:-1], [(1, "A")]):
        folder, scenes = saved(answer, points)
        _gives(answer, "latest", scenes[points[-1]], points, "load_latest", folder)


@criterion("rewind", mark("rewind_to(3) gives the last point of turn 3: turns is 3."))
def rewind(answer):
    points = [*FIVE[:5], *FIVE[6:]]  # of turn 3 there is only Point A
    for turn, point in ((3, "A"), (2, "B"), (5, "B")):
        folder, scenes = saved(answer, points)
        _gives(answer, "rewind", scenes[turn, point], points, "rewind_to", folder, turn)


@criterion("only_reads", mark("A rewind changes nothing on disk: the ledger still has its five entries, the later turns are there."))
def only_reads(answer):
    folder, _ = saved(answer, FIVE)
    before = _all_files(folder.parent)
    answer.call("rewind_to", folder, 3)
    after = _all_files(folder.parent)
    if after != before:
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        slip("changes-files", tr("after rewind_to(3) these files are gone or changed: {names}", names=", ".join(changed)), tr("each file is as it was"),
             tr("Five e-mails went out. The run was taken back to turn 3, and now the books say something else than what happened: two of the e-mails can be sent again."))


@criterion("no_such_turn", mark("A turn that isn't there is refused, and the error names it; an empty folder is refused, too."))
def no_such_turn(answer):
    folder, _ = saved(answer, FIVE)
    missing = 7 + answer.random.randrange(60)
    ended = answer.process.call("rewind_to", folder, missing)
    fault = no_own_error(answer, ended, "rewind_to")
    if fault or str(missing) not in ended.text:
        slip("no-such-turn", fault or outcome(answer, ended, "rewind_to"), tr("an error that you raise, in words, and {turn} stands in it", turn=missing),
             tr("Somebody mistyped a number. Instead of being told so, they go on with nothing, with another state than they asked for, or with words that help nobody."))
    empty = answer.folder()
    ended = answer.process.call("load_latest", empty)
    if fault := no_own_error(answer, ended, "load_latest"):
        slip("nothing-saved-yet", fault, tr("an error that you raise, with words that say that nothing has been saved here"))


@criterion("strangers", mark("Only turn files are looked at: temp files and strangers are none."))
def strangers(answer):
    for stranger in STRANGERS:  # each alone, so that the one that was read can be named
        folder, scenes = saved(answer, [(2, "B"), (3, "A")])
        if stranger == "rewound-1":
            (folder / stranger).mkdir()
        else:
            put(folder / stranger, b'{"turns": 99, "cut o').close()
        story = tr("{file} lay among the turns: {what}. It was read as if it were a turn.", file=stranger, what=tr(STRANGERS[stranger]))
        for name, args, wanted in (("load_latest", (), (3, "A")), ("rewind_to", (2,), (2, "B"))):
            ended = answer.process.call(name, folder, *args)
            if ended.status != RETURNED or ended.value != scenes[wanted]:
                slip("strangers", outcome(answer, ended, name), tr("the checkpoint of turn {turn}, whatever else lies in the folder", turn=wanted[0]), story)
        ended = answer.process.call("rewind_to", folder, 99)
        if ended.status == RETURNED:
            slip("strangers", outcome(answer, ended, "rewind_to"), tr("there is no turn 99, so that is refused"), story)


@criterion("thousand", mark("Turn 1000 comes after turn 999."))
def thousand(answer):
    points = [(998, "B"), (999, "B"), (1000, "A")]
    folder, scenes = saved(answer, points)
    _gives(answer, "thousand", scenes[1000, "A"], points, "load_latest", folder)
    _gives(answer, "thousand", scenes[999, "B"], points, "rewind_to", folder, 999)


@criterion("proof", mark("Your test passes on a right version and fails on a wrong one."))
def proof(answer):
    check_proof(answer, PLAYED, version, WRONG)


def _gives(answer, hint, wanted, points, name, *args):
    ended = answer.process.call(name, *args)
    if ended.status != RETURNED or ended.value != wanted:
        slip(hint, tr("saved were {points}; {how}", points=", ".join(f"{turn}-{point}" for turn, point in points), how=outcome(answer, ended, name)),
             tr("the checkpoint of turn {turn} at point {point}: {value}", turn=wanted["turns"], point="A" if wanted["pendingToolUse"] else "B", value=shown(wanted)))


def _all_files(folder):
    return {str(path.relative_to(folder)): read(path) for path in folder.rglob("*") if not path.is_dir()}


EXERCISE = code_exercise(
    "5.2", mark("A checkpoint for each turn"),
    (runs("save_turn", "load_latest", "rewind_to"), turn_files, atomic, latest, rewind, only_reads, no_such_turn, strangers, thousand, proof),
    {
        **SAVE_HINTS,
        "stray": [mark("Look at the folder in the middle of a save. Which of the names in it would your load_latest take for a turn?"), mark("Let the temp file's name end in .tmp, after the whole name of the real one.")],
        "turn-files": [mark("After five turns, how many files should there be, and what are they called?"), mark("The turn's number is in the checkpoint: turns. Three digits: :03d."),
                       mark("f\"turn-{checkpoint['turns']:03d}-{point}.json\"")],
        "in-place": [mark("A turn's file is saved again after a resume. Killed in the middle of it, what is left of the old one?"), mark("Write into a temp file beside it, then os.replace.")],
        "gap": [mark("For a short time this turn has no file at all."), mark("os.replace takes the old file's place by itself.")],
        "latest": [mark("Which point of a turn comes later, A or B? And if a turn has only its A?"), mark("Sort by turn first, then by point, and take the last.")],
        "rewind": [mark("\"Turn 3\" means the last point that was saved in it."), mark("Of the files of that turn, take the one that load_latest would take if there were no others.")],
        "changes-files": [mark("What has happened in the world is not undone by a rewind. May the books say otherwise?"), mark("rewind_to opens files for reading and does nothing else. What a later run does with the later turns is its own affair.")],
        "no-such-turn": [mark("What does the person read who asks for a turn that was never saved?"), mark("Look whether there is a file of that turn, and raise an error with the number in it if there is none.")],
        "nothing-saved-yet": [mark("The folder is there and empty. What should a resume say?"), mark("Raise an error of your own before you take the last of nothing.")],
        "strangers": [mark("What may lie in that folder beside turns, after a kill in the middle of a save?"), mark("Go by the whole name, from its first letter to its last: turn-, digits, -A or -B, .json."), mark("re.fullmatch(r\"turn-(\\d{3,})-([AB])\\.json\", path.name)")],
        "thousand": [mark("As text, which comes first: \"1000\" or \"999\"?"), mark("Turn the digits into a number before you sort; and three digits are the least, not the most.")],
        "no-proof": [mark("The last function of the cell is yours to write; its name begins with test_."), mark("Five save_turn, one effects.json with five entries beside the folder, rewind_to(folder, 3), two asserts.")],
        "proof-fails": [mark("Run the test yourself and read which assert fails."), mark("A proof may rely only on what the three functions promise.")],
        "proof-blind": [mark("Two things can go wrong in a rewind: it gives another turn, or it touches the ledger. Which assert would notice which?"),
                        mark("Read effects.json again after the rewind, from disk, and count.")],
    })
