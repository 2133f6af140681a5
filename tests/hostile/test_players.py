"""Every folder in agents/games/ is a hostile player; each loses what it should lose, and its opponent is not touched.

The opponent is an honest one that looks round at every move. Its matches must be those that the moves alone give.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaluator.host.docker.engine import Engine
from evaluator.host.duels.evaluate_duel import DuelPlayer, DuelRequest, evaluate_duel, order_sides
from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.loading.submission_folder import SubmissionFolder, read_folder
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import ClockSettings, ParallelEpisodes, Task
from evaluator.model.records.duel_record import Duel, MatchEnd
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import INVISIBLE
from leaderboard.ratings.rated_duels import validation_fault
from tests.evaluations import folder
from tests.hostile.arena import base, our_containers, our_leftovers, over_standard_streams, sandboxes_for
from tests.hostile.catalogue import AGENTS
from tests.hostile.test_attacks import processes_named
from tests.needs import without_gvisor

pytestmark = pytest.mark.docker
HERE = AGENTS / "games"
AT_ONCE = 2
GAMES = {"connect_four": "pettingzoo.classic.connect_four_v3", "tictactoe": "pettingzoo.classic.tictactoe_v3"}
LIMITS = {"memory_mib": 128, "tmpfs_mib": 16, "cpu_seconds": 6, "start_seconds": 30, "log_kib": 64}
LANES = ParallelEpisodes(shared=4, separate=2)
# Far more than an honest player needs for all its moves, on a machine that is busy elsewhere; less than the 20 seconds that
# one attack lasts.
HONEST_SECONDS = 12
HONEST = """
import fcntl
import os
import random
import signal

PIPE_SIZE = 1032
inside = os.path.exists("/submission")
heard = []
if inside:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, signal.SIGSEGV}:
        signal.signal(number, lambda number, frame: heard.append(number))

class Agent:
    def __init__(self, seed):
        self.lots = random.Random(seed)
    def act(self, observation):
        assert not heard, heard
        if inside:
            assert os.listdir("/tmp") == [], os.listdir("/tmp")
            assert len([name for name in os.listdir("/proc") if name.isdigit()]) <= 3
            pipe = os.pipe()
            assert fcntl.fcntl(pipe[1], PIPE_SIZE) == 65536, "somebody has taken this user's share"
            for end in pipe:
                os.close(end)
        mask = observation["action_mask"].tolist()
        return self.lots.choice([move for move, legal in enumerate(mask) if legal])
"""
FIRST_LEGAL = """
class Agent:
    def __init__(self, seed): pass
    def act(self, observation):
        return int(observation["action_mask"].argmax())
"""


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A hostile player's folder and what must come of it."""

    name: str
    ends: tuple[str, ...]
    must: tuple[str, ...] = ()
    refused: tuple[int, ...] = ()
    verdict: tuple[str, ...] = ("ok",)
    message: tuple[str, ...] = ()
    log: str = ""
    game: str = "connect_four"
    matches: int = 8
    clock: Mapping[str, float] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    opponent: str = "honest"
    twin: bool = False
    """Whether its matches must be those of a harmless player that makes the same moves."""
    free: bool = False
    """Whether it may win a match that it ended by the rules, or be asked less often than it moves."""
    validates: bool = False
    """Whether its validation finds nothing."""
    in_gvisor: Mapping[str, Any] = field(default_factory=dict)
    """What differs there, since gVisor is another kernel: fields of this class."""

    def inside(self, how: str) -> "Attack":
        """The attack as it is played in a sandbox, with what must come of it there."""
        return replace(self, **self.in_gvisor) if how == "gvisor" else self

    @property
    def folder(self) -> SubmissionFolder:
        return read_folder(HERE / self.name / "agent", SubmissionLimits())

    def order(self, *, alone: bool = False) -> DuelRequest:
        """The honest player is side 0; `alone` is the validation."""
        mine = DuelPlayer(login="mallory", login_id=None, agent="attack", folder=self.folder)
        honest = mine.folder if self.opponent == "itself" else folder(HONEST)
        other = mine if alone else DuelPlayer(login="alice", login_id=None, agent="honest", folder=honest)
        clock = ClockSettings(**{"move_seconds": 2, "bank_seconds": 20, **self.clock})
        task = Task(id=self.game, game=GAMES[self.game], matches=self.matches, lanes=LANES, clock=clock)
        return DuelRequest(
            contenders=order_sides(other, mine), game=open_game(task), limits=Limits(**{**LIMITS, **self.limits}),
            season="test", beacon="preview", beacon_verified=False, tier=Tier.LOCAL, runtime_digest="ab" * 32,
        )  # fmt: skip


def read_attack(path: Path) -> Attack:
    fields: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in yaml.safe_load(path.read_text()).items()
    }
    fields.pop("tries", None)
    if "in_gvisor" in fields:
        fields["in_gvisor"] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in fields["in_gvisor"].items()
        }
    if isinstance(fields.get("verdict"), str):
        fields["verdict"] = (fields["verdict"],)
    return Attack(name=path.parent.name, **fields)


ATTACKS = [read_attack(path) for path in sorted(HERE.glob("*/expect.yml"))]
CASES = [(attack.inside(how), how) for attack in ATTACKS for how in sandboxes_for(attack.also)]
NAMES = [f"{attack.name}-{how}" for attack, how in CASES]


def fight(order: DuelRequest, chosen: SelectedSandbox) -> Duel:
    return evaluate_duel(order, chosen.kind, chosen.opener, lambda: datetime.now(UTC), lambda done: None)


def without_a_sandbox(order: DuelRequest, sources: tuple[str, str]) -> list[list[int]]:
    """The moves that two players make in a plain loop."""
    classes: list[Any] = []
    for source in sources:
        names: dict[str, Any] = {}
        exec(source, names)
        classes.append(names["Agent"])
    games = []
    for spec in order.specs():
        board = order.game.start(spec.seed)
        players = [make(seed=seed) for make, seed in zip(classes, spec.agent_seeds, strict=True)]
        moves = list(spec.opening)
        for move in moves:
            board.play(move)
        while not board.over:
            moves.append(players[board.mover ^ spec.index % 2].act(board.observe()))
            board.play(moves[-1])
        games.append(moves)
    return games


@pytest.fixture(scope="module")
def chosen(engine: Engine) -> Iterator[dict[str, SelectedSandbox]]:
    """The sandboxes, with a temporary directory of their own, so that what is left there is ours."""
    with tempfile.TemporaryDirectory() as room, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", room)
        sandboxes = {
            "docker": select_sandbox("docker", base(), lambda line: None, over_socket=True),
            "stdio": over_standard_streams(engine),
            "process": select_sandbox("process", "", lambda line: None),
        }
        if "runsc" in engine.runtimes():
            sandboxes["gvisor"] = select_sandbox("gvisor", base(), lambda line: None)
        yield sandboxes


@pytest.fixture(scope="module")
def duels(chosen: dict[str, SelectedSandbox], request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Duel]]]:
    """The duels that were asked for, all on their way."""
    calls = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    wanted = {call.id for call in calls if call is not None}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        started = {
            name: pool.submit(fight, attack.order(), chosen[how])
            for name, (attack, how) in zip(NAMES, CASES, strict=True)
            if name in wanted and how in chosen
        }
        try:
            yield started
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C nobody waits for the rest


def held(duels: dict[str, Future[Duel]], attack: Attack, how: str) -> Duel:
    if f"{attack.name}-{how}" not in duels:
        without_gvisor()
    duel = duels[f"{attack.name}-{how}"].result()
    assert duel.verdict is Verdict.OK, duel.message
    return duel


@pytest.mark.parametrize(("attack", "how"), CASES, ids=NAMES)
def test_attacker_gets_what_it_deserves(
    attack: Attack, how: str, duels: dict[str, Future[Duel]], record_property: Callable[[str, object], None]
) -> None:
    duel = held(duels, attack, how)

    mallory = duel.players[1]
    ends = {str(match.end) for match in duel.matches}
    record_property("outcome", ", ".join(sorted(map(str, ends))))
    assert ends <= set(attack.ends), (ends, mallory.message, mallory.log_tail)
    assert set(attack.must) <= ends, (ends, mallory.message, mallory.log_tail)
    assert mallory.verdict in attack.verdict, (mallory.verdict, mallory.message, mallory.log_tail)
    for words in attack.message:
        assert words in mallory.message
    assert attack.log in mallory.log_tail
    assert {match.refused for match in duel.matches if match.end is MatchEnd.ILLEGAL} <= set(
        attack.refused
    ) or not attack.refused
    assert bool(mallory.message) is (mallory.verdict is not Verdict.OK)
    assert not INVISIBLE.search(mallory.message + mallory.log_tail)
    for match in duel.matches:
        assert bool(match.message) is bool(match.offenders)
        assert not INVISIBLE.search(match.message)


@pytest.mark.parametrize(("attack", "how"), CASES, ids=NAMES)
def test_opponent_is_not_touched(attack: Attack, how: str, duels: dict[str, Future[Duel]]) -> None:
    duel = held(duels, attack, how)

    honest = duel.players[0]
    assert (honest.verdict, honest.message) == (Verdict.OK, ""), honest.log_tail
    assert honest.cost.wall_seconds is not None
    assert honest.cost.wall_seconds < HONEST_SECONDS
    assert all(0 not in match.offenders for match in duel.matches)
    # Where a rule was broken the honest one has won: nothing is void, nothing is drawn.
    assert all(match.winner == 0 for match in duel.matches if match.offenders)
    assert len(duel.matches) == attack.matches


@pytest.mark.parametrize(("attack", "how"), CASES, ids=NAMES)
def test_record_replays(attack: Attack, how: str, duels: dict[str, Future[Duel]]) -> None:
    duel = held(duels, attack, how)

    finding = verify_duel("it", duel.serialised(), attack.order().game)
    assert (finding.status, finding.faults) == (VerificationStatus.VERIFIED, ())


@pytest.mark.parametrize(("attack", "how"), CASES, ids=NAMES)
def test_matches_are_what_the_moves_alone_give(attack: Attack, how: str, duels: dict[str, Future[Duel]]) -> None:
    """What is no move changes none: neither the attacker's nor its opponent's."""
    duel = held(duels, attack, how)
    plain = without_a_sandbox(attack.order(), (FIRST_LEGAL if attack.opponent == "itself" else HONEST, FIRST_LEGAL))

    if attack.twin:
        assert duel.match_moves() == plain
    if not attack.free:
        # Every move of mallory's that was let pass is the first legal one.
        assert all(moves == ought[: len(moves)] for moves, ought in zip(duel.match_moves(), plain, strict=True))


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.validates], ids=lambda attack: attack.name)
def test_good_behaviour_in_self_play_buys_nothing(
    attack: Attack, chosen: dict[str, SelectedSandbox], duels: dict[str, Future[Duel]]
) -> None:
    validation = fight(attack.order(alone=True), chosen["docker"])

    assert validation_fault(validation) is None
    duel = held(duels, attack, "docker")
    assert {match.winner for match in duel.matches if match.end is MatchEnd.ILLEGAL} == {0}


@pytest.mark.parametrize("name", ["int_of_another_value", "no_moves_at_all", "kills_itself_when_losing", "never_starts"])
def test_who_breaks_a_rule_against_itself_does_not_enter(name: str, chosen: dict[str, SelectedSandbox]) -> None:
    attack = next(attack for attack in ATTACKS if attack.name == name)

    duel = fight(attack.order(alone=True), chosen["docker"])

    assert duel.verdict is Verdict.OK
    assert validation_fault(duel) is not None


def test_nothing_is_left_behind(chosen: dict[str, SelectedSandbox], engine: Engine, duels: dict[str, Future[Duel]]) -> None:
    for duel in duels.values():
        duel.result()

    assert our_containers(engine) == []
    assert our_leftovers() == []
    assert processes_named(b"pullrank-left-behind", within=60) == []
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
