"""TranscriptDoctor: paste a conversation that the API refuses, see what is wrong with it, mend it, take it home. (beyond lesson 3)"""
import base64
import json

import ipywidgets as W

from ..doctor import breaches_of, examine, shorten
from ..errors import CourseError
from ..repair import LONE, repair_transcript
from ..scenarios.broken import BROKEN
from ..values import encode
from ..words import tr, trn
from .base import View
from .panels import esc, file_panel

MAX_DRAWN = 50  # breaches, and changes; the rest is counted
MAX_PASTED = 2_000_000  # characters; a text box with more makes the browser slow
MAX_LINK = 1_500_000  # bytes; browsers give up on longer data: links
FILE = "mended.json"


def meaning(rule):
    """What a breach means for whoever has to find its cause."""
    return {
        "any-message": tr("There is nothing to send."),
        "list": tr("What was read is no list of messages."),
        "object": tr("Something that is no message or block at all stands where one should be."),
        "role": tr("The API knows user and assistant only; instructions go into the request's system field, tool results into user messages."),
        "content": tr("A message that says nothing, often what is left of one whose blocks were filtered out."),
        "field": tr("A block was put together by hand or by a converter, and a part is missing or of the wrong type."),
        "id-pattern": tr("Another provider or a script made this id; the API takes letters, digits, _ and - and nothing else."),
        "name-length": tr("No tool has such a name; the model may have put a whole command where the name belongs."),
        "result-block": tr("The tool, or what carries its results, uses blocks of another format."),
        "error-text": tr("A result that is marked as an error may hold nothing but text, and here there is a picture or the like."),
        "error-empty": tr("A tool failed without a word; an error has to say something."),
        "empty-text": tr("An empty text block, often from a stream that was cut off."),
        "blank-text": tr("A text of nothing but blanks."),
        "tool_use-role": tr("Only the model calls tools; roles were mixed up when the history was written."),
        "tool_result-role": tr("Results come from your side; roles were mixed up when the history was written."),
        "first-user": tr("The beginning was cut off, perhaps to save tokens."),
        "unique-id": tr("Some providers and scripts start counting ids afresh; a result then belongs to two calls."),
        "unanswered": tr("A tool was named and nothing says what came of it: the process died in between, or the result was lost or put elsewhere."),
        "results-first": tr("The result is there, behind something else, where the API does not look for it."),
        "orphan-result": tr("The call it answers is not in the message right before: cut away, or something was put in between."),
        "single-result": tr("One call was answered twice, as when two resumes each add a result."),
        "ends-with-user": tr("The model has spoken last; there is nothing for it to answer."),
        LONE: tr("Text was cut in the middle of a character, such as an emoji, so no request can carry it."),
    }[rule]


class TranscriptDoctor(View):
    """The widget. From Python: ``examine(text or bytes)``, ``mend()``; then ``breaches``, ``mended`` and ``changes``."""

    def __init__(self):
        narrow = {"style": {"description_width": "initial"}}
        self.example = W.Dropdown(description=tr("A broken example"), options=[(tr("choose one"), None), *((tr(name), name) for name in BROKEN)],
                                  layout=W.Layout(width="max-content", max_width="100%"), **narrow)
        self.file = W.FileUpload(description=tr("Load a file"), accept=".json,.jsonl,.txt", layout=W.Layout(width="max-content"))
        self.pasted = W.Textarea(description=tr("Or paste it"), placeholder=tr("the messages of a request, a checkpoint.json, or a session in JSON Lines"),
                                 continuous_update=False, rows=8, layout=W.Layout(width="auto"), **narrow)
        self.examine_button = W.Button(description=tr("Examine"), icon="search", layout=W.Layout(width="max-content"))
        self.mend_button = W.Button(description=tr("Mend it"), icon="wrench", disabled=True, layout=W.Layout(width="max-content"))
        self.findings, self.remedy, self.shown = W.HTML(), W.HTML(), W.HTML()
        # Jupyter's own limit for one message; a bigger file is lost on the way to the kernel, and no callback learns of it.
        limit = W.HTML(f"<small>{esc(tr('up to 10 MB; for more, the command course doctor FILE'))}</small>")
        super().__init__([W.HBox([self.example, self.file, limit], layout=W.Layout(flex_flow="row wrap")), self.pasted,
                          W.HBox([self.examine_button, self.mend_button]), self.findings, self.remedy, self.shown])
        self._forget()
        self.on_change(self.example, self._show_example)
        self.on_change(self.file, self._load)
        self.on_click(self.examine_button, self._examine_pasted)
        self.on_click(self.mend_button, self.mend)

    def examine(self, text):
        """Show what the API would refuse in a conversation. text: JSON or JSON Lines, as str or bytes. Raises CourseError."""
        self._forget()
        data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
        diagnosis = examine(data)
        self.messages, self.breaches = diagnosis.messages, diagnosis.breaches
        self.findings.value = findings_html(diagnosis)
        self.mend_button.disabled = not self.breaches

    def mend(self):
        """Mend what was examined, and show the changes and the result."""
        if self.messages is None:
            raise CourseError(tr("There is no conversation yet; paste one and examine it first."))
        self.mended, self.changes = repair_transcript(self.messages)
        self.remedy.value = remedy_html(self.messages, self.mended, self.changes)

    def static_html(self):
        names = "".join(f"<li>{esc(tr(name))}</li>" for name in BROKEN)
        return (f"<p>{esc(tr('Paste a conversation that the API refuses, load it from a file, or look at a broken example, and see what is wrong with it:'))}"
                f"</p><ul>{names}</ul>")

    def __repr__(self):
        return "TranscriptDoctor()"

    def _forget(self):
        self.messages, self.breaches, self.mended, self.changes = None, [], None, []
        self.findings.value = self.remedy.value = self.shown.value = ""
        self.mend_button.disabled = True

    def _show_example(self):
        if self.example.value is not None:
            text = json.dumps(BROKEN[self.example.value], indent=2, ensure_ascii=False)
            self.examine(text)
            # Not in the text box: there it would wipe out what somebody has typed, perhaps while the kernel was still busy.
            self.shown.value = f"<pre>{esc(text)}</pre>"

    def _load(self):
        if self.file.value:
            data = bytes(self.file.value[0]["content"])
            self.file.value = ()  # else the notebook would keep a copy of somebody's conversation
            self.examine(data)

    def _examine_pasted(self):
        self._forget()
        if len(self.pasted.value) > MAX_PASTED:
            raise CourseError(tr("That is too much for a text box; save it as a file and give its bytes to examine(), or use the command course doctor FILE."))
        self.examine(self.pasted.value)


def findings_html(diagnosis):
    """The breaches of a Diagnosis: where, which id, the API's sentence, and what it means."""
    messages = trn("{n} message", "{n} messages", len(diagnosis.messages))
    if diagnosis.breaches:
        verdict = "✗ " + trn("{messages}, {n} breach of the API's rules", "{messages}, {n} breaches of the API's rules", len(diagnosis.breaches), messages=messages)
    else:
        verdict = "✓ " + tr("{messages}, nothing that the API would refuse", messages=messages)
    notes = "".join(f"<p>{esc(shorten(note))}</p>" for note in diagnosis.notes)
    return f'<div role="status"><p><b>{esc(verdict)}</b></p>{notes}</div>' + _list(
        diagnosis.breaches, lambda breach: f"<br>{esc(shorten(breach['text']))}<br>→ {esc(meaning(breach['rule']))}")


def remedy_html(messages, mended, changes):
    """The changes, what no change can mend, and the mended file with what is new in it marked."""
    verdict = trn("{n} change", "{n} changes", len(changes)) if changes else tr("Nothing here can be mended without a person.")
    left = breaches_of(mended)
    html = f'<div role="status"><p><b>{esc(verdict)}</b></p></div>' + _list(changes, lambda change: f" {esc(shorten(change['what']))}")
    if left:
        html += f"<p><b>{esc(tr('Left for a person to decide, by its position in the mended conversation:'))}</b></p>"
        html += _list(left, lambda breach: f" {esc(shorten(breach['text']))}")
    if not changes:
        return html
    data = encode(mended)
    return html + _download(data) + file_panel(FILE, data, encode(messages))


def _list(found, words):
    more = len(found) - MAX_DRAWN
    rest = f"<p>{esc(trn('… and {n} more', '… and {n} more', more))}</p>" if more > 0 else ""
    rows = "".join(f"<li><b><code>{esc(shorten(item['where']))}{' · ' + esc(shorten(item['id'])) if item['id'] else ''}</code></b>{words(item)}</li>"
                   for item in found[:MAX_DRAWN])
    return f"<ul>{rows}</ul>{rest}" if found else ""


def _download(data):
    if len(data) > MAX_LINK:
        return f"<p>{esc(tr('The result is too big to be downloaded from here; the command course doctor FILE --out {name} writes it.', name=FILE))}</p>"
    link = f"data:application/json;base64,{base64.b64encode(data).decode('ascii')}"
    return f'<p><a download="{FILE}" href="{link}" style="color:inherit;text-decoration:underline">{esc(tr("Download {name}", name=FILE))}</a></p>'
