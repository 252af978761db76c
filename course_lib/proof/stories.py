"""A story: a start and its resumes, each perhaps cut short; and every story of a case, those with fewer kills first.

Equal folders go on equally, so what follows from a folder is lived once and remembered; a
test tells some of the stories both ways.
"""
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .. import checkpoint, guard, history, ledger
from ..moments import Moment
from ..scenarios import world
from ..scenarios.matrix import memory_folder
from ..scenarios.policies import start_under
from ..scenarios.recording import Recording
from ..scenarios.runner import Outcome
from .beliefs import can_resume

OURS = (checkpoint.FILE, ledger.FILE, history.FILE, world.INTENTS, guard.LOCK)  # the harness's own files; so begin their temp files, too


@dataclass(frozen=True)
class Life:
    """One start or resume.

    outcome: how it ended. files: what it left, ``{name: bytes}``. fate: the same in words. kill: the
    Moment it was killed at, if it was one. seen: what was on disk at that moment of the same life
    without the kill. recording: of a life that was watched to its end.
    """

    resumed: bool
    outcome: Outcome
    files: dict
    fate: str = "ran to its end"
    kill: Moment | None = None
    seen: dict | None = None
    recording: Recording | None = None

    def __str__(self):
        return f"{'resumed' if self.resumed else 'started'}, {self.fate}"


@dataclass(frozen=True)
class Story:
    lives: tuple = ()

    @property
    def files(self):
        return self.lives[-1].files if self.lives else {}

    @property
    def kills(self):
        return [life.kill for life in self.lives if life.kill]

    def then(self, life):
        return Story((*self.lives, life))

    def __str__(self):
        text = "; ".join(map(str, self.lives))
        return f"{text[:1].upper()}{text[1:]}."


class Teller:
    """Tells the lives of one case, in a folder that it may use as it likes. lived: how many it really ran."""

    def __init__(self, case, folder, *, remembers=True):
        self.case, self.folder, self.remembers = case, Path(folder), remembers
        self.lived, self._known = 0, {}

    def go_on(self, story, kill=None, seen=None):
        """The story with one more life. The first one, and one that has nothing to resume from, starts afresh."""
        key = (tuple(masked(story.files)), kill and (kill.label, kill.count))
        if key not in self._known or not self.remembers:
            self._known[key] = self._live(story.files, kill)
        outcome, files, recording = self._known[key]
        fate = f"killed at {kill.label}:{kill.count} in turn {kill.turn}" if kill else Life.fate
        return story.then(Life(can_resume(story.files), outcome, files, fate, kill, seen, recording))

    def _live(self, files, kill):
        self.lived += 1
        put(self.folder, files)
        recording = None if kill else Recording(self.folder)
        outcome = start_under(self.case.policy, self.case.scenario, self.folder, resume=can_resume(files),
                              crash_after=kill and (kill.label, kill.count), listeners=[recording] if recording else [])
        return outcome, take(self.folder), recording


def stories(teller, most_kills=2, sample=None, chance=None):
    """Every finished story of the teller's case, those with fewer kills first.

    The one place that lists the cases: each life is run without a kill, and in the next round it is
    killed at every moment that it announced. sample: of the stories with two kills and more take so
    many of each round, drawn by ``chance``, a random.Random.
    """
    this_round = [(Story(), None, None, 0)]
    for kills in range(most_kills + 1):
        if sample is not None and kills > 1 and sample < len(this_round):
            this_round = chance.sample(this_round, sample)
        next_round = []
        for story, kill, recording, index in this_round:
            if kill:
                story = teller.go_on(story, kill, recording.files(index))
            told = teller.go_on(story)
            yield told
            if kills < most_kills:
                recording = told.lives[-1].recording
                next_round += [(story, moment, recording, index) for index, moment in enumerate(recording.moments) if moment.count]  # a remark is no place to die
        this_round = next_round


def checkpoints(case, story):
    """Every checkpoint.json, as bytes or None, that is on disk at some moment of the story's next life."""
    with tempfile.TemporaryDirectory(prefix="course-", dir=memory_folder()) as folder:
        recording = Teller(case, folder).go_on(story).lives[-1].recording
    return {story.files.get(checkpoint.FILE), *(recording.version(checkpoint.FILE, index) for index in range(len(recording.moments)))}


def put(folder, files):
    """Make these files the folder's only ones."""
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    for name, data in files.items():
        (Path(folder) / name).write_bytes(data)


def take(folder):
    return {name: (Path(folder) / name).read_bytes() for name in sorted(os.listdir(folder))}


def masked(files):
    """The files, without what is another each time: the random part of a temp file's name, and the lock."""
    return sorted((re.sub(r"\.[0-9a-f]{12}\.tmp$", ".tmp", name), data) for name, data in files.items() if name != guard.LOCK)
