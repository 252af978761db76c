"""The floor under history.jsonl: its very lines, ready before the clock starts, appended and synced where it syncs. Nothing reads them back."""
import os
import tempfile
from contextlib import closing
from pathlib import Path

from course_lib.history import FILE
from rivals import history

sync = getattr(os, "fdatasync", os.fsync)


class Store:
    def __init__(self, folder):
        self.file = os.open(folder / "raw.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self.lines = []

    def prepare(self, turns):
        with tempfile.TemporaryDirectory() as folder, closing(history.Store(Path(folder), durability="kill")) as store:
            store.run(turns)
            self.lines = (store.folder / FILE).read_bytes().splitlines(keepends=True)

    def run(self, turns):
        for line in self.lines:
            os.write(self.file, line)
            if b'"answers":' not in line[:40]:
                sync(self.file)

    resume = rewind = fork = go_back = None

    def close(self):
        os.close(self.file)
