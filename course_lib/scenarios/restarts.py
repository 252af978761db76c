"""A task that dies in each of its lives, and something outside that starts it again each time. (lesson 3)"""
from dataclasses import replace

from .runner import start
from .scenario import turn
from .support_desk import SUPPORT_DESK

ONE_MORE_LOOK = replace(  # a model that never comes to an end by itself
    SUPPORT_DESK["read_file"], name="one-more-look",
    script=[turn("One more look.", f"toolu_{n:02}", "read_file", {"path": "outage.txt"}) for n in range(1, 201)])


def lives(scenario, folder, crash_after, *, at_most, **options):
    """Start, then resume after each crash, until a life ends by itself or at_most of them have been lived.

    crash_after: ``(label, n)``, where each life dies. options: as runner.start takes them. Gives the Outcome of each life.
    """
    outcomes = [start(scenario, folder, crash_after=crash_after, **options)]
    while outcomes[-1].status == "killed" and len(outcomes) < at_most:
        outcomes.append(start(scenario, folder, resume=True, crash_after=crash_after, **options))
    return outcomes
