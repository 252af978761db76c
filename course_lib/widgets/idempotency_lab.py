"""IdempotencyLab: rate a tool, then run it up to ten times and see what the world looks like."""
import ipywidgets as W

from ..scenarios.repeat import repeat
from ..scenarios.support_desk import SUPPORT_DESK
from ..words import tr
from .base import View
from .panels import columns, esc, file_panel

HIGH, MEDIUM, LOW = "high", "medium", "low"


def answers():
    """For each tool: whether it is idempotent, how bad a second run is, and why. ``{tool: (bool, risk, text)}``"""
    return {
        "read_file": (True, LOW, tr("Reading leaves nothing behind, so there is nothing to leave twice.")),
        "send_email": (False, HIGH, tr("Each run adds a message to somebody's inbox, and no one can take it back.")),
        "create_ticket": (False, HIGH, tr("Each run opens one more ticket, and somebody else will work on each.")),
        "ensure_ticket": (True, LOW, tr("It looks first. That makes it as good as its look: it goes by the title, so a title "
                                        "worded differently, or two runs at the same instant, still give two tickets.")),
        "append_log": (False, MEDIUM, tr("The log gets the line once more. It misleads whoever counts lines, and hurts nobody else.")),
        "set_config": (True, LOW, tr("It overwrites: ten runs leave the value that one run leaves. "
                                     "(Unless somebody changed it in between; then the repetition undoes that.)")),
        "delete_file": (True, MEDIUM, tr("Gone is gone, as long as \"not found\" is no error. "
                                         "The risk is that a new file has taken the name in the meantime.")),
        "write_file": (True, LOW, tr("The whole file is replaced, so the last run leaves what the first one left.")),
        "append_file": (False, MEDIUM, tr("The file grows by the same piece each time.")),
        "transfer": (False, HIGH, tr("Each run moves the money again. And two equal transfers may both be meant, "
                                     "so looking at them doesn't tell a repetition from a second order.")),
    }


def risks():
    return {HIGH: tr("high"), MEDIUM: tr("medium"), LOW: tr("low")}


class IdempotencyLab(View):
    """The widget. From Python: ``rate(tool, idempotent, risk)``, ``run(times)``; ``verdict`` is what stands below."""

    def __init__(self):
        narrow = {"style": {"description_width": "initial"}}
        self.tool = W.Dropdown(description=tr("Tool"), options=list(SUPPORT_DESK), layout=W.Layout(width="max-content"), **narrow)
        self.call = W.HTML()
        self.idempotent = W.RadioButtons(options=[(tr("ten runs leave the world as one run does"), True), (tr("each further run changes it again"), False)],
                                         index=None, layout=W.Layout(width="auto"))
        self.risk = W.RadioButtons(options=[(text, name) for name, text in risks().items()], index=None, layout=W.Layout(width="auto"))
        self.times = W.BoundedIntText(description=tr("Runs"), value=2, min=1, max=10, layout=W.Layout(width="10em"), **narrow)
        self.run_button = W.Button(description=tr("Run it"), icon="play", layout=W.Layout(width="max-content"))
        self.result = W.HTML()
        halves = [W.VBox([W.HTML(f"<b>{esc(title)}</b>"), choices], layout=W.Layout(flex="1 1 20em", min_width="0"))
                  for title, choices in [(tr("What do you expect?"), self.idempotent),
                                         (tr("If a resume runs it a second time, how bad is that?"), self.risk)]]
        super().__init__([self.tool, self.call, W.HBox(halves, layout=W.Layout(flex_flow="row wrap")),
                          W.HBox([self.times, self.run_button]), self.result])
        self.on_change(self.tool, self._begin)
        self.on_click(self.run_button, lambda: self.run(self.times.value))
        self._begin()

    def rate(self, tool, idempotent, risk):
        """Choose a tool and say what one expects of it."""
        self.tool.value, self.idempotent.value, self.risk.value = tool, idempotent, risk

    def run(self, times=2):
        """Run the tool so often, once it has been rated, and show what became of the world."""
        if self.idempotent.value is None or self.risk.value is None:
            self.result.value = f'<div role="status">{esc(tr("Rate it first: one answer on each side."))}</div>'
            return
        self.result.value = f'<div role="status">{self._verdict()}</div>{world_html(repeat(self.tool.value, times), times)}'

    @property
    def verdict(self):
        return self.result.value

    def static_html(self):
        rows = "".join(f"<li><code>{esc(call_text(tool))}</code></li>" for tool in SUPPORT_DESK)
        return f"<p>{esc(tr('Rate each tool, then run it up to ten times:'))}</p><ul>{rows}</ul>"

    def __repr__(self):
        return "IdempotencyLab()"

    def _begin(self):
        self.idempotent.index = self.risk.index = None
        self.call.value = f"<code>{esc(call_text(self.tool.value))}</code>"
        self.result.value = ""

    def _verdict(self):
        idempotent, risk, because = answers()[self.tool.value]
        said = tr("idempotent") if idempotent else tr("not idempotent")
        marks = [("✓" if self.idempotent.value == idempotent else "✗", said),
                 ("✓" if self.risk.value == risk else "✗", tr("risk of a second run: {risk}", risk=risks()[risk]))]
        return "<p>" + " · ".join(f"{mark} <b>{esc(text)}</b>" for mark, text in marks) + f"<br>{esc(because)}</p>"


def call_text(tool):
    """The call as one writes it: ``send_email(to='ada@example.org', …)``."""
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in SUPPORT_DESK[tool].call['input'].items())})"


def world_html(repeated, times):
    """The world before, after one run, and after all, side by side; only what some run changed."""
    names = [name for name in sorted({*repeated.before, *repeated.after_one, *repeated.after_all})
             if not repeated.before.get(name) == repeated.after_one.get(name) == repeated.after_all.get(name)]
    if not names:
        return f"<p>{esc(tr('The world is as it was before.'))}</p>"
    steps = [(tr("before"), repeated.before, repeated.before), (tr("after 1 run"), repeated.after_one, repeated.before)]
    if times > 1:
        steps.append((tr("after {n} runs", n=times), repeated.after_all, repeated.after_one))
    return columns(*(f"<b>{esc(title)}</b>" + "".join(file_panel(name, files.get(name), earlier.get(name)) for name in names)
                     for title, files, earlier in steps))
