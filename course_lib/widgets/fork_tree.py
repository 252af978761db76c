"""ForkTree: the branches of a run that took a wrong turn. Choose a turn, rewind to it or fork from it, run on, compare. (lesson 5)

A row is a branch, or what a rewind has left behind; a node is a save. The world below is one,
whatever the branches think.
"""
import math
import os
import tempfile
from pathlib import Path

import ipywidgets as W

from ..branches import fork_from, go_back_to
from ..checkpoint import is_finished
from ..errors import CourseError
from ..scenarios import compare, world, wrong_turn
from ..standing import effects_since
from ..values import as_content
from ..words import tr, trn
from .base import View
from .panels import columns, esc, log_panel, world_panel
from .timeline import Timeline

DRAWN, WIDTH = 60, 160  # messages drawn of one conversation, the last ones, and letters of each
END = (math.inf, "final")  # the column of the final answers, whatever turn they come after
STROKE, CORNER = {"line": "│"}, {"line": "└"}


class ForkTree(View):
    """The widget. home: a folder in which wrong_turn.begin has run, gone on with as it is; else a new one with a finished run in it.

    keep: "turns" or "history". From Python: ``choose(name, turn, point)``, ``rewind()``, ``fork(name)``, ``run_on()``, ``compare(a, b)``
    and ``start_anew()`` are what the controls call; ``names`` lists the lines, ``text`` is the terminal of the last run.
    """

    def __init__(self, home=None, *, keep="turns"):
        if home is not None and not os.path.isdir(Path(home) / wrong_turn.FIRST):
            raise CourseError(tr("{home} has no folder {first} in it, so there are no branches to show; name the folder that it lies in, or none for a new run.",
                                 home=home, first=wrong_turn.FIRST))
        self.home, self.keep, self.lines, self.text = None if home is None else Path(home), keep, [], ""
        self._make_controls()
        row = W.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([
            W.VBox([self.business_key, self.careful]), self.tree,
            W.HBox([self.rewind_button, self.run_button, self.branch_name, self.fork_button], layout=row),
            self.chosen, self.news, W.HTML(f"<p><b>{esc(tr('Two lines side by side'))}</b></p>"), W.HBox([self.left, self.right], layout=row), self.difference,
            self.anew_button])
        self._wire()
        if home is None:
            self._begin()
        else:  # somebody's own folder is never cleared
            self.business_key.disabled, self.anew_button.layout.display = True, "none"
            self._take("", self._world())

    # --- what one can do -----------------------------------------------------------------------------

    def choose(self, name, turn, point=None):
        """Look at a save: of the line of that name the last one of the turn, or its Point "A", "B" or "final". Raises CourseError."""
        found = [index for index, (line, place) in enumerate(self._nodes()) if line.name == name and place[0] == turn and point in (None, place[1])]
        if not found:
            raise CourseError(tr("{name} has no such save; its saves are in its row of the tree.", name=name))
        self.tree.value = found[-1]
        self._show_chosen()

    def rewind(self):
        """Let the chosen branch go on from the chosen save."""
        line, (turn, point) = self._branch()
        before, standing = self._world(), effects_since(turn, point, folder=line.folder, tools=self._tools())
        with wrong_turn.at_desk(self.home):
            scene = go_back_to(turn, point, folder=line.folder, tools=self._tools())
        told = f"<pre>{esc(scene['messages'][-1]['content'])}</pre>" if standing else f"<p>{esc(tr('Nothing is left standing, so the model is told nothing.'))}</p>"
        words = trn("What came later is left behind. {n} effect still stands, and a message at the end tells the model:",
                    "What came later is left behind. {n} effects still stand, and a message at the end tells the model:", len(standing))
        said = tr("{name} goes on from turn {turn}.", name=line.name, turn=turn)
        self._take(f"<p><b>{esc(said)}</b>{' ' + esc(words) if standing else ''}</p>{told}", before, line.name)

    def fork(self, name):
        """Begin a branch of that name at the chosen save."""
        line, (turn, point) = self._branch()
        before = self._world()
        with wrong_turn.at_desk(self.home):
            branch = fork_from(turn, name, point, folder=line.folder, tools=self._tools())
        self.branch_name.value = ""
        words = tr("{branch} begins at turn {turn} of {name}, with an empty ledger of its own; nobody tells its model what the other branches have done.",
                   branch=branch.name, turn=turn, name=line.name)
        self._take(f"<p><b>{esc(words)}</b></p>", before, branch.name)

    def run_on(self):
        """Resume the chosen branch, and run it to its end."""
        line, _ = self._branch()
        if is_finished(line.scene):
            raise CourseError(tr("{name} has its final answer, so there is nothing to run; rewind it to an earlier turn, or fork.", name=line.name))
        before = self._world()
        outcome = wrong_turn.go_on(line.folder, business_key=self.business_key.value, careful=self.careful.value)
        self.text = "\n".join(outcome.lines)
        self._take(log_panel(outcome.lines), before, line.name)

    def compare(self, a, b):
        """Lay two lines side by side, by their names."""
        self.left.value, self.right.value = a, b
        self._show_difference()

    def start_anew(self):
        """A new world, in which the task has been run once, with its wrong turn."""
        if self._made is None:
            raise CourseError(tr("This tree shows a folder of yours, which it does not clear; open ForkTree() for a new one."))
        self._begin()

    @property
    def names(self):
        return [line.name for line in self.lines]

    def static_html(self):
        return tree_html(self.lines) + self.chosen.value + self.difference.value

    def __repr__(self):
        return "ForkTree()"

    # --- controls --------------------------------------------------------------------------------------

    def _make_controls(self):
        narrow, wide = {"style": {"description_width": "initial"}}, W.Layout(width="auto")
        self.business_key = W.Checkbox(description=tr("the bank gets the order's number as the key of a payment (starts anew)"), indent=False, layout=wide)
        self.careful = W.Checkbox(description=tr("the person at the gate says no where a similar effect is on record"), indent=False, layout=wide)
        self.tree, self.chosen, self.news, self.difference = Timeline(), W.HTML(), W.HTML(), W.HTML()
        self.rewind_button, self.run_button = _button(tr("Rewind to here"), "undo"), _button(tr("Run on, to the end"), "play")
        self.branch_name = W.Text(description=tr("Name of the fork"), placeholder="plan-b", continuous_update=False, layout=W.Layout(width="22em"), **narrow)
        self.fork_button, self.anew_button = _button(tr("Fork from here"), "code-fork"), _button(tr("Start anew, with a new world"))
        self.left, self.right = (W.Dropdown(description=text, layout=W.Layout(width="max-content"), **narrow) for text in (tr("Compare"), tr("with")))
        self._made = None

    def _wire(self):
        self.on_change(self.tree, self._show_chosen)
        self.on_click(self.rewind_button, self.rewind)
        self.on_click(self.fork_button, lambda: self.fork(self.branch_name.value.strip()))
        self.on_click(self.run_button, self.run_on)
        self.on_click(self.anew_button, self.start_anew)
        self.on_change(self.business_key, self.start_anew)
        for control in (self.left, self.right):
            self.on_change(control, self._show_difference)

    # --- from one state to the next ----------------------------------------------------------------------

    def _begin(self):
        self._made = tempfile.TemporaryDirectory(prefix="course-")
        self.home, self.lines = Path(self._made.name), []
        outcome = wrong_turn.begin(self.home, keep=self.keep, business_key=self.business_key.value, careful=self.careful.value)
        self.text = "\n".join(outcome.lines)
        self._take("", self._world())

    def _take(self, news, world_before, name=None):
        """Read the branches anew after something has been done; choose the newest save of the line of that name."""
        known, pair = set(self.names), (self.left.value, self.right.value)
        self.lines = compare.lines(self.home / wrong_turn.FIRST)
        self.tree.grid = tree_grid(self.lines)
        self.tree.value = [index for index, (line, _) in enumerate(self._nodes()) if line.name == (name or wrong_turn.FIRST)][-1]
        self.news.value = (f'<div role="status">{news}</div>' if news else "") + self._world_html(world_before)
        self.left.options = self.right.options = self.names
        new = [line.name for line in self.lines if line.name not in known]
        self.left.value = pair[0] if pair[0] in self.names else self.names[0]
        self.right.value = new[-1] if known and new else pair[1] if pair[1] in self.names else self.names[-1]
        self._show_chosen()
        self._show_difference()

    def _nodes(self):
        return [(line, place) for line in self.lines for place in line.scenes]

    def _branch(self):
        line, place = self._nodes()[self.tree.value]
        if line.is_left:
            raise CourseError(tr("A rewind has left this behind: it can be looked at and compared, but no run goes on from it; choose a save of a branch."))
        return line, place

    def _show_chosen(self):
        line, (turn, point) = self._nodes()[self.tree.value]
        standing = [] if line.is_left else effects_since(turn, point, folder=line.folder, tools=self._tools())
        self.chosen.value = chosen_html(line, (turn, point), standing, self._effects())

    def _show_difference(self):
        a, b = (next(line for line in self.lines if line.name == control.value) for control in (self.left, self.right))
        self.difference.value = difference_html(a, b, self._effects())

    # --- the world ---------------------------------------------------------------------------------------

    def _tools(self):
        return wrong_turn.tools(self.home, self.business_key.value)

    def _effects(self):
        return compare.effects(self.home / wrong_turn.FIRST, self._tools())

    def _world(self):
        return {path.name: path.read_bytes() for path in sorted(self.home.iterdir()) if path.is_file()}

    def _world_html(self, before):
        now, laid_out = self._world(), {name: text.encode() for name, text in wrong_turn.FILES.items()}
        changed = {name: data for name, data in world.outside(now).items() if data != laid_out.get(name)}
        heading = tr("The one world of all branches")
        return f"<p><b>{esc(heading)}</b></p>{world_panel(changed, before, now.get(world.JOURNAL, b''))}"


# --- pictures: plain data in, plain HTML out -----------------------------------------------------------------

def title(line):
    """What a line is, and where it begins."""
    if line.is_left:
        return tr("{name}, left behind after turn {turn}", name=line.name, turn=line.start[1])
    return tr("{name}, forked from {parent} at turn {turn}", name=line.name, parent=line.start[0], turn=line.start[1]) if line.start else line.name


def place_text(place, scene):
    """A save in words."""
    turn, point = place
    if point == "final":
        return tr("the final answer, after turn {turn}", turn=turn)
    calls = [block["name"] for message in scene["messages"] if message["role"] == "assistant" for block in message["content"] if block["type"] == "tool_use"]
    name = calls[-1] if calls else ""
    return (tr("turn {turn}, Point A: {name} has been named", turn=turn, name=name) if point == "A" else
            tr("turn {turn}, Point B: {name} is answered", turn=turn, name=name))


def tree_grid(lines):
    """The tree for a Timeline: a row a line, a column a point of a turn, one for all final answers, and strokes from where a line begins."""
    places = sorted({_column(place) for line in lines for place in line.scenes})
    rows, number = [], 0
    for line in lines:
        cells = dict.fromkeys(places)
        for place, scene in line.scenes.items():
            cells[_column(place)] = {"index": number, "mark": mark(place), "text": place_text(place, scene)}
            number += 1
        rows.append([*cells.values()])
    _draw_strokes(lines, rows, places)
    heads = [tr("end") if (turn, point) == END else tr("turn {turn}", turn=turn) if point == "A" else str(turn) for turn, point in places]
    return {"name": tr("A save of a branch"), "columns": heads,
            "rows": [{"title": title(line), "cells": cells} for line, cells in zip(lines, rows)]}


def _column(place):
    return END if place[1] == "final" else place


def _draw_strokes(lines, rows, places):
    names = [line.name for line in lines]
    for number, line in enumerate(lines):
        if not line.start or line.start[0] not in names:
            continue
        first = next(position for position, cell in enumerate(rows[number]) if cell and "index" in cell)
        fork_point = sum(turn <= line.start[1] for turn, _ in places) - 1
        column = max(min(first - 1, fork_point), 0)
        for row in range(names.index(line.start[0]) + 1, number):
            rows[row][column] = rows[row][column] or STROKE
        rows[number][column] = rows[number][column] or CORNER


def mark(place):
    return "✓" if place[1] == "final" else place[1]


def tree_html(lines):
    """The tree as plain text."""
    rows = "".join(f"<li>{esc(title(line))}: {esc(' '.join(f'{turn}{mark((turn, point))}' for turn, point in line.scenes))}</li>" for line in lines)
    return f"<ul>{rows}</ul>"


def chosen_html(line, place, standing, effects):
    """One save: its counters, and what stands in the world although this save comes before it or beside it.

    standing: what effects_since gives for a rewind to it; effects: all of the family's.
    """
    scene, later = line.scenes[place], {effect["id"] for effect in standing}
    told = [effect for effect in effects if compare.knows(scene, effect) == "told"]
    unknown = [effect for effect in effects if compare.knows(scene, effect) == "nothing"]
    lists = [
        (tr("Not undone by the rewind, and a note says so:"), told),
        (tr("A rewind to here would leave standing:"), [effect for effect in unknown if effect["id"] in later]),
        (tr("Done elsewhere, and unknown here:"), [effect for effect in unknown if effect["id"] not in later]),
    ]
    found = f"<p><b>{esc(line.name)}, {esc(place_text(place, scene))}</b><br>{esc(counters_text(scene))}</p>"
    if line.is_left:
        found += f"<p>{esc(tr('A rewind has left this behind. It can be looked at and compared; no run goes on from it.'))}</p>"
    found += "".join(f"<p>{esc(heading)}</p>{_list(map(effect_text, some))}" for heading, some in lists if some)
    if not told and not unknown:
        found += f"<p>{esc(tr('This save knows all that has been done in the world.'))}</p>"
    return f'<div role="status">{found}</div>'


def difference_html(a, b, effects):
    """Two lines side by side: counters, messages, and what each knows of what stands in the world."""
    common, both = compare.shared(a.scene, b.scene), [a] if a is b else [a, b]
    head = (tr("Choose two lines; as soon as you rewind or fork, there are more than one.") if a is b else
            trn("The first {n} message is the same in both.", "The first {n} messages are the same in both.", common))
    sides = "" if a is b else columns(*(
        f"<p><b>{esc(title(line))}</b><br>{esc(counters_text(line.scene))}</p>{_messages(line.scene['messages'][common:])}" for line in both))
    rows = "".join(f"<tr><th scope='row' style='font-weight:400'>{esc(effect_text(effect))}</th>"
                   + "".join(f"<td>{esc(knowledge()[compare.knows(line.scene, effect)])}</td>" for line in both) + "</tr>" for effect in effects)
    heads = "".join(f"<th scope='col'>{esc(text)}</th>" for text in (tr("what was done"), *(line.name for line in both)))
    table = (f"<table><caption style='text-align:left'>{esc(tr('What stands in the one world, and who knows of it'))}</caption>"
             f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>")
    return f'<div role="status"><p>{esc(head)}</p></div>{sides}{table}'


def knowledge():
    return {"did": tr("✓ its own call"), "told": tr("○ told by a note"), "nothing": tr("✗ does not know")}


def counters_text(scene):
    has = compare.counters(scene)
    return " · ".join([
        trn("{n} turn", "{n} turns", has["turns"]), trn("{n} message", "{n} messages", has["messages"]),
        tr("tokens: {inherited} inherited, {own} its own", **has["tokens"])])


def effect_text(effect):
    """``pay_back: R7, 40 (toolu_03, checkpoints)``"""
    values = ", ".join(map(as_content, effect["input"].values())) if isinstance(effect.get("input"), dict) else ""
    return cut(f"{effect['name']}{': ' if values else ''}{values}") + f" ({effect['id']}, {effect['branch']})"


def cut(text):
    """The text in one line, and no more of it than is read at a glance."""
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else text[:WIDTH - 1] + "…"


def message_text(message):
    """A message in a line: who says what."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    who = tr("model") if message["role"] == "assistant" else tr("to the model")
    return cut(f"{who}: " + " ".join(map(_block_text, blocks)))


def _block_text(block):
    if block["type"] == "tool_use":
        return f"→ {block['name']} ({block['id']}) {as_content(block['input'])}"
    if block["type"] == "tool_result":
        return f"{tr('✗ error') if block.get('is_error') else '←'} {as_content(block.get('content', ''))}"
    return str(block.get("text", block["type"]))


def _messages(messages):
    earlier = len(messages) - DRAWN
    more = [trn("… {n} earlier message …", "… {n} earlier messages …", earlier)] if earlier > 0 else []
    text = "\n".join(map(esc, [*more, *map(message_text, messages[-DRAWN:])]))
    return f"<pre>{text}</pre>" if messages else f"<p>{esc(tr('No message of its own.'))}</p>"


def _list(texts):
    return f"<ul>{''.join(f'<li>{esc(text)}</li>' for text in texts)}</ul>"


def _button(text, icon=""):
    return W.Button(description=text, icon=icon, layout=W.Layout(width="max-content"))
