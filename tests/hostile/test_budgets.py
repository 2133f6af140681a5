"""A perfect player of a game of starts, who can gain nothing but by the choice of what counts: every way that we know of.

An episode is worth what its start is worth, whatever is done in it, and the start is seen: a mean can differ from an honest
one's only by which episodes count. A gain is what all runs earn together above the exact expectation, in standard errors of
one honest score.
"""

import contextlib
import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import gymnasium
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.spaces import describe
from evaluator.host.seeds.derived_seeds import episode_seeds
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.training_scripts.script_env_server import RemoteEnvServer, ScriptTask
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.metric import Direction, Metric
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import MAX_OPEN_ENVIRONMENTS, ScriptRules
from evaluator.model.records.script_record import ScriptRecord
from evaluator.model.records.verdict import Verdict
from evaluator.sandbox.remote_env import BudgetOver, RefereeLink, RemoteEnv
from evaluator.sandbox.remote_vector_env import RemoteVectorEnv
from leaderboard.scoring.intervals import pooled_values
from leaderboard.scoring.metrics import area_under_curve, is_missing, learning_curve, steps_to_threshold
from tests.evaluator import script_runs
from tests.evaluator.host.training_scripts.test_script_env_server import Wire
from tests.leaderboard import make

SECRET = SeasonSecret(bytes(range(32)))
LIMIT, STARTS = 20, 20


class Starts(gymnasium.Env[Any, Any]):
    """The start is drawn and seen; the last step pays it, after as many steps as it is worth."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = spaces.Discrete(STARTS), spaces.Discrete(2)
        self._start = self._steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._start, self._steps = int(self.np_random.integers(STARTS)), 0
        return self._start, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        ends = self._steps > self._start
        return self._start, float(self._start) * ends, ends, False, {}


gymnasium.register("Starts-v0", Starts)
TASK = Task.model_validate(
    {"id": "starts", "env": "Starts-v0", "max_episode_steps": LIMIT, "reusable": True, "script": {"worst": 0}}
)
RULES = ScriptRules(steps=300, last=10, worst=0)
TRAINING = RULES.training_steps(LIMIT)
RUNS = 200
EXPECTED = (STARTS - 1) / 2
ERROR = math.sqrt((STARTS**2 - 1) / 12 / RULES.last)

Player = Callable[[RefereeLink], None]


def finish(env: RemoteEnv, most: int = LIMIT) -> int:
    """Play an episode on to its end, or for so many steps; returns its steps."""
    for step in range(1, most + 1):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            return step
    return most


def begun(env: RemoteEnv, most: int = LIMIT) -> int:
    """Begin an episode and play it."""
    env.reset()
    return finish(env, most)


def train(env: RemoteEnv) -> None:
    taken = 0
    while taken < TRAINING:
        taken += begun(env, TRAINING - taken)


def honest(link: RefereeLink) -> None:
    env = RemoteEnv(link)
    train(env)
    while True:
        begun(env)


def looks_while_training(link: RefereeLink) -> None:
    """A hundred starts are looked at, and the training goes on from the best of them; it stops when a start was good."""
    env = RemoteEnv(link)
    for _ in range(100):
        state = env.reset()[0]
        if state > EXPECTED + 5:
            break
    train(env)
    while True:
        begun(env)


def looks_when_it_counts(link: RefereeLink) -> None:
    """Of the episodes that count the bad starts are left, as long as there are others."""
    env = RemoteEnv(link)
    train(env)
    for _ in range(50):
        state = env.reset()[0]
        if state > EXPECTED:
            finish(env)


def holds_back(link: RefereeLink) -> None:
    """All that count are begun at once; the good starts are finished, the bad ones never are."""
    envs = [RemoteEnv(link) for _ in range(20)]
    train(envs[0])
    starts = []
    for env in envs:
        try:
            starts.append((env, env.reset()[0]))
        except BudgetOver:
            break
    for env, _ in sorted(starts, key=lambda one: -one[1])[:7]:
        finish(env)


def begins_early(link: RefereeLink) -> None:
    """Twenty episodes are begun a step before those that count, and the good ones are hoped to count instead."""
    envs = [RemoteEnv(link) for _ in range(20)]
    taken = 0
    while taken < TRAINING - 1:
        taken += begun(envs[0], TRAINING - 1 - taken)
    starts = sorted(((env, env.reset()[0]) for env in envs), key=lambda one: -one[1])
    for env, _ in starts[:10]:
        finish(env)
    while True:
        begun(envs[0])


def stops_when_lucky(link: RefereeLink) -> None:
    """It ends as soon as what counts is above the mean, and goes on otherwise."""
    env = RemoteEnv(link)
    train(env)
    seen: list[float] = []
    while True:
        state = env.reset()[0]
        seen.append(state)
        finish(env)
        if len(seen) >= 3 and statistics.mean(seen) > EXPECTED + 1:
            return


def stops_at_a_lucky_window(link: RefereeLink) -> None:
    """It plays from the first step on and ends where the last episodes were good ones: once those were its score."""
    env, seen = RemoteEnv(link), []
    while True:
        seen.append(env.reset()[0])
        finish(env)
        if len(seen) >= RULES.last and statistics.mean(seen[-RULES.last :]) > EXPECTED + ERROR:
            return


def goes_on_while_unlucky(link: RefereeLink) -> None:
    """More episodes than count are played, in the hope that the last or the best of them do."""
    env = RemoteEnv(link)
    train(env)
    for _ in range(RULES.last):
        begun(env)
    while True:
        state = env.reset()[0]
        if state > EXPECTED:
            finish(env)


def plays_a_vector(link: RefereeLink) -> None:
    """As many environments as may be open, all reset when it counts, and those with good starts stepped by themselves."""
    train(RemoteEnv(link))
    envs = RemoteVectorEnv(link, 60, AutoresetMode.DISABLED)
    states, _ = envs.reset()
    while True:
        states, *_ = envs.step([0 for _ in states])


def counts_looks(link: RefereeLink) -> None:
    """Looks move the number of the first episode that counts; it is stopped where the last look was good."""
    env = RemoteEnv(link)
    train(env)
    other = RemoteEnv(link)
    while other.reset()[0] < EXPECTED + 3:
        pass
    while True:
        begun(env)


def records(player: Player, rules: ScriptRules = RULES, runs: int = RUNS) -> Iterator[ScriptRecord]:
    """Each run, by the referee's own desk and rules."""
    world = load_gym_task(TASK)
    for run in range(runs):
        seeds = episode_seeds(
            "test", "preview", f"{run:064x}", TASK.id, 700 if rules == RULES else 2 * MAX_OPEN_ENVIRONMENTS
        )
        desk = RemoteEnvServer(ScriptTask(gym_task=world, rules=rules, seed_of=lambda index, _, seeds=seeds: seeds[index]))
        hello = {
            "task_id": TASK.id, "env_id": TASK.env_id, "kwargs": {}, "max_episode_steps": LIMIT,
            "observation_space": describe(world.observation_space), "action_space": describe(world.action_space),
        }  # fmt: skip
        with contextlib.suppress(BudgetOver):
            player(RefereeLink(Wire(desk), hello))
        episodes = desk.finish()
        record = ScriptRecord(
            returns=tuple(one.total for one in episodes), lengths=tuple(one.length for one in episodes),
            unfinished=tuple(one.index for one in episodes if not one.finished), counts_from=desk.counts_from,
            ended_at=tuple(one.ended_at for one in episodes),
        )  # fmt: skip
        assert record.steps <= rules.steps
        yield record


def scores(player: Player) -> Iterator[float]:
    """The mean of what counts in each run."""
    return (statistics.mean(record.counted(RULES).returns) for record in records(player))


def test_an_honest_perfect_player_earns_what_is_expected() -> None:
    """Else a gain of nothing would mean nothing: the simulation itself is without a lean."""
    assert statistics.mean(scores(honest)) == pytest.approx(EXPECTED, abs=0.2 * ERROR)


@pytest.mark.parametrize(
    "player",
    [
        looks_while_training, looks_when_it_counts, holds_back, begins_early, stops_when_lucky,
        stops_at_a_lucky_window, goes_on_while_unlucky,
        plays_a_vector, counts_looks,
    ],
)  # fmt: skip
def test_a_perfect_player_gains_nothing_by_choosing(player: Player) -> None:
    assert statistics.mean(scores(player)) - EXPECTED <= 0.2 * ERROR


def finishes_the_good_ones(link: RefereeLink) -> None:
    """Every episode with a bad start is left, and so are all others once one was very good."""
    env, best = RemoteEnv(link), 0
    while True:
        state = env.reset()[0]
        if state > EXPECTED and best < STARTS - 3:
            best = max(best, state)
            finish(env)
        elif state:
            env.step(0)


def keeps_the_bad_ones_open(link: RefereeLink) -> None:
    """Episodes with bad starts are left open while others are played, and end with the run, when they count nothing."""
    env, held = RemoteEnv(link), []
    while True:
        if env.reset()[0] > EXPECTED:
            finish(env)
        elif len(held) < 200:
            held.append(env)
            env = RemoteEnv(link)


def ends_the_bad_ones_last(link: RefereeLink) -> None:
    """Those that were kept open are ended together, when the training is over."""
    env, held, taken = RemoteEnv(link), [], 0
    while taken < TRAINING:
        if env.reset()[0] > EXPECTED:
            taken += finish(env, TRAINING - taken)
        else:
            held.append(env)
            env = RemoteEnv(link)
    for other in held:
        finish(other, 1)
        other.close()
    while True:
        begun(env)


def heights(player: Player) -> Iterator[float]:
    """The area under each run's learning curve."""
    task = TASK.model_copy(update={"script": RULES})
    for record in records(player):
        curve = learning_curve(make.result(make.entry("alice"), [1.0], on=task, script=record), RULES)
        yield area_under_curve(curve) if curve else RULES.worst


@pytest.mark.attack(
    "bad_episodes_that_are_left", family="cheating", outcome="each is a point with the worst return",
    tries="Leaves every training episode that goes badly, for a better learning curve.",
)  # fmt: skip
def test_who_leaves_bad_episodes_has_no_better_learning_curve() -> None:
    assert statistics.mean(heights(finishes_the_good_ones)) < statistics.mean(heights(honest))


@pytest.mark.attack(
    "bad_episodes_that_are_kept_open", family="cheating", outcome="what is begun later waits for them",
    tries="Keeps training episodes that go badly open until the end, where they cost its learning curve nothing.",
)  # fmt: skip
@pytest.mark.parametrize("player", [keeps_the_bad_ones_open, ends_the_bad_ones_last])
def test_who_keeps_bad_episodes_open_has_no_better_learning_curve(player: Player) -> None:
    assert statistics.mean(heights(player)) < statistics.mean(heights(honest))


def trains_till_lucky(env: RemoteEnv) -> bool:
    """Train until the curve is three above what is expected, or to the end; whether it was."""
    seen: list[int] = []
    taken = 0
    while taken < TRAINING:
        seen.append(env.reset()[0])
        taken += finish(env, TRAINING - taken)
        if statistics.mean(seen[-RULES.window :]) > EXPECTED + 3:
            return True
    return False


def ends_when_its_curve_is_high(link: RefereeLink) -> None:
    """The run ends at once, and the last height would hold for the steps that are left."""
    if not trains_till_lucky(RemoteEnv(link)):
        honest(link)


def freezes_its_curve(link: RefereeLink) -> None:
    """An episode is begun and never played, so that no later one changes the curve."""
    env = RemoteEnv(link)
    trains_till_lucky(env)
    held = RemoteEnv(link)
    held.reset()
    honest(link)


def plays_others_meanwhile(link: RefereeLink) -> None:
    """Many episodes are played but for their last steps, and then end one after the other, each at a step of its own."""
    env = RemoteEnv(link)
    trains_till_lucky(env)
    held = []
    with contextlib.suppress(BudgetOver):
        while True:
            held.append(RemoteEnv(link))
            if start := held[-1].reset()[0]:
                finish(held[-1], start)
    with contextlib.suppress(BudgetOver, gymnasium.error.ResetNeeded):
        for env in held:
            finish(env)


@pytest.mark.attack(
    "lucky_height_of_a_learning_curve", family="cheating", outcome="it holds for the next episode's steps alone",
    tries="Plays many episodes but for their last steps when its learning curve is high by luck, and ends them one by one.",
)  # fmt: skip
def test_who_plays_others_while_its_learning_curve_is_high_has_no_greater_area() -> None:
    assert statistics.mean(heights(plays_others_meanwhile)) <= statistics.mean(heights(honest)) + 0.2 * ERROR


@pytest.mark.attack(
    "learning_curves_that_stand_still", family="cheating", outcome="the steps after it count less",
    tries="Ends its run, or holds an episode open, when its learning curve is high by luck, which the area then keeps.",
)  # fmt: skip
@pytest.mark.parametrize("player", [ends_when_its_curve_is_high, freezes_its_curve])
def test_who_stops_its_learning_curve_when_it_is_high_has_no_greater_area(player: Player) -> None:
    assert statistics.mean(heights(player)) <= statistics.mean(heights(honest)) + 0.2 * ERROR


def steps_until(threshold: float, player: Player, rules: ScriptRules) -> list[float]:
    """In each run the steps until its learning curve reached the threshold, or those of the budget."""
    task = TASK.model_copy(update={"script": rules})
    results = [make.result(make.entry("alice"), [1.0], on=task, script=one) for one in records(player, rules, runs=20)]
    curves = [learning_curve(result, rules) for result in results]
    return [(curve and steps_to_threshold(curve, threshold)) or rules.steps for curve in curves]


@pytest.mark.attack(
    "starts_that_are_skipped", family="cheating", outcome="each costs as many steps as the longest episode",
    tries="Begins a thousand episodes, and plays those in a row whose starts let its curve reach the threshold at once.",
)  # fmt: skip
def test_who_skips_bad_starts_does_not_reach_the_threshold_sooner() -> None:
    rules, threshold = ScriptRules(steps=1800, last=10, worst=0), EXPECTED + 2

    def trains(link: RefereeLink) -> None:
        env, taken = RemoteEnv(link), 0
        while taken < rules.training_steps(LIMIT):
            taken += begun(env)

    def skips(link: RefereeLink) -> None:
        envs = [RemoteEnv(link) for _ in range(MAX_OPEN_ENVIRONMENTS)]
        starts = [env.reset()[0] for env in envs]
        rows = (row for row in range(len(envs)) if statistics.mean(starts[row : row + rules.window]) >= threshold)
        lucky = next(rows)
        for env in envs[:lucky]:
            env.close()
        for env in envs[lucky : lucky + rules.window]:
            finish(env)

    honestly = steps_until(threshold, trains, rules)
    assert min(honestly) < rules.steps
    assert statistics.mean(steps_until(threshold, skips, rules)) >= statistics.mean(honestly)


OWN = "tests.evaluator.own_metrics:first"


def never_begins(link: RefereeLink) -> None:
    """It trains, and leaves it at that."""
    train(RemoteEnv(link))


def leaves_at_once(link: RefereeLink) -> None:
    """Each episode that counts is left at its start."""
    env = RemoteEnv(link)
    train(env)
    while True:
        env.reset()


def leaves_the_long_ones(link: RefereeLink) -> None:
    """Episodes that would be longer than the mean are left after a step."""
    env = RemoteEnv(link)
    train(env)
    while True:
        finish(env, LIMIT if env.reset()[0] < EXPECTED else 1)


def measured(player: Player, kind: str, direction: Direction, metrics: dict[str, float]) -> Iterator[float]:
    """What each run counts by a metric; `metrics`: what the evaluation recorded."""
    metric = Metric(name="Own", kind=kind, direction=direction)
    task = TASK.model_copy(update={"script": RULES, "metrics": (metric,)})
    for record in records(player):
        counted = record.counted(RULES)
        result = make.result(
            make.entry("alice"), counted.returns, on=task, script=record, lengths=counted.lengths, metrics=metrics
        )
        (value,) = pooled_values([[result]], task, metric)
        yield value


@pytest.mark.attack(
    "script_that_is_shortest_by_leaving", family="cheating", outcome="an episode left or missing has the worst length",
    tries="Leaves the episodes that count, or begins none of them, on a task where shorter ones are better.",
)  # fmt: skip
@pytest.mark.parametrize("player", [never_begins, leaves_at_once, leaves_the_long_ones])
@pytest.mark.parametrize("direction", Direction)
def test_a_script_is_not_shorter_or_longer_by_leaving(player: Player, direction: Direction) -> None:
    sign = 1 if direction is Direction.HIGHER else -1
    honestly = statistics.mean(measured(honest, "mean_length", direction, {}))

    assert honestly == pytest.approx(EXPECTED + 1, abs=4 * ERROR / math.sqrt(RUNS))
    assert sign * statistics.mean(measured(player, "mean_length", direction, {})) < sign * honestly


@pytest.mark.attack(
    "own_metric_of_lucky_episodes", family="cheating", outcome="no value, and the last place",
    tries="Ends as soon as a host's own metric of the episodes that count is a good one.",
)  # fmt: skip
def test_who_does_not_play_all_that_count_has_no_value_by_a_hosts_own_metric() -> None:
    values = list(measured(stops_when_lucky, OWN, Direction.HIGHER, {OWN: 19.0}))

    assert 0 < sum(map(is_missing, values)) < RUNS
    assert list(measured(honest, OWN, Direction.HIGHER, {OWN: 19.0})) == [19.0] * RUNS


@pytest.mark.attack(
    "own_metric_without_an_episode", family="cheating", outcome="ok, without a value, once and for all",
    tries="Ends before any episode counts when it learnt badly, so that a host's own metric fails on nothing at all.",
)  # fmt: skip
def test_a_hosts_own_metric_is_not_asked_about_no_episode() -> None:
    """It failed, which was no fault of the script's: it was run again, three times in all."""
    task = Task.model_validate(
        {**script_runs.LAKE.model_dump(), "metrics": [{"name": "Own", "kind": OWN, "direction": "higher"}]}
    )
    done = script_runs.script('env = gym.make("lake")\nenv.reset()\nprint(json.dumps({"score": 0.5}))', task)

    assert (done.result.verdict, done.result.message) == (Verdict.OK, "")
    assert OWN not in done.result.metrics
    assert script_runs.verified(done, task).faults == ()


@pytest.mark.attack(
    "secret_episodes_that_count", family="cheating", outcome="the same episodes count for all, in the same order",
    tries="Leaves episodes at their starts in a sealed season, until the luckiest of those that all scripts share count.",
)  # fmt: skip
def test_no_script_chooses_which_secret_episodes_count() -> None:
    """Leaving one takes no step: with one numbering for all, one version could find the best, and the next begin there."""
    source = """
        env = gym.make(sys.argv[1])
        for _ in range({}): env.reset()
        play(train(env), 10)
        print(json.dumps({{"score": 1}}))
    """
    sealed = {"beacon": SECRET.beacon, "secret": SECRET}
    runs = [script_runs.script(source.format(left), script_runs.LAKE, **sealed) for left in (0, 7, 90)]
    records = [run.result.script for run in runs]

    assert {run.result.seeds for run in runs} == {SECRET.episode_seeds("test", "lake", 10)}
    assert len({(run.result.returns, run.result.lengths) for run in runs}) == 1
    assert len({record.counts_from for record in records if record}) == 3
    # Its training episodes tell a version nothing of another's.
    assert len({record.lengths[90:120] for record in records if record}) == 3
    for run in runs:
        assert script_runs.verified(run, script_runs.LAKE, secret=SECRET).status is VerificationStatus.VERIFIED
