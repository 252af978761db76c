"""What every view shares: a static twin, an alert for what goes wrong, and the look.

ipywidgets shows an error in a callback nowhere, so each callback runs guarded and its
error is drawn. Colours come from JupyterLab's own variables, so light, dark and high
contrast follow by themselves; outside Lab the browser's own colours stand in.
"""
import threading
import traceback
from pathlib import Path

import anywidget
import ipywidgets as W

from ..errors import CourseError
from ..words import tr
from .panels import esc

STYLE = """<style>
.course-view{max-width:1000px;overflow:visible}
.course-view pre{background:var(--jp-layout-color2,rgba(127,127,127,.15));color:var(--jp-content-font-color1,CanvasText);
 font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,13px);line-height:1.35;
 padding:.4em .5em;margin:.2em 0;overflow:visible;white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere}
.course-view mark{background:var(--jp-layout-color3,rgba(127,127,127,.35));color:inherit;font-weight:700}
.course-view table{border-collapse:collapse;width:100%;table-layout:fixed}
.course-view td,.course-view th{text-align:left;vertical-align:top;padding:.2em .5em;white-space:normal;
 color:var(--jp-content-font-color1,CanvasText);background:none}
.course-view .widget-html-content{line-height:1.5;white-space:normal;overflow:visible;overflow-wrap:anywhere}
.course-view .widget-radio-box label{display:flex;flex-direction:row-reverse;justify-content:flex-end;align-items:flex-start;white-space:normal;height:auto;line-height:1.4;margin:2px 0}
.course-view .widget-radio-box input{flex:none;margin:.2em .5em 0 0;height:auto;line-height:inherit}
.course-view .widget-radio-box,.course-view .widget-radio{max-width:100%;height:auto}
.course-view .widget-checkbox input{margin:auto .4em auto .8em}
.course-view ul{list-style:none;margin:.2em 0;padding-left:1.2em}
.course-view p{margin:.5em 0 .2em}
.course-view select,.course-view input[type=text]{font-family:inherit}
.course-view .widget-dropdown>select{appearance:auto;background-image:none}
.course-view .widget-label{min-width:0;white-space:normal}
.course-view .course-timeline-box{overflow-x:auto;padding:2px}
.course-view .course-timeline{width:auto;table-layout:auto;margin:.3em 0}
.course-view .course-timeline th{font-weight:400;vertical-align:middle;font-size:.85em;padding:0 .25em;text-align:center;white-space:nowrap}
.course-view .course-timeline tbody th{text-align:left;white-space:normal;max-width:19em}
.course-view .course-timeline thead th{white-space:normal;max-width:5.5em}
.course-view .course-timeline td{padding:1px}
.course-view .course-timeline button{min-width:2.3em;height:1.9em;padding:0 .3em;cursor:pointer;font:inherit;color:var(--jp-content-font-color1,CanvasText);
 background:var(--jp-layout-color2,Canvas);border:1px solid var(--jp-content-font-color2,CanvasText);border-radius:1em}
.course-view .course-timeline button[aria-checked=true]{font-weight:700;color:var(--jp-layout-color1,Canvas);
 background:var(--jp-content-font-color1,CanvasText);border-radius:0;outline:2px solid var(--jp-content-font-color1,CanvasText);outline-offset:1px}
.course-view.course-presenter{--jp-code-font-size:17px;--jp-widgets-font-size:17px;--jp-widgets-inline-height:36px;font-size:17px}
.course-view .jupyter-button{color:var(--jp-content-font-color1,CanvasText);background:var(--jp-layout-color2,Canvas);
 border:1px solid var(--jp-content-font-color2,CanvasText)}
.course-view .jupyter-button:disabled{opacity:1;color:var(--jp-content-font-color2,GrayText);border-style:dashed}
.course-view .jupyter-button:focus-visible,.course-view input:focus-visible,.course-view select:focus-visible,
.course-view textarea:focus-visible,.course-view summary:focus-visible,.course-view [role=radio]:focus-visible{outline:3px solid var(--jp-brand-color1,Highlight)!important;outline-offset:2px}
</style>"""


class _Keys(anywidget.AnyWidget):
    """Draws nothing; keeps the keyboard inside the view, which no ipywidgets control can do."""

    _esm = Path(__file__).with_name("keys.js")


class View(W.VBox):
    """A box of controls and HTML panels with a static twin.

    A subclass gives ``static_html()``: the first state as plain HTML, for a reader without a
    kernel, in a printout or on a code host; and ``__repr__``, one short stable line.
    """

    def __init__(self, children, **options):
        self.alert, self._busy, self._turn = W.HTML(), False, threading.RLock()
        super().__init__([W.HTML(STYLE), _Keys(), *children, self.alert], **options)
        self.add_class("course-view")

    def on_click(self, button, action):
        """Run action() at each click; what it raises is drawn below the controls."""
        button.on_click(lambda _: self._guarded(action))

    def on_change(self, control, action):
        """Run action() whenever the control's value changes."""
        control.observe(lambda _: self._guarded(action), "value")

    def on_choice(self, control, action):
        """The same with action(value): what was chosen, even if another event has set the control anew by then."""
        control.observe(lambda change: self._guarded(lambda: action(change["new"])), "value")

    def _guarded(self, action):
        with self._turn:  # JupyterLab has some events handled in a thread of their own, while another may be under way
            if not self._busy:  # a control that an action sets is no event of its own
                self._act(action)

    def _act(self, action):
        self._busy, self.alert.value = True, ""
        try:
            action()
        except CourseError as error:
            self._show_alert(str(error))
        except Exception as error:
            self._show_alert(tr("Something went wrong in this view: {error}", error=f"{type(error).__name__}: {error}"),
                             traceback.format_exc())
        finally:
            self._busy = False

    def _show_alert(self, text, details=""):
        more = f"<details><summary>{esc(tr('Details'))}</summary><pre>{esc(details)}</pre></details>" if details else ""
        self.alert.value = f'<div role="alert"><b>⚠ {esc(text)}</b>{more}</div>'

    def _repr_mimebundle_(self, include=None, exclude=None, **options):
        bundle = super()._repr_mimebundle_(include=include, exclude=exclude, **options) or {}
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "text/plain": repr(self), "text/html": self.static_html()}, metadata
