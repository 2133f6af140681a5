"""What somebody typed, as text of a page that is HTML from the start.

`leaderboard.markdown` writes every special character as a reference, since Markdown takes most of them for instructions.
A page that no Markdown is made of needs that of five characters only, and is half as large.
"""

from markupsafe import Markup, escape

from leaderboard import markdown


def line(value: object) -> Markup:
    """One line of text, harmless in HTML text and in a quoted attribute; what is already `Markup` stays as it is."""
    if isinstance(value, Markup):
        return value
    text = value if isinstance(value, str) else str(value)
    return escape(text if text.isalnum() and text.isascii() else " ".join(markdown.visible(text).split()))


def linked(url: str | None, words: object) -> Markup:
    """A link to a plain https address, and the mere words to anything else."""
    if url is None or not markdown.LINK.fullmatch(url):
        return line(words)
    return Markup(f'<a href="{escape(url)}" rel="nofollow ugc noopener">{line(words)}</a>')


def command(text: str) -> Markup:
    """Lines for a terminal, as a block with a button that copies it; nothing is shown that could hide or reorder."""
    return Markup(f'<div class="highlight"><pre tabindex="0"><code>{escape(markdown.visible(text))}</code></pre></div>')
