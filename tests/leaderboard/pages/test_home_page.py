"""The home page, the overall page and the ledger."""

import dataclasses
import html
import json
import re
from datetime import UTC, datetime

import pytest

from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import MatchEnd
from leaderboard.api.api_inputs import api_inputs
from leaderboard.api.site_documents import index_document
from leaderboard.charts.social_cards import HOME_CARD, social_cards
from leaderboard.games import won_matches
from leaderboard.history import LeaderboardEvent, LeaderboardHistory
from leaderboard.pages import home_page
from leaderboard.pages.render_pages import render_pages
from leaderboard.site_context import EpisodeReplay, FormerEntry, SiteContext
from leaderboard.text import urls
from tests.leaderboard.pages import game_samples, samples
from tests.leaderboard.pages.test_render_pages import words

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def challenge(*ends: str | None, tasks=2, **fields):
    """A challenge of so many tasks, the first of them in phases that end then."""
    names = [f"task-{i}" for i in range(tasks)]
    phases = [{"id": f"phase-{i}", "name": "P", "tasks": [names[i]], "end": end} for i, end in enumerate(ends)]
    return samples.challenge(*(samples.POLE.model_copy(update={"id": name}) for name in names), phases=phases, **fields)


@pytest.mark.parametrize(
    ("made", "now", "end"),
    [
        (challenge(), NOW, "no end date"),
        (challenge("2026-04-01T00:00:00Z"), NOW, "no end date"),
        (challenge("2026-04-01T00:00:00Z", None), NOW, "no end date"),
        (challenge("2026-04-01T00:00:00Z", "2026-03-31T23:00:00Z"), NOW, "ends 2026-04-01 00:00 UTC, in 4 weeks"),
        (challenge("2026-03-02T00:00:00Z", tasks=1), NOW, "ends 2026-03-02 00:00 UTC"),
        (challenge("2026-02-02T01:00:00+01:00", tasks=1), NOW, "ended 2026-02-02 00:00 UTC"),
        (challenge("2026-12-02T00:00:00Z", tasks=1, final="2026"), NOW, "submissions have ended"),
        (challenge("2026-03-02T00:00:00Z", tasks=1), None, "until 2026-03-02 00:00 UTC"),
    ],
)
def test_a_season_ends_with_its_last_phase(made, now, end):
    assert home_page.season_end(made, now) == end


def page(board, context=samples.CONTEXT, path=urls.HOME_PAGE):
    return render_pages(board, context)[path]


ENDS = {"id": "warm-up", "name": "Warm-up", "tasks": [samples.POLE.id], "end": "2026-02-01T00:00:00Z"}
LATER = {"id": "late", "name": "Late", "tasks": [samples.CAR.id], "end": "2026-12-18T00:00:00Z"}


def pages_of(board, *phases, now=NOW, **fields):
    """The pages of a board with phases at a moment."""
    rules = Challenge.model_validate({**board.challenge.model_dump(), "phases": phases, **fields})
    return render_pages(
        dataclasses.replace(board, challenge=rules), dataclasses.replace(samples.CONTEXT, now=now)
    )  # fmt: skip


def test_without_a_moment_a_phase_has_dates_and_no_state():
    home = html.unescape(pages_of(samples.crowded(), ENDS, LATER, now=None)[urls.HOME_PAGE])

    row = next(line for line in home.splitlines() if "Warm-up" in line)
    assert "until 2026-02-01 00:00 UTC" in row
    assert "None" not in row
    assert "<td></td>" in row


def test_once_submissions_have_ended_no_page_invites_to_submit():
    """The end of a later phase is no end of submissions then."""
    for board in (samples.crowded(), samples.empty(), game_samples.full(), game_samples.empty()):
        pages = pages_of(board, final=board.challenge.season)
        text = words(pages[urls.HOME_PAGE])
        assert "submissions have ended" in text
        assert f"The submissions of season {board.challenge.season} have ended. The rules" in text
        for path, page in pages.items():
            if path.endswith(".md") and path != "states.md":
                assert not re.search(r">\s*Submit( \w+)* ?(agent|one|game|task)?\.?</a>", page), path

    home = words(pages_of(samples.crowded(), ENDS, LATER, final="2026")[urls.HOME_PAGE])
    assert "in 41 weeks" not in home
    assert "until 2026-12-18 00:00 UTC ended everybody" in home


def test_a_tasks_page_has_its_phase_and_no_button_after_its_end():
    pages = pages_of(samples.crowded(), ENDS, LATER)
    over, still = words(pages[urls.task_page(samples.POLE.id)]), words(pages[urls.task_page(samples.CAR.id)])

    assert "phase Warm-up, until 2026-02-01 00:00 UTC: ended" in over
    assert "The phase Warm-up ended 2026-02-01 00:00 UTC. Compare agents" in over
    assert "Submit to this task" not in over
    assert "phase Late, until 2026-12-18 00:00 UTC: open Submit to this task Compare agents" in still
    assert "Submit an agent" in words(pages[urls.HOME_PAGE])
    form = json.loads(pages["submit/form.json"])
    assert (form["not_open"], [task["not_open"] is None for task in form["tasks"]]) == (None, [False, True, True])


def test_champions_stand_first_with_their_scores():
    text = words(page(samples.crowded()))

    assert text.index("Champions") < text.index("Overall") < text.index("Take part") < text.index("Evaluation status")
    assert "CartPole place 1 rule-1 by user1 500.0 500.0 to 500.0" in text


def test_ranked_agents_are_counted_once_and_everywhere_alike():
    board = game_samples.full()
    standings = dataclasses.replace(
        board, tasks=(samples.task_board(samples.POLE, [
            samples.row(samples.entry(), samples.POLE, 1, 9.0),
            samples.row(samples.entry("baseline", baseline=True), samples.POLE, 2, 1.0),
        ]),),
    )  # fmt: skip
    places = {row.entry.name for game in board.games for row in game.rows if not row.is_unranked} | {("alice", "angle-rule")}
    index = index_document(api_inputs(standings, samples.CONTEXT))
    (card,) = [card for card in social_cards(standings) if card.file == HOME_CARD]

    assert f" {len(places)} ranked agents" in words(page(standings))
    assert index["counts"]["ranked_agents"] == len(places)
    assert f"{len(places)} ranked agents" in card.below


def test_the_machine_says_what_it_knows():
    text = words(page(samples.failed()))

    assert "waiting 1 agent errors 6 our errors 1" in text
    assert "Waiting: CartPole-v1 1." in text
    assert "crashed 1, invalid 1" in text


def test_an_empty_machine_has_not_run():
    assert "last run none yet recorded results 0" in words(page(samples.empty()))


def test_the_last_run_links_to_itself():
    link = re.search(r'<dt>last run</dt> <dd><a href="([^"]*)"', page(samples.one()))

    assert link
    assert link[1].endswith("&#47;actions&#47;runs&#47;1")


def test_a_run_without_an_address_is_a_time():
    nowhere = {"provenance": {"commit": None, "run_url": None, "evaluated_at": samples.NOON}}
    row = samples.row(samples.entry(), samples.POLE, 1, 1.0)
    row = dataclasses.replace(row, pooled_results=(samples.result(row.entry, samples.POLE, (1.0,), **nowhere),))

    assert "<time" in page(samples.board(samples.task_board(samples.POLE, [row]))).split("last run")[1][:60]


def many(count: int):
    rows = [samples.overall_row(samples.entry(f"agent-{i}"), i + 1, 1.0 - i / 500, (samples.POLE,)) for i in range(count)]
    return samples.board(samples.task_board(samples.POLE), overall=rows)


def test_the_home_page_shows_the_first_rows_and_leads_to_the_others():
    few, more, most = (
        page(many(count)) for count in (home_page.HOME_ROWS, home_page.HOME_ROWS + 1, home_page.PAGE_ROWS + 1)
    )

    assert few.count('<th scope="row"') == more.count('<th scope="row"') == home_page.HOME_ROWS
    assert "overall/" not in few
    assert "All 11 agents" in words(more)
    assert "The first 100 of 101 agents" in words(most)


def test_the_overall_page_stops_where_its_document_goes_on():
    text = page(many(home_page.PAGE_ROWS + 1), path=urls.OVERALL_PAGE)

    table, heat_map = text.split("## Task by task")
    assert table.count('<th scope="row"') == heat_map.count('<th scope="row"') == home_page.PAGE_ROWS
    assert "These are the first 100 of 101. All of them as JSON" in words(text)
    assert "The same as JSON" in words(page(many(3), path=urls.OVERALL_PAGE))
    assert "No agent has a score yet." in words(page(samples.empty(), path=urls.OVERALL_PAGE))


def test_a_strip_has_no_slot_for_a_task_without_anchors():
    (strip,) = re.findall(r'<svg class="pr-strip".*?</svg>', page(samples.crowded()), re.DOTALL)[:1]

    assert strip.count("<title>") == 2
    assert "Pong" not in strip


def test_what_is_new_is_told_with_its_place():
    board = samples.one()
    context = dataclasses.replace(samples.CONTEXT, results=(board.tasks[0].rows[0].result,))
    text = words(page(board, context))

    assert "2026-01-01 angle-rule by alice entered CartPole at place 1 with" in text
    assert "What is new" not in words(page(samples.empty()))


@pytest.mark.parametrize(
    ("before", "now", "phrase"), [(3, 1, "rose from 3 to 1 in"), (1, 2, "fell from 1 to 2 in"), (2, 2, "stays 2 in")]
)
def test_a_change_of_place_is_told_in_words(before, now, phrase, monkeypatch):
    event = LeaderboardEvent(
        entry=samples.entry(), task=samples.POLE, at=samples.NOON, score=1.0, place=now, place_before=before
    )
    monkeypatch.setattr(LeaderboardHistory, "events", lambda *given: (event,))

    assert f"angle-rule by alice {phrase} CartPole with 1.0" in words(page(samples.one()))


def test_who_left_is_named_and_the_ledger_has_the_rest():
    numbers = range(home_page.HOME_FORMER + 1)
    gone = tuple(FormerEntry(login="zoe", agent=f"a{i}", exclusion=None, results=()) for i in numbers)
    text = words(page(samples.one(), dataclasses.replace(samples.CONTEXT, former_entries=gone)))

    assert "zoe/a4: withdrawn The ledger lists all 6" in text
    assert "zoe/a5" not in text


def test_a_champions_median_episode_is_shown():
    row = samples.one().tasks[0].rows[0]
    made = {
        which: EpisodeReplay(
            which=which, number=0, total=1.0, length=2, file=f"episodes/{which}.webp", columns=2, width=60, height=40,
            steps=(0, 1, 2),
        )
        for which in ("median", "best")
    }  # fmt: skip

    def shown(*episodes):
        context = SiteContext(generated_at="now", episodes={row.result.key: episodes})
        return home_page.episode_picture(row, context, "../")

    assert "../episodes/median.webp" in shown(made["best"], made["median"])
    assert "../episodes/best.webp" in shown(made["best"])
    assert shown() == ""


def test_a_game_shows_a_match_that_its_champion_won():
    board = game_samples.full().games[0]
    picture = won_matches.match_picture(board, won_matches.leaders_win(board))

    assert "alice&#47;minimax won" in picture
    assert picture.count("pr-comes") > 7


def test_no_match_is_shown_where_there_is_none():
    full = game_samples.full()
    lost = {
        pair: dataclasses.replace(
            meeting,
            duel=meeting.duel.model_copy(
                update={"matches": tuple(m.model_copy(update={"end": MatchEnd.TOO_LONG}) for m in meeting.duel.matches)}
            ),
        )
        for pair, meeting in full.games[0].crosstable.items()
    }

    undrawn = game_samples.undrawn()[0].games[0]

    assert won_matches.leaders_win(dataclasses.replace(full.games[0], crosstable=lost)) is None
    assert won_matches.leaders_win(game_samples.empty().games[0]) is None
    assert won_matches.match_picture(undrawn, won_matches.leaders_win(undrawn)) == ""


def test_the_ledger_tells_exclusions_withdrawals_and_rescores():
    who = samples.entry("gone", "zoe")
    again = {"key": samples.digest("k"), "runtime_digest": samples.digest("r"),
             "provenance": {"commit": None, "run_url": None, "evaluated_at": "2026-02-01T00:00:00Z"}}  # fmt: skip
    results = (samples.result(who, samples.POLE, (5.0,)), samples.result(who, samples.POLE, (3.0,), **again))
    board = samples.board(
        samples.task_board(
            samples.POLE, excluded=(samples.excluded(samples.entry()),), withdrawn=(samples.withdrawn(who, samples.POLE),)
        )
    )
    text = words(page(board, dataclasses.replace(samples.CONTEXT, results=results), urls.LEDGER))

    assert "2026-05-01 angle-rule by alice host copies weights Discussion" in text
    assert "2026-01-01 gone by zoe CartPole-v1" in text
    assert "2026-02-01 CartPole the evaluator changed 1 1 zoe/gone 5.0 → 3.0" in text


def test_an_empty_ledger_says_so():
    text = words(page(samples.empty(), path=urls.LEDGER))

    assert "No agent is excluded." in text
    assert "No agent was withdrawn." in text
    assert "Nothing was measured again." in text


def test_the_overall_table_names_clipped_tasks_and_counts_those_played():
    normalised = {samples.POLE.id: 3.5, samples.CAR.id: None}
    rows = [samples.overall_row(samples.entry("agent"), 1, 1.0, (samples.POLE, samples.CAR), normalised=normalised)]
    boards = [samples.task_board(task) for task in (samples.POLE, samples.CAR)]
    text = page(samples.board(*boards, overall=rows))

    assert '<td class="pr-right">1/2</td>' in text
    assert f"{samples.POLE.id} counts as 2" in words(text)
    assert "3.50 on CartPole-v1 counts as 2" in html.unescape(text)
    assert "0.970" in words(text)
    assert "1.030" in words(text)
