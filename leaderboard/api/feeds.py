"""Feeds of new entries and changed places, as Atom and as JSON Feed, for all tasks together and for each one."""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NotRequired
from urllib.parse import quote

from leaderboard.api.api_inputs import ApiInputs
from leaderboard.api.entry_json import ClosedObject, UtcTime
from leaderboard.history import LeaderboardEvent, LeaderboardHistory
from leaderboard.scoring import metrics
from leaderboard.text import format, serialise, urls

# Events of a feed.
FEED_LIMIT = 50
# From a feed to the site's root.
_UP = "../"


class FeedAuthorJson(ClosedObject):
    """Who brought the agent."""

    name: str


class FeedEventJson(ClosedObject):
    """What happened, as values."""

    login: str
    agent: str
    task: str
    score: float | None
    place: int
    place_before: int | None


class FeedItemLinkJson(ClosedObject):
    """The page of an event, where the site's address is known."""

    url: NotRequired[str]


class FeedItemJson(FeedItemLinkJson):
    """A new entry, or a change of places."""

    id: str
    title: str
    content_text: str
    date_published: UtcTime
    authors: list[FeedAuthorJson]
    tags: list[str]
    _pullrank: FeedEventJson


class FeedLinksJson(ClosedObject):
    """Addresses of a feed, where the site's is known."""

    home_page_url: NotRequired[str]
    feed_url: NotRequired[str]


class FeedJson(FeedLinksJson):
    """JSON Feed 1.1."""

    version: str
    title: str
    items: list[FeedItemJson]


@dataclass(frozen=True, kw_only=True)
class Feed:
    """One feed."""

    path: str
    """Below the site's root, without the ending."""
    title: str
    page: str
    """The address below the site's root of the page it belongs to."""
    events: Sequence[LeaderboardEvent]
    """Newest first."""


def feed_files(inputs: ApiInputs, past: LeaderboardHistory) -> Iterator[tuple[str, bytes]]:
    """Two files for all tasks together and two for each task."""
    title = inputs.standings.challenge.title
    for board in inputs.standings.boards:
        task, events = board.task, past.events_of(board, FEED_LIMIT)
        path = f"feeds/{urls.segment(task.id)}"
        named = f"{title}: {task.title or task.id}"
        yield from _both(Feed(path=path, title=named, page=urls.task_address(task.id), events=events), inputs)
    yield from _both(Feed(path="feeds/board", title=title, page="", events=past.events(FEED_LIMIT)), inputs)


def _both(feed: Feed, inputs: ApiInputs) -> Iterator[tuple[str, bytes]]:
    yield f"{feed.path}.atom", atom(feed, inputs).encode("utf-8", "replace")
    yield f"{feed.path}.json", serialise.json_document(json_feed(feed, inputs))


def feed_headline(event: LeaderboardEvent) -> str:
    """What happened, in a line."""
    before = "" if event.place_before in (None, event.place) else f", before {event.place_before}"
    return f"{event.entry.submission.name}: place {event.place} in {event.task.title or event.task.id}{before}"


def event_words(event: LeaderboardEvent) -> str:
    """What happened, in a sentence."""
    digits = 0 if event.task.game else metrics.digits(event.task)
    measure = "rating" if event.task.game else metrics.ranking_metric(event.task).name
    who = event.entry.submission.name if event.entry.anonymous else f"{event.entry.login}/{event.entry.agent}"
    return f"{who}, {event.entry.submission.algorithm}. {measure}: {format.number(event.score, digits)}."


def _base(inputs: ApiInputs) -> str:
    """The site's address, or where it is not known the way from a feed to the site's root."""
    return inputs.context.site_url or _UP


def _stable_id(inputs: ApiInputs, *parts: str) -> str:
    """An id that does not change when the site moves to another address."""
    board = inputs.repository or inputs.standings.challenge.title
    return uuid.uuid5(uuid.NAMESPACE_URL, "\n".join((board, inputs.standings.challenge.season, *parts))).urn


def _event_id(event: LeaderboardEvent, inputs: ApiInputs) -> str:
    return _stable_id(inputs, event.task.id, event.entry.login, event.entry.agent, event.at)


def atom(feed: Feed, inputs: ApiInputs) -> str:
    """The feed as Atom (RFC 4287)."""
    base = serialise.xml(_base(inputs))
    entries = "".join(_atom_entry(event, base, inputs) for event in feed.events)
    updated = feed.events[0].at if feed.events else inputs.generated_at
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">'
        f"<id>{_stable_id(inputs, feed.path)}</id><title>{serialise.xml(feed.title)}</title>"
        f"<updated>{serialise.xml(updated)}</updated>"
        f'<link rel="self" type="application/atom+xml" href="{base}{serialise.xml(quote(feed.path))}.atom"/>'
        f'<link rel="alternate" type="text/html" href="{base}{serialise.xml(feed.page)}"/>'
        f"<author><name>{serialise.xml(inputs.standings.challenge.title)}</name></author>"
        f"<generator>Pullrank</generator>{entries}</feed>\n"
    )


def _atom_entry(event: LeaderboardEvent, base: str, inputs: ApiInputs) -> str:
    page = urls.agent_address(event.entry.login, event.entry.agent)
    return (
        f"<entry><id>{_event_id(event, inputs)}</id><title>{serialise.xml(feed_headline(event))}</title>"
        f"<updated>{event.at}</updated><published>{event.at}</published>"
        f"<author><name>{serialise.xml(event.entry.login)}</name></author>"
        f'<link rel="alternate" type="text/html" href="{base}{serialise.xml(page)}"/>'
        f"<summary>{serialise.xml(event_words(event))}</summary></entry>"
    )


def json_feed(feed: Feed, inputs: ApiInputs) -> FeedJson:
    """The feed as JSON Feed 1.1."""
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": feed.title,
        **_links(feed, inputs),
        "items": [_item(event, inputs) for event in feed.events],
    }


def _links(feed: Feed, inputs: ApiInputs) -> FeedLinksJson:
    site = inputs.context.site_url
    if not site:
        return {}
    return {"home_page_url": site + feed.page, "feed_url": f"{site}{quote(feed.path)}.json"}


def _item(event: LeaderboardEvent, inputs: ApiInputs) -> FeedItemJson:
    site, entry = inputs.context.site_url, event.entry
    link: FeedItemLinkJson = {"url": site + urls.agent_address(entry.login, entry.agent)} if site else {}
    return {
        "id": _event_id(event, inputs),
        **link,
        "title": feed_headline(event),
        "content_text": event_words(event),
        "date_published": event.at,
        "authors": [{"name": entry.login}],
        "tags": [event.task.id],
        "_pullrank": {
            "login": entry.login, "agent": entry.agent, "task": event.task.id, "score": serialise.finite(event.score),
            "place": event.place, "place_before": event.place_before,
        },
    }  # fmt: skip
