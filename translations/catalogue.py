"""The catalogues of an edition: one .po file a document, with the English text as the key.

A document is one English notebook, an exercise together with its solution (they share their
prose), the README, the words of course_lib, or its graders' feedback. Each has its own file in
translations/LANGUAGE, so several people can translate at the same time.
"""
import ast
import re
from io import BytesIO
from pathlib import Path

import nbformat
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

import blocks

ROOT = Path(__file__).resolve().parents[1]
LANGUAGE = "pt_BR"
WORDS, FEEDBACK = "words", "feedback"        # what course_lib shows, and of it what its graders say
COMPILED = ROOT / "course_lib" / "locales" / LANGUAGE / "LC_MESSAGES" / "course.mo"
KEYS = {"tr": 1, "mark": 1, "trn": 2}       # how many of the arguments are keys
TABLES = ("forms", "code_exercises")        # folders whose modules are tables of prose: each string of several words is a key
# What a new file begins with. No dates of its own: a file that nobody translated should not change.
HEADER = b"""# Kept in step with the English by: python translations/translate.py
msgid ""
msgstr ""
"Project-Id-Version: course-companion 1\\n"
"Report-Msgid-Bugs-To: -\\n"
"POT-Creation-Date: 2026-01-05 09:00+0000\\n"
"PO-Revision-Date: 2026-01-05 09:00+0000\\n"
"Last-Translator: -\\n"
"Language: pt_BR\\n"
"Language-Team: -\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=utf-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"""


def documents():
    """``{name: [English source, ...]}``, sorted; the name is that of the .po file."""
    modules = sorted((ROOT / "course_lib").rglob("*.py"))
    grading = [path for path in modules if ROOT / "course_lib" / "grading" in path.parents]
    found = {WORDS: [path for path in modules if path not in grading], FEEDBACK: grading, "README": [ROOT / "README.md"]}
    for path in sorted((ROOT / "notebooks" / "en").glob("*.ipynb")):
        found[f"notebooks/{path.stem}"] = [path]
    for folder in ("solutions", "exercises"):
        for path in sorted((ROOT / folder / "en").glob("*.ipynb")):
            found.setdefault(f"exercises/{path.stem}", []).append(path)
    return found


def english(name, read=Path.read_text):
    """``{key: [place, ...]}`` of a document, in order: key is a text, or (one, many) for a count; place says where it stands.

    read: gives the text of a source; a test hands in one that changes it.
    """
    found = {}
    for path in documents()[name]:
        for key, place in _READERS[path.suffix](read(path, encoding="utf-8"), path):
            found.setdefault(key, []).append(f"{path.relative_to(ROOT).as_posix()}{place}")
    elsewhere = english(WORDS, read) if name == FEEDBACK else {}    # one catalogue at run time, so each key stands in one file
    return {key: places for key, places in found.items() if key not in elsewhere}


def _of_markdown(text, _):
    at = 1
    for kept, message in blocks.split(text):
        if blocks.has_words(message):
            yield message, f":{at}"
        at += (kept + message).count("\n")


def _of_notebook(text, _):
    for cell in nbformat.reads(text, as_version=4).cells:
        if cell.cell_type == "markdown":
            for _, message in blocks.split(cell.source):
                if blocks.has_words(message):
                    yield message, f"#{cell.id}"


def _of_python(text, path):
    tree = ast.parse(text)
    found = [*_called(tree), *(_told(tree) if path.parent.name in TABLES else [])]
    for line, key in sorted(found, key=lambda pair: pair[0]):
        yield key, f":{line}"


def _called(tree):
    """The keys that tr, trn and mark are given."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", None) in KEYS:
            keys = tuple(arg.value for arg in call.args[:KEYS[call.func.id]] if isinstance(arg, ast.Constant))
            if keys and (blocks.has_words(keys[0]) or keys[0][:1].isdigit()):  # 1,234.5 is a word, too
                yield call.lineno, keys if call.func.id == "trn" else keys[0]


def _told(tree):
    """Each string of several words, but for docstrings, parts of f-strings and texts of programs."""
    nodes = list(ast.walk(tree))
    parts = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    parts |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            if re.search(r"\w.* ", node.value) and "\n" not in node.value:
                yield node.lineno, node.value


_READERS = {".md": _of_markdown, ".ipynb": _of_notebook, ".py": _of_python}


def file_of(name):
    return ROOT / "translations" / LANGUAGE / f"{name}.po"


def load(name):
    """The catalogue of a document as it is on disk; an empty one if there is none yet."""
    file = file_of(name)
    catalogue = read_po(BytesIO(file.read_bytes() if file.exists() else HEADER))
    for message in catalogue:  # Babel reads "#| the English before" as a comment of ours
        message.user_comments = [comment for comment in message.user_comments if not comment.startswith("|")]
    return catalogue


def sync(name):
    """Bring a document's .po in step with the English. Gives the catalogue.

    A text that is new comes without a translation, or with that of a similar text, marked fuzzy. What
    is no longer in the English waits at the end of the file until everything else is translated.
    """
    catalogue, template = load(name), Catalog()
    for message in catalogue.obsolete.values():     # an English text may have come back
        catalogue[message.id] = message
    catalogue.obsolete.clear()
    for key, places in english(name).items():
        template.add(key, locations=[(place.split(":")[0], None) for place in places])
    catalogue.update(template, update_creation_date=False)
    catalogue.obsolete = {key: message for key, message in catalogue.obsolete.items() if message.string and any(message.string)}
    is_complete = all(lookup(catalogue, message.id) for message in catalogue if message.id)
    file_of(name).parent.mkdir(parents=True, exist_ok=True)
    with open(file_of(name), "wb") as file:         # so wide that no line is ever wrapped
        write_po(file, catalogue, width=100_000, ignore_obsolete=is_complete, include_previous=True)
    return load(name)


def lookup(catalogue, key):
    """The translation of a key (a tuple of forms for a count), or None where there is none to be relied on."""
    message = catalogue.get(key[0] if isinstance(key, tuple) else key)
    if message is None or message.fuzzy or not message.string or not all(message.string):
        return None
    return message.string


def words():
    """``{key: translation}`` of all that course_lib shows, as far as it is translated."""
    catalogues = [load(WORDS), load(FEEDBACK)]
    return {message.id: message.string for catalogue in catalogues for message in catalogue if message.id and lookup(catalogue, message.id)}


def compile_words():
    """Write the .mo file that gettext reads at run time."""
    catalogue = read_po(BytesIO(HEADER))
    for key, translation in words().items():
        catalogue.add(key, translation)
    COMPILED.parent.mkdir(parents=True, exist_ok=True)
    with open(COMPILED, "wb") as file:
        write_mo(file, catalogue)
