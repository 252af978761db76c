"""openai-agents: SQLiteSession, two add_items a turn. It keeps items and no ledger.

The documented way to undo is pop_item, which removes from the end, for good. A fork is a second session with a copy.
"""
import asyncio

import workload
from agents import SQLiteSession


class Store:
    def __init__(self, folder):
        self.path = folder / "session.db"
        self.session = SQLiteSession("main", self.path)

    def run(self, turns):
        asyncio.run(self._run(turns))

    async def _run(self, turns):
        await self.session.add_items(workload.conversation(0))
        for turn in range(1, turns + 1):
            await self.session.add_items([workload.call(turn)])
            await self.session.add_items([workload.answer(turn)])

    def resume(self):
        return asyncio.run(self.session.get_items())

    def rewind(self, turn):
        return self.resume()[:1 + 2 * turn]

    def fork(self, turn):
        asyncio.run(self._fork(turn))

    async def _fork(self, turn):
        branch = SQLiteSession("plan-b", self.path)
        await branch.add_items((await self.session.get_items())[:1 + 2 * turn])
        branch.close()

    def go_back(self, turn):
        asyncio.run(self._go_back(turn))

    async def _go_back(self, turn):
        for _ in range(len(await self.session.get_items()) - (1 + 2 * turn)):
            await self.session.pop_item()

    def close(self):
        self.session.close()
