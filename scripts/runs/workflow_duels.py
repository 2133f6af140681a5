"""A duel as the workflows hold it, and in one line of ours: nothing that a player says is ever in a workflow's log."""

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
from scripts.console import OUR_FAULT, CommandError, bar
from scripts.github.workflow.outputs import escape_commands
from scripts.runs.evaluate_missing import Evaluator


@dataclass(frozen=True, kw_only=True)
class WorkflowDuelOptions:
    """What a duel counts as."""

    tier: Tier
    beacon: str
    commit: str
    """The board's commit, or the pull request's."""
    run_url: str | None


def play_duel(
    bench: Evaluator,
    task: Task,
    contenders: tuple[DuelPlayer, DuelPlayer],
    terms: WorkflowDuelOptions,
    *,
    quiet: bool = True,
) -> Duel:
    """Have two players meet, with a bar.

    Raises:
        CommandError: the game cannot be made here.
    """
    try:
        game = open_game(task)
    except EnvironmentFault as error:
        raise CommandError(OUR_FAULT, str(error)) from error
    order = DuelRequest(
        contenders=contenders, game=game, limits=bench.board.challenge.limits, season=bench.board.challenge.season,
        beacon=terms.beacon, beacon_verified=False, tier=terms.tier, runtime_digest=bench.runtime_digest,
        commit=terms.commit, run_url=terms.run_url,
    )  # fmt: skip
    with bar(f"{contenders[0].agent} and {contenders[1].agent} on {task.id}", task.matches, quiet=quiet) as done:
        return evaluate_duel(order, bench.chosen.kind, bench.chosen.opener, lambda: datetime.now(UTC), done)


def between(duel: Duel) -> str:
    """Who met, in the order of the sides."""
    first, second = (_name(player) for player in duel.players)
    return first if duel.is_validation else f"{first} v {second}"


def _name(player: PlayerRecord) -> str:
    return f"{player.login}/{player.agent}"


def outcome(duel: Duel) -> str:
    """What came of it, in words of ours."""
    if duel.verdict is not Verdict.OK:
        return str(duel.verdict)
    if duel.is_validation:
        return "refused" if validation_fault(duel) else "validated"
    count = duel_totals(duel).counts[0]
    return f"+{count.wins} ={count.draws} -{count.losses}"


def duel_line(duel: Duel) -> str:
    """One line for a log: only what failed on our side is told in words, for a log line can be a command there."""
    said = duel.message.splitlines()
    why = f": {escape_commands(said[0])}" if duel.verdict is Verdict.INTERNAL_ERROR and said else ""
    return f"{between(duel)} on {duel.task}: {outcome(duel)}{why}"
