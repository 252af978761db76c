"""InterruptionCost: its numbers, its pictures, its static twin."""
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.scenarios.interruption import expected_tokens_resume, expected_turns_restart
from course_lib.widgets.interruption_cost import PER_TURN, RESTART, RESUME, InterruptionCost, chart_svg, charts_html, figures, number, table_html


def cells(html):
    return [re.sub("<[^>]+>", "", cell) for cell in re.findall("<t[dh][^>]*>.*?</t[dh]>", html)]


def pictures(html):
    return [ElementTree.fromstring(svg) for svg in re.findall("<svg.*?</svg>", html)]


def drawn(svg, tag):
    return [element for element in svg.iter() if element.tag.endswith(tag)]


def words(svg):
    return [element.text for element in drawn(svg, "text")]


def test_the_table_has_the_formulas_of_the_chosen_task():
    # (0.98^-40 - 1) / 0.02 = 62.19; 40 × 1.05 / 0.98 = 42.86; 820 turns' worth / 0.98 = 836,735 tokens
    shown = cells(table_html(figures(40, 0.02, 0.05)))
    assert shown[5:7] == ["start over", "62.2"] and shown[10:12] == ["resume", "42.9"] and shown[13] == "836,735"


@pytest.mark.parametrize("n, p, price, verdict", [(40, 0.02, 0.05, "Checkpoints pay off here."), (40, 0, 0.05, "don't pay off"),
                                                  (1, 0.2, 0, "don't pay off"), (3, 0.01, 0.05, "don't pay off")])
def test_the_verdict_says_whether_it_pays(n, p, price, verdict):
    from html import unescape
    assert verdict in unescape(table_html(figures(n, p, price)))


def test_the_lines_are_the_formula_and_end_at_the_chosen_length():
    found = figures(40, 0.02, 0.5)
    assert found["lines"]["turns"][RESTART][-1] == (40, expected_turns_restart(40, 0.02))
    assert found["lines"]["turns"][RESUME][-1] == (40, pytest.approx(40 * 1.5 / 0.98))
    assert found["lines"]["tokens"][RESUME][-1] == (40, expected_tokens_resume(40, 0.02, PER_TURN))  # saving costs no tokens
    assert [way[0][0] for way in found["lines"]["tokens"].values()] == [1, 1]


@pytest.mark.parametrize("n, p", [(40, 0.02), (200, 0.005), (20, 0.1)])
def test_the_dots_lie_about_the_lines(n, p):
    found = figures(n, p, 0.05)
    for what, ways in found["dots"].items():
        for way, dots in ways.items():
            assert len(dots) == 8
            line = dict(found["lines"][what][way])
            assert all(0.6 < cost / line[length] < 1.6 for length, cost in dots if length in line)


def test_a_dot_that_would_take_for_ever_is_left_out_and_the_table_says_so():
    found = figures(200, 0.2, 0)
    assert len(found["dots"]["turns"][RESTART]) < 8 == len(found["dots"]["turns"][RESUME])
    assert "would take too long" in cells(table_html(found))


def test_the_same_choice_gives_the_same_picture():
    assert charts_html(figures(40, 0.02, 0.05)) == charts_html(figures(40, 0.02, 0.05))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.floats(0, 0.2), st.floats(0, 10))
def test_everything_drawn_lies_inside_the_picture(n, p, price):
    for svg in pictures(charts_html(figures(n, p, price))):
        _, _, width, height = map(float, svg.get("viewBox").split())
        points = [pair.split(",") for line in drawn(svg, "polyline") for pair in line.get("points").split()]
        points += [(dot.get("cx"), dot.get("cy")) for dot in drawn(svg, "circle")] + [(text.get("x"), text.get("y")) for text in drawn(svg, "text")]
        points += [(dot.get("x"), dot.get("y")) for dot in drawn(svg, "rect")]
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in points)


def test_the_scale_is_logarithmic_only_where_the_ways_lie_far_apart():
    near, far = charts_html(figures(40, 0.02, 0.05)), charts_html(figures(200, 0.2, 0.05))
    assert "Turns paid (linear scale)" in near and "Tokens paid (linear scale)" in near
    assert "Turns paid (logarithmic scale)" in far and "Tokens paid (logarithmic scale)" in far
    assert "Turns paid (logarithmic scale)" in charts_html(figures(200, 0.02, 0.05))  # 2793 against 214
    assert {"10^1", "10^17"} <= set(words(pictures(far)[0])) and {"0", "20", "40", "60"} <= set(words(pictures(near)[0]))


def test_on_a_linear_scale_heights_are_proportional_to_costs():
    lines = {RESTART: [(1, 0), (2, 5), (3, 10)], RESUME: [(1, 0), (2, 2), (3, 4)]}
    svg, = pictures(chart_svg("x", lines, {RESTART: [], RESUME: []}))
    heights = [[float(pair.split(",")[1]) for pair in line.get("points").split()] for line in drawn(svg, "polyline")]
    (zero, half, top), (_, _, four) = heights
    assert zero - half == pytest.approx(half - top) and (zero - four) / (zero - top) == pytest.approx(0.4, abs=0.01)


def test_the_two_ways_are_told_apart_without_colour_and_the_picture_is_told_in_words():
    svg = pictures(charts_html(figures(40, 0.02, 0.05)))[0]
    assert [line.get("stroke-dasharray") is None for line in drawn(svg, "polyline")] == [False, True]
    assert drawn(svg, "rect") and drawn(svg, "circle") and {"start over", "resume"} <= set(words(svg))
    assert svg.get("role") == "img" and "start over: 62.2" in svg.get("aria-label")


@pytest.mark.parametrize("value, said", [(0, "0"), (1, "1"), (62.19, "62.2"), (999.96, "1000"), (12345.4, "12,345"), (1_234_567, "1.2 million"), (2e6, "2 million"),
                                         (1.2e20, "1.2 × 10^20"), (1e9, "1 × 10^9")])
def test_numbers_are_short_and_readable(value, said):
    assert number(value) == said


def test_a_choice_redraws_and_what_is_out_of_range_is_brought_back():
    lab = InterruptionCost()
    before = lab.result
    lab.choose(100, 5, 0.1)
    assert lab.result != before and "100 turns, 5.0 % each" in lab.result
    lab.choose(500, 90, -1)
    assert (lab.turns.value, lab.percent.value, lab.price.value) == (200, 20, 0)
    assert not lab.alert.value


def test_the_static_twin_is_a_table_and_the_name_is_stable():
    lab = InterruptionCost()
    assert "<table>" in lab.static_html() and "<svg" not in lab.static_html() and "<style" not in lab.static_html()
    assert repr(lab) == "InterruptionCost()"
