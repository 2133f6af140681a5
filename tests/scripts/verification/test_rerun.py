"""Playing again refutes what a player that repeats itself would not have done, and accuses nobody else."""

import dataclasses
import json
from pathlib import Path

import pytest

from evaluator.host.progress import ignore_progress
from evaluator.host.sandboxes.process_sandbox import ProcessSandbox
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.host.solo.partial_record import PartialFolder
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.task import ParallelEpisodes, Task
from evaluator.model.records.duel_record import Duel
from scripts.repository.checkout import open_checkout
from scripts.runs.local_evaluator import open_evaluator
from scripts.verification.rerun import (
    INTERRUPTED,
    LIMIT_REACHED,
    NOT_DETERMINISTIC,
    NOT_REPRODUCED,
    OTHER_MACHINE,
    compare_duel,
    rerun,
)
from scripts.verification.verify_records import verify_files
from tests.evaluations import FIRST_LEGAL, RANDOM_PLAYER, duelled
from tests.evaluator.host.solo.test_partial_record import interrupted, partials
from tests.evaluator.host.solo.test_partial_record import played as finished
from tests.scripts.checkouts import game_board, run, submit

__all__ = ["partials"]

TASK = Task(
    id="tictactoe",
    game="pettingzoo.classic.tictactoe_v3",
    matches=6,
    opening=0,
    lanes=ParallelEpisodes(shared=2, separate=2),
)
ONE_GENERATOR = """
import numpy

class Agent:
    memoryless = True
    def __init__(self):
        self.generator = numpy.random.default_rng(1)
    def act(self, observation):
        return int(self.generator.choice(numpy.flatnonzero(observation["action_mask"])))
"""
ENTROPY = ONE_GENERATOR.replace("default_rng(1)", "default_rng()")
LEFT = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 0\n"
DRAWS = "{imports}\nclass Agent:\n    def act(self, observation):\n        return int({choice}) % 2\n"
REPEATABLE = {
    "random": DRAWS.format(imports="import random", choice="random.choice([0, 1])"),
    "numpy": DRAWS.format(imports="import numpy", choice="numpy.random.randint(2)"),
}
NOT_REPEATABLE = {
    "clock": DRAWS.format(imports="import time", choice="time.time_ns() // 1024"),
    "urandom": DRAWS.format(imports="import os", choice="os.urandom(1)[0]"),
    "uuid": DRAWS.format(imports="import uuid", choice="uuid.uuid4().int"),
    "own-entropy": DRAWS.format(imports="import numpy\nOWN = numpy.random.default_rng()", choice="OWN.integers(2)"),
    "address": DRAWS.format(
        imports="import hashlib\nMARK = object()", choice="hashlib.sha256(f'{id(MARK)} {observation}'.encode()).digest()[0]"
    ),
}
SCRIPT = """
import random, sys
import gymnasium as gym

env = gym.make(sys.argv[1])
while True:
    over = False
    env.reset()
    while not over:
        _, _, terminated, truncated, _ = env.step({choice})
        over = terminated or truncated
"""
SCRIPTS = """
  - id: scripted
    env: CartPole-v1
    max_episode_steps: 100
    script: {steps: 800, last: 5, worst: 0}
"""
IN_PROCESS = ("--sandbox", "process")


class Replayer:
    """Holds the duel of two players, counting how often."""

    def __init__(self, one: str, other: str) -> None:
        self.players = one, other
        self.held = 0

    def __call__(self) -> Duel:
        self.held += 1
        return duelled(*self.players, TASK)


def test_the_same_matches_need_one_more_duel() -> None:
    recorded = duelled(RANDOM_PLAYER, FIRST_LEGAL, TASK)
    replayer = Replayer(RANDOM_PLAYER, FIRST_LEGAL)

    assert compare_duel(recorded, replayer) == (VerificationStatus.VERIFIED, [])
    assert replayer.held == 1


def test_other_moves_than_the_players_own_refute() -> None:
    recorded = duelled(FIRST_LEGAL, FIRST_LEGAL + "# another\n", TASK)

    status, faults = compare_duel(recorded, Replayer(RANDOM_PLAYER, FIRST_LEGAL))

    assert (status, faults[0]) == (VerificationStatus.REFUTED, NOT_REPRODUCED)
    assert "played again, match 1 takes another course" in faults


def test_who_draws_for_all_matches_from_one_generator_repeats_itself() -> None:
    recorded = duelled(ONE_GENERATOR, FIRST_LEGAL, TASK)

    assert compare_duel(recorded, Replayer(ONE_GENERATOR, FIRST_LEGAL)) == (VerificationStatus.VERIFIED, [])


def test_who_draws_from_the_machine_is_not_accused() -> None:
    recorded = duelled(ENTROPY, FIRST_LEGAL, TASK)
    replayer = Replayer(ENTROPY, FIRST_LEGAL)

    status, faults = compare_duel(recorded, replayer)

    assert (status, faults[0], replayer.held) == (VerificationStatus.NOT_REPEATABLE, NOT_DETERMINISTIC, 2)


@pytest.mark.parametrize("change", [{"platform": "Plan9 mips"}, {"runtime_digest": "cd" * 32}, {"sandbox": "gvisor"}])
def test_who_was_recorded_on_other_ground_is_not_accused(change: dict[str, str]) -> None:
    recorded = Duel.with_self_hash({**duelled(FIRST_LEGAL, FIRST_LEGAL + "# another\n", TASK).document(), **change})

    status, faults = compare_duel(recorded, Replayer(RANDOM_PLAYER, FIRST_LEGAL))

    assert (status, faults[0]) == (VerificationStatus.NOT_REPEATABLE, OTHER_MACHINE)


def test_who_was_late_then_is_not_accused() -> None:
    document = duelled(FIRST_LEGAL, FIRST_LEGAL + "# another\n", TASK).document()
    late = {**document["matches"][0], "end": "late", "winner": 1, "offenders": [0]}
    recorded = Duel.with_self_hash({**document, "matches": [late, *document["matches"][1:]]})

    status, faults = compare_duel(recorded, Replayer(FIRST_LEGAL, FIRST_LEGAL + "# another\n"))

    assert (status, faults) == (
        VerificationStatus.NOT_REPEATABLE,
        [LIMIT_REACHED, "played again, match 0 takes another course"],
    )


@pytest.fixture
def board(tmp_path: Path) -> Path:
    game_board(tmp_path)
    challenge = tmp_path / "challenge.yml"
    challenge.write_text(challenge.read_text().replace("episodes: 2", "episodes: 8") + SCRIPTS)
    return tmp_path


def script(board: Path, name: str, choice: str) -> None:
    folder = board / submit(board, name, "", "[scripted]")
    (folder / "agent.py").write_text(SCRIPT.format(choice=choice))
    (folder / "submission.yml").write_text(
        f"name: {name}\nalgorithm: none\nkind: script\nentry: agent.py\ntasks: [scripted]\n"
    )


def standings(board: Path, *words: str) -> tuple[int, dict[str, tuple[str, str]], str]:
    """The exit code, each agent's status with its first fault, and what people read."""
    code, out, err = run(board, "verify", *words, "--json")
    return code, {Path(one["path"]).parts[-2]: (one["standing"], *one["faults"][:1]) for one in json.loads(out)}, err


def test_agents_scripts_and_players_that_draw_are_verified_by_playing_again(board: Path) -> None:
    for name, source in REPEATABLE.items():
        run(board, "evaluate", submit(board, name, source, "[CartPole-v1]"), *IN_PROCESS)
    script(board, "scripted", "random.randint(0, 1)")
    assert run(board, "evaluate", "submissions/alice/scripted", *IN_PROCESS)[0] == 0
    player = "import random\n" + LEFT.replace("return 0", "return random.choice(observation['action_mask'].nonzero()[0])")
    run(board, "duel", "example_agents/random", submit(board, "player", player), "--game", "tictactoe", *IN_PROCESS)

    code, outcome, _ = standings(board, "--rerun", *IN_PROCESS)

    assert (code, len(outcome), set(outcome.values())) == (0, 4, {("verified",)})


def test_agents_that_cannot_repeat_themselves_are_told_so_and_not_accused(board: Path) -> None:
    for name, source in NOT_REPEATABLE.items():
        run(board, "evaluate", submit(board, name, source, "[CartPole-v1]"), *IN_PROCESS)
    script(board, "scripted", "random.SystemRandom().randint(0, 1)")
    run(board, "evaluate", "submissions/alice/scripted", *IN_PROCESS)

    assert set(standings(board)[1].values()) == {("verified",)}
    code, outcome, _ = standings(board, "--rerun", *IN_PROCESS)
    _, _, err = run(board, "verify", "--rerun", *IN_PROCESS)

    assert (code, len(outcome), set(outcome.values())) == (0, 6, {("not_repeatable", NOT_DETERMINISTIC)})
    assert "0 verified, 6 not_repeatable; " in err


def test_an_agent_that_repeats_itself_and_never_did_what_is_recorded_is_refuted(board: Path) -> None:
    """What another one did on its seeds: everything but who chose the actions fits."""
    here = open_checkout(board)
    left, random = (here.find(board / submit(board, name, source, "[CartPole-v1]")) for name, source in
                    (("left", LEFT), ("random", REPEATABLE["random"])))  # fmt: skip
    evaluator, task = open_evaluator(here, "process"), here.challenge.task("CartPole-v1")
    assert task is not None
    order = evaluator.request(left, task)
    disguised = dataclasses.replace(left.folder, blobs=random.folder.blobs)
    here.store.write(*evaluator.run(dataclasses.replace(order, folder=disguised), ignore_progress))

    assert standings(board)[:2] == (0, {"left": ("verified",)})
    assert standings(board, "--rerun", *IN_PROCESS)[:2] == (1, {"left": ("refuted", NOT_REPRODUCED)})


def test_an_agent_that_cannot_be_played_here_is_not_accused(board: Path) -> None:
    run(board, "evaluate", submit(board, "left", LEFT, "[CartPole-v1]"), *IN_PROCESS)
    here = open_checkout(board)
    evaluator = open_evaluator(here, "process")

    def broken(cell: SandboxSpec) -> ProcessSandbox:
        raise OSError("no room")

    broken_evaluator = dataclasses.replace(evaluator, sandbox=dataclasses.replace(evaluator.sandbox, opener=broken))
    findings = verify_files(here.challenge, here.store, here.store.files(), quiet=True)

    assert rerun(broken_evaluator, findings, quiet=True) == findings


def test_what_was_played_in_another_season_or_under_other_limits_is_played_so_again(board: Path) -> None:
    """It was refuted: it was played on the seeds of the present season, and printed more than is allowed now."""
    talking = REPEATABLE["random"].replace("        return", "        print('x' * 400)\n        return")
    run(board, "evaluate", submit(board, "talking", talking, "[CartPole-v1]"), *IN_PROCESS)
    player = "import random\n" + LEFT.replace("return 0", "return random.choice(observation['action_mask'].nonzero()[0])")
    run(board, "duel", "example_agents/random", submit(board, "player", player), "--game", "tictactoe", *IN_PROCESS)
    challenge = board / "challenge.yml"
    challenge.write_text(challenge.read_text().replace("season: test", "season: next"))

    code, outcome, _ = standings(board, "--rerun", *IN_PROCESS)

    assert "season: next" in challenge.read_text()
    assert (code, len(outcome), set(outcome.values())) == (0, 2, {("verified",)})


def test_who_was_interrupted_is_not_accused(board: Path, partials: PartialFolder) -> None:
    """One who draws from the process's generator draws other numbers in the process that goes on."""
    here = open_checkout(board)
    task = here.challenge.task("CartPole-v1")
    assert task is not None
    agent = here.find(board / submit(board, "random", REPEATABLE["random"], "[CartPole-v1]"))
    order = open_evaluator(here, "process").request(agent, task)
    interrupted(order, partials, 2)
    done = finished(order, partials)
    here.store.write(done.result, done.trace)

    assert done.result.continued_after
    assert standings(board, "--rerun", *IN_PROCESS)[:2] == (0, {"random": ("not_repeatable", INTERRUPTED)})
