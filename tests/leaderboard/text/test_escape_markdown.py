"""What an entrant typed is shown as typed and does nothing."""

import html.parser
from pathlib import Path

import markdown as python_markdown
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evaluator.model.visible_text import INVISIBLE, one_line
from leaderboard.text import escape_markdown

MKDOCS = Path(__file__).parents[3] / "mkdocs.yml"
# Extensions that the site does not use; a host may add them.
OTHERS = ["attr_list", "md_in_html", "footnotes", "abbr", "def_list", "meta", "smarty"] + [
    f"pymdownx.{name}"
    for name in ("emoji", "snippets", "magiclink", "details", "tasklist", "keys", "mark", "caret", "tilde", "critic",
                 "inlinehilite", "betterem", "tabbed")
]  # fmt: skip

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</td></tr></table></div><h1>mine</h1>",
    "<!-- --> <![CDATA[x]]> <?php x ?>",
    "&lt;b&gt; &#60;b&#62; &amp;",
    "[link](javascript:alert(1)) ![image](https://example.org/x.png)",
    "[up](../../index.md) [ref][1]",
    "https://example.org/ <https://example.org> www.example.org mail@example.org @someone #12",
    "a | b | c",
    "# heading",
    "heading\n=======",
    "* item\n1. item\n> quote\n---\n***",
    "    code",
    "``` \nfence\n```",
    "~~~\nfence\n~~~",
    "`code` **bold** _it_ ~~no~~ ==mark== ^^up^^ H~2~O ++ctrl+c++",
    ":smile: :material-account: :fontawesome-brands-github:",
    "text {: .x onclick=alert(1) } { #id } {.class}",
    '!!! danger "admonition"\n    text',
    '??? note "details"\n    text',
    '=== "tab"\n    text',
    '--8<-- "/etc/passwd"',
    ";--8<--\n/etc/passwd\n;--8<--",
    "{{ config }} {% raw %} {# comment #} ${x} $x^2$ \\(x\\)",
    "[^1] [^1]: note",
    "*[HTML]: abbreviation",
    "term\n:   definition",
    "\"quotes\" and 'quotes' \\ backslash \\* \\<",
    "- [x] task",
    "wzxhzdk:0 klzzwxh:0000",
    "\x02wzxhzdk:0\x03 \x02klzzwxh:0000\x03",
    "{++added++} {--gone--} {>>comment<<}",
    "مرحبا 世界 \N{GRINNING FACE} e\u0301",
    "---\ntitle: mine\n---",
    "[TOC]",
    "\n\n\nparagraph\n\n# heading\n\n",
]


class Text(html.parser.HTMLParser):
    """The tags and the words of a document."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attributes)

    def handle_data(self, data):
        self.words += data

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = unknown_decl = handle_pi = handle_comment


def extensions() -> tuple[list[str], dict]:
    """The site's own, as MkDocs reads them."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!ENV", lambda loader, node: None)
    listed = yaml.load(MKDOCS.read_text(), Loader)["markdown_extensions"]
    named = [one if isinstance(one, dict) else {one: {}} for one in listed]
    return [name for one in named for name in one], {name: settings for one in named for name, settings in one.items()}


def rendered(source: str, *, more: bool = False) -> Text:
    names, settings = extensions()
    return Text(python_markdown.markdown(source, extensions=names + OTHERS * more, extension_configs=settings))


def seen(text: str) -> str:
    """What a reader should see of it on one line."""
    return one_line(text)


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_in_a_paragraph_nothing_happens_and_the_text_is_whole(text, more):
    html = rendered(f"{escape_markdown.escape(text)}\n\nafter", more=more)

    assert html.tags == ["p", "p"]
    assert html.words == f"{seen(text)}\nafter"


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_in_a_heading_nothing_happens(text, more):
    html = rendered(f"# {escape_markdown.escape(text)}\n", more=more)

    assert html.tags == ["h1", "a"]
    assert html.words.startswith(seen(text))


@pytest.mark.attack(
    "pipe_in_a_table", family="pages", outcome="shown as text",
    tries="Ends a cell or a table of Markdown.",
)  # fmt: skip
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_in_a_markdown_table_nothing_happens(text, more):
    html = rendered(f"| a | b |\n|---|---|\n| {escape_markdown.escape(text)} | 2 |\n", more=more)

    assert html.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
    assert seen(text) in html.words


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("text", HOSTILE)
def test_in_html_and_in_an_attribute_nothing_happens(text, more):
    source = f'<div title="{escape_markdown.escape(text)}">\n<b>{escape_markdown.escape(text)}</b>\n</div>\n'
    html = rendered(source, more=more)

    assert html.tags == ["div", "b"]
    assert html.words.strip() == seen(text)


@pytest.mark.attack(
    "log_that_closes_its_block", family="pages", outcome="shown as text",
    tries="Closes the block in which a page shows a log.",
)  # fmt: skip
@pytest.mark.parametrize("text", HOSTILE)
def test_preformatted_text_keeps_its_lines(text):
    html = rendered(f"{escape_markdown.preformatted(text)}\n\nafter", more=True)

    assert html.tags == ["pre", "code", "p"]
    assert html.words.startswith(INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", text))


@pytest.mark.parametrize("text", HOSTILE)
def test_paragraphs_are_the_only_form_of_a_description(text):
    html = rendered(f"<div>\n{escape_markdown.paragraphs(text)}\n</div>\n", more=True)

    assert set(html.tags) <= {"div", "p"}
    assert html.words.split() == seen(text).split()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cn"])))
def test_any_text_is_shown_and_nothing_else(text):
    html = rendered(f"<div>\n<b>:{escape_markdown.escape(text)}:</b>\n</div>\n")

    assert html.tags == ["div", "b"]
    assert html.words.strip() == f":{seen(text)}:"


@given(st.text(alphabet=st.characters(codec=None)))
def test_the_outcome_can_always_be_written(text):
    escape_markdown.escape(text).encode("utf-8")
    escape_markdown.preformatted(text).encode("utf-8")


@pytest.mark.attack(
    "text_that_runs_backwards", family="pages", outcome="a mark in its place",
    tries="Turns the direction of the text around, or hides in it.",
)  # fmt: skip
@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\x00", "\x1b", "\u2028", "\ufeff"])
def test_what_hides_or_reorders_leaves_a_mark(character):
    assert escape_markdown.escape(f"a{character}b") == "a&#65533;b"


def test_what_is_ours_stays():
    assert escape_markdown.escape(escape_markdown.escape("<")) == "&#60;"


@pytest.mark.attack(
    "address_of_a_script", family="pages", outcome="words, no link",
    tries="Gives an address of a script, a file, or with a user and password.",
)  # fmt: skip
@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        'https://example.org/"onclick=x',
        "//example.org",
        "../../x",
        "http://example.org",
        "https://a@b/",
        "data:x",
        "https://example.org/\nx",
    ],
)
def test_an_address_that_is_not_plain_https_is_no_link(url):
    assert "<a" not in escape_markdown.link(url)


def test_a_link_is_marked_as_an_entrants():
    assert escape_markdown.link("https://example.org/a", "<b>") == (
        '<a href="https&#58;&#47;&#47;example&#46;org&#47;a" rel="nofollow ugc noopener">&#60;b&#62;</a>'
    )


def test_words_without_an_address_are_words():
    assert escape_markdown.link(None, "alice") == "alice"
