"""The duels in a preview, read as hostile: who met whom, and whether the moves are a game at all."""

from functools import cache

from evaluator.host.duels.verify_duel import verify_duel
from evaluator.host.envs.gym_task import WorldError
from evaluator.host.envs.pettingzoo_game import Game, open_game
from evaluator.host.solo.verify_result import Standing
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview
from evaluator.model.records.verdict import Verdict
from scripts.bot.desk import Desk
from scripts.git.main_entries import read_entries
from scripts.repository.checkout import PREVIEW_BEACON

Version = tuple[str, str, str]
"""Login and folder as they are spelled, and digest."""


def duel_fault(desk: Desk, preview: Preview, author_id: int) -> str | None:
    """Why a preview's duels cannot be believed, in a line of ours; None where they can.

    A pull request's agents may meet themselves, and what stands on main. Every move is played again on the game alone, so
    a result that no game has never reaches a comment. Who chose the moves no replay can tell: a preview stays a claim.
    """
    duels = [(agent, duel) for agent in preview.agents for duel in agent.duels]
    if not duels:
        return None
    standing = _standing(desk, preview)
    for agent, duel in duels:
        own = (agent.login, agent.agent, agent.submission_digest or "")
        task = desk.board.challenge.task(duel.task)
        if task is None or task.game is None:
            return "the preview run played a game that the board does not have"
        for player in duel.players:
            version = (player.login, player.agent, player.submission_digest)
            if version != own and version not in standing:
                return "the preview run played against an agent that does not stand on main"
            if player.login_id not in (None, author_id) or (version != own and player.login_id is not None):
                return "the preview run names an account that is not the author's"
        if fault := _fault(desk.board.challenge, task, duel):
            return fault
    return None


def _standing(desk: Desk, preview: Preview) -> set[Version]:
    """Who stands on main now, or stood there when the preview began."""
    entries = list(desk.entries)
    if preview.evaluator_sha in desk.history and preview.evaluator_sha != desk.main:
        entries += read_entries(desk.clone, preview.evaluator_sha, desk.board.challenge)[0]
    return {(entry.login, entry.agent, entry.digest) for entry in entries}


def _fault(challenge: Challenge, task: Task, duel: Duel) -> str | None:
    if (duel.season, duel.beacon, duel.beacon_verified) != (challenge.season, PREVIEW_BEACON, False):
        return "the preview run played other seeds than a preview’s"
    if duel.task_digest != task.digest():
        return None  # main's rules changed meanwhile: it is shown by nobody, and the next run plays anew
    if duel.verdict is not Verdict.OK:
        return None
    finding = verify_duel("preview", duel.serialised(), _game(task.model_dump_json(), task.code))
    if finding.standing is Standing.VERIFIED:
        return None
    return "the moves of a duel in the preview do not give what it says"


@cache
def _game(task: str, code: str | None) -> Game | None:
    try:
        return open_game(Task.model_validate_json(task).with_code(code))
    except WorldError:
        return None
