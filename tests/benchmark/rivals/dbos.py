"""DBOS on its default SQLite: a workflow with two steps a turn, model and tool, each a row of its own.

fork_workflow begins a second workflow with copies of the first rows, and a worker replays them.
"""
import workload
from dbos import DBOS, SetWorkflowID

last = 0  # the turn after which the workflow ends; a fork ends where it has caught up


@DBOS.step()
def model(turn):
    return workload.call(turn)


@DBOS.step()
def tool(turn):
    return workload.answer(turn)


@DBOS.workflow()
def agent():
    messages = workload.conversation(0)
    while len(messages) < 1 + 2 * last:
        turn = len(messages) // 2 + 1
        messages.append(model(turn))
        messages.append(tool(turn))
    return len(messages)


class Store:
    def __init__(self, folder):
        DBOS(config={"name": "benchmark", "system_database_url": f"sqlite:///{folder / 'dbos.sqlite'}", "log_level": "ERROR"})
        DBOS.launch()

    def run(self, turns):
        global last
        last = turns
        with SetWorkflowID("main"):
            agent()

    def resume(self):
        return self._messages(limit=None)

    def rewind(self, turn):
        return self._messages(limit=2 * turn)

    def _messages(self, limit):
        return workload.conversation(0) + [step["output"] for step in DBOS.list_workflow_steps("main", limit=limit)]

    def fork(self, turn):
        global last
        last = turn
        DBOS.fork_workflow("main", 2 * turn + 1)

    go_back = None

    def close(self):
        DBOS.destroy()
