"""Everything that pages and stylesheets of a whole site lead to or load is there, anchors too."""

import html
import json
import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest

from tests.browser.built import URL, on_disk

SITES = ["full_site", "hostile_site", "empty_site"]
LOADED = ("src", "srcset", "data", "poster", "data-src")
HERE = urlsplit(URL)


@pytest.fixture(scope="module", params=SITES)
def site(request):
    return request.getfixturevalue(request.param)


def broken(site, path: str, address: str) -> str | None:
    """Why an address on a page leads nowhere on this site; None if it leads somewhere, or to another one."""
    parts = urlsplit(html.unescape(address))
    if parts.scheme in ("http", "https", "data", "mailto") and parts.netloc != HERE.netloc:
        return None
    if parts.scheme and parts.scheme != "https":
        return "is of an odd kind"
    base = PurePosixPath("/") if parts.path.startswith("/") else PurePosixPath(f"/board/{path}").parent
    target = unquote(parts.path)
    steps: list[str] = [] if target.startswith("/") else list(base.parts[1:])
    for step in target.split("/") if target else [PurePosixPath(path).name]:
        if step == "..":
            if not steps:
                return "leads above the host"
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    if steps[:1] != ["board"]:
        return "leads out of the site"
    file = site.folder.joinpath(*steps[1:])
    if file.is_dir():
        if not target.endswith(("/", ".", "..")):
            return "needs a slash at its end"
        file /= "index.html"
    if not file.is_file():
        return "is not there"
    page = site.pages.get(str(file.relative_to(site.folder)))
    if parts.fragment and page and unquote(parts.fragment) not in page.ids:
        return "names no part of that page"
    return None


def faults(site, path: str, addresses) -> list[str]:
    return [f"{path}: {address} {why}" for address in sorted(set(addresses)) if (why := broken(site, path, address))]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("../../rules/", None),
        ("../../rules/#here", "names no part of that page"),
        ("../../rules", "needs a slash at its end"),
        ("../../../rules/", "leads out of the site"),
        ("/rules/", "leads out of the site"),
        (f"{URL}rules/", None),
        (f"{URL}none/", "is not there"),
        ("none/", "is not there"),
        ("#none", "names no part of that page"),
        ("javascript:alert(1)", "is of an odd kind"),
        ("https://example.org/none", None),
    ],
)
def test_a_broken_link_is_found(full_site, address, why):
    assert broken(full_site, "tasks/CartPole-v1/index.html", address) == why


def test_every_link_and_every_anchor_leads_somewhere(site):
    assert not [
        fault
        for path, page in site.pages.items()
        for fault in faults(
            site, path,
            (given["href"] for tag, given in page.tags if tag in ("a", "area") and "href" in given),
        )
    ]  # fmt: skip


def test_everything_that_is_loaded_or_named_in_a_head_is_there(site):
    def addresses(page):
        for tag, given in page.tags:
            yield from (given[name] for name in LOADED if given.get(name))
            if tag in ("link", "use", "image") and given.get("href"):
                yield given["href"]
            if tag == "meta" and given.get("property") in ("og:image", "og:url"):
                yield given["content"]
            yield from re.findall(r"url\(\s*['\"]?([^'\")]+)", given.get("style", ""))

    assert not [fault for path, page in site.pages.items() for fault in faults(site, path, addresses(page))]


def test_labels_and_descriptions_name_what_is_there(site):
    names = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "list", "data-clipboard-target")
    missing = [
        (path, tag, name, word)
        for path, page in site.pages.items()
        for tag, given in page.tags
        for name in names
        for word in re.findall(r"[^\s#>]+", given.get(name, ""))[: 1 if name == "data-clipboard-target" else None]
        # The theme's label for contents that a page does not have.
        if word not in page.ids and word != "__toc"
    ]

    assert not missing


def test_changes_of_leaders_lead_to_the_replay_where_there_is_one(full_site):
    """Other changes lead to the page: what leads nowhere is looked for above."""
    replays = {path for path, page in full_site.pages.items() if "leader-replay" in page.ids}
    given = [given.get("href", "") for _, given in full_site.pages["timeline/index.html"].tags]
    led = {on_disk(href.removeprefix("../")): href for href in given if href.startswith("../tasks/") and href != "../tasks/"}

    assert len(replays & led.keys()) > 1
    assert {path for path, href in led.items() if href.endswith("#leader-replay")} == replays & led.keys()
    assert led.keys() - replays


def test_everything_that_a_stylesheet_loads_is_there(site):
    missing = [
        fault
        for path in site.folder.rglob("*.css")
        for fault in faults(
            site,
            str(path.relative_to(site.folder)),
            re.findall(r"url\(\s*['\"]?((?!data:)[^'\")]+)", path.read_text("utf-8")),
        )
    ]

    assert not missing


def test_every_script_imports_what_is_there(site):
    ours = list((site.folder / "assets" / "js").glob("*.js"))
    pattern = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""")

    assert ours
    assert not [
        fault
        for path in ours
        for fault in faults(site, str(path.relative_to(site.folder)), pattern.findall(path.read_text("utf-8")))
    ]


def test_every_address_in_documents_and_feeds_leads_somewhere(site):
    """Of those below the site's own address, and of those that documents give below its root."""
    missing = []
    for path in site.folder.rglob("*.json"):
        name = str(path.relative_to(site.folder))
        if not name.startswith(("search/", "schemas/", "assets/")):
            missing += faults(site, "index.html", _addresses(json.loads(path.read_text("utf-8"))))
    for path in [*site.folder.rglob("*.atom"), site.folder / "sitemap.xml"]:
        elements = ET.parse(path).getroot().iter()
        given = [value for one in elements for value in (*one.attrib.values(), one.text or "") if value.startswith(URL)]
        missing += faults(site, "index.html", given)

    assert not missing


def _addresses(value):
    """Whole addresses on this site, and those at the keys that hold one."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("page", "api") and isinstance(inner, str) and inner:
                yield inner
            else:
                yield from _addresses(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _addresses(inner)
    elif isinstance(value, str) and value.startswith(URL) and "{" not in value:
        yield value
