"""The rows of a form as lists to choose from. ipywidgets has no fieldset, and without one a screen reader can't say what a list is about."""
from pathlib import Path

import anywidget
import traitlets

from ..words import tr


class Choices(anywidget.AnyWidget):
    """rows: of a Form. value: the answer, ``{row: {field: value or None}}``."""

    _esm = Path(__file__).with_name("choices.js")
    _css = Path(__file__).with_name("choices.css")
    rows = traitlets.List().tag(sync=True)
    nothing = traitlets.Unicode().tag(sync=True)
    value = traitlets.Dict().tag(sync=True)

    def __init__(self, rows, value):
        super().__init__(nothing=tr("choose …"), value=value, rows=[
            {"name": row.name, "says": tr(row.says), "fields": [
                {"name": field.name, "asks": tr(field.asks), "options": [[value, tr(text)] for value, text in field.options.items()]}
                for field in row.fields]} for row in rows])

    def __repr__(self):
        return "Choices()"
