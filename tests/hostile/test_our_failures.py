"""Ways to have one's own evaluation count as a failure of ours: it is played anew then, and no quota knows of it."""

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from pettingzoo.classic.tictactoe import tictactoe

from evaluator import wire
from evaluator.host.envs import episode_recorder
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.spaces import ActionDecoder, describe
from evaluator.host.errors import AgentFault, RegistryFault
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxSpec
from evaluator.host.seeds.encryption import encrypt_result
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo import evaluate_agent as solo
from evaluator.host.solo.evaluate_agent import Evaluation, evaluate_agent
from evaluator.host.solo.verify_result import replay_episode, verify_result
from evaluator.host.training_scripts import script_env_server
from evaluator.host.training_scripts.script_env_server import RemoteEnvServer, ScriptTask
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.task import ParallelEpisodes, Task
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.records import trace
from evaluator.model.records.result import Result
from evaluator.model.records.script_record import MAX_NOTICES, MAX_SCRIPT_EPISODES, ScriptRecord
from evaluator.model.records.stored_record import ASKED_AGAIN, LOG_TAIL_CHARACTERS, SandboxKind
from evaluator.model.records.verdict import Verdict
from evaluator.sandbox.remote_env import RefereeLink, RemoteEnv, handles_body
from evaluator.sandbox.remote_vector_env import RemoteVectorEnv
from leaderboard.build_standings import build_standings
from leaderboard.charts.history_charts import best_score_chart
from leaderboard.charts.interval_charts import score_plot
from leaderboard.history import LeaderboardHistory
from leaderboard.planning.missing_work import MeasurementContext, WorkItem, missing_work
from scripts.github.official.shard_artifacts import MAX_RESULT_BYTES
from scripts.runs.parallel_jobs import FreeResources, ParallelJob, run_jobs
from tests.evaluations import FIRST_LEGAL, duelled, evaluated, folder, order, played, process
from tests.evaluator.host.training_scripts.test_script_env_server import Wire
from tests.evaluator.script_runs import script
from tests.hostile.arena import order_of, write_agent
from tests.leaderboard import make


class Open(gymnasium.Env[Any, Any]):
    """Pays what it is given, which may be anything, and keeps the action for the next step."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self._last: Any = np.zeros(1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._last = np.zeros(1)
        return np.zeros(1), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before, self._last = float(self._last[0]), action
        return np.array([before]), float(action[0]) - before, False, False, {}


gymnasium.register("Open-v0", Open)
OPEN = Task.model_validate({"id": "open", "env": "Open-v0", "episodes": 2, "max_episode_steps": 3})
GREEDY = """
import numpy
class Agent:
    def act(self, observation):
        return numpy.array([{action}])
"""


def checked(task: Task, evaluation: Evaluation) -> None:
    """The record is one that publish would take."""
    finding = verify_result("it", evaluation.result.serialised(), evaluation.trace, load_gym_task(task))
    assert (evaluation.result.verdict, finding.status, finding.faults) == (Verdict.OK, VerificationStatus.VERIFIED, ())


@pytest.mark.parametrize("action", [5.0, 1e30, -2.0, -1e30, 0.44])
def test_an_action_that_is_clipped_to_a_bound_off_the_grid_is_no_failure_of_ours(action: float) -> None:
    """Whoever did not like its episodes could send one, and be played three times."""
    task = Task.model_validate({"id": "Pendulum-v1", "episodes": 2, "max_episode_steps": 5, "grid": 0.9})

    checked(task, evaluated(GREEDY.format(action=action).replace("])", "], 'f4')"), task))


def test_an_action_between_grid_and_bounds_was_played_by_nobody() -> None:
    decoder = ActionDecoder(spaces.Box(-2, 2, (1,), np.float32), clip=True, grid=0.9)
    strict = ActionDecoder(spaces.Box(-2, 2, (1,), np.float32), clip=False, grid=0.9)

    def at(*values: float) -> list[Any]:
        return [np.array(values, np.float32).reshape(-1, 1)]

    assert decoder.is_settled(at(2.0, -2.0, 0.9, -1.8))
    assert not decoder.is_settled(at(1.9))
    assert not decoder.is_settled(at(2.1))
    assert not strict.is_settled(at(2.0))


def test_a_return_that_is_no_number_ends_that_evaluation_alone() -> None:
    """It ended the whole job, with everybody's results in it, and left no record."""
    result = evaluated(GREEDY.format(action="1e308 if observation[0] <= 0 else -1e308"), OPEN).result

    assert result.verdict is Verdict.INTERNAL_ERROR
    assert result.message == "the return of counted episode 0 is -inf; rewards and their sum must be finite numbers"


class Leaving(Open):
    """A host's environment that ends the program, as a window that is closed may."""

    def step(self, action: Any) -> NoReturn:
        raise SystemExit  # what sys.exit does, which libraries such as wandb replace


gymnasium.register("Leaving-v0", Leaving)


def test_an_environment_that_ends_the_program_ends_that_evaluation_alone() -> None:
    """The process that played it ended without a word, and with it the command."""
    result = evaluated(GREEDY.format(action="1.0"), OPEN.model_copy(update={"env": "Leaving-v0"})).result

    assert result.verdict is Verdict.INTERNAL_ERROR
    assert result.message.startswith("SystemExit at test_our_failures.py:")
    assert result.message.endswith(": it ends the program; remove the call of exit")


@pytest.mark.attack(
    "returns_that_no_sum_holds", family="cheating", outcome="that evaluation fails alone; the board goes on",
    tries="Earns returns so great that their sum is no number, where actions have no bounds.",
)  # fmt: skip
@pytest.mark.parametrize("action", [1e308, 1e101, 1e40])
def test_returns_that_no_sum_holds_do_not_stop_the_board(action: float) -> None:
    result = evaluated(GREEDY.format(action=str(action)), OPEN).result

    entry, other = make.entry("mallory"), make.entry("alice")
    results = [make.result(other, [1.0, 2.0, 3.0]), make.result(entry, [*result.returns] * 50)]
    board = build_standings(make.challenge(), [entry, other], results, official=True).tasks[0]

    assert result.verdict is (Verdict.INTERNAL_ERROR if action > 1e100 else Verdict.OK)
    assert {row.entry.login for row in board.rows} == ({"alice", "mallory"} if result.returns else {"alice"})
    assert all(math.isfinite(row.estimate.low) and math.isfinite(row.estimate.high) for row in board.rows)


@pytest.mark.attack(
    "scores_too_small_for_an_axis", family="pages", outcome="the site is built",
    tries="Is the first on a task, with scores so small that no step between them can be halved, so that no chart of them, "
    "and no site, can be built.",
)  # fmt: skip
@pytest.mark.parametrize("action", [5e-323, 2e-323, 5e-324, 1e-320])
def test_scores_too_small_for_an_axis_do_not_stop_the_site(action: float) -> None:
    first, second = (evaluated(GREEDY.format(action=str(each)), OPEN).result.returns for each in (0.0, action))
    entry, other = make.entry("mallory"), make.entry("puppet")
    results = [make.result(entry, first), make.result(other, second, at="2026-01-02T00:00:00Z")]
    standings = build_standings(make.challenge(), [entry, other], results, official=True)
    scores = LeaderboardHistory(standings, results).best_scores(standings.tasks[0])

    assert [score.score for score in scores] == [0.0, action]
    assert score_plot(standings.tasks[0])
    assert best_score_chart(scores, (scores[0].at, scores[1].at), 1)


@pytest.mark.attack(
    "returns_that_no_display_shows", family="cheating", outcome="that evaluation fails alone; the others are played",
    tries="Earns returns whose mean is no number, while others are evaluated beside it and a display shows each one's mean.",
)  # fmt: skip
@pytest.mark.parametrize("action", ["1e308", "1e308 if observation[0] <= 0 else -1e308", "5e307"])
def test_returns_that_no_sum_holds_end_no_others_evaluation(action: str) -> None:
    """The command's own process ended while it showed them, and with it what else was being played."""
    box = process()
    jobs = [
        ParallelJob(
            title="", processors=1, memory_mib=1,
            play=partial(evaluate_agent, order(folder(source), OPEN), box.kind, box.opener, lambda: datetime.now(UTC)),
        )
        for source in (GREEDY.format(action=action), GREEDY.format(action="1.0"))
    ]  # fmt: skip

    done = dict(run_jobs(jobs, 2, quiet=True, free=FreeResources(processors=(0, 1), memory_mib=4000)))

    assert {index: one.result.verdict for index, one in done.items()} == {0: Verdict.INTERNAL_ERROR, 1: Verdict.OK}


@pytest.mark.attack(
    "actions_that_no_file_holds", family="cheating", outcome="`output_limit`, once and for all",
    tries="Lets the last digits of its actions grow until no file holds them, when its episodes went badly.",
)  # fmt: skip
@pytest.mark.parametrize("secret", [None, SeasonSecret(bytes(32))])
def test_a_trace_that_is_too_large_is_the_agents_own_end(
    monkeypatch: pytest.MonkeyPatch, secret: SeasonSecret | None
) -> None:
    """Publish refused it, which counted as a failure of ours."""
    source = "import numpy, os\nclass Agent:\n    def act(self, seen):\n        return {}\n"
    noisy, plain = "numpy.frombuffer(os.urandom(8), 'u8').astype('f8')", "numpy.zeros(1)"
    task = OPEN.model_copy(update={"max_episode_steps": 200})
    monkeypatch.setattr(trace, "MAX_TRACE_BYTES", 3000)

    large, small = (evaluated(source.format(action), task, secret=secret) for action in (noisy, plain))

    assert (large.result.verdict, large.result.returns, large.trace) == (Verdict.OUTPUT_LIMIT, (), None)
    assert "digits" in large.result.message
    assert small.result.verdict is Verdict.OK


@pytest.mark.attack(
    "actions_that_unpack_to_too_much", family="cheating", outcome="`output_limit`, once and for all",
    tries="Repeats one action until its trace, small when it is packed, holds more than a verification unpacks.",
)  # fmt: skip
def test_a_trace_that_unpacks_to_too_much_is_the_agents_own_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Publish refused it, which counted as a failure of ours."""
    for missing in (1, 0):
        for module in (trace, solo):
            monkeypatch.setattr(module, "MAX_UNPACKED_BYTES", OPEN.episodes * 3 * 8 - missing)
        end = evaluated(GREEDY.format(action="0.0"), OPEN)
        if missing:
            assert (end.result.verdict, end.result.returns, end.trace) == (Verdict.OUTPUT_LIMIT, (), None)
        else:
            checked(OPEN, end)


WALKS_ON = """
import numpy
class Agent:
    def act_batch(self, observations):
        return numpy.zeros(len(observations), int)
"""
WALKING_SCRIPT = """
env = gym.make("CliffWalking-v1")
env.reset()
while True:
    env.step(0)
"""


@pytest.mark.attack(
    "episodes_without_end", family="exhaustion", outcome="`output_limit`, once and for all",
    tries="Never ends an episode of a task without a time limit, until the kept actions fill the referee's memory.",
)  # fmt: skip
def test_who_plays_on_for_ever_does_not_fill_the_referees_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A referee that is killed leaves no record, so that the evaluation was played anew, without end."""
    monkeypatch.setattr(episode_recorder, "MAX_UNPACKED_BYTES", 3000)
    cliff = Task.model_validate({"id": "CliffWalking-v1", "episodes": 10})
    rules = {"steps": 10_000, "last": 2, "worst": 0}
    taught = Task.model_validate({"id": "CliffWalking-v1", "max_episode_steps": 4000, "script": rules})

    ends = [evaluated(WALKS_ON, cliff).result, script(WALKING_SCRIPT, taught).result]

    assert {(end.verdict, end.returns) for end in ends} == {(Verdict.OUTPUT_LIMIT, ())}, [end.message for end in ends]


def test_actions_are_kept_in_few_bytes() -> None:
    """A task without a time limit may have hundreds of millions of them."""
    (episode, *_) = played(WALKS_ON, Task.model_validate({"id": "CliffWalking-v1", "max_episode_steps": 5}), process())

    assert episode.actions[0].dtype.itemsize == 1


class Changing(Open):
    """Changes the action that it is given, which the host's own environments may do."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if action[0] > 0.5:
            action *= 0.9
        return np.array([action[0]]), float(action[0]), False, False, {}


gymnasium.register("Changing-v0", Changing)


@pytest.mark.attack(
    "action_that_the_environment_changes", family="cheating", outcome="recorded as it is",
    tries="Plays an action that the host's environment changes in place, so that the replay begins with the changed one.",
)  # fmt: skip
@pytest.mark.parametrize("count", [1, 2])
def test_what_an_environment_does_to_its_action_is_not_recorded_as_the_agents(count: int) -> None:
    """Publish refused it, which counted as a failure of ours."""
    own = [{"name": "Own", "kind": "tests.evaluator.own_metrics:replayed_return", "direction": "higher"}]
    task = Task.model_validate({"id": "c", "env": "Changing-v0", "episodes": 20, "max_episode_steps": 3, "metrics": own})
    task = task.model_copy(update={"lanes": ParallelEpisodes(shared=count, separate=count)})

    checked(task, evaluated(GREEDY.format(action="1.0"), task))


class Many(Open):
    """Takes several numbers at once, and pays a multiple of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.MultiDiscrete([100, 100])

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.zeros(1), float(action[0] * 10), False, False, {}


gymnasium.register("Many-v0", Many)


@pytest.mark.attack(
    "script_of_small_numbers_for_a_metric", family="cheating", outcome="recorded as it is",
    tries="Plays small integers only, which are kept in one byte each, where the host's metric steps the environment again.",
)  # fmt: skip
def test_a_hosts_metric_gets_a_scripts_actions_as_the_environment_got_them() -> None:
    """The metric overflowed. Publish refused it, which counted as a failure of ours: another draw for a script's luck."""
    own = [{"name": "Own", "kind": "tests.evaluator.own_metrics:replayed_return", "direction": "higher"}]
    rules = {"steps": 20, "last": 2, "worst": 0}
    task = Task.model_validate({"id": "m", "env": "Many-v0", "max_episode_steps": 3, "script": rules, "metrics": own})
    source = """
    import numpy as np
    env = gym.make("m")
    while True:
        play(env, 1, act=lambda observation: np.array([50, 1]))
    """

    done = script(source, task)

    checked(task, done)
    assert done.result.metrics[own[0]["kind"]] == 1250.0


class Boundless(tictactoe.raw_env):  # type: ignore[misc]
    """A game whose last field is worth no number."""

    def step(self, action: Any) -> None:
        super().step(action)
        if action == 8:
            self.rewards = dict.fromkeys(self.rewards, float("nan"))


@pytest.mark.attack(
    "match_that_is_worth_no_number", family="cheating", outcome="that duel fails alone; the board goes on",
    tries="Plays the move of a host's game whose reward is no number, which no record of a duel holds.",
)  # fmt: skip
def test_a_duel_whose_rewards_are_no_numbers_ends_alone() -> None:
    """It ended the job with what was left to be played in it, and left no record."""
    last = "class Agent:\n    def act(self, seen):\n        return int(seen['action_mask'].nonzero()[0][-1])\n"
    task = Task.model_validate({"id": "game", "game": f"{__name__}:Boundless", "matches": 2, "opening": 0})

    duel = duelled(last, FIRST_LEGAL, task)

    assert (duel.verdict, duel.matches) == (Verdict.INTERNAL_ERROR, ())
    assert "number" in duel.message


class Unsigned(Open):
    """Takes whole numbers that no signed type of 32 bits holds."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Box(0, 1 << 40, (1,), np.uint64)


gymnasium.register("Unsigned-v0", Unsigned)


@pytest.mark.attack(
    "script_of_small_and_huge_integers", family="cheating", outcome="recorded as it is",
    tries="Plays huge unsigned integers in one episode and small ones in the next, which together are stored as floats.",
)  # fmt: skip
def test_unsigned_actions_of_every_size_are_one_trace() -> None:
    """Publish refused it, which counted as a failure of ours."""
    rules = {"steps": 20, "last": 2, "worst": 0}
    task = Task.model_validate({"id": "big", "env": "Unsigned-v0", "max_episode_steps": 3, "script": rules})
    source = """
    import numpy as np
    env = gym.make("big")
    while True:
        for number in (5, 1 << 39):
            play(env, 1, act=lambda observation: np.array([number], np.uint64))
    """

    checked(task, script(source, task))


@pytest.mark.attack(
    "sealed_script_of_many_episodes", family="cheating", outcome="recorded as it is",
    tries="Leaves as many episodes as it may, with long returns, so that its sealed result is larger than publish takes.",
)  # fmt: skip
def test_the_longest_record_of_a_script_is_none_that_publish_refuses() -> None:
    """It could be made just too long by its log, when its episodes had gone badly, and was played three times."""
    count, last, seal = MAX_SCRIPT_EPISODES, 100, SeasonSecret(bytes(range(32)))
    rules = ScriptRules(steps=50_000_000, last=last, worst=0)
    task = Task.model_validate({"id": "long", "env": "Pendulum-v1", "script": rules})
    tiny, emoji = -1.2345678901234567e-6, "\U0001f600"
    record = ScriptRecord(
        claimed=tiny, exhausted=True, returns=(tiny,) * count, lengths=(100,) * count,
        ended_at=tuple(range(20_000_000, 20_000_000 + count)), unfinished=tuple(range(count)),
        counts_from=count - last, notices=(emoji * 300,) * MAX_NOTICES,
    )  # fmt: skip
    made = make.result(make.entry("alice"), (tiny,) * last, on=task, script=record, lengths=(100,) * last)
    whole = Result.with_self_hash(
        {**made.document(), "season": "1", "beacon": seal.beacon, "log_tail": emoji * LOG_TAIL_CHARACTERS}
    )

    sealed, _ = encrypt_result(whole, b"trace", 0.0, seal)

    assert len(whole.serialised()) <= MAX_RESULT_BYTES
    assert len(sealed.serialised()) <= MAX_RESULT_BYTES


def test_a_script_that_asks_for_too_much_before_it_played_anything_is_invalid() -> None:
    """It ended the whole job, too: a run that was over before its first episode has no trace."""
    task = Task.model_validate(
        {"id": "lake", "env": "FrozenLake-v1", "reusable": True, "script": {"steps": 500, "last": 2, "worst": -1}}
    )
    source = """
    import gc, struct
    from evaluator import wire
    from evaluator.sandbox.remote_env import RefereeLink
    gym.make("lake")
    link = next(one for one in gc.get_objects() if isinstance(one, RefereeLink))
    def ask(op, body):
        link._stream.send(wire.frame(op, body))
        return link._stream.receive()
    count = 600
    _, made = ask(wire.Op.MAKE, wire.COUNT.pack(count, 0))
    first = wire.COUNT.unpack_from(made)[1]
    handles = struct.pack(f"<{count}I", *range(first, first + count))
    head = wire.COUNT.pack(count, 0) + handles + bytes(wire.padded_size(count))
    ask(wire.Op.STEP, head + bytes(8 * count))
    print(json.dumps({"score": 1.0}))
    """

    result = script(source, task).result

    assert (result.verdict, result.returns) == (Verdict.INVALID, ()), result.message


@pytest.mark.attack(
    "host_that_fails_when_unlucky", family="images", outcome="the third try is its owner's `timeout`, which counts",
    tries="Lets its own registry or host of weights fail in all tries when its seeds are bad ones.",
)  # fmt: skip
@pytest.mark.parametrize("fault", [RegistryFault, lambda words: AgentFault(Verdict.INTERNAL_ERROR, words)])
@pytest.mark.parametrize("owner_liable", [False, True])
def test_whose_files_failed_in_every_try_is_late(
    fault: Callable[[str], AgentFault], owner_liable: bool, tmp_path: Path
) -> None:
    """It cost neither a try nor a quota, whose seeds its owner knew from the merge on."""

    def opener(spec: SandboxSpec) -> Sandbox:
        raise fault(f"the registry of alice answers with status 503; {ASKED_AGAIN}")

    wanted = order_of(write_agent(tmp_path / "a", "class Agent:\n    pass\n"))

    result = evaluate_agent(
        replace(wanted, owner_liable=owner_liable), SandboxKind.DOCKER, opener, lambda: datetime.now(UTC), lambda done: None
    ).result

    is_late = owner_liable and fault is RegistryFault
    assert result.verdict is (Verdict.TIMEOUT if is_late else Verdict.INTERNAL_ERROR)
    assert result.unfetched == ((fault is RegistryFault and not is_late) or None)
    assert result.first_attempt is not None
    assert "status 503" in result.message


@pytest.mark.parametrize("is_sealed", [False, True])
@pytest.mark.parametrize(("tries", "answers"), [([True, True], True), ([True], False), ([True, None], False)])
def test_who_could_not_be_fetched_in_all_tries_but_the_last_answers_for_that(
    tries: list[bool | None], answers: bool, is_sealed: bool
) -> None:
    secret = SeasonSecret(b"s" * 32)
    beacon = secret.beacon if is_sealed else "test"
    entry, context = make.entry("alice"), MeasurementContext(runtime_digest="0" * 64, beacon=beacon)
    (first,) = missing_work(make.challenge(), [entry], [], context, [])
    fields = {"key": first.wanted.key(), "beacon": beacon, "verdict": "internal_error"}
    failed = [make.result(entry, **fields, unfetched=one) for one in tries]
    failed = [encrypt_result(result, None, None, secret)[0] for result in failed] if is_sealed else failed

    (item,) = missing_work(make.challenge(), [entry], failed, context, [])

    assert isinstance(item, WorkItem)
    assert item.owner_liable == answers


class Heavy(Open):
    """As large as an environment that draws pictures can be."""

    def __init__(self) -> None:
        super().__init__()
        self._pixels = np.ones(16 << 20, np.uint8)


gymnasium.register("Heavy-v0", Heavy)


@pytest.mark.attack(
    "environments_that_fill_the_machine", family="exhaustion", outcome="`out_of_memory`, once and for all",
    tries="Opens a thousand large environments when training went badly, so that the machine ends the referee.",
)  # fmt: skip
def test_a_script_does_not_fill_the_referees_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole job ended, without a record, and was played anew: a second draw whenever one wanted it."""
    monkeypatch.setattr(script_env_server, "MAX_ENVIRONMENT_BYTES", 400 << 20)
    rules = ScriptRules(steps=10_000, last=2, worst=0)
    task = Task.model_validate({"id": "heavy", "env": "Heavy-v0", "max_episode_steps": 3, "reusable": True, "script": rules})
    source = """
    envs = [gym.make("heavy") for _ in range(60)]
    for env in envs:
        env.reset()
    print(json.dumps({"score": 1.0}))
    """

    result = script(source, task).result

    assert (result.verdict, result.returns) == (Verdict.OUT_OF_MEMORY, ()), result.message
    assert "open fewer at once" in result.message
    assert script(source.replace("60", "12"), task).result.verdict is Verdict.OK


class Framed(Open):
    """Shows a number and a picture, in this order."""

    def __init__(self) -> None:
        super().__init__()
        picture = spaces.Box(0, 255, (1 << 17,), np.uint8)
        self.observation_space = spaces.Dict({"a": spaces.Discrete(2), "picture": picture})
        self._seen = {"a": 0, "picture": np.zeros(1 << 17, np.uint8)}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self._seen, *super().step(action)[1:]


gymnasium.register("Framed-v0", Framed)


@pytest.mark.attack(
    "steps_that_fill_the_referee", family="exhaustion", outcome="folded into a hash and numbers as they come",
    tries="Keeps episodes open whose pictures stand behind a small part of the observation, until they fill the referee.",
)  # fmt: skip
def test_what_the_referee_holds_of_an_open_episode_is_bounded_with_all_its_parts() -> None:
    """Only the first part of an observation was counted: four thousand pictures of each open episode stayed in memory."""
    rules = ScriptRules(steps=2000, last=2, worst=0)
    task = Task.model_validate({"id": "framed", "env": "Framed-v0", "max_episode_steps": 500, "script": rules})
    desk = RemoteEnvServer(ScriptTask(gym_task=load_gym_task(task), rules=rules, seed_of=lambda index, _: f"{index:032x}"))
    handles = handles_body([0])
    desk.answer(wire.Op.MAKE, memoryview(wire.COUNT.pack(1, 0)))
    desk.answer(wire.Op.RESET, memoryview(handles))
    tracemalloc.start()
    for _ in range(200):
        desk.answer(wire.Op.STEP, memoryview(handles + bytes(8) + bytes(8)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert held < 4 * script_env_server.MAX_HELD_BYTES


def single(link: RefereeLink, act: Callable[[int], Any]) -> None:
    env = RemoteEnv(link)
    env.reset()
    for step in range(3):
        env.step(act(step))


def vector(link: RefereeLink, act: Callable[[int], Any]) -> None:
    envs = RemoteVectorEnv(link, 2, AutoresetMode.NEXT_STEP)
    envs.reset()
    for step in range(3):
        envs.step(np.stack([act(step), act(step)]))


class Reused(Wire):
    """The referee reads each frame into the same buffer, as it does."""

    def __init__(self, desk: RemoteEnvServer) -> None:
        super().__init__(desk)
        self.buffer = bytearray(1 << 16)

    def send(self, data: bytes) -> None:
        size, op = wire.HEADER.unpack_from(data)
        self.buffer[: len(data)] = data
        self.answer = self.desk.answer(op, memoryview(self.buffer)[wire.HEADER.size : wire.HEADER.size + size])


@pytest.mark.parametrize("play", [single, vector])
def test_an_environment_that_keeps_a_scripts_action_keeps_that_action(play: Callable[..., None]) -> None:
    """It met the next frame's bytes in it, so that no replay gave the same rewards."""
    task = OPEN.model_copy(update={"script": ScriptRules(steps=100, last=2, worst=0)})
    world = load_gym_task(task)
    desk = RemoteEnvServer(
        ScriptTask(gym_task=world, rules=ScriptRules(steps=100, last=2, worst=0), seed_of=lambda index, _: f"{index:032x}")
    )
    hello = {
        "observation_space": describe(world.observation_space), "action_space": describe(world.action_space),
        "max_episode_steps": 3, "env_id": "Open-v0", "task_id": "open", "kwargs": {},
    }  # fmt: skip
    play(RefereeLink(Reused(desk), hello), lambda step: np.array([1.0 + step]))

    for episode in desk.finish():
        now = replay_episode(world, f"{episode.index:032x}", list(episode.actions))
        assert (episode.total, episode.checksum) == (now.total, now.checksum)
