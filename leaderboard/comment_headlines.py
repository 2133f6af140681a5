"""The first line that a reader sees: what became of it, and how bad or good that is."""

from collections.abc import Sequence

from markupsafe import Markup

from evaluator.model.verdict import Verdict
from leaderboard.comment_states import AgentPreview, Official, Previewed, TaskPreview
from leaderboard.comment_words import score, task_name
from leaderboard.format import counted

MEDALS = {1: "🥇", 2: "🥈", 3: "🥉"}


def headline(state: Previewed) -> Markup:
    """The preview in a line."""
    rows = [row for agent in state.agents for row in agent.rows]
    refused = [agent for agent in state.agents if agent.faults or agent.copy_of]
    scored = sum(row.estimate is not None for row in rows)
    whole = len(rows) + len(refused)
    if not whole:
        return Markup(
            f"🪦 This withdraws {counted(len(state.removed), 'agent')}" if state.removed else "⚪ Nothing was played"
        )
    if not scored:
        return _without_score(rows, refused)
    if scored == whole == 1:
        return _single(rows[0])
    if scored == whole:
        return Markup(f"✅ Preview: all {scored} evaluations scored")
    return Markup(f"🟡 Preview: {scored} of {whole} scored")


def _single(row: TaskPreview) -> Markup:
    would = f", would take place {row.place} of {row.entries}" if row.place else ""
    return Markup("✅ Preview: {} on {}{}").format(score(row), task_name(row), would)


def _without_score(rows: Sequence[TaskPreview], refused: Sequence[AgentPreview]) -> Markup:
    if not refused and all(row.result.verdict is Verdict.INTERNAL_ERROR for row in rows):
        return Markup("🛠️ No score yet: our fault, not yours")
    if not refused:
        failed = task_name(rows[0]) if len(rows) == 1 else Markup(f"{len(rows)} tasks")
        return Markup("❌ No score on {}").format(failed)
    if not rows and all(agent.copy_of for agent in refused):
        return Markup("❌ No score: this is a copy of another agent")
    if not rows:
        return Markup(f"❌ No score: {counted(sum(len(agent.faults) for agent in refused), 'thing')} to mend first")
    return Markup("❌ No score")


def official_headline(state: Official) -> Markup:
    """What became of a merged pull request in a line."""
    rows = [row for agent in state.agents for row in agent.rows]
    scored = [row for row in rows if row.estimate]
    whole = len(rows) + len(state.pending)
    if not rows:
        return Markup("🎉 Merged: the official run comes next")
    if len(scored) == whole == 1:
        return _official(scored[0])
    if len(scored) == whole:
        return Markup(f"🏁 Official: all {whole} evaluations scored")
    so_far = " so far" if state.pending else ""
    return Markup(f"🏁 Official: {len(scored)} of {whole} scored{so_far}")


def _official(row: TaskPreview) -> Markup:
    place = f", place {row.place} of {row.entries}" if row.place else ""
    return Markup("{} Official: {} on {}{}").format(MEDALS.get(row.place or 0, "🏁"), score(row), task_name(row), place)
