"""The comment as a page shows it: its Markdown made into HTML, for readers who have not sent anything yet."""

import functools
from typing import NamedTuple

from markdown_it import MarkdownIt
from markupsafe import Markup

from leaderboard.comment import render
from leaderboard.comment_samples import CONTEXT, samples

PAGE = "states.md"


class Shown(NamedTuple):
    """One state on the page."""

    id: str
    """Its anchor."""
    title: str
    """What has happened."""
    what_now: str
    """What its reader does next."""
    comment: Markup
    """The comment."""


@functools.cache
def shown() -> tuple[Shown, ...]:
    """Every state as the board's own templates word it. The samples are ours, so their HTML is too."""
    return tuple(Shown(one.id, one.title, one.what_now, _html(render(one.state, CONTEXT))) for one in samples())


def _html(comment: str) -> Markup:
    """GitHub's rendering, near enough; links of the example's repository lead nowhere, so they are only drawn as links."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    _, _, body = comment.partition("\n")
    made = str(parser.render(body))
    for tag, instead in (("</a>", "</span>"), ("<pre>", '<pre tabindex="0">'), ("<th ", '<th scope="col" ')):
        made = made.replace(tag, instead)
    made = made.replace("<table>", '<div class="pr-comment-table" tabindex="0"><table>')
    made = made.replace("</table>", "</table></div>").replace("<th>", '<th scope="col">')
    return Markup(_unlinked(made))


def _unlinked(html: str) -> str:
    first, *rest = html.split("<a ")
    return first + "".join(f'<span class="pr-comment-link">{part.partition(">")[2]}' for part in rest)
