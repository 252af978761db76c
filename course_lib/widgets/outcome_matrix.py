"""OutcomeMatrix: for one tool, every moment × every policy, each cell by really running it.

Choose a cell, and that run opens in CrashLab below: killed there, ready to be resumed.
"""
from dataclasses import replace

import ipywidgets as W

from ..errors import CourseError
from ..moments import LABELS
from ..scenarios import oracle
from ..scenarios.code import write_code
from ..scenarios.matrix import crash_of, matrix
from ..scenarios.policies import LESSON_6, POLICIES
from ..scenarios.support_desk import SUPPORT_DESK
from ..words import tr
from .base import View
from .crash_lab import MARKS, CrashLab, meaning
from .panels import esc
from .timeline import Timeline

YOURS = "yours"


def signs():
    """Each outcome as a sign and its meaning: a number says how often the effect is there. ``{outcome: (sign, text)}``"""
    return {
        oracle.ONCE: ("1", tr("once")),
        oracle.RAN_TWICE: ("1*", tr("ran again, and the world is as after one run")),
        oracle.TWICE: ("2!", tr("twice")),
        oracle.LOST: ("0!", tr("never, and nobody knows")),
        oracle.ASKS_DONE: ("?1", tr("a person has to look; it has happened")),
        oracle.ASKS_NOT_DONE: ("?0", tr("a person has to look; it has not happened")),
        oracle.REJECTED: ("400", tr("the API refuses the conversation")),
        oracle.RUN_LOST: ("×", tr("the run is lost")),
        oracle.UNFINISHED: ("–", tr("it stopped with an error")),
    }


class OutcomeMatrix(View):
    """The widget. tool: the one to begin with. functions: a student's own, which get a column of their own.

    From Python: ``choose(policy, label)`` opens a cell's run in ``lab``; ``outcomes`` has the cells of the tool,
    ``{(policy, label): outcome}``.
    """

    def __init__(self, tool="send_email", *, functions=None):
        self.policies = dict(POLICIES)
        if functions:
            self.policies[YOURS] = replace(LESSON_6, name=YOURS, title=tr("your functions"), own=dict(functions))
        narrow = {"style": {"description_width": "initial"}}
        self.tool = W.Dropdown(description=tr("Tool"), options=list(SUPPORT_DESK), value=tool, layout=W.Layout(width="max-content"), **narrow)
        self.grid = Timeline()
        self.policy = W.Dropdown(description=tr("Policy"), layout=W.Layout(width="max-content"), **narrow)
        self.moment = W.Dropdown(description=tr("Moment"), layout=W.Layout(flex="1 1 16em"), **narrow)
        self.open_button = W.Button(description=tr("Open this run in CrashLab"), icon="search", layout=W.Layout(width="max-content"))
        self.key, self.place = W.HTML(), W.VBox([])
        self.lab = None
        row = W.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([self.tool, self.grid, W.HBox([self.policy, self.moment, self.open_button], layout=row), self.key, self.place])
        self.on_change(self.tool, self._change_tool)
        self.on_change(self.grid, self._open_cell)
        self.on_change(self.policy, self._list_moments)
        self.on_click(self.open_button, lambda: self.choose(self.policy.value, self.moment.value))
        self._compute()

    def choose(self, policy, label):
        """Open the run of a cell: killed at that moment under that policy."""
        scenario, policy = SUPPORT_DESK[self.tool.value], self.policies[policy]
        crash = crash_of(scenario, policy, label)
        if policy.own:
            self.lab = CrashLab(scenario, functions=policy.own)
            self.lab.choose(*crash)
            self.lab.kill()
        else:
            self.lab = CrashLab(write_code(scenario, policy, [crash]))
        self.place.children = [self.lab]

    def static_html(self):
        return table_html(self.tool.value, self.outcomes)

    def __repr__(self):
        return f"OutcomeMatrix({self.tool.value!r})"

    def _change_tool(self):
        self.place.children = []  # what was opened there was a run of the other tool
        self._compute()

    def _compute(self):
        cells = matrix([self.tool.value], [policy for policy in self.policies.values() if not policy.own])
        trouble = ""
        if YOURS in self.policies:
            try:
                cells |= matrix([self.tool.value], [self.policies[YOURS]])
            except CourseError as error:
                trouble = str(error)
        self.outcomes = {(policy, label): outcome for (_, policy, label), outcome in cells.items()}
        self.cells = list(self.outcomes)
        self.key.value = _key_html(self.outcomes)
        self.grid.value = -1
        self.grid.grid = _grid(self.tool.value, self.outcomes, self.cells, self.policies)
        self.policy.options = [(tr(policy.title), name) for name, policy in self.policies.items()
                               if any(name == of for of, _ in self.cells)]
        self.policy.index = 0
        self._list_moments()
        if trouble:  # last, since each change of a control clears what was said before
            self._show_alert(trouble)

    def _list_moments(self):
        labels = [label for policy, label in self.cells if policy == self.policy.value]
        self.moment.options = [(f"{MARKS.get(label, '')} {meaning(label)}: {signs()[self.outcomes[self.policy.value, label]][1]}".strip(), label)
                               for label in labels]
        self.moment.index = 0

    def _open_cell(self):
        if 0 <= self.grid.value < len(self.cells):
            self.choose(*self.cells[self.grid.value])


def _rows(outcomes):
    labels = []
    for _, label in outcomes:
        if label not in labels:
            labels.append(label)

    return sorted(labels, key=LABELS.index)


def _grid(tool, outcomes, cells, policies):
    rows = []
    for label in _rows(outcomes):
        row = [None if (policy, label) not in outcomes else
               {"index": cells.index((policy, label)), "mark": signs()[outcomes[policy, label]][0],
                "text": f"{tr(policies[policy].title)}: {signs()[outcomes[policy, label]][1]}"} for policy in policies]
        rows.append({"title": f"{MARKS.get(label, '')} {meaning(label)}".strip(), "cells": row})
    return {"name": tr("Outcomes of {tool}", tool=tool), "columns": list(policies), "rows": rows}


def table_html(tool, outcomes):
    """All cells of a tool as a plain table."""
    head = "".join(f"<th>{esc(policy)}</th>" for policy in POLICIES)
    body = "".join(f"<tr><th style='text-align:left'>{esc(MARKS.get(label, ''))} {esc(meaning(label))}</th>"
                   + "".join(f"<td>{esc(signs()[outcomes[policy, label]][0]) if (policy, label) in outcomes else ''}</td>" for policy in POLICIES)
                   + "</tr>" for label in _rows(outcomes))
    return f"<p><b>{esc(tool)}</b></p><table><tr><th></th>{head}</tr>{body}</table>{_key_html(outcomes)}"


def _key_html(outcomes):
    """What the signs in use mean."""
    used = [(sign, text) for outcome, (sign, text) in signs().items() if outcome in outcomes.values()]
    return "<p>" + " · ".join(f"<b>{esc(sign)}</b> {esc(text)}" for sign, text in used) + "</p>"
