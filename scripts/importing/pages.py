"""HTML templates as Markdown pages: only text and structure, nothing that runs or loads."""

import re
from collections.abc import Callable

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from scripts.importing.reading import Section

Read = Callable[[str], bytes | None]
"""A file of the configuration's folder by its path; None where there is none."""

PAGE_BYTES = 1 << 20
# Of Markdown, what is no word: a link or picture is its text, an escaped character itself, and the rest is nothing.
_MARKS = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)|\\([!-/:-@\[-`{-~])|[#*`]|^ *(?:-|\d+\.) ", re.MULTILINE)
_ACTIVE = ("script", "style", "iframe", "object", "embed", "form", "noscript", "svg", "math", "template", "link", "meta")


def markdown(html: bytes) -> str:
    """The page's text and structure. Whatever would run, load or ask is left out, and left-over tags are text."""
    soup = BeautifulSoup(html.decode("utf-8", "replace"), "html.parser")
    for tag in soup(list(_ACTIVE)):
        tag.decompose()
    for tag in soup.find_all(True):
        for name in ("href", "src"):
            if name in tag.attrs and not str(tag[name]).strip().lower().startswith(("https:", "http:", "mailto:", "#")):
                del tag[name]
    text: str = MarkdownConverter(heading_style="ATX", bullets="-", escape_misc=True).convert_soup(soup)
    lines = [line.rstrip().replace("<", "&lt;") for line in text.strip().splitlines()]
    return "\n".join(line for i, line in enumerate(lines) if line or (i and lines[i - 1])) + "\n"


def page_of(section: Section, key: str, read: Read) -> str | None:
    """A page that the configuration names by its path; text that is no path is taken as it is."""
    value = section.values.get(key)
    if not isinstance(value, str) or not value.strip():
        return None
    if not value.strip().lower().endswith((".html", ".htm", ".md", ".txt")):
        return markdown(value.encode())
    content = read(value.strip())
    if content is None:
        section.ledger.warn(
            section.at(key), f"the file {value.strip()[:100]!r} is not there or too large; write that page yourself"
        )
        return None
    return markdown(content)


def sentence(text: str | None, length: int) -> str:
    """The beginning of a Markdown page as plain words for a description."""
    return shortened(_MARKS.sub(lambda mark: mark[1] or mark[2] or "", text or ""), length)


def shortened(text: str, length: int) -> str:
    """As many whole words as there is room for."""
    words = " ".join(text.split())
    return words if len(words) <= length else words[: length - 1].rsplit(" ", 1)[0] + "…"
