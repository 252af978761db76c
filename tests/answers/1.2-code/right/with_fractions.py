# exercise 1.2-code
from fractions import Fraction
import math


def valid(p):
    if not 0 <= p < 1:
        raise ValueError(f"{p} is no chance that leaves hope")


def expected_turns_restart(n, p):
    valid(p)
    q = 1 - p
    return n if p == 0 else (math.inf if n * -math.log(q) > 700 else (q ** -n - 1) / p)


def expected_turns_resume(n, p):
    valid(p)
    return float(n / Fraction(1 - p))


def pays_off(n, p, overhead):
    return bool(expected_turns_resume(n, p) * (1 + overhead) < expected_turns_restart(n, p))
