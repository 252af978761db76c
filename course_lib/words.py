"""The one home of visible words: English is the key, another language is a gettext catalogue.

The language is read off the folder this Python was started in, and a notebook's kernel is
started in the notebook's folder: ``notebooks/pt_BR`` has Portuguese words, any other folder
English ones. A command takes ``--lang`` or follows the system. Left out on purpose: what the
lesson's program prints, which stays English in every language.
"""
import gettext
import locale
import os
from pathlib import Path

_LOCALES = Path(__file__).parent / "locales"
_language, _catalogue = "en", gettext.NullTranslations()


def languages():
    """The names that use_language takes."""
    return ["en", *sorted(path.name for path in _LOCALES.glob("*/"))]


def use_language(language):
    """Choose the language of widgets and feedback, such as ``"pt_BR"``; ``"en"`` needs no catalogue.

    Raises ValueError for a language there is no catalogue of.
    """
    global _language, _catalogue
    if language not in languages():
        raise ValueError(f"There is no catalogue for {language!r}; use one of {', '.join(languages())}.")
    _catalogue = gettext.NullTranslations() if language == "en" else gettext.translation("course", _LOCALES, [language])
    _language = language


def language_in_use():
    """Its name, such as ``"pt_BR"``."""
    return _language


def language_of_the_folder():
    """The language of the edition whose folder this is, by the folder's name; English for any other."""
    try:
        name = Path.cwd().name
    except FileNotFoundError:  # somebody deleted it
        return "en"
    return name if name in languages() else "en"


def language_of_the_system():
    """The language that the system's settings ask for, as far as there is a catalogue; else English."""
    asked = next(filter(None, map(os.environ.get, ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))), None) or locale.getlocale()[0] or "en"
    for name in asked.split(":"):
        name = locale.normalize(name).split(".")[0]  # Windows says Portuguese_Brazil
        if name in languages() or name.startswith("en"):
            return name if name in languages() else "en"
    return "en"


def tr(text, **values):
    """The text in the language in use, its {placeholders} filled in."""
    translated = _catalogue.gettext(text)
    return translated.format(**values) if values else translated


def trn(one, many, n, **values):
    """The same for a count: ``trn("{n} line", "{n} lines", 3)``."""
    return _catalogue.ngettext(one, many, n).format(n=n, **values)


def numeral(value, spec=","):
    """A number as the language in use writes it: 1,234.5 or 1.234,5. spec: as in format."""
    sample = tr("1,234.5")
    return format(value, spec).translate({ord(","): sample[1], ord("."): sample[5]})


def mark(text):
    """The text as it is: says that it is a key, where it stands in a table and is given to tr later."""
    return text


use_language(language_of_the_folder())
