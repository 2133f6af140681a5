"""What of a site changes with time alone is known, so that it is built anew then and at no other time."""

from datetime import UTC, datetime, timedelta

import pytest

from leaderboard.core.parallel import SINGLE_PARTITION
from leaderboard.core.standings import Standings
from leaderboard.pages.agent.agent_page import render_agent_pages as agent_pages
from leaderboard.pages.render_pages import render_pages
from leaderboard.site_context import SiteContext
from leaderboard.visibility import hidden_tasks
from scripts.static_site.deployed_site import time_dependent_state
from tests.leaderboard.api.leaderboards import api_files
from tests.leaderboard.pages import samples

START, SHOWN, END = "2026-03-01T00:00:00Z", "2026-03-20T00:00:00Z", "2026-05-01T00:00:00Z"
UNVEILED = "2026-04-10T00:00:00Z"
PHASES = [
    {"id": "one", "name": "One", "tasks": ["CartPole-v1"], "start": START, "end": END},
    {"id": "two", "name": "Two", "tasks": ["MountainCar-v0"], "end": "2026-04-01T00:00:00Z", "public_from": SHOWN},
    {"id": "three", "name": "Three", "tasks": ["ALE/Pong-v5"], "end": END},
]
MOMENTS = [datetime(2026, 2, 20, 0, 30, tzinfo=UTC) + timedelta(hours=6 * i) for i in range(4 * 75)]


def board() -> Standings:
    return samples.board(
        *(samples.task_board(task, [samples.row(samples.entry(), task, 1, 300.0)]) for task in samples.TASKS),
        phases=PHASES, people={"anonymous_until": UNVEILED},
    )  # fmt: skip


def site(table: Standings, now: datetime) -> dict[str, str]:
    """Pages and documents at a moment, without the moment itself."""
    context = SiteContext(
        generated_at="2026-01-02 03:04 UTC", repository=samples.REPOSITORY, now=now,
        hidden=hidden_tasks(table.challenge, now),
    )  # fmt: skip
    files = {
        **render_pages(table, context),
        **{path: str(page) for path, page in agent_pages(table, context, SINGLE_PARTITION)},
    }
    files |= {path: content.decode(errors="replace") for path, content in api_files(table, context)}
    stamps = [f"{now:%Y-%m-%dT%H:%M:%SZ}", f"{now.timestamp()}", f"{now.timestamp():.0f}"]
    for path, text in files.items():
        for stamp in stamps:
            text = text.replace(stamp, "now")
        files[path] = text
    return files


def test_between_two_moments_of_equal_words_no_page_changes() -> None:
    table = board()
    words = [time_dependent_state(table.challenge, moment) for moment in MOMENTS]
    changed = [i for i in range(1, len(MOMENTS)) if words[i] != words[i - 1]]

    assert 10 < len(changed) < 30
    for first, after in zip([0, *changed], [*changed, len(MOMENTS)], strict=True):
        # The first and the last moment of the same words, and nothing in between could be another.
        assert site(table, MOMENTS[first]) == site(table, MOMENTS[after - 1])


@pytest.mark.parametrize("at", [START, SHOWN, "2026-04-01T00:00:00Z", UNVEILED, END])
def test_every_date_that_a_host_sets_is_among_them(at: str) -> None:
    challenge, moment = board().challenge, datetime.fromisoformat(at)

    assert time_dependent_state(challenge, moment - timedelta(seconds=1)) != time_dependent_state(
        challenge, moment + timedelta(seconds=1)
    )


def test_a_board_without_dates_never_changes_by_itself() -> None:
    challenge = samples.board(samples.task_board(samples.POLE)).challenge

    assert len({time_dependent_state(challenge, moment) for moment in MOMENTS}) == 1
