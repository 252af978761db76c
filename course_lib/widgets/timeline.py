"""The clickable picture of a run. Its JavaScript is in timeline.js; nothing depends on it alone."""
from pathlib import Path

import anywidget
import traitlets

from ..moments import LABELS
from ..words import tr

WINDOW = 6  # turns drawn before and after the chosen one; the list of turns has them all


class Timeline(anywidget.AnyWidget):
    """grid: ``{"name", "columns": [text], "rows": [{"title", "cells": [{"index", "mark", "text"} or None]}]}``; value: the chosen index.

    A cell may stand for several moments: ``"all"`` has their indices, the one that a click chooses first.
    A cell ``{"line": text}`` is drawn and can't be chosen.
    """

    _esm = Path(__file__).with_name("timeline.js")
    grid = traitlets.Dict().tag(sync=True)
    value = traitlets.Int(0).tag(sync=True)

    def __repr__(self):
        return f"Timeline({self.value})"


def grid(points, turn, name, marks):
    """The grid around a turn. points: ``[(index, turn, Moment), ...]``; name: Moment → its words; marks: label → sign."""
    near = [point for point in points if abs(point[1] - turn) <= WINDOW]
    labels = [label for label in LABELS if any(moment.label == label for _, _, moment in near)]
    labels += dict.fromkeys(moment.label for _, _, moment in near if moment.label not in LABELS and moment.count)
    rows = []
    for row in sorted({turn for _, turn, _ in near}):
        here = {}
        for index, of, moment in near:
            if of == row:
                here.setdefault(moment.label, []).append((index, moment))
        cells = [None if label not in here else {"index": here[label][0][0], "all": [index for index, _ in here[label]],
                                                 "mark": marks.get(label, "·"), "text": name(here[label][0][1])} for label in labels]
        rows.append({"title": tr("turn {turn}", turn=row), "cells": cells})
    return {"name": tr("Moment of the run"), "columns": [short(label) for label in labels], "rows": rows}


def short(label):
    """A column's head."""
    return {
        "before-request": tr("ask"), "after-response": tr("answer"),
        "mid-save-a": "½ A", "after-save-a": "A", "after-approval": tr("yes"), "mid-intent": tr("½ intent"), "after-intent": tr("intent"),
        "mid-tool": tr("½ tool"), "after-tool": tr("tool"),
        "mid-effect-write": tr("½ ledger"), "after-effect-write": tr("ledger"),
        "mid-save-b": "½ B", "after-save-b": "B",
        "mid-final-save": tr("½ end"), "after-final-save": tr("end"),
    }.get(label, label)
