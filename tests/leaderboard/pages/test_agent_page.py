"""What an agent's page says beside its scores: history, replays, where numbers come from, and what to type."""

import html
import math
import re
import statistics
from dataclasses import replace

import pytest

from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.charts.agent_charts import value_spreads
from leaderboard.charts.interval_charts import ChartScale, interval_element
from leaderboard.core.entry import Estimate
from leaderboard.pages.agent.agent_profile import LISTED_VERSIONS
from leaderboard.site_context import EpisodeReplay, SiteContext
from leaderboard.text import escape_html, urls
from tests.leaderboard.pages import samples
from tests.leaderboard.pages.everything import render
from tests.leaderboard.pages.test_render_pages import words as said

PAGE = "agents/alice/angle-rule.md"
CONTEXT = replace(samples.CONTEXT, site_url="https://board.example/")


def of(who, results=(), context=CONTEXT, **fields):
    """The page of an agent with one score, and with so many other results."""
    row = samples.row(who, samples.POLE, 1, 497.5, **fields)
    board = samples.board(samples.task_board(samples.POLE, [row]))
    return render(board, replace(context, results=(*results, row.result)))[urls.agent_page(who.login, who.agent)]


def earlier(number, **fields):
    at = {"commit": "c" * 40, "evaluated_at": f"2025-12-01T00:{number:02}:00Z"}
    digest = samples.digest(f"version {number}")
    given = {"key": samples.digest(f"key {number}"), "submission_digest": digest, "provenance": at, **fields}
    return samples.result(samples.entry(), samples.POLE, (10.0 + number, 12.0 + number), **given)


def test_history_has_every_version_the_newest_first():
    failed = samples.result(samples.entry(), samples.POLE, (), key=samples.digest("failed"), verdict="timeout")
    other = earlier(2, task_digest=samples.digest("older settings"))
    text = said(of(samples.entry(), [earlier(1), other, failed, earlier(3, season="2025")]))
    history = text[text.index("History") : text.index("About")]

    assert "counts now" in history
    assert "timeout" in history
    assert "other settings of the task" in history
    assert "12.0" in history
    assert history.index("2026-01-01") < history.index("2025-12-01")


@pytest.mark.parametrize("verdict", ["ok", "timeout"])
def test_a_second_attempt_is_told_and_why(verdict):
    why = {"verdict": "internal_error", "message": "the engine <b>slept</b>", "wall_seconds": 60.5}
    who, done = samples.entry(), (497.0, 498.0) if verdict == "ok" else ()
    result = samples.result(who, samples.POLE, done, verdict=verdict, first_attempt=why)
    if done:
        board = samples.task_board(
            samples.POLE, [replace(samples.row(who, samples.POLE, 1, 497.5), pooled_results=(result,))]
        )
    else:
        failure = type(samples.failure(who, samples.POLE))(entry=who, result=result, versions_tried=1)
        board = samples.task_board(samples.POLE, [], [failure])
    page = render(samples.board(board), replace(CONTEXT, results=(result,)))[urls.agent_page(who.login, who.agent)]

    sentence = "This is the second attempt, because the first ended before the agent was shown anything:"
    assert sentence in said(page)
    assert "<b>slept" not in page
    assert sentence not in said(of(who))


@pytest.mark.attack(
    "description_in_the_boards_words", family="pages", outcome="shown as a quotation",
    tries="Describes an agent by the very line with which the board says that its host verified one.",
)  # fmt: skip
def test_what_an_owner_says_is_quoted():
    claim = "Verified by the host: weights checked (hostess, 2026-05-02)"
    before, _, rest = of(samples.entry(description=claim)).partition("<blockquote>")
    quoted, _, after = rest.partition("</blockquote>")

    assert claim in html.unescape(quoted)
    assert "Verified" not in before + after


def test_one_version_has_no_history():
    assert "History" not in said(of(samples.entry()))


def test_a_long_history_is_cut():
    text = said(of(samples.entry(), [earlier(number) for number in range(LISTED_VERSIONS + 9)]))

    assert "10 older ones are left out" in text


def test_an_anonymous_agent_tells_nothing_of_where_it_comes_from():
    who = replace(samples.entry(), anonymous=True)
    text = of(who, [earlier(1)])

    assert "not shown yet" in text
    for private in ("History", "JSON", "Badge", "pullrank verify", "Source", "submissions/", who.digest):
        assert private not in text


def test_replays_are_shown_where_there_are_some():
    row = samples.row(samples.entry(), samples.POLE, 1, 497.5)
    one = EpisodeReplay(
        which="best",
        number=3,
        total=500.0,
        length=500,
        file="episodes/a.webp",
        columns=4,
        width=120,
        height=80,
        steps=(0, 9),
    )
    board = samples.board(samples.task_board(samples.POLE, [row]))
    page = render(board, replace(CONTEXT, episodes={row.result.key: (one,)}))[PAGE]

    assert "../../../episodes/a.webp" in page
    assert page.count("assets/js/episode-player.js") == 1
    assert "episode.js" not in of(samples.entry())


def test_what_all_results_share_is_said_once():
    who = samples.entry()
    pole, car = samples.row(who, samples.POLE, 1, 1.0), samples.row(who, samples.CAR, 1, 1.0)
    other = samples.row(
        who, samples.PONG, 1, 1.0, pooled_results=(samples.result(who, samples.PONG, (1.0,), platform="Darwin arm64"),)
    )
    page = render(samples.board(samples.task_board(samples.POLE, [pole]), samples.task_board(samples.CAR, [car])), CONTEXT)[
        PAGE
    ]
    mixed = samples.board(samples.task_board(samples.POLE, [pole]), samples.task_board(samples.PONG, [other]))

    assert page.count("Linux x86_64") == 1
    assert said(render(mixed, CONTEXT)[PAGE]).count("Darwin arm64") == 1
    assert '<th scope="col">platform</th>' in render(mixed, CONTEXT)[PAGE]


def test_the_badge_is_markdown_with_whole_addresses_where_the_site_has_one():
    text = said(of(samples.entry()))

    page = "https://board.example/agents/alice/angle-rule/"
    badge = "https://board.example/badges/alice/angle-rule/CartPole-v1.svg"
    assert f"[![CartPole]({badge})]({page})" in text
    assert "put its address before them" in said(of(samples.entry(), context=samples.CONTEXT))


def test_a_page_shows_no_badge_where_the_board_has_none():
    board = samples.one()
    without = replace(board, challenge=board.challenge.model_copy(update={"badges": False}))

    assert 'id="badge"' in render(board, CONTEXT)[PAGE]
    assert 'id="badge"' not in render(without, CONTEXT)[PAGE]


def test_the_source_is_the_folder_at_the_commit():
    assert f"/tree/{'c' * 40}/submissions/alice/angle-rule" in of(samples.entry())
    assert "/tree/" not in of(samples.entry(), context=SiteContext(generated_at="now"))


def test_commands_quote_what_a_shell_would_read():
    assert urls.traces_branch_name("a b") == "traces-a%20b"
    assert "example_agents/random" in said(of(samples.entry("random", "local")))


@pytest.mark.parametrize("values", [(1.0,), (1.0, 2.0), (3.0, 1.0, 2.0), tuple(float(i * i % 17) for i in range(40))])
def test_a_spread_is_what_statistics_says(values):
    ((spread, _),) = value_spreads([values])
    quarters = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3

    assert [spread.lower, spread.median, spread.upper] == pytest.approx(quarters)
    assert spread.deviation == pytest.approx(statistics.pstdev(values))
    assert (spread.least, spread.greatest) == (min(values), max(values))
    assert spread.mean == pytest.approx(statistics.fmean(values))


def test_a_histogram_is_one_outline_that_ends_where_it_began():
    samples = [(0.0, 0.0, 10.0), (5.0,), (9.0, 10.0, 9.0), (5.0, 5.0, 5.0)]
    paths = [re.findall(' d="(.*?)"', outline) for _, outline in value_spreads(samples)]

    flat = "M0 20H12V0H13V20H24V20z"
    assert paths == [["M0 20H0V0H1V20H23V10H24V20z"], [flat], ["M0 20H0V0H1V20H23V10H24V20z"], [flat]]


def test_a_histogram_of_one_value_has_one_label():
    who = samples.entry()
    flat = samples.row(who, samples.POLE, 1, 500.0, pooled_results=(samples.result(who, samples.POLE, (500.0,) * 5),))
    pages = render(samples.board(samples.task_board(samples.POLE, [flat])), samples.CONTEXT)

    assert '<i class="pr-ends" data-low="500.0"></i>' in pages[urls.agent_page(who.login, who.agent)]


def test_returns_of_any_size_have_an_outline():
    greatest = 1.7e308
    for sample in [(-greatest, greatest), (greatest, 0.0), (5e-324, 0.0), (1.0, math.nextafter(1.0, 2))]:
        ((_, outline),) = value_spreads([sample])
        assert "nan" not in outline
        assert outline.count("V") >= 2


def test_a_score_without_an_interval_has_a_bar_all_the_same():
    bar = interval_element(Estimate(score=5.0, low=math.nan, high=math.nan), ChartScale(low=0, high=10))

    assert bar == '<i class="pr-at" style="--l:49.0;--w:2.0;--m:50.0"></i>'


def test_words_are_harmless_and_only_plain_addresses_are_links():
    assert escape_html.escape_line("<b>\u202e&'\"") == "&lt;b&gt;\ufffd&amp;&#39;&#34;"
    assert escape_html.linked_line("javascript:alert(1)", "x") == "x"
    assert escape_html.linked_line("https://example.org/?a&b", "<x>").endswith('nofollow ugc noopener">&lt;x&gt;</a>')
    assert "&lt;x&gt;" in escape_html.command_line("<x>")


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_a_look(verdict):
    who = samples.entry()
    if verdict is Verdict.OK:
        assert "pr-verdict-ok" in of(who)
        return
    board = samples.board(samples.task_board(samples.POLE, [], [samples.failure(who, samples.POLE, verdict=verdict)]))

    assert f">{verdict}</span>" in render(board, CONTEXT)[PAGE]


WEIGHTS = {"file": "net.pt", "url": "https://models.example/net.pt?a=1&b=2", "sha256": "5" * 64, "bytes": 1234567}


def test_weights_are_named_with_address_hash_and_size():
    page = of(samples.entry(weights=[WEIGHTS]))
    listed = page[page.index(">weights<") :]
    listed = listed[: listed.index("</tr>")]

    assert "<bdi>net.pt</bdi>" in listed
    assert 'href="https://models.example/net.pt?a=1&amp;b=2"' in listed
    assert "1234567 bytes" in re.sub(r"(?<=\d)\D(?=\d{3})", "", said(listed))
    assert "5" * 64 in listed
    assert ">weights<" not in of(samples.entry())


def test_the_address_of_weights_would_name_who_is_anonymous():
    assert "models.example" not in of(replace(samples.entry(weights=[WEIGHTS]), anonymous=True))


def test_cards_and_continuations_stand_beside_the_result():
    cards = {"wanted": 1, "cards": ["NVIDIA <b>A100</b>, 550"]}
    row = samples.row(samples.entry(), samples.POLE, 1, 11.0)
    result = Result.with_self_hash({**row.result.document(), "gpus": cards, "continued_after": [1]})
    row = replace(row, pooled_results=(result,))
    board = samples.board(samples.task_board(samples.POLE, [row]))
    page = render(board, replace(CONTEXT, results=(result,)))[PAGE]

    assert "Played on 1 graphics card: NVIDIA &lt;b&gt;A100&lt;/b&gt;, 550" in re.sub(r"</?bdi>", "", page)
    assert "continued on the same machine after 1 of its episodes." in page
