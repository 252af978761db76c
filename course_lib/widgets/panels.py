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
MAX_WIDTH = 160
_DIFF_LINES = 400  # difflib is exact and slow; beyond this a count of equal lines has to do
_TEMP = re.compile(r"(.+)\.[0-9a-f]{12}\.tmp")


def esc(text):
    return html.escape(str(text))


def file_panel(name, data, before):
    """One file, exactly as on disk. data, before: bytes, or None where there is no file.

    before is what stood there a moment ago; lines that are new since carry a mark.
    """
    shown = _TEMP.sub(r"\1.….tmp", name)
    if data is None:
        gone = tr("removed a moment ago") if before is not None else tr("not there")
        return f"<div><b>{esc(shown)}</b>: {esc(gone)}</div>"
    lines = data.decode("utf-8", "replace").split("\n")
    new = _new_lines(lines, [] if before is None else before.decode("utf-8", "replace").split("\n"))
    body = "\n".join(_line(text, i in new) for i, text in _window(lines, new))
    return f"<div><b>{esc(shown)}</b>: {esc(_what_changed(data, before, len(new)))}<pre>{body}</pre></div>"


def files_panel(names, files, before):
    """Several files side by side: a table of one row. files, before: ``{name: bytes}``."""
    cells = "".join(f'<td style="vertical-align:top">{file_panel(name, files.get(name), before.get(name))}</td>' for name in names)
    return f"<table><tr>{cells}</tr></table>"


def world_panel(files, journal):
    """What happened outside. files: ``{name: bytes}``; journal: bytes of the tools' own record."""
    counts = Counter(json.loads(line)["tool"] for line in journal.decode("utf-8").splitlines())
    done = ", ".join(f"{esc(tool)} ×{n}" for tool, n in counts.items()) or esc(tr("nothing yet"))
    rest = "".join(file_panel(name, data, data) for name, data in files.items())
    return f"<div><b>{esc(tr('What the tools really did'))}</b>: {done}{rest}</div>"


def log_panel(lines):
    """The terminal."""
    text = "\n".join(map(esc, lines)) or esc(tr("(nothing printed yet)"))
    return f"<div><b>{esc(tr('Terminal'))}</b><pre>{text}</pre></div>"


def _what_changed(data, before, new):
    size = trn("{n} byte", "{n} bytes", len(data))
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


def _window(lines, new):
    """(index, text) of the lines to show: all of a short file, the start and what is new of a long one."""
    if len(lines) <= MAX_LINES:
        return list(enumerate(lines))
    first = max(10, min(new, default=0) - 5)
    last = min(len(lines), first + MAX_LINES - 20)
    shown = [*range(10), *range(first, last), *range(max(last, len(lines) - 5), len(lines))]
    window, at = [], 0
    for i in shown:
        if i > at:
            window.append((-1, trn("… {n} more line …", "… {n} more lines …", i - at)))
        window.append((i, lines[i]))
        at = i + 1
    return window


def _line(text, is_new):
    if len(text) > MAX_WIDTH:
        text = text[:MAX_WIDTH] + " " + trn("… {n} more character", "… {n} more characters", len(text) - MAX_WIDTH)
    return f"<mark>{MARK}{esc(text)}</mark>" if is_new else "  " + esc(text)
