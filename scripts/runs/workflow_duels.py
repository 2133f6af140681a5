"""Duels in GitHub workflows, and their log lines, which hold nothing that a player wrote."""

from dataclasses import dataclass
from datetime import UTC, datetime

from evaluator.host.duels.evaluate_duel import DuelPlayer, DuelRequest, evaluate_duel
from evaluator.host.envs.gym_task import EnvironmentFault
from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.model.config.challenge import Task
from evaluator.model.records.duel_record import Duel, PlayerRecord
from evaluator.model.records.result import Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.ratings.duel_results import duel_totals, validation_fault
from scripts.console import OUR_FAULT, CommandError, progress_bar
from scripts.github.workflow.outputs import escape_commands
from scripts.runs.evaluate_missing import Evaluator


@dataclass(frozen=True, kw_only=True)
class WorkflowDuelOptions:
    """Provenance of a duel."""

    tier: Tier
    beacon: str
    commit: str
    """The commit of main, or of the pull request."""
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
    try:
        game = open_game(task)
    except EnvironmentFault as error:
        raise CommandError(OUR_FAULT, str(error)) from error
    challenge, sandbox = evaluator.checkout.challenge, evaluator.sandbox
    request = DuelRequest(
        contenders=contenders, game=game, limits=challenge.limits, season=challenge.season, beacon=options.beacon,
        beacon_verified=False, tier=options.tier, runtime_digest=evaluator.runtime_digest,
        commit=options.commit, run_url=options.run_url,
    )  # fmt: skip
    with progress_bar(
        f"{contenders[0].agent} and {contenders[1].agent} on {task.id}", task.matches, quiet=quiet
    ) as progress:
        return evaluate_duel(request, sandbox.kind, sandbox.opener, lambda: datetime.now(UTC), progress)


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
    return f"+{count.wins} ={count.draws} -{count.losses}"


def duel_line(duel: Duel) -> str:
    """One line for the log. A message is shown for internal errors only, and escaped: workflows execute log lines."""
    message = duel.message.splitlines()
    reason = f": {escape_commands(message[0])}" if duel.verdict is Verdict.INTERNAL_ERROR and message else ""
    return f"{player_names(duel)} on {duel.task}: {duel_outcome(duel)}{reason}"
