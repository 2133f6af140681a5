"""Random against random in Connect Four: two containers, a bare PettingZoo loop, and kaggle-environments' own process."""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pettingzoo.classic import connect_four_v3

from bench import agents
from evaluator.host.deterministic import pinned_variables
from evaluator.host.duels.duel_referee import ConnectedPlayer, DuelSetup, DuelTally, play_duel
from evaluator.host.duels.match_pool import MatchSpec
from evaluator.host.duels.openings import draw_openings
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game, replay
from evaluator.host.sandboxes.channel import ByteStream
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxSpec
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.seeds.derived_seeds import opening_seeds, player_seeds
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import MatchEnd

MATCHES = 1000
BARE_GAMES = 300
KAGGLE_GAMES = 30
KAGGLE = "kaggle-environments==1.18.0"
DIGEST = "0" * 64
LIMITS = Limits(cpu_seconds=3600)
TASK = Task(id="connect_four", game="pettingzoo.classic.connect_four_v3", matches=MATCHES)

_KAGGLE = """
import sys, time
from kaggle_environments import make
games = int(sys.argv[1])
make("connectx").run(["random", "random"])
begun = time.perf_counter()
for _ in range(games):
    environment = make("connectx")
    environment.run(["random", "random"])
print(games / (time.perf_counter() - begun))
"""


def bare() -> float:
    """Games per second of the loop that PettingZoo's documentation shows."""
    generator = random.Random(0)
    environment = connect_four_v3.env()
    begun = time.perf_counter()
    for seed in range(BARE_GAMES):
        environment.reset(seed=seed)
        for _ in environment.agent_iter():
            observation, _, terminated, truncated, _ = environment.last()
            if terminated or truncated:
                environment.step(None)
            else:
                mask = observation["action_mask"].tolist()
                environment.step(generator.choice([move for move, legal in enumerate(mask) if legal]))
    return BARE_GAMES / (time.perf_counter() - begun)


def specs(game: PettingZooGame) -> tuple[MatchSpec, ...]:
    """The matches that every variant plays."""
    name = ("bench", "preview", (DIGEST, DIGEST), game.task.id, game.task.matches)
    seeds, own = opening_seeds(*name), player_seeds(*name)
    drawn = draw_openings(game, seeds)
    return tuple(
        MatchSpec(index=i, seed=seeds[i // 2], opening=tuple(drawn[i // 2]), agent_seeds=own[i])
        for i in range(game.task.matches)
    )


class Up:
    """A sandbox that is connected already: starting a container is timed elsewhere."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._stream = sandbox.stream()

    def stream(self) -> ByteStream:
        """The connection."""
        return self._stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)


def contained(source: str, chosen: SelectedSandbox) -> tuple[float, DuelTally, DuelSetup]:
    """Games per second of a duel, both players being in containers that are up; the handshake is counted."""
    game = open_game(TASK)
    with ExitStack() as stack:
        seats = []
        for _ in range(2):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            folder.chmod(0o755)
            (folder / "agent.py").write_text(source)
            cell = SandboxSpec(folder=folder, entry="agent.py", limits=LIMITS, environment=pinned_variables())
            sandbox = chosen.opener(cell)
            stack.callback(sandbox.close)
            seats.append(ConnectedPlayer(sandbox=Up(sandbox)))
        contest = DuelSetup(game=game, specs=specs(game), limits=LIMITS, players=(seats[0], seats[1]))
        begun = time.perf_counter()
        tally = play_duel(contest)
        seconds = time.perf_counter() - begun
    assert tally.faults == (None, None)
    assert all(match.end is MatchEnd.PLAYED for match in tally.matches)
    return MATCHES / seconds, tally, contest


def replayed(tally: DuelTally, contest: DuelSetup) -> float:
    """Games per second of verification on one core."""
    begun = time.perf_counter()
    for spec, match in zip(contest.specs, tally.matches, strict=True):
        now = replay(contest.game, spec.seed, match.moves, spec.index % 2)
        assert now.checksum == match.checksum
    return MATCHES / (time.perf_counter() - begun)


def kaggle(room: Path) -> Path | None:
    """The Python of an environment with kaggle-environments, made now if it is not there; None if PyPI cannot give it."""
    python = room / "bin" / "python"
    done = room / "done"
    if not done.exists():
        print(f"Making {room} with {KAGGLE} …", file=sys.stderr)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", KAGGLE]
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", room], check=True, capture_output=True)
            subprocess.run(install, check=True, capture_output=True, timeout=900)
        except (subprocess.SubprocessError, OSError) as error:
            print(f"without kaggle-environments: {str(error)[:200]}", file=sys.stderr)
            return None
        done.touch()
    return python


def in_kaggle(python: Path) -> float:
    """Games per second of kaggle-environments' connectx, its two random players in its own process."""
    command = [str(python), "-c", _KAGGLE, str(KAGGLE_GAMES)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout
    return float(json.loads(printed.split()[-1]))


def rounds(count: int, boxes: dict[str, SelectedSandbox], python: Path | None) -> Iterator[dict[str, float]]:
    """Each round times every variant once, one after the other."""
    for _ in range(count):
        loop = bare()
        row = {"bare env() loop, games/s": loop}
        speed, tally, contest = contained(agents.RANDOM_BATCH, boxes["docker"])
        row["duel, act_batch, games/s"] = speed
        row["duel, act_batch / bare"] = speed / loop
        single = contained(agents.RANDOM_PLAYER, boxes["docker"])[0]
        row["duel, memoryless, games/s"] = single
        row["duel, memoryless / bare"] = single / loop
        row["verify matches, one core / bare"] = replayed(tally, contest) / loop
        if "gvisor" in boxes:
            row["duel, gVisor, act_batch / bare"] = contained(agents.RANDOM_BATCH, boxes["gvisor"])[0] / loop
        if python is not None:
            theirs = in_kaggle(python)
            row["kaggle-environments, games/s"] = theirs
            row["duel, act_batch / kaggle"] = speed / theirs
            row["duel, memoryless / kaggle"] = single / theirs
        yield row


def run(boxes: dict[str, SelectedSandbox], count: int = 5) -> dict[str, dict[str, float]]:
    """Median, least and greatest of each figure over the rounds."""
    rows = list(rounds(count, boxes, kaggle(Path("build/kaggle").absolute())))
    return {
        name: {
            "median": statistics.median(row[name] for row in rows),
            "min": min(row[name] for row in rows),
            "max": max(row[name] for row in rows),
        }
        for name in rows[0]
    }
