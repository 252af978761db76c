"""TornWriteLab: cut a save short at any byte, or cut the power, and see what load_checkpoint says of the rest."""
import json

import ipywidgets as W

from ..checkpoint import FILE
from ..scenarios import torn
from ..scenarios.disk import WRITERS
from ..words import tr, trn
from .base import View
from .panels import columns, esc, file_panel

EMPTY, CUT = "CheckpointEmpty", "CheckpointTorn"
KINDS = (torn.OLD, torn.NEW, EMPTY, CUT, torn.LIED)


def ways():
    return {"plain": tr('plain: open(path, "w"), then write'),
            "in place": tr('in place: open(path, "r+"), write over the old bytes'),
            "atomic": tr("atomic: a temp file, then a rename")}


def writers():
    return {"plain": tr("plain, no fsync"), "rename": tr("temp file and rename, no fsync"), "file": tr("the same, with fsync of the file only"),
            "folder": tr("the same, with fsync of the folder only"), "both": tr("the same, with both (write_atomic)")}


def kinds():
    """What is left, in words."""
    return {torn.OLD: tr("the old save, whole"), torn.NEW: tr("the new save, whole"), EMPTY: tr("refused: an empty file"),
            CUT: tr("refused: cut off or not JSON"), torn.LIED: tr("accepted, and it is neither")}


class TornWriteLab(View):
    """The widget. From Python: ``kill(way, count)`` and ``cut_power(writer)``; ``text`` is what load_checkpoint says of the kill."""

    def __init__(self):
        narrow = {"style": {"description_width": "initial"}}
        self.way = W.Dropdown(description=tr("Way of writing"), options=[(text, name) for name, text in ways().items()],
                              layout=W.Layout(width="max-content"), **narrow)
        self.count = W.BoundedIntText(description=tr("Bytes written before the kill"), min=0, max=len(torn.two_saves()[1]),
                                      layout=W.Layout(width="22em"), **narrow)
        self.earlier, self.later = (W.Button(description=text, layout=W.Layout(width="max-content"))
                                    for text in (tr("◀ to the answer before"), tr("to the next answer ▶")))
        self.left = W.HTML()
        self.writer = W.Dropdown(description=tr("Way of writing"), options=[(text, name) for name, text in writers().items()],
                                 layout=W.Layout(width="max-content"), **narrow)
        self.lost = W.HTML()
        row = W.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([
            W.HTML(_heading(tr("The process is killed"))), self.way, W.HBox([self.count, self.earlier, self.later], layout=row), self.left,
            W.HTML(counts_html()),
            W.HTML(_heading(tr("The power goes"))), self.writer, self.lost])
        self.on_change(self.way, self._show_kill)
        self.on_change(self.count, self._show_kill)
        self.on_click(self.earlier, lambda: self._jump(-1))
        self.on_click(self.later, lambda: self._jump(+1))
        self.on_change(self.writer, self._show_power_cut)
        self.kill("plain", self.count.max // 2)
        self.cut_power("plain")

    def kill(self, way, count):
        """Look at what a kill right after that many written bytes leaves."""
        self.way.value, self.count.value = way, count
        self._show_kill()

    def cut_power(self, writer):
        """Look at what may be left when the power goes."""
        self.writer.value = writer
        self._show_power_cut()

    @property
    def text(self):
        return _answer(torn.left_after_kill(self.way.value, self.count.value))

    def static_html(self):
        return (f"{_heading(tr('The process is killed'))}<p>{esc(ways()[self.way.value])}, "
                f"{esc(trn('killed after {n} byte', 'killed after {n} bytes', self.count.value))}</p>{self.left.value}{counts_html()}"
                f"{_heading(tr('The power goes'))}<p>{esc(writers()[self.writer.value])}</p>{self.lost.value}")

    def __repr__(self):
        return "TornWriteLab()"

    def _jump(self, by):
        """To the nearest kill, before or after, that ends otherwise."""
        answers, at = torn.answers(self.way.value), self.count.value
        while 0 <= at + by < len(answers) and answers[at] == answers[self.count.value]:
            at += by
        self.count.value = at
        self._show_kill()

    def _show_kill(self):
        self.left.value = kill_html(self.way.value, self.count.value)

    def _show_power_cut(self):
        self.lost.value = power_cut_html(self.writer.value)


def kill_html(way, count):
    """What a kill leaves: load_checkpoint's answer, then the files; lines that the old save did not have are marked."""
    files, old = torn.left_after_kill(way, count), torn.two_saves()[0]
    return f'<div role="status">{esc(tr("load_checkpoint says:"))} <b>{esc(_answer(files))}</b></div>' + _files(files, {FILE: old})


def counts_html():
    """For each way of writing, how many of all kills end how."""
    total = len(torn.two_saves()[1]) + 1
    rows = [[ways()[way], *(str(torn.kills(way)[kind]) for kind in KINDS)] for way in torn.WAYS]
    caption = trn("All of them: a kill after each byte, {n} kills a way", "All of them: a kill after each byte, {n} kills a way", total)
    return _table(caption, [tr("way of writing"), *(kinds()[kind] for kind in KINDS)], rows)


def power_cut_html(writer):
    """What may be left of a save when the power goes during it, and after it has returned."""
    during, after = torn.power_cuts(writer), torn.power_cuts(writer, returned=True)
    rows = [[kinds()[kind], _may(kind in during), _may(kind in after)] for kind in KINDS if kind in during]
    if torn.is_safe(writer):
        verdict = tr("✓ Old or new at any time, and new for certain once the save has returned.")
    elif set(during) <= {torn.OLD, torn.NEW}:
        verdict = tr("✗ Never broken, but a save that has returned may be forgotten: the rename had not reached the disk.")
    else:
        verdict = tr("✗ The name checkpoint.json may stand for bytes that never reached the disk.")
    steps = "\n".join(operation_text(*operation) for operation in WRITERS[writer](FILE, torn.two_saves()[1]))
    examples = "".join(f"<details><summary>{esc(tr('Look at one: {what}', what=kinds()[kind]))}</summary>{_files(during[kind][-1], {})}</details>"
                       for kind in KINDS if kind in during and kind not in (torn.OLD, torn.NEW))
    return (f'<div role="status"><b>{esc(verdict)}</b></div>'
            + columns(f"<b>{esc(tr('What the system is asked for'))}</b><pre>{esc(steps)}</pre>",
                      _table(tr("What may be found afterwards"),
                             [tr("checkpoint.json"), tr("power gone during the save"), tr("after it returned")], rows))
            + examples)


def operation_text(what, *rest):
    """An operation of scenarios/disk.py as one line, its bytes as their number."""
    return " ".join([what, *(trn("{n} byte", "{n} bytes", len(part)) if isinstance(part, bytes) else str(part)
                             for part in (rest if what != "write" else (rest[0], rest[2])))])


def _answer(files):
    kind, text = torn.read(files)
    if text:
        return f"{kind}: {text}"
    if kind != torn.LIED:
        return kinds()[kind]
    scene = json.loads(files[FILE])
    return kinds()[kind] + tr(": turns is {turns}, and {n} messages make {closed} turns", turns=scene["turns"], n=len(scene["messages"]),
                              closed=sum(message["role"] == "assistant" for message in scene["messages"]))


def _files(files, before):
    """The checkpoint, and a temp file if there is one, beside it."""
    return columns(*(file_panel(name, data, before.get(name, b"")) for name, data in sorted(files.items())))


def _may(is_possible):
    return tr("may be") if is_possible else "–"


def _heading(text):
    return f"<p><b>{esc(text)}</b></p>"


def _table(caption, head, rows):
    cells = "".join(f"<th scope='col'>{esc(text)}</th>" for text in head)
    body = "".join(f"<tr><th scope='row'>{esc(first)}</th>{''.join(f'<td>{esc(text)}</td>' for text in rest)}</tr>" for first, *rest in rows)
    return f"<table><caption style='text-align:left'>{esc(caption)}</caption><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
