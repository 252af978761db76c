"""The one root of every error this library raises on purpose.

The text of a CourseError is a single sentence that a student can act on: what is
wrong, where, and what to do. Programs print it as it stands and exit with 1.
"""


class CourseError(Exception):
    """Something a person can put right; ``str(error)`` says what and how."""
