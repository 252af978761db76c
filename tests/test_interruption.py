"""What interruptions cost, against enumeration, the textbook's closed form and trying it out."""
import math
from fractions import Fraction
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.scenarios.interruption import (expected_tokens_restart, expected_tokens_resume, expected_turns_restart, expected_turns_resume,
                                               pays_off, simulate, tokens_of)

LENGTHS, CHANCES = st.integers(1, 200), st.floats(1e-6, 0.2)


def by_cases(n, p, paid):
    """The expected cost of starting over, exactly, from every place where the first interruption can come.

    paid(k) is what k turns in a row cost. E = sum over k of P(cut off in turn k) (paid(k) + E) + P(never cut off) paid(n), solved for E.
    """
    q = 1 - p
    first = [q ** (k - 1) * p for k in range(1, n + 1)]
    spent = sum(chance * paid(k) for k, chance in enumerate(first, 1)) + q ** n * paid(n)
    return spent / (1 - sum(first))


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 8), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("n", range(7))
def test_starting_over_costs_what_the_cases_add_up_to(n, p):
    assert expected_turns_restart(n, float(p)) == pytest.approx(float(by_cases(n, p, lambda k: k)), rel=1e-12)
    assert expected_tokens_restart(n, float(p), 100) == pytest.approx(float(by_cases(n, p, lambda k: 100 * k * (k + 1) / 2)), rel=1e-12)


def test_the_smallest_cases_by_hand():
    # Two heads in a row take six throws, one head takes two: known from school.
    assert (expected_turns_restart(1, 0.5), expected_turns_restart(2, 0.5), expected_turns_resume(2, 0.5)) == (2, 6, 4)
    # Turn 1 costs 10 tokens, turn 2 costs 20; turn 2 is reached by half of the starts and is paid twice, turn 1 four times.
    assert expected_tokens_restart(2, 0.5, 10) == 4 * 10 + 2 * 20
    assert expected_tokens_resume(2, 0.5, 10) == 2 * (10 + 20)


@given(LENGTHS, CHANCES)
def test_it_is_the_closed_form_of_the_lesson(n, p):
    assert expected_turns_restart(n, p) == pytest.approx(math.expm1(-n * math.log1p(-p)) / p, rel=1e-9)
    assert expected_turns_resume(n, p) == pytest.approx(n / (1 - p))
    assert expected_tokens_restart(n, p, 7) == pytest.approx(7 * math.fsum(k * (1 - p) ** -(n - k + 1) for k in range(1, n + 1)), rel=1e-9)


@pytest.mark.parametrize("n, p", [(1, 0.3), (5, 0.2), (40, 0.02), (60, 0.05)])
@pytest.mark.parametrize("resume", [False, True])
def test_trying_it_out_agrees_with_the_expectation(n, p, resume):
    runs = simulate(n, p, runs=2000, seed=7, resume=resume)
    turns, tokens = zip(*runs)
    expected = (expected_turns_resume(n, p), expected_tokens_resume(n, p, 1)) if resume else (expected_turns_restart(n, p), expected_tokens_restart(n, p, 1))
    for tried, value in zip((turns, tokens), expected):
        assert abs(mean(tried) - value) < 4 * stdev(tried) / math.sqrt(len(runs))


def test_the_same_seed_tries_the_same():
    assert simulate(20, 0.1, 50, seed=3, resume=False) == simulate(20, 0.1, 50, seed=3, resume=False) != simulate(20, 0.1, 50, seed=4, resume=False)


@pytest.mark.parametrize("n", [0, 1, 40, 10_000])
def test_where_nothing_is_interrupted_everything_costs_its_length(n):
    assert expected_turns_restart(n, 0) == expected_turns_resume(n, 0) == n
    assert expected_tokens_restart(n, 0, 3) == expected_tokens_resume(n, 0, 3) == tokens_of(n, 3) == 3 * sum(range(n + 1))
    assert simulate(n, 0, 2, seed=1, resume=False) == [(n, tokens_of(n, 1))] * 2
    assert not pays_off(n, 0, 0)


def test_ten_thousand_turns_are_out_of_reach_and_no_error():
    assert expected_turns_restart(10_000, 0.2) == expected_tokens_restart(10_000, 0.2, 1000) == math.inf
    assert expected_turns_resume(10_000, 0.2) == 12_500
    assert pays_off(10_000, 0.2, 1000)


@pytest.mark.parametrize("n, p, overhead", [
    (1, 0.2, 0),  # a single turn: nothing to lose but itself
    (2, 0.5, 0.5),  # 6 turns against 4 × 1.5
    (4, 0.5, 2.75),  # 30 turns against 8 × 3.75
    (0, 0.1, 0),
])
def test_a_draw_does_not_pay_off(n, p, overhead):
    assert not pays_off(n, p, overhead)
    if n > 1:
        assert pays_off(n, p, overhead - 1e-9)
        assert not pays_off(n, p, overhead + 1e-9)


@given(LENGTHS, CHANCES)
def test_a_free_checkpoint_pays_off_from_the_second_turn_on(n, p):
    assert pays_off(n, p, 0) == (n > 1)


@given(LENGTHS, CHANCES)
def test_tokens_suffer_no_less_than_nothing_and_no_more_than_turns(n, p):
    # The late turns are the dear ones, and a start reaches them seldom: so the tokens grow by a smaller factor than the turns.
    turns, tokens = expected_turns_restart(n, p) / n, expected_tokens_restart(n, p, 1) / tokens_of(n, 1)
    assert 1 / (1 - p) * (1 - 1e-9) <= tokens <= turns * (1 + 1e-9)


@given(st.integers(1, 10_000))
def test_twice_as_long_costs_between_three_and_four_times_the_tokens(n):
    assert 3 <= tokens_of(2 * n, 10) / tokens_of(n, 10) < 4


@pytest.mark.parametrize("function", [expected_turns_restart, expected_turns_resume, lambda n, p: pays_off(n, p, 0), lambda n, p: expected_tokens_restart(n, p, 1),
                                      lambda n, p: expected_tokens_resume(n, p, 1), lambda n, p: simulate(n, p, 1, 1, resume=True)])
@pytest.mark.parametrize("n, p, named", [(5, 1, "1"), (5, -0.1, "-0.1"), (5, 1.5, "1.5"), (5, math.nan, "nan"), (5, math.inf, "inf"), (5, "0.1", "'0.1'"),
                                         (-1, 0.1, "-1"), (2.5, 0.1, "2.5"), ("5", 0.1, "'5'"), (True, 0.1, "True")])
def test_what_makes_no_sense_is_refused_in_a_sentence(function, n, p, named):
    with pytest.raises(ValueError) as refusal:
        function(n, p)
    assert f" is {named}; give a " in str(refusal.value) and str(refusal.value).endswith(".")


@pytest.mark.parametrize("overhead", [-0.1, math.nan, math.inf, "0.1", None])
def test_a_price_that_makes_no_sense_is_refused_in_a_sentence(overhead):
    with pytest.raises(ValueError, match=f"overhead is {overhead!r}; give"):
        pays_off(5, 0.1, overhead)
