"""Escapes text that an entrant typed for pages that are written as HTML.

`escape_markdown` writes every special character as a reference, since Markdown would interpret most of them. A page that
is not made from Markdown needs that for five characters only, and is half as large.
"""

import functools
import re

from markupsafe import Markup, escape

from evaluator.model.visible_text import visible
from leaderboard.text import escape_markdown

# Words with single spaces, in characters that need no escaping: such text stays as it is.
_SAFE_WORDS = re.compile(r"[A-Za-z0-9_.,:/+-]+(?: [A-Za-z0-9_.,:/+-]+)*")


def escape_line(value: object) -> Markup:
    """One line of text, safe in HTML text and in a quoted attribute; `Markup` stays as it is."""
    if isinstance(value, Markup):
        return value
    return _line(value if isinstance(value, str) else str(value))


@functools.lru_cache(maxsize=4096)
def _line(text: str) -> Markup:
    """Cached, since names, dates and versions repeat: without it agents' pages take 5 % longer."""
    return Markup(text) if _SAFE_WORDS.fullmatch(text) else escape(" ".join(visible(text).split()))


def linked_line(url: str | None, words: object) -> Markup:
    """A link to a plain https address; only the words for any other address."""
    if url is None or not escape_markdown.LINK.fullmatch(url):
        return escape_line(words)
    return Markup(f'<a href="{escape(url)}" rel="nofollow ugc noopener">{escape_line(words)}</a>')


def command_line(text: str) -> Markup:
    """Commands as a block that the page gives a copy button; hidden and reordering characters are replaced."""
    return Markup(f'<div class="highlight"><pre tabindex="0"><code>{escape(visible(text))}</code></pre></div>')
