"""A preview's games: validation, baselines, who is nearest; and what a report believes of the duels it is handed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.trace import TraceLeaf
from leaderboard.comments.log_excerpt import log_tails
from leaderboard.core.store import ResultStore
from scripts.git.git_repository import GitRepository
from scripts.github.api.client import GitHub
from scripts.github.preview import run_preview
from scripts.github.preview.preview_artifact import LOG_FILE, ArtifactError, read_artifact
from scripts.github.pull_request import report_previews
from scripts.repository.checkout import open_checkout
from tests.github.server import GitHubStandIn
from tests.leaderboard.comments.github_markdown import Seen
from tests.leaderboard.make import duel as made
from tests.scripts.github.games import CHEATS, FIRST, LAST, MIDDLE, entered, game_board
from tests.scripts.github.preview.test_run_preview import PreviewBoard
from tests.scripts.github.remotes import Clone, git
from tests.scripts.github.scenes import Scene, completed, zipped

MINE = MIDDLE + b"# mine\n"


class GamePreviewBoard(PreviewBoard):
    """A runner's disk with a board that has a game and three players."""

    def __init__(self, place: Path) -> None:
        others = {f"p{n}": FIRST + b"# %d\n" % n for n in range(6)}
        files = {name: content for login, source in others.items() for name, content in entered(login, source).items()}
        self.main = game_board(place, files)
        git(self.main.path, "reset", "-q", "--hard")
        self.place = place
        self.out, self.summary = place / "out", place / "summary.md"
        self.head = Clone(place / "_head")
        git(place, "clone", "-q", str(place / "origin.git"), "_head")

    def record(self, strengths: dict[str, str]) -> None:
        """Official duels of main's players with the first baseline; the letters are the player's outcomes."""
        board = open_checkout(self.main.path)
        game = board.challenge.tasks[0]
        entries = {agent.login: agent.entry() for agent in board.read_all()[0] if agent.agent in ("a", "first")}
        store = ResultStore(results=self.main.path / "results", traces=self.main.path / "traces")
        for entry in entries.values():
            store.write(made(entry, on=game, at="2026-01-01T00:00:00Z"))
        for login, outcomes in strengths.items():
            store.write(made(entries[login], entries["local"], outcomes, on=game))


@pytest.fixture
def preview_board(tmp_path: Path) -> GamePreviewBoard:
    return GamePreviewBoard(tmp_path)


def met(agent: PreviewedAgent) -> list[str]:
    """Whom it met, in order."""
    own = (agent.login, agent.agent)
    names = [[(player.login, player.agent) for player in duel.players] for duel in agent.duels]
    return ["/".join(next((name for name in pair if name != own), own)) for pair in names]


def test_a_player_meets_itself_and_then_the_baselines(preview_board: GamePreviewBoard) -> None:
    preview_board.change(entered("alice", MINE))
    (agent,) = preview_board.run().agents

    assert met(agent) == ["alice/a", "local/first", "local/last"]
    assert {(duel.tier, duel.beacon, duel.provenance.commit) for duel in agent.duels} == {
        ("preview", "preview", preview_board.head.head)
    }
    assert {p.login_id for duel in agent.duels for p in duel.players} == {11, None}
    assert all(sum(times) == 0 for duel in agent.duels for times in duel.match_milliseconds())
    body = preview_board.said()
    assert "✅ Preview" in body.splitlines()[1]
    assert "`local/first` (baseline)" in body
    assert "| Against | Won | Drawn | Lost |" in body


def test_who_is_rated_nearest_is_met_next_and_the_comment_rates(preview_board: GamePreviewBoard) -> None:
    wins = (11, 9, 6, 3, 1)
    preview_board.record({f"p{n}": "w" * won + "l" * (12 - won) for n, won in enumerate(wins)})
    preview_board.change(entered("alice", MINE))
    (agent,) = preview_board.run().agents

    assert met(agent)[:3] == ["alice/a", "local/first", "local/last"]
    assert len(met(agent)) == 6
    assert {name.partition("/")[0] for name in met(agent)[3:]} < {"p0", "p1", "p2", "p3", "p4"}
    body = preview_board.said()
    assert "| Game | Rating | 95 % interval | Would place | Ranks |" in body
    assert "`local/first` has rating 0" in body
    assert re.search(r"✅ Preview: [+−]?\d+ Elo on Tic-tac-toe, place \d of 6", body.splitlines()[1])


def test_a_player_that_breaks_a_rule_is_refused_with_the_position_and_meets_nobody(
    preview_board: GamePreviewBoard, capfd: pytest.CaptureFixture[str]
) -> None:
    preview_board.change(entered("alice", CHEATS))
    (agent,) = preview_board.run().agents
    printed = capfd.readouterr()
    body = preview_board.said()

    assert met(agent) == ["alice/a"]
    assert "SECRET" not in printed.out + printed.err
    assert not any(player.log_tail for duel in agent.duels for player in duel.players)
    assert "SECRET" in log_tails((preview_board.out / LOG_FILE).read_text())["alice/a on tictactoe"]
    assert "❌ Refused on" in body.splitlines()[1]
    assert "the illegal move" in body
    assert "The position in which that happened" in body
    assert "X" in body.partition("The position in which")[2].partition("What to do")[0]
    assert "##[" not in (preview_board.out / LOG_FILE).read_text()


def test_what_an_opponent_prints_is_in_none_of_the_files(
    preview_board: GamePreviewBoard, capfd: pytest.CaptureFixture[str]
) -> None:
    loud = FIRST.replace(b"        return", b"        print(':LOUD:')\n        return")
    preview_board.main.commit({"example_agents/first/agent.py": loud})
    preview_board.main.push()
    git(preview_board.main.path, "reset", "-q", "--hard")
    git(preview_board.head.path, "fetch", "-q", "origin", "main")
    preview_board.change(entered("alice", MINE))
    (agent,) = preview_board.run().agents
    printed = capfd.readouterr()
    written = "".join(path.read_text() for path in preview_board.out.iterdir())

    assert "local/first" in met(agent)
    assert ":LOUD:" not in printed.out + printed.err + written + preview_board.said()


def test_what_there_is_no_time_for_is_said_once(preview_board: GamePreviewBoard) -> None:
    preview_board.change(entered("alice", MINE))
    ticks = iter([0.0, 1.0, 1.0, *[1e9] * 50])
    preview = preview_board.run(budget=10.0, clock=lambda: next(ticks))

    assert len(preview.agents[0].duels) < 3
    assert [line for line in preview.skipped if "time was up" in line] == [
        "alice/a on tictactoe: the preview’s time was up; the official run plays the rest after the merge"
    ]


def test_what_there_is_no_room_for_is_told_with_its_outcome(
    preview_board: GamePreviewBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview_board.change(entered("alice", MINE))
    whole = len(run_preview.serialised_preview(preview_board.run()))
    monkeypatch.setattr(run_preview, "PREVIEW_BYTES", whole - 600)
    preview = preview_board.run()

    assert len(run_preview.serialised_preview(preview)) <= whole - 600
    assert any(line.startswith("alice/a v local/last on tictactoe: +") for line in preview.skipped)
    assert met(preview.agents[0]) == ["alice/a", "local/first"]


def test_what_there_is_no_room_for_names_nobody_where_names_are_not_shown(
    preview_board: GamePreviewBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    preview_board.change(entered("alice", MINE))
    whole = len(run_preview.serialised_preview(preview_board.run()))
    monkeypatch.setattr(run_preview, "PREVIEW_BYTES", whole - 600)
    monkeypatch.setattr(run_preview, "is_anonymous", lambda challenge, now: True)
    preview = preview_board.run()

    assert "alice/a on tictactoe: a duel; there is no room for its matches in a preview" in preview.skipped
    assert not [line for line in preview.skipped if " v " in line or "last" in line]


# The report


@pytest.fixture
def scene(tmp_path: Path, standin: GitHubStandIn, github: GitHub) -> Scene:
    place = tmp_path / "scene"
    place.mkdir()
    return Scene(place, game_board(place, entered("bob", FIRST + b"# bob\n")), standin, github)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> PreviewedAgent:
    """Alice's player as a preview played it, in the sandbox that a report takes."""
    preview_board = GamePreviewBoard(tmp_path_factory.mktemp("played"))
    preview_board.change(entered("alice", MINE))
    (agent,) = preview_board.run().agents
    contained = [Duel.with_self_hash({**duel.document(), "sandbox": "docker"}) for duel in agent.duels]
    return agent.model_copy(update={"duels": tuple(contained)})


def told(scene: Scene, sha: str, agent: PreviewedAgent, **fields: Any) -> str:
    """What the pull request is told of a preview that says this."""
    content = zipped(Preview(schema=1, head_sha=sha, evaluator_sha=scene.clone.head, agents=(agent,), **fields))
    return reported(scene, content)


def reported(scene: Scene, content: bytes) -> str:
    scene.ran(31, content=content)
    assert report_previews.report_preview(scene.context("workflow_run", completed(31))) == 0
    (body,) = scene.bodies()
    return body.replace("\N{NO-BREAK SPACE}", " ")


def test_a_true_preview_is_told(scene: Scene, played: PreviewedAgent) -> None:
    sha = scene.push(entered("alice", MINE))
    body = told(scene, sha, played)

    assert scene.statuses(sha)[0] == ("success", "preview: 1 of 1 evaluations scored; unofficial until merged")
    assert "`local/first` (baseline)" in body


def duels(agent: PreviewedAgent, change: Callable[[dict[str, Any]], dict[str, Any]], which: int = 1) -> PreviewedAgent:
    """The agent with one of its duels changed and sealed anew; nothing is validated on the way."""
    forged = [Duel.with_self_hash(change(d.document())) if n == which else d for n, d in enumerate(agent.duels)]
    return agent.model_copy(update={"duels": tuple(forged)})


def other(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Changes the side that is not alice's."""
    return lambda d: d | {"players": [{**p, **(fields if p["login"] != "alice" else {})} for p in d["players"]]}


def first_match(**fields: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda d: d | {"matches": [{**d["matches"][0], **fields}, *d["matches"][1:]]}


FORGED: list[tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = [
    (other(login="bob", agent="a"), "does not stand on main"),
    (other(login="mallory", agent="strong"), "does not stand on main"),
    (other(submission_digest="0" * 64), "does not stand on main"),
    (other(login_id=22), "an account that is not the author"),
    (lambda d: d | {"players": [{**p, "login_id": 99} if p["login"] == "alice" else p for p in d["players"]]}, "account"),
    (lambda d: d | {"task": "chess"}, "a game that the board does not have"),
    (lambda d: d | {"season": "2"}, "other seeds"),
    (lambda d: d | {"beacon": "b" * 40}, "other seeds"),
    (lambda d: d | {"seeds": ["0" * 32] * 2}, "do not give what it says"),
    (first_match(checksum="0" * 32), "do not give what it says"),
    (first_match(scores=[7.0, -7.0], winner=0), "do not give what it says"),
    (first_match(end="illegal", offenders=[1], winner=0, refused=99), "do not give what it says"),
    (lambda d: d | {"moves": TraceLeaf(dtype="u1", shape=(), data="eJwDAAAAAAE=").model_dump()}, "do not give what it says"),
    (lambda d: d | {"moves": {**d["moves"], "data": "!"}}, "do not give what it says"),
]


@pytest.mark.parametrize(("change", "fault"), FORGED)
def test_a_forged_duel_is_never_told(
    scene: Scene, played: PreviewedAgent, change: Callable[[dict[str, Any]], dict[str, Any]], fault: str
) -> None:
    sha = scene.push(entered("alice", MINE))
    body = told(scene, sha, duels(played, change))

    assert fault in body
    assert scene.statuses(sha)[0][0] == "error"
    assert "Against" not in body


def remade(agent: PreviewedAgent, **fields: Any) -> bytes:
    document = Preview(schema=1, head_sha="a" * 40, evaluator_sha="b" * 40, agents=(agent,)).document()
    document["agents"][0] |= fields
    return as_zip(document)


def as_zip(document: dict[str, Any]) -> bytes:
    class Raw:
        def document(self) -> dict[str, Any]:
            return document

    return zipped(Raw())  # type: ignore[arg-type]


def test_duels_of_another_or_too_many_or_twice_are_no_preview(played: PreviewedAgent) -> None:
    own, first, _ = (duel.document() for duel in played.duels)
    assert len(read_artifact(remade(played))[0].agents[0].duels) == 3

    def stranger(document: dict[str, Any]) -> dict[str, Any]:
        return other(login="zed")(document | {"players": [{**p, "login": "carol"} for p in document["players"]]})

    def renamed(number: int) -> dict[str, Any]:
        return Duel.with_self_hash(other(login=f"zed{number}")(first)).document()

    wrong = {
        "another agent": [Duel.with_self_hash(stranger(first)).document()],
        "met twice": [own, first, first],
        "6 duels": [own, *(renamed(number) for number in range(6))],
        "class preview": [Duel.with_self_hash(first | {"class": "official"}).document()],
        "log tails": [Duel.with_self_hash(other(log_tail="x")(first)).document()],
        "its own hash": [first | {"self_sha256": "0" * 64}],
    }
    for fault, forged in wrong.items():
        with pytest.raises(ArtifactError, match=fault):
            read_artifact(remade(played, duels=forged))


def test_an_opponent_that_changed_meanwhile_is_still_told_but_rates_nobody(scene: Scene, played: PreviewedAgent) -> None:
    sha = scene.push(entered("alice", MINE))
    before = scene.clone.head
    scene.clone.commit({"example_agents/last/agent.py": LAST + b"# 2\n"})
    content = zipped(Preview(schema=1, head_sha=sha, evaluator_sha=before, agents=(played,)))
    body = reported(scene, content)

    assert "`local/last`" in body
    assert scene.statuses(sha)[0][0] == "success"


@pytest.mark.attack(
    "preview_by_an_old_evaluator", family="bot", outcome="only what differed is read",
    tries="Names an old commit of main as the evaluator's, so that each report of a preview reads the whole board again.",
)  # fmt: skip
def test_an_older_evaluator_makes_nobody_read_the_board_twice(
    scene: Scene, played: PreviewedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha, read = scene.push(entered("alice", MINE)), list[str]()
    before, plain = scene.clone.head, GitRepository.read_each
    scene.clone.commit({"example_agents/last/agent.py": LAST + b"# 2\n"})
    monkeypatch.setattr(
        GitRepository, "read_each", lambda self, oids, **kind: read.extend(oids) or plain(self, oids, **kind)
    )
    reported(scene, zipped(Preview(schema=1, head_sha=sha, evaluator_sha=before, agents=(played,))))

    assert read.count(git(scene.clone.path, "rev-parse", f"{before}:submissions/bob/a/agent.py")) == 1


def test_a_player_that_crashed_against_another_is_told_so(scene: Scene, played: PreviewedAgent) -> None:
    sha = scene.push(entered("alice", MINE))

    def crashed(document: dict[str, Any]) -> dict[str, Any]:
        side = next(n for n, player in enumerate(document["players"]) if player["login"] == "alice")
        players = [{**p, **({"verdict": "crashed", "message": "@torvalds ```"} if n == side else {})}
                   for n, p in enumerate(document["players"])]  # fmt: skip
        return document | {"players": players}

    body = told(scene, sha, duels(played, crashed))
    assert "Lost by breaking a rule" in body
    assert "@torvalds" in " ".join(Seen(body).code)
    assert "@torvalds" not in " ".join(Seen(body).prose)
