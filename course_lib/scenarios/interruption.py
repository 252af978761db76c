"""What interruptions cost a long task: starting over against resuming. (lesson 1, beyond it)

Each turn is cut off with chance p, whatever happened before, and a turn that was cut off has
been paid for. Starting over loses all turns so far; resuming loses only the one under way.
Every request sends the whole conversation again, so turn k costs k times what turn 1 does,
and the tokens of a task grow with the square of its length.

Left out: prompt caching, which makes the repeated part cheaper but no shorter, and the turn
that a resume need not ask for again because its Point A was saved.
"""
import math
from itertools import repeat
from random import Random


def expected_turns_restart(n, p):
    """Turns paid on average until n of them have gone through in a row: ((1-p)^-n - 1) / p, and n where p is 0.

    Beyond the largest float it is inf. Raises ValueError where n or p makes no sense.
    """
    _check(n, p)
    return _starting_over(repeat(1, n), p)


def expected_turns_resume(n, p):
    """Turns paid on average where only the interrupted one is paid again: n / (1-p). Raises ValueError."""
    _check(n, p)
    return n / (1 - p)


def pays_off(n, p, overhead):
    """Whether checkpoints come out strictly cheaper than starting over: n (1+overhead) / (1-p) < ((1-p)^-n - 1) / p.

    overhead: the price of saving, in extra turns per turn; 0.05 makes every turn 5 % dearer. Raises ValueError.
    """
    if not (isinstance(overhead, (int, float)) and 0 <= overhead < math.inf):
        raise ValueError(f"The overhead is {overhead!r}; give the extra turns per turn as a number from 0 up, such as 0.05.")
    return expected_turns_resume(n, p) * (1 + overhead) < expected_turns_restart(n, p)


def tokens_of(n, per_turn):
    """Tokens of n turns without an interruption: per_turn × (1 + 2 + … + n) = per_turn × n (n+1) / 2.

    per_turn: what one turn adds to the conversation. Request k sends k-1 of these again and gets the k-th.
    """
    return per_turn * n * (n + 1) / 2


def expected_tokens_restart(n, p, per_turn):
    """Tokens paid on average when every interruption starts over: per_turn × the sum of k (1-p)^-(n-k+1) for k = 1 … n.

    A start reaches turn k with chance (1-p)^(k-1), and (1-p)^-n starts are needed, so turn k is paid (1-p)^-(n-k+1)
    times, at k × per_turn each. Raises ValueError.
    """
    _check(n, p)
    return _starting_over((per_turn * k for k in range(1, n + 1)), p)


def expected_tokens_resume(n, p, per_turn):
    """Tokens paid on average where only the interrupted turn is paid again: tokens_of(n, per_turn) / (1-p). Raises ValueError."""
    _check(n, p)
    return tokens_of(n, per_turn) / (1 - p)


def simulate(n, p, runs, seed, resume):
    """The same by trying it out: ``[(turns, tokens), ...]`` of that many runs, for a per_turn of 1. Raises ValueError.

    It takes every turn one by one, so what would take for ever takes for ever.
    """
    _check(n, p)
    chance, paid = Random(seed), []
    for _ in range(runs):
        done = turns = tokens = 0
        while done < n:
            turns, tokens = turns + 1, tokens + done + 1
            if chance.random() >= p:
                done += 1
            elif not resume:
                done = 0
        paid.append((turns, tokens))
    return paid


def _starting_over(costs, p):
    # E_k = (E_(k-1) + cost_k) / (1-p): whoever wants k turns in a row needs k-1, pays for one more,
    # and with chance p begins again. Summed like this, 1-p needs no power, so nothing overflows but to inf.
    total = 0.0
    for cost in costs:
        total = (total + cost) / (1 - p)
    return total


def _check(n, p):
    if type(n) is not int or n < 0:
        raise ValueError(f"The number of turns is {n!r}; give a whole number from 0 up.")
    if not (isinstance(p, (int, float)) and 0 <= p < 1):
        raise ValueError(f"The chance of an interruption is {p!r}; give a number from 0 up to, but not including, 1.")
