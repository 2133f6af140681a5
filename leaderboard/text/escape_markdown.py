"""Escapes text that an entrant typed for Markdown pages and for comments on GitHub.

On a page every character that is not a letter, a digit or a space is written as a numeric character reference. That is
safe in Markdown, HTML text and HTML attributes: neither Markdown and its extensions nor Jinja nor a browser can take any
of it for an instruction, and a reader sees exactly what was typed.

In a comment that is not enough: GitHub looks for @names, #123, commit ids, :emoji: and addresses after it has resolved
references, everywhere except in code. So in comments an entrant's text is always code: a span or a block whose fence is
longer than any run of backticks in it. Nothing is inserted, so the text can be read, searched and copied as typed.
"""

import re
from collections.abc import Callable

from markupsafe import Markup

from evaluator.model.visible_text import visible

# The same form as `Url` in `evaluator.model.identifiers`: values may come from a record that no model has checked.
LINK = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/?#@!$&*+,;=%-]*)?")
_MARKDOWN_SPECIAL = re.compile(r"[^\w ]|_")
_BACKTICKS = re.compile("`+")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")


def _referenced(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(lambda match: f"&#{ord(match.group())};", text)


def escape(value: object) -> Markup:
    """One line of text, safe anywhere on a page; `Markup` stays as it is."""
    if isinstance(value, Markup):
        return value
    return Markup(_referenced(" ".join(visible(str(value)).split())))


def unbroken(write: Callable[..., str]) -> Callable[..., Markup]:
    """A function of `leaderboard.text.format`, for pages: the narrow spaces between digits stay, so no number breaks."""
    return lambda *values: Markup(_referenced(write(*values)))


def preformatted(text: str) -> Markup:
    """Text with its lines and spaces, as a block that it cannot close."""
    content = _referenced(visible(text)).replace(" ", "&#32;")
    return Markup('<pre class="pr-log" tabindex="0"><code>') + Markup(content) + Markup("</code></pre>")


def paragraphs(text: str) -> Markup:
    """Text of several paragraphs, separated by empty lines."""
    parts = [escape(part) for part in _PARAGRAPHS.split(visible(text).strip())]
    return Markup("\n").join(Markup("<p>{}</p>").format(part) for part in parts if part)


def link(url: str | None, words: object = None) -> Markup:
    """A link to a plain https address, marked as user content for search engines; only the words for any other address."""
    shown = escape(url or "" if words is None else words)
    if url is None or not LINK.fullmatch(url):
        return shown
    return Markup('<a href="{}" rel="nofollow ugc noopener">{}</a>').format(escape(url), shown)


def code(value: object) -> Markup:
    """One line of text as a code span for a comment; not for table cells, where a pipe would end it."""
    if isinstance(value, Markup):
        return value
    text = " ".join(visible(str(value)).split())
    if not text:
        return Markup("(empty)")
    ticks = "`" * _longer_than(text, 0)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(ticks + padding + text + padding + ticks)


def cell(value: object) -> Markup:
    """A code span for a table cell; a pipe, which no name has, becomes a similar character."""
    return value if isinstance(value, Markup) else code(str(value).replace("|", "\N{BOX DRAWINGS LIGHT VERTICAL}"))


def unmarked(text: str) -> str:
    """What `code` and our own bold words show, as plain text for a terminal, which escapes it in its own way."""
    return _SPAN.sub(lambda span: span[2].strip(), text.replace("**", "").replace("\N{NO-BREAK SPACE}", " "))


def fenced(text: str) -> Markup:
    """Text with its lines and spaces, as a block for a comment that it cannot close."""
    content = visible(text).strip("\n")
    fence = "`" * _longer_than(content, 2)
    return Markup(f"{fence}text\n{content}\n{fence}")


def _longer_than(text: str, least: int) -> int:
    """One more than `least`, and than the longest run of backticks in the text."""
    return 1 + max([least, *(len(run) for run in _BACKTICKS.findall(text))])
