"""A question that is answered before the answer is shown; every choice has its own reason."""
from dataclasses import dataclass

import ipywidgets as W

from ..words import tr
from .base import View
from .panels import esc


@dataclass(frozen=True)
class Choice:
    """One answer to choose, whether it is right, and why. All three are required."""

    text: str
    right: bool
    because: str


class Question(View):
    """Choose, commit, then see what each choice is worth.

    prompt: text. choices: Choice objects, in the order shown; exactly one is right.
    """

    def __init__(self, prompt, choices):
        self.prompt, self.choices = prompt, list(choices)
        if sum(choice.right for choice in self.choices) != 1:
            raise ValueError("a question has exactly one right choice")
        self.pick = W.RadioButtons(options=[choice.text for choice in self.choices], index=None, layout=W.Layout(width="auto"))
        self.commit = W.Button(description=tr("This is my answer"), layout=W.Layout(width="max-content"))
        self.answer = W.HTML()
        super().__init__([W.HTML(f"<b>{esc(prompt)}</b>"), self.pick, self.commit, self.answer])
        self.on_click(self.commit, self._reveal)

    def static_html(self):
        return f"<p><b>{esc(self.prompt)}</b></p>" + _list(esc(choice.text) for choice in self.choices)

    def __repr__(self):
        return f"Question({self.prompt!r})"

    def _reveal(self):
        if self.pick.index is None:
            self.answer.value = f'<div role="status">{esc(tr("Choose one first."))}</div>'
            return
        self.answer.value = f'<div role="status">{answer_html(self.choices, self.pick.index)}</div>'


def answer_html(choices, chosen):
    """What each choice is worth, the chosen one named. chosen: its index."""
    verdict = tr("That is right.") if choices[chosen].right else tr("Not quite.")
    rows = [f"<b>{'✓' if choice.right else '✗'} {esc(choice.text)}</b>"
            f"{' ' + esc(tr('(your answer)')) if i == chosen else ''}<br>{esc(choice.because)}" for i, choice in enumerate(choices)]
    return f"<p><b>{esc(verdict)}</b></p>{_list(rows)}"


def _list(rows):
    return "<ul>" + "".join(f"<li>{row}</li>" for row in rows) + "</ul>"
