"""CrashLab: choose the instant, kill the agent there, look at both files, resume, look again.

The next leg (start or resume) is rehearsed on a copy of the folder, so its moments can be
looked at before anything is run. Killing runs it for real, up to the chosen moment.
"""
import ipywidgets as W

from .. import checkpoint, ledger, log
from ..scenarios import SCENARIOS, world
from ..scenarios.experiment import AT_START, Experiment
from ..words import tr
from .base import View
from .panels import columns, esc, files_panel, log_panel, world_panel

MARKS = {"after-save-a": "①", "after-approval": "①", "after-intent": "①", "after-tool": "②", "mid-effect-write": "②",
         "after-effect-write": "②'", "mid-save-b": "②'", "after-save-b": "③"}
FILES = (checkpoint.FILE, ledger.FILE)


def meaning(label):
    """What a moment is, in a few words."""
    return {
        "before-request": tr("before the model is asked"),
        "after-response": tr("the answer has arrived, nothing is saved"),
        "mid-save-a": tr("in the middle of save A"),
        "after-save-a": tr("save A is on disk, the tool has not started"),
        "after-approval": tr("a person has approved, the tool has not started"),
        "after-intent": tr("the intent is on disk, the tool has not started"),
        "mid-tool": tr("in the middle of the tool"),
        "after-tool": tr("the tool has done its work, the ledger does not know"),
        "mid-effect-write": tr("in the middle of the ledger write"),
        "after-effect-write": tr("the ledger knows, save B is missing"),
        "mid-save-b": tr("in the middle of save B"),
        "after-save-b": tr("save B is on disk, the turn is closed"),
        "mid-final-save": tr("in the middle of the last save"),
        "after-final-save": tr("the final answer is saved"),
    }.get(label, label)


def points_of(leg):
    """What can be looked at in a leg, turn by turn: ``[(index, turn, Moment), ...]``.

    The first is the leg's start, which belongs to the turn that comes then; one can die at all others.
    """
    moments = leg.recording.moments
    crash_points = [(i, moment.turn, moment) for i, moment in enumerate(moments) if moment.count]
    return [(0, crash_points[0][1] if crash_points else 1, moments[0]), *crash_points]


def picture(scenario, leg, index, past):
    """One moment as HTML: both files and any temp file, terminal and world. past: terminal lines of the legs before."""
    now = leg.recording.files(index)
    before = leg.recording.files(index - 1) if index else now
    temps = [name for name in now if name.endswith(".tmp")]
    inside = {*FILES, *temps, world.JOURNAL, world.REQUESTS, *scenario.files}
    outside = {name: data for name, data in now.items() if name not in inside}
    return files_panel([*FILES, *temps], now, before) + columns(
        log_panel([*past, *_lines_until(leg, index)]), world_panel(outside, before, now.get(world.JOURNAL, b"")))


class CrashLab(View):
    """The widget. scenario: a name such as ``"sales-report"``, or a Scenario; functions: a student's own, by name.

    All of it can be done from Python too: ``choose(label, count)``, ``kill()``, ``resume()``
    and ``reset()`` are what the buttons call, ``text`` is what stands in the panels.
    """

    def __init__(self, scenario="sales-report", *, functions=None):
        self.experiment = Experiment(SCENARIOS[scenario] if isinstance(scenario, str) else scenario, functions=functions)
        self.turn = W.Dropdown(description=tr("Turn"), layout=W.Layout(width="auto"), style={"description_width": "initial"})
        self.moment = W.Dropdown(description=tr("Moment"), layout=W.Layout(flex="1 1 20em"), style={"description_width": "initial"})
        self.earlier, self.later = _button(tr("◀ earlier")), _button(tr("later ▶"))
        self.kill_button, self.run_button = _button(tr("Kill it at this moment"), "bolt"), _button("", "play")
        self.reset_button = _button(tr("Reset files and world"), "undo")
        self.head, self.view = W.HTML(), W.HTML()
        row = W.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([W.HBox([self.turn, self.moment, self.earlier, self.later], layout=row),
                          W.HBox([self.kill_button, self.run_button, self.reset_button], layout=row), self.head, self.view])
        self.on_change(self.turn, self._list_moments)
        self.on_change(self.moment, self._show)
        self.on_click(self.earlier, lambda: self._step(-1))
        self.on_click(self.later, lambda: self._step(+1))
        self.on_click(self.kill_button, self.kill)
        self.on_click(self.run_button, self.resume)
        self.on_click(self.reset_button, self.reset)
        self._prepare()

    def choose(self, label, count=1):
        """Look at a moment of the next leg. Raises ValueError where the leg has no such moment."""
        for index, turn, moment in self.points:
            if (moment.label, moment.count) == (label, count):
                self._go(index, turn)
                return
        raise ValueError(f"this run has no moment {label}:{count}")

    def kill(self):
        """Run up to the chosen moment and die there."""
        moment = self.leg.recording.moments[self.moment.value]
        self.experiment.run((moment.label, moment.count))
        self._prepare()

    def resume(self):
        """Run the next leg to its end."""
        self.experiment.run()
        self._prepare()

    def reset(self):
        """Files and world as if nothing had happened."""
        self.experiment.reset()
        self._prepare()

    @property
    def text(self):
        """The terminal of all legs so far."""
        return "\n".join(self._past())

    def static_html(self):
        return f"{self.head.value}{self.view.value}"

    def __repr__(self):
        return f"CrashLab({self.experiment.scenario.name!r})"

    def _prepare(self):
        over = self.experiment.is_over
        self.leg = self.experiment.legs[-1] if over else self.experiment.rehearse()
        self.points = points_of(self.leg)
        self.turn.options = [(tr("turn {turn}", turn=turn), turn) for turn in sorted({turn for _, turn, _ in self.points})]
        self.run_button.disabled = over
        self.run_button.description = tr("Resume, and run to the end") if self.experiment.legs else tr("Run to the end")
        index, turn, _ = self.points[-1 if over else 0]
        self._go(index, turn)

    def _go(self, index, turn):
        self.turn.value = turn
        self._list_moments()
        self.moment.value = index
        self._show()

    def _list_moments(self):
        here = [(self._name(moment), index) for index, turn, moment in self.points if turn == self.turn.value]
        self.moment.options = here
        self.moment.value = here[0][1] if here else None

    def _step(self, by):
        at = [index for index, _, _ in self.points].index(self.moment.value) + by
        if 0 <= at < len(self.points):
            self._go(*self.points[at][:2])

    def _name(self, moment):
        if moment.label != AT_START:
            return f"{MARKS.get(moment.label, '')} {meaning(moment.label)}".strip()
        return tr("as the crash left it") if self.experiment.legs else tr("before anything has run")

    def _show(self):
        if self.moment.value is None:
            return
        self.kill_button.disabled = self.experiment.is_over or self.moment.value == 0
        self.head.value = self._headline()
        self.view.value = picture(self.experiment.scenario, self.leg, self.moment.value, self._past(self.leg))

    def _headline(self):
        legs = self.experiment.legs
        if not legs:
            what = tr("Nothing has been run yet. You look at what a run will leave on disk at each moment.")
        elif self.experiment.is_over:
            what = tr("The run is over. You look back at its last part.")
        else:
            what = tr("The process is dead. You look at what a resume will do, moment by moment.")
        moment = self.leg.recording.moments[self.moment.value]
        label = f" <code>{esc(moment.label)}:{moment.count}</code>" if moment.count else ""
        return (f'<div role="status">{esc(what)}<br><b>{esc(tr("Turn {turn}", turn=self.turn.value))}: '
                f"{esc(self._name(moment))}</b>{label}</div>")

    def _past(self, until=None):
        lines = []
        for leg in self.experiment.legs:
            if leg is until:
                break
            lines += leg.outcome.lines
        return lines


def _button(text, icon=""):
    return W.Button(description=text, icon=icon, layout=W.Layout(width="auto"))


def _lines_until(leg, index):
    """The terminal lines of a leg up to a moment; all of them at its last one."""
    if index == len(leg.recording.moments) - 1:
        return leg.outcome.lines
    return [text for moment in leg.recording.moments[:index + 1] if (text := log.line(moment))]
