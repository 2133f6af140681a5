"""What is measured: a few short episodes, matches or runs of every kind."""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from evaluator.host.duels.evaluate_duel import evaluate_duel
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.gym_task import load_gym_task
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.host.solo.evaluate_agent import Evaluation, evaluate_agent
from evaluator.host.solo.verify_result import verify_result
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_trace
from tests.evaluations import MANIFEST, duel_order, folder, order
from tests.evaluator.conformance import agents

HERE = "tests.evaluator.conformance.own"
SCRIPT = b"name: Test\nalgorithm: none\nkind: script\nentry: submission.py\n"
# Room enough that no case is decided by how busy a machine is.
LIMITS = Limits(cpus=2, cpu_seconds=600, answer_seconds=120, start_seconds=300)
PATIENT = {"move_seconds": 60, "bank_seconds": 600}
SECRET = SeasonSecret(bytes(range(32)))
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One measurement."""

    task: dict[str, Any]
    """The task's settings."""
    agent: str = agents.SEPARATE
    """The agent's source; a script's, where the task is one for scripts."""
    other: str | None = None
    """The opponent's, in a game; without one the player meets itself."""
    manifest: bytes = MANIFEST
    """The agent's submission.yml."""
    sealed: bool = False
    """Whether its seeds come from a season's secret."""
    over_streams: bool = False
    """Whether it is also measured over standard input and output."""


def _solo(name: str, steps: int, agent: str = agents.SEPARATE, **more: Any) -> Case:
    settings = {"id": name, "episodes": 3, "max_episode_steps": steps, "lanes": {"shared": 2, "separate": 2}, **more}
    return Case(task=settings, agent=agent)


def _script(source: str, *, sealed: bool = False, **more: Any) -> Case:
    settings = {"id": "scripted", "reusable": True, **more}
    over_streams = source == agents.SINGLE and not sealed
    return Case(task=settings, agent=source, manifest=SCRIPT, sealed=sealed, over_streams=over_streams)


def _game(name: str, game: str, **more: Any) -> Case:
    other = more.pop("other", agents.OTHER)
    agent = more.pop("agent", agents.PLAYER)
    return Case(task={"id": name, "game": game, "matches": 4, "clock": PATIENT, **more}, agent=agent, other=other)


CASES = {
    "cart pole, an instance for each episode": Case(
        task={"id": "CartPole-v1", "episodes": 5, "lanes": {"separate": 2}}, over_streams=True
    ),
    "cart pole, one instance without memory": _solo("CartPole-v1", 60, agents.SHARED, episodes=5),
    "cart pole, one instance asked in batches": _solo("CartPole-v1", 60, agents.BATCH, episodes=5),
    "cart pole, 32 bits of seed": _solo("CartPole-v1", 20, seed_bits=32),
    "mountain car": _solo("MountainCar-v0", 40),
    "mountain car, continuous": _solo("MountainCarContinuous-v0", 30),
    "acrobot": _solo("Acrobot-v1", 40),
    "pendulum, clipped": _solo("Pendulum-v1", 40),
    "pendulum, on a grid": _solo("Pendulum-v1", 40, grid=0.25),
    "pendulum, not clipped": _solo("Pendulum-v1", 40, agents.WITHIN, clip=False),
    "frozen lake, sealed seeds": Case(task={"id": "FrozenLake-v1", "episodes": 3}, sealed=True),
    "frozen lake": _solo("FrozenLake-v1", 40, episodes=6),
    "taxi, one environment for all episodes": _solo("Taxi-v4", 40, reusable=True),
    "lunar lander": _solo("LunarLander-v3", 80),
    "lunar lander, continuous": _solo("LunarLander-v3", 60, kwargs={"continuous": True}),
    "bipedal walker": _solo("BipedalWalker-v3", 40),
    "every kind of space": _solo("everything", 10, agents.WITHIN, env="tests.evaluator.worlds:Everything-v0"),
    "spaces that begin elsewhere": _solo("shifted", 10, env="tests.evaluator.worlds:Shifted-v0"),
    "an own environment and an own metric": _solo(
        "counter", 15, env=f"{HERE}:Counter-v0", episodes=12, kwargs={"least": 4},
        metrics=[{"name": "Ones", "kind": f"{HERE}:share_of_ones", "direction": "higher"}],
    ),
    "a function": Case(
        task={"id": "CartPole-v1", "episodes": 2}, agent=agents.FUNCTION,
        manifest=MANIFEST + b"adapter: function\nentry: agent.py\n",
    ),
    "a model that predicts": Case(
        task={"id": "CartPole-v1", "episodes": 2}, agent=agents.PREDICT,
        manifest=MANIFEST + b"adapter: predict\nentry: agent.py\n",
    ),
    "an agent that draws from common generators": _solo("CartPole-v1", 60, agents.DRAWING, episodes=5),
    "an agent that crashes": _solo("CartPole-v1", 20, agents.CRASHING),
    "an action outside the space": _solo("CartPole-v1", 20, agents.OUTSIDE),
    "a script, one environment, some episodes left": _script(
        agents.SINGLE, env="FrozenLake-v1", max_episode_steps=20, script={"steps": 400, "last": 10, "worst": -1}
    ),
    "a script, sealed seeds": _script(
        agents.SINGLE, sealed=True, env="FrozenLake-v1", max_episode_steps=20, script={"steps": 300, "last": 5, "worst": -1}
    ),
    "a script, a vector of environments": _script(
        agents.VECTOR, env="Taxi-v4", max_episode_steps=30, script={"steps": 600, "last": 8, "worst": -300}
    ),
    "a script that draws from common generators": _script(
        agents.DRAWING_SCRIPT, env="FrozenLake-v1", max_episode_steps=20, script={"steps": 300, "last": 5, "worst": -1}
    ),
    "tic-tac-toe, players that draw from common generators": _game(
        "drawn", "pettingzoo.classic.tictactoe_v3", agent=agents.DRAWING_PLAYER, other=agents.DRAWING_PLAYER + "\n# other\n"
    ),
    "tic-tac-toe": Case(
        task={"id": "tictactoe", "game": "pettingzoo.classic.tictactoe_v3", "matches": 6, "clock": PATIENT},
        agent=agents.PLAYER, other=agents.OTHER, over_streams=True,
    ),
    "connect four": _game("connect_four", "pettingzoo.classic.connect_four_v3", opening=4, max_plies=20),
    "quarto against itself": _game("quarto", "evaluator.environments.quarto", other=None),
    "rock, paper, scissors": _game("rps", "pettingzoo.classic.rps_v2", opening=0, kwargs={"max_cycles": 6}),
    "an own game": _game(
        "tiny", "tests.evaluator.tiny_games:Tiny", opening=1, kwargs={"pattern": "llr", "length": 9, "cut": True}
    ),
    "an illegal move": _game("tictactoe", "pettingzoo.classic.tictactoe_v3", other=agents.ILLEGAL),
}  # fmt: skip


def measured(case: Case, chosen: SelectedSandbox) -> dict[str, Any]:
    """What comes of a case in a sandbox, in few words: numbers exactly, sequences by their hashes."""
    task = Task.model_validate(case.task)
    if task.game is not None:
        wanted = duel_order(case.agent, case.other, task, limits=LIMITS)
        return _duel(evaluate_duel(wanted, chosen.kind, chosen.opener, lambda: NOW, lambda done: None), task)
    files = {"submission.py": case.agent.encode(), "agent.py": b""} if task.script else {}
    agent = folder("" if files else case.agent, case.manifest, **files)
    asked = order(agent, task, limits=LIMITS, **({"beacon": SECRET.beacon, "secret": SECRET} if case.sealed else {}))
    return _solo_summary(evaluate_agent(asked, chosen.kind, chosen.opener, lambda: NOW, lambda done: None), task)


def _solo_summary(done: Evaluation, task: Task) -> dict[str, Any]:
    result = done.result
    summary: dict[str, Any] = {"key": result.key, "verdict": result.verdict.value, "seeds": _hash(" ".join(result.seeds))}
    if done.trace is None:
        return summary
    finding = verify_result("r", result.serialised(), done.trace, load_gym_task(task), SECRET)
    trace = parse_trace(done.trace)
    script = result.script
    return {
        **summary,
        "replay": finding.status.value if finding.status is VerificationStatus.VERIFIED else finding.faults[0],
        "returns": [value.hex() for value in result.returns],
        "lengths": list(result.lengths),
        "metrics": {name: value.hex() for name, value in result.metrics.items()},
        "actions": _hash(b"".join(leaf.array(trace.steps()).tobytes() for leaf in trace.actions)),
        "met": _hash(" ".join(episode.checksum for episode in trace.episodes)),
        **({"unfinished": list(script.unfinished), "episodes": len(script.lengths)} if script else {}),
    }


def _duel(duel: Duel, task: Task) -> dict[str, Any]:
    finding = verify_duel("d", duel.serialised(), open_game(task))
    return {
        "key": duel.key, "verdict": duel.verdict.value, "seeds": _hash(" ".join(duel.seeds)),
        "replay": finding.status.value if finding.status is VerificationStatus.VERIFIED else finding.faults[0],
        "players": [player.verdict.value for player in duel.players],
        "matches": [[one.end.value, one.winner, one.plies, *(score.hex() for score in one.scores)] for one in duel.matches],
        "moves": _hash(str(duel.match_moves())),
        "met": _hash(" ".join(match.checksum for match in duel.matches)),
    }  # fmt: skip


def _hash(value: bytes | str) -> str:
    content = value.encode() if isinstance(value, str) else value
    return hashlib.blake2b(content, digest_size=12).hexdigest()
