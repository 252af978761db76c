# exercise 1.2-code
import math

# A task of n turns; each turn is cut off with chance p, whatever happened before, and a turn that was cut off is paid for.


def expected_turns_restart(n, p):
    """Turns paid on average until n have gone through in a row, if each cut starts the task over. p outside 0 ≤ p < 1: ValueError."""
    ...


def expected_turns_resume(n, p):
    """Turns paid on average if a cut costs only the turn that it hit. p outside 0 ≤ p < 1: ValueError."""
    ...


def pays_off(n, p, overhead):
    """Whether resuming costs strictly less than starting over, where saving makes each turn dearer by overhead, in turns (0.05: 5 %)."""
    ...
