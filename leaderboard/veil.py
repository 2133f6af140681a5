"""What a comment leaves out: a pull request is public, so it says no more than the pages do at that moment."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from evaluator.model.config.challenge import Challenge
from leaderboard.comment_states import AgentPreview, GamePreview, TaskPreview
from leaderboard.visibility import called


def masked(agent: AgentPreview, challenge: Challenge, hidden: Collection[str], at: datetime) -> AgentPreview:
    """An agent without what others' boards would tell: places and leaders where a board is hidden, names until a date.

    The scores of its own preview stay: anybody can play them at home.
    """
    rows = tuple(_redacted_row(row, challenge, hidden, at) for row in agent.rows)
    games = tuple(_game(game, challenge, hidden, at) for game in agent.games)
    return replace(agent, rows=rows, games=games)


def unscored(agent: AgentPreview, hidden: Collection[str]) -> AgentPreview:
    """An agent without its official scores on boards that are hidden; what failed is told, so that it can be mended."""
    rows = tuple(row for row in agent.rows if row.task.id not in hidden or row.estimate is None)
    games = tuple(game for game in agent.games if game.task.id not in hidden or game.refusal or game.failed)
    return replace(agent, rows=rows, games=games)


def _redacted_row(row: TaskPreview, challenge: Challenge, hidden: Collection[str], at: datetime) -> TaskPreview:
    if row.task.id not in hidden:
        return replace(row, leader_name=row.leader_name and called(challenge, row.leader_name, at))
    return TaskPreview(task=row.task, result=row.result, estimate=row.estimate, others=row.others, retryable=row.retryable)


def _game(game: GamePreview, challenge: Challenge, hidden: Collection[str], at: datetime) -> GamePreview:
    meetings = tuple(replace(one, opponent=called(challenge, one.opponent, at)) for one in game.meetings)
    if game.task.id not in hidden:
        anchor = game.anchor and called(challenge, game.anchor, at)
        leader = game.leader_name and called(challenge, game.leader_name, at)
        return replace(game, meetings=meetings, anchor=anchor, leader_name=leader)
    return GamePreview(
        task=game.task, meetings=tuple(one for one in meetings if one.is_baseline), refusal=game.refusal,
        position=game.position, failed=game.failed, log=game.log, official=game.official, signed=game.signed,
    )  # fmt: skip
