"""Folders of one login, or of one team, that lose to each other on purpose: what they play lifts nobody."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pytest

from evaluator.host.envs.check_task import task_faults
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry
from leaderboard.core.standings import FinalDraws
from leaderboard.planning.missing_work import DuelWorkItem, MeasurementContext, missing_work
from leaderboard.ratings.fit_ratings import PairedTotals, fit_ratings
from tests.evaluations import FIRST_LEGAL, duelled
from tests.leaderboard import make

GAME = make.game(opponents=50)
RULES: Challenge = make.challenge(GAME).model_copy(update={"baselines": ("anchor/agent",)})
STRENGTHS = {"anchor": 0, "bob": 60, "carol": 120, "dan": 180, "mallory": 26}
HONEST = [replace(make.entry(login), baseline=login == "anchor") for login in STRENGTHS]
PLAYER = HONEST[-1]
WHERE = MeasurementContext(runtime_digest="0" * 64, beacon="preview")


def outcomes(lead: float, draw: random.Random, matches: int = 60) -> str:
    """Matches of two players as strong as that."""
    chance = 1 / (1 + 10 ** (-lead / 400))
    return "".join("w" if draw.random() < chance else "l" for _ in range(matches))


def honest_duels(draw: random.Random) -> list[Duel]:
    """Everybody against everybody."""
    duels = [make.duel(entry, on=GAME) for entry in HONEST]
    for one, other in combinations(HONEST, 2):
        duels.append(make.duel(one, other, outcomes(STRENGTHS[one.login] - STRENGTHS[other.login], draw), on=GAME))
    return duels


def puppets(count: int, login: str = "mallory", authors: tuple[str, ...] = ()) -> list[Entry]:
    made = [make.entry(login, agent=f"puppet{number}") for number in range(count)]
    return [replace(one, submission=Submission(name="p", algorithm="p", authors=authors)) for one in made]


def thrown(player: Entry, strings: Sequence[Entry], draw: random.Random) -> list[Duel]:
    """What puppets play: they hold their own against everybody else, and lose nine of ten to their player."""
    duels = [make.duel(puppet, on=GAME) for puppet in strings]
    duels += [make.duel(player, puppet, "w" * 54 + "l" * 6, on=GAME) for puppet in strings]
    for puppet in strings:
        for other in HONEST[:-1]:
            duels.append(make.duel(puppet, other, outcomes(150 - STRENGTHS[other.login], draw), on=GAME))
    return duels


def elo(entries: Sequence[Entry], duels: Sequence[Duel]) -> float:
    """The player's rating."""
    board = build_standings(RULES, entries, [], official=True, duels=duels).games[0]
    return next(row.rating.elo for row in board.rows if row.entry.name == PLAYER.name)


def without(duels: Sequence[Duel], player: Entry, strings: Sequence[Entry]) -> list[Duel]:
    """The same without what the player and its puppets played against each other."""
    own = {player.name, *(one.name for one in strings)}
    return [duel for duel in duels if duel.is_validation or not {side.name for side in duel.players} <= own]


@pytest.mark.attack(
    "puppets_of_ones_own_login", family="people", outcome="they never count",
    tries="Lets folders of one login lose against one's player.",
)  # fmt: skip
def test_puppets_of_ones_own_login_lift_nobody() -> None:
    draw = random.Random(1)
    own = puppets(10)
    duels = [*honest_duels(draw), *thrown(PLAYER, own, draw)]

    with_them, without_them = elo([*HONEST, *own], duels), elo([*HONEST, *own], without(duels, PLAYER, own))

    assert with_them == without_them
    assert abs(with_them - elo(HONEST, honest_duels(random.Random(1)))) < 25


@pytest.mark.attack(
    "puppets_that_meet_one_player", family="people", outcome="as if they were not there",
    tries="Lets puppets meet one's player only.",
)  # fmt: skip
def test_puppets_that_meet_only_their_player_are_as_if_they_were_not_there() -> None:
    honest = honest_duels(random.Random(1))
    own = puppets(10)
    alone = [duel for duel in thrown(PLAYER, own, random.Random(2)) if {s.login for s in duel.players} == {"mallory"}]

    assert len(alone) == 20
    assert elo([*HONEST, *own], [*honest, *alone]) == elo(HONEST, honest)


@pytest.mark.attack(
    "puppets_of_a_team", family="people", outcome="they never count",
    tries="Lets the team's other accounts lose.",
)  # fmt: skip
@pytest.mark.parametrize("named", [True, False])
def test_a_teams_puppets_lift_nobody_and_naming_somebody_binds_nobody(named: bool) -> None:
    honest = honest_duels(random.Random(1))
    mate = puppets(1, "mate", authors=("@mallory",))
    player = replace(PLAYER, submission=Submission(name="m", algorithm="m", authors=("@mate",) if named else ()))
    entries = [*HONEST[:-1], player, *mate]
    draw = random.Random(2)

    duels = [*honest, *thrown(player, mate, draw)]

    lifted = elo(entries, duels) - elo(entries, without(duels, player, mate))
    assert (lifted == 0) if named else (lifted > 1)


@pytest.mark.attack(
    "renamed_account_as_puppet", family="people", outcome="it never counts",
    tries="Renames the account and plays against one's former self.",
)  # fmt: skip
def test_another_login_of_the_same_account_is_the_same_side() -> None:
    honest = honest_duels(random.Random(1))
    strings = puppets(3, "malory2")
    played = thrown(PLAYER, strings, random.Random(2))
    known = [
        duel.model_copy(
            update={
                "players": tuple(
                    side.model_copy(update={"login_id": 7 if side.login.startswith("mal") else None})
                    for side in duel.players
                )
            }
        )
        for duel in [*honest, *played]
    ]
    entries = [*HONEST, *strings]

    assert elo(entries, known) == elo(entries, without(known, PLAYER, strings))
    assert elo(entries, [*honest, *played]) > elo(entries, known) + 1


@pytest.mark.attack(
    "lost_matches_made_alike", family="games", outcome="every one counts",
    tries="Breaks a rule at once in each match against a player that it found to be stronger, so that they are one game.",
)  # fmt: skip
@pytest.mark.parametrize("lost", "io")
def test_matches_lost_by_a_broken_rule_are_not_folded_into_one(lost: str) -> None:
    honest = honest_duels(random.Random(1))
    others = [duel for duel in honest if {side.login for side in duel.players} != {"mallory", "dan"}]
    openings = [[number % 3, number // 3 % 3] for number in range(0, 60, 2) for _ in range(2)]
    whole = [[*opening, number] for number, opening in enumerate(openings)]

    played = make.duel(PLAYER, HONEST[3], "l" * 60, on=GAME, moves=whole)
    broken = make.duel(PLAYER, HONEST[3], "l" * 8 + lost * 52, on=GAME, moves=whole[:8] + openings[8:])

    assert elo(HONEST, [*others, broken]) == pytest.approx(elo(HONEST, [*others, played]))


@pytest.mark.attack(
    "won_matches_made_different", family="games", outcome="matches that begin alike weigh alike",
    tries="Repeats one match where it loses and varies its moves where it won, so that losses count once and wins often.",
)  # fmt: skip
@pytest.mark.parametrize("opening", [0, 1])
def test_matches_weigh_the_same_however_a_player_varies_them(opening: int) -> None:
    """Against deterministic players it beats one half and loses to the other; its rivals do the same and vary nothing."""
    game = make.game(opening=opening, opponents=50)
    first = [[number // 2 % 3] * opening for number in range(60)]
    alike, varied = ([*begin, 7] for begin in first), ([*begin, number] for number, begin in enumerate(first))
    moves = {"l": list(alike), "w": list(varied)}
    results = {"anchor": "w", "bob": "w", "carol": "l", "dan": "l"}
    others = [make.duel(entry, on=game) for entry in HONEST]
    others += [make.duel(one, other, "wl" * 30, on=game) for one, other in combinations(HONEST[:-1], 2)]

    def rating(choice: str) -> float:
        duels = [
            make.duel(PLAYER, other, results[other.login] * 60, on=game, moves=moves[choice or results[other.login]])
            for other in HONEST[:-1]
        ]
        board = build_standings(make.challenge(game), HONEST, [], official=True, duels=[*others, *duels]).games[0]
        return next(row.rating.elo for row in board.rows if row.entry.name == PLAYER.name)

    assert rating("") == pytest.approx(rating("l")) == pytest.approx(rating("w"))


def through_others(strings: Sequence[Entry], beacon: str = "test") -> list[Duel]:
    """What puppets play that lift a third player, whom theirs has learnt to beat: they never meet their own."""
    draw, dan = random.Random(3), HONEST[3]
    duels = [make.duel(puppet, on=GAME, beacon=beacon) for puppet in strings]
    for puppet in strings:
        for other in HONEST[:-1]:
            lead = 150 - STRENGTHS[other.login]
            played = "l" * 54 + "w" * 6 if other == dan else outcomes(lead, draw)
            duels.append(make.duel(puppet, other, played, on=GAME, beacon=beacon))
    return duels


@pytest.mark.attack(
    "puppets_through_a_third_player", family="people", outcome="as if they were not there",
    tries="Lets one's folders lose to a third player, whom one's player was made to beat.",
)  # fmt: skip
@pytest.mark.parametrize("is_final", [False, True])
def test_puppets_that_lose_to_others_lift_nobody(is_final: bool) -> None:
    own = puppets(10)
    honest = [d for d in honest_duels(random.Random(1)) if {side.login for side in d.players} != {"mallory", "dan"}]
    honest.append(make.duel(PLAYER, HONEST[3], "w" * 58 + "l" * 2, on=GAME))
    duels = [*honest, *through_others(own)]
    end = {}
    if is_final:
        duels += [Duel.with_self_hash({**duel.document(), "beacon": "end", "key": make.digest(duel.key)}) for duel in duels]
        end = {"final": FinalDraws(beacon="end")}
    best = [one for one in own if one.agent == "puppet0"]

    def ratings(entries: Sequence[Entry], played: Sequence[Duel]) -> dict[str, float]:
        board = build_standings(RULES, entries, [], official=True, duels=played, **end).games[0]
        return {row.entry.shown: row.rating.elo for row in board.rows}

    lifted, alone = ratings([*HONEST, *own], duels), ratings(HONEST, duels)

    others = [entry.shown for entry in HONEST]
    assert len(lifted) == len(HONEST) + len(own)
    assert [lifted[name] for name in others] == pytest.approx([alone[name] for name in others])
    assert best


STRONG, WEAK = make.entry("erin", agent="strong"), make.entry("erin", agent="weak")


def against_the_better_one(strings: Sequence[Entry]) -> list[Duel]:
    """What puppets play that beat a rival's better player and lose to its other one."""
    draw, duels = random.Random(3), [make.duel(puppet, on=GAME) for puppet in strings]
    for puppet in strings:
        duels += [
            make.duel(puppet, STRONG, "w" * 58 + "l" * 2, on=GAME),
            make.duel(puppet, WEAK, "l" * 58 + "w" * 2, on=GAME),
        ]
        duels += [
            make.duel(puppet, other, outcomes(-200 - STRENGTHS[other.login], draw), on=GAME)
            for other in HONEST
            if other.login != puppet.login
        ]
    return duels


@pytest.mark.attack(
    "puppets_that_choose_for_a_rival", family="people", outcome="as if they were not there",
    tries="Lets puppets beat a rival's better player and lose to its other one, so that this one holds the place.",
)  # fmt: skip
@pytest.mark.parametrize("is_final", [False, True])
def test_puppets_do_not_choose_which_of_a_rivals_players_is_heard(is_final: bool) -> None:
    own, draw = puppets(10, "dan"), random.Random(2)
    honest = [*honest_duels(draw), *(make.duel(one, on=GAME) for one in (STRONG, WEAK))]
    for one, strength in ((STRONG, 260), (WEAK, 160)):
        honest += [make.duel(one, other, outcomes(strength - STRENGTHS[other.login], draw), on=GAME) for other in HONEST]

    def board(strings: Sequence[Entry]) -> dict[str, tuple[float, str | None]]:
        duels, end = [*honest, *against_the_better_one(strings)], {}
        if is_final:
            duels += [Duel.with_self_hash({**d.document(), "beacon": "end", "key": make.digest(d.key)}) for d in duels]
            end = {"final": FinalDraws(beacon="end")}
        built = build_standings(RULES, [*HONEST, STRONG, WEAK, *strings], [], official=True, duels=duels, **end).games[0]
        return {row.entry.shown: (pytest.approx(row.rating.elo, abs=0.01), row.superseded_by) for row in built.rows}

    alone, beset = board([]), board(own)

    assert {name: beset[name] for name in alone} == alone


@pytest.mark.attack(
    "puppets_that_settle_a_rivals_tie", family="people", outcome="as if they were not there",
    tries="Adds folders so that of a rival's equally good players, by an error of rounding, the later one holds the place.",
)  # fmt: skip
def test_of_equally_good_players_the_first_holds_the_place_whoever_else_is_there() -> None:
    """Each has the same number of wins, against others of its opponents."""
    honest, equal = honest_duels(random.Random(1)), (STRONG, WEAK)
    wins, at = ((27, 32, 52, 42, 25), (52, 27, 42, 32, 25)), ("2026-01-01T09:00:00Z", "2026-01-01T10:00:00Z")
    for one, won, when in zip(equal, wins, at, strict=True):
        honest.append(make.duel(one, on=GAME, at=when))
        honest += [make.duel(one, o, "w" * n + "l" * (60 - n), on=GAME) for o, n in zip(HONEST, won, strict=True)]

    holders = set()
    for count in range(3):
        duels = [*honest, *(make.duel(puppet, on=GAME) for puppet in puppets(count))]
        duels += [
            make.duel(puppet, o, "l" * 58 + "w" * 2, on=GAME) for puppet in puppets(count) for o in [*HONEST[:-1], *equal]
        ]
        duels += [Duel.with_self_hash({**d.document(), "beacon": "end", "key": make.digest(d.key)}) for d in duels]
        entries = [*HONEST, STRONG, WEAK, *puppets(count)]
        board = build_standings(RULES, entries, [], official=True, duels=duels, final=FinalDraws(beacon="end")).games[0]
        holders |= {row.superseded_by for row in board.rows if row.entry.login == "erin" and row.superseded_by}

    assert holders == {"erin/strong"}


@pytest.mark.attack(
    "second_folder_with_a_narrower_interval", family="people", outcome="as wide as its matches say",
    tries="Enters beside its best player another one, which changes nobody's rating, to be told apart from rivals sooner.",
)  # fmt: skip
def test_a_second_folder_has_an_interval_as_wide_as_that_of_the_only_one() -> None:
    """Both won as often against the same opponents; the one validated first is heard."""
    second, draw = make.entry("mallory", agent="second"), random.Random(1)
    others = [duel for duel in honest_duels(draw) if PLAYER.login not in {side.login for side in duel.players}]
    for player in (PLAYER, second):
        others.append(make.duel(player, on=GAME))
        others += [make.duel(player, other, "w" * 24 + "l" * 36, on=GAME) for other in HONEST[:-1]]

    board = build_standings(RULES, [*HONEST, second], [], official=True, duels=others).games[0]

    heard, silent = (next(r.rating for r in board.rows if r.entry == entry) for entry in (PLAYER, second))
    assert silent.high - silent.low == pytest.approx(heard.high - heard.low, rel=0.1)


def wanted(entries: Sequence[Entry], opponents: int) -> set[frozenset[str]]:
    """Who is to meet whom."""
    rules = make.challenge(GAME.model_copy(update={"opponents": opponents}))
    game = rules.games[0]
    duels = [make.duel(entry, on=game) for entry in entries]
    items = missing_work(rules, entries, [], WHERE, duels)
    return {
        frozenset(e.shown for e in item.entries) for item in items if isinstance(item, DuelWorkItem) and item.reason == "new"
    }


@pytest.mark.parametrize("opponents", [3, 50])
def test_folders_of_one_login_are_not_sent_to_meet(opponents: int) -> None:
    own = puppets(10)
    pairs = [pair for pair in wanted([*HONEST, *own], opponents) if len(pair) == 2]

    assert pairs
    assert not [pair for pair in pairs if all(name.startswith("mallory/") for name in pair)]
    assert any("mallory/agent" in pair for pair in pairs)
    assert any("mallory/puppet9" in pair for pair in pairs)


@pytest.mark.attack(
    "folders_that_take_all_opponents", family="people", outcome="they are one opponent",
    tries="Enters so many folders that rivals meet nobody else.",
)  # fmt: skip
def test_an_owners_folders_are_one_opponent() -> None:
    rules = make.challenge(GAME.model_copy(update={"opponents": 3}))
    game, own = rules.games[0], puppets(10)
    bob, others = HONEST[1], [entry for entry in HONEST if entry.login != "bob"]
    duels = [make.duel(entry, on=game) for entry in [*HONEST, *own]]
    duels += [make.duel(bob, puppet, "wl", on=game) for puppet in own]

    met = set()
    for _ in range(2):
        items = missing_work(rules, [*HONEST, *own], [], WHERE, duels)
        pairs = [item.entries for item in items if isinstance(item, DuelWorkItem) and bob in item.entries]
        duels += [make.duel(*pair, "wl", on=game) for pair in pairs]
        met |= {entry.login for pair in pairs for entry in pair}

    assert len(met & {entry.login for entry in others[:-1]}) >= 2


def test_examples_and_baselines_meet_whoever_they_like() -> None:
    examples = [make.entry("local", agent=name) for name in ("a", "b")]
    own = [replace(make.entry("host", agent="base"), baseline=True), make.entry("host", agent="other")]

    assert frozenset({"local/a", "local/b"}) in wanted(examples, 50)
    assert frozenset({"host/base", "host/other"}) in wanted(own, 50)
    rated = build_standings(
        RULES, own, [], official=True, duels=[*(make.duel(one, on=GAME) for one in own), make.duel(*own, on=GAME)]
    )
    assert len(rated.games[0].rows) == 2


@pytest.mark.attack(
    "player_that_beats_only_the_leader", family="people", outcome="124 points of 540; the page on games says so",
    tries="Enters by another account a player that knows how to beat a rival, and loses to everybody else.",
)  # fmt: skip
@pytest.mark.parametrize(("spoilers", "lost", "place"), [(0, 0, 1), (1, 124, 2), (2, 209, 3)])
def test_what_a_rival_loses_by_players_that_beat_it_alone_is_what_the_page_says(
    spoilers: int, lost: int, place: int
) -> None:
    """Ten players 60 points apart, each pair with the score that is expected of 100 matches."""
    strength = [*range(0, 600, 60), *[0] * spoilers]

    def wins(a: int, b: int) -> float:
        return 0.0 if a == 9 < b else 100 / (1 + 10 ** ((strength[b] - strength[a]) / 400))

    pairs = [PairedTotals(a, b, wins(a, b), 100 - wins(a, b), 0.0) for a, b in combinations(range(10 + spoilers), 2)]

    ratings = fit_ratings(pairs, 10 + spoilers, anchor=0).elo

    assert round(540 - ratings[9]) == lost
    assert 1 + sum(ratings > ratings[9]) == place


@pytest.mark.attack(
    "returns_that_weigh_more", family="games", outcome="the duels of all stays weigh as one",
    tries="Leaves main and comes back, so that the matches in which it beats one rival alone count several times.",
)  # fmt: skip
@pytest.mark.parametrize("opening", [0, 2])
def test_the_duels_of_several_stays_weigh_as_one(opening: int) -> None:
    game = make.game(opening=opening, opponents=50)
    draw, best = random.Random(1), HONEST[3]
    fixed = [make.duel(entry, on=game) for entry in HONEST]
    for one, other in combinations(HONEST[:-1], 2):
        played = outcomes(STRENGTHS[one.login] - STRENGTHS[other.login], draw)
        fixed.append(make.duel(one, other, played, on=game))

    def ratings(stays: int) -> dict[str, float]:
        duels = list(fixed)
        for stay in range(stays):
            moves = [[stay, number // 2, 0] for number in range(60)]
            for other in HONEST[:-1]:
                played = "w" * 60 if other is best else "l" * 58 + "w" * 2
                duels.append(make.duel(PLAYER, other, played, on=game, moves=moves, beacon=f"stay{stay}"))
        board = build_standings(make.challenge(game), HONEST, [], official=True, duels=duels).games[0]
        return {row.entry.shown: row.rating.elo for row in board.rows}

    assert ratings(5) == pytest.approx(ratings(1))


# Remembers the cards that it held on the left, in the order of the matches, and guesses them on the right.
REMEMBERS = """
HELD, GUESSED = [], []
class Agent:
    memoryless = True
    def act(self, seen):
        is_right, _, card = seen["observation"].tolist()
        if not is_right:
            HELD.append(card)
            return 0
        GUESSED.append(card)
        return HELD[len(GUESSED) - 1]
"""


@pytest.mark.attack(
    "cards_of_the_other_match", family="cheating", outcome="`pullrank check` refuses such a game",
    tries="Remembers the cards that it held in the one match of an opening: its opponent holds them in the other one.",
)  # fmt: skip
def test_a_game_that_deals_from_its_seed_is_refused() -> None:
    """Both matches of an opening have one seed and are played by one process, so nothing is hidden from it."""
    task = Task.model_validate({"id": "dealt", "game": "tests.evaluator.tiny_games:Dealt", "matches": 40, "opening": 0})

    duel = duelled(REMEMBERS, FIRST_LEGAL, task)

    assert all(match.winner == 0 for match in duel.matches[1::2])
    assert [(fault.key, "deals from its seed" in fault.text) for fault in task_faults(task)] == [("game", True)]
