"""The shell that all agents' pages are filled into."""

import pytest

from leaderboard.pages.agent_page_shell import PageShell, PageValues, ShellError, parse_shell
from scripts.static_site import build_site

SHELL = """<html>
  <title>@@title@@</title>

    <svg xmlns="http://www.w3.org/2000/svg"></svg>
  <p>@@title@@ @@description@@ @@address@@ @@card@@</p>
@@content@@
</html>"""
PAGE = PageValues(title="t", description="d", address="a/", card="c.png", content="<p>@@title@@</p>")


def test_every_mark_is_filled_and_what_is_put_in_is_not_read_again() -> None:
    expected = "<html>\n<title>t</title>\n<svg></svg>\n<p>t d a/ c.png</p>\n<p>@@title@@</p>\n</html>"

    assert parse_shell(SHELL).page(PAGE) == expected


@pytest.mark.parametrize("shell", ["<p>no content</p>", "@@content@@ @@content@@", "@@content@@ @@other@@"])
def test_a_shell_that_can_not_be_used_is_refused(shell: str) -> None:
    with pytest.raises(ShellError, match=r"must contain @@content@@ once"):
        parse_shell(shell)


def test_a_shell_has_one_text_more_than_marks() -> None:
    assert parse_shell("<p>@@content@@</p>") == PageShell(texts=("<p>", "</p>"), marks=("content",))


def test_a_large_site_has_a_list_of_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_site, "SITEMAP_ADDRESSES", 2)
    files = dict(build_site.search_engine_files("https://b.example/", ["", "a&b/", "c/"]))

    assert list(files) == ["robots.txt", "sitemap-1.xml", "sitemap-2.xml", "sitemap.xml"]
    assert "<loc>https://b.example/a&amp;b/</loc>" in files["sitemap-1.xml"]
    assert "<sitemap><loc>https://b.example/sitemap-2.xml</loc></sitemap>" in files["sitemap.xml"]


def test_a_site_without_pages_has_an_empty_list() -> None:
    assert "<urlset" in dict(build_site.search_engine_files("https://b.example/", []))["sitemap.xml"]
