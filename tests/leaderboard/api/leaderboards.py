"""Boards of every kind for the documents: with departed, self-reported, verified and waiting entries, scripts, games."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from evaluator.model.config.metric import Metric
from evaluator.model.config.moderation import Exclusion, VerifiedEntry
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules
from leaderboard.api.document_files import agent_document_files, feed_and_status_files, leaderboard_files
from leaderboard.core.standings import Standings
from leaderboard.site_context import EpisodeReplay, FormerEntry, SiteContext
from tests.leaderboard.pages import game_samples, samples

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
SITE = "https://board.example/sub/"
CONTEXT = SiteContext(generated_at="2026-01-02 03:04 UTC", repository=samples.REPOSITORY, site_url=SITE, now=NOW)
SCRIPT = Task(
    id="Script-v0",
    script=ScriptRules(worst=-500, last=3, self_reported=True),
    metrics=(
        Metric(name="Return", kind="mean_return", direction="higher"),
        Metric(name="Length", kind="mean_length", direction="lower", description="how long"),
    ),
)


def api_files(board: Standings, context: SiteContext) -> Iterator[tuple[str, bytes]]:
    """Every document, as the shares of a build make them."""
    yield from leaderboard_files(board, context)
    yield from feed_and_status_files(board, context)
    yield from agent_document_files(board, context)


def documents(board: Standings, context: SiteContext = CONTEXT) -> dict[str, bytes]:
    return dict(api_files(board, context))


def scripts() -> Standings:
    """A script that ranks, one that only claims, one that waits, one excluded, one withdrawn."""
    record = {"claimed": 9.5, "exit_code": 0, "returns": [1.0, 2.0, 4.0, 6.0], "lengths": [5, 5, 5, 5], "unfinished": [1]}
    vouched = VerifiedEntry(login="zed", since="2026-01-01", who="h", why="w")
    who = replace(samples.entry("runner", "zed", kind="script"), verified=vouched)
    done = samples.result(who, SCRIPT, (2.0, 4.0, 6.0), lengths=[5, 5, 5], script=record)
    row = samples.row(who, SCRIPT, 1, 4.0, others=(5.0,), pooled_results=(done,))
    claims = samples.failure(samples.entry("claims", "yan", kind="script"), SCRIPT, script={"claimed": 1e6})
    out = samples.excluded(samples.entry("out", "mallory"))
    left = samples.withdrawn(samples.entry("left", "ann"), SCRIPT, None)
    waits = samples.entry("waits", "xia", kind="script")
    return samples.board(samples.task_board(SCRIPT, [row], [claims], [waits], excluded=(out,), withdrawn=(left,)))


def departed() -> SiteContext:
    """A context in which one was excluded and one was withdrawn, with an earlier version and a rendered episode."""
    gone = samples.entry("gone", "dora")
    result = samples.result(gone, samples.POLE, (3.0,))
    exclusion = Exclusion(login="eve", since="2026-05-01", who="host", why="copied", link="https://x.example/")
    row = samples.crowded().tasks[0].rows[0]
    earlier = samples.result(
        row.entry, samples.POLE, (1.0, 3.0), submission_digest=samples.digest("earlier"), key=samples.digest("k0"),
        provenance={"commit": "d" * 40, "run_url": None, "evaluated_at": "2025-12-01T00:00:00Z"},
    )  # fmt: skip
    episode = EpisodeReplay(
        which="best", number=3, total=500.0, length=500, file="episodes/a b.webp", columns=8, width=240, height=160,
        steps=(0, 10, 20),
    )  # fmt: skip
    return replace(
        CONTEXT,
        former_entries=(
            FormerEntry(login="dora", agent="gone", exclusion=None, results=(result,)),
            FormerEntry(login="eve", agent="copy", exclusion=exclusion, results=()),
        ),
        results=(row.result, earlier),
        episodes={row.result.key: (episode,)},
        pulls={row.entry.name: 12},
    )


def all_boards() -> dict[str, tuple[Standings, SiteContext]]:
    made: dict[str, tuple[Standings, Any]] = {
        name: (getattr(samples, name)(), CONTEXT) for name in ("empty", "one", "tied", "failed", "crowded")
    }
    made |= {name: (getattr(game_samples, name)(), CONTEXT) for name in ("full", "empty", "lone")} | made
    return {
        **made,
        "games": (game_samples.full(), CONTEXT),
        "no games": (game_samples.empty(), CONTEXT),
        "lone": (game_samples.lone(), CONTEXT),
        "scripts": (scripts(), CONTEXT),
        "departed": (samples.crowded(), departed()),
        "no address": (samples.crowded(), replace(CONTEXT, site_url="", now=None)),
    }
