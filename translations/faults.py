"""What is wrong with a translation: what a reader of the other language would lose, or find wrong."""
import csv
import re
from collections import Counter

import blocks
from catalogue import FEEDBACK, ROOT, WORDS, english, load, words

SAME = "same"               # an entry's comment "# same": in Portuguese it is the same on purpose
FREE = "not this term: "    # an entry's comment "# not this term: ledger": here the word is no term of the glossary
BARE_CODE = re.compile(r"\S*\w([\[(_=]|\.\w)\S*")        # a name such as rewind_to or tool.read_only, written without backticks
MUST_AGREE = {
    "code": r"`[^`]*`", "links": r"\]\(([^)]*)\)", "tags": r"</?\w[^>]*>", "placeholders": r"\{\w*(?::[^}]*)?\}", "bold": r"\*\*",
    "cells of a table": r"(?<!\\)\|", "marks": r"[①②③]'?", "numbers": r"\d+",
}


def faults(name):
    """``[(place, what, English), ...]`` of a document, in the order of the English."""
    return list(of_catalogue(english(name), load(name), terms(), {} if name in (WORDS, FEEDBACK) else words()))


def of_catalogue(texts, catalogue, terms, widget_words):
    for key, places in texts.items():
        forms = key if isinstance(key, tuple) else (key,)
        message = catalogue.get(forms[0])
        for what in _of_message(key, message, terms, widget_words):
            yield places[0], what, forms[0]
    keys = {key if isinstance(key, str) else key[0] for key in texts}
    for message in [*catalogue, *catalogue.obsolete.values()]:
        first = message.id[0] if isinstance(message.id, tuple) else message.id
        if first and (first not in keys or message in catalogue.obsolete.values()):
            yield "-", "no longer in the English", first


def _of_message(key, message, terms, widget_words):
    english_forms = key if isinstance(key, tuple) else (key,)
    if message is None or message.id != key:
        return ["is missing in the .po file"]
    forms = message.string if isinstance(message.string, tuple) else (message.string or "",)
    if not all(forms):
        return ["is not translated"]
    if message.fuzzy:
        return ["is marked fuzzy: look it over and take the mark away"]
    return [what for english, form in zip(english_forms, forms) for what in compare(english, form, message.user_comments, terms, widget_words)]


def compare(english, form, comments=(), terms=(), widget_words={}):
    """What is wrong with one translated text."""
    if form == english and blocks.has_words(english) and SAME not in comments:
        yield 'is the same as in English; if it has to be, give the entry the comment "# same"'
    for what, pattern in MUST_AGREE.items():
        text, other = (_one_number(side) if what == "numbers" else side for side in (english, form))
        before, after = Counter(re.findall(pattern, text)), Counter(re.findall(pattern, other))
        if before != after:
            yield f"{what} differ: {', '.join([*(f'lacks {item}' for item in before - after), *(f'adds {item}' for item in after - before)])}"
    if _shape(english) != _shape(form):
        yield "a blank line, a list sign or a space at the edge is lost or added"
    words = BARE_CODE.sub(" ", blocks.KEPT.sub(" ", english))
    for term, found, accepted in terms:
        if re.search(found, words, re.IGNORECASE) and not re.search(accepted, form, re.IGNORECASE) and FREE + term not in comments:
            yield f'"{term}" is translated otherwise than in docs/glossary.csv'
    for text in re.findall(r"(?<!\*)\*{1,2}([^*]+)\*{1,2}(?!\*)", english):
        if text in widget_words and widget_words[text] not in form:
            yield f'*{text}* stands on the screen as "{widget_words[text]}"'


def _one_number(text):
    """1,000 and 0.5 in English are 1.000 and 0,5 in Portuguese: the digits are compared, in code and links none."""
    return re.sub(r"(?<=\d)[.,](?=\d)", "", blocks.KEPT.sub("", text))


def _shape(text):
    return len(blocks.split(text)), text[:1].isspace(), text[-1:].isspace(), bool(blocks.SIGN.match(text))


def terms():
    """``[(term, pattern of the English, pattern of what is accepted), ...]`` from the glossary; rows with a dash are for people only."""
    with open(ROOT / "docs" / "glossary.csv", encoding="utf-8", newline="") as file:
        return [(row["english"], row["found as"] or rf"\b{row['english']}s?\b", row["accepted"] or rf"\b{row['portuguese']}s?\b")
                for row in csv.DictReader(file) if row["found as"] != "-"]
