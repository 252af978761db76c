"""What the code exercises share: an answer's text as the criteria see it, and the words for a call that did not come back."""
import errno
import io
import json
import os
import re
import stat
import tempfile
import tokenize
import zlib
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random, SystemRandom

from ...words import mark, tr
from ..driver import DIED, FLOOD, GREEDY, RAISED, RETURNED, TIMEOUT, Child
from ..exercise import CannotCheck, Criterion, Exercise, NotAttempted
from ..feedback import in_words
from ..report import Slip

TEXTS = Path(__file__).with_name("answers")
LONGEST = 1500  # characters of one text of a slip
HINTS = {  # for what can happen to any program
    "does-not-run": [mark("The cell is run alone, in a fresh process, with Python's standard library and nothing else."),
                     mark("Restart the kernel and run only this cell. What it needs from other cells has to come into it.")],
    "undefined": [mark("The check looks for functions by their names; keep those of the cell you started from."),
                  mark("Compare the lines that begin with def with those of the untouched exercise.")],
    "raises": [mark("The message says what Python stumbled over, and in which line of your cell."),
               mark("Call the function yourself, with a small input, and read the whole traceback.")],
    "endless": [mark("Something is waited for that never comes, or a loop's condition never changes."),
                mark("Print the loop's variables in each round, with a small input: which of them should change and does not?")],
    "ends-process": [mark("exit, quit and os._exit end the whole process, and the harness with it."),
                     mark("Return a value, or raise an error that the caller can catch.")],
    "tampers": [mark("Something has removed or replaced what it should leave alone."), mark("Each function gets a path. Which other paths does it write to, remove or rename?")],
    "floods": [mark("The function calls something again and again."), mark("Count how often each line runs for a single tool call.")],
    "greedy": [mark("Something grows with every round: a list, a text, the number of files or of processes."), mark("Where does it grow, and what should put an end to that?")],
}


_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # what no answer is to blame for


class Slipped(Exception):
    """An answer falls short; carries the Slip out of whatever the criterion was doing."""

    def __init__(self, slip):
        super().__init__(slip)
        self.slip = slip


def slip(hint, given, expected, story="", scenario=None):
    """Leave the criterion: the answer falls short in this way. What is in the texts may come from the answer, so they have an end."""
    raise Slipped(Slip(hint, *(text if len(text) <= LONGEST else text[:LONGEST] + " …" for text in (given, expected, story)), scenario))


def criterion(code, says):
    """Make a Criterion of a function of an Answer that leaves with slip(...) where something is wrong."""
    def made(check):
        def judged(answer):
            try:
                check(answer)
            except Slipped as slipped:
                return slipped.slip
            except OSError as error:
                if error.errno in _MACHINE:
                    raise
                return Slip("tampers", tr("a file or folder of the check was gone or replaced: {why}", why=error.strerror), tr("the functions touch only the files that they are given"))
            except RecursionError:
                return Slip("raises", tr("a value nested so deeply that it can't even be looked at"), tr("plain values"))
            return None
        return Criterion(code, says, judged)
    return made


def code_exercise(id, title, criteria, hints, **more):
    """An Exercise whose answers are programs. hints: its own, beside those for any program."""
    name = "ex_" + id.replace(".", "_").replace("-", "_")
    starter, solution = ((TEXTS / f"{name}_{which}.py").read_text(encoding="utf-8") for which in ("starter", "solution"))
    return Exercise(id, title, "code", _subject(starter), criteria, {**HINTS, **hints}, starter, solution, **more)


class Answer:
    """An answer under check. text; random: seeded by the text, so that the same answer meets the same ids and amounts.

    secret: what no answer may foresee, though it knows its own text: where it works, and in which order things come.
    kept: a folder of this side's own, on the same disk. process: a child for all calls that need none
    of their own. writer: another one, for what process is to read; so what comes back was on disk.
    Where what any call has left in memory could help the next, take child().
    """

    def __init__(self, text, home):
        self.text, self.secret, self._shared = text, SystemRandom(), {}
        self._work, self.kept = home / "work", home / "kept"
        self._work.mkdir()
        self.kept.mkdir()
        self.seed = zlib.crc32(text.encode("utf-8", "surrogatepass"))
        self.random = Random(self.seed)

    def folder(self):
        """A new empty folder, under a name that nobody can know beforehand."""
        folder = self._work / f"{self.secret.randrange(16 ** 12):012x}"
        folder.mkdir()
        return folder

    def id(self):
        """A tool_use_id."""
        return f"toolu_{self.random.randrange(16 ** 8):08x}"

    def word(self):
        """A word that stands in no program."""
        return "".join(self.random.choice("bdfglmnprstv") + self.random.choice("aeiou") for _ in range(4))

    def child(self, **options):
        """A new process with this answer in it; see driver.Child."""
        return Child(self.text, self._work, **options)

    @property
    def process(self):
        return self._one("process")

    @property
    def writer(self):
        return self._one("writer")

    def _one(self, role):
        if role not in self._shared:
            self._shared[role] = self.child().__enter__()
        return self._shared[role]

    def close(self):
        for child in self._shared.values():
            child.__exit__()

    def call(self, name, *args, scenario=None, **kwargs):
        """What a function gives; where it gives nothing, the criterion is left with the reason."""
        return self.got(self.process.call(name, *args, **kwargs), name, scenario)

    def write(self, name, *args):
        """Call a function in writer; where it does not come back, the criterion is left with the reason."""
        self.got(self.writer.call(name, *args), name)

    def got(self, ended, name, scenario=None):
        """The value of a call; where there is none, the criterion is left with the reason."""
        if ended.status == RETURNED:
            return ended.value
        slip(_HINTS.get(ended.status, "ends-process" if ended.error == "SystemExit" else "raises"),
             self.words(ended, name), tr("{name} comes back with a value", name=name), scenario=scenario)

    def words(self, ended, name):
        """How a call ended, in a sentence."""
        at = tr(", at line {line}: {code}", line=ended.line, code=self.line(ended.line)) if ended.line else ""
        said = {TIMEOUT: tr("{name} did not come back in time and was cut off", name=name),
                DIED: tr("{name} ended the whole process", name=name),
                FLOOD: tr("{name} asked for more things than anybody counts, and was cut off", name=name),
                GREEDY: tr("{name} took more memory or disk than an answer has, and was cut off", name=name)}.get(ended.status)
        return (said or tr("{name} raised {error}", name=name, error=f"{ended.error}: {ended.text}".rstrip(": "))) + at

    def line(self, number):
        """A line of the answer, without its indent."""
        lines = self.text.splitlines()
        return lines[number - 1].strip()[:120] if 0 < number <= len(lines) else ""


_HINTS = {TIMEOUT: "endless", DIED: "ends-process", FLOOD: "floods", GREEDY: "greedy"}


def runs(*names):
    """The criterion that every code exercise begins with: the cell runs by itself and defines these functions."""
    @criterion("runs", mark("The cell runs by itself and defines its functions."))
    def check(answer):
        process = answer.process
        if process.loaded.status != RETURNED:
            slip("does-not-run", answer.words(process.loaded, tr("the cell")), tr("the cell runs to its end, in a process where nothing else has run"))
        missing = [name for name in names if not process.names.get(name)]
        if missing:
            slip("undefined", tr("there is no function {names}", names=", ".join(missing)), tr("the cell defines {names}", names=", ".join(names)))
    return check


def because(question, says, right, wrong):
    """The criterion that the right letter answers a question in the answer's BECAUSE.

    wrong: what each other letter is met with, ``{letter: a question that leads on}``. The hint is ``because-KEY``.
    """
    key = question.key

    @criterion(key.replace(" ", "_"), says)
    def check(answer):
        if "BECAUSE" not in answer.process.names:
            slip("undefined", tr("there is no BECAUSE"), tr("the cell has its BECAUSE, with a letter for each question"))
        given, form = answer.got(answer.process.value("BECAUSE"), "BECAUSE"), tr("a dict with a letter for each question, as in the cell you started from")
        if not isinstance(given, dict) or "$object" in given:  # the latter is how a child tells of what JSON can't hold
            slip("undefined", tr("BECAUSE is {value}", value=given["$object"] if isinstance(given, dict) else shown(given)), form)
        if key not in given:
            slip("undefined", tr("BECAUSE has no {key}", key=repr(key)), form)
        letter = given[key]
        meant = letter.strip().casefold() if isinstance(letter, str) else None
        if meant != right:
            raise Slipped(Slip(f"because-{key.replace(' ', '-')}", tr("BECAUSE[{key}] is {letter}", key=repr(key), letter=shown(letter)),
                               tr("{question} The letter of the one line that is true and says why:", question=in_words(question.asks)),
                               question=tr(wrong[meant]) if meant in wrong else "",
                               choices=tuple((f"{letter})", in_words(text)) for letter, text in question.choices.items())))
    return check


def no_own_error(answer, ended, name):
    """How a call ended and why that is no error which the answer raises itself, in words; None where it is one."""
    if ended.status != RAISED:
        return outcome(answer, ended, name)
    if "SystemExit" in (ended.error, *ended.kinds):
        return tr("{what}; that ends the whole program, and is no error for a caller to deal with", what=outcome(answer, ended, name))
    if not re.search(r"(^|[:;] *)(raise|assert) +[^\s#]", answer.line(ended.line or 0)):
        return tr("{what}; Python raised that, not a raise of yours", what=outcome(answer, ended, name))
    if not any(re.search(r"[^\W\d_]{2}", word) and "/" not in word and "\\" not in word for word in ended.text.split()):  # a path is no word
        return tr("{what}; you raise it, and its text has no word in it", what=outcome(answer, ended, name))
    return None


def outcome(answer, ended, name):
    """How a call ended, in a sentence, whether it gave something or not."""
    return tr("{name} gave {value}", name=name, value=shown(ended.value)) if ended.status == RETURNED else answer.words(ended, name)


# An answer may have put a link where a file was: it is neither read nor written through.
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def put(path, data):
    """Lay a file out for the answer; data: bytes, or what is to stand in it as JSON. Gives the file, open, to cut it off with truncate."""
    file = open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | _PLAIN, 0o600), "r+b", buffering=0)
    file.write(data if isinstance(data, bytes) else json.dumps(data).encode())
    return file


def read(path):
    """A file's bytes; None where there is none, or something that only looks like one."""
    try:
        fd = os.open(path, os.O_RDONLY | _PLAIN)
        with open(fd, "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None


def shown(value):
    """A value as feedback shows it: what JSON can't hold as it looks in the child, which tells of it as $object."""
    text = repr(_as_there(value)).encode("utf-8", "backslashreplace").decode("utf-8")  # half a character can't be printed
    return text if len(text) <= 300 else text[:300] + " …"


class _There:
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _as_there(value):
    if isinstance(value, dict):
        return _There(value["$object"]) if isinstance(value.get("$object"), str) and len(value) == 1 else {key: _as_there(each) for key, each in value.items()}
    return list(map(_as_there, value)) if isinstance(value, list) else value


def _subject(starter):
    @contextmanager
    def subject(text):
        if not isinstance(text, str):
            raise CannotCheck(tr("The answer to this exercise is the text of a program; give the function itself in a notebook, or a file."))
        text = text.removeprefix("\ufeff").replace("\r\n", "\n")  # some editors put the one at the head of a file, the other at the end of a line
        if _tokens(text) in ([], _tokens(starter)):
            raise NotAttempted(tr("This is still the cell as it was given: change the functions, run the cell, and check again."))
        with tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as home:
            answer = Answer(text, Path(home).resolve())
            with closing(answer):
                yield answer
    return subject


def _tokens(text):
    """A program without its comments and empty lines. By tokens, since a parser can be made to crash by what it reads."""
    dull = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER, tokenize.NEWLINE}
    try:
        return [token.string.strip() for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in dull]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return [text]
