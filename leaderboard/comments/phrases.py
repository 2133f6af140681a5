"""The phrases of a comment: headlines, advice, table cells, links, commands and charts drawn with characters.

Entrants' text stands only in code spans.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from evaluator.model.identifiers import AGENT, LOGIN, TASK, safe_path_segment
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import visible
from leaderboard.charts.interval_charts import ChartScale, as_point
from leaderboard.comments.comment_states import (
    AgentReport,
    DuelReport,
    GameReport,
    OfficialScore,
    OverallReport,
    Previewed,
    Report,
    TaskReport,
)
from leaderboard.core.entry import Estimate
from leaderboard.scoring.metrics import better, metrics_of, oriented_value, ranking_metric
from leaderboard.text.escape_markdown import cell, code
from leaderboard.text.format import number, quantity, ranks, seconds, size, span, tries_mark

_FAULT_PLACE = re.compile(
    r"(?:.* )?at (?P<file>[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,200}):(?P<line>[1-9][0-9]{0,6})(?:: .*)?", re.DOTALL
)
_PLAIN_TITLE = re.compile(r"[A-Za-z][A-Za-z0-9 ()-]*")
_REFERENCE = re.compile(r"[0-9a-f]{7}|GH-[0-9]", re.IGNORECASE)
# The functions whose return value templates print without escaping.
PHRASES = (
    "retry_advice", "place", "rank_interval", "since_last", "to_leader", "interval", "score_chart", "score",
    "processor_time", "peak_memory", "picture_title", "overall_score", "task_name", "metrics_line", "won_drawn_lost",
    "elo_scale", "opponents_title",
)  # fmt: skip
_SAFE_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/%#=-]*)?")


def retry_advice(verdict: Verdict, official: bool) -> str:
    """Whether running it again without a change helps, and how to do that."""
    if official and verdict is not Verdict.INTERNAL_ERROR:
        return "No, the recorded result stays. Submit a new version in a new pull request."
    if verdict is Verdict.INTERNAL_ERROR:
        return "Yes. It is retried automatically; the comment `/retry` does it at once."
    if verdict.is_retryable:
        return "Perhaps, if it was close to the limit: comment `/retry`. The official run is not repeated."
    return "No, the same code on the same seeds gives the same result. Push a fix, and a new preview starts automatically."


def task_name(row: Report) -> Markup:
    """The title of a task or game, which the host wrote: as text if it consists of plain words, else as a code span."""
    return _host_text(row.task.title or row.task.id)


def _host_text(text: str) -> Markup:
    return Markup(text) if is_plain(text) else cell(text)


def is_plain(title: str) -> bool:
    """Whether GitHub shows the title as plain text, with no Markdown, reference or link in it."""
    return _PLAIN_TITLE.fullmatch(title) is not None and not _REFERENCE.search(title)


def place(row: Report) -> Markup:
    """The place, and the number of entries."""
    if row.place is None:
        return Markup("–")
    moved = f", now {row.own_place}" if row.own_place and row.own_place != row.place else ""
    shown = f"**{row.place}** of {row.entries}{moved}".replace(" ", "\N{NO-BREAK SPACE}")
    return Markup(f"{shown}, {tries_mark(row.tries)}" if row.tries > 1 else shown)


def rank_interval(row: Report | OverallReport) -> str:
    """The rank interval."""
    return ranks(row.rank_low, row.rank_high) if row.rank_low and row.rank_high else "–"


def since_last(row: Report) -> str:
    """The difference to the author's previous version."""
    if row.estimate is None or row.own_last is None:
        return "new"
    return _signed(row.estimate.score - row.own_last.score, row.decimals)


def to_leader(row: Report) -> Markup:
    """The difference to the best other entry, and its name."""
    if row.estimate and not row.entries:
        return Markup("not shown yet")
    if row.estimate and row.estimate.is_missing:
        return Markup("no value, so it ranks last")
    if row.estimate is None or row.leader is None:
        return Markup("–" if row.task.game else "first entry")
    gap = _signed(row.estimate.score - row.leader.score, row.decimals)
    shown = Markup("{} to {}").format(gap, cell(row.leader_name or "another"))
    if _is_ahead(row):
        return Markup("**leads**, {}").format(shown)
    return shown + Markup(", statistically tied") if row.with_leader else shown


def _is_ahead(row: Report) -> bool:
    if row.estimate is None or row.leader is None:
        return False
    metric = ranking_metric(row.task)
    return oriented_value(metric, row.estimate.score) > oriented_value(metric, row.leader.score)


def _signed(value: float, decimals: int) -> str:
    shown = number(value, decimals)
    return f"+{shown}" if value > 0 and shown.strip("0.") else shown


def score(row: Report) -> str:
    """The score without its interval; of a rating also the sign."""
    if row.estimate is None:
        return "–"
    shown = _signed if row.task.game else number
    return shown(row.estimate.score, row.decimals)


def metrics_line(row: TaskReport) -> Markup:
    """The value of each metric that the host defined, and which direction is better; the first metric ranks."""
    if not row.task.metrics or row.estimate is None:
        return Markup("")
    pairs = zip(metrics_of(row.task), (row.estimate.score, *row.others), strict=True)
    values = [Markup("{} **{}** ({})").format(_host_text(m.name), number(v, m.decimals), better(m)) for m, v in pairs]
    return Markup("{}: {}").format(task_name(row), Markup(", ").join(values))


def processor_time(row: TaskReport) -> str:
    """The processor time, and its limit."""
    return f"{seconds(row.result.cost.cpu_seconds)} of {row.result.limits.cpu_seconds:g} s"


def peak_memory(row: TaskReport) -> str:
    """The peak memory, and its limit."""
    return f"{size(row.result.cost.peak_memory_bytes)} of {row.result.limits.memory_mib} MiB"


def overall_score(overall: OverallReport) -> Markup:
    """The mean normalised score and its interval."""
    estimate = overall.estimate
    return Markup("**{}** ({})").format(number(estimate.score, 3), span(estimate.low, estimate.high, 3))


def picture_title(agent: AgentReport, row: Report, many: bool) -> str:
    """The line above a text chart. It stands in a code fence, so only backticks have to be replaced."""
    title = row.task.title or row.task.id
    return visible(f"{agent.agent} on {title}" if many else title).replace("`", "'")


def interval(row: Report) -> str:
    """The 95 % interval; of a rating that of the difference to the anchor."""
    shown = span(row.estimate.low, row.estimate.high, row.decimals) if row.estimate else "–"
    return shown.replace(" ", "\N{NO-BREAK SPACE}")


def score_chart(row: Report) -> str:
    """A text chart of the entry, its previous version, and the best other entry."""
    name, mark = ("next", SCORE_SIGN) if _is_ahead(row) else ("leader", LEADER_SIGN)
    shown = [("this", row.estimate, SCORE_SIGN), ("before", row.own_last, SCORE_SIGN), (name, row.leader, mark)]
    return text_chart([TextBar(name=name, estimate=e, mark=mark) for name, e, mark in shown if e], row.decimals)


def fault_location(result: Result) -> tuple[str, int] | None:
    """File and line that the message names. The agent wrote the message, so both may be false."""
    place = _FAULT_PLACE.fullmatch(result.message)
    if not place or ".." in place["file"]:
        return None
    return place["file"], int(place["line"])


def safe_url(url: str | None) -> Markup | None:
    """The URL if it is safe in a Markdown link, else None."""
    return Markup(url) if url and _SAFE_URL.fullmatch(url) else None


def link_words(words: str, url: str | None) -> Markup:
    """A link with trusted words; only the words if the URL is not safe."""
    safe = safe_url(url)
    return Markup("[{}]({})").format(Markup(words), safe) if safe else Markup(words)


def link_code(text: str, url: str) -> Markup:
    """A code span, linked if the URL is safe."""
    safe = safe_url(url)
    return Markup("[{}]({})").format(code(text), safe) if safe else code(text)


def any_unsigned_score(pairs: Iterable[tuple[AgentReport, TaskReport]]) -> bool:
    """Whether some seeds come from a commit that GitHub did not sign."""
    return any(row.result.beacon_verified is False for _, row in pairs)


def verify_command(
    pairs: Iterable[tuple[AgentReport, TaskReport]], games: Iterable[tuple[AgentReport, GameReport]] = ()
) -> Markup:
    """The command that replays the recorded results."""
    named = [(agent, row.task.id, f"{agent.login}/{agent.agent}") for agent, row in pairs]
    named += [(agent, game.task.id, f"*{agent.login}+{agent.agent}*") for agent, game in games]
    paths = [
        f"results/{safe_path_segment(task_id)}/{inside}"
        for agent, task_id, inside in named
        if LOGIN.fullmatch(agent.login) and AGENT.fullmatch(agent.agent) and TASK.fullmatch(task_id)
    ]
    return Markup("pullrank verify " + " ".join(paths))


def preview_command(agents: Iterable[AgentReport], head_sha: str) -> Markup | None:
    """The command that repeats the preview; names that are not safe in a shell are left out.

    It names the sandbox: whoever looks at somebody else's agent must not run it without one because no engine answers.
    """
    safe = [a for a in agents if LOGIN.fullmatch(a.login) and AGENT.fullmatch(a.agent)]
    if not safe or not re.fullmatch(r"[0-9a-f]{40}", head_sha):
        return None
    command, sandbox = ("check", "") if all(agent.faults for agent in safe) else ("evaluate", " --sandbox docker")
    commands = "; ".join(f"pullrank {command} submissions/{agent.login}/{agent.agent}{sandbox}" for agent in safe)
    return Markup(f"git fetch origin {head_sha} && git switch --detach FETCH_HEAD && {commands}")


# Games

PlayerInGame = tuple[AgentReport, GameReport]


def rated_players(agents: Iterable[AgentReport]) -> list[PlayerInGame]:
    """Every player that has opponents or a rating."""
    return [(agent, game) for agent in agents for game in agent.games if game.estimate or game.duels]


def players_without_opponents(agents: Iterable[AgentReport]) -> list[PlayerInGame]:
    """Every player that passed its validation and has no opponents yet."""
    return [
        (agent, game)
        for agent in agents
        for game in agent.games
        if not game.estimate and not game.duels and game.refusal is None and game.failed is None
    ]


def refused_players(agents: Iterable[AgentReport]) -> list[PlayerInGame]:
    """Every player that its validation refused, then those that failed by our fault."""
    pairs = [(agent, game) for agent in agents for game in agent.games if game.refusal is not None or game.failed]
    return sorted(pairs, key=lambda pair: pair[1].refusal is None)


def any_unsigned_player(pairs: Iterable[PlayerInGame]) -> bool:
    """Whether some seeds come from a commit that GitHub did not sign."""
    return any(not game.signed for _, game in pairs)


def won_drawn_lost(duel: DuelReport) -> str:
    """Won, drawn and lost, as three table cells."""
    count = duel.count
    return f"{count.won} | {count.drawn} | {count.lost}"


def won_drawn_lost_bar(duel: DuelReport) -> str:
    """Won, drawn and lost, as a bar."""
    return text_shares(duel.count.won, duel.count.drawn, duel.count.lost)


def opponents_title(game: GameReport) -> str:
    """The summary of a folded table. GitHub reads no Markdown there, so the title is used only if it is plain."""
    title = game.task.title or game.task.id
    return f"Opponents on {title}" if is_plain(title) else "Opponents"


def elo_scale(pairs: Iterable[PlayerInGame]) -> Markup:
    """The sentence that explains the rating scale."""
    anchors = sorted({game.anchor for _, game in pairs if game.estimate and game.anchor})
    zero = Markup("; {} has rating 0").format(cell(anchors[0])) if len(anchors) == 1 else Markup("")
    return Markup("Ratings are on the Elo scale: a difference of 400 points means odds of 10 to 1{}.").format(zero)


def duels_in_words(game: GameReport) -> Markup:
    """The result in one game, for the headline."""
    place = f", place {game.place} of {game.entries}" if game.place else ""
    if game.estimate:
        return Markup("{} Elo on {}{}").format(score(game), task_name(game), place)
    if not game.duels:
        return Markup("may enter {}").format(task_name(game))
    count = game.count
    matches = quantity(count.matches, "match", "matches")
    return Markup("{} of {} won on {}").format(str(count.won), matches, task_name(game))


# Headlines

_EMOJI = {1: "🥇", 2: "🥈", 3: "🥉"}


def preview_headline(state: Previewed) -> Markup:
    """The headline of a preview."""
    rows = [row for agent in state.agents for row in agent.rows]
    games = [game for agent in state.agents for game in agent.games]
    refused = [agent for agent in state.agents if agent.faults]
    scored = sum(row.estimate is not None and row.failed_before is None for row in rows) + sum(map(_passed, games))
    total = len(rows) + len(games) + len(refused)
    if not total:
        return Markup(
            f"🪦 This withdraws {quantity(len(state.removed), 'agent')}" if state.removed else "⚪ Nothing was played"
        )
    if not scored:
        return _without_score(rows, games, refused)
    if scored == total == 1:
        return _single(rows[0]) if rows else Markup("✅ Preview: {}").format(duels_in_words(games[0]))
    if scored == total:
        return Markup(f"✅ Preview: all {scored} evaluations scored")
    return Markup(f"🟡 Preview: {scored} of {total} scored")


def _single(row: TaskReport) -> Markup:
    would = f", would take place {row.place} of {row.entries}" if row.place else ""
    return Markup("✅ Preview: {} on {}{}").format(score(row), task_name(row), would)


def _passed(game: GameReport) -> bool:
    return game.refusal is None and game.failed is None


def _without_score(rows: Sequence[TaskReport], games: Sequence[GameReport], refused: Sequence[AgentReport]) -> Markup:
    if refused and (rows or games):
        return Markup("❌ No score")
    if refused:
        return Markup(f"❌ No score: {quantity(sum(len(agent.faults) for agent in refused), 'thing')} to fix first")
    if all(row.result.verdict is Verdict.INTERNAL_ERROR for row in rows) and all(game.refusal is None for game in games):
        return Markup("🛠️ No score yet: our fault, not yours")
    tried: list[Report] = [*rows, *games]
    where = task_name(tried[0]) if len(tried) == 1 else Markup(f"{len(tried)} tasks")
    return Markup("❌ No score on {}" if rows else "❌ Refused on {}").format(where)


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


def _official(row: TaskReport) -> Markup:
    place = f", place {row.place} of {row.entries}" if row.place else ""
    return Markup("{} Official: {} on {}{}").format(_EMOJI.get(row.place or 0, "🏁"), score(row), task_name(row), place)


def _official_game(game: GameReport) -> Markup:
    return Markup("{} Official: {}").format(_EMOJI.get(game.place or 0, "🏁"), duels_in_words(game))


# Charts

# Characters of a bar.
TEXT_WIDTH = 26
SCORE_SIGN, LEADER_SIGN = "●", "◆"
_SHARE_SIGNS = ("█", "▒", "·")


@dataclass(frozen=True, kw_only=True)
class TextBar:
    """One line of a text chart."""

    name: str
    estimate: Estimate
    mark: str = SCORE_SIGN


def text_chart(bars: Sequence[TextBar], decimals: int) -> str:
    """One line for each bar with its score at the end, and a line with the ends of the scale; empty without a score."""
    bars = [replace(bar, estimate=as_point(bar.estimate)) for bar in bars if not bar.estimate.is_missing]
    if not bars:
        return ""
    scale = _text_scale(bars)
    names = max(len(bar.name) for bar in bars)
    scores = [number(bar.estimate.score, decimals) for bar in bars]
    digits = max(map(len, scores))
    lines = [
        f"{bar.name:<{names}} {text_interval(bar.estimate, scale, bar.mark)} {score:>{digits}}"
        for bar, score in zip(bars, scores, strict=True)
    ]
    return "\n".join([*lines, f"{'':<{names}} {_axis(scale, decimals)}".rstrip()])


def _text_scale(bars: Sequence[TextBar]) -> ChartScale:
    """From the least to the greatest shown value; it has a width even where all are equal."""
    low, high = min(bar.estimate.low for bar in bars), max(bar.estimate.high for bar in bars)
    margin = 0.0 if low < high else max(abs(high), 1.0) / 2
    return ChartScale(low=low - margin, high=high + margin)


def text_shares(won: int, drawn: int, lost: int) -> str:
    """Won, drawn and lost as parts of one bar, by largest remainders; a count above 0 has at least one character."""
    counts = (won, drawn, lost)
    total = sum(counts)
    if not total:
        return ""
    room = TEXT_WIDTH - sum(count > 0 for count in counts)
    parts = [(count > 0) + count * room // total for count in counts]
    by_remainder = sorted(range(3), key=lambda index: (-(counts[index] * room % total), index))
    for index in by_remainder[: TEXT_WIDTH - sum(parts)]:
        parts[index] += 1
    return "".join(sign * part for sign, part in zip(_SHARE_SIGNS, parts, strict=True))


def text_interval(estimate: Estimate, scale: ChartScale, mark: str) -> str:
    """A line of dots with the interval on it and the mark at the score."""
    low, high, middle = (_column(scale, value) for value in (estimate.low, estimate.high, estimate.score))
    line = ["·"] * TEXT_WIDTH
    line[low : high + 1] = "─" * (high - low + 1)
    line[low], line[high], line[middle] = "├", "┤", mark
    return "".join(line)


def _column(scale: ChartScale, value: float) -> int:
    return min(TEXT_WIDTH - 1, int(scale.at(value) / 100 * TEXT_WIDTH))


def _axis(scale: ChartScale, decimals: int) -> str:
    left, right = number(scale.low, decimals), number(scale.high, decimals)
    return left + right.rjust(TEXT_WIDTH - len(left))
