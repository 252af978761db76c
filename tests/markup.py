"""Markup under test: what tags it has, what text, and whether all of it is ours."""
from html.parser import HTMLParser

OURS = {"div", "b", "pre", "mark", "details", "summary", "table", "tr", "td", "p", "ul", "li", "code", "br"}
PAYLOADS = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</pre></td></table><h1>mine</h1>", "&lt;b&gt;", "<!-- ", "]]>",
            "'\"><svg/onload=alert(1)>", "<style>*{display:none}</style>", "<details open ontoggle=alert(1)>", "javascript:alert(1)",
            "\u202eevil\u202c", "\u2066\u2067\u200b\ufeff", "\x00\x1b[2J\x07\r", "\ud800", "\u2028\u2029", "a\tb", "😀 ação"]


class Parsed(HTMLParser):
    """The tags, the attributes' names and the text of some markup; every tag closed in order."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text = [], [], set(), ""
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open += [tag] * (tag != "br")
        self.text += "\n" * (tag in ("pre", "summary"))
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self.text += "\n" * (tag in ("pre", "summary"))

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def is_only_ours(markup):
    """It parses, has no tag and no attribute but ours, and no character that can't be seen."""
    parsed = Parsed(markup)
    assert set(parsed.tags) <= OURS and parsed.attributes <= {"style", "role"}, (parsed.tags, parsed.attributes)
    assert all(c.isprintable() or c == "\n" for c in parsed.text), ascii(parsed.text)
    markup.encode("utf-8")
    return parsed
