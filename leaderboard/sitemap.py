"""What a site tells search engines: which pages there are, and that they may look at them."""

from collections.abc import Iterator, Sequence

# The protocol's own bound of one file (sitemaps.org, "Sitemap file requirements").
MOST = 50_000
_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def files(site_url: str, addresses: Sequence[str], most: int = MOST) -> Iterator[tuple[str, str]]:
    """robots.txt, and the sitemap where the site's own address is known; addresses are quoted, below the site's root."""
    if not site_url:
        yield "robots.txt", "User-agent: *\nAllow: /\n"
        return
    yield "robots.txt", f"User-agent: *\nAllow: /\n\nSitemap: {site_url}sitemap.xml\n"
    parts = [addresses[start : start + most] for start in range(0, len(addresses), most)] or [[]]
    if len(parts) == 1:
        yield "sitemap.xml", _list("urlset", "url", [site_url + address for address in parts[0]])
        return
    for number, part in enumerate(parts, 1):
        yield f"sitemap-{number}.xml", _list("urlset", "url", [site_url + address for address in part])
    named = [f"{site_url}sitemap-{number}.xml" for number in range(1, len(parts) + 1)]
    yield "sitemap.xml", _list("sitemapindex", "sitemap", named)


def _list(whole: str, one: str, places: Sequence[str]) -> str:
    lines = "".join(f"<{one}><loc>{_text(place)}</loc></{one}>\n" for place in places)
    return f"{_HEAD}<{whole} {_NAMESPACE}>\n{lines}</{whole}>\n"


def _text(place: str) -> str:
    return place.replace("&", "&amp;").replace("<", "&lt;")
