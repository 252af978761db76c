# fails: pays_off "pays_off(8, 0.16, 1.03)"
# exercise 1.2-code
import math

# A task of n turns; each turn is cut off with chance p, whatever happened before, and a turn that was cut off is paid for.


def expected_turns_restart(n, p):
    """Turns paid on average until n have gone through in a row, if each cut starts the task over. p outside 0 ≤ p < 1: ValueError."""
    check_chance(p)
    if p == 0:
        return n
    try:
        return ((1 - p) ** -n - 1) / p
    except OverflowError:
        return math.inf  # more than a float can say


def expected_turns_resume(n, p):
    """Turns paid on average if a cut costs only the turn that it hit. p outside 0 ≤ p < 1: ValueError."""
    check_chance(p)
    return n / (1 - p)


def pays_off(n, p, overhead):
    """Whether resuming costs strictly less than starting over, where saving makes each turn dearer by overhead, in turns (0.05: 5 %)."""
    return expected_turns_resume(n, p) * (1 + overhead * (1 - p / 2)) < expected_turns_restart(n, p)


def check_chance(p):
    if not 0 <= p < 1:
        raise ValueError(f"The chance of a cut is {p}; it has to be from 0 up to, but not including, 1.")
