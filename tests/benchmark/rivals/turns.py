"""The lesson's own sequence: turn-001-A.json, turn-001-B.json, … each with the whole conversation up to there."""
from course_lib import turns
from rivals import history


class Store(history.Store):
    functions = turns.FUNCTIONS
