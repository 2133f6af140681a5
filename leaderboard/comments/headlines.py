"""The headline of a comment: the outcome in one line."""

from collections.abc import Sequence

from markupsafe import Markup

from evaluator.model.records.verdict import Verdict
from leaderboard.comments import game_phrases
from leaderboard.comments.phrases import score, task_name
from leaderboard.comments.states import AgentPreview, GamePreview, OfficialScore, Previewed, TaskPreview
from leaderboard.text.format import counted

_EMOJI = {1: "🥇", 2: "🥈", 3: "🥉"}


def comment_headline(state: Previewed) -> Markup:
    """The headline of a preview."""
    rows = [row for agent in state.agents for row in agent.rows]
    games = [game for agent in state.agents for game in agent.games]
    refused = [agent for agent in state.agents if agent.faults or agent.copy_of]
    scored = sum(row.estimate is not None for row in rows) + sum(map(_passed, games))
    total = len(rows) + len(games) + len(refused)
    if not total:
        return Markup(
            f"🪦 This withdraws {counted(len(state.removed), 'agent')}" if state.removed else "⚪ Nothing was played"
        )
    if not scored:
        return _without_score(rows, games, refused)
    if scored == total == 1:
        return _single(rows[0]) if rows else Markup("✅ Preview: {}").format(game_phrases.duels_in_words(games[0]))
    if scored == total:
        return Markup(f"✅ Preview: all {scored} evaluations scored")
    return Markup(f"🟡 Preview: {scored} of {total} scored")


def _single(row: TaskPreview) -> Markup:
    would = f", would take place {row.place} of {row.entries}" if row.place else ""
    return Markup("✅ Preview: {} on {}{}").format(score(row), task_name(row), would)


def _passed(game: GamePreview) -> bool:
    return game.refusal is None and game.failed is None


def _without_score(rows: Sequence[TaskPreview], games: Sequence[GamePreview], refused: Sequence[AgentPreview]) -> Markup:
    ours = all(row.result.verdict is Verdict.INTERNAL_ERROR for row in rows) and all(game.refusal is None for game in games)
    if not refused and ours:
        return Markup("🛠️ No score yet: our fault, not yours")
    if not refused and games:
        where = game_phrases.game_name(games[0]) if len(games) + len(rows) == 1 else f"{len(games) + len(rows)} tasks"
        return Markup("❌ Refused on {}" if not rows else "❌ No score on {}").format(where)
    if not refused:
        failed = task_name(rows[0]) if len(rows) == 1 else Markup(f"{len(rows)} tasks")
        return Markup("❌ No score on {}").format(failed)
    if not rows and not games and all(agent.copy_of for agent in refused):
        return Markup("❌ No score: this is a copy of another agent")
    if not rows and not games:
        return Markup(f"❌ No score: {counted(sum(len(agent.faults) for agent in refused), 'thing')} to fix first")
    return Markup("❌ No score")


def official_headline(state: OfficialScore) -> Markup:
    """The headline of a merged pull request."""
    rows = [row for agent in state.agents for row in agent.rows]
    games = [game for agent in state.agents for game in agent.games]
    scored = [row for row in rows if row.estimate]
    passed = [game for game in games if _passed(game)]
    done, total = len(scored) + len(passed), len(rows) + len(games) + len(state.pending)
    if not rows and not games and state.unshown and not state.pending:
        return Markup("🔒 Official: recorded, and shown when the leaderboard is public")
    if not rows and not games:
        return Markup("🎉 Merged: the official run comes next")
    if done == total == 1:
        return _official(scored[0]) if scored else _official_game(passed[0])
    if done == total:
        return Markup(f"🏁 Official: all {total} evaluations scored")
    so_far = " so far" if state.pending else ""
    return Markup(f"🏁 Official: {done} of {total} scored{so_far}")


def _official(row: TaskPreview) -> Markup:
    place = f", place {row.place} of {row.entries}" if row.place else ""
    return Markup("{} Official: {} on {}{}").format(_EMOJI.get(row.place or 0, "🏁"), score(row), task_name(row), place)


def _official_game(game: GamePreview) -> Markup:
    return Markup("{} Official: {}").format(_EMOJI.get(game.place or 0, "🏁"), game_phrases.duels_in_words(game))
