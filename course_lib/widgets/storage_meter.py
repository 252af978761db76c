"""StorageMeter: the room that one run takes, kept in turn files and in a history; beside it what others take for the same turns."""
import json
from pathlib import Path

import ipywidgets as W

from ..scenarios.growth import HISTORY, TURNS, growth
from ..words import numeral, tr
from .base import View
from .panels import esc

FIGURES = Path(__file__).resolve().parents[1] / "figures" / "history.json"  # written by tests/benchmark/compare.py
CHOICES = (10, 20, 40, 100)
_BAR = '<div aria-hidden="true" style="height:.5em;width:{share:.1f}%;min-width:1px;background:currentColor"></div>'


class StorageMeter(View):
    """The widget. From Python: ``choose(turns)``; ``result`` is the picture of what was measured."""

    def __init__(self, turns=20):
        self.turns = W.Dropdown(description=tr("Turns to run"), options=CHOICES, value=turns, style={"description_width": "max-content"}, layout=W.Layout(width="max-content"))
        self.picture, self.others = W.HTML(), W.HTML(others_html(figures()))
        super().__init__([self.turns, self.picture, self.others])
        self.on_change(self.turns, self._draw)
        self._draw()

    def choose(self, turns):
        """Run that many turns, one of CHOICES, kept both ways."""
        self.turns.value = turns

    @property
    def result(self):
        return self.picture.value

    def static_html(self):
        return meter_html(self.found)

    def __repr__(self):
        return "StorageMeter()"

    def _draw(self):
        self.found = growth(self.turns.value)
        self.picture.value = f'<div role="status">{meter_html(self.found)}</div>'


def meter_html(found):
    """What was measured. found: ``{TURNS: [bytes after turn 1, after turn 2, ...], HISTORY: [...]}``."""
    last = len(found[TURNS])
    half = last // 2
    rows = "".join(_row(found, turn) for turn in sorted({last // 4, half, last}))
    files, lines = (found[way][last - 1] / found[way][half - 1] for way in (TURNS, HISTORY))
    grown = tr("From turn {half} to turn {last} the turn files grew {files}-fold, the history {lines}-fold.", half=half, last=last,
               files=numeral(files, ".1f"), lines=numeral(lines, ".1f"))
    head = [tr("after turn"), tr("turn files"), "history.jsonl", tr("the files take")]
    return _table(tr("On disk, from a run of {n} turns made just now, kept both ways", n=last), head, rows) + f"<p><b>{esc(grown)}</b></p>"


def others_html(data):
    """What others take for the same turns. data: as compare.py writes it, or None."""
    if data is None:
        return f"<p>{esc(tr('What other libraries take for such turns is not measured here; python tests/benchmark/compare.py does that.'))}</p>"
    numbers = sorted({int(number) for rival in data["rivals"].values() for number in rival["turns"]})
    rows = "".join(f'<tr><th scope="row">{esc(rival["title"])}</th>'
                   + "".join(f"<td>{esc(_disk(rival, number))}</td>" for number in numbers) + "</tr>" for rival in data["rivals"].values())
    caption = tr("On disk with others, for turns of this size; measured {date}, see docs/figures.md", date=data["date"])
    return _table(caption, ["", *(tr("{n} turns", n=numeral(each)) for each in numbers)], rows)


def figures():
    """The figures of the last benchmark, or None where there are none that can be read."""
    try:
        return json.loads(FIGURES.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def size(count):
    """Bytes in words, to three digits: 512 bytes, 30.1 KB, 1.35 GB."""
    if count < 1000:
        return tr("{n} bytes", n=count)
    for unit in ("KB", "MB", "GB"):
        count /= 1000
        if count < 999.5 or unit == "GB":
            return f"{numeral(count, f'.{2 if count < 9.995 else 1 if count < 99.95 else 0}f')} {unit}"


def _row(found, turn):
    files, lines, most = found[TURNS][turn - 1], found[HISTORY][turn - 1], found[TURNS][-1]
    cells = "".join(f"<td>{esc(size(count))}{_BAR.format(share=100 * count / most)}</td>" for count in (files, lines))
    return f'<tr><th scope="row">{turn}</th>{cells}<td>{esc(tr("{x} times as much", x=numeral(files / lines, ".1f")))}</td></tr>'


def _disk(rival, number):
    figures = rival["turns"].get(str(number))
    return size(figures["disk"]["median"]) if figures else "–"


def _table(caption, head, rows):
    cells = "".join(f'<th scope="col">{esc(text)}</th>' if text else "<td></td>" for text in head)
    return f'<table style="width:100%"><caption style="text-align:left">{esc(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>'
