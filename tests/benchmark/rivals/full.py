"""LangGraph with the channel that every tutorial uses."""
import operator
from typing import Annotated

from rivals.graph import GraphStore


class Store(GraphStore):
    def __init__(self, folder):
        super().__init__(folder, Annotated[list, operator.add])
