"""Paired comparisons of a revealed season, and rounded scores before it."""

import math

import numpy as np
import pytest
from scipy import stats

from evaluator.model.config.metric import Direction, Metric
from evaluator.model.records.result import Result
from leaderboard.build_standings import build_standings
from leaderboard.scoring.bootstrap import Scoring
from leaderboard.scoring.significance import compare_paired, compare_same_episodes
from tests.leaderboard import make

BEACON = "sealed-" + "a" * 64
SEEDS = tuple(f"{i:032x}" for i in range(100))


def revealed(login: str, returns: list[float], **fields: object) -> Result:
    return make.result(make.entry(login), returns, beacon=BEACON, seeds=SEEDS[: len(returns)], **fields)


def closed(login: str, score: float | None, **fields: object) -> Result:
    plain = make.result(make.entry(login), [1.0] if score is not None else [], **fields).document()
    part = {"score": score, "nonce": "0" * 24, "ciphertext": "AAAA"}
    hidden = {"seeds": [], "returns": [], "lengths": [], "trace_sha256": "b" * 64 if score is not None else None}
    return Result.with_self_hash({**plain, "beacon": BEACON, **hidden, "sealed": part})


def test_it_is_the_paired_t_test() -> None:
    random = np.random.default_rng(1)
    luck = random.normal(0, 50, 40)
    values = np.array([luck + random.normal(mean, 3, 40) for mean in (0.0, 0.5, 1.0, 2.0, 4.0)])
    comparison = compare_paired(values, "mean")
    chances = np.array([[stats.ttest_rel(b, a).pvalue if b is not a else 1 for b in values] for a in values])
    apart = np.zeros((5, 5), dtype=bool)
    for row, ordered in enumerate(np.argsort(chances, axis=1)):
        significant = chances[row, ordered[:4]] < 0.05 / np.array([4, 3, 2, 1])
        apart[row, ordered[:4]] = np.logical_and.accumulate(significant)
    ahead = values.mean(axis=1) > values.mean(axis=1)[:, np.newaxis]

    assert comparison.better.tolist() == (apart & ahead).sum(axis=1).tolist()
    assert comparison.worse.tolist() == (apart & ahead.T).sum(axis=1).tolist()
    assert apart.sum() >= 6


def test_the_interquartile_mean_is_judged_by_yuens_test() -> None:
    random = np.random.default_rng(2)
    luck = random.standard_t(2, 60) * 20
    values = np.array([luck, luck + random.normal(1.5, 2, 60)])
    n, g = 60, 15
    h = n - 2 * g
    winsorized = np.array([np.sort(v)[g] * (v < np.sort(v)[g]) + np.sort(v)[n - g - 1] * (v > np.sort(v)[n - g - 1])
                           + v * ((v >= np.sort(v)[g]) & (v <= np.sort(v)[n - g - 1])) for v in values])  # fmt: skip
    cov = np.cov(winsorized)
    error = math.sqrt((n - 1) * (cov[0, 0] + cov[1, 1] - 2 * cov[0, 1]) / (h * (h - 1)))
    apart = stats.trim_mean(values[1], 0.25) - stats.trim_mean(values[0], 0.25)

    assert (compare_paired(values, "iqm").better[0] == 1) == (apart > stats.t.ppf(0.975, h - 1) * error)


@pytest.mark.parametrize(("scoring", "thrown_away"), [("mean", 1), ("mean", 5), ("iqm", 26), ("iqm", 33)])
def test_who_throws_episodes_away_is_not_tied_with_the_leader_here_either(scoring: Scoring, thrown_away: int) -> None:
    values = np.random.default_rng(1).normal(scale=30, size=(10, 100)) + np.linspace(280, -40, 10)[:, np.newaxis]
    values[-1, :thrown_away] = -1e9

    compared = compare_paired(values, scoring)

    assert (compared.better[-1], compared.worse[0]) == (9, 9)


@pytest.mark.parametrize(("scoring", "crashes", "thrown_away"), [("mean", 20, 1), ("mean", 20, 8), ("iqm", 40, 28)])
@pytest.mark.parametrize("loss", [2000, 1e9])
def test_who_throws_some_of_its_bad_episodes_away_is_not_tied_with_the_leader_here_either(
    scoring: Scoring, crashes: int, thrown_away: int, loss: float
) -> None:
    values = np.random.default_rng(5).normal([[280], [280], [200]], 20, (3, 100))
    values[1, :crashes] -= 380
    values[1, :thrown_away] = -loss

    assert compare_paired(values, scoring).better[1] > 0


@pytest.mark.attack(
    "thrown_away_where_all_are_lucky", family="cheating", outcome="behind those that it is behind without them",
    tries="Throws the episodes of a sealed season away in which all do well, so that others of all look as bad.",
)  # fmt: skip
@pytest.mark.parametrize(("episodes", "entries", "lead"), [(20, 2, 6), (40, 5, 4), (100, 10, 3)])
@pytest.mark.parametrize("thrown_away", [1, 2, 3])
def test_luck_that_all_share_does_not_hide_what_is_thrown_away(
    episodes: int, entries: int, lead: float, thrown_away: int
) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        luck = np.sort(random.normal(0, 50, episodes))
        values = luck + random.normal(0, 3, (entries, episodes))
        values[-1] -= lead
        values[-1, -thrown_away:] = -1e5

        assert compare_paired(values, "mean").better[-1] > 0


@pytest.mark.parametrize(("scoring", "episodes", "thrown_away"), [("mean", 10, 6), ("iqm", 20, 12), ("iqm", 40, 22)])
def test_who_throws_more_than_half_of_few_episodes_away_is_not_tied_with_the_leader_here_either(
    scoring: Scoring, episodes: int, thrown_away: int
) -> None:
    values = np.random.default_rng(1).normal(scale=30, size=(40, episodes)) + np.linspace(280, -40, 40)[:, np.newaxis]
    values[-1, :thrown_away] = -1e9

    assert compare_paired(values, scoring).better[-1] > 15


def test_many_tries_of_the_leader_do_not_tie_it_with_who_throws_episodes_away_here_either() -> None:
    values = np.random.default_rng(1).normal([[280], [-40]], 30, size=(2, 64))
    values[-1, :33] = -1e9

    assert compare_paired(values, "iqm", tries=[16, 1]).better[-1] == 1


def test_luck_that_all_share_does_not_hide_a_difference() -> None:
    luck = np.random.default_rng(3).normal(0, 100, 50).tolist()
    better = [x + 1 + 0.1 * (i % 3) for i, x in enumerate(luck)]
    results = [revealed("alice", luck), revealed("bob", better)]
    entries = [make.entry("alice"), make.entry("bob")]
    (together,) = build_standings(make.challenge(), entries, results, official=True).tasks
    apart = [result.model_copy(update={"beacon": "test"}) for result in results]
    (alone,) = build_standings(make.challenge(), entries, apart, official=True).tasks

    assert [(row.entry.login, row.rank_low, row.rank_high) for row in together.rows] == [("bob", 1, 1), ("alice", 2, 2)]
    assert [(row.rank_low, row.rank_high) for row in alone.rows] == [(1, 2), (1, 2)]


def test_where_less_is_better_the_sign_turns() -> None:
    cost = Metric(name="Cost", kind="mean_return", direction=Direction.LOWER)
    task = make.task(anchors=None, metrics=(cost,))
    luck = np.random.default_rng(4).normal(0, 100, 50).tolist()
    results = [
        revealed("alice", luck, on=task),
        revealed("bob", [x + 1 + 0.1 * (i % 3) for i, x in enumerate(luck)], on=task),
    ]

    comparison = compare_same_episodes([(result,) for result in results], [1, 1], task)

    assert comparison is not None
    assert (comparison.better.tolist(), comparison.worse.tolist()) == ([0, 1], [1, 0])


def test_few_equal_differences_of_bounded_values_are_no_certainty() -> None:
    values = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])

    assert compare_paired(values, "mean", value_range=1.0).better.tolist() == [0, 0, 0]
    assert compare_paired(values, "mean").better.tolist() == [0, 0, 0]
    assert compare_paired(np.repeat(values, 4, axis=1), "mean").better.tolist() == [1, 0, 1]
    assert compare_paired(np.repeat(values, 30, axis=1), "mean", value_range=1.0).better.tolist() == [1, 0, 1]


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e9])
@pytest.mark.parametrize(("episodes", "is_certain"), [(9, 0), (10, 1), (40, 1)])
@pytest.mark.parametrize("scoring", ["mean", "iqm"])
def test_equal_differences_are_equal_however_much_the_values_spread(
    scale: float, episodes: int, is_certain: int, scoring: Scoring
) -> None:
    luck = np.random.default_rng(7).normal(0, 1, episodes).round(6) * scale
    values = np.array([luck, luck + 0.3, luck + 0.5])

    assert compare_paired(values, scoring).better.tolist() == [2 * is_certain, is_certain, 0]


@pytest.mark.parametrize("episodes", [8, 40])
def test_a_spread_that_all_share_leaves_the_paired_t_test_as_it_is(episodes: int) -> None:
    """For hundreds of pairs at the border of significance, beside an entry whose values are enormous."""
    random = np.random.default_rng(8)
    luck, wild = random.normal(0, 1e9, episodes), np.tile([1e15, -1e15], episodes // 2)
    for _ in range(300):
        values = np.array([luck, luck + random.normal(0.7, 1, episodes)])
        chance = stats.ttest_rel(values[1], values[0]).pvalue * 2
        behind = int(values[1].mean() < values[0].mean())

        assert compare_paired(np.array([*values, wild]), "mean").better[behind] == int(chance < 0.05)


@pytest.mark.parametrize("other", [{"seeds": SEEDS[1:4]}, {"beacon": "test"}])
def test_other_episodes_are_not_paired(other: dict[str, object]) -> None:
    task = make.task()
    results = [revealed("alice", [1.0, 2.0, 3.0]), revealed("bob", [2.0, 3.0, 4.0])]

    def is_paired(*results: Result) -> bool:
        return compare_same_episodes([(result,) for result in results], [1] * len(results), task) is not None

    assert is_paired(*results)
    assert not is_paired(results[0], results[1].model_copy(update=other))
    assert not is_paired(closed("alice", 1.0), closed("bob", 2.0))
    assert not is_paired(revealed("alice", [1.0]), revealed("bob", [2.0]))


def test_many_entries_in_any_order_are_judged_alike() -> None:
    random = np.random.default_rng(5)
    values = random.normal(0, 1, 30) * 9 + random.normal(np.arange(50)[:, None] / 9, 1, (50, 30))
    shuffled = random.permutation(50)
    comparison, mixed = compare_paired(values, "mean"), compare_paired(values[shuffled], "mean")

    assert comparison.better[shuffled].tolist() == mixed.better.tolist()
    assert comparison.worse[shuffled].tolist() == mixed.worse.tolist()


def test_sealed_scores_rank_and_tell_nobody_apart() -> None:
    entries = [make.entry(login) for login in ("alice", "bob", "carol", "dora")]
    results = [closed("alice", 0.3), closed("bob", 0.7), closed("carol", 0.7), closed("dora", None)]
    table = build_standings(make.challenge(), entries, results, official=True)
    (board,) = table.tasks

    assert [(row.entry.login, row.place, row.rank_low, row.rank_high) for row in board.rows] == [
        ("bob", 1, 1, 3), ("carol", 1, 1, 3), ("alice", 3, 1, 3),
    ]  # fmt: skip
    assert all(math.isnan(row.estimate.low) for row in board.rows)
    assert [failure.entry.login for failure in board.failures] == ["dora"]
    assert [row.entry.login for row in table.overall] == ["bob", "carol", "alice"]
    assert all(math.isnan(row.estimate.low) and row.rank_high == 3 for row in table.overall)


def test_a_sealed_result_shows_no_further_metric() -> None:
    shown = tuple(
        Metric(name=n, kind=k, direction=Direction.HIGHER) for n, k in (("R", "mean_return"), ("L", "mean_length"))
    )
    task = make.task(metrics=shown)
    (board,) = build_standings(
        make.challenge(task), [make.entry("alice")], [closed("alice", 3.0, on=task)], official=True
    ).tasks

    assert board.rows[0].estimate.score == 3.0
    assert math.isnan(board.rows[0].others[0])
