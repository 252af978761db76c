"""Exercises that check themselves: criteria, checks, hints, feedback. Pure: no widgets, no notebook."""
