"""Tournaments: what is wanted and not recorded, held until nothing is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from evaluator.host.digests.runtime_digest import lock_digests
from evaluator.host.duels.evaluate_duel import DuelPlayer, DuelRequest, evaluate_duel, order_sides
from evaluator.host.duels.verify_duel import parse_duel
from evaluator.host.envs.gym_task import EnvironmentFault
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.records.duel_record import Duel, duel_path
from evaluator.model.records.result import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.store import RESULT, ResultStore
from leaderboard.planning.missing import DuelWorkItem, MeasurementContext, missing_work
from leaderboard.ratings.duel_results import refusal, validation_fault
from scripts.console import OK, OUR_FAULT, SUBMISSION_AT_FAULT, CommandError, bar, say, titled_bar
from scripts.repository.checkout import PREVIEW_BEACON, Checkout, SubmissionEntry
from scripts.runs.eligible_tasks import entered
from scripts.runs.evaluate_missing import Evaluator


@dataclass(frozen=True, kw_only=True)
class DuelRunner:
    """Where duels are held: a bench, and the games that were opened on it."""

    bench: Evaluator
    opened: dict[str, PettingZooGame] = field(default_factory=dict)
    """Games by the digest of their settings."""

    def game(self, task: Task) -> PettingZooGame:
        """The game of a task, opened once."""
        name = f"{task.id} {task.digest()}"
        if name not in self.opened:
            try:
                self.opened[name] = open_game(task)
            except EnvironmentFault as error:
                raise CommandError(OUR_FAULT, str(error)) from error
        return self.opened[name]

    def order(self, one: SubmissionEntry, other: SubmissionEntry, task: Task, beacon: str = PREVIEW_BEACON) -> DuelRequest:
        """Two agents in a game; without a beacon with the preview's public seeds."""
        challenge = self.bench.board.challenge
        return DuelRequest(
            contenders=order_sides(_contender(one), _contender(other)), game=self.game(task), limits=challenge.limits,
            season=challenge.season, beacon=beacon, beacon_verified=False, tier=Tier.LOCAL,
            runtime_digest=self.bench.runtime_digest,
        )  # fmt: skip

    def hold(self, order: DuelRequest, done: Callable[[int], None]) -> Duel:
        """Hold a duel; `done` hears of each match that ended."""
        return evaluate_duel(order, self.bench.chosen.kind, self.bench.chosen.opener, lambda: datetime.now(UTC), done)


def _contender(found: SubmissionEntry) -> DuelPlayer:
    return DuelPlayer(login=found.login, login_id=None, agent=found.agent, folder=found.folder)


@dataclass(frozen=True, kw_only=True)
class DuelRunOptions:
    """How duels are held."""

    store: ResultStore | None
    """Where they are recorded; nowhere if None."""
    quiet: bool
    again: bool = False
    """Even what is recorded."""


def play_or_recall(hall: DuelRunner, order: DuelRequest, terms: DuelRunOptions) -> tuple[Duel, bool]:
    """A duel, and whether it was held just now: a recorded one is read."""
    recorded = None if terms.again or terms.store is None else recall(terms.store, order)
    if recorded is not None:
        return recorded, False
    with bar(title(order), order.game.task.matches, quiet=terms.quiet) as done:
        duel = hall.hold(order, done)
    if terms.store is not None:
        terms.store.write_duel(duel)
    return duel, True


def title(order: DuelRequest) -> str:
    """What a bar says of a duel."""
    one, other = order.contenders
    sides = f"{one.agent} with itself" if one == other else f"{one.agent} – {other.agent}"
    return f"{order.game.task.id}: {sides}"


def recall(store: ResultStore, order: DuelRequest) -> Duel | None:
    """The recorded duel of an order, unless it was a failure of ours."""
    key = order.wanted().key()
    one, other = (f"{contender.login}+{contender.agent}" for contender in order.contenders)
    path = store.results / (duel_path(order.game.task.id, one, other, key) + RESULT)
    if not path.exists():
        return None
    try:
        duel = parse_duel(path.read_bytes())
    except (ValueError, OSError):
        say(f"{path}: is damaged, so it is played again")
        return None
    return duel if duel.key == key and duel.verdict is Verdict.OK else None


def find_player(board: Checkout, folder: Path, task: Task) -> SubmissionEntry:
    """The agent in a folder, which enters the game.

    Raises:
        CommandError: it is none, or does not.
    """
    try:
        found = board.find(folder)
        tasks = entered(found, board.tasks(None))
    except LoadError as error:
        raise CommandError(SUBMISSION_AT_FAULT, *error.lines) from error
    if task.id not in {one.id for one in tasks}:
        line = f"{found.shown}: does not enter {task.id}; name it under 'tasks' in its submission.yml"
        raise CommandError(SUBMISSION_AT_FAULT, line)
    return found


def meet_baselines(hall: DuelRunner, found: SubmissionEntry, task: Task, terms: DuelRunOptions) -> list[tuple[Duel, bool]]:
    """An agent's validation and, if it passes, its duels with the baselines; whether each was held just now."""
    validation = play_or_recall(hall, hall.order(found, found, task), terms)
    if refusal(validation[0]) is not None:
        return [validation]
    others = [other for other in hall.bench.board.read_all()[0] if other.baseline and other.name != found.name]
    met = [
        play_or_recall(hall, hall.order(found, other, task), terms)
        for other in others
        if other.folder.submission.plays(task)
    ]
    return [validation, *met]


def code_of(duels: Sequence[Duel], of: SubmissionEntry | None = None) -> int:
    """The exit code that duels mean: a refused validation and a player that could not go on are the submission's fault.

    Args:
        duels: what was held.
        of: whose faults count; anybody's when left out.
    """
    if any(duel.verdict is not Verdict.OK for duel in duels):
        return OUR_FAULT
    players = (player for duel in duels for player in duel.players if of is None or player.name == of.name)
    failed = any(player.verdict is not Verdict.OK for player in players)
    refused = any(duel.is_validation and validation_fault(duel) for duel in duels)
    return SUBMISSION_AT_FAULT if failed or refused else OK


@dataclass(frozen=True, kw_only=True)
class TournamentSummary:
    """What a tournament came to."""

    recorded: int
    """Duels of these games that were there before."""
    held: tuple[Duel, ...]
    """Those held just now, in order; with the failures of ours."""


def players(board: Checkout, tell: Callable[[str], None]) -> list[SubmissionEntry]:
    """Everybody who may play; `tell` hears of those that name a task there is not. Ranking names unreadable folders."""
    able = []
    for agent in board.read_all()[0]:
        try:
            entered(agent, board.tasks(None))
        except LoadError as error:
            tell("\n".join(error.lines))
            continue
        if board.moderation.of(agent.login, agent.agent) is None:
            able.append(agent)
    return able


def play_tournament(
    hall: DuelRunner, found: Sequence[SubmissionEntry], games: Sequence[Task], *, quiet: bool
) -> TournamentSummary:
    """Hold every duel that is wanted of these games, each recorded as it ends: validations first, then pairs.

    Who is to meet whom is asked anew after each round, since a round changes the ratings. A failure of ours stays wanted,
    but not for this run.
    """
    board = hall.bench.board
    known, damaged = board.store.read_duels()
    for file in damaged:
        say(f"{file.path}: is not a duel ({file.reason}); where it is wanted it is played again")
    challenge = board.challenge.model_copy(update={"tasks": tuple(games)})
    ids = {task.id for task in games}
    before = sum(duel.task in ids for duel in known)
    held: list[Duel] = []
    while items := _round(hall, challenge, found, known, held):
        held.extend(_held(hall, challenge, found, items, quiet=quiet))
    return TournamentSummary(recorded=before, held=tuple(held))


def _round(
    hall: DuelRunner, challenge: Challenge, found: Sequence[SubmissionEntry], known: Sequence[Duel], held: Sequence[Duel]
) -> list[DuelWorkItem]:
    """What is to be held next; validations alone while there are any, so that ratings know of every player."""
    where = MeasurementContext(runtime_digest=hall.bench.runtime_digest, beacon=PREVIEW_BEACON, locks=lock_digests())
    failed = {(duel.players[0].name, duel.players[1].name, duel.key) for duel in held if duel.verdict is not Verdict.OK}
    wanted = missing_work(challenge, [agent.entry() for agent in found], [], where, [*known, *held])
    items = [
        item
        for item in wanted
        if isinstance(item, DuelWorkItem) and (item.entries[0].name, item.entries[1].name, item.wanted.key()) not in failed
    ]
    return [item for item in items if item.is_validation] or items


def _held(
    hall: DuelRunner, challenge: Challenge, found: Sequence[SubmissionEntry], items: Sequence[DuelWorkItem], *, quiet: bool
) -> list[Duel]:
    by_name = {agent.name: agent for agent in found}
    tasks = {task.id: task for task in challenge.tasks}
    total = sum(tasks[item.task_id].matches for item in items)
    held: list[Duel] = []
    done = 0
    with titled_bar("", total, quiet=quiet) as tell:
        for item in items:
            one, other = (by_name[entry.name] for entry in item.entries)
            order = hall.order(one, other, tasks[item.task_id])
            said = f"{title(order)} ({len(held) + 1} of {len(items)})"
            tell(done, said)
            duel = hall.hold(order, _after(done, said, tell))
            hall.bench.board.store.write_duel(duel)
            held.append(duel)
            done += order.game.task.matches
    return held


def _after(before: int, said: str, tell: Callable[[int, str | None], None]) -> Callable[[int], None]:
    return lambda matches: tell(before + matches, said)
