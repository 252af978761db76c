"""CrashLab: choose the instant, predict, kill the agent there, look at both files, resume, look again.

The next leg (start or resume) is rehearsed on a copy of the folder, so its moments can be
looked at before anything is run. Killing runs it for real, up to the chosen moment. A
resume's moments stay hidden until the student has said what will happen.
"""
import ipywidgets as W

from .. import checkpoint, ledger, log
from ..errors import CourseError
from ..scenarios import SCENARIOS, forecast, oracle, world
from ..scenarios.experiment import AT_START, Experiment
from ..scenarios.policies import LESSON_6, POLICIES
from ..words import tr
from .base import View
from .panels import columns, esc, files_panel, log_panel, world_panel
from .prediction import branch_choices, evidence, outcome_choices, verdict_html
from .timeline import Timeline, grid

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
        "mid-intent": tr("in the middle of writing the intent"),
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


def picture(scenario, now, before, lines):
    """One moment as HTML: the files, the terminal and the world. now, before: ``{name: bytes}``; lines: the terminal's."""
    temps = [name for name in now if name.endswith(".tmp")]
    before = {**before, **{name: now.get(_replaces(name), b"") for name in temps}}  # a temp file is to replace another
    books = [name for name in (world.INTENTS, world.KEYS) if name in now]
    laid_out = {name: text.encode() for name, text in scenario.files.items()}
    outside = {name: now.get(name) for name in {**laid_out, **world.outside(now), **dict.fromkeys(now.keys() & {world.ASKED})}
               if now.get(name) != laid_out.get(name)}
    return files_panel([*FILES, *books, *temps], now, before, scenario.call["id"]) + columns(
        log_panel(lines), world_panel(outside, before, now.get(world.JOURNAL, b"")))


class CrashLab(View):
    """The widget. scenario: a name such as ``"sales-report"``, a Scenario, or a scenario code.

    functions: a student's own, by the name of the library's; they run in a child process only.
    really: kill by a real SIGKILL of a child process. presenter: for a room, with large type,
    real kills and no predictions. All of it can be done from Python too: ``choose(label, count)``,
    ``kill()``, ``predict(branch, outcome)``, ``resume()``, ``reset()`` and ``open_code(text)`` are
    what the controls call; ``text`` is the terminal, ``code`` the scenario code.
    """

    def __init__(self, scenario="sales-report", *, functions=None, really=False, presenter=False):
        self.functions, self.predicts = functions, not presenter
        self.committed = None  # (branch, outcome): indices of the choices, once committed
        self._make_controls(really or presenter or bool(functions))
        self.real.disabled = bool(functions)  # their only way to run
        row = W.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([
            W.HBox([self.policy, self.real, self.reset_button], layout=row),
            self.timeline, self.moments_row,
            W.HBox([self.kill_button, self.run_button], layout=row),
            self.question, self.answer, self.head, self.view, self.code_row])
        if presenter:
            self.add_class("course-presenter")
        self._wire()
        if functions or not isinstance(scenario, str):
            self.code_row.layout.display = "none"  # a code can't name somebody's own code
        if isinstance(scenario, str):
            known = next((s for s in SCENARIOS.values() if scenario in (s.name, f"{s.name}/{s.effect}")), None)
        else:
            known = scenario
        if known:
            self._begin(known, LESSON_6)
        else:
            self.open_code(scenario)

    # --- what one can do ---------------------------------------------------------------

    def choose(self, label, count=1):
        """Look at a moment of the next leg. Raises ValueError where the leg has no such moment."""
        for index, _, moment in self.points:
            if (moment.label, moment.count) == (label, count):
                self._go(index)
                return
        raise ValueError(f"this run has no moment {label}:{count}")

    def kill(self):
        """Run up to the chosen moment and die there."""
        moment = self.leg.recording.moments[self.moment.value]
        if not moment.count:
            raise CourseError(tr("Choose a moment of the run first; before it begins there is nothing to kill."))
        self._run((moment.label, moment.count))

    def predict(self, branch, outcome):
        """Commit to what the resume will do. branch, outcome: positions of the choices, from 0."""
        if not self._waits_for_a_prediction():
            raise CourseError(tr("There is nothing to predict now; kill the run first."))
        self.branch.index, self.outcome.index = branch, outcome
        self.committed = (branch, outcome)
        self._prepare()

    def resume(self):
        """Run the next leg to its end."""
        self._run(None)

    def reset(self):
        """Files and world as if nothing had happened."""
        self._begin(self.experiment.scenario, self.experiment.policy)

    def open_code(self, text):
        """Bring up the run that a scenario code names, all its crashes done. Raises CourseError."""
        self._take(Experiment.from_code(text, functions=self.functions))

    @property
    def text(self):
        """The terminal of all legs so far."""
        return "\n".join(self._past())

    @property
    def code(self):
        """The scenario code of what has been run."""
        return self.experiment.code

    def static_html(self):
        return f"{self.answer.value}{self.head.value}{self.view.value}"

    def __repr__(self):
        return f"CrashLab({self.code!r})"

    # --- controls ----------------------------------------------------------------------

    def _make_controls(self, really):
        narrow = {"style": {"description_width": "initial"}}
        self.policy = W.Dropdown(description=tr("Policy"), options=[(tr(policy.title), name) for name, policy in POLICIES.items()],
                                 value=LESSON_6.name, layout=W.Layout(width="auto"), **narrow)
        self.real = W.Checkbox(description=tr("real SIGKILL, in a process of its own"), value=really, indent=False, layout=W.Layout(width="auto"))
        self.timeline = Timeline()
        self.turn = W.Dropdown(description=tr("Turn"), layout=W.Layout(width="auto"), **narrow)
        self.moment = W.Dropdown(description=tr("Moment"), layout=W.Layout(flex="1 1 20em"), **narrow)
        self.earlier, self.later = _button(tr("◀ earlier")), _button(tr("later ▶"))
        self.moments_row = W.HBox([self.turn, self.moment, self.earlier, self.later], layout=W.Layout(flex_flow="row wrap", align_items="center"))
        self.kill_button, self.run_button = _button(tr("Kill it at this moment"), "bolt"), _button("", "play")
        self.reset_button = _button(tr("Reset files and world"), "undo")
        self.branch = W.RadioButtons(layout=W.Layout(width="auto"))
        self.outcome = W.RadioButtons(layout=W.Layout(width="auto"))
        self.commit_button = _button(tr("This is my prediction"), "check")
        halves = [W.VBox([W.HTML(f"<b>{esc(title)}</b>"), choices], layout=W.Layout(flex="1 1 20em", min_width="0"))
                  for title, choices in [(tr("Before you resume: which way will it go?"), self.branch), (tr("And in the end?"), self.outcome)]]
        self.question = W.VBox([W.HBox(halves, layout=W.Layout(flex_flow="row wrap", grid_gap="0 2em")), self.commit_button])
        self.code_field = W.Text(description=tr("Scenario code"), continuous_update=False, layout=W.Layout(flex="1 1 30em"), **narrow)
        self.open_button = _button(tr("Open this code"))
        self.code_row = W.HBox([self.code_field, self.open_button], layout=W.Layout(flex_flow="row wrap", align_items="center"))
        self.answer, self.head, self.view = W.HTML(), W.HTML(), W.HTML()

    def _wire(self):
        self.on_change(self.policy, self._change_policy)
        self.on_choice(self.timeline, self._go)
        self.on_choice(self.turn, lambda chosen: self._go(next((index for index, turn, _ in self.points if turn == chosen), None)))
        self.on_choice(self.moment, self._go)
        self.on_click(self.earlier, lambda: self._step(-1))
        self.on_click(self.later, lambda: self._step(+1))
        self.on_click(self.kill_button, self.kill)
        self.on_click(self.run_button, self.resume)
        self.on_click(self.reset_button, self.reset)
        self.on_click(self.commit_button, self._commit)
        self.on_click(self.open_button, lambda: self.open_code(self.code_field.value))

    # --- from one state to the next ----------------------------------------------------

    def _begin(self, scenario, policy):
        self._take(Experiment(scenario, policy, functions=self.functions))

    def _change_policy(self):
        if self.policy.value != self.experiment.policy.name:
            self._begin(self.experiment.scenario, POLICIES[self.policy.value])

    def _take(self, experiment):
        self.experiment, self.committed, self.answer.value = experiment, None, ""
        self.policy.value = experiment.policy.name
        self._prepare()

    def _run(self, crash_after):
        if self.experiment.is_over:
            raise CourseError(tr("This run is over; reset it to begin again."))
        known = forecast.facts(self.experiment.scenario, self.experiment.folder) if self.experiment.resumes else None
        self._streamed = self._past()
        self.experiment.run(crash_after, really=self.real.value, listeners=[self._stream] if self.real.value else [])
        self.answer.value = self._reveal(known) if known and self.committed else ""
        self.committed = None
        self._prepare()

    def _prepare(self):
        """Bring up what there is to look at now: the next leg, or the last one when all is over."""
        over, waits = self.experiment.is_over, self._waits_for_a_prediction()
        self.leg = self.experiment.legs[-1] if over else self.experiment.rehearse()
        self.points = points_of(self.leg)[:1] if waits else points_of(self.leg)
        self.turn.options = [(tr("turn {turn}", turn=turn), turn) for turn in sorted({turn for _, turn, _ in self.points})]
        self.question.layout.display = "" if waits else "none"
        self.timeline.layout.display = self.moments_row.layout.display = "none" if waits else ""
        if waits:
            self._ask()
        self.run_button.disabled = over or waits
        self.run_button.description = (tr("Resume, and run to the end") if self.experiment.resumes else
                                       tr("Start over, and run to the end") if self.experiment.legs else tr("Run to the end"))
        self.code_field.value = self.code
        self._go(self.points[-1 if over else 0][0])
        if self.leg.outcome.status == "error" and not waits:
            self._show_alert(self.leg.outcome.text)

    def _go(self, index):
        """Look at a moment, by its index; at none, where there is no such moment now."""
        turn = next((turn for at, turn, _ in self.points if at == index), None)
        if turn is not None:
            self.turn.value = turn
            self.moment.options = [(self._name(moment), at) for at, of, moment in self.points if of == turn]
            self.moment.value = index
            self._show()

    def _step(self, by):
        at = [index for index, _, _ in self.points].index(self.moment.value) + by
        if 0 <= at < len(self.points):
            self._go(self.points[at][0])

    # --- predictions -------------------------------------------------------------------

    def _waits_for_a_prediction(self):
        return self.predicts and self.experiment.resumes and not self.experiment.is_over and self.committed is None

    def _ask(self):
        facts = forecast.facts(self.experiment.scenario, self.experiment.folder)
        self.branch.options = [choice.text for choice in branch_choices(facts, "")]
        self.outcome.options = [choice.text for choice in outcome_choices(self.experiment.scenario.effect, 0, "")]
        self.branch.index = self.outcome.index = None

    def _commit(self):
        if self.branch.index is None or self.outcome.index is None:
            self.alert.value = f'<div role="status">{esc(tr("Choose one of each first."))}</div>'
            return
        self.predict(self.branch.index, self.outcome.index)
        self.run_button.focus()  # the form with the keyboard's place in it is gone

    def _reveal(self, facts):
        """What the committed prediction was worth. facts: of the files that the resume found."""
        branch, outcome = self.committed
        last = self.experiment.legs[-1]
        went = forecast.branch(last.outcome, facts)
        if went == forecast.UNCLEAR:
            text = f"<p>{esc(tr('Which way it goes has not been seen: the resume did not come to that, or a function of your own did not say.'))}</p>"
        else:
            text = verdict_html(tr("Which way did it go?"), branch_choices(facts, went), branch)
        text += f"<p>{evidence(facts, last.recording.files(0))}</p>"
        verdict = self.experiment.verdict
        if verdict in (oracle.UNFINISHED, oracle.REJECTED):
            return text + f"<p>{esc(tr('It did not come to its end, so what becomes of it is still open.'))}</p>"
        times = oracle.executions(self.experiment.scenario, self.experiment.folder)
        choices = outcome_choices(self.experiment.scenario.effect, times, verdict)
        return text + verdict_html(tr("And in the end?"), choices, outcome)

    # --- drawing -----------------------------------------------------------------------

    def _stream(self, moment):
        """While a child runs: its terminal, line by line."""
        text = log.line(moment)
        if text is not None:
            self._streamed.append(text)
            self._draw(self._streamed)

    def _name(self, moment):
        if moment.label != AT_START:
            call = moment.facts.get("call")
            return log.plain(f"{MARKS.get(moment.label, '')} {meaning(moment.label)}{f' ({call}) #{moment.count}' if call else ''}".strip())
        if self.experiment.resumes:
            return tr("as the crash left it")
        return tr("before the fresh start") if self.experiment.legs else tr("before anything has run")

    def _show(self):
        self.kill_button.disabled = self.experiment.is_over or self.moment.value == 0
        self.timeline.grid = grid(self.points, self.turn.value, self._name, MARKS)
        self.timeline.value = self.moment.value
        self.head.value = self._headline()
        mine = [] if self._waits_for_a_prediction() else _lines_until(self.leg, self.moment.value)
        self._draw([*self._past(self.leg), *mine])

    def _draw(self, lines):
        self.view.value = picture(self.experiment.scenario, self.leg.recording.files(self.moment.value), self._files_before(), lines)

    def _files_before(self):
        """The folder one moment earlier. What a crash left is seen as it was at the crash."""
        leg, index = self.leg, self.moment.value
        earlier = [other for other in self.experiment.legs if other is not leg]
        if index == 0 and earlier:
            leg, index = earlier[-1], points_of(earlier[-1])[-1][0]
        return leg.recording.files(max((at for at, _, _ in points_of(leg) if at < index), default=0))

    def _headline(self):
        if not self.experiment.legs:
            what = tr("Nothing has been run yet. You look at what a run will leave on disk at each moment.")
        elif self.experiment.is_over:
            what = tr("The run is over: {verdict}. You look back at its last part.", verdict=verdict_text(self.experiment))
        elif self.experiment.is_lost:
            what = tr("It ended with no checkpoint to go on from: the run is lost, and only a fresh start is left.")
        elif self._waits_for_a_prediction():
            what = tr("The process is dead. This is what it left.")
        elif not self.experiment.resumes:
            what = tr("The process is dead, and this policy has saved nothing to go on from. You look at what starting over will do.")
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


def _replaces(temp):
    return temp.rsplit(".", 2)[0]


def _button(text, icon=""):
    return W.Button(description=text, icon=icon, layout=W.Layout(width="max-content"))


def verdict_text(experiment):
    """What became of the effect, in words."""
    effect = experiment.scenario.effect
    return {
        oracle.ONCE: tr("{effect} happened once", effect=effect),
        oracle.RAN_TWICE: tr("{effect} ran more than once, which leaves the world the same", effect=effect),
        oracle.TWICE: tr("{effect} happened more than once", effect=effect),
        oracle.LOST: tr("{effect} never happened, and nobody knows", effect=effect),
        oracle.ASKS_DONE: tr("{effect} has happened, and a person has to find that out", effect=effect),
        oracle.ASKS_NOT_DONE: tr("{effect} has not happened, and a person has to find that out", effect=effect),
        oracle.REJECTED: tr("the API refused the conversation"),
        oracle.RUN_LOST: tr("it stopped with an error"),
        oracle.UNFINISHED: tr("it stopped before its end"),
    }[experiment.verdict]


def _lines_until(leg, index):
    """The terminal lines of a leg up to a moment; all of them at its last one."""
    if index == points_of(leg)[-1][0]:
        return leg.outcome.lines
    return [text for moment in leg.recording.moments[:index + 1] if (text := log.line(moment))]
