"""LangGraph with its DeltaChannel, still in beta: what is new, and the whole every 100 updates.

A message that stands in a list of its own stays the plain dict it is; else the channel would turn it into an object
of LangChain, with an id, at twice the price.
"""
from itertools import chain
from typing import Annotated

from langgraph.channels.delta import DeltaChannel
from rivals.graph import GraphStore


def flatten(messages, writes):
    return [*messages, *chain.from_iterable(chain.from_iterable(writes))]


class Store(GraphStore):
    def __init__(self, folder):
        super().__init__(folder, Annotated[list, DeltaChannel(flatten)])

    def written(self, message):
        return [[message]]
