"""What GitHub makes of a comment, as far as it matters here: tags, comments, links, and text that it would act on."""

import html.parser
import re

from markdown_it import MarkdownIt

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {
    "h3", "h4", "p", "strong", "em", "code", "pre", "ul", "li", "a", "table", "thead", "tbody", "tr", "th", "td", "details",
    "summary",
}  # fmt: skip
# GitHub looks for these in all text outside these elements: html-pipeline's filters, and cmark-gfm's autolinks.
PASSED_OVER = ("code", "pre", "a")
ACTED_ON = re.compile(
    r"""
    @[A-Za-z0-9]                      # somebody is told
    | \#[0-9] | \bGH-[0-9]            # another issue shows a reference
    | \b[0-9a-f]{7,40}\b              # a commit is linked
    | :// | \bwww\. | \bmailto:       # an address is linked
    | [^\s@]@[^\s@]                   # a mail address is linked
    | :[a-z0-9_+-]+:                  # a word becomes a picture
    | \$                              # a formula
    """,
    re.VERBOSE | re.IGNORECASE,
)


class Seen(html.parser.HTMLParser):
    """A rendered comment, taken apart."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.links: list[str] = []
        self.comments: list[str] = []
        self.code: list[str] = []
        self.prose: list[str] = []
        self.feed(MARKDOWN.render(body))
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.open.append(tag)
        names = {name for name, _ in attributes}
        assert names <= {"href", "class", "style", "open"}, attributes
        self.links += [value or "" for name, value in attributes if name == "href"]
        if tag == "code":
            self.code.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "code" in self.open:
            self.code[-1] += data
        elif not any(tag in self.open for tag in PASSED_OVER):
            self.prose.append(data)

    def handle_comment(self, data):
        self.comments.append(data)

    def unknown_decl(self, data):
        raise AssertionError(data)

    def handle_decl(self, decl):
        raise AssertionError(decl)

    def handle_pi(self, data):
        raise AssertionError(data)
