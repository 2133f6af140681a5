"""Duels for tests: two sources, real sandboxes, small games."""

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evaluator.host.deterministic import pinned_variables
from evaluator.host.duels.duel_referee import ConnectedPlayer, DuelSetup, DuelTally, play_duel
from evaluator.host.duels.match_pool import MatchSpec
from evaluator.host.duels.openings import draw_openings
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxSpec
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.seeds.derived_seeds import opening_seeds, player_seeds
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from tests.evaluations import DIGEST, SEASON

TINY = "tests.evaluator.tiny_games"

HALF_AN_ANSWER = """
import os, time
class Agent:
    memoryless = True
    def act(self, observation):
        for fd in range(3, 20):
            try:
                os.write(fd, b"\\x10\\0")
            except OSError:
                pass
        time.sleep(600)
"""
# Each match its own agent and generator: what it does hangs on nothing but its seed and what it sees.
RANDOM = """
import random
class Agent:
    def __init__(self, seed):
        self.generator = random.Random(seed)
    def act(self, observation):
        mask = observation["action_mask"].tolist()
        return self.generator.choice([move for move, legal in enumerate(mask) if legal])
"""
ZERO = """
class Agent:
    memoryless = True
    def act(self, observation):
        return 0
"""


def specs(game: PettingZooGame) -> tuple[MatchSpec, ...]:
    """The matches of a duel."""
    task = game.task
    name = (SEASON, "preview", (DIGEST, DIGEST), task.id, task.matches)
    seeds, own = opening_seeds(*name), player_seeds(*name)
    drawn = draw_openings(game, seeds)
    return tuple(
        MatchSpec(index=i, seed=seeds[i // 2], opening=tuple(drawn[i // 2]), agent_seeds=own[i]) for i in range(task.matches)
    )


def duelled(
    sources: tuple[str, str],
    task: Task,
    chosen: SelectedSandbox,
    limits: Limits | None = None,
    adapters: Sequence[str | None] = (None, None),
    logs: list[str] | None = None,
) -> DuelTally:
    """What the referee keeps of two players; `logs` is given what they printed."""
    limits = limits or Limits()
    game = open_game(task)
    with contextlib.ExitStack() as stack:
        sandboxes: list[Sandbox] = []
        for source, adapter in zip(sources, adapters, strict=True):
            room = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            room.chmod(0o755)
            (room / "agent.py").write_text(source)
            cell = SandboxSpec(
                folder=room,
                entry="agent.py",
                limits=limits,
                environment=pinned_variables(),
                adapter=adapter,
                wall_seconds=2 * limits.wall_seconds + 600,
            )
            sandboxes.append(chosen.opener(cell))
            stack.callback(sandboxes[-1].close)
        seats = (ConnectedPlayer(sandbox=sandboxes[0]), ConnectedPlayer(sandbox=sandboxes[1]))
        tally = play_duel(DuelSetup(game=game, specs=specs(game), limits=limits, players=seats))
        if logs is not None:
            for sandbox in sandboxes:
                sandbox.end()
                logs.append(sandbox.log_tail())
        return tally
