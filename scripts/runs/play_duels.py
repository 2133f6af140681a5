"""Duels: one duel, an agent against the baselines, a tournament of all agents, and their lines in logs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from evaluator.host.digests.runtime_digest import lock_digests
from evaluator.host.duels.evaluate_duel import DuelPlayer, DuelRequest, evaluate_duel, order_sides
from evaluator.host.envs.pettingzoo_game import PettingZooGame, open_game
from evaluator.host.errors import EnvironmentFault
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.progress import ReportProgress
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel, duel_path
from evaluator.model.records.parse import parse_duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.core.store import RECORD_ENDING, ResultStore
from leaderboard.planning.missing_work import DuelWorkItem, MeasurementContext, missing_work
from leaderboard.ratings.rated_duels import rated_totals, validation_fault, validation_refusal
from scripts.console import OK, OUR_FAULT, SUBMISSION_AT_FAULT, CommandError, escape_commands, say
from scripts.repository.checkout import AgentFolder, Checkout
from scripts.runs.eligible_tasks import eligible_tasks, find_entering
from scripts.runs.local_evaluator import Evaluator, RunOptions, may_end_differently, read_record
from scripts.runs.parallel_jobs import ParallelJob, run_jobs


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
        for side in (one, other):
            self.evaluator.bring_weights(side.folder)
        first, second = (
            DuelPlayer(login=side.login, login_id=None, agent=side.agent, folder=side.folder) for side in (one, other)
        )
        return DuelRequest(
            contenders=order_sides(first, second), game=self.game(task), limits=challenge.limits,
            season=challenge.season, beacon=beacon, beacon_verified=False, tier=Tier.LOCAL,
            runtime_digest=self.evaluator.runtime_digest,
        )  # fmt: skip

    def play(self, request: DuelRequest, report: ReportProgress) -> Duel:
        """Play a duel."""
        sandbox = self.evaluator.sandbox
        return evaluate_duel(request, sandbox.kind, sandbox.opener, lambda: datetime.now(UTC), report)

    def job(self, request: DuelRequest) -> ParallelJob[Duel]:
        """A duel that can be played beside others; both players may think at once."""
        for player in request.contenders:
            self.evaluator.sandbox.prepare(player.folder.submission.needs)
        one, other = request.contenders
        sides = f"{one.agent} with itself" if one == other else f"{one.agent} – {other.agent}"
        return ParallelJob(
            title=f"{request.game.task.id}: {sides}", play=partial(self.play, request),
            processors=request.limits.processors(2),
            memory_mib=sum(who.folder.submission.allowed(request.limits).memory_mib for who in request.contenders),
        )  # fmt: skip


def play_missing_duels(
    runner: DuelRunner, requests: Sequence[DuelRequest], options: RunOptions
) -> Iterator[tuple[Duel, bool]]:
    """Each duel, and whether it is new: first those that are recorded, then those that are missing as they end."""
    missing = []
    for request in requests:
        duel = None if options.again or options.store is None else recorded_duel(options.store, request)
        if duel is None:
            missing.append(request)
        else:
            yield duel, False
    for _, duel in run_jobs([runner.job(request) for request in missing], options.at_once, quiet=options.quiet):
        if options.store is not None:
            options.store.write(duel)
        yield duel, True


def recorded_duel(store: ResultStore, request: DuelRequest) -> Duel | None:
    """The recorded duel of a request; None without one, or where another attempt may end differently."""
    key = request.wanted().key()
    one, other = (f"{contender.login}+{contender.agent}" for contender in request.contenders)
    path = store.results / (duel_path(request.game.task.id, one, other, key) + RECORD_ENDING)
    duel = read_record(path, parse_duel, "played")
    if duel is None or duel.key != key or duel.verdict is not Verdict.OK:
        return None
    sides = zip(duel.players, request.contenders, strict=True)
    return None if any(may_end_differently(player.verdict, side.folder) for player, side in sides) else duel


def find_player(checkout: Checkout, folder: Path, task: Task) -> AgentFolder:
    """The agent in a folder.

    Raises:
        CommandError: the folder holds no agent, or one that does not enter the game.
    """
    entry, tasks = find_entering(checkout, folder)
    if task.id not in {each.id for each in tasks}:
        line = f"{entry.shown}: does not enter {task.id}; name it under 'tasks' in its submission.yml"
        raise CommandError(SUBMISSION_AT_FAULT, line)
    return entry


def play_baselines(
    runner: DuelRunner, entry: AgentFolder, games: Sequence[Task], options: RunOptions
) -> list[tuple[Duel, bool]]:
    """An agent's validation in each game and, where it passes, its duels with the baselines; each with whether it is new."""
    return _play_some(runner, entry, games, options, lambda other, _: other.baseline)


def play_everybody(
    runner: DuelRunner, entry: AgentFolder, games: Sequence[Task], options: RunOptions
) -> list[tuple[Duel, bool]]:
    """The same with every agent of this checkout that may enter; without a validation an opponent is not rated."""
    others = [other for other in runner.evaluator.checkout.read_all()[0] if other.name != entry.name]
    validations = [
        runner.request(other, other, task) for task in games for other in others if other.folder.submission.plays(task)
    ]
    played = play_missing_duels(runner, validations, options)
    admitted = {(duel.task, duel.players[0].name) for duel, _ in played if validation_refusal(duel) is None}
    return _play_some(runner, entry, games, options, lambda other, task: (task.id, other.name) in admitted)


def _play_some(
    runner: DuelRunner,
    entry: AgentFolder,
    games: Sequence[Task],
    options: RunOptions,
    is_wanted: Callable[[AgentFolder, Task], bool],
) -> list[tuple[Duel, bool]]:
    validations = list(play_missing_duels(runner, [runner.request(entry, entry, task) for task in games], options))
    passed = {duel.task for duel, _ in validations if validation_refusal(duel) is None}
    others = [other for other in runner.evaluator.checkout.read_all()[0] if other.name != entry.name]
    requests = [
        runner.request(entry, other, task)
        for task in games
        for other in others
        if task.id in passed and other.folder.submission.plays(task) and is_wanted(other, task)
    ]
    played = [*validations, *play_missing_duels(runner, requests, options)]
    order = [task.id for task in games]
    return sorted(
        played, key=lambda each: (order.index(each[0].task), not each[0].is_validation, [p.name for p in each[0].players])
    )


def exit_code(duels: Sequence[Duel], of: AgentFolder | None = None) -> int:
    """The exit code for duels: a refused validation and a player that failed are the submission's fault.

    `of`: the agent whose failures count; None for both players'.
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
            eligible_tasks(checkout.challenge, entry)
        except LoadError as error:
            faults.append("\n".join(error.lines))
            continue
        if checkout.moderation.exclusion_of(entry.login, entry.agent, entry.folder.digest) is None:
            players.append(entry)
    return players, faults


def play_tournament(
    runner: DuelRunner, entries: Sequence[AgentFolder], games: Sequence[Task], *, quiet: bool, at_once: int | None = None
) -> TournamentSummary:
    """Play every missing duel of these games and record each as it ends: validations first, then pairs.

    Pairs are chosen again after each round, since a round changes the ratings. A duel that failed on our side is not
    repeated in this run.
    """
    checkout = runner.evaluator.checkout
    recorded, damaged = checkout.store.read_duels()
    for file in damaged:
        say(f"{file.path}: is not a duel ({file.reason}); where it is wanted it is played again")
    folders = {entry.name: entry.folder for entry in entries}
    recorded = [
        duel
        for duel in recorded
        if not any(may_end_differently(who.verdict, folders[who.name]) for who in duel.players if who.name in folders)
    ]
    challenge = checkout.challenge.model_copy(update={"tasks": tuple(games)})
    game_ids = {task.id for task in games}
    played: list[Duel] = []
    while requests := _next_round(runner, challenge, entries, recorded, played):
        options = RunOptions(store=checkout.store, quiet=quiet, again=True, at_once=at_once)
        for duel, _ in play_missing_duels(runner, requests, options):
            played.append(duel)
            if not quiet:
                say(log_line(duel))
    return TournamentSummary(recorded=sum(duel.task in game_ids for duel in recorded), played=tuple(played))


def _next_round(
    runner: DuelRunner,
    challenge: Challenge,
    entries: Sequence[AgentFolder],
    recorded: Sequence[Duel],
    played: Sequence[Duel],
) -> list[DuelRequest]:
    """The duels to play next: validations alone while there are any, so that all players are rated before pairing."""
    context = MeasurementContext(runtime_digest=runner.evaluator.runtime_digest, beacon=PREVIEW_BEACON, locks=lock_digests())
    failed = {(duel.players[0].name, duel.players[1].name, duel.key) for duel in played if duel.verdict is not Verdict.OK}
    missing = missing_work(challenge, [entry.entry() for entry in entries], [], context, [*recorded, *played])
    items = [
        item
        for item in missing
        if isinstance(item, DuelWorkItem) and (item.entries[0].name, item.entries[1].name, item.wanted.key()) not in failed
    ]
    by_name, tasks = {entry.name: entry for entry in entries}, {task.id: task for task in challenge.tasks}
    return [
        runner.request(by_name[item.entries[0].name], by_name[item.entries[1].name], tasks[item.task_id])
        for item in [item for item in items if item.is_validation] or items
    ]


# Words for logs, which hold nothing that a player wrote


def player_names(record: Result | Duel) -> str:
    """The players' names in the order of the sides; one name for a validation, as for a result."""
    return " v ".join(dict.fromkeys(f"{side.login}/{side.agent}" for side in record.sides))


def outcome_for_log(record: Result | Duel) -> str:
    """Who played what, and how it ended; the text holds nothing that a player wrote."""
    return f"{player_names(record)} {_outcome(record)} on {record.task}"


def _outcome(record: Result | Duel) -> str:
    if isinstance(record, Result) or record.verdict is not Verdict.OK:
        return str(record.verdict)
    if record.is_validation:
        return "refused" if validation_fault(record) else "validated"
    count = rated_totals(record).counts[0]
    return f"+{count.won} ={count.drawn} -{count.lost}"


def log_line(record: Result | Duel) -> str:
    """One line for the log. A message is shown for internal errors only, and escaped: workflows execute log lines."""
    message = record.message.splitlines()
    reason = f": {escape_commands(message[0])}" if record.verdict is Verdict.INTERNAL_ERROR and message else ""
    return f"{player_names(record)} on {record.task}: {_outcome(record)}{reason}"
