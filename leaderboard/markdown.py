"""The one place where text that an entrant typed becomes text of a page.

Every character that is not a letter, a digit or a space is written as a numeric character reference. That is harmless
in all three places a page has: Markdown, HTML text and HTML attributes. There is nothing left in it that Markdown, one
of its extensions, Jinja or a browser could take for an instruction, and a reader sees exactly what was typed.
"""

import re

from markupsafe import Markup

from evaluator.model.names import INVISIBLE

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
# The same form as `evaluator.model.names.Url`: these values may come from a record that no model has looked at.
_LINK = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/?#@!$&*+,;=%-]*)?")
_SPECIAL = re.compile(r"[^\w ]|_")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")


def _visible(text: str) -> str:
    """Without characters that hide, reorder or cannot be written; each leaves a mark where it stood."""
    whole = text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8")
    return INVISIBLE.sub(REPLACEMENT, whole)


def _referenced(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"&#{ord(found.group())};", text)


def escape(value: object) -> Markup:
    """One line of text, harmless wherever it is put; what is already `Markup` stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(_referenced(" ".join(_visible(str(value)).split())))


def preformatted(text: str) -> Markup:
    """Text whose lines and spaces count, as a block that it cannot close."""
    kept = _referenced(_visible(text)).replace(" ", "&#32;")
    return Markup('<pre class="pr-log" tabindex="0"><code>') + Markup(kept) + Markup("</code></pre>")


def paragraphs(text: str) -> Markup:
    """Text of several paragraphs, parted by empty lines."""
    parts = [escape(part) for part in _PARAGRAPHS.split(_visible(text).strip())]
    return Markup("\n").join(Markup("<p>{}</p>").format(part) for part in parts if part)


def link(url: str | None, words: object = None) -> Markup:
    """A link to a plain https address, and the mere words to anything else. It hands no rank on to where it leads."""
    shown = escape(url or "" if words is None else words)
    if url is None or not _LINK.fullmatch(url):
        return shown
    return Markup('<a href="{}" rel="nofollow ugc noopener">{}</a>').format(escape(url), shown)
