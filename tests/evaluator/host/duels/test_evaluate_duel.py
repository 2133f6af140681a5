"""A duel from its order to its file: verdicts, forfeits, failures of ours, and what is written down."""

import dataclasses
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from evaluator.host.docker.agent_image import IMAGE_FETCH_SECONDS, LOAD_SECONDS
from evaluator.host.docker.engine_errors import EngineError
from evaluator.host.duels.evaluate_duel import FETCH_SPARE, DuelPlayer, DuelRequest, evaluate_duel, order_sides
from evaluator.host.duels.openings import draw_openings
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.errors import AgentFault, RegistryFault, SandboxClosed
from evaluator.host.sandboxes.sandbox import Sandbox, SandboxFactory, SandboxSpec
from evaluator.host.seeds.derived_seeds import opening_seeds, player_seeds
from evaluator.host.verification import VerificationStatus
from evaluator.model import canonical_json
from evaluator.model.config.limits import Limits
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.stored_record import SandboxKind
from evaluator.model.records.verdict import Verdict
from leaderboard.ratings.rated_duels import validation_fault
from tests.evaluations import DIGEST, FIRST_LEGAL, RANDOM_PLAYER, SEASON, duel_order, duelled, folder, process

TASK = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=6)
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

NEVER_STARTS = "import time\ntime.sleep(60)\n"
BROKEN = "raise RuntimeError('no model file')\n"
TALKER = FIRST_LEGAL.replace("    def act", "    def __init__(self):\n        print('hello from the player')\n    def act")
CRASHES = """
class Agent:
    memoryless = True
    def act(self, observation):
        raise ZeroDivisionError("on purpose")
"""
ILLEGAL = """
class Agent:
    memoryless = True
    def act(self, observation):
        return int(observation["action_mask"].argmin())
"""


def held(order: DuelRequest, opener: SandboxFactory, kind: SandboxKind = SandboxKind.PROCESS) -> Duel:
    return evaluate_duel(order, kind, opener, lambda: NOW, lambda done: None)


@pytest.fixture(scope="module")
def honest() -> Duel:
    return duelled(RANDOM_PLAYER, TALKER, TASK)


def test_a_duel_says_everything_that_a_reader_needs(honest: Duel) -> None:
    order = duel_order(RANDOM_PLAYER, TALKER, TASK)

    assert (honest.verdict, honest.message, honest.key) == (Verdict.OK, "", order.wanted().key())
    assert [player.name for player in honest.players] == [("alice", "one"), ("bob", "other")]
    assert [player.verdict for player in honest.players] == [Verdict.OK, Verdict.OK]
    assert [player.submission_digest for player in honest.players] == [folder(RANDOM_PLAYER).digest, folder(TALKER).digest]
    assert (honest.task, honest.task_digest, honest.season, honest.beacon) == ("tictactoe", TASK.digest(), SEASON, "preview")
    assert (honest.runtime_digest, honest.sandbox, honest.provenance.evaluated_at) == (
        DIGEST, SandboxKind.PROCESS, "2026-01-02T03:04:05Z",
    )  # fmt: skip
    assert honest.seeds == opening_seeds(SEASON, "preview", order.digests, "tictactoe", 6)
    assert {"python", "pettingzoo"} <= honest.versions.keys()
    assert honest.self_sha256 == honest.self_hash()


def test_the_moves_and_times_of_each_match_are_kept(honest: Duel) -> None:
    moves, times = honest.match_moves(), honest.match_milliseconds()

    assert [len(row) for row in moves] == [len(row) for row in times] == [match.plies for match in honest.matches]
    assert [row[:2] for row in moves[::2]] == [row[:2] for row in moves[1::2]]
    assert len({tuple(row[:2]) for row in moves}) == 3
    assert all(row[:2] == [0, 0] and min(row) >= 0 for row in times)


def test_each_side_says_what_it_used_and_printed(honest: Duel) -> None:
    own = sum(match.plies - 2 for match in honest.matches)

    assert sum(player.cost.steps for player in honest.players) == own
    assert [player.log_tail for player in honest.players] == ["", "hello from the player"]
    for player in honest.players:
        assert player.cost.steps >= 6
        assert 0 <= player.cost.wall_seconds < 5  # rounded: a quick player can have none
        assert player.cost.cpu_seconds is None or player.cost.cpu_seconds > 0


def test_the_file_reads_back_as_the_same_duel(honest: Duel) -> None:
    assert Duel.model_validate(canonical_json.parse_strict(honest.serialised())) == honest


def test_the_same_order_gives_the_same_matches(honest: Duel) -> None:
    again = duelled(RANDOM_PLAYER, TALKER, TASK)

    assert (again.matches, again.moves, again.key) == (honest.matches, honest.moves, honest.key)


def test_sides_do_not_depend_on_who_is_named_first() -> None:
    submission = folder(FIRST_LEGAL)
    one, other = (DuelPlayer(login=login, login_id=None, agent="x", folder=submission) for login in ("Alice", "bob"))

    assert order_sides(one, other) == order_sides(other, one) == (one, other)
    assert order_sides(one, one) == (one, one)


def test_the_tickets_are_the_seeds_own() -> None:
    order = duel_order(RANDOM_PLAYER, FIRST_LEGAL, TASK)
    specs = order.specs()

    assert [spec.index for spec in specs] == list(range(6))
    assert [spec.seed for spec in specs] == [seed for seed in order.seeds() for _ in range(2)]
    assert [list(spec.opening) for spec in specs[::2]] == draw_openings(order.game, order.seeds())
    assert [spec.opening for spec in specs[::2]] == [spec.opening for spec in specs[1::2]]
    own = player_seeds(SEASON, "preview", order.digests, TASK.id, 6)
    assert tuple(spec.agent_seeds for spec in specs) == own
    assert len({seed for pair in own for seed in pair}) == 12


def test_a_player_against_itself_is_its_validation() -> None:
    duel = duelled(RANDOM_PLAYER, None, TASK)

    assert duel.is_validation
    assert (duel.verdict, duel.players[0].name, duel.players[1].name) == (Verdict.OK, ("alice", "one"), ("alice", "one"))
    assert {match.end for match in duel.matches} == {MatchEnd.PLAYED}
    assert len({tuple(row) for row in duel.match_moves()}) > 1


def test_a_player_that_cannot_be_loaded_loses_every_match_and_says_why() -> None:
    duel = duelled(FIRST_LEGAL, BROKEN, TASK)

    assert (duel.verdict, duel.players[0].verdict, duel.players[1].verdict) == (Verdict.OK, Verdict.OK, Verdict.CRASHED)
    assert "no model file" in duel.players[1].message
    assert {(m.end, m.winner, m.offenders, m.plies) for m in duel.matches} == {(MatchEnd.FORFEIT, 0, (1,), 2)}
    assert [player.cost.steps for player in duel.players] == [0, 0]


def test_a_player_that_never_gets_ready_loses_every_match() -> None:
    duel = duelled(NEVER_STARTS, FIRST_LEGAL, TASK, limits=Limits(start_seconds=8))

    assert (duel.verdict, duel.players[0].verdict) == (Verdict.OK, Verdict.TIMEOUT)
    assert {(match.end, match.winner) for match in duel.matches} == {(MatchEnd.FORFEIT, 1)}


def test_two_players_that_cannot_be_loaded_both_lose() -> None:
    duel = duelled(BROKEN, BROKEN, TASK)

    assert {(match.end, match.winner, match.offenders) for match in duel.matches} == {(MatchEnd.FORFEIT, None, (0, 1))}
    assert [player.verdict for player in duel.players] == [Verdict.CRASHED, Verdict.CRASHED]


def test_a_crash_forfeits_what_is_left_and_is_told() -> None:
    duel = duelled(CRASHES, FIRST_LEGAL, TASK)

    assert {(match.end, match.winner, match.offenders) for match in duel.matches} == {(MatchEnd.FORFEIT, 1, (0,))}
    assert duel.players[0].verdict is Verdict.CRASHED
    assert "on purpose" in duel.players[0].message


def test_an_illegal_move_loses_its_match_only() -> None:
    duel = duelled(FIRST_LEGAL, ILLEGAL, TASK)

    assert duel.players[1].verdict is Verdict.OK
    assert {(match.end, match.winner, match.offenders) for match in duel.matches} == {(MatchEnd.ILLEGAL, 0, (1,))}
    assert all(match.refused in row for match, row in zip(duel.matches, duel.match_moves(), strict=True))


class Flaky:
    """An opener that fails so often before it works."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.failures, self.error = failures, error
        self.cells: list[SandboxSpec] = []
        self.opened: list[Any] = []

    def __call__(self, cell: SandboxSpec) -> Sandbox:
        self.cells.append(cell)
        if len(self.cells) <= self.failures:
            raise self.error
        self.opened.append(Watched(process().opener(cell)))
        return self.opened[-1]  # type: ignore[no-any-return]


class Watched:
    """A sandbox that counts how often it was closed."""

    def __init__(self, inner: Sandbox) -> None:
        self.inner, self.closed = inner, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def close(self) -> None:
        self.closed += 1
        self.inner.close()


def test_a_failure_of_ours_is_tried_again_and_nobodys_loss() -> None:
    flaky = Flaky(1, EngineError("the engine is busy"))
    duel = held(duel_order(FIRST_LEGAL, FIRST_LEGAL, TASK), flaky)

    assert (duel.verdict, len(duel.matches), len(flaky.cells)) == (Verdict.OK, 6, 4)
    assert [sandbox.closed for sandbox in flaky.opened] == [1, 1, 1]


def test_two_failures_of_ours_are_an_internal_error_without_matches() -> None:
    flaky = Flaky(4, EngineError("the engine is gone"))
    duel = held(duel_order(FIRST_LEGAL, FIRST_LEGAL, TASK), flaky)

    assert (duel.verdict, duel.matches, duel.moves, len(flaky.cells)) == (Verdict.INTERNAL_ERROR, (), None, 4)
    assert "the engine is gone" in duel.message
    assert [(player.verdict, player.message) for player in duel.players] == [(Verdict.OK, ""), (Verdict.OK, "")]
    assert len(duel.seeds) == 3


def test_a_game_that_breaks_is_our_failure() -> None:
    order = duel_order(FIRST_LEGAL, FIRST_LEGAL, TASK)

    def breaking(**arguments: object) -> Any:
        environment = order.game.factory(**arguments)
        step: Callable[[int | None], None] = environment.step
        taken = []

        def some(move: int | None) -> None:
            taken.append(move)
            if len(taken) > 4:
                raise IndexError("a bug in the game")
            step(move)

        environment.step = some
        return environment

    duel = held(dataclasses.replace(order, game=dataclasses.replace(order.game, factory=breaking)), process().opener)

    assert (duel.verdict, duel.matches) == (Verdict.INTERNAL_ERROR, ())
    assert "a bug in the game" in duel.message


@pytest.mark.parametrize("error", [AgentFault(Verdict.OUT_OF_MEMORY, "no room for it"), SandboxClosed()])
def test_a_sandbox_that_cannot_be_opened_through_the_players_fault_loses(error: Exception) -> None:
    real = process().opener

    def opener(cell: SandboxSpec) -> Sandbox:
        if "bob" in (cell.folder / "agent.py").read_text():
            raise error
        return real(cell)

    duel = held(duel_order(FIRST_LEGAL, f"# bob\n{FIRST_LEGAL}", TASK), opener)

    assert {(match.end, match.winner) for match in duel.matches} == {(MatchEnd.FORFEIT, 0)}
    assert duel.players[1].verdict is (error.verdict if isinstance(error, AgentFault) else Verdict.CRASHED)


def test_each_player_gets_its_own_copy_and_a_wall_that_allows_for_its_opponent() -> None:
    flaky = Flaky(0, EngineError(""))
    manifest = b"name: Test\nalgorithm: none\n"
    limits = Limits(cpu_seconds=7)
    order = duel_order(FIRST_LEGAL, None, TASK, limits=limits)
    duel = held(order, flaky)

    one, other = flaky.cells
    assert one.folder != other.folder
    assert not one.folder.exists()
    assert {cell.wall_seconds for cell in flaky.cells} == {2 * 70 + 600 + 1200 + 2 * 60}
    assert {cell.adapter for cell in flaky.cells} == {None}
    assert duel.limits == limits
    assert order.contenders[0].folder.blobs[1].content == manifest


def failing_registry(*sides: str) -> SandboxFactory:
    """Sandboxes in which the images of the agents with these sources cannot be fetched."""

    def opener(spec: SandboxSpec) -> Sandbox:
        if (spec.folder / spec.entry).read_text() in sides:
            raise RegistryFault("the registry of alice answers with status 503; it is asked again later")
        return process().opener(spec)

    return opener


def test_whose_registry_failed_alone_is_recorded() -> None:
    duel = held(duel_order(RANDOM_PLAYER, FIRST_LEGAL, TASK), failing_registry(RANDOM_PLAYER))

    assert (duel.verdict, duel.matches) == (Verdict.INTERNAL_ERROR, ())
    assert [player.verdict for player in duel.players] == [Verdict.INTERNAL_ERROR, Verdict.OK]
    assert "503" in duel.message
    assert duel.first_attempt is not None


def test_nobody_is_blamed_if_both_registries_failed() -> None:
    for liable_side in (None, 0, 1):
        order = duel_order(RANDOM_PLAYER, FIRST_LEGAL, TASK, liable_side=liable_side)
        duel = held(order, failing_registry(RANDOM_PLAYER, FIRST_LEGAL))

        assert duel.verdict is Verdict.INTERNAL_ERROR
        assert [player.verdict for player in duel.players] == [Verdict.OK, Verdict.OK]


@pytest.mark.attack(
    "registry_that_fails_in_lost_duels", family="images", outcome="forfeited by its owner in the third try",
    tries="Lets its own registry fail whenever its image is fetched for a duel that it would lose.",
)  # fmt: skip
def test_a_player_whose_registry_failed_in_every_try_forfeits_and_its_opponent_does_not() -> None:
    order = duel_order(RANDOM_PLAYER, FIRST_LEGAL, TASK, liable_side=0)
    duel = held(order, failing_registry(RANDOM_PLAYER))

    assert [(player.verdict, player.cost.steps) for player in duel.players] == [(Verdict.TIMEOUT, 0), (Verdict.OK, 0)]
    assert {(m.end, m.winner, m.offenders) for m in duel.matches} == {(MatchEnd.FORFEIT, 1, (0,))}
    assert verify_duel("d", duel.serialised(), order.game).status is VerificationStatus.VERIFIED
    assert held(order, failing_registry(FIRST_LEGAL)).verdict is Verdict.INTERNAL_ERROR
    assert held(order, process().opener).players[0].verdict is Verdict.OK


@pytest.mark.attack(
    "registry_that_fails_in_validations", family="images", outcome="refused by its validation in the third try",
    tries="Lets its own registry fail in each validation when its openings are bad: both sides fail, so nobody is liable.",
)  # fmt: skip
def test_a_player_whose_registry_failed_in_every_validation_is_refused() -> None:
    """It cost neither a try nor a quota: of a validation both sides are one owner's."""
    order = duel_order(RANDOM_PLAYER, None, TASK)
    failed = held(order, failing_registry(RANDOM_PLAYER))
    fetched = iter([True, False] * 2)  # By both attempts of this try one side alone has its image.

    def opener(spec: SandboxSpec) -> Sandbox:
        return (process().opener if next(fetched) else failing_registry(RANDOM_PLAYER))(spec)

    half_failed = held(order, opener)
    last = held(dataclasses.replace(order, liable_side=0), failing_registry(RANDOM_PLAYER))

    for duel in (failed, half_failed):
        assert (duel.verdict, duel.players[0].verdict) == (Verdict.INTERNAL_ERROR, Verdict.INTERNAL_ERROR)
    assert last.verdict is Verdict.OK
    assert [player.verdict for player in last.players] == [Verdict.TIMEOUT, Verdict.TIMEOUT]
    assert {(match.end, match.winner) for match in last.matches} == {(MatchEnd.FORFEIT, None)}
    assert "could not be started in any try" in (validation_fault(last) or "")
    assert verify_duel("d", last.serialised(), order.game).status is VerificationStatus.VERIFIED


@pytest.mark.attack(
    "slow_host_that_outlasts_the_opponent", family="games", outcome="its opponent's time does not run",
    tries="Has its image or weights come so slowly that its opponent, which waits, exceeds the time of its sandbox.",
)  # fmt: skip
def test_a_player_that_waits_for_its_opponents_files_loses_nothing_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty files of weights took hours, after which every match was forfeited by who had waited."""
    monkeypatch.setattr("evaluator.host.duels.evaluate_duel.WALL_SPARE", 0)

    def opener(spec: SandboxSpec) -> Sandbox:
        if (spec.folder / spec.entry).read_text() == RANDOM_PLAYER:
            time.sleep(6)
        return process().opener(spec)

    limits = Limits(task_seconds=2)
    duel = held(duel_order(FIRST_LEGAL, RANDOM_PLAYER, TASK, limits=limits), opener)

    assert [player.verdict for player in duel.players] == [Verdict.OK, Verdict.OK]
    assert FETCH_SPARE >= IMAGE_FETCH_SECONDS + LOAD_SECONDS
