"""Connect Four, random against random, as rows of the report: it counts games instead of steps."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import agents, game_bench
from bench.worlds.measure import NOT_MEASURED, Row
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.sandboxes.select_sandbox import select_sandbox
from scripts.repository.checkout import base_image

WORLD, POLICY = "Connect Four", "random"


def measure_games(kinds: tuple[str, ...] = ("docker", "gvisor")) -> Iterator[Row]:
    """PettingZoo's own loop, duels in sandboxes, and kaggle-environments in its own process."""
    bare = game_bench.bare()
    yield _row("bare env() loop", lambda: bare, bare)
    for kind in kinds:
        yield _row(f"{kind}, one player for all matches", lambda kind=kind: _duel(kind, agents.RANDOM_BATCH), bare)
        yield _row(f"{kind}, memoryless", lambda kind=kind: _duel(kind, agents.RANDOM_PLAYER), bare)
    yield _row("kaggle-environments", _kaggle, bare)


def _duel(kind: str, source: str) -> float:
    return game_bench.contained(source, select_sandbox(kind, base_image(os.environ), lambda line: None))[0]


def _kaggle() -> float:
    python = game_bench.kaggle(Path("build/kaggle").absolute())
    if python is None:
        raise EngineError("kaggle-environments cannot be had here")
    return game_bench.in_kaggle(python)


def _row(way: str, play: Callable[[], float], bare: float) -> Row:
    """A way by its games a second; memory and processor seconds of two sandboxes are not measured here."""
    try:
        speed = play()
    except (EngineError, OSError) as error:
        return Row(world=WORLD, policy=POLICY, way=way, reason=NOT_MEASURED + str(error))
    return Row(
        world=WORLD, policy=POLICY, way=way, steps=1000, seconds=1000 / speed, bare_speed=bare, load=os.getloadavg()[0]
    )
