"""The task of lessons 2, 3 and 6: sales notes become a short report, in three calls."""
from pathlib import Path

from ..moments import crash_point
from ..tools import Tool
from . import world
from .scenario import Scenario, turn

TASK = "Turn sales-notes.txt into a short report and write it to report.txt."
NOTES = """Sales notes, week 48
North: 120 units sold, 2 returned
South: 95 units sold, none returned
West: 143 units sold, 5 returned
Ask South why the last delivery came late.
"""
REPORT = f"""Sales report, week 48
Sold: 358 units in three regions. Returned: 7.
West sold most (143), South had no returns.
Open: why South's last delivery came late.
(from {len(NOTES.split())} words of notes)
"""


def tools(folder):
    """read_notes and count_words only look; write_report changes the world."""
    notes, report = Path(folder) / "sales-notes.txt", Path(folder) / "report.txt"

    def read_notes(input):
        text = notes.read_text(encoding="utf-8")
        crash_point("mid-tool", name="read_notes")
        world.note(folder, "read_notes", input)
        return text

    def count_words(input):
        count = len(notes.read_text(encoding="utf-8").split())
        crash_point("mid-tool", name="count_words")
        world.note(folder, "count_words", input)
        return f"{count} words"

    def write_report(input):
        text = input["text"]
        with open(report, "w", encoding="utf-8", newline="\n") as file:
            file.write(text[:len(text) // 2])
            file.flush()
            crash_point("mid-tool", name="write_report")
            file.write(text[len(text) // 2:])
        world.note(folder, "write_report", input)
        return f"wrote report.txt, {len(text.split())} words"

    text_input = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return {
        "read_notes": Tool(read_notes, "Give the text of sales-notes.txt.", read_only=True, idempotent=True, destructive=False),
        "count_words": Tool(count_words, "Count the words of sales-notes.txt.", read_only=True, idempotent=True, destructive=False),
        "write_report": Tool(write_report, "Write report.txt, replacing what is there.", text_input, idempotent=True),
    }


SALES_REPORT = Scenario(
    name="sales-report",
    task=TASK,
    files={"sales-notes.txt": NOTES},
    tools=tools,
    effect="write_report",
    script=[
        turn("First I read the notes.", "toolu_01", "read_notes", {}),
        turn("How long are they?", "toolu_02", "count_words", {}),
        turn("That fits on one page. I write the report.", "toolu_03", "write_report", {"text": REPORT}),
        {"content": [{"type": "text", "text": "Report written to report.txt, task complete."}], "stop_reason": "end_turn"},
    ],
)
