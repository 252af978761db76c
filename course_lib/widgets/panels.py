"""Pictures of a moment as plain HTML: files as they are on disk, the world, the log.

The same markup is shown live and stored in the notebook, so it makes sense without CSS:
what changed is said in words and marked by a sign, not by colour. Everything that comes
from a file is escaped, and however big a file is, its picture is small and soon drawn.
"""
import html
import json
import re
from collections import Counter
from difflib import SequenceMatcher

from ..log import plain
from ..words import tr, trn

MARK = "▶ "
MAX_LINES, MAX_STRETCHES = 300, 40  # drawn of one stretch, and of one file
MAX_WIDTH, MAX_LOG_WIDTH = 200, 2000
MANY = 50_000  # a file of more lines is not compared line by line
TOP, BOTTOM, NEAR, FOLD = 6, 8, 2, 6  # lines kept at both ends and around a change; the shortest stretch to fold
_DIFF_LINES = 400  # difflib is exact and slow; beyond this a count of equal lines has to do
_TEMP = re.compile(r"(.+)\.[0-9a-f]{12}\.tmp")


def esc(text):
    """Text as markup: nothing in it is a tag, and nothing in it is invisible or turns the text around it."""
    return html.escape("\n".join(line if line.isprintable() else plain(line) for line in str(text).split("\n")))


def file_panel(name, data, before, watch=None):
    """One file, exactly as on disk. data, before: bytes, or None where there is no file.

    before is what stood there a moment ago; lines that are new since carry a mark, and long
    stretches without one are folded, but for lines that hold the text watch.
    """
    shown = _TEMP.sub(r"\1.….tmp", name)
    if data is None:
        gone = tr("removed a moment ago") if before is not None else tr("not there")
        return f"<div><b>{esc(shown)}</b>: {esc(gone)}</div>"
    if max(data.count(b"\n"), (before or b"").count(b"\n")) > MANY:
        return f"<div><b>{esc(shown)}</b>: {esc(_what_changed(data, before, None))}{_ends(data)}</div>"
    lines = _lines(data)
    new = set() if data == before else _new_lines(lines, _lines(before or b""))
    if lines and not lines[-1]:  # what is behind the last newline is no line, unless it is all that is new
        new = new - {len(lines) - 1} or new
    return f"<div><b>{esc(shown)}</b>: {esc(_what_changed(data, before, len(new)))}{_body(lines, new, watch)}</div>"


def plain_file(name, data, watch=None):
    """One file with nothing to compare it to; the middle of a long one is folded, but for lines that hold watch."""
    if data is None:
        return file_panel(name, data, None)
    body = _ends(data) if data.count(b"\n") > MANY else _body(_lines(data), set(), watch)
    return f"<div><b>{esc(name)}</b>: {esc(_size(data))}{body}</div>"


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
    earlier = len(lines) - MAX_LINES
    more = [trn("… {n} earlier line …", "… {n} earlier lines …", earlier)] if earlier > 0 else []
    text = "\n".join(esc(_cut(line, MAX_LOG_WIDTH)) for line in [*more, *lines[-MAX_LINES:]]) or esc(tr("(nothing printed yet)"))
    return f"<div><b>{esc(tr('Terminal'))}</b><pre>{text}</pre></div>"


def _size(data):
    return trn("{n} byte", "{n} bytes", len(data))


def _lines(data):
    return data.decode("utf-8", "replace").split("\n") if data else []


def _what_changed(data, before, new):
    size = _size(data)
    if before is None:
        return tr("{size}, new", size=size)
    if data == before:
        return tr("{size}, unchanged", size=size)
    if new is None:
        return tr("{size}, changed (too long to mark the lines)", size=size)
    if not new:
        return tr("{size}, lines taken away", size=size)
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
    if not lines:
        return ""
    watched = {i for i, text in enumerate(lines) if watch and watch in text}
    stretches = _stretches(len(lines), new | watched if len(watched) <= MAX_STRETCHES else new)
    if len(stretches) > MAX_STRETCHES:
        stretches[MAX_STRETCHES:] = [(stretches[MAX_STRETCHES][0], len(lines), False)]
    return "".join(_stretch(lines, start, end, new, folded) for start, end, folded in stretches)


def _ends(data):
    """The first and the last lines of a very long file."""
    first, last = data.split(b"\n", MAX_LINES)[:-1], data.rsplit(b"\n", BOTTOM)[1:]
    between = data.count(b"\n") + 1 - len(first) - len(last)
    more = trn("… {n} more line …", "… {n} more lines …", between).encode()
    return _pre(_line(line.decode("utf-8", "replace"), False) for line in [*first, more, *last])


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
    text = _pre(shown)
    if not folded:
        return text
    return f"<details><summary>{esc(trn('{n} more line', '{n} more lines', end - start))}</summary>{text}</details>"


def _pre(lines):
    return f'<pre style="white-space:pre-wrap;word-break:normal">{chr(10).join(lines)}</pre>'


def _line(text, is_new):
    text = esc(_cut(text, MAX_WIDTH))
    return f"<mark>{MARK}{text}</mark>" if is_new else "  " + text


def _cut(text, width):
    if len(text) <= width + 50:  # cutting off a word or two would only be a riddle
        return text
    return text[:width] + " " + trn("… {n} more character", "… {n} more characters", len(text) - width)
