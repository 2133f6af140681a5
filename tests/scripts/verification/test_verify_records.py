"""One list of files, results and duels together: each is verified as what it is."""

from pathlib import Path

import pytest

from evaluator.host.verification import VerificationStatus
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.core.store import ResultStore
from scripts.verification.verify_records import SeenRecords, verify_files
from tests.evaluations import ANGLE_RULE, FIRST_LEGAL, RANDOM_PLAYER, duelled, evaluated

POLE = Task(id="CartPole-v1", episodes=2)
GAME = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=4)
CHALLENGE = Challenge(title="Test", season="test", tasks=(POLE, GAME))


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    """A store with a result and a duel."""
    outcome = ResultStore(results=tmp_path / "results", traces=tmp_path / "traces")
    evaluation = evaluated(ANGLE_RULE, POLE)
    outcome.write(evaluation.result, evaluation.trace)
    outcome.write(duelled(RANDOM_PLAYER, FIRST_LEGAL, GAME))
    return outcome


def both(store: ResultStore) -> list[Path]:
    return [*store.files(), *store.duel_files()]


def test_results_and_duels_are_verified_together(store: ResultStore) -> None:
    findings = verify_files(CHALLENGE, store, both(store), quiet=True)

    assert [(finding.status, finding.faults) for finding in findings] == [(VerificationStatus.VERIFIED, ())] * 2
    assert [Path(finding.path).parts[-4:-2] for finding in findings] == [
        ("CartPole-v1", "alice"), ("results", "tictactoe"),
    ]  # fmt: skip
    assert all(finding.steps for finding in findings)


def test_a_forged_duel_is_refuted_among_honest_files(store: ResultStore) -> None:
    duels, damaged = store.read_duels()
    assert damaged == []
    matches = duels[0].document()["matches"]
    decided = next(index for index, match in enumerate(matches) if match["winner"] is not None)
    matches[decided]["winner"] = 1 - matches[decided]["winner"]
    store.write(Duel.with_self_hash({**duels[0].document(), "matches": matches}))

    findings = {f.path: f for f in verify_files(CHALLENGE, store, both(store), quiet=True)}

    assert sorted(finding.status for finding in findings.values()) == [
        VerificationStatus.REFUTED,
        VerificationStatus.VERIFIED,
    ]
    assert findings[str(next(store.duel_files()))].faults == (f"match {decided} has another winner than its scores",)


@pytest.mark.parametrize("tasks", [(POLE,), (POLE, GAME.model_copy(update={"matches": 6})), (POLE, Task(id="tictactoe"))])
def test_a_duel_of_a_game_that_is_not_here_any_more_is_stale(tasks: tuple[Task, ...], store: ResultStore) -> None:
    challenge = CHALLENGE.model_copy(update={"tasks": tasks})

    assert [f.status for f in verify_files(challenge, store, store.duel_files(), quiet=True)] == [VerificationStatus.STALE]


def test_a_result_under_the_name_of_a_game_is_stale(store: ResultStore) -> None:
    game = GAME.model_copy(update={"id": "CartPole-v1"})
    challenge = CHALLENGE.model_copy(update={"tasks": (game,)})

    assert [f.status for f in verify_files(challenge, store, store.files(), quiet=True)] == [VerificationStatus.STALE]


def test_what_was_verified_once_is_remembered(store: ResultStore, tmp_path: Path) -> None:
    seen = SeenRecords(tmp_path / "seen")
    seen.remember(CHALLENGE, store, verify_files(CHALLENGE, store, both(store), quiet=True))

    before, new = SeenRecords(tmp_path / "seen").split(CHALLENGE, store, both(store))
    assert (before, new) == (both(store), [])
    path = next(store.duel_files())
    path.write_bytes(path.read_bytes().replace(b'"ok"', b'"no"'))
    assert SeenRecords(tmp_path / "seen").split(CHALLENGE, store, both(store))[1] == [path]
