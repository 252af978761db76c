"""The small library behind the course "State Management and Persistence": agents that survive being killed.

The core (storage, checkpoint, ledger, tools, agent, resume, moments) is what the lessons
teach, under the lessons' own names. It needs nothing but Python.
"""
from .agent import run_agent
from .branches import fork_from, go_back_to
from .checkpoint import load_checkpoint, save_checkpoint
from .ledger import load_effects, save_effect, save_effects
from .moments import Run, SimulatedCrash, crash_point
from .resume import reconcile
from .scenes import load_latest, rewind_to
from .standing import effects_since
from .tools import Tool, run_tool_uses

__all__ = [
    "Run", "SimulatedCrash", "Tool", "crash_point", "effects_since", "fork_from", "go_back_to", "load_checkpoint", "load_effects",
    "load_latest", "reconcile", "rewind_to", "run_agent", "run_tool_uses", "save_checkpoint", "save_effect", "save_effects",
]
