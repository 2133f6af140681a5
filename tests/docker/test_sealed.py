"""A sealed season in real containers: played with the secret, hidden until the reveal, then verified by everybody."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluator.host.deterministic import pinned_variables
from evaluator.host.loading.submission_folder import read_folder
from evaluator.host.progress import ignore_progress
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox
from evaluator.host.seeds.season_secret import SECRET_VARIABLE, SeasonSecret
from evaluator.model.records.stored_record import SandboxKind, Tier
from leaderboard.core.store import ResultStore
from scripts.git.git_repository import GitRepository
from scripts.repository.checkout import AgentFolder, Checkout
from scripts.repository.season_file import seal_result
from scripts.runs.local_evaluator import open_evaluator
from tests.scripts.checkouts import put, records, run
from tests.scripts.github.remotes import git

pytestmark = pytest.mark.docker
SECRET = SeasonSecret(bytes(range(32)))
# More than either entry begins.
EPISODES = 20
CHALLENGE = f"""\
title: Sealed
season: "1"
quota: {{per_day: 3}}
seeds: sealed
sealed: {{secret_sha256: {SECRET.sha256}, decimals: 0}}
tasks:
  - {{id: CartPole-v1, episodes: 3}}
  - {{id: lake, env: FrozenLake-v1, script: {{steps: 400, last: 3, worst: 0}}}}
"""
# Each tells what it sees wherever it can; the script tells the secret's name, too, if it finds it. The colons keep the word
# from coming up by chance, as four letters do in Base64.
POLICY = """
class Agent:
    def __init__(self, seed):
        print(":MARK:", seed, flush=True)
    def act(self, observation):
        return int(observation[2] + 0.3 * observation[3] > 0)
"""
SCRIPT = """
import json, os, sys
import gymnasium
print(":MARK:", os.environ, flush=True)
env = gymnasium.make(sys.argv[1])
for _ in range(9):
    state, over = env.reset()[0], False
    while not over:
        state, _, ended, cut, _ = env.step((state + 1) % 4)
        over = ended or cut
print(json.dumps({"score": 0}))
"""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory, docker: SelectedSandbox) -> Iterator[Path]:
    """A board on which two entries were played in docker and recorded as the official run records them."""
    root = tmp_path_factory.mktemp("board")
    (root / "challenge.yml").write_text(CHALLENGE)
    put(root / "submissions" / "alice" / "pole", POLICY, "[CartPole-v1]")
    walker = put(root / "submissions" / "bob" / "walker", SCRIPT, "[lake]")
    with (walker / "submission.yml").open("a") as manifest:
        manifest.write("kind: script\nentry: agent.py\n")
    git(root, "init", "-q", "-b", "main", ".")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "all")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in pinned_variables().items():
            patch.setenv(name, value)
        play(root)
        patch.setenv(SECRET_VARIABLE, SECRET.raw.hex())
        yield root


def play(root: Path) -> None:
    """Each entry on its task."""
    made = Checkout(root)
    evaluator = open_evaluator(made, "docker")
    commit = GitRepository(root).resolve("HEAD")
    for login, agent, task in (("alice", "pole", "CartPole-v1"), ("bob", "walker", "lake")):
        path = root / "submissions" / login / agent
        entry = AgentFolder(login=login, agent=agent, path=path, folder=read_folder(path, made.challenge.submissions))
        asked = made.challenge.task(task)
        assert asked is not None
        order = evaluator.request(entry, asked, SECRET.beacon)
        order = dataclasses.replace(order, secret=SECRET, tier=Tier.OFFICIAL, commit=commit)
        result, trace = evaluator.run(order, ignore_progress)
        assert (result.verdict, result.sandbox) == ("ok", SandboxKind.DOCKER), result.message
        assert ":MARK:" in result.log_tail
        assert SECRET.raw.hex() not in result.log_tail
        assert set(result.seeds) <= set(SECRET.episode_seeds("1", task, EPISODES))
        ResultStore(results=root / "results", traces=root / "traces").write(
            *seal_result(made.challenge, SECRET, result, trace)
        )


def test_an_entry_played_in_docker_is_hidden_until_the_reveal_and_verifies_after_it(board: Path) -> None:
    files = [*records(board).values(), *(path.read_bytes() for path in (board / "traces").rglob("*.json"))]
    seeds = [seed for task in ("CartPole-v1", "lake") for seed in SECRET.episode_seeds("1", task, EPISODES)]
    before = run(board, "verify")
    revealed = run(board, "season", "reveal")
    after = run(board, "verify")
    again = run(board, "verify", "--rerun", "--sandbox", "docker", "results/CartPole-v1")

    assert len(files) == 4
    assert [word for word in (":MARK:", *seeds) for content in files if word.encode() in content] == []
    assert before[0] == 0
    assert "0 verified, 2 sealed" in before[2]
    assert revealed[0] == 0, revealed[2]
    assert after[0] == 0
    assert after[2].startswith("2 verified; ")
    assert again[0] == 0, again[2]
    assert again[2].startswith("1 verified; ")
