"""CheckpointStepper: a run moment by moment; the file at the left, what a second process could know at the right."""
import json

import ipywidgets as W

from ..checkpoint import FILE, is_finished
from ..scenarios import SALES_REPORT, world
from ..scenarios.experiment import AT_START, Experiment
from ..scenarios.policies import NO_LEDGER
from ..words import tr, trn
from .base import View
from .crash_lab import MARKS, meaning, points_of
from .panels import columns, esc, file_panel
from .timeline import Timeline, grid


class CheckpointStepper(View):
    """The widget. scenario: whose run to step through, under the course's saves and without a ledger (that is lesson 4).

    From Python: ``choose(label, count)``; ``text`` is what a second process could know.
    """

    def __init__(self, scenario=SALES_REPORT):
        self.scenario = scenario
        self.leg = Experiment(scenario, NO_LEDGER).rehearse()
        self.points = points_of(self.leg)
        narrow = {"style": {"description_width": "initial"}}
        self.timeline = Timeline()
        self.moment = W.Dropdown(description=tr("Moment"), options=[(_name(turn, moment), index) for index, turn, moment in self.points],
                                 layout=W.Layout(flex="1 1 20em"), **narrow)
        self.earlier, self.later = (W.Button(description=text, layout=W.Layout(width="max-content")) for text in (tr("◀ earlier"), tr("later ▶")))
        self.view = W.HTML()
        super().__init__([self.timeline, W.HBox([self.moment, self.earlier, self.later], layout=W.Layout(flex_flow="row wrap", align_items="center")),
                          self.view])
        self.on_change(self.timeline, lambda: self._go(self.timeline.value))
        self.on_change(self.moment, lambda: self._go(self.moment.value))
        self.on_click(self.earlier, lambda: self._step(-1))
        self.on_click(self.later, lambda: self._step(+1))
        self._go(0)

    def choose(self, label, count=1):
        """Look at a moment. Raises ValueError where the run has no such moment."""
        for index, _, moment in self.points:
            if (moment.label, moment.count) == (label, count):
                return self._go(index)
        raise ValueError(f"this run has no moment {label}:{count}")

    @property
    def text(self):
        return "\n".join(f"{question} {answer}" for question, answer in known(self._files()))

    def static_html(self):
        return self.view.value

    def __repr__(self):
        return f"CheckpointStepper({self.scenario.name!r})"

    def _step(self, by):
        self._go(self.points[min(max(self._position() + by, 0), len(self.points) - 1)][0])

    def _go(self, index):
        if index not in [at for at, _, _ in self.points]:
            return
        self.moment.value = index
        _, turn, moment = self.points[self._position()]
        self.timeline.grid = grid(self.points, turn, lambda moment: _name(None, moment), MARKS)
        self.timeline.value = index
        before = self.leg.recording.files(self.points[max(self._position() - 1, 0)][0])
        self.view.value = step_html(_name(turn, moment), self._files(), before)

    def _position(self):
        return [at for at, _, _ in self.points].index(self.moment.value)

    def _files(self):
        return self.leg.recording.files(self.moment.value)


def step_html(name, files, before):
    """One moment: checkpoint.json (and a temp file beside it), and what can be known. files, before: ``{name: bytes}``."""
    left = file_panel(FILE, files.get(FILE), before.get(FILE))
    left += "".join(file_panel(temp, data, files.get(FILE, b"")) for temp, data in files.items() if temp.endswith(".tmp"))
    right = (f"{esc(tr('What could a second process know now?'))}{_list(known(files))}"
             f"{esc(tr('And in truth? (Only you see this.)'))}{_list([truth(files)])}")
    return f'<div role="status"><b>{esc(name)}</b></div>' + columns(left, right)


def known(files):
    """What checkpoint.json alone tells somebody who has just started: ``[(question, answer), ...]``. files: ``{name: bytes}``."""
    if FILE not in files:
        return [(tr("Which task?"), tr("Unknown: there is no checkpoint. It can only start from the beginning."))]
    scene = json.loads(files[FILE])
    call = scene["pendingToolUse"]
    closed = scene["turns"] - bool(call)
    found = [(tr("Which task?"), scene["task"]),
             (tr("How far was it?"), trn("{n} turn is closed, {tokens} tokens are used.", "{n} turns are closed, {tokens} tokens are used.",
                                         closed, tokens=scene["tokensUsed"]))]
    if call:
        return [*found, (tr("Which call was under way?"), f"{call['name']} ({call['id']})"),
                (tr("Did its tool run?"), tr("It can't know. The call was named; the file says nothing of what came after."))]
    if is_finished(scene):
        return [*found, (tr("What is next?"), tr("Nothing: the last message is the final answer."))]
    return [*found, (tr("Which call was under way?"), tr("None that it knows of. It would ask the model again."))]


def truth(files):
    """What really happened, which only the tools' own journal tells: a question and its answer."""
    runs = [json.loads(line)["tool"] for line in files.get(world.JOURNAL, b"").splitlines()]
    return tr("Which tools have done their work?"), ", ".join(runs) or tr("none")


def _list(pairs):
    return "<ul>" + "".join(f"<li>{esc(question)}<br><b>{esc(answer)}</b></li>" for question, answer in pairs) + "</ul>"


def _name(turn, moment):
    words = tr("before anything has run") if moment.label == AT_START else f"{MARKS.get(moment.label, '')} {meaning(moment.label)}".strip()
    return words if turn is None else tr("turn {turn}: {moment}", turn=turn, moment=words)
