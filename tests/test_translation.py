"""The Portuguese edition is the English one in another language: nothing more, nothing less, nothing stale."""
import ast
import csv
import gettext
import json
import re
import sys
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib import words
from course_lib.grading import catalogue as grading
from course_lib.grading import feedback
from course_lib.scenarios.broken import BROKEN
from course_lib.scenarios.policies import POLICIES
from course_lib.widgets.exercise_card import ExerciseCard
from course_lib.widgets.questions import QUESTIONS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "translations"))

import blocks  # noqa: E402
import catalogue  # noqa: E402
import faults  # noqa: E402
import translate  # noqa: E402

DOCUMENTS = catalogue.documents()
WITH_FILES = [name for name in DOCUMENTS if name not in (catalogue.WORDS, catalogue.FEEDBACK)]
SOURCES = [(name, source) for name in WITH_FILES for source in DOCUMENTS[name]]
HOW = "run: python translations/translate.py"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_english_text_has_its_portuguese(name):
    assert [f"{place}: {what}: {english[:80]}" for place, what, english in faults.faults(name)] == [], HOW


@pytest.mark.parametrize("name, source", SOURCES, ids=[source.relative_to(ROOT).as_posix() for _, source in SOURCES])
def test_the_portuguese_file_is_the_one_made_from_the_english(name, source):
    target = translate.target_of(source)
    if source.suffix == ".md":
        assert target.read_text(encoding="utf-8") == translate.portuguese(source.read_text(encoding="utf-8"), catalogue.load(name)), HOW
        return
    made, stored = translate.notebook(source, catalogue.load(name)), nbformat.read(target, as_version=4)
    assert [plain(cell) for cell in stored.cells] == [plain(cell) for cell in made.cells], HOW


def plain(cell):
    return cell.id, cell.cell_type, cell.source, dict(cell.metadata)


def test_every_portuguese_file_has_an_english_one():
    made = {translate.target_of(source) for _, source in SOURCES}
    found = {path for folder in ("notebooks", "exercises", "solutions") for path in (ROOT / folder / catalogue.LANGUAGE).glob("*.ipynb")}
    assert found | {ROOT / "README.pt-BR.md"} == made, "an English notebook was renamed or removed: remove its Portuguese edition"
    files = {catalogue.file_of(name) for name in DOCUMENTS}
    assert set((ROOT / "translations" / catalogue.LANGUAGE).rglob("*.po")) <= files, "a .po file belongs to no English document"


@pytest.mark.parametrize("name, source", SOURCES, ids=[source.relative_to(ROOT).as_posix() for _, source in SOURCES])
def test_code_cells_are_the_same_in_both_editions(name, source):
    if source.suffix == ".ipynb":
        both = [nbformat.read(path, as_version=4).cells for path in (source, translate.target_of(source))]
        code, other = ([(cell.id, cell.source) for cell in cells if cell.cell_type == "code"] for cells in both)
        assert code == other


def test_what_gettext_reads_is_what_the_catalogues_say():
    with open(catalogue.COMPILED, "rb") as file:
        compiled = gettext.GNUTranslations(file)
    translated = catalogue.words()
    for key, text in translated.items():
        forms = (text,) if isinstance(key, str) else (compiled.ngettext(*key, 1), compiled.ngettext(*key, 2))
        assert forms == ((compiled.gettext(key),) if isinstance(key, str) else tuple(text)), HOW
    singulars = {key if isinstance(key, str) else key[0] for key in translated}
    assert {key if isinstance(key, str) else key[0] for key in compiled._catalog} - {""} == singulars, HOW


def test_nothing_counts_as_one_in_portuguese():
    words.use_language("pt_BR")
    try:
        said = [words.trn("{n} byte", "{n} bytes", n) for n in (0, 1, 2)]
    finally:
        words.use_language("en")
    assert said == ["0 byte", "1 byte", "2 bytes"]


class Missed(gettext.NullTranslations):
    """Notes what it is asked for: gettext asks its fallback for what is in no catalogue."""

    def __init__(self):
        super().__init__()
        self.texts = set()

    def gettext(self, message):
        self.texts.add(message)
        return message

    def ngettext(self, one, many, n):
        return self.gettext(one)


@pytest.fixture
def in_portuguese():
    """The language set to Portuguese; gives a function: what was shown and has no translation, names of one word aside."""
    words.use_language("pt_BR")
    missed, known = Missed(), catalogue.words().values()
    words._catalogue.add_fallback(missed)
    yield lambda: {text for text in missed.texts if " " in text and text not in known}   # what is looked up twice is found once
    words.use_language("en")


def wrong_answers(id):
    """Answers to an exercise: of a form all that the tests have, of a program its solution, its beginning and a few wrong ones."""
    exercise, files = grading.exercise(id), sorted((ROOT / "tests" / "answers" / id).glob("*.*"))
    if exercise.kind == "code":
        return [exercise.solution, exercise.starter, *(path.read_text(encoding="utf-8") for path in files[::4])]
    differs = [json.loads(path.read_text(encoding="utf-8"))["differs"] for path in files]
    return [exercise.starter, *({row: {**fields, **change.get(row, {})} for row, fields in exercise.solution.items()} for change in differs)]


@pytest.mark.parametrize("id", grading.MODULES)
def test_whatever_a_grader_says_it_says_in_portuguese(id, in_portuguese):
    exercise = grading.exercise(id)
    for answer in wrong_answers(id):
        feedback.as_text(exercise.check(answer))
    ExerciseCard(id).static_html()
    for text in [*(step for steps in exercise.hints.values() for step in steps), *exercise.notes, *exercise.notes.values()]:
        words.tr(text)
    assert in_portuguese() == set()


def test_every_question_policy_and_example_is_in_portuguese(in_portuguese):
    for question in QUESTIONS.values():
        question()
    for text in [*BROKEN, *(policy.title for policy in POLICIES.values())]:
        words.tr(text)
    assert in_portuguese() == set()


def test_what_is_missing_would_be_seen(in_portuguese):
    assert words.tr("Nobody has translated this.") == "Nobody has translated this."
    assert in_portuguese() == {"Nobody has translated this."}


# --- the guard itself ------------------------------------------------------------------------

@pytest.mark.parametrize("name", DOCUMENTS)
def test_changing_any_one_english_text_is_told_with_its_place(name):
    """All are changed at once, each by one word; whether one is told depends on nothing but itself."""
    edited = {f"{key} Really." if isinstance(key, str) else (f"{key[0]} Really.", key[1]): places for key, places in catalogue.english(name).items()}
    told = set(faults.of_catalogue(edited, catalogue.load(name), (), {}))
    for key, places in edited.items():
        assert (places[0], "is missing in the .po file", key if isinstance(key, str) else key[0]) in told


@pytest.mark.parametrize("path", [source for _, source in SOURCES if source.suffix == ".ipynb"][:1] + [ROOT / "course_lib/widgets/questions.py"], ids=lambda path: path.name)
def test_a_sentence_edited_in_a_source_is_missed_in_its_catalogue(path):
    name = next(name for name, sources in DOCUMENTS.items() if path in sources)
    text = next(key for key, places in catalogue.english(name).items() if places[0].startswith(path.relative_to(ROOT).as_posix()) and len(str(key)) > 60)

    def edited(source, encoding):
        return source.read_text(encoding=encoding).replace(text[:40], "Something else " + text[:25])
    found = list(faults.of_catalogue(catalogue.english(name, edited), catalogue.load(name), (), {}))
    assert any(place.startswith(path.relative_to(ROOT).as_posix()) and english.startswith("Something else ") for place, _, english in found)


GOOD = ("Press `Shift`, see [lesson 4](lesson_4.ipynb), **twice**: 1,000 at ②' in {name}.",
        "Tecle `Shift`, veja a [lição 4](lesson_4.ipynb), **duas vezes**: 1.000 em ②' de {name}.")


def test_a_good_translation_has_no_fault():
    assert list(faults.compare(*GOOD, terms=faults.terms())) == []


@pytest.mark.parametrize("change, what", [
    (("`Shift`", "`Maiúscula`"), "code"), (("lesson_4.ipynb", "lesson_6.ipynb"), "links"), (("**duas vezes**", "duas vezes"), "bold"),
    (("1.000", "10.000"), "numbers"), (("②'", "②"), "marks"), (("{name}", "{nome}"), "placeholders"), (("lição", "aula"), "lesson"),
    (("em ②'", "em\n\n②'"), "blank line"), (("Tecle", "- Tecle"), "list sign"), (("Tecle", " Tecle"), "space at the edge"), (GOOD[::-1], "same as in English"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_translation_loses_or_adds_is_told(change, what):
    found = list(faults.compare(GOOD[0], GOOD[1].replace(*change), terms=faults.terms()))
    assert any(what in fault for fault in found), found


def test_a_row_keeps_its_cells_and_words_of_the_screen_are_quoted_as_they_are_there():
    assert any("cells" in fault for fault in faults.compare("| a day | b |", "| um dia b |"))
    found = list(faults.compare("Choose *Run it*.", "Escolha *Rodar*.", widget_words={"Run it": "Executar"}))
    assert found == ['*Run it* stands on the screen as "Executar"']


def test_a_text_may_be_the_same_or_mean_another_word_if_its_entry_says_so():
    assert list(faults.compare("JSON Lines", "JSON Lines", ["same"])) == []
    terms = [("gate", r"\bgate\b", "válvula")]
    assert list(faults.compare("the garden gate", "o portão do jardim", ["not this term: gate"], terms)) == []


def test_the_glossary_can_be_read_and_each_row_accepts_its_own_translation():
    with open(ROOT / "docs" / "glossary.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    portuguese = {row["english"]: row["portuguese"] for row in rows}
    assert len(portuguese) == len(rows) >= 40 and all(portuguese.values())
    for term, found, accepted in faults.terms():
        assert re.search(found, term, re.IGNORECASE) or re.search(found, f"a {term} 1", re.IGNORECASE), term
        assert re.search(accepted, portuguese[term], re.IGNORECASE), term


# --- Markdown --------------------------------------------------------------------------------

LINES = st.sampled_from(["", "# Head", "Some text", "more text.", "- item one", "  goes on", "1. first", "> said", "| a | b |", "|---|---|", "```python", "```", "x = 1", "    deep", "---", "`code`"])


@given(st.lists(LINES, max_size=12), st.booleans())
def test_what_is_taken_apart_is_put_together_to_the_byte(lines, ends):
    text = "\n".join(lines) + ("\n" if ends else "")
    assert blocks.translate(text, lambda message: message) == text


def test_code_between_fences_and_the_signs_of_lists_and_headings_are_kept():
    text = "# One\n\nTwo\nlines\n- three\n  more\n```\nfour five\n```\n| six | 6 |\n|---|---|\n| `7` | 7 |\n"
    assert blocks.translate(text, str.upper) == "# ONE\n\nTWO\nLINES\n- THREE\n  MORE\n```\nfour five\n```\n| SIX | 6 |\n|---|---|\n| `7` | 7 |\n"


def test_links_and_commands_stay_within_the_edition():
    text = "[a](lesson_4.ipynb) [b](../../exercises/en/lesson_4.ipynb) [c](https://example.org/en/x) `solutions/en` open/en.md notebooks/english"
    assert blocks.to_edition(text, "pt_BR") == \
        "[a](lesson_4.ipynb) [b](../../exercises/pt_BR/lesson_4.ipynb) [c](https://example.org/en/x) `solutions/pt_BR` open/en.md notebooks/english"


@pytest.mark.parametrize("path", [translate.target_of(source) for _, source in SOURCES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_of_the_portuguese_edition_leads_somewhere(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join(cell.source for cell in nbformat.reads(text, as_version=4).cells if cell.cell_type == "markdown")
    links = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"\w+:", link)]
    assert [link for link in links if not (path.parent / link).exists()] == []
    assert [link for link in links if "/en/" in f"/{link}"] == []


# --- words -----------------------------------------------------------------------------------

def test_no_word_is_looked_up_before_it_is_shown():
    """A word that a module looks up while it is imported keeps that day's language."""
    early = [f"{path.name}:{node.lineno}" for path in (ROOT / "course_lib").rglob("*.py") for node in at_import(ast.parse(path.read_text(encoding="utf-8")))
             if isinstance(node, ast.Call) and getattr(node.func, "id", None) in ("tr", "trn")]
    assert early == []


def at_import(node):
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from at_import(child)


def test_the_folder_a_kernel_is_started_in_decides_the_language(tmp_path, monkeypatch):
    for folder, language in [("pt_BR", "pt_BR"), ("en", "en"), ("my own", "en")]:
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        assert words.language_of_the_folder() == language


@pytest.mark.parametrize("settings, language", [
    ({"LANG": "pt_BR.UTF-8"}, "pt_BR"), ({"LANG": "pt_BR"}, "pt_BR"), ({"LANG": "en_US.UTF-8", "LC_ALL": "pt_BR.UTF-8"}, "pt_BR"),
    ({"LANGUAGE": "de:pt_BR:en", "LANG": "C"}, "pt_BR"), ({"LANGUAGE": "en:pt_BR"}, "en"), ({"LANG": "de_DE.UTF-8"}, "en"), ({"LANG": "C.UTF-8"}, "en"),
    ({"LANG": "Portuguese_Brazil.1252"}, "pt_BR"), ({}, "en")], ids=str)
def test_a_command_follows_the_system(settings, language, monkeypatch):
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(words.locale, "getlocale", lambda: (None, None))
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert words.language_of_the_system() == language


def test_a_language_without_a_catalogue_is_refused_in_a_sentence():
    with pytest.raises(ValueError, match="no catalogue for 'xx'; use one of en, pt_BR"):
        words.use_language("xx")
