"""From duels to the board of a game."""

import dataclasses
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.build_standings import build_standings
from leaderboard.core.game_standings import MatchCount
from leaderboard.core.standings import FinalDraws
from leaderboard.ratings.build_game_standings import build_game_standings, points_places
from leaderboard.ratings.fit_ratings import RATING_TOLERANCE
from tests.leaderboard import make
from tests.leaderboard.test_build_standings import excluding

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
ALICE, BOB, CAROL, DAVE = PLAYERS = tuple(make.entry(login) for login in ("alice", "bob", "carol", "dave"))


def admitted(*entries, **fields):
    """Passed validations."""
    return [make.duel(entry, **fields) for entry in entries]


def board(entries, duels, *, official=True, task=None, moderation=None, baselines=()):
    return build_game_standings(
        task or make.game(), entries, duels, official=official, moderation=moderation, season="1", baselines=baselines
    )


def logins(entries):
    return [entry.login for entry in entries]


def test_an_empty_board_is_a_board():
    empty = board([], [])

    assert (empty.rows, empty.failures, empty.waiting, empty.crosstable) == ((), (), (), {})
    assert (empty.anchor, empty.prior, empty.history, empty.cycle.names) == (None, (), (), ())


def test_standings_hold_the_games_beside_the_solo_tasks():
    solo, game = make.task("solo"), make.game()
    duels = [*admitted(ALICE, BOB), make.duel(ALICE, BOB, "wwwl")]

    whole = build_standings(
        make.challenge(solo, game), [ALICE, BOB], [make.result(ALICE, [1.0], on=solo)], official=True, duels=duels
    )

    assert [standings.task.id for standings in whole.tasks] == ["solo"]
    assert [standings.task.id for standings in whole.games] == ["game"]
    assert logins(row.entry for row in whole.games[0].rows) == ["alice", "bob"]


def test_the_stronger_stands_first_with_its_counts():
    standings = board([ALICE, BOB], [*admitted(BOB, at=LATE), *admitted(ALICE), make.duel(BOB, ALICE, "wwwlId")])

    first, second = standings.rows
    assert (first.entry, first.place, second.entry, second.place) == (BOB, 1, ALICE, 2)
    assert first.rating.elo > second.rating.elo
    assert first.count == MatchCount(won=4, drawn=1, lost=1, errors=0, score=3.0)
    assert second.count == MatchCount(won=1, drawn=1, lost=4, errors=1, score=-3.0)
    assert (first.points_place, second.points_place, first.opponents, first.versions_tried) == (1, 2, 1, 1)
    assert first.since == LATE
    assert first.rating.low <= first.rating.elo <= first.rating.high


def test_the_advantage_of_moving_first_is_measured():
    found = board([ALICE, BOB], [*admitted(ALICE, BOB), make.duel(ALICE, BOB, "wlwlwlwlwlwlww")])

    assert found.moving_first.low > 0
    assert board([], []).moving_first is None


def test_who_is_not_validated_or_met_nobody_waits():
    lone = board([CAROL, BOB, ALICE], [*admitted(ALICE), make.duel(ALICE, CAROL, "ww")])

    assert (lone.rows, lone.waiting) == ((), (ALICE, BOB, CAROL))
    assert board([dataclasses.replace(BOB, erased=True), ALICE], []).waiting == (ALICE,)


def test_a_refused_player_is_listed_with_its_reason_and_its_duels_do_not_count():
    duels = [
        *admitted(ALICE, BOB),
        make.duel(CAROL, outcomes="di"),
        make.duel(ALICE, BOB, "wl"),
        make.duel(CAROL, BOB, "ww"),
    ]

    standings = board([ALICE, BOB, CAROL], duels)

    assert logins(row.entry for row in standings.rows) == ["alice", "bob"]
    assert [(one.entry, one.reason, one.versions_tried) for one in standings.failures] == [
        (CAROL, "match 2, move 4: the illegal move 9, after 1 0 1", 1)
    ]
    assert standings.failures[0].duel == duels[2]


def test_a_new_version_starts_anew_and_going_back_restores():
    newer = make.entry("bob", version="2")
    duels = [*admitted(ALICE, BOB, CAROL), make.duel(ALICE, BOB, "wl"), make.duel(ALICE, CAROL, "wl")]

    assert board([ALICE, newer, CAROL], duels).waiting == (newer,)
    again = board([ALICE, newer, CAROL], [*duels, *admitted(newer, at=LATE), make.duel(newer, ALICE, "ww", at=LATE)])
    assert again.rows[0].entry == newer
    assert (again.rows[0].count.won, again.rows[0].versions_tried) == (2, 2)
    assert board([ALICE, BOB, CAROL], duels).rows[0].versions_tried == 1
    assert logins(row.entry for row in board([ALICE, BOB, CAROL], duels).rows) == logins(PLAYERS[:3])


def test_tries_of_an_owner_widen_its_interval():
    newer = make.entry("bob", version="2")
    duels = [*admitted(ALICE, BOB), *admitted(newer, beacon="2" * 40), make.duel(newer, ALICE, "wlwl")]
    tried, once = board([ALICE, newer], duels), board([ALICE, newer], duels[2:] + admitted(ALICE))

    def rows(standings):
        return {row.entry.login: row for row in standings.rows}

    assert (rows(tried)["bob"].tries, rows(tried)["alice"].tries, rows(once)["bob"].tries) == (2, 1, 1)
    assert rows(tried)["bob"].rating.high > rows(once)["bob"].rating.high + 10
    assert rows(tried)["alice"].rating == rows(once)["alice"].rating


def test_tries_under_earlier_settings_count_and_their_matches_do_not():
    earlier = make.duel(make.entry("bob", version="0"), on=make.game(matches=8), beacon="0" * 40)

    rows = board([ALICE, BOB], [earlier, *admitted(ALICE, BOB), make.duel(BOB, ALICE, "wlwl")]).rows

    assert {row.entry.login: (row.tries, row.versions_tried) for row in rows} == {"alice": (1, 1), "bob": (2, 2)}
    assert {row.entry.login: row.count.won for row in rows} == {"alice": 2, "bob": 2}


def test_in_final_ranks_the_best_live_rating_of_an_owner_holds_its_place():
    other = make.entry("alice", agent="other")
    live = [*admitted(ALICE, other, BOB), make.duel(ALICE, BOB, "wwwl"), make.duel(other, BOB, "wlld")]
    last = [duel for one in (ALICE, other, BOB) for duel in admitted(one, beacon="final", at=LATE)]
    last += [make.duel(who, BOB, outcomes, beacon="final", at=LATE) for who, outcomes in ((ALICE, "lllw"), (other, "wwww"))]

    ranked = final_board([ALICE, other, BOB], [*live, *last])

    places = [(row.entry.shown, None if row.is_unranked else row.place, row.superseded_by, row.tries) for row in ranked.rows]
    assert places == [
        ("bob/agent", 1, None, 1), ("alice/agent", 2, None, 1), ("alice/other", None, "alice/agent", 1),
    ]  # fmt: skip
    assert ranked.rows[2].rating.elo > ranked.rows[0].rating.elo
    assert (ranked.rows[0].since, ranked.rows[1].versions_tried) == (make.NOON, 2)
    assert ranked.superseded == {other.name: "alice/agent"}


def test_in_final_ranks_a_player_without_a_live_rating_holds_no_place_before_one_with_one():
    other = make.entry("alice", agent="a-newer")
    live = [*admitted(ALICE, BOB), make.duel(ALICE, BOB, "lll" + "d")]
    last = [duel for one in (ALICE, other, BOB) for duel in admitted(one, beacon="final", at=LATE)]
    last += [make.duel(who, BOB, "wwll", beacon="final", at=LATE) for who in (ALICE, other)]

    assert final_board([ALICE, other, BOB], [*live, *last]).superseded == {other.name: "alice/agent"}
    # Without any duel before the end the first by name is as good as another.
    assert final_board([ALICE, other, BOB], last).superseded == {ALICE.name: "alice/a-newer"}

    # What was under way at the end counts nowhere: its owner knew the final duels by then.
    whole = build_standings(
        make.challenge(make.game()), [ALICE, other, BOB], [], official=True, duels=[*live, *last],
        final=FinalDraws(beacon="final", ended_at=EARLY),
    )  # fmt: skip
    assert whole.games[0].superseded == {ALICE.name: "alice/a-newer"}


def final_board(entries, duels):
    return build_game_standings(make.game(), entries, duels, official=True, season="1", final_beacon="final")


def test_who_left_takes_its_duels_along():
    duels = [*admitted(ALICE, BOB, CAROL), make.duel(ALICE, BOB, "wl"), make.duel(CAROL, ALICE, "wwww")]

    standings = board([ALICE, BOB], duels)

    assert logins(row.entry for row in standings.rows) == ["alice", "bob"]
    assert standings.rows[0].count.matches == 2
    assert {name for pair in standings.crosstable for name in pair} == {("alice", "agent"), ("bob", "agent")}


def test_an_excluded_player_is_listed_and_its_duels_do_not_count():
    duels = [*admitted(*PLAYERS), make.duel(ALICE, BOB, "wl"), make.duel(CAROL, ALICE, "ww"), make.duel(DAVE, ALICE, "ww")]
    moderation = excluding("carol", "dave/agent")

    standings = board([ALICE, BOB, CAROL], duels, moderation=moderation)

    assert [(one.login, one.exclusion) for one in standings.excluded] == list(
        zip(("carol", "dave"), moderation.exclusions, strict=True)
    )
    assert logins(row.entry for row in standings.rows) == ["alice", "bob"]
    assert (standings.waiting, standings.failures) == ((), ())


def test_an_exclusion_stands_only_on_the_boards_that_the_player_enters():
    picky = make.entry("carol", tasks=("other",))

    assert board([picky], [], moderation=excluding("carol")).excluded == ()


def test_an_official_board_counts_only_official_jailed_duels():
    local = [
        *admitted(ALICE, BOB, **{"class": "local"}),
        make.duel(ALICE, BOB, "ww", **{"class": "local"}),
    ]

    assert board([ALICE, BOB], local).rows == ()
    assert len(board([ALICE, BOB], local, official=False).rows) == 2
    loose = [*admitted(ALICE, BOB), make.duel(ALICE, BOB, "ww", sandbox="process")]
    assert board([ALICE, BOB], loose).rows == ()


def test_of_the_examples_only_baselines_are_on_the_official_board():
    example = make.entry("local", agent="greedy")
    baseline = dataclasses.replace(make.entry("local", agent="random"), baseline=True)
    duels = [*admitted(ALICE, example, baseline), make.duel(ALICE, baseline, "wl"), make.duel(ALICE, example, "ww")]

    standings = board([ALICE, example, baseline], duels)

    assert {row.entry.agent for row in standings.rows} == {"agent", "random"}
    assert len(board([ALICE, example, baseline], duels, official=False).rows) == 3


def ring():
    return [
        *admitted(ALICE, at=LATE), *admitted(CAROL, at="2026-01-02T00:00:00Z"), *admitted(BOB, at=LATE),
        make.duel(ALICE, BOB, "wwld"), make.duel(BOB, CAROL, "wwld"), make.duel(CAROL, ALICE, "wwld"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("named", "baselines", "anchor"),
    [
        (None, (), "carol/agent"),
        (None, ("nobody", "BOB/agent", "alice/agent"), "bob/agent"),
        ("alice/agent", ("bob/agent",), "alice/agent"),
        ("gone/agent", ("bob/agent",), "bob/agent"),
    ],
)
def test_the_anchor_is_named_or_the_first_baseline_that_plays_or_the_earliest(named, baselines, anchor):
    standings = board([ALICE, BOB, CAROL], ring(), task=make.game(anchor=named), baselines=baselines)

    assert standings.anchor == anchor
    assert [row.rating.elo for row in standings.rows if f"{row.entry.login}/agent" == anchor] == [0.0]


def test_an_example_is_an_anchor_by_its_folder():
    example = make.entry("local", agent="random")
    duels = [*admitted(example, ALICE), make.duel(ALICE, example, "wl")]

    assert board([ALICE, example], duels, official=False, baselines=("random",)).anchor == "local/random"
    named_so = make.entry("bob", agent="random")
    duels = [*admitted(named_so, ALICE), make.duel(ALICE, named_so, "wl")]
    assert board([ALICE, named_so], duels, baselines=("random",)).anchor == "alice/agent"


def test_identical_games_count_once_for_the_rating_only():
    alike = [make.duel(ALICE, BOB, "wlwdwd", moves=[[1], [2], [1], [3], [1], [3]])]
    plain = [make.duel(ALICE, BOB, "wldd", moves=[[1], [2], [4], [3]])]
    once = board([ALICE, BOB], [*admitted(ALICE, BOB), *alike])
    other = board([ALICE, BOB], [*admitted(ALICE, BOB), *plain])

    assert once.rows[0].rating.elo == pytest.approx(other.rows[0].rating.elo, abs=1e-6)
    assert [row.count.matches for row in once.rows] == [6, 6]


def test_equal_players_share_a_place_and_the_earlier_stands_first():
    standings = board([ALICE, BOB], [*admitted(ALICE, at=LATE), *admitted(BOB, at=EARLY), make.duel(ALICE, BOB, "wl")])

    assert [(row.entry.login, row.place, row.points_place) for row in standings.rows] == [("bob", 1, 1), ("alice", 1, 1)]


def test_to_be_measured_again_makes_nobody_later():
    duels = [*admitted(BOB, at=EARLY), *admitted(BOB, at="2026-03-01T00:00:00Z"), *admitted(ALICE, at=LATE)]

    standings = board([ALICE, BOB], [*duels, make.duel(ALICE, BOB, "wl")])

    assert [(row.entry.login, row.since) for row in standings.rows] == [("bob", EARLY), ("alice", LATE)]


def test_points_places_are_1_1_3_by_points_then_wins_then_score():
    even = {"won": 1, "lost": 1}
    counts = [
        MatchCount(drawn=2),
        MatchCount(**even, score=1),
        MatchCount(**even, score=1),
        MatchCount(**even, score=2),
        MatchCount(lost=2),
    ]

    assert points_places(counts) == [4, 2, 2, 1, 5]
    assert points_places([MatchCount(won=1), MatchCount(won=1), MatchCount(lost=1)]) == [1, 1, 3]


def test_the_crosstable_shows_each_pair_from_both_sides():
    duel = make.duel(BOB, ALICE, "wwld")
    standings = board([ALICE, BOB], [*admitted(ALICE, BOB), duel])

    ours, theirs = (standings.crosstable[pair] for pair in ((ALICE.name, BOB.name), (BOB.name, ALICE.name)))
    assert (ours.count.won, theirs.count.won, ours.side, theirs.side) == (1, 2, 0, 1)
    assert ours.duel == theirs.duel == duel


def test_where_both_offend_in_all_matches_both_are_on_the_board():
    standings = board([ALICE, BOB], [*admitted(ALICE, BOB), make.duel(ALICE, BOB, "bb")])

    assert [(row.count.lost, row.count.errors) for row in standings.rows] == [(2, 2), (2, 2)]


def test_a_cycle_is_named():
    beats = "w" * 30 + "l" * 2
    duels = [make.duel(one, other, beats) for one, other in ((ALICE, BOB), (BOB, CAROL), (CAROL, ALICE))]

    cycle = board([ALICE, BOB, CAROL], [*admitted(ALICE, BOB, CAROL), *duels]).cycle

    assert (set(cycle.names), cycle.share, cycle.triads) == ({"alice/agent", "bob/agent", "carol/agent"}, 1.0, 1)
    assert cycle.names.index("bob/agent") == (cycle.names.index("alice/agent") + 1) % 3


def test_who_lost_everything_is_named_as_needing_a_prior():
    duels = [*admitted(*PLAYERS), make.duel(ALICE, BOB, "wl"), make.duel(BOB, CAROL, "wl"), make.duel(DAVE, ALICE, "ll")]

    assert board(PLAYERS, duels).prior == ("dave/agent",)


OUTCOME = st.sampled_from(["ww", "wl", "ll", "dw", "db", "FF", "iw"])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), OUTCOME), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_input_never_matters(games, random):
    entries = [make.entry(f"user{i}") for i in range(6)]
    versions = [*entries, make.entry("user1", version="0")]
    duels = admitted(*versions) + [
        make.duel(versions[a], versions[b], outcome, at=f"2026-01-0{1 + n % 3}T00:00:00Z")
        for n, (a, b, outcome) in enumerate(games)
        if a != b
    ]
    rules, moderation = make.challenge(make.game()), excluding("user5")

    expected = build_standings(rules, entries, [], official=True, moderation=moderation, duels=duels)

    again = [random.sample(values, k=len(values)) for values in (entries, duels)]
    assert build_standings(rules, again[0], [], official=True, moderation=moderation, duels=again[1]) == expected


def aside(login):
    """A host's own entry, which takes no place."""
    return dataclasses.replace(make.entry(login), host=True)


def stands(standings):
    return {row.entry.login: (row.place, row.rank_low, row.rank_high, row.with_leader) for row in standings.rows}


def test_rank_intervals_count_only_those_that_have_places():
    """Alice is surely stronger than Bob; the host's stands between them, and is statistically tied with Bob."""
    host = aside("carol")
    duels = [
        *admitted(ALICE, BOB, host),
        make.duel(ALICE, BOB, "w" * 30 + "llll"),
        make.duel(ALICE, host, "w" * 24 + "llll"),
        make.duel(host, BOB, "w" * 6 + "llll"),
    ]

    standings = board([ALICE, BOB, host], duels)

    assert logins(row.entry for row in standings.rows) == ["alice", "carol", "bob"]
    assert stands(standings) == {"alice": (1, 1, 1, True), "bob": (2, 2, 2, False), "carol": (2, 2, 2, False)}


def test_who_trails_a_host_alone_leads_among_those_that_have_places():
    host = aside("carol")
    duels = [*admitted(ALICE, BOB, host), make.duel(ALICE, BOB, "wwll"), make.duel(host, ALICE, "w" * 30 + "ll")]
    duels.append(make.duel(host, BOB, "w" * 30 + "ll"))

    places = stands(board([ALICE, BOB, host], duels))

    assert places == {"carol": (1, 1, 1, False), "alice": (1, 1, 2, True), "bob": (1, 1, 2, True)}


def test_a_board_of_hosts_entries_alone_has_no_places():
    hosts = [aside("alice"), aside("bob")]

    places = stands(board(hosts, [*admitted(*hosts), make.duel(*hosts, "wwwl")]))

    assert places == {"alice": (1, 1, 1, False), "bob": (1, 1, 1, False)}


@settings(max_examples=20)
@given(st.lists(st.text("wdl", min_size=1, max_size=6), min_size=6, max_size=6), st.sets(st.sampled_from(range(4))))
def test_rank_intervals_are_sound_whoever_stands_aside(outcomes, chosen):
    players = [dataclasses.replace(one, host=i in chosen) for i, one in enumerate(PLAYERS)]
    pairs = list(itertools.combinations(players, 2))
    duels = [make.duel(*pair, 2 * text) for pair, text in zip(pairs, outcomes, strict=True)]

    standings = board(players, [*admitted(*players), *duels])

    placed = [row for row in standings.rows if not row.entry.is_unranked]
    assert all(1 <= row.rank_low <= row.place <= row.rank_high <= len(placed) for row in placed)
    assert not placed or any(row.place == 1 and row.with_leader for row in placed)
    assert all(better.rating.elo > worse.rating.elo - RATING_TOLERANCE for better, worse in itertools.pairwise(placed))


def test_of_an_owners_players_the_best_rated_one_is_heard_and_all_are_rated():
    weak = make.entry("alice", agent="weak")
    between = [make.duel(ALICE, BOB, "wwwlww"), make.duel(BOB, CAROL, "wllw"), make.duel(ALICE, CAROL, "wlww")]
    lost = [make.duel(weak, BOB, "llllll"), make.duel(weak, CAROL, "wlllll")]
    four = [ALICE, BOB, CAROL, weak]

    def elo(entries, duels):
        played = [make.duel(one) for one in entries] + duels
        return {row.entry.shown: row.rating.elo for row in build_game_standings(
            make.game(), entries, played, official=True, season="1").rows}  # fmt: skip

    alone, together = elo(four[:3], between), elo(four, [*between, *lost])

    assert {name: together[name] for name in alone} == pytest.approx(alone)
    assert together["alice/weak"] < min(alone.values())
    unbeaten = elo(four, [*between, make.duel(weak, BOB, "l" * 40)])
    assert {name: unbeaten[name] for name in alone} == pytest.approx(alone)
    assert unbeaten["alice/weak"] > -2000  # finite, by one imagined draw


def test_a_player_without_a_place_is_rated_where_its_owners_other_one_met_nobody():
    other = make.entry("alice", agent="other")
    played = [*(make.duel(one, beacon=at) for one in (ALICE, other, BOB) for at in ("test", "final"))]
    live = [make.duel(ALICE, BOB, "ww"), make.duel(other, BOB, "ll")]
    last = [make.duel(other, BOB, "wl", beacon="final", at=LATE)]

    board = build_game_standings(
        make.game(), [ALICE, other, BOB], [*played, *live, *last], official=True, season="1", final_beacon="final"
    )

    assert {row.entry.shown: row.superseded_by for row in board.rows} == {"bob/agent": None, "alice/other": "alice/agent"}


def test_players_without_a_place_are_listed_by_their_ratings_not_by_their_dates():
    weak, strong = (dataclasses.replace(entry, host=True) for entry in (ALICE, BOB))

    found = board([weak, strong], [*admitted(weak, at=EARLY), *admitted(strong, at=LATE), make.duel(strong, weak, "wwwl")])

    assert [(row.entry, row.place) for row in found.rows] == [(strong, 1), (weak, 1)]
