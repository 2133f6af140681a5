"""Who should play whom: few duels, chosen well, and the wanted set comes to rest."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from leaderboard.build_standings import build_standings
from leaderboard.core.standings import FinalDraws
from leaderboard.planning import opponents
from leaderboard.planning.missing_work import MeasurementContext, missing_work, wanted_pairings
from tests.leaderboard import make

GAME = make.game(opponents=6)
BASELINE = "base/agent"


class World:
    """Players of known strength, and what they played."""

    def __init__(self, task=GAME, seed=1):
        self.task, self.random = task, random.Random(seed)
        self.entries, self.duels, self.done, self.strength = [], [], set(), {}

    def join(self, login, version="1"):
        self.entries = [entry for entry in self.entries if entry.login != login]
        self.entries.append(make.entry(login, version=version))
        self.strength.setdefault(login, self.random.gauss(0, 200))

    def wanted(self):
        pairs = wanted_pairings(self.task, self.entries, self.duels, season="1", baselines=(BASELINE,))
        return [pair for pair in pairs if (pair[0].digest, pair[1].digest) not in self.done]

    def play(self, pairs):
        for a, b in pairs:
            better = 1 / (1 + 10 ** ((self.strength[b.login] - self.strength[a.login]) / 400))
            outcomes = "".join(self.random.choices("wl", (better, 1 - better), k=4)) if a != b else "dd"
            self.duels.append(make.duel(a, b, outcomes, on=self.task))
            self.done.add((a.digest, b.digest))

    def settle(self):
        """Play until nothing is wanted; how many duels each round had, validations left out."""
        rounds = []
        for _ in range(10):
            pairs = self.wanted()
            if not pairs:
                return rounds
            self.play(pairs)
            rounds.append(sum(a != b for a, b in pairs))
        raise AssertionError("the wanted set does not come to rest")

    def opponents(self):
        here = {entry.digest for entry in self.entries}
        met = [pair for pair in self.done if pair[0] != pair[1] and here.issuperset(pair)]
        return Counter(itertools.chain.from_iterable(met))


def settled_world(count: int) -> World:
    """A world in which every player has met its opponents."""
    world = World()
    for i in range(count):
        world.join(f"user{i}")
    world.settle()
    return world


def names(pairs):
    return [f"{a.login}-{b.login}" for a, b in pairs]


def test_validations_come_first_and_pairs_after_them():
    world = World()
    for login in ("carol", "Bob", "alice"):
        world.join(login)

    assert names(world.wanted()) == ["alice-alice", "Bob-Bob", "carol-carol"]
    world.play(world.wanted()[:2])
    assert names(world.wanted()) == ["carol-carol", "alice-Bob"]


def test_who_does_not_enter_the_game_does_not_play():
    assert wanted_pairings(GAME, [make.entry("alice", tasks=("other",))], [], season="1") == []


def test_duels_of_another_game_season_or_setting_admit_nobody():
    alike = make.game("alike", opponents=6)
    alice, bob = make.entry("alice"), make.entry("bob")
    elsewhere = ({"on": alike}, {"season": "0"}, {"on": make.game(opening=0)})
    others = [make.duel(one, **fields) for one in (alice, bob) for fields in elsewhere]

    assert alike.digest() == GAME.digest()
    assert names(wanted_pairings(GAME, [alice, bob], others, season="1")) == ["alice-alice", "bob-bob"]
    assert len(wanted_pairings(GAME, [alice, bob], [make.duel(alice), make.duel(bob)], season="1")) == 3


def test_a_few_players_meet_each_other_all():
    world = World()
    for i in range(GAME.opponents + 1):
        world.join(f"user{i}")

    assert world.settle() == [0, 21]


def test_each_newcomer_costs_its_own_opponents_and_no_more():
    world = World()
    world.join("base")
    for i in range(30):
        world.join(f"user{world.random.randrange(10**6)}x{i}")
        cost = world.settle()

        assert sum(cost) <= GAME.opponents
    assert min(world.opponents().values()) == GAME.opponents
    assert world.opponents()[world.entries[0].digest] == 30


def test_two_hundred_at_once_come_to_rest_with_little_more_than_half_their_needs_and_a_newcomer_costs_ten():
    world = World(make.game(opponents=10))
    world.join("base")
    for i in range(199):
        world.join(f"user{i}")

    rounds = world.settle()

    assert len(rounds) == 2
    assert 200 * 10 / 2 <= sum(rounds) <= 1.3 * 200 * 10 / 2
    world.join("late")
    assert world.settle() == [0, 10]


def test_a_new_version_costs_its_opponents_and_one_more_for_each_who_lacks_one_now():
    world = World()
    world.join("base")
    for i in range(30):
        world.join(f"user{i}")
    world.settle()

    world.join(world.entries[15].login, version="2")
    lacking = sum(count < GAME.opponents for count in world.opponents().values())

    assert lacking
    assert sum(world.settle()) <= GAME.opponents + lacking
    assert min(world.opponents().values()) >= GAME.opponents


def test_who_lost_an_opponent_that_left_takes_one_other():
    world = World()
    world.join("base")
    for i in range(30):
        world.join(f"user{i}")
    world.settle()
    gone = world.entries.pop(12)
    lacking = sum(count < GAME.opponents for digest, count in world.opponents().items() if digest != gone.digest)

    assert sum(world.settle()) <= lacking
    assert min(world.opponents().values()) >= GAME.opponents


def test_recorded_opponents_stay_whatever_the_ratings_become():
    world = World()
    for i in range(20):
        world.join(f"user{i}")
    world.settle()
    chosen = wanted_pairings(world.task, world.entries, world.duels, season="1")
    others = [pair for pair in chosen if pair[0] != pair[1]]
    turned = [
        make.duel(a, b, "lw"[number % 2] * 2, on=world.task, at="2026-05-01T00:00:00Z")
        for number, (a, b) in enumerate(others)
    ]

    assert wanted_pairings(world.task, world.entries, [*world.duels, *turned], season="1") == chosen


def test_a_round_that_was_cut_short_wastes_nothing():
    world = World()
    for i in range(30):
        world.join(f"user{i}")
    world.play(world.wanted())
    total = 0
    while pairs := world.wanted():
        part = world.random.sample(pairs, k=-(-len(pairs) // 3))
        world.play(part)
        total += len(part)

    assert total <= 30 * GAME.opponents / 2 * 1.5


def test_a_duel_that_failed_on_our_side_stays_chosen():
    world = World()
    for i in range(12):
        world.join(f"user{i:02}")
    world.play(world.wanted())
    pairs = world.wanted()
    failed = [make.duel(a, b, "", on=GAME) for a, b in pairs[:3]]

    again = wanted_pairings(GAME, world.entries, [*world.duels, *failed], season="1", baselines=(BASELINE,))

    assert set(names(pairs[:3])) <= set(names(again))


def test_a_newcomer_meets_the_baseline_and_opponents_of_every_strength():
    world = World(make.game(opponents=8))
    world.join("base")
    for i in range(40):
        world.join(f"user{i:02}")
        world.strength[f"user{i:02}"] = 40.0 * i - 800
    world.settle()
    world.join("zoe")
    world.strength["zoe"] = 900.0
    world.play(world.wanted())

    others = [next(entry for entry in pair if entry.login != "zoe").login for pair in world.wanted()]
    assert "base" in others
    order = sorted(int(login[4:]) for login in others if login != "base")
    assert len(order) == 7
    assert order[0] < 10
    assert order[-1] > 30


def test_an_owner_with_many_folders_is_one_opponent():
    """A newcomer as strong as twelve folders of one owner played fifteen duels, six of them against that owner."""
    world = World(make.game(opponents=10))
    for login in ("base", *(f"user{number:02}" for number in range(25))):
        world.join(login)
    world.settle()
    world.entries += [make.entry("mallory", agent=f"copy{number:02}", version=f"copy{number}") for number in range(12)]
    world.strength["mallory"] = world.strength["rival"] = 0
    world.settle()
    world.join("rival")

    assert world.settle() == [0, 10]


@pytest.mark.attack(
    "weak_folders_offered_to_newcomers", family="people", outcome="they meet its strongest folder",
    tries="Keeps weak folders beside its best, so that newcomers of a large game meet those.",
)  # fmt: skip
def test_a_newcomer_meets_the_strongest_folder_of_an_owner():
    """It met the weakest of an owner's folders, and those give way to the owner's best, so the duel counted for nothing."""
    nobody = np.zeros((4, 4), dtype=bool)
    table = opponents.PlayerTable(
        met=nobody,
        barred=np.eye(4, dtype=bool),
        changes_ratings=np.array([True, True, False, True]),
        is_baseline=nobody[0],
        theta=np.array([np.nan, 0.0, -3.0, 3.0]),
        lots=[("a" * 40, str(i)) for i in range(4)],
    )

    assert set(opponents._spread(table, 0, np.full(4, 2)).tolist()) == {1, 3}


@pytest.mark.attack(
    "weak_folders_as_rivals_only_opponents", family="people", outcome="each meets as many that count",
    tries="Several owners keep weak folders beside their best, which draw a rival until it needs nobody that counts.",
)  # fmt: skip
@pytest.mark.parametrize("final", [None, "f" * 40])
def test_everybody_meets_enough_players_that_change_ratings(final: str | None) -> None:
    """Owners counted as met by any folder: some met only folders that count for nobody, and were rated as the anchor."""
    world = World(make.game(opponents=3))
    world.join("base")
    for number in range(12):
        login = f"user{number:02}"
        world.strength[login] = 0.0
        world.entries += [make.entry(login, agent=f"a{folder}", version=f"{folder}") for folder in range(3)]
    world.settle()
    duels = list(world.duels)
    while final:
        met = {tuple(side.submission_digest for side in duel.players) for duel in duels if duel.beacon == final}
        pairs = wanted_pairings(world.task, world.entries, duels, season="1", baselines=(BASELINE,), final_beacon=final)
        wanted = [(a, b) for a, b in pairs if (a.digest, b.digest) not in met]
        duels += [make.duel(a, b, "wl" if a != b else "dd", on=world.task, beacon=final) for a, b in wanted]
        if not wanted:
            break

    rules, draws = make.challenge(world.task).model_copy(update={"baselines": (BASELINE,)}), None
    if final:
        draws = FinalDraws(beacon=final, ended_at=None)
    board = build_standings(rules, world.entries, [], official=True, duels=duels, final=draws).games[0]
    best = {row.entry.login: row.entry.name for row in sorted(board.rows, key=lambda row: row.rating.elo)}
    if final:
        best = {row.entry.login: row.entry.name for row in board.rows if row.superseded_by is None}
    counting = Counter(name for name, other in board.crosstable if {name, other} <= set(best.values()))

    assert len(best) == 13
    assert min(counting[name] for name in best.values()) >= 3


@pytest.mark.attack(
    "player_made_to_beat_whom_it_will_meet", family="people", outcome="all but the baselines are drawn after the merge",
    tries="Computes whom a new player will meet, where there are too many, and enters one that beats just those.",
)  # fmt: skip
def test_nobody_knows_before_the_merge_whom_a_new_player_meets():
    world = settled_world(30)
    world.join("eve")
    eve = world.entries[-1]

    def opponents_of_eve(beacon):
        duels = [*world.duels, make.duel(eve, on=GAME, beacon=beacon)]
        pairs = wanted_pairings(GAME, world.entries, duels, season="1")
        return {a.login if b.login == "eve" else b.login for a, b in pairs if (a.login == "eve") != (b.login == "eve")}

    draws = [frozenset(opponents_of_eve(f"{i:040x}")) for i in range(20)]
    assert {len(drawn) for drawn in draws} == {6}
    assert len(set(draws)) == 20
    assert len(frozenset.union(*draws)) > 20
    assert opponents_of_eve(f"{7:040x}") == draws[7]


@pytest.mark.attack(
    "opponents_chosen_after_a_part_of_a_round", family="people", outcome="the rest is drawn, too",
    tries="Is rated by the few duels for which a round had time, and meets those near its rating instead of a lot's.",
)  # fmt: skip
def test_who_played_a_part_of_a_round_is_given_the_rest_by_lot():
    world = settled_world(30)
    world.join("eve")
    eve, drawn = world.entries[-1], set()
    for i in range(10):
        beacon = f"{i:040x}"
        played = [make.duel(eve, on=GAME, beacon=beacon), make.duel(eve, world.entries[0], "wlwl", on=GAME, beacon=beacon)]
        pairs = wanted_pairings(GAME, world.entries, [*world.duels, *played], season="1")
        drawn.add(frozenset(name for name in names(pairs) if "eve" in name))

    assert {len(each) for each in drawn} == {7}
    assert len(drawn) > 7


def test_the_order_of_input_never_matters():
    world = World()
    for i in range(20):
        world.join(f"user{i}")
    world.play(world.wanted())
    world.play(world.wanted()[::2])
    expected = wanted_pairings(GAME, world.entries, world.duels, season="1")

    for seed in range(3):
        shuffled = [random.Random(seed).sample(values, k=len(values)) for values in (world.entries, world.duels)]

        assert wanted_pairings(GAME, *shuffled, season="1") == expected


@pytest.mark.attack(
    "lots_that_are_kept_to_the_end", family="people", outcome="lots are drawn anew in the end",
    tries="Enters a player in many folders until one meets just those that it beats, and keeps these to the end.",
)  # fmt: skip
def test_whom_a_player_meets_in_the_end_is_drawn_anew():
    """Opponents that stay would make the luckiest lot of many a place in the final ranks, where nobody's tries count."""
    rules = make.challenge(GAME).model_copy(update={"final": "1"})
    world = settled_world(30)

    def met_after(end):
        """Who meets whom after the end of submissions, if that is this commit."""
        drawn, met = list(world.duels), Counter()
        while items := missing_work(
            rules, world.entries, [], MeasurementContext(runtime_digest="0" * 64, beacon=end), drawn
        ):
            for item in items:
                met[frozenset(entry.login for entry in item.entries)] += 1
                drawn.append(make.duel(*item.entries, "wl", on=GAME, beacon=end, key=item.wanted.key()))
        return met

    live = {frozenset((a.login, b.login)) for a, b in wanted_pairings(GAME, world.entries, world.duels, season="1")}
    ends = [met_after(f"{number:040x}") for number in range(2)]

    for met in ends:
        assert set(met.values()) == {1}
        opponents_of = Counter(login for pair in met if len(pair) == 2 for login in pair)
        assert len(opponents_of) == 30
        assert min(opponents_of.values()) >= GAME.opponents
        pairs = {pair for pair in met if len(pair) == 2}
        assert len(pairs & live) < len(pairs) / 2
    assert set(ends[0]) != set(ends[1])


@pytest.mark.attack(
    "joins_last_to_meet_the_middle", family="people", outcome="whom it meets is drawn by lot",
    tries="Is merged just before the end, and made to beat those near the rating that its first lots give it.",
)  # fmt: skip
@pytest.mark.parametrize("is_final", [False, True])
def test_whom_a_player_meets_does_not_follow_from_its_rating(is_final):
    """Of 51 players that meet 20, one that beats the middle half, 26th against all, would else come 13th.

    Of 50 equal players one in six was told apart from another before the end, where those who were lucky at first met.
    """
    rules = make.challenge(GAME).model_copy(update={"final": "1" if is_final else None})
    world = settled_world(30)
    world.join("late")
    beacon = f"{1:040x}" if is_final else "test"
    measurement, met = MeasurementContext(runtime_digest="0" * 64, beacon=beacon), []
    while items := [
        item
        for item in missing_work(rules, world.entries, [], measurement, world.duels)
        if is_final or "late" in {entry.login for entry in item.entries}
    ]:
        met.append(sum("late" in {entry.login for entry in item.entries} for item in items if not item.is_validation))
        world.duels += [make.duel(*item.entries, "wl", on=GAME, beacon=beacon, key=item.wanted.key()) for item in items]

    assert met == [0, GAME.opponents]
