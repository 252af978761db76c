"""``course prove``: everything at once, with progress, and the figures at the end.

What it prints stays English, as what the lesson-6 program prints does.
"""
import itertools
import random
import sys
import time
from dataclasses import dataclass, field

from ..scenarios import SALES_REPORT
from ..scenarios.policies import LESSON_6, POLICIES
from ..scenarios.support_desk import SUPPORT_DESK
from . import faults, kills, power, sandbox
from .cases import BEGINNINGS, HISTORY, TURNS, begun, case_of
from .explorer import explore

SAMPLE = 6  # when quick: so many stories of two and of three kills for each tool under each policy, and real kills of each beginning
INTENT_BEGINNINGS = (None, ("after-save-a", 2), ("after-intent", 1), ("after-tool", 2))


@dataclass
class Proof:
    """What has been tried so far. sample: how much of what there is too much of, or None for all. lost: what is wrong, in sentences.
    not_run: what this machine can't do, and why.
    """

    sample: int | None = None
    seed: int = 0
    stories: int = 0
    lives: int = 0
    kills: int = 0
    faults: int = 0
    cuts: int = 0
    lost: list = field(default_factory=list)
    not_run: list = field(default_factory=list)
    shown: float = 0.0

    def counting(self, what):
        """A function that counts one more of them each time it is called, and shows it where somebody looks on."""
        def count(_):
            setattr(self, what, getattr(self, what) + 1)
            if sys.stdout.isatty() and time.monotonic() - self.shown > 0.2:
                self.shown = time.monotonic()
                print(f"\r  {self.stories:,} stories, {self.kills:,} real kills, {self.faults:,} faults, {self.cuts:,} power cuts", end="", flush=True)
        return count

    def lose(self, found):
        """found: ``[(rule, sentence), ...]``, as the sweeps give it."""
        self.lost += [f"{rule}: {sentence}" for rule, sentence in found]


def prove(*, quick=False, seed=0):
    """Try everything, or a sample of it, and print what came of it. Gives the exit code: 0 if nothing was lost."""
    proof, began = Proof(SAMPLE if quick else None, seed), time.monotonic()
    for title, part in PARTS.items():
        before, start = len(proof.lost), time.monotonic()
        _line(f"{title} …")
        part(proof)
        news = proof.lost[before:]
        _line(f"  {len(news)} broken promises" if news else f"  nothing lost, {time.monotonic() - start:.0f} s")
        for sentence in sorted(news, key=len)[:3]:
            _line(f"  LOST: {sentence}")
    _line(f"""
scenarios tried   {proof.stories:>8,}   (in {proof.lives:,} lives; seed {seed}{', a sample' if quick else ', all of them'})
kills survived    {proof.kills:>8,}   by SIGKILL, at a system call each
faults injected   {proof.faults:>8,}
power cuts        {proof.cuts:>8,}   folders that may be left
lost              {len(proof.lost) or 'nothing':>8}   in {time.monotonic() - began:.0f} s""")
    for reason in proof.not_run:
        _line(f"not run: {reason}")
    return 1 if proof.lost else 0


def tell_stories(proof):
    explored = [explore_one(proof, case_of(SALES_REPORT).under(policy)) for policy in (LESSON_6, HISTORY, TURNS)]
    for policy in (*POLICIES.values(), HISTORY, TURNS):
        of_policy = [explore_one(proof, case_of(scenario).under(policy)) for scenario in SUPPORT_DESK.values()]
        rules = sorted({rule for each in of_policy for rule in each.found})
        _line(f"  {policy.title}: {sum(sum(each.told) for each in of_policy):,} stories; breaks {', '.join(rules) or 'nothing'}"
              f"{', as it is known to' if rules and not any(each.news for each in of_policy) else ''}")
        explored += of_policy
    proof.lost += [sentence for each in explored for sentence in each.news]
    proof.lost += [f"{each.case.policy.name} did not show what it is known to break: {sentence}" for each in explored for sentence in each.unseen]


def explore_one(proof, case):
    explored = explore(case, 3, sample=proof.sample, seed=proof.seed, progress=proof.counting("stories"))
    proof.lives += explored.lived
    return explored


def kill_for_real(proof):
    why_not = kills.why_not()
    if why_not:
        proof.not_run.append(f"real kills: {why_not}")
        return
    case, chance = case_of(SALES_REPORT), random.Random(proof.seed)
    for (each, program), (name, crash) in itertools.product(((case, kills.PROGRAM), (case.under(HISTORY), kills.WITH_HISTORY)), BEGINNINGS.items()):
        story = begun(each, crash)
        calls = kills.calls(story.files, program)
        chosen = chance.sample([call for call in calls if call.name in kills.CHANGING], proof.sample) if proof.sample else calls
        proof.lose(kills.sweep(story, chosen, program, case=each, progress=proof.counting("kills")))
        _line(f"  {name}{', with a history' if each is not case else ''}: {len(chosen)} of {len(calls)} calls")


def fail_the_disk(proof):
    transfer = case_of(SUPPORT_DESK["transfer"]).under(POLICIES["intent"])
    for case, beginnings in ((case_of(SALES_REPORT), BEGINNINGS.values()), (transfer, INTENT_BEGINNINGS)):
        for crash, what, lasting in itertools.product(beginnings, faults.FAULTS, (False, True)):
            proof.lose(faults.sweep(case, begun(case, crash), what, lasting=lasting, progress=proof.counting("faults")))


def fail_for_real(proof):
    why_not = sandbox.why_not()
    if why_not:
        proof.not_run.append(f"a disk that is really full, a folder that is really read-only: {why_not}")
        return
    proof.lose(sandbox.trials(case_of(SALES_REPORT), progress=proof.counting("faults")))


def cut_the_power(proof):
    case = case_of(SALES_REPORT)
    for each, crash in itertools.product((case, case.under(HISTORY)), BEGINNINGS.values()):
        proof.lose(power.cut(each, begun(each, crash), progress=proof.counting("cuts")))
    for sync in ("fsync", "fsync folder"):
        found = power.cut(case, begun(case, None), dropped=sync)
        if not found:
            proof.lost.append(f"Without {sync} nothing was found to be lost, so the power cuts prove nothing.")
        else:
            _line(f"  without {sync}: {found[0][1]}")


PARTS = {
    "Every story of up to three kills, told in process": tell_stories,
    "The program killed at system calls that touch a file": kill_for_real,
    "A disk that fails at its n-th operation": fail_the_disk,
    "A full disk, a limit, a folder that can't be written": fail_for_real,
    "Power cuts": cut_the_power,
}


def _line(text):
    clear = "\r\x1b[K" if sys.stdout.isatty() else ""
    print(f"{clear}{text}", flush=True)
