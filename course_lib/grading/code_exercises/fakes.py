"""The tools an answer is given: they stand on this side, so what really ran is known here."""
import json
from functools import partial

from ..driver import Fails, Fake, Kill


class Tools:
    """Fake tools that count. results: ``{name: value, or Fails(why)}``; natures: ``{name: {"read_only": True}}``.

    ran: every execution, ``(name, input)`` in order; wanted: every tool that was called, failed and killed calls as well. asked, done: called with the name before and
    after an execution; raising Kill there kills the child at that very moment.
    """

    def __init__(self, results, natures=None, *, asked=None, done=None):
        self.results, self.natures, self.asked, self.done, self.ran = results, natures or {}, asked, done, []
        self.wanted = []

    def fakes(self):
        """As an answer gets them: ``{name: tool}``."""
        return {name: Fake(partial(self._run, name), **{"read_only": False, **self.natures.get(name, {})}) for name in self.results}

    def times(self, name):
        return sum(1 for ran, _ in self.ran if ran == name)

    def _run(self, name, /, input):  # a tool takes its input, and nothing else
        self.wanted.append(name)
        if self.asked:
            self.asked(name)
        result = self.results[name]
        if isinstance(result, Fails):
            raise result
        self.ran.append((name, input))
        if self.done:
            self.done(name)
        return result


def kill(*_):
    """For asked and done."""
    raise Kill


def block(id, name, input):
    """A tool_use block as the model sends it."""
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def tells(content, value):
    """Whether a tool_result's content carries a tool's value: itself, or its JSON text, or its plain text."""
    if content == value or content == str(value):
        return True
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        return tells(content[0].get("text"), value)
    try:
        return isinstance(content, str) and json.loads(content) == value
    except (ValueError, RecursionError):
        return False
