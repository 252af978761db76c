"""The one home of visible words: English is the key, another language is a gettext catalogue.

Left out on purpose: what the lesson's program prints, which stays English in every language.
"""
import gettext
from pathlib import Path

_LOCALES = Path(__file__).parent / "locales"
_catalogue = gettext.NullTranslations()


def use_language(language):
    """Choose the language of widgets and feedback, such as ``"pt_BR"``; ``"en"`` needs no catalogue.

    Raises ValueError for a language there is no catalogue of.
    """
    global _catalogue
    if language == "en":
        _catalogue = gettext.NullTranslations()
        return
    try:
        _catalogue = gettext.translation("course", _LOCALES, [language])
    except FileNotFoundError:
        raise ValueError(f"There is no catalogue for {language!r} in course_lib/locales; use 'en'.") from None


def tr(text, **values):
    """The text in the language in use, its {placeholders} filled in."""
    translated = _catalogue.gettext(text)
    return translated.format(**values) if values else translated


def trn(one, many, n, **values):
    """The same for a count: ``trn("{n} line", "{n} lines", 3)``."""
    return _catalogue.ngettext(one, many, n).format(n=n, **values)
