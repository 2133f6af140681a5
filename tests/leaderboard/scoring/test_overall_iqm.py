"""The interquartile mean over all episodes of all tasks, against scipy's trimmed mean and another bootstrap."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from leaderboard.scoring import overall_iqm as module
from leaderboard.scoring.overall_iqm import Stratum, stratified_iqm


def strata(columns) -> list[Stratum]:
    return [Stratum(f"task-{i}", list(column)) for i, column in enumerate(columns)]


def runs(seed: int, episodes: int, tasks: int) -> np.ndarray:
    """Shape (tasks, episodes): normal and exponential returns of different sizes."""
    random = np.random.default_rng(seed)
    return np.array(
        [
            random.normal(random.uniform(0, 1.2), random.uniform(0.05, 0.6), episodes)
            if i % 2
            else random.exponential(0.5, episodes)
            for i in range(tasks)
        ]
    )


def rliable_interval(values: np.ndarray) -> np.ndarray:
    """The 95 % interval of rliable's `aggregate_iqm` under its stratified bootstrap, with 20,000 resamples."""
    random = np.random.default_rng(0)
    tasks, episodes = values.shape
    drawn = []
    for _ in range(20):
        chosen = random.integers(0, episodes, size=(1000, tasks, episodes))
        resamples = np.take_along_axis(values[None], chosen, axis=2).reshape(1000, -1)
        drawn.append(stats.trim_mean(resamples, 0.25, axis=1))
    return np.quantile(np.concatenate(drawn), [0.025, 0.975])


@pytest.mark.parametrize(("episodes", "tasks"), [(100, 8), (10, 8), (7, 3), (25, 1)])
def test_it_is_rliables_within_the_noise_of_resampling(episodes, tasks):
    values = runs(episodes, episodes, tasks)
    found = stratified_iqm([strata(values)])
    interval = rliable_interval(values)

    assert found.score[0] == pytest.approx(stats.trim_mean(values, 0.25, axis=None), rel=1e-12)
    # Both ends have a noise of 0.08 standard errors, a quarter of the width is about one.
    assert [found.low[0], found.high[0]] == pytest.approx(interval, abs=0.3 * (interval[1] - interval[0]) / 3.92)


def by_definition(columns: list[list[float]], tables) -> np.ndarray:
    """Every resample without windows: sort, cut a quarter of all mass from each end, average."""
    values, total = np.concatenate([sorted(column) for column in columns]), int(np.dot(tables.sizes, tables.masses))
    cut, order = int(0.25 * total), np.argsort(values, kind="stable")
    kept = np.diff(np.clip(np.cumsum(tables.counts[order], axis=0), cut, total - cut), prepend=cut, axis=0)
    return values[order] @ kept / (total - 2 * cut)


def resampled(columns: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """The resamples, and the same by definition."""
    tables = module._tables(tuple((f"task-{i}", len(column)) for i, column in enumerate(columns)))
    values = np.concatenate([sorted(column) for column in columns])
    return module._Pooled(values[None], tables).resampled()[0], by_definition(columns, tables)


@pytest.mark.parametrize("sizes", [[100] * 8, [3], [100, 50, 7], [100, 99, 97, 89], [2, 2, 2], [40, 1, 40]])
def test_every_resample_is_its_trim_count(sizes):
    random = np.random.default_rng(2)
    shown, expected = resampled([random.normal(i / 3, 1 + i, size).tolist() for i, size in enumerate(sizes)])

    assert shown == pytest.approx(expected, abs=1e-8)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.integers(-20, 20).map(lambda tenths: tenths / 10), min_size=1, max_size=6), min_size=1, max_size=5)
)
@example([[-1.5, -2.2, -1.2, -0.8, -0.1], [1.4, 1.1, 1.2], [-1.0, 0.0, -1.0]])
def test_every_resample_of_a_few_episodes_is_its_trim_count(columns):
    """In the example one task lies above the upper cut as a whole, and the others below it."""
    shown, expected = resampled(columns)

    assert shown == pytest.approx(expected, abs=1e-9)


def test_a_resample_far_from_the_others_widens_its_window(monkeypatch):
    values = runs(1, 50, 4)
    expected = stratified_iqm([strata(values)])
    monkeypatch.setattr(module, "NEAR", 0.5)

    assert stratified_iqm([strata(values)]) == expected


def test_each_task_has_the_same_share_whatever_its_number_of_episodes():
    found = stratified_iqm([strata([[0.0] * 10, [1.0] * 70, [5.0]])])

    # A third of the mass each; a quarter is cut from each end, so 1/12, 4/12 and 1/12 of it are left.
    assert found.score[0] == pytest.approx((4 * 1 + 1 * 5) / 6, rel=0.02)


def test_episodes_in_another_order_and_other_entries_change_nothing():
    values = runs(3, 30, 3)
    alone = stratified_iqm([strata(values)])
    together = stratified_iqm([strata(runs(4, 30, 3)), strata(values[:, ::-1]), strata(runs(5, 10, 3))])

    assert [column[1] for column in together] == [column[0] for column in alone]


def test_equal_values_are_exactly_themselves():
    found = stratified_iqm([strata([[0.1] * 7, [0.1] * 9])])

    assert [column[0] for column in found] == [0.1, 0.1, 0.1]
