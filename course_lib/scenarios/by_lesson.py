"""One instant, Point A of turn 1 of the sales report, as the program of each lesson writes it. (lessons 2, 3 and 6)"""
from .sales_report import TASK

_task = {"role": "user", "content": TASK}
_call = {"id": "toolu_01", "name": "read_notes", "input": {}}
_asked = {"role": "assistant", "content": [{"type": "text", "text": "First I read the notes."}, {"type": "tool_use", **_call}]}

# Lesson 2 raises turns at Point B and counts what the model wrote; lesson 6 has not put the model's turn into messages yet.
LESSON_2 = {"version": 1, "task": TASK, "turns": 0, "tokensUsed": 29, "messages": [_task, _asked], "pendingToolUse": _call}
LESSON_3 = {"version": 1, "task": TASK, "turns": 1, "tokensUsed": 53, "messages": [_task, _asked], "pendingToolUse": _call}
LESSON_6 = {"version": 1, "task": TASK, "turns": 1, "tokensUsed": 53, "messages": [_task], "pendingToolUse": _call}
POINT_A = {"lesson-2.json": LESSON_2, "lesson-3.json": LESSON_3, "lesson-6.json": LESSON_6}
