"""What a student commits to before a resume: the way it goes, and what becomes of the effect.

Every choice carries its reason, made from the very files it is about.
"""
import json

from .. import checkpoint, ledger
from ..scenarios import forecast, oracle
from ..words import tr
from .panels import esc
from .question import Choice


def branch_choices(facts, went):
    """The ways a resume can go, as Choices. facts: what it found; went: the way it went, a name of forecast's."""
    call = {"name": facts.pending, "id": facts.id}
    runs, lost = went in forecast.RUNS, went == forecast.LOST
    entry = tr("effects.json has an entry {id}, and the ledger is asked before anything else.", **call)
    no_entry = tr("effects.json has no entry {id}.", **call)
    pending = tr("pendingToolUse holds {name} ({id}), so there is a call to settle first.", **call)
    nothing = tr("pendingToolUse is null in checkpoint.json: the last turn is closed, so there is no call to settle.")
    unknown = tr("effects.json has no {id}, and each {name} needs a person's approval; the one it had is used up.", **call) if facts.read_only else \
        tr("effects.json has no {id}, and {name} changes something: nothing on record says whether it ran, "
           "and running it again could do it twice.", **call)
    asked = tr("The outside was asked, and says that {name} has happened.", **call)
    ran = {
        forecast.READ_ONLY: tr("{name} says of itself that it only reads, and effects.json has no {id}: running it again is safe.", **call),
        forecast.IDEMPOTENT: tr("{name} says of itself that a second run changes nothing, and effects.json has no {id}.", **call),
        forecast.NEVER_STARTED: tr("There is no intent on record for {id}, so it never started: this is its first run.", **call),
        forecast.SAME_KEY: tr("It goes out with {id} as its key, and an outside that honours keys does a key's work once only.", **call),
        forecast.NOT_DONE: tr("The outside was asked, and says that {name} has not happened.", **call),
        forecast.RERUN: tr("effects.json has an entry {id}, and this reconcile ran the call all the same.", **call) if facts.in_ledger else
                        tr("effects.json has no {id}, and this policy runs such a call without asking whether it ran before.", **call),
    }.get(went, "")

    # What the resume found or did, and so why it did not go another way.
    settled = (_why_lost(facts) if lost else nothing if went == forecast.NOTHING else ran if runs else
               asked if went == forecast.DONE else unknown if went == forecast.UNKNOWN else entry)
    return [
        Choice(tr("Nothing is pending: the model is asked again."), went == forecast.NOTHING,
               settled if lost or went == forecast.NOTHING else pending),
        Choice(tr("The ledger has the call: its result is reused, nothing runs."), went == forecast.HIT,
               settled if lost or went == forecast.NOTHING or facts.in_ledger else no_entry),
        Choice(tr("The ledger does not have the call, and the tool runs."), runs, settled),
        Choice(tr("The ledger does not have the call, and the model is told \"state unknown\"."), went == forecast.UNKNOWN, settled),
        Choice(tr("The ledger does not have the call, and the outside says that it has happened."), went == forecast.DONE,
               tr("Nobody outside was asked who could tell.") if went == forecast.UNKNOWN else settled),
        Choice(tr("There is nothing to resume from: the run has to start over."), lost,
               settled if lost else tr("checkpoint.json is there and whole, so there is a scene to go on from.")),
    ]


def _why_lost(facts):
    if facts.is_missing:
        return tr("There is no checkpoint.json: the process died before its first save.")
    return tr("checkpoint.json is there, and can't be trusted: {why}", why=facts.trouble or tr("this load_checkpoint refused it."))


def outcome_choices(effect, times, verdict):
    """What can become of the effect, as Choices. times: how often the journal has it at the end; verdict: the oracle's."""
    journal = tr("The tools' own journal has {effect} ×{n}.", effect=effect, n=times)
    if verdict == oracle.RAN_TWICE:
        journal += " " + tr("(The world looks as after one run.)")
    asks, fallen = verdict in (oracle.ASKS_DONE, oracle.ASKS_NOT_DONE), verdict == oracle.RUN_LOST
    told = journal + " " + tr("The model was told that the state is unknown, so somebody has to look.")
    lost = tr("There was no checkpoint that the run could go on from.")
    seen = lost if fallen else told if asks else journal
    answered = lost if fallen else told if asks else tr("The model got an answer and had no reason to ask anybody.")
    return [
        Choice(tr("{effect} happens once.", effect=effect), verdict == oracle.ONCE, seen),
        Choice(tr("{effect} happens more than once.", effect=effect), verdict in (oracle.TWICE, oracle.RAN_TWICE), seen),
        Choice(tr("{effect} has happened, and a person has to find that out.", effect=effect), verdict == oracle.ASKS_DONE, answered),
        Choice(tr("{effect} has not happened, and a person has to find that out.", effect=effect), verdict == oracle.ASKS_NOT_DONE, answered),
        Choice(tr("{effect} never happens, and the model believes that it did.", effect=effect), verdict == oracle.LOST, seen),
        Choice(tr("The run is lost and has to start over."), fallen,
               lost if fallen else tr("There was a checkpoint, and the run went on to its end.")),
    ]


def verdict_html(title, choices, chosen):
    """The right choice and the student's, each with its reason; the others folded. chosen: its index."""
    right = next(i for i, choice in enumerate(choices) if choice.right)
    verdict = tr("you were right") if chosen == right else tr("not as predicted")
    shown = dict.fromkeys((right, chosen))
    others = "".join(_row(choice) for i, choice in enumerate(choices) if i not in shown)
    return (f"<p><b>{esc(title)}</b> {esc(verdict)}</p><ul>"
            + "".join(_row(choices[i], tr("(your prediction)") if i == chosen else "") for i in shown)
            + f"</ul><details><summary>{esc(tr('Why not the others'))}</summary><ul>{others}</ul></details>")


def evidence(facts, files):
    """The bytes that decided it, as HTML. files: the folder that the resume found, ``{name: bytes}``."""
    asked = _lines(files, checkpoint.FILE, '"pendingToolUse"')
    if facts.trouble or facts.pending is None:
        return asked
    answered = _lines(files, ledger.FILE, json.dumps(facts.id, ensure_ascii=False) + ":") if facts.in_ledger else \
        esc(tr("effects.json has no line with {id}", id=facts.id))
    return f"{asked}<br>{answered}"


def _row(choice, note=""):
    return f"<li><b>{'✓' if choice.right else '✗'} {esc(choice.text)}</b> {esc(note)}<br>{esc(choice.because)}</li>"


def _lines(files, name, start):
    """The line of a file that begins so, with its number and, where it opens a bracket, the two after it."""
    lines = files.get(name, b"").decode("utf-8", "replace").split("\n")
    found = [number for number, line in enumerate(lines) if line.lstrip().startswith(start)]
    if not found:
        return esc(tr("{name} has no such line", name=name) if name in files else tr("there is no {name}", name=name))
    at = min(found, key=lambda number: len(lines[number]) - len(lines[number].lstrip()))  # not one deep inside a result
    text = " ".join(line.strip()[:100] for line in lines[at:at + 3]) + " …" if lines[at].endswith("{") else lines[at].strip()
    return f"{esc(tr('{name}, line {number}:', name=name, number=at + 1))} <code>{esc(text[:200])}</code>"
