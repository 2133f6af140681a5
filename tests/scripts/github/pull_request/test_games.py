"""What merged pull requests and maintainers are told of games."""

from pathlib import Path

import pytest

from leaderboard.core.store import ResultStore
from scripts.commands import bot
from scripts.github.api.client import GitHub
from scripts.github.api.responses import PullRequest
from scripts.github.pull_request import announce_official_scores, reconcile, slash_commands
from scripts.github.pull_request.judge_preview import guard_pull
from scripts.repository.checkout import Checkout
from tests.github.server import GitHubStandIn
from tests.github.world import NAME, OWNER
from tests.leaderboard.make import duel
from tests.scripts.github.games import CHALLENGE, FIRST, LAST, MIDDLE, entered, game_board
from tests.scripts.github.remotes import git
from tests.scripts.github.rounds import RUN
from tests.scripts.github.scenes import Scene, commented


@pytest.fixture
def scene(tmp_path: Path, standin: GitHubStandIn, github: GitHub) -> Scene:
    return Scene(tmp_path, game_board(tmp_path), standin, github)


def merged(scene: Scene) -> None:
    scene.push(entered("alice", MIDDLE))
    scene.merge()
    git(scene.clone.path, "reset", "-q", "--hard")


def record(scene: Scene, names: list[tuple[str, str, str]], **fields: object) -> None:
    board = Checkout(scene.clone.path)
    entries = {f"{submission.login}/{submission.agent}": submission.entry() for submission in board.read_all()[0]}
    store = ResultStore(results=scene.clone.path / "results", traces=scene.clone.path / "traces")
    for number, (first, second, outcomes) in enumerate(names):
        provenance = {"provenance": {"evaluated_at": "2026-01-01T00:00:00Z", "run_url": RUN}}
        made = duel(entries[first], entries[second], outcomes, on=board.challenge.tasks[0], **provenance, **fields)
        path = store.path_of(made)
        path.parent.mkdir(parents=True, exist_ok=True)
        place = path if outcomes else path.with_name(f"{path.stem}.try{number + 1}.json")
        place.write_bytes(made.serialised())


VALIDATED = [("alice/a", "alice/a", "dd"), ("local/first", "local/first", "dd"), ("local/last", "local/last", "dd")]


def test_a_merged_player_is_told_what_is_pending_then_its_rating(scene: Scene) -> None:
    merged(scene)
    announce_official_scores.announce_merged(scene.context())
    assert "alice/a on Tic-tac-toe" in scene.bodies()[0]
    assert "official" not in scene.world.labelled.get(7, [])

    record(scene, [*VALIDATED, ("alice/a", "local/first", "wwdl")])
    announce_official_scores.announce_merged(scene.context())
    (body,) = scene.bodies()
    assert "Official:" in body
    assert "Elo on" in body
    assert "`local/first` (baseline)" in body
    assert RUN in body
    assert "official" in scene.world.labelled[7]


def test_a_merged_player_that_breaks_a_rule_is_told_so(scene: Scene) -> None:
    merged(scene)
    record(scene, [("alice/a", "alice/a", "di")])
    announce_official_scores.announce_merged(scene.context())

    assert "refused, it broke a rule" in scene.bodies()[0]
    assert "official" in scene.world.labelled[7]


def test_a_duel_that_is_given_up_is_reported_to_the_maintainers(scene: Scene) -> None:
    merged(scene)
    record(scene, [("alice/a", "local/first", "")] * 3, message="no engine")
    reconcile.reconcile_pulls(scene.context())
    (issue,) = scene.world.issues.values()
    assert "alice/a v local/first on tictactoe has no official result" in issue.body

    record(scene, [("alice/a", "local/first", "wd")])
    reconcile.reconcile_pulls(scene.context())
    assert issue.state == "closed"


def test_an_example_that_changed_is_no_longer_in_the_report(scene: Scene) -> None:
    merged(scene)
    record(scene, [("alice/a", "local/first", "")] * 3, message="no engine")
    scene.clone.commit({"example_agents/first/agent.py": LAST + b"# 2\n"})
    reconcile.reconcile_pulls(scene.context())

    assert not scene.world.issues


@pytest.mark.attack(
    "login_that_played_under_another_number", family="people", outcome="refused",
    tries="Registers a player's former login to go on with its rating.",
)  # fmt: skip
def test_an_account_whose_login_played_under_another_number_is_refused(scene: Scene) -> None:
    """The guard knows the numbers of players too."""
    merged(scene)
    record(scene, [("alice/a", "alice/a", "dd")])
    context = scene.context()
    for made in context.duels:
        object.__setattr__(made, "players", tuple(p.model_copy(update={"login_id": 999}) for p in made.players))
    scene.push(entered("alice", FIRST), 8)
    pull = next(pull for pull in scene.github.open_pulls() if pull.number == 8)
    assert isinstance(pull, PullRequest)

    assert "belongs to another account" in " ".join(guard_pull(context, pull).faults)


def test_the_next_round_is_asked_of_mains_own_workflow(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    event = tmp_path / "event.json"
    event.write_text("{}")
    variables = {
        "GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(event), "GITHUB_RUN_ID": "500",
        "GITHUB_REPOSITORY": f"{OWNER}/{NAME}", "GITHUB_REPOSITORY_ID": "1", "GITHUB_SHA": scene.clone.head,
        "GITHUB_API_URL": scene.standin.address, "GITHUB_TOKEN": "bot-token", "GITHUB_WORKSPACE": str(scene.clone.path),
        "PULLRANK_PACE": "0",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert bot.again() == 0
    assert scene.world.dispatched == [{"workflow": "official.yml", "ref": "main", "inputs": {}}]


def test_publish_says_whether_another_round_is_due(scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The whole step as the workflow calls it: validations first, pairs in the second round, then rest."""
    output, event = tmp_path / "output", tmp_path / "event.json"
    event.write_text("{}")
    merged(scene)
    scene.clone.push()
    variables = {
        "GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": str(event), "GITHUB_RUN_ID": "7",
        "GITHUB_REPOSITORY": f"{OWNER}/{NAME}", "GITHUB_REPOSITORY_ID": "1", "GITHUB_SHA": scene.clone.head,
        "GITHUB_API_URL": scene.standin.address, "GITHUB_TOKEN": "bot-token", "GITHUB_WORKSPACE": str(scene.clone.path),
        "GITHUB_OUTPUT": str(output), "PULLRANK_PACE": "0",
    }  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (scene.clone.path / "challenge.yml").write_bytes(CHALLENGE)
    outputs = []
    for number in range(3):
        output.write_text("")
        bot.plan(sandbox="process")
        values = dict(line.split("=", 1) for line in output.read_text().splitlines())
        shards, results = int(values["total"]), values["results_sha"].strip('"')
        place = tmp_path / f"round-{number}"
        for shard in range(shards):
            bot.evaluate(shard, shards, scene.clone.head, place / f"shard-{shard}", results, "process")
        bot.publish([place], scene.clone.head, shards, results, place / "accepted", "both", "process")
        outputs.append([line for line in output.read_text().splitlines() if line.startswith("again")])

    assert outputs == [["again=true"], ["again=false"], ["again=false"]]


def test_rank_names_the_agents_that_only_play_games(scene: Scene) -> None:
    merged(scene)
    record(scene, [*VALIDATED, ("alice/a", "local/first", "wwdl")])
    asked = scene.world.comment(7, "eve", "/rank")

    context = scene.context("issue_comment", commented(7, asked.id, "/rank", ("eve", 66)))

    assert slash_commands.run_slash_command(context) == 0
    assert "Current places of your agents" in scene.bodies()[0]
    assert "Tic-tac-toe" in scene.bodies()[0]
