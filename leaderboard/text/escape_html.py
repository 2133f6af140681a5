"""What somebody typed, as text of a page that is HTML from the start.

`leaderboard.markdown` writes every special character as a reference, since Markdown takes most of them for instructions.
A page that no Markdown is made of needs that of five characters only, and is half as large.
"""

import functools
import re

from markupsafe import Markup, escape

from leaderboard.text import escape_markdown

# Words with one space between them, in characters that need no reference: such text is what it becomes.
_HARMLESS = re.compile(r"[A-Za-z0-9_.,:/+-]+(?: [A-Za-z0-9_.,:/+-]+)*")


def escape_line(value: object) -> Markup:
    """One line of text, harmless in HTML text and in a quoted attribute; what is already `Markup` stays as it is."""
    if isinstance(value, Markup):
        return value
    return _line(value if isinstance(value, str) else str(value))


@functools.lru_cache(maxsize=4096)
def _line(text: str) -> Markup:
    """Names, dates and versions come again and again."""
    return Markup(text) if _HARMLESS.fullmatch(text) else escape(" ".join(escape_markdown.visible(text).split()))


def linked_line(url: str | None, words: object) -> Markup:
    """A link to a plain https address, and the mere words to anything else."""
    if url is None or not escape_markdown.LINK.fullmatch(url):
        return escape_line(words)
    return Markup(f'<a href="{escape(url)}" rel="nofollow ugc noopener">{escape_line(words)}</a>')


def command_line(text: str) -> Markup:
    """Lines for a terminal, as a block with a button that copies it; nothing is shown that could hide or reorder."""
    return Markup(
        f'<div class="highlight"><pre tabindex="0"><code>{escape(escape_markdown.visible(text))}</code></pre></div>'
    )
