"""The rows of a table are the same whether the page came with them or its script drew them."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from evaluator.model.config.metric import Metric
from evaluator.model.config.moderation import VerifiedEntry
from leaderboard.api import table_columns
from leaderboard.core.entry import Entry, Estimate
from leaderboard.core.standings import Standings
from leaderboard.pages import game_page, task_page
from leaderboard.site_context import SiteContext
from tests.browser import table_page
from tests.browser.table_page import head, settled, status
from tests.leaderboard.pages import game_samples, samples

TASK, GAME = "tasks/CartPole-v1/", "tasks/tictactoe/"
POLE = samples.POLE.model_copy(
    update={
        "metrics": (
            Metric(name="Return", kind="mean_return", direction="higher", decimals=2),
            Metric(name="Length", kind="mean_length", direction="lower", decimals=1, description="steps <until> it falls"),
        )
    }
)
NAN = float("nan")
UNMEASURED = {"cpu_seconds": None, "wall_seconds": 3, "peak_memory_bytes": None, "steps": 7}
# Each element of a row: tag, classes, title, address, label, and its own text. Rows may be picked only with the script.
ELEMENTS = """table => [...table.tBodies[0].rows].map((row) => [row, ...row.querySelectorAll("*")]
  .filter((one) => !one.closest(".pr-pick, svg *"))
  .map((one) => [one.tagName.toLowerCase(), one.className.baseVal ?? one.className, one.title ?? "", one.href ?? "",
    one.getAttribute("aria-label") ?? "",
    [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join(" ")]
    .map((text) => text.trim().replace(/\\s+/g, " "))))"""


def entries() -> dict[str, Entry]:
    """One of each kind that a row marks."""
    plain = {name: samples.entry(name, f"user-{name}", name=f"The {name}") for name in (
        "first", "equal", "tied", "tried", "held", "again", "hidden", "missing", "sealed",
    )}  # fmt: skip
    vouched = VerifiedEntry(login="zoe", since="2026-01-01", who="host", why="known & <b>liked</b>", link=None)
    return {
        **plain,
        "hidden": replace(plain["hidden"], anonymous=True),
        "verified": replace(samples.entry("verified", "zoe", name="</td><i>"), verified=vouched),
        "host": replace(samples.entry("hosted", "hostess"), host=True),
        "both": replace(samples.entry("both", "hostess", baseline=True), host=True),
        "local": samples.entry("random", "local", baseline=True, algorithm="<img src=x onerror=alert(1)>"),
    }


def marks(name: str) -> dict[str, object]:
    """What the row of an entry is marked with."""
    return {
        "equal": {"place": 1, "with_leader": True},
        "tied": {"with_leader": True, "rank_low": 1, "rank_high": 9},
        "tried": {"with_leader": True, "rank_low": 1, "tries": 3},
        "held": {"superseded_by": "user-first/first"},
        "host": {"with_leader": True, "rank_low": 1},
    }.get(name, {})


def board() -> tuple[Standings, SiteContext]:
    """A task and a game with every mark that a row may have."""
    estimates = {
        "missing": Estimate(score=NAN, low=NAN, high=NAN),
        "sealed": Estimate(score=-1234.5, low=NAN, high=NAN),
        "local": Estimate(score=-99999.0, low=-99999.5, high=-99998.0),
    }
    solo = []
    for index, (name, who) in enumerate(entries().items()):
        made = replace(samples.row(who, POLE, index + 1, 480.0 - 20 * index, others=(10.0 + index,)), **marks(name))
        fields = {"estimate": estimates[name], "others": (NAN,)} if name in estimates else {}
        cost = {"cost": UNMEASURED} if name == "missing" else {}
        result = samples.result(who, POLE, made.result.returns, **cost)
        solo.append(replace(made, pooled_results=(result,), **fields))
    players = [who for name, who in entries().items() if name not in ("again", "missing", "sealed", "both")]
    game = game_samples.board(game_samples.TICTACTOE, players)
    ranked = [replace(row, **marks(row.entry.agent.replace("hosted", "host"))) for row in game.rows]
    standings = samples.board(samples.task_board(POLE, solo))
    challenge = standings.challenge.model_copy(update={"tasks": (*standings.challenge.tasks, game_samples.TICTACTOE)})
    again = next(row for row in solo if row.entry.agent == "again")
    context = replace(samples.CONTEXT, reproduced=frozenset([again.result.key]))
    return replace(standings, challenge=challenge, games=(replace(game, rows=tuple(ranked)),)), context


def all_shown(columns):
    return lambda *board: [{**column, "shown": "always"} for column in columns(*board)]


@pytest.fixture(scope="module", params=["the usual columns", "every column"])
def site(tmp_path_factory, request):
    """With every column on the page each kind of cell is drawn both ways."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "every column":
            for name, page in (("task_columns", task_page), ("game_columns", game_page)):
                shown = all_shown(getattr(table_columns, name))
                patch.setattr(table_columns, name, shown)
                patch.setattr(page, name, shown)
        with table_page.served(board(), tmp_path_factory.mktemp("rows")) as address:
            yield address


def drawn(page) -> list[list[list[str]]]:
    settled(page)
    return table_page.table(page).evaluate(ELEMENTS)


@pytest.mark.parametrize("path", [TASK, GAME])
def test_rows_are_the_same_after_sorting_and_back(visit, path):
    page = visit(path)
    expect(page.locator(".pr-controls")).to_be_visible()
    came = drawn(page)
    for label in ("Algorithm", "Place"):
        head(page, label).click()
        expect(table_page.table(page).locator("th[aria-sort]")).to_contain_text(label)
    expect(status(page)).to_have_text(f"{len(came)} entries.")

    again = drawn(page)
    assert len(came) == (13 if path == TASK else 9)
    for row, before in zip(again, came, strict=True):
        assert row == before
