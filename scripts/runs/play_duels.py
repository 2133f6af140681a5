"""Duels: one duel, an agent against the baselines, a tournament of all agents, and duels in workflows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from evaluator.host.digests.runtime_digest import lock_digests
from evaluator.host.duels.evaluate_duel import DuelPlayer, DuelRequest, evaluate_duel, order_sides
from evaluator.host.envs.gym_task import EnvironmentFault
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.records.duel_record import Duel, PlayerRecord, duel_path
from evaluator.model.records.parse import parse_duel
from evaluator.model.records.result import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.store import RESULT, ResultStore
from leaderboard.planning.missing import DuelWorkItem, MeasurementContext, missing_work
from leaderboard.ratings.duel_results import duel_totals, refusal, validation_fault
from scripts.console import OK, OUR_FAULT, SUBMISSION_AT_FAULT, CommandError, progress_bar, say, titled_progress_bar
from scripts.github.workflow.outputs import escape_commands
from scripts.repository.checkout import PREVIEW_BEACON, AgentFolder, Checkout
from scripts.runs.eligible_tasks import eligible_tasks
from scripts.runs.local_evaluator import Evaluator, read_record


@dataclass(frozen=True, kw_only=True)
class DuelRunner:
    """Plays duels in an evaluator's sandbox; each game is opened once."""

    evaluator: Evaluator
    opened: dict[str, PettingZooGame] = field(default_factory=dict)
    """Games by task id and digest of their settings."""

    def game(self, task: Task) -> PettingZooGame:
        """The game of a task.

        Raises:
            CommandError: it cannot be opened here.
        """
        name = f"{task.id} {task.digest()}"
        if name not in self.opened:
            try:
                self.opened[name] = open_game(task)
            except EnvironmentFault as error:
                raise CommandError(OUR_FAULT, str(error)) from error
        return self.opened[name]

    def request(self, one: AgentFolder, other: AgentFolder, task: Task, beacon: str = PREVIEW_BEACON) -> DuelRequest:
        """The request for a duel of two agents; the default beacon gives the preview's public seeds."""
        challenge = self.evaluator.checkout.challenge
        return DuelRequest(
            contenders=order_sides(_contender(one), _contender(other)), game=self.game(task), limits=challenge.limits,
            season=challenge.season, beacon=beacon, beacon_verified=False, tier=Tier.LOCAL,
            runtime_digest=self.evaluator.runtime_digest,
        )  # fmt: skip

    def play(self, request: DuelRequest, progress: Callable[[int], None]) -> Duel:
        """Play a duel; `progress` is called with the number of finished matches."""
        sandbox = self.evaluator.sandbox
        return evaluate_duel(request, sandbox.kind, sandbox.opener, lambda: datetime.now(UTC), progress)


def _contender(entry: AgentFolder) -> DuelPlayer:
    return DuelPlayer(login=entry.login, login_id=None, agent=entry.agent, folder=entry.folder)


@dataclass(frozen=True, kw_only=True)
class DuelRunOptions:
    """How duels are played and recorded."""

    store: ResultStore | None
    """Where duels are read and recorded; None for neither."""
    quiet: bool
    again: bool = False


def play_missing_duel(runner: DuelRunner, request: DuelRequest, options: DuelRunOptions) -> tuple[Duel, bool]:
    """A duel, and whether it is new: a recorded one is read, a missing one is played and recorded."""
    duel = None if options.again or options.store is None else recorded_duel(options.store, request)
    if duel is not None:
        return duel, False
    with progress_bar(duel_title(request), request.game.task.matches, quiet=options.quiet) as progress:
        duel = runner.play(request, progress)
    if options.store is not None:
        options.store.write_duel(duel)
    return duel, True


def duel_title(request: DuelRequest) -> str:
    """The title of a duel's progress bar."""
    one, other = request.contenders
    sides = f"{one.agent} with itself" if one == other else f"{one.agent} – {other.agent}"
    return f"{request.game.task.id}: {sides}"


def recorded_duel(store: ResultStore, request: DuelRequest) -> Duel | None:
    """The recorded duel of a request; None without one, or where it failed on our side."""
    key = request.wanted().key()
    one, other = (f"{contender.login}+{contender.agent}" for contender in request.contenders)
    path = store.results / (duel_path(request.game.task.id, one, other, key) + RESULT)
    duel = read_record(path, parse_duel, "played")
    return duel if duel and duel.key == key and duel.verdict is Verdict.OK else None


def find_player(checkout: Checkout, folder: Path, task: Task) -> AgentFolder:
    """The agent in a folder.

    Raises:
        CommandError: the folder holds no agent, or one that does not enter the game.
    """
    try:
        entry = checkout.find(folder)
        tasks = eligible_tasks(entry, checkout.tasks(None))
    except LoadError as error:
        raise CommandError(SUBMISSION_AT_FAULT, *error.lines) from error
    if task.id not in {each.id for each in tasks}:
        line = f"{entry.shown}: does not enter {task.id}; name it under 'tasks' in its submission.yml"
        raise CommandError(SUBMISSION_AT_FAULT, line)
    return entry


def play_baselines(runner: DuelRunner, entry: AgentFolder, task: Task, options: DuelRunOptions) -> list[tuple[Duel, bool]]:
    """An agent's validation and, if it passes, its duels with the baselines; each with whether it is new."""
    validation = play_missing_duel(runner, runner.request(entry, entry, task), options)
    if refusal(validation[0]) is not None:
        return [validation]
    others = [other for other in runner.evaluator.checkout.read_all()[0] if other.baseline and other.name != entry.name]
    duels = [
        play_missing_duel(runner, runner.request(entry, other, task), options)
        for other in others
        if other.folder.submission.plays(task)
    ]
    return [validation, *duels]


def exit_code(duels: Sequence[Duel], of: AgentFolder | None = None) -> int:
    """The exit code for duels: a refused validation and a player that failed are the submission's fault.

    Args:
        duels: the duels that were played.
        of: the agent whose failures count; None for both players'.
    """
    if any(duel.verdict is not Verdict.OK for duel in duels):
        return OUR_FAULT
    players = (player for duel in duels for player in duel.players if of is None or player.name == of.name)
    failed = any(player.verdict is not Verdict.OK for player in players)
    refused = any(duel.is_validation and validation_fault(duel) for duel in duels)
    return SUBMISSION_AT_FAULT if failed or refused else OK


@dataclass(frozen=True, kw_only=True)
class TournamentSummary:
    """The duels of a tournament."""

    recorded: int
    """How many duels of these games were recorded before."""
    played: tuple[Duel, ...]
    """Duels of this run in the order they were played, including those that failed on our side."""


def eligible_players(checkout: Checkout) -> tuple[list[AgentFolder], list[str]]:
    """All agents that may play, and the faults of those that name an unknown task.

    Folders that cannot be read are not reported: ranking names them.
    """
    players, faults = [], []
    for entry in checkout.read_all()[0]:
        try:
            eligible_tasks(entry, checkout.tasks(None))
        except LoadError as error:
            faults.append("\n".join(error.lines))
            continue
        if checkout.moderation.of(entry.login, entry.agent) is None:
            players.append(entry)
    return players, faults


def play_tournament(
    runner: DuelRunner, entries: Sequence[AgentFolder], games: Sequence[Task], *, quiet: bool
) -> TournamentSummary:
    """Play every missing duel of these games and record each as it ends: validations first, then pairs.

    Pairs are chosen again after each round, since a round changes the ratings. A duel that failed on our side is not
    repeated in this run.
    """
    checkout = runner.evaluator.checkout
    recorded, damaged = checkout.store.read_duels()
    for file in damaged:
        say(f"{file.path}: is not a duel ({file.reason}); where it is wanted it is played again")
    challenge = checkout.challenge.model_copy(update={"tasks": tuple(games)})
    game_ids = {task.id for task in games}
    played: list[Duel] = []
    while items := _next_round(runner, challenge, entries, recorded, played):
        played.extend(_play_round(runner, challenge, entries, items, quiet=quiet))
    return TournamentSummary(recorded=sum(duel.task in game_ids for duel in recorded), played=tuple(played))


def _next_round(
    runner: DuelRunner,
    challenge: Challenge,
    entries: Sequence[AgentFolder],
    recorded: Sequence[Duel],
    played: Sequence[Duel],
) -> list[DuelWorkItem]:
    """The duels to play next: validations alone while there are any, so that all players are rated before pairing."""
    context = MeasurementContext(runtime_digest=runner.evaluator.runtime_digest, beacon=PREVIEW_BEACON, locks=lock_digests())
    failed = {(duel.players[0].name, duel.players[1].name, duel.key) for duel in played if duel.verdict is not Verdict.OK}
    missing = missing_work(challenge, [entry.entry() for entry in entries], [], context, [*recorded, *played])
    items = [
        item
        for item in missing
        if isinstance(item, DuelWorkItem) and (item.entries[0].name, item.entries[1].name, item.wanted.key()) not in failed
    ]
    return [item for item in items if item.is_validation] or items


def _play_round(
    runner: DuelRunner,
    challenge: Challenge,
    entries: Sequence[AgentFolder],
    items: Sequence[DuelWorkItem],
    *,
    quiet: bool,
) -> list[Duel]:
    by_name = {entry.name: entry for entry in entries}
    tasks = {task.id: task for task in challenge.tasks}
    played: list[Duel] = []
    finished_matches = 0
    with titled_progress_bar("", sum(tasks[item.task_id].matches for item in items), quiet=quiet) as update:
        for item in items:
            one, other = (by_name[entry.name] for entry in item.entries)
            request = runner.request(one, other, tasks[item.task_id])
            title = f"{duel_title(request)} ({len(played) + 1} of {len(items)})"
            update(finished_matches, title)
            duel = runner.play(request, partial(_advance, update, finished_matches, title))
            runner.evaluator.checkout.store.write_duel(duel)
            played.append(duel)
            finished_matches += request.game.task.matches
    return played


def _advance(update: Callable[[int, str | None], None], before: int, title: str, matches: int) -> None:
    update(before + matches, title)


# Duels in workflows: their log lines hold nothing that a player wrote


@dataclass(frozen=True, kw_only=True)
class WorkflowDuelOptions:
    """Provenance of a duel."""

    tier: Tier
    beacon: str
    commit: str
    run_url: str | None


def play_duel(
    evaluator: Evaluator,
    task: Task,
    contenders: tuple[DuelPlayer, DuelPlayer],
    options: WorkflowDuelOptions,
    *,
    quiet: bool = True,
) -> Duel:
    """Play a duel of two players, with a progress bar.

    Raises:
        CommandError: the game cannot be opened here.
    """
    runner, challenge = DuelRunner(evaluator=evaluator), evaluator.checkout.challenge
    request = DuelRequest(
        contenders=contenders, game=runner.game(task), limits=challenge.limits, season=challenge.season,
        beacon=options.beacon, beacon_verified=False, tier=options.tier, runtime_digest=evaluator.runtime_digest,
        commit=options.commit, run_url=options.run_url,
    )  # fmt: skip
    with progress_bar(
        f"{contenders[0].agent} and {contenders[1].agent} on {task.id}", task.matches, quiet=quiet
    ) as progress:
        return runner.play(request, progress)


def player_names(duel: Duel) -> str:
    """The players' names in the order of the sides; the name alone for a validation."""
    first, second = (_name(player) for player in duel.players)
    return first if duel.is_validation else f"{first} v {second}"


def _name(player: PlayerRecord) -> str:
    return f"{player.login}/{player.agent}"


def duel_outcome(duel: Duel) -> str:
    """How a duel ended; the text holds nothing that a player wrote."""
    if duel.verdict is not Verdict.OK:
        return str(duel.verdict)
    if duel.is_validation:
        return "refused" if validation_fault(duel) else "validated"
    count = duel_totals(duel).counts[0]
    return f"+{count.wins} ={count.ties} -{count.losses}"


def duel_line(duel: Duel) -> str:
    """One line for the log. A message is shown for internal errors only, and escaped: workflows execute log lines."""
    message = duel.message.splitlines()
    reason = f": {escape_commands(message[0])}" if duel.verdict is Verdict.INTERNAL_ERROR and message else ""
    return f"{player_names(duel)} on {duel.task}: {duel_outcome(duel)}{reason}"
