"""What a student commits to before a resume: the way it goes, and what becomes of the effect.

Every choice carries its reason, made from the very files it is about.
"""
from .. import checkpoint, ledger
from ..scenarios import forecast, oracle
from ..words import tr
from .panels import esc
from .question import Choice


def branch_choices(facts, went):
    """The ways a resume can go, as Choices. went: the one it went, a name of forecast's."""
    pending = tr("pendingToolUse holds {name} ({id}), so there is a call to settle first.", name=facts.pending, id=facts.id)
    nobody = tr("No call is pending, so nothing is settled and nobody asks the ledger.")
    entry = tr("effects.json has an entry {id}, and the ledger is asked before anything else.", id=facts.id)
    no_entry = tr("effects.json has no entry {id}.", id=facts.id)
    there = tr("checkpoint.json is there, so there is a scene to go on from.")
    gone = tr("There is no checkpoint.json: the process died before its first save.")
    reads = tr("{name} says of itself that it only reads, and effects.json has no {id}: running it again is safe.", name=facts.pending, id=facts.id)
    writes = tr("{name} changes something, so running it again could do it twice.", name=facts.pending)
    blind = tr("effects.json has no {id}, and {name} changes something: nothing on disk says whether it ran.", name=facts.pending, id=facts.id)

    def because(right, *wrongs):
        """The first reason that applies. Each: (whether it applies, text)."""
        return next(text for applies, text in [(not facts.has_checkpoint, gone), *wrongs, (True, right)] if applies)

    idle = (facts.pending is None, nobody)
    return [
        Choice(tr("Nothing is pending: the model is asked again."), went == forecast.NOTHING,
               because(tr("pendingToolUse is null in checkpoint.json: the last turn is closed."), (facts.pending is not None, pending))),
        Choice(tr("The ledger has the call: its result is reused, nothing runs."), went == forecast.HIT,
               because(entry, idle, (not facts.in_ledger, no_entry))),
        Choice(tr("The ledger has no such call, and the tool only reads: it runs again."), went == forecast.READ_ONLY,
               because(reads, idle, (facts.in_ledger, entry), (not facts.read_only, writes))),
        Choice(tr("The ledger has no such call, and the tool changes something: the model is told \"state unknown\"."), went == forecast.UNKNOWN,
               because(blind, idle, (facts.in_ledger, entry), (facts.read_only, reads))),
        Choice(tr("There is nothing to resume from: the run has to start over."), went == forecast.LOST,
               gone if not facts.has_checkpoint else there),
    ]


def outcome_choices(effect, times, verdict):
    """What can become of the effect, as Choices. times: how often the journal has it at the end; verdict: the oracle's."""
    journal = tr("The tools' own journal has {effect} ×{n}.", effect=effect, n=times)
    asks = verdict in (oracle.ASKS_DONE, oracle.ASKS_NOT_DONE)
    told = tr("The model was told that the state is unknown, so somebody has to look.")
    not_told = tr("The model got an answer and had no reason to ask anybody.")
    on = tr("There was a checkpoint, and the run went on to its end.")
    lost = tr("There was no checkpoint to go on from.")
    fallen = verdict == oracle.RUN_LOST

    def wrong(reason):
        return lost if fallen else reason

    return [
        Choice(tr("{effect} happens once.", effect=effect), verdict == oracle.ONCE,
               journal if verdict == oracle.ONCE else wrong(f"{journal} {told}" if asks else journal)),
        Choice(tr("{effect} happens twice.", effect=effect), verdict in (oracle.TWICE, oracle.RAN_TWICE), wrong(journal)),
        Choice(tr("{effect} has happened, and a person has to find that out.", effect=effect), verdict == oracle.ASKS_DONE,
               f"{journal} {told}" if asks else wrong(not_told)),
        Choice(tr("{effect} has not happened, and a person has to find that out.", effect=effect), verdict == oracle.ASKS_NOT_DONE,
               f"{journal} {told}" if asks else wrong(not_told)),
        Choice(tr("{effect} never happens, and the model believes that it did.", effect=effect), verdict == oracle.LOST, wrong(journal)),
        Choice(tr("The run is lost and has to start over."), fallen, lost if fallen else on),
    ]


def verdict_html(title, choices, chosen):
    """The right choice and the student's, each with its reason; the others folded. chosen: its index."""
    right = next((i for i, choice in enumerate(choices) if choice.right), None)
    verdict = tr("you were right") if chosen == right else tr("not as predicted")
    shown = [i for i in dict.fromkeys((right, chosen)) if i is not None]
    others = "".join(_row(choices[i]) for i in range(len(choices)) if i not in shown)
    return (f"<p><b>{esc(title)}</b> {esc(verdict)}</p><ul>"
            + "".join(_row(choices[i], tr("(your prediction)") if i == chosen else "") for i in shown)
            + f"</ul><details><summary>{esc(tr('Why not the others'))}</summary><ul>{others}</ul></details>")


def evidence(facts, went, files):
    """The bytes that decided it, as HTML. files: the folder that the resume found, ``{name: bytes}``."""
    asked = _line(files, checkpoint.FILE, '"pendingToolUse"')
    if facts.pending is None or went == forecast.LOST:
        return asked
    answered = _line(files, ledger.FILE, f'"{facts.id}": {{') if facts.in_ledger else \
        esc(tr("effects.json has no line with {id}", id=facts.id))
    return f"{asked}; {answered}"


def _row(choice, note=""):
    return f"<li><b>{'✓' if choice.right else '✗'} {esc(choice.text)}</b> {esc(note)}<br>{esc(choice.because)}</li>"


def _line(files, name, start):
    """The first line of a file that begins so, with its number."""
    lines = files.get(name, b"").decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip().startswith(start):
            return f"{esc(tr('{name}, line {number}:', name=name, number=number))} <code>{esc(line.strip()[:120])}</code>"
    return esc(tr("there is no {name}", name=name) if name not in files else tr("{name} has no such line", name=name))
