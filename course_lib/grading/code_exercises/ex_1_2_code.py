"""Exercise 1.2, second part, beyond the lesson: what interruptions cost, and when checkpoints are worth it. (lesson 1)"""
import math
from fractions import Fraction

from ...scenarios.interruption import simulate
from ...words import mark, tr
from ..driver import RAISED, RETURNED
from .answer import code_exercise, criterion, no_own_error, outcome, runs, shown, slip

CLOSE = 1e-9  # of exact values, as a ratio
RUNS = 4000  # of a simulation; its average is then within a tenth of the truth, nearly always: turns of a run scatter about as far as their average
BOTH = ("expected_turns_restart", "expected_turns_resume")


def exact(name, n, p):
    """By going through the turns one at a time, in fractions: no formula to get wrong, and nothing is rounded."""
    if name == "expected_turns_resume":
        return sum(1 / (1 - p) for _ in range(n))  # each turn is tried until it goes through
    total = Fraction(0)
    for _ in range(n):
        total = (total + 1) / (1 - p)  # whoever has k turns in a row pays one more, and with chance p begins again
    return total


def compared(answer, name, n, p, wanted, hint, allowed=CLOSE, story=""):
    given = answer.call(name, n, float(p))
    if type(given) not in (int, float):
        slip("no-number", tr("{name}({n}, {p}) gave {value}", name=name, n=n, p=float(p), value=shown(given)), tr("an int or a float: {value}", value=shown(float(wanted))))
    if not abs(given - wanted) <= allowed * wanted:
        slip(hint, tr("{name}({n}, {p}) gave {value}", name=name, n=n, p=float(p), value=shown(given)), tr("{value}", value=shown(float(wanted))), story)


@criterion("no_cuts", mark("Where nothing is ever cut off, n turns cost n turns, either way."))
def no_cuts(answer):
    for name in BOTH:
        for n in (1, answer.random.randrange(2, 60)):
            compared(answer, name, n, Fraction(0), n, "no-cuts")


@criterion("exact", mark("A few turns: exactly what one gets by going through them one at a time."))
def exactly(answer):
    for name in BOTH:
        for n, p in [(1, Fraction(1, 2)), (2, Fraction(1, 2)), (3, Fraction(answer.random.randrange(1, 16), 16)), (5, Fraction(answer.random.randrange(1, 16), 16))]:
            compared(answer, name, n, p, exact(name, n, p), "restart" if name == BOTH[0] else "resume",
                     story=tr("Two turns, one cut in two: going through it by hand, the first turn takes 2 tries on average. Then comes the second, and what a cut costs there is the question."))


@criterion("simulated", mark("Longer tasks: what a simulation of thousands of runs finds."))
def simulated(answer):
    n, p = answer.random.randrange(8, 14), Fraction(1, 5)
    for name in BOTH:
        turns = [turns for turns, _ in simulate(n, float(p), RUNS, answer.seed, name == BOTH[1])]
        compared(answer, name, n, p, Fraction(sum(turns), RUNS), "restart" if name == BOTH[0] else "resume", 0.1, tr("{runs} runs were played, cut by cut, and this is their average.", runs=RUNS))


@criterion("long", mark("A very long task gives an answer and no error: 10,000 turns, one in five cut off."))
def long(answer):
    n, p = 10_000, 0.2
    for name, args, fits, wanted in [(BOTH[0], (n, p), lambda v: type(v) in (int, float) and v > 1e300, tr("a number beyond all others, or infinity")),
                                     (BOTH[1], (n, p), lambda v: type(v) in (int, float) and math.isclose(v, 12_500), "12500.0"),
                                     ("pays_off", (n, p, 0.5), lambda v: v is True, "True")]:
        ended = answer.process.call(name, *args)
        if ended.status not in (RETURNED, RAISED):
            answer.got(ended, name)
        if ended.status == RAISED or not fits(ended.value):
            hint, story = {
                "RecursionError": ("recursion", tr("Each turn is a call inside of the call before. Python puts an end to that after about a thousand, and there are 10,000 turns.")),
                "ZeroDivisionError": ("underflow", tr("What this line divides by is so small that a float takes it for 0. Starting over would never end, and that is the answer."))}.get(
                    ended.error, ("long", tr("Starting over would never end: the average has some 970 digits, more than a float can hold. That is the answer, not a reason to break off.")))
            slip(hint, f"{name}{args}: {shown(ended.value) if ended.status == RETURNED else answer.words(ended, name)}", wanted, "" if name == BOTH[1] else story)


@criterion("refused", mark("A chance that is none, below 0 or from 1 up, is refused with an error."))
def refused(answer):
    for name in (*BOTH, "pays_off"):
        for p in (-0.1, 1, 1.5):
            args = (5, p, 0.1)[:3 if name == "pays_off" else 2]
            ended = answer.process.call(name, *args)
            fault = no_own_error(answer, ended, name)
            if fault or "ValueError" not in (ended.error, *ended.kinds):
                slip("refused", f"{name}{args}: {fault or outcome(answer, ended, name)}", tr("a ValueError that you raise, with a sentence"))


@criterion("pays_off", mark("Checkpoints pay off where they cost strictly less, what saving costs counted in."))
def pays_off(answer):
    half = Fraction(1, 2)
    cases = [(30, Fraction(0), Fraction(0)), (1, half, Fraction(0)), (30, Fraction(0), Fraction(1, 20)), (2, Fraction(1, 100), half), (40, Fraction(1, 10), Fraction(1, 20)),
             # Starting over costs 1.991 times as much here, so it is decided by a little: by whether each turn is dearer, those that are paid again as well.
             (8, Fraction(16, 100), Fraction(95, 100)), (8, Fraction(16, 100), Fraction(103, 100))]
    for _ in range(8):
        n, p, overhead = answer.random.randrange(2, 40), Fraction(answer.random.randrange(1, 20), 100), Fraction(answer.random.randrange(1, 200), 100)
        if abs(exact(BOTH[1], n, p) * (1 + overhead) / exact(BOTH[0], n, p) - 1) > CLOSE:
            cases.append((n, p, overhead))
    for n, p, overhead in cases:
        wanted = exact(BOTH[1], n, p) * (1 + overhead) < exact(BOTH[0], n, p)
        given = answer.call("pays_off", n, float(p), float(overhead))
        if given is not wanted:
            slip("pays-off", tr("pays_off({n}, {p}, {overhead}) gave {value}", n=n, p=float(p), overhead=float(overhead), value=shown(given)), shown(wanted),
                 tr("Resuming costs {resume} turns, saving included; starting over costs {restart}.",
                    resume=f"{float(exact(BOTH[1], n, p) * (1 + overhead)):.4g}", restart=f"{float(exact(BOTH[0], n, p)):.4g}"))


EXERCISE = code_exercise(
    "1.2-code", mark("What interruptions cost, computed"),
    (runs(*BOTH, "pays_off"), no_cuts, exactly, simulated, refused, pays_off, long),
    {
        "no-cuts": [mark("With p = 0 every turn goes through at the first try."), mark("A formula that divides by p has nothing to say at 0; give n there.")],
        "restart": [mark("Whoever has k turns in a row needs one more, and with chance p all of them again."), mark("From E turns for k in a row to those for k+1: (E + 1) / (1 - p). Begin with 0."),
                    mark("In closed form: ((1-p) to the power of -n, minus 1) / p.")],
        "resume": [mark("Each turn is tried until it goes through, and no turn knows of the others."), mark("How many tries does one turn take on average, if each goes through with chance 1 - p? n times that.")],
        "no-number": [mark("What does the function give, and of which type is it? Print type(…) of it."), mark("A function gives what stands after return; float(…) makes a float of a Fraction or a Decimal.")],
        "underflow": [mark("Python's smallest float is near 5e-324. What does (1 - p) ** n come to, for 10,000 turns?"), mark("Catch ZeroDivisionError and give math.inf; or go turn by turn, which runs into inf by itself.")],
        "recursion": [mark("How many calls are under way at the same time when the innermost one begins?"), mark("A for needs none: begin with 0 and go from k turns to k + 1, n times.")],
        "long": [mark("Python's floats end near 1.8e308. What does the line do that comes to it first?"), mark("Catch OverflowError and give math.inf; or go turn by turn, which runs into inf by itself.")],
        "refused": [mark("p is a chance: 0 is one, 1 would mean that no turn ever goes through."), mark("if not 0 <= p < 1: raise ValueError with a sentence, at the top of both functions.")],
        "pays-off": [mark("Each turn is dearer by overhead, those that are paid a second time as well."), mark("At the same price there is no reason for more machinery: <, not <=."), mark("resume × (1 + overhead) < restart")],
    })
