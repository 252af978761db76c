"""A scenario around one tool of your own: the model calls it once, then sums up. (lesson 6)"""
from dataclasses import fields
from pathlib import Path

from ..errors import CourseError
from ..tools import Tool
from . import world
from .scenario import Scenario


def one_call(function, input, **nature):
    """A Scenario whose only tool is ``function(folder, input)``.

    nature: what the tool says of itself, as Tool takes it (read_only, idempotent, high_impact,
    verify …). A high-impact call is approved at once, so that a crash after it can be tried.
    """
    name = function.__name__
    unknown = nature.keys() - {field.name for field in fields(Tool)[2:]}  # function and description are given already
    if unknown:
        raise CourseError(f"A tool can't say {', '.join(sorted(unknown))} of itself; it can say read_only, idempotent, "
                          "destructive, high_impact, and how to verify.")

    def tools(folder):
        def run(input):
            value = function(Path(folder), input)
            world.note(folder, name, input)
            return value
        return {name: Tool(run, (function.__doc__ or "").strip(), **nature)}

    call = {"type": "tool_use", "id": "toolu_01", "name": name, "input": input}
    return Scenario(
        name=f"one-call-{name}", task=f"Call {name} once.", files={}, tools=tools, effect=name, approve=lambda folder: lambda name, input: True,
        script=[{"content": [call], "stop_reason": "tool_use"},
                {"content": [{"type": "text", "text": f"{name} is done."}], "stop_reason": "end_turn"}])

