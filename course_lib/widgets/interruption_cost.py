"""InterruptionCost: what a long task costs when every turn may be its last, started over or resumed."""
import math
from statistics import mean

import ipywidgets as W

from ..scenarios.interruption import (expected_tokens_restart, expected_tokens_resume, expected_turns_restart, expected_turns_resume,
                                      pays_off, simulate)
from ..words import numeral, tr
from .base import View
from .panels import esc

PER_TURN = 1000  # tokens that one turn adds to the conversation
RUNS, PATIENCE = 200, 1000  # runs behind each dot; no dot where one run takes more turns than this on average
RESTART, RESUME = "restart", "resume"
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 400, 230, 76, 12, 10, 40
_LOOKS = {RESTART: 'stroke="var(--jp-error-color1,currentColor)" stroke-dasharray="7 4"', RESUME: 'stroke="var(--jp-brand-color1,currentColor)"'}


class InterruptionCost(View):
    """The widget. From Python: ``choose(turns, percent, price)``; ``result`` is the picture and the table."""

    def __init__(self):
        wide = {"style": {"description_width": "20em"}, "layout": W.Layout(width="28em", max_width="100%")}
        self.turns = W.BoundedIntText(description=tr("Turns of the task (1 to 200)"), value=40, min=1, max=200, **wide)
        self.percent = W.BoundedFloatText(description=tr("Interruptions per turn, in % (0 to 20)"), value=2, min=0, max=20, step=0.5, **wide)
        self.price = W.BoundedFloatText(description=tr("Price of saving, in turns per turn"), value=0.05, min=0, max=10, step=0.05, **wide)
        self.picture = W.HTML()
        super().__init__([self.turns, self.percent, self.price, self.picture])
        for control in (self.turns, self.percent, self.price):
            self.on_change(control, self._draw)
        self._draw()

    def choose(self, turns, percent, price):
        """Set all three at once."""
        self.turns.value, self.percent.value, self.price.value = turns, percent, price

    @property
    def result(self):
        return self.picture.value

    def static_html(self):
        return table_html(self._figures())

    def __repr__(self):
        return "InterruptionCost()"

    def _figures(self):
        return figures(self.turns.value, self.percent.value / 100, self.price.value)

    def _draw(self):
        found = self._figures()
        self.picture.value = f'<div role="status">{table_html(found)}</div>{charts_html(found)}'


def figures(n, p, price):
    """Everything that is shown, as plain data.

    lines, dots: ``{"turns" or "tokens": {RESTART or RESUME: [(length, cost), ...]}}``, up to length n; dots are
    means of RUNS simulated runs and are missing where a run would take too long.
    """
    lengths = sorted({round(1 + (n - 1) * i / 50) for i in range(51)})
    lines = {"turns": {RESTART: [(k, expected_turns_restart(k, p)) for k in lengths],
                       RESUME: [(k, expected_turns_resume(k, p) * (1 + price)) for k in lengths]},
             "tokens": {RESTART: [(k, expected_tokens_restart(k, p, PER_TURN)) for k in lengths],
                        RESUME: [(k, expected_tokens_resume(k, p, PER_TURN)) for k in lengths]}}
    dots = {what: {RESTART: [], RESUME: []} for what in lines}
    for k in sorted({math.ceil(n * i / 8) for i in range(1, 9)}):
        for way in (RESTART, RESUME):
            if way == RESUME or expected_turns_restart(k, p) <= PATIENCE:
                turns, tokens = map(mean, zip(*simulate(k, p, RUNS, k, resume=way == RESUME)))
                dots["turns"][way].append((k, turns * (1 + price if way == RESUME else 1)))
                dots["tokens"][way].append((k, tokens * PER_TURN))
    return {"n": n, "p": p, "price": price, "lines": lines, "dots": dots, "pays_off": pays_off(n, p, price)}


def table_html(found):
    """The numbers for the whole task, with the verdict."""
    n = found["n"]
    head = [tr("{n} turns, {p} % each", n=n, p=numeral(found["p"] * 100, ".1f")), tr("turns, expected"), tr("turns, tried {runs} times", runs=RUNS),
            tr("tokens, expected"), tr("tokens, tried {runs} times", runs=RUNS)]
    rows = ""
    for way in (RESTART, RESUME):
        cells = [number(points[-1][1]) if points and points[-1][0] == n else tr("would take too long")
                 for what in ("turns", "tokens") for points in (found["lines"][what][way], found["dots"][what][way])]
        rows += f'<tr><th scope="row">{esc(names()[way])}</th>' + "".join(f"<td>{esc(cell)}</td>" for cell in cells) + "</tr>"
    verdict = (tr("Checkpoints pay off here.") if found["pays_off"] else
               tr("Checkpoints don't pay off here: saving costs as many turns as it rescues, or more."))
    return ("<table><thead><tr>" + "".join(f'<th scope="col">{esc(text)}</th>' for text in head) + f"</tr></thead><tbody>{rows}</tbody></table>"
            f"<p><b>{esc(verdict)}</b> {esc(tr('Each turn adds {n} tokens; saving takes time, but no tokens.', n=number(PER_TURN)))}</p>")


def names():
    return {RESTART: tr("start over"), RESUME: tr("resume")}


def number(value):
    """A cost in words: 62.2, 12,345, 3.4 million, 1.2 × 10^20."""
    if value < 1000:
        return numeral(float(f"{value:.1f}"), "g")
    if value < 1e6:
        return numeral(value, ",.0f")
    if value < 1e9:
        return tr("{n} million", n=numeral(float(f"{value / 1e6:.1f}"), "g"))
    digits, exponent = f"{value:.1e}".split("e")
    return f"{numeral(float(digits), 'g')} × 10^{int(exponent)}"


def charts_html(found):
    """Both pictures side by side, or one below the other where there is no room."""
    titles = {"turns": tr("Turns paid"), "tokens": tr("Tokens paid")}
    pictures = "".join(chart_svg(titles[what], found["lines"][what], found["dots"][what]) for what in titles)
    legend = tr("Lines: the formula. Dots: the mean of {runs} simulated runs of that length.", runs=RUNS)
    return f'<div style="display:flex;flex-wrap:wrap;gap:8px">{pictures}</div><p>{esc(legend)}</p>'


def chart_svg(title, lines, dots):
    """Costs over the length of the task. lines, dots: ``{way: [(length, cost), ...]}``; the scale is logarithmic where the ways lie far apart."""
    ends = {way: points[-1][1] for way, points in lines.items()}
    n, top = lines[RESUME][-1][0], max(max(cost for _, cost in points) for points in (*lines.values(), *dots.values()) if points)
    log = max(ends.values()) > 10 * min(ends.values())
    bottom = min(points[0][1] for points in lines.values()) if log else 0

    def at(length, cost):
        share = math.log(max(cost, bottom) / bottom) / math.log(top / bottom) if log else cost / top
        across = (length - 1) / (n - 1) if n > 1 else 0.5
        return _LEFT + across * (_WIDTH - _LEFT - _RIGHT), _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    scale = tr("logarithmic scale") if log else tr("linear scale")
    said = "; ".join(f"{names()[way]}: {number(cost)}" for way, cost in ends.items())
    label = tr("{title} by the length of the task, up to {n} turns: {said}", title=title, n=n, said=said)
    parts = [_axes(at, _ticks(bottom, top, log), n, log)]
    for way, points in lines.items():
        path = " ".join("{:.1f},{:.1f}".format(*at(*point)) for point in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke-width="2" {_LOOKS[way]}/>')
        parts += [_dot(way, *at(*point)) for point in dots[way]]
    parts.append(_legend())
    return (f'<div><b>{esc(title)} ({esc(scale)})</b><br><svg role="img" aria-label="{esc(label)}" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
            'style="max-width:100%;height:auto;color:var(--jp-content-font-color1,CanvasText)" font-family="inherit" font-size="12">'
            + "".join(parts) + "</svg></div>")


def _ticks(bottom, top, log):
    """The costs that get a line and a label: about four, all round."""
    if log:
        first, last = math.ceil(math.log10(bottom) - 1e-9), math.floor(math.log10(top))
        return [10 ** exponent for exponent in range(first, last + 1, (last - first) // 5 + 1)]
    step = 10 ** math.floor(math.log10(top / 2))
    step *= next(factor for factor in (1, 2, 5, 10) if top / (step * factor) <= 5)
    return [step * i for i in range(math.floor(top / step) + 1)]


def _axes(at, costs, n, log):
    parts = []
    for cost in costs:
        y = at(1, cost)[1]
        parts.append(f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="currentColor" stroke-opacity=".25"/>')
        parts.append(_text(_LEFT - 6, y + 4, f"10^{len(str(cost)) - 1}" if log else number(cost), "end"))
    for length in sorted({1, (n + 1) // 2, n}):
        parts.append(_text(at(length, costs[-1])[0], _HEIGHT - _BOTTOM + 16, str(length), "middle"))
    parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 6, tr("turns of the task"), "middle"))
    return "".join(parts)


def _legend():
    parts = []
    for row, way in enumerate(names()):
        y = _TOP + 14 + 18 * row
        parts.append(f'<line x1="{_LEFT + 8}" y1="{y}" x2="{_LEFT + 40}" y2="{y}" stroke-width="2" {_LOOKS[way]}/>')
        parts += [_dot(way, _LEFT + 24, y), _text(_LEFT + 46, y + 4, names()[way], "start")]
    return "".join(parts)


def _dot(way, x, y):
    # Told apart by shape, not by colour: squares and circles.
    if way == RESTART:
        return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" fill="none" stroke="currentColor"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="currentColor"/>'


def _text(x, y, text, anchor):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor">{esc(text)}</text>'
