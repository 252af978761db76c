"""The whole of course_lib at work: run_agent with tools, ledger and gates, a model that answers at once, and its history."""
from types import SimpleNamespace

import workload
from course_lib import Tool, run_agent
from rivals import history


class Store(history.Store):
    def run(self, turns):
        # The model would go on for ever; max_turns ends it after the turns that are measured.
        run_agent(Model(), workload.TASK, {"write_note": Tool(NoteBook().write)}, folder=self.folder, keep="history", max_turns=turns)


class Model:
    def __init__(self):
        self.turn = 0
        self.messages = SimpleNamespace(create=self._create)

    def _create(self, **request):
        self.turn += 1
        body = {"content": workload.call(self.turn)["content"], "stop_reason": "tool_use", "usage": {"input_tokens": 0, "output_tokens": 0}}
        return SimpleNamespace(to_dict=lambda: body)


class NoteBook:
    def __init__(self):
        self.turn = 0

    def write(self, input):
        self.turn += 1
        return workload.result(self.turn)
