"""Pictures of a moment as plain HTML: files as they are on disk, the world, the log.

The same markup is shown live and stored in the notebook, so it makes sense without CSS:
what changed is said in words and marked by a sign, not by colour. Everything that comes
from a file is escaped.
"""
import html
import json
import re
from collections import Counter
from difflib import SequenceMatcher

from ..words import tr, trn

MARK = "▶ "
MAX_LINES = 300
MAX_WIDTH = 200
TOP, BOTTOM, NEAR, FOLD = 6, 8, 2, 6  # lines kept at both ends and around a change; the shortest stretch to fold
_DIFF_LINES = 400  # difflib is exact and slow; beyond this a count of equal lines has to do
_TEMP = re.compile(r"(.+)\.[0-9a-f]{12}\.tmp")


def esc(text):
    return html.escape(str(text))


def file_panel(name, data, before, watch=None):
    """One file, exactly as on disk. data, before: bytes, or None where there is no file.

    before is what stood there a moment ago; lines that are new since carry a mark, and long
    stretches without one are folded, but for lines that hold the text watch.
    """
    shown = _TEMP.sub(r"\1.….tmp", name)
    if data is None:
        gone = tr("removed a moment ago") if before is not None else tr("not there")
        return f"<div><b>{esc(shown)}</b>: {esc(gone)}</div>"
    lines = data.decode("utf-8", "replace").split("\n")
    new = _new_lines(lines, [] if before is None else before.decode("utf-8", "replace").split("\n"))
    return f"<div><b>{esc(shown)}</b>: {esc(_what_changed(data, before, len(new)))}{_body(lines, new, watch)}</div>"


def plain_file(name, data, watch=None):
    """One file with nothing to compare it to; the middle of a long one is folded, but for lines that hold watch."""
    if data is None:
        return file_panel(name, data, None)
    return f"<div><b>{esc(name)}</b>: {esc(_size(data))}{_body(data.decode('utf-8', 'replace').split(chr(10)), set(), watch)}</div>"


def files_panel(names, files, before, watch=None):
    """Several files side by side: a table of one row. files, before: ``{name: bytes}``."""
    return columns(*(file_panel(name, files.get(name), before.get(name), watch) for name in names))


def columns(*panels):
    """Panels side by side, equally wide."""
    style = f"text-align:left;vertical-align:top;width:{100 // len(panels)}%"
    cells = "".join(f'<td style="{style}">{panel}</td>' for panel in panels)
    return f'<table style="width:100%"><tr>{cells}</tr></table>'


def world_panel(files, before, journal):
    """What happened outside. files, before: ``{name: bytes}``; journal: bytes of the tools' own record."""
    counts = Counter(json.loads(line)["tool"] for line in journal.decode("utf-8").splitlines())
    done = ", ".join(f"{esc(tool)} ×{n}" for tool, n in counts.items()) or esc(tr("nothing yet"))
    rest = "".join(file_panel(name, data, before.get(name)) for name, data in files.items())
    return f"<div><b>{esc(tr('Tool runs that finished'))}</b>: {done}{rest}</div>"


def log_panel(lines):
    """The terminal."""
    text = "\n".join(map(esc, lines)) or esc(tr("(nothing printed yet)"))
    return f"<div><b>{esc(tr('Terminal'))}</b><pre>{text}</pre></div>"


def _size(data):
    return trn("{n} byte", "{n} bytes", len(data))


def _what_changed(data, before, new):
    size = _size(data)
    if before is None:
        return tr("{size}, new", size=size)
    if data == before:
        return tr("{size}, unchanged", size=size)
    return trn("{size}, {n} line new (marked {mark})", "{size}, {n} lines new (marked {mark})", new, size=size, mark=MARK.strip())


def _new_lines(lines, old):
    """The indices of the lines that the old file does not have there."""
    head = 0
    while head < min(len(lines), len(old)) and lines[head] == old[head]:
        head += 1
    tail = 0
    while tail < min(len(lines), len(old)) - head and lines[-1 - tail] == old[-1 - tail]:
        tail += 1
    middle, middle_old = lines[head:len(lines) - tail], old[head:len(old) - tail]
    if len(middle) + len(middle_old) <= _DIFF_LINES:
        blocks = SequenceMatcher(None, middle_old, middle, autojunk=False).get_opcodes()
        return {head + i for kind, _, _, a, b in blocks if kind != "equal" for i in range(a, b)}
    left, new = Counter(middle_old), set()
    for i, text in enumerate(middle):
        if left[text]:
            left[text] -= 1
        else:
            new.add(head + i)
    return new


def _body(lines, new, watch):
    seen = new | {i for i, text in enumerate(lines) if watch and watch in text}
    return "".join(_stretch(lines, start, end, new, folded) for start, end, folded in _stretches(len(lines), seen))


def _stretches(count, seen):
    """(start, end, folded): which lines to show, and which to fold because there is nothing to see."""
    around = {i + d for i in seen for d in range(-NEAR, NEAR + 1)}
    keep = [i < TOP or i >= count - BOTTOM or i in around for i in range(count)]
    cuts = [0, *(i for i in range(1, count) if keep[i] != keep[i - 1]), count]
    runs = [(start, end, not keep[start] and end - start >= FOLD) for start, end in zip(cuts, cuts[1:])]
    joined = runs[:1]
    for run in runs[1:]:  # a stretch too short to fold joins what is shown before it
        if run[2] == joined[-1][2]:
            joined[-1] = (joined[-1][0], run[1], run[2])
        else:
            joined.append(run)
    return joined


def _stretch(lines, start, end, new, folded):
    shown = [_line(lines[i], i in new) for i in range(start, min(end, start + MAX_LINES))]
    if end - start > MAX_LINES:
        shown.append("  " + esc(trn("… {n} more line …", "… {n} more lines …", end - start - MAX_LINES)))
    text = f'<pre style="white-space:pre-wrap;word-break:normal">{chr(10).join(shown)}</pre>'
    if not folded:
        return text
    return f"<details><summary>{esc(trn('{n} more line', '{n} more lines', end - start))}</summary>{text}</details>"


def _line(text, is_new):
    if len(text) > MAX_WIDTH + 50:  # cutting off a word or two would only be a riddle
        text = text[:MAX_WIDTH] + " " + trn("… {n} more character", "… {n} more characters", len(text) - MAX_WIDTH)
    return f"<mark>{MARK}{esc(text)}</mark>" if is_new else "  " + esc(text)
