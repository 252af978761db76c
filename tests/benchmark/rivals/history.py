"""history.jsonl: one line a save, of what is new."""
from course_lib import fork_from, go_back_to, history, rewind_to
from rivals.saves import Saves


class Store(Saves):
    functions = history.FUNCTIONS

    def rewind(self, turn):
        return rewind_to(turn, folder=self.folder)["messages"]

    def fork(self, turn):
        fork_from(turn, "plan-b", folder=self.folder)

    def go_back(self, turn):
        go_back_to(turn, folder=self.folder)
