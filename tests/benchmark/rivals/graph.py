"""What both LangGraph rivals share: a graph of two nodes, model and tools, with SqliteSaver and durability="sync".

The default channel (full.py) stores the whole conversation in every checkpoint, DeltaChannel (delta.py) what is new.
"""
from typing import TypedDict

import workload
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

MAIN = {"configurable": {"thread_id": "main"}}


class GraphStore:
    noted = {}  # checkpoints by turn, as walk has seen them; they outlive the connection

    def __init__(self, folder, messages):
        self.context = SqliteSaver.from_conn_string(str(folder / "checkpoints.db"))
        self.saver = self.context.__enter__()
        self.last = 0
        self.graph = self._build(messages)

    def _build(self, messages):
        graph = StateGraph(TypedDict("State", {"messages": messages, "turns": int}))
        graph.add_node("model", lambda state: {"messages": self.written(workload.call(state["turns"] + 1))})
        graph.add_node("tools", lambda state: {"messages": self.written(workload.answer(state["turns"] + 1)), "turns": state["turns"] + 1})
        graph.add_edge(START, "model")
        graph.add_edge("model", "tools")
        graph.add_conditional_edges("tools", lambda state: "model" if state["turns"] < self.last else END)
        return graph.compile(checkpointer=self.saver)

    def written(self, message):
        """A message as a node hands it to the channel."""
        return [message]

    def run(self, turns):
        self.last = turns
        self.graph.invoke({"messages": self.written(*workload.conversation(0)), "turns": 0},
                          {**MAIN, "recursion_limit": 2 * turns + 10}, durability="sync")

    def resume(self):
        return self.graph.get_state(MAIN).values["messages"]

    def rewind(self, turn):
        """For those who know how steps are numbered: two a turn, after the input's own."""
        return next(self.graph.get_state_history(MAIN, filter={"step": 2 * turn})).values["messages"]

    def walk(self, turn):
        """For those who don't: back through the history until the turn is found."""
        found = next(state for state in self.graph.get_state_history(MAIN)
                     if state.values["turns"] == turn and state.next != ("tools",))
        self.noted[turn] = found.config
        return found.values["messages"]

    def fork(self, turn):
        self.graph.update_state(self.noted[turn], {"messages": []}, as_node="tools")

    go_back = None

    def close(self):
        self.context.__exit__(None, None, None)
