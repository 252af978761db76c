"""Progress: what has been tried and solved in the exercises, from the student's own file."""
import ipywidgets as W

from ..grading import catalogue, progress
from ..words import tr
from .base import View
from .panels import esc


class Progress(View):
    """The widget. Its static twin lists the exercises and nobody's progress, so that no notebook tells on its reader."""

    def __init__(self):
        self.table = W.HTML()
        self.again = W.Button(description=tr("Look again"), icon="refresh", layout=W.Layout(width="max-content"))
        super().__init__([self.table, self.again])
        self.on_click(self.again, self.look)
        self._act(self.look)

    def look(self):
        """Read the file and draw the table."""
        rows = catalogue.kept_progress()
        solved = sum(entry["solved"] for _, _, entry in rows)
        where = tr("This is kept in {file}; delete that file to begin anew.", file=progress.path()) if progress.path().exists() else \
            tr("Nothing is kept yet; a file comes with the first answer that you check.")
        self.table.value = (f'<div role="status"><p><b>{esc(tr("{solved} of {all} solved", solved=solved, all=len(rows)))}</b></p>'
                            + table((id, title, progress.state(entry)) for id, title, entry in rows) + f"<p>{esc(where)}</p></div>")

    def static_html(self):
        return (f"<p>{esc(tr('Run this cell to see how far you are. The exercises:'))}</p>"
                + "<ul>" + "".join(f"<li>{esc(id)} · {esc(tr(title))}</li>" for id, title, _ in catalogue.kept_progress()) + "</ul>")

    def __repr__(self):
        return "Progress()"


def table(rows):
    return ("<table>" + "".join(f"<tr><td><b>{esc(id)}</b> {esc(tr(title))}</td><td>{esc(words)}</td></tr>" for id, title, words in rows) + "</table>")
