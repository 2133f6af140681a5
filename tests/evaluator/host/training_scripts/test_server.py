"""Scripts in a real process: what is measured of them, and every way in which one can end."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.errors import EnvironmentFault
from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.loading.yaml_loader import read_challenge
from evaluator.host.seeds.derived_seeds import episode_seeds
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.evaluate_agent import EvaluationRequest
from evaluator.host.training_scripts.evaluate_script import ReportedScoreError, claimed_score
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.records.parse import parse_trace
from evaluator.model.records.result import Result
from evaluator.model.records.script_record import ScriptRecord
from evaluator.model.records.verdict import Verdict
from tests.evaluations import ANGLE_RULE, evaluate, evaluated, order
from tests.evaluator.script_runs import LAKE, POLE, script, verified

RULES = ScriptRules(last=4, worst=-5)
SHOW = 'print(json.dumps({"score": 0.5}))'


def record(*episodes: tuple[float, int, bool], counts_from: int | None = None) -> ScriptRecord:
    """A record of (return, steps, finished)."""
    left = tuple(index for index, (_, _, finished) in enumerate(episodes) if not finished)
    returns, lengths = tuple(e[0] for e in episodes), tuple(e[1] for e in episodes)
    return ScriptRecord(returns=returns, lengths=lengths, unfinished=left, counts_from=counts_from)


def test_the_first_episodes_after_the_training_count_and_an_unfinished_one_is_the_worst() -> None:
    done = record(
        (9, 3, True), (1, 3, True), (2, 3, False), (3, 4, True), (4, 5, True), (8, 1, True), counts_from=1
    )  # fmt: skip

    counted = done.counted(RULES)

    assert (counted.first, counted.returns, counted.lengths) == (1, (1, -5, 3, 4), (3, 3, 4, 5))


def test_an_episode_that_is_missing_is_the_worst() -> None:
    assert record((1, 3, True), counts_from=0).counted(RULES).returns == (1, -5, -5, -5)
    assert record((1, 3, True), counts_from=1).counted(RULES).returns == (-5, -5, -5, -5)
    assert record(counts_from=0).counted(RULES).lengths == (0, 0, 0, 0)


def test_what_leaves_nothing_to_train_with_is_no_budget() -> None:
    rules = ScriptRules(steps=2000, last=4, worst=-5)

    assert rules.training_steps(499) == 4
    with pytest.raises(ValueError, match="4 episodes of at most 500 steps may take 2,000 steps, and steps is 2,000; raise"):
        rules.training_steps(500)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"script": {"steps": 1000, "last": 10, "worst": 0}}, "10 episodes of at most 100 steps may take 1,000 steps"),
        (
            {"env": "tests.evaluator.worlds:Everything-v0", "script": {"worst": 0}},
            "no time limit: set max_episode_steps",
        ),
    ],
)
def test_a_task_for_scripts_has_a_time_limit_and_steps_to_train_with(changes: dict[str, object], words: str) -> None:
    with pytest.raises(EnvironmentFault, match=words):
        load_gym_task(Task.model_validate({"id": "lake", "env": "FrozenLake-v1", **changes}))


def test_in_protocol_1_the_last_episodes_counted_and_one_reset_at_the_end_was_forgiven() -> None:
    played = [(float(n), 3, True) for n in range(5)]
    done = record((9, 3, True), (1, 3, True), (2, 3, False), (3, 4, True), (4, 5, True))
    assert done.counted(RULES).returns == (1, -5, 3, 4)
    assert record((1, 3, True)).counted(RULES).returns == (1, -5, -5, -5)

    assert record(*played, (0, 0, False)).counted(RULES).returns == (1, 2, 3, 4)
    assert record(*played, (0, 0, False), (0, 0, False)).counted(RULES).returns == (2, 3, 4, -5)
    assert record(*played, (1, 1, False)).counted(RULES).returns == (2, 3, 4, -5)


@pytest.mark.parametrize(
    ("log", "score"),
    [
        ('{"score": 1}', 1.0),
        ('noise\n{"score": -2.5, "metrics": [1], "episodes": 3}\nbye\n{"a": 2}\n', -2.5),
        ('{"score": 1}\n  {"score": 2}  \r\n', 2.0),
        ('{"score": 3}\n{"score": oops}\n{"score": 4', 3.0),
        ('{"score": 3}\n' + '{"a":' * 50_000 + "}" * 50_000, 3.0),
        ('{"score": 3}\n["score"]\n"score"\n', 3.0),
    ],
)
def test_the_last_line_with_a_score_is_the_claim(log: str, score: float) -> None:
    assert claimed_score(log) == score


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '"9"', "true", "null", "[1]", "{}", "1" + "0" * 400])
def test_a_score_that_is_no_finite_number_is_none(value: str) -> None:
    with pytest.raises(ReportedScoreError, match="no finite number"):
        claimed_score(f'{{"score": 1}}\n{{"score": {value}}}')


@pytest.mark.parametrize("log", ["", "1\n", "score: 1", '{"scores": 1}', 'x{"score": 1}', '{"score": 1}x'])
def test_without_a_line_there_is_no_claim(log: str) -> None:
    with pytest.raises(ReportedScoreError, match="printed no score"):
        claimed_score(log)


def test_what_the_referee_played_is_measured_and_verified() -> None:
    done = script('print(json.dumps({"score": sum(play(train(gym.make(sys.argv[1])), 10)) / 10}))')
    result = done.result

    assert result.verdict is Verdict.OK
    assert result.script is not None
    assert (len(result.returns), result.script.exit_code, result.script.exhausted) == (10, 0, False)
    assert (result.script.counts_from, sum(result.script.lengths[:-10])) == (len(result.script.returns) - 10, 1000)
    assert result.script.claimed == pytest.approx(sum(result.returns) / 10)
    assert result.cost.steps == sum(result.script.lengths)
    finding = verified(done)
    assert (finding.status, finding.faults, finding.steps) == (VerificationStatus.VERIFIED, (), result.cost.steps)


def test_a_changed_return_of_any_episode_is_refuted() -> None:
    done = script(f"play(train(gym.make(sys.argv[1])), 10)\n{SHOW}")
    document = done.result.document()
    document["script"]["returns"][0] += 1

    finding = verified(done, document=document)

    assert finding.status is VerificationStatus.REFUTED
    assert "episode 0 returns" in finding.faults[0]


def test_counting_other_episodes_is_refuted() -> None:
    done = script(f"play(train(gym.make(sys.argv[1])), 10)\n{SHOW}")
    document = done.result.document()
    document["returns"][3] = 1.0

    finding = verified(done, document=document)

    assert "the episodes that count are not those that the rules name" in finding.faults


def test_the_record_of_a_policy_has_no_word_of_scripts() -> None:
    result = evaluated(ANGLE_RULE, Task(id="CartPole-v1", episodes=2)).result

    assert "script" not in json.loads(result.serialised())
    assert Result.model_validate(result.document()) == result


def test_the_budget_ends_a_script_well_whatever_its_exit_code() -> None:
    result = script("try:\n    play(gym.make(sys.argv[1]), 10**6)\nexcept RuntimeError:\n    sys.exit(7)").result

    assert result.verdict is Verdict.OK
    assert result.script is not None
    assert (result.script.exhausted, result.script.exit_code, result.script.claimed) == (True, 7, None)
    assert len(result.returns) == 10
    assert result.script.counts_from == len(result.script.returns) - 10
    assert not result.script.unfinished


def test_who_asks_for_an_episode_too_many_is_measured_though_others_are_open() -> None:
    source = """
    train(gym.make(sys.argv[1]))
    envs = [gym.make(sys.argv[1]) for _ in range(11)]
    try:
        for env in envs:
            env.reset()
    except RuntimeError:
        sys.exit(7)
    """
    result = script(source).result

    assert (result.verdict, result.returns) == (Verdict.OK, (-1.0,) * 10)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_vector_trains_and_the_run_ends_with_the_episodes_that_count(mode: str) -> None:
    source = f"""
    envs = gym.make_vec(sys.argv[1], num_envs=64, vector_kwargs={{"autoreset_mode": "{mode}"}})
    envs.reset()
    while True:
        envs.step([1] * 64)
    """
    done = script(source)
    result = done.result

    assert result.verdict is Verdict.OK, result.log_tail
    assert result.script is not None
    assert result.script.exhausted
    assert result.script.steps < 2000  # 64 short episodes each round: the ten that count end long before the budget
    assert result.script.counts_from is not None
    assert not set(range(result.script.counts_from, result.script.counts_from + 10)) & set(result.script.unfinished)
    assert verified(done).status is VerificationStatus.VERIFIED


def test_ended_environments_rest_in_disabled_mode() -> None:
    source = """
    train(gym.make(sys.argv[1]))
    envs = gym.make_vec(sys.argv[1], num_envs=5, vector_kwargs={"autoreset_mode": "Disabled"})
    observations, _ = envs.reset()
    over, returns = [False] * 5, [0.0] * 5
    while not all(over):
        observations, rewards, terminated, truncated, _ = envs.step((observations[:, 2] > 0).astype(int))
        returns = [a + b for a, b in zip(returns, rewards)]
        over = [a or b or c for a, b, c in zip(over, terminated, truncated)]
    print(json.dumps({"score": sum(returns) / 5}))
    """
    # The one that ends last ends the run, and what is asked after it is refused: here nothing is.
    result = script(source, POLE).result

    assert result.verdict is Verdict.OK, result.log_tail
    assert result.script is not None
    assert result.script.exhausted is False
    assert max(result.script.unfinished) < len(result.script.returns) - 5  # what was left is training
    assert result.script.claimed == pytest.approx(sum(result.returns) / 5)


@pytest.mark.parametrize(
    ("source", "verdict", "words"),
    [
        ("sys.exit(3)", Verdict.CRASHED, "exit code 3"),
        ("sys.exit('bad')", Verdict.CRASHED, "exit code 1"),
        ("1 / 0", Verdict.CRASHED, "exit code 1"),
        ("import os; os._exit(4)", Verdict.CRASHED, "exit code 4"),
        ("import os; os.kill(os.getpid(), 11)", Verdict.CRASHED, "exit code 139"),
        ("play(gym.make(sys.argv[1]), 1)", Verdict.INVALID, "printed no score"),
        ("play(gym.make(sys.argv[1]), 1); print('{\"score\": NaN}')", Verdict.INVALID, "no finite number"),
        (SHOW, Verdict.INVALID, "environment of its own"),
        ('gym.make("CartPole-v1").reset()\n' + SHOW, Verdict.INVALID, "environment of its own"),
        ("def (", Verdict.CRASHED, "exit code 1"),
    ],
)
def test_how_a_script_ends_is_its_verdict(source: str, verdict: Verdict, words: str) -> None:
    result = script(source).result

    assert (result.verdict, result.returns, result.script) == (verdict, (), None)
    assert words in result.message


def test_leaving_with_exit_code_0_is_a_good_end_however_it_is_done() -> None:
    ending = "play(gym.make(sys.argv[1]), 2)\n" + SHOW + "\n"
    for last in ("sys.exit()", "sys.exit(0)", "import os; os._exit(0)", "import atexit; atexit.register(print, 'bye')"):
        result = script(ending + last).result
        assert (result.verdict, result.script and result.script.claimed) == (Verdict.OK, 0.5), (last, result.message)


def test_a_claim_is_listed_apart_where_the_board_allows_it() -> None:
    rules = LAKE.script.model_copy(update={"self_reported": True}) if LAKE.script else None
    result = script(SHOW, LAKE.model_copy(update={"script": rules})).result

    assert (result.verdict, result.returns) == (Verdict.INVALID, ())
    assert result.script == ScriptRecord(claimed=0.5, exit_code=0)
    assert "self-reported" in result.message


def test_seeds_options_and_other_environments_are_noticed_and_the_episodes_are_the_referees() -> None:
    source = """
    env = gym.make(sys.argv[1])
    first = env.reset(seed=1, options={"low": 1})[0]
    env.step(env.action_space.sample())
    second = env.reset(seed=1)[0]
    gym.make("CliffWalking-v1")
    print(json.dumps({"score": 1 if list(first) != list(second) else 0}))
    """
    result = script(source, POLE).result

    assert result.script is not None
    assert result.script.claimed == 1
    assert [notice.partition(" ")[0] for notice in result.script.notices] == ["a", "options", "the"]
    assert result.log_tail.count("pullrank: a seed was given") == 1


@pytest.mark.parametrize(
    "made",
    [
        "make(sys.argv[1], is_slippery=False)", "make(sys.argv[1], render_mode='human')",
        "make(sys.argv[1], max_episode_steps=9)", "make_vec(sys.argv[1], num_envs=2, is_slippery=False)",
        "make_vec(sys.argv[1], num_envs=2, wrappers=[lambda env: env])", "make_vec(sys.argv[1], num_envs=2000)",
        "make_vec(sys.argv[1], num_envs=0)",
        "make(gym.envs.registration.EnvSpec('FrozenLake-v1', kwargs={'is_slippery': False}))",
        "make(sys.argv[1]).unwrapped.P",
    ],
)  # fmt: skip
def test_another_task_than_the_referees_cannot_be_made(made: str) -> None:
    result = script(f"try:\n    gym.{made}\nexcept Exception as error:\n    sys.exit(f'refused: {{error}}')").result

    assert result.log_tail.startswith("refused: "), result.log_tail


@pytest.mark.parametrize("name", ["FrozenLake-v1", "lake", "FrozenLake", "some.module:FrozenLake-v1"])
def test_the_task_is_remote_by_each_of_its_names(name: str) -> None:
    result = script(f"from gymnasium import make\nplay(make({name!r}, map_name='4x4'), 1)\n{SHOW}", LAKE_4X4).result

    assert (result.verdict, result.message) == (Verdict.OK, "")


LAKE_4X4 = LAKE.model_copy(update={"kwargs": {"map_name": "4x4"}})


def test_many_environments_that_are_not_closed_do_no_harm() -> None:
    source = "for _ in range(1500):\n    env = gym.make(sys.argv[1])\nplay(env, 1)\n" + SHOW

    assert script(source).result.verdict is Verdict.OK


def test_a_process_of_its_own_gets_a_clear_word() -> None:
    source = """
    import os
    env = gym.make(sys.argv[1])
    if os.fork() == 0:
        try:
            env.reset()
        except gym.error.Error as error:
            print("child:", error, flush=True)
        os._exit(0)
    os.wait()
    sys.exit(5)
    """
    assert "child: this environment belongs to the process that made it" in script(source).result.log_tail


def test_stepping_after_the_end_is_the_scripts_own_error() -> None:
    source = """
    env = gym.make(sys.argv[1])
    for act in (lambda: env.step(1), lambda: (env.reset(), env.step(9)), lambda: (env.close(), env.reset())):
        try:
            act()
        except Exception as error:
            print(type(error).__name__, flush=True)
    sys.exit(5)
    """
    assert script(source).result.log_tail.split() == ["ResetNeeded", "InvalidAction", "ClosedEnvironmentError"]


def test_actions_of_boxes_are_clipped_and_verified() -> None:
    task = Task.model_validate(
        {"id": "Pendulum-v1", "max_episode_steps": 20, "script": {"steps": 80, "last": 3, "worst": -2000}}
    )
    done = script(
        "import numpy as np\nact = lambda o: np.array([5.0])\nplay(train(gym.make(sys.argv[1]), act), 3, act)\n" + SHOW, task
    )

    assert (done.result.verdict, done.result.metrics) == (Verdict.OK, {"clipped_actions": 80.0})
    assert verified(done, task).status is VerificationStatus.VERIFIED


def test_resetting_bad_starts_away_does_not_pay() -> None:
    source = """
    env = train(gym.make(sys.argv[1]))
    for _ in range(9):
        env.reset()
        env.step(1)
    play(env, 3)
    """
    result = script(source).result

    assert result.returns[:9] == (-1.0,) * 9
    assert result.script is not None
    assert result.script.exhausted  # the tenth episode has ended, and so has the run


def test_looking_at_starts_is_no_way_to_choose_among_them() -> None:
    """A look while training shows an episode that cannot count; a look afterwards is an episode that counts as the worst."""
    source = """
    env = gym.make(sys.argv[1])
    for _ in range(50):
        env.reset()
    train(env)
    for _ in range(30):
        env.reset()
    """
    done = script(source)
    assert done.result.script is not None
    assert done.result.script.counts_from is not None
    assert done.result.script.counts_from > 50
    assert set(done.result.returns) == {-1.0}
    assert verified(done).status is VerificationStatus.VERIFIED


def test_looking_at_starts_without_a_step_uses_up_the_budget() -> None:
    done = script("env = gym.make(sys.argv[1])\nwhile True:\n    env.reset()")

    assert done.result.verdict is Verdict.OK
    assert done.result.script is not None
    assert len(done.result.script.returns) == 2002
    assert set(done.result.returns) == {-1.0}
    assert verified(done).status is VerificationStatus.VERIFIED
    assert parse_trace(done.trace or b"").steps() == 0


def test_many_episodes_begun_at_the_end_of_the_budget_are_not_played_beyond_it() -> None:
    """All other environments begin an episode just before the budget ends; once every one of them could be finished."""
    source = """
    env = train(gym.make(sys.argv[1]), lambda observation: int(observation[2] > 0))
    envs = gym.make_vec(sys.argv[1], num_envs=1023)
    observations, _ = envs.reset()
    while True:
        observations = envs.step((observations[:, 2] + observations[:, 3] > 0).astype(int))[0]
    """
    done = script(source, POLE)

    assert done.result.verdict is Verdict.OK, done.result.log_tail
    assert done.result.script is not None
    assert done.result.script.steps <= 3000
    assert done.result.returns == (0.0,) * 5
    assert verified(done, POLE).status is VerificationStatus.VERIFIED


def test_a_perfect_player_of_one_environment_has_steps_enough() -> None:
    source = """
    balance = lambda observation: int(observation[2] + observation[3] > 0)
    print(json.dumps({"score": sum(play(train(gym.make(sys.argv[1]), balance), 5, balance)) / 5}))
    """
    result = script(source, POLE).result

    assert result.returns == (500.0,) * 5
    assert result.script is not None
    assert (result.script.steps, result.script.exhausted, result.script.claimed) == (3000, False, 500.0)


def test_a_record_that_counts_from_elsewhere_is_refuted() -> None:
    done = script(f"play(train(gym.make(sys.argv[1])), 12)\n{SHOW}")
    assert done.result.script is not None
    first = done.result.script.counts_from
    assert first is not None
    for other, words in (
        (first - 20, "is not the first that was begun"),
        (first - 40, "is not the first that was begun"),
        (None, "begin to count"),
    ):
        document = done.result.document()
        document["script"]["counts_from"] = other
        if other is not None:
            document["returns"] = document["script"]["returns"][other : other + 10]
            document["lengths"] = document["script"]["lengths"][other : other + 10]
            document["seeds"] = list(
                episode_seeds(done.result.season, done.result.beacon, done.result.submission_digest, "lake", 10, other)
            )
        else:
            document["script"].pop("counts_from")
        finding = verified(done, document=document)
        assert finding.status is VerificationStatus.REFUTED
        assert words in " ".join(finding.faults)


def test_a_sealed_record_with_one_numbering_for_all_episodes_still_verifies(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was recorded before the episodes that count had numbers of their own."""
    secret = SeasonSecret(bytes(range(32)))

    def seeds(request: EvaluationRequest, first: int = 0) -> tuple[str, ...]:
        return secret.episode_seeds(request.season, request.gym_task.task.id, request.gym_task.task.counted, first)

    with monkeypatch.context() as patch:
        patch.setattr(EvaluationRequest, "seeds", seeds)
        patch.setattr(EvaluationRequest, "script_seed", lambda request, episode, _: seeds(request, episode)[0])
        done = script(f"play(train(gym.make(sys.argv[1])), 12)\n{SHOW}", beacon=secret.beacon, secret=secret)
    assert done.result.script is not None
    assert done.result.script.counts_from

    assert verified(done, secret=secret).status is VerificationStatus.VERIFIED
    other = {**done.result.document(), "seeds": list(secret.episode_seeds("test", "lake", 10, 1))}
    assert verified(done, document=other, secret=secret).status is VerificationStatus.REFUTED


def test_a_script_that_is_too_slow_or_too_loud_is_told_so() -> None:
    slow = script("while True: pass", limits=Limits(cpu_seconds=1)).result
    loud = script("while True: print('x' * 1000)", limits=Limits(log_kib=4)).result

    assert (slow.verdict, loud.verdict) == (Verdict.TIMEOUT, Verdict.OUTPUT_LIMIT)


def test_main_file_names_the_one_to_run() -> None:
    manifest = b"name: Test\nalgorithm: none\nkind: script\nmain_file: submission.py\n"

    assert script("import agent\nplay(gym.make(sys.argv[1]), 1)\n" + SHOW, manifest=manifest).result.verdict is Verdict.OK


@pytest.mark.parametrize("name", ["FrozenLake-v1", "Taxi-v4", "CartPole-v1"])
def test_playing_many_episodes_in_one_environment_changes_nothing(name: str) -> None:
    """Why the board's own tasks for scripts say `reusable: true`."""
    world = load_gym_task(Task(id=name))
    used = world.make()
    for number in range(30):
        fresh = world.make()
        rng = np.random.default_rng(number)
        pair = world.start(used, f"{number:032x}"), world.start(fresh, f"{number:032x}")
        assert np.array_equal(*pair)
        for _ in range(40):
            action = int(rng.integers(world.action_space.n))  # type: ignore[attr-defined]
            one, other = used.step(action), fresh.step(action)
            assert np.array_equal(one[0], other[0])
            assert one[1:4] == other[1:4]
            if one[2]:
                break


def test_an_example_learns_and_says_what_was_measured() -> None:
    root = Path(__file__).parents[4]
    task = read_challenge(root / "challenge.yml").task("FrozenLake-v1-from-scratch")
    assert task is not None

    wanted = order(read_folder(root / "example_agents/q-learning", SubmissionLimits()), task)
    result = evaluate(wanted).result

    assert result.verdict is Verdict.OK, result.log_tail
    assert result.script is not None
    assert result.script.claimed == pytest.approx(sum(result.returns) / 100)
    assert sum(result.returns) / 100 > 0.5
    assert not result.script.notices


@pytest.mark.parametrize("name", ["q-learning", "sarsa", "dqn-numpy"])
def test_the_examples_enter_tasks_for_scripts(name: str) -> None:
    root = Path(__file__).parents[4]
    submission = read_folder(root / "example_agents" / name, SubmissionLimits()).submission

    entered = [task for task in read_challenge(root / "challenge.yml").tasks if submission.plays(task)]
    assert entered
    assert {task.id for task in entered} == set(submission.tasks)
