"""The files of lessons 2 to 4, checkpoint.json and effects.json, each whole at every save."""
from rivals.saves import Saves as Store  # noqa: F401  (the library as it is, with nothing in its place)
