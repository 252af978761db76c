"""A Markdown text as a row of parts: what is translated, and what stays as it is.

Translated are a paragraph, a heading, a list item and a table row, each by itself, so that an
edit in English asks for one new translation and no more. What makes them that (the #, the
dash, the number) and code between fences stays, so no translation can lose it.
"""
import re

FENCE = re.compile(r"\s*(```|~~~)")
SIGN = re.compile(r"(\s*(?:#{1,6} |[-*+] |\d+\. |> ?)+)")       # of a heading, a list item, a quotation
ALONE = re.compile(r"\s*(\||#{1,6} )")                          # a row or a heading ends with its line
RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*$")                  # below the head of a table, or a line across
KEPT = re.compile(r"`[^`]*`|\]\([^)]*\)|<[^>]*>|\{\w*(?::[^}]*)?\}")       # code, link targets, tags, placeholders


def split(text):
    """``[[kept, message], ...]``: kept stands before the message as it is; message is to be translated, or empty.

    Joined again they are the text to the byte. A paragraph's message holds its line breaks.
    """
    parts, is_code, is_open = [], False, False      # open: the next line may belong to the last message
    for line in text.splitlines(keepends=True):
        is_fence = bool(FENCE.match(line))
        is_code ^= is_fence
        if is_code or is_fence or not line.strip() or RULE.match(line):
            parts.append([line, ""])
            is_open = False
            continue
        sign = SIGN.match(line)
        if is_open and not sign and not ALONE.match(line):
            parts[-1][1] += line
        else:
            kept = sign[0] if sign else ""
            parts.append([kept, line.removeprefix(kept)])
        is_open = not ALONE.match(line)
    return [part for kept, message in parts for part in _without_last_break(kept, message)]


def _without_last_break(kept, message):
    bare = message.rstrip("\n")
    yield [kept, bare]
    if bare != message:
        yield ["\n", ""]


def has_words(message):
    """False for what is all code, links, numbers and signs, and so the same in every language."""
    return bool(re.search(r"[^\W\d_]", KEPT.sub("", message)))


def translate(text, lookup):
    """The Markdown text with each message replaced by lookup(message)."""
    return "".join(kept + (lookup(message) if has_words(message) else message) for kept, message in split(text))


def to_edition(text, language):
    """The text with the English edition's folders replaced by those of the other language, in links and in commands."""
    return re.sub(r"\b(notebooks|exercises|solutions)/en\b", rf"\1/{language}", text)
