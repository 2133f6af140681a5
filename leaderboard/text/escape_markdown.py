"""The one place where text that an entrant typed becomes text of a page.

Every character that is not a letter, a digit or a space is written as a numeric character reference. That is harmless
in all three places a page has: Markdown, HTML text and HTML attributes. There is nothing left in it that Markdown, one
of its extensions, Jinja or a browser could take for an instruction, and a reader sees exactly what was typed.

That is not enough for a comment on GitHub, which looks for @names, #123, commit ids, :emoji: and addresses in the text
that is left after references are resolved. It does so everywhere but in code, so there an entrant's text stands only in
code: a span or a block whose fence is longer than any run of backticks in it. Nothing is inserted into the text, so it
can be read, searched and copied as it was typed.
"""

import re

from markupsafe import Markup

from evaluator.model.identifiers import INVISIBLE

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# The same form as `evaluator.model.names.Url`: these values may come from a record that no model has looked at.
LINK = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/?#@!$&*+,;=%-]*)?")
_SPECIAL = re.compile(r"[^\w ]|_")
_BACKTICKS = re.compile("`+")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")


def visible(text: str) -> str:
    """Without characters that hide, reorder or cannot be written; each leaves a mark where it stood."""
    whole = text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
    return INVISIBLE.sub(REPLACEMENT, whole)


def _referenced(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"&#{ord(found.group())};", text)


def escape(value: object) -> Markup:
    """One line of text, harmless wherever it is put; what is already `Markup` stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(_referenced(" ".join(visible(str(value)).split())))


def preformatted(text: str) -> Markup:
    """Text whose lines and spaces count, as a block that it cannot close."""
    kept = _referenced(visible(text)).replace(" ", "&#32;")
    return Markup('<pre class="pr-log" tabindex="0"><code>') + Markup(kept) + Markup("</code></pre>")


def paragraphs(text: str) -> Markup:
    """Text of several paragraphs, parted by empty lines."""
    parts = [escape(part) for part in _PARAGRAPHS.split(visible(text).strip())]
    return Markup("\n").join(Markup("<p>{}</p>").format(part) for part in parts if part)


def link(url: str | None, words: object = None) -> Markup:
    """A link to a plain https address, and the mere words to anything else. It hands no rank on to where it leads."""
    shown = escape(url or "" if words is None else words)
    if url is None or not LINK.fullmatch(url):
        return shown
    return Markup('<a href="{}" rel="nofollow ugc noopener">{}</a>').format(escape(url), shown)


def code(value: object) -> Markup:
    """One line of text for a comment on GitHub, as a code span; not for table cells, where a pipe would end it."""
    if isinstance(value, Markup):
        return value
    text = " ".join(visible(str(value)).split())
    if not text:
        return Markup("(empty)")
    ticks = "`" * _beyond(text, 0)
    air = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(ticks + air + text + air + ticks)


def cell(value: object) -> Markup:
    """A code span for a table's cell. Names have no pipes; a pipe that is there all the same becomes a line like it."""
    return value if isinstance(value, Markup) else code(str(value).replace("|", "\N{BOX DRAWINGS LIGHT VERTICAL}"))


def fenced(text: str, language: str = "text") -> Markup:
    """Text whose lines and spaces count, as a block for a comment on GitHub that it cannot close."""
    kept = visible(text).strip("\n")
    fence = "`" * _beyond(kept, 2)
    return Markup(f"{fence}{language}\n{kept}\n{fence}")


def _beyond(text: str, least: int) -> int:
    """A number of backticks that is longer than `least` and than any run of them in the text."""
    return 1 + max([least, *(len(run) for run in _BACKTICKS.findall(text))])
