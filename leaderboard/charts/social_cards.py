"""Social cards: the pictures that other sites show beside a link, as PNG, drawn with Pillow and its built-in font."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import inf, isfinite
from urllib.parse import quote

from PIL import Image, ImageDraw, ImageFont, ImageOps

from evaluator.model.config.task import Task
from evaluator.model.identifiers import safe_path_segment
from evaluator.model.records.duel_record import Duel
from leaderboard.core.entry import AgentName, Entry, Estimate
from leaderboard.core.game_standings import GameRow, GameStandings
from leaderboard.core.standings import OverallRow, Standings, TaskRow, TaskStandings
from leaderboard.scoring.metrics import better, digits, ranking_metric
from leaderboard.text import format
from leaderboard.text.format import MINUS
from leaderboard.text.urls import agent_page, task_page

HOME_CARD = "cards/home.png"
# The best agents overall and of each task have their own cards: drawing one takes longer than writing an agent's page.
OVERALL_CARDS, TASK_CARDS = 10, 3
CARD_LINES = 4


@dataclass(frozen=True, kw_only=True)
class CardLine:
    """One line of a card's list."""

    place: int | None
    """None for what is unranked, such as a baseline."""
    name: tuple[str, ...]
    """Alternatives: the first that the font can draw is used."""
    value: str
    span: tuple[float, float, float] | None = None
    """Low end, score and high end on an axis from 0, the random score, to 1, the reference or beyond. None without these
    scores, and where there is no interval: then it has no bar."""


@dataclass(frozen=True, kw_only=True)
class SocialCard:
    """The content of one card. Of several alternatives the first that the font can draw is used."""

    file: str
    """Its path below the site's root."""
    title: tuple[str, ...]
    above: tuple[str, ...]
    below: str
    lines: tuple[CardLine, ...]
    episode_of: str = ""
    """The key of the result whose typical episode gives the picture beside the lines; empty for none."""
    match: tuple[Task, Duel, int] | None = None
    """The match whose last position is the picture."""


def social_cards(standings: Standings) -> Iterator[SocialCard]:
    """Every card of a leaderboard; those of a local one say so."""
    for card in _cards(standings):
        yield card if standings.official else replace(card, below=f"local, unofficial · {card.below}")


def _cards(standings: Standings) -> Iterator[SocialCard]:
    yield _home(standings)
    yield from (_task(standings, board) for board in standings.tasks)
    yield from (_game(standings, board) for board in standings.games)
    for board in standings.games:
        yield from (_duel(standings, board, duel) for duel in chosen_duels(board))
    for entry in chosen_cards(standings):
        yield _agent(standings, entry)


def card_files(standings: Standings) -> dict[str, str]:
    """The address of its card below the site's root, by page. All other pages use the card of the home page."""
    files = {task_page(board.task.id): _task_file(board.task.id) for board in standings.boards}
    files |= {agent_page(entry.login, entry.agent): _agent_file(entry) for entry in chosen_cards(standings)}
    return {page: quote(file) for page, file in files.items()}


def task_card(task_id: str) -> str:
    """The address of a task's card below the site's root."""
    return quote(_task_file(task_id))


def chosen_cards(standings: Standings) -> tuple[Entry, ...]:
    """The agents that have their own cards: the best overall and the best of each task."""
    entries = [row.entry for row in standings.overall[:OVERALL_CARDS]]
    entries += [row.entry for board in standings.boards for row in board.rows[:TASK_CARDS]]
    return tuple({entry.name: entry for entry in entries}.values())


def chosen_duels(board: GameStandings) -> tuple[Duel, ...]:
    """The duels that have their own cards: those among the first players."""
    names = [row.entry.name for row in board.rows[:TASK_CARDS]]
    meetings = (board.crosstable.get(pair) for pair in combinations(names, 2))
    return tuple(meeting.duel for meeting in meetings if meeting and meeting.duel.matches)


def duel_card(board: GameStandings, duel: Duel) -> str:
    """The address of a duel's card below the site's root; that of its game if it has none of its own."""
    has_own = any(duel.key == chosen.key for chosen in chosen_duels(board))
    return quote(_duel_file(duel)) if has_own else task_card(board.task.id)


def _duel_file(duel: Duel) -> str:
    return f"cards/duels/{duel.key[:20]}.png"


def _task_file(task_id: str) -> str:
    return f"cards/tasks/{safe_path_segment(task_id)}.png"


def _agent_file(entry: Entry) -> str:
    return f"cards/agents/{entry.login}/{entry.agent}.png"


def _title(standings: Standings) -> tuple[str, ...]:
    return standings.challenge.title, "A leaderboard of agents"


def _called(entry: Entry) -> tuple[str, ...]:
    return entry.submission.name, entry.shown


def _home(standings: Standings) -> SocialCard:
    lines = _lines([row for row in standings.overall if row.is_half_played and not row.is_unranked], 2)
    if not lines:
        lines = tuple(_champion(board, line) for board in standings.boards for line in _board_lines(board)[:1])[:CARD_LINES]
    ranked = format.quantity(standings.ranked_agents, "ranked agent")
    counts = [format.quantity(len(standings.tasks), "task"), format.quantity(len(standings.games), "game"), ranked]
    counts = [words for words in counts if words and not words.startswith("0 ")]
    return SocialCard(
        file=HOME_CARD, title=_title(standings), above=(f"Season {standings.challenge.season}", "A season"),
        below=" · ".join(counts), lines=lines,
    )  # fmt: skip


def _champion(board: TaskStandings | GameStandings, line: CardLine) -> CardLine:
    """The best of a task or game on the card of the home page, after its name."""
    names = tuple(f"{board.task.title or board.task.id}: {name}" for name in line.name)
    return replace(line, name=names, span=None)


def _task(standings: Standings, board: TaskStandings) -> SocialCard:
    task = board.task
    return SocialCard(
        file=_task_file(task.id), title=(task.title or task.id, task.id), above=_title(standings),
        below=f"{format.quantity(len(board.rows), 'agent')} · {task.counted} episodes each · {better(ranking_metric(task))}",
        lines=_board_lines(board), episode_of=board.best.result.key if board.best else "",
    )  # fmt: skip


def _board_lines(board: TaskStandings | GameStandings) -> tuple[CardLine, ...]:
    if isinstance(board, GameStandings):
        return _lines([row for row in board.rows if not row.is_unranked], 0)
    rows = [row for row in board.rows if not row.estimate.is_missing and not row.is_unranked]
    return _lines(rows, digits(board.task), _axis(board.task, [row.estimate for row in rows]))


def _scored(estimate: Estimate, decimals: int) -> str:
    """A score with its interval, if it has one."""
    score = format.number(estimate.score, decimals)
    return f"{score}  ({format.span(estimate.low, estimate.high, decimals)})" if _has_interval(estimate) else score


def _has_interval(estimate: Estimate) -> bool:
    return isfinite(estimate.low) and isfinite(estimate.high)


def _axis(task: Task, estimates: Sequence[Estimate]) -> tuple[float, float] | None:
    """Both ends of a task's axis: the random score, and the reference or the best end of an interval beyond it."""
    if not (task.random and task.reference):
        return None
    zero, one = task.random.score, task.reference.score
    shown = [estimate for estimate in estimates if _has_interval(estimate)]
    far = max([one, *(e.high for e in shown)]) if one > zero else min([one, *(e.low for e in shown)])
    return None if far == zero else (zero, far)


def _span(estimate: Estimate, axis: tuple[float, float] | None) -> tuple[float, float, float] | None:
    """Where an interval and its score lie on an axis, as parts of its length."""
    if axis is None or not _has_interval(estimate):
        return None
    zero, far = axis
    low, score, high = (min(1.0, max(0.0, (x - zero) / (far - zero))) for x in (estimate.low, estimate.score, estimate.high))
    return min(low, high), score, max(low, high)


def _game(standings: Standings, board: GameStandings) -> SocialCard:
    return SocialCard(
        file=_task_file(board.task.id), title=(board.task.title or board.task.id, board.task.id), above=_title(standings),
        below=f"{format.quantity(len(board.rows), 'player')} · {board.task.matches} matches a duel",
        lines=_board_lines(board), match=next(((board.task, duel, 0) for duel in chosen_duels(board)), None),
    )  # fmt: skip


def _duel(standings: Standings, board: GameStandings, duel: Duel) -> SocialCard:
    """Both players with what they won."""
    entries = {row.entry.name: row.entry for row in board.rows}
    shown = [entries[AgentName(*player.name)] for player in duel.players]
    wins = [sum(match.winner == side for match in duel.matches) for side in (0, 1)]
    order = sorted((0, 1), key=lambda side: -wins[side])
    lines = tuple(
        CardLine(place=1 if wins[side] == max(wins) else 2, name=_called(shown[side]), value=f"{wins[side]} won")
        for side in order
    )
    drawn = sum(match.winner is None for match in duel.matches)
    title = board.task.title or board.task.id
    return SocialCard(
        file=_duel_file(duel), title=(f"{shown[0].submission.name} v {shown[1].submission.name}", f"A duel in {title}"),
        above=(f"{title} · {standings.challenge.title}", title), lines=lines, match=(board.task, duel, 0),
        below=f"{format.quantity(len(duel.matches), 'match', 'matches')} · {drawn} without a winner",
    )  # fmt: skip


def _agent(standings: Standings, entry: Entry) -> SocialCard:
    shown = list(_places(standings, entry))
    overall = next((row for row in standings.overall if row.entry.name == entry.name), None)
    has_place = overall is not None and overall.is_half_played and not overall.is_unranked
    place = f"place {overall.place} overall · " if overall and has_place else ""
    return SocialCard(
        file=_agent_file(entry), title=_called(entry), above=_title(standings),
        below=f"{place}by {entry.login}", lines=tuple(sorted(shown, key=lambda line: line.place or inf)[:CARD_LINES]),
    )  # fmt: skip


def _places(standings: Standings, entry: Entry) -> Iterator[CardLine]:
    for board in standings.boards:
        task = board.task
        row = next((row for row in board.rows if row.entry.name == entry.name and not row.estimate.is_missing), None)
        if row:
            value = format.number(row.estimate.score, 0 if task.game else digits(task))
            place = None if row.is_unranked else row.place
            yield CardLine(place=place, name=(task.title or task.id, task.id), value=value)


def _lines(
    rows: Sequence[TaskRow | GameRow | OverallRow], decimals: int, axis: tuple[float, float] | None = None
) -> tuple[CardLine, ...]:
    """The first rows."""
    return tuple(
        CardLine(
            place=row.place, name=_called(row.entry), value=_scored(row.estimate, decimals), span=_span(row.estimate, axis)
        )
        for row in rows[:CARD_LINES]
    )


CARD_WIDTH, CARD_HEIGHT = 1200, 630
_PICTURE_SIZE = (340, 300)
# Of a long position, the last rows.
POSITION_ROWS = 8
_MARGIN_PX = 72
_GROUND, _WHITE, _PALE, _ACCENT, _TRACK = "#141f30", "#ffffff", "#a9b8cc", "#4fd1bd", "#26364f"
_MEDAL_COLOURS = ("#f2c14e", "#c9d2db", "#d08f55")
_ASCII = str.maketrans({MINUS: "-", "\N{NARROW NO-BREAK SPACE}": " ", "\N{EN DASH}": "-"})


def render_card(card: SocialCard, beside: Image.Image | None = None) -> bytes:
    """The card as a PNG file; a picture stands at the right of the lines."""
    picture = Image.new("RGB", (CARD_WIDTH, CARD_HEIGHT), _GROUND)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, CARD_WIDTH, 10), fill=_ACCENT)
    inside = CARD_WIDTH - 2 * _MARGIN_PX
    pen.text((_MARGIN_PX, 56), cut_to_width(first_printable(card.above), 30, inside), font=_font(30), fill=_ACCENT)
    title = first_printable(card.title)
    size = next((size for size in (76, 64, 54, 46) if _font(size).getlength(title) <= inside), 46)
    pen.text((_MARGIN_PX, 150), cut_to_width(title, size, inside), font=_font(size), fill=_WHITE, anchor="lm")
    right = CARD_WIDTH - _MARGIN_PX
    if beside is not None:
        beside = ImageOps.contain(beside.convert("RGB"), _PICTURE_SIZE)
        right -= _PICTURE_SIZE[0] + 36
        picture.paste(beside, (right + 36 + (_PICTURE_SIZE[0] - beside.width) // 2, 222))
    for index, line in enumerate(card.lines):
        _render_line(pen, line, 222 + 80 * index, right)
    if not card.lines:
        pen.text((_MARGIN_PX, 300), "No scores yet.", font=_font(40), fill=_PALE)
    below = cut_to_width(first_printable((card.below,)), 26, inside)
    pen.text((_MARGIN_PX, CARD_HEIGHT - 48), below, font=_font(26), fill=_PALE, anchor="lm")
    return _png(picture)


def _render_line(pen: ImageDraw.ImageDraw, line: CardLine, top: int, right: int) -> None:
    middle = top + 26
    if line.place is not None:
        _render_place(pen, line.place, middle)
    # The score is large, its interval small.
    score, _, interval = first_printable((line.value,)).partition(" (")
    value_width = int(_font(38).getlength(score))
    if interval:
        pen.text((right, middle - 2), f"({interval}", font=_font(20), fill=_PALE, anchor="rm")
        value_width += int(_font(20).getlength(f"({interval}")) + 12
    pen.text((right - value_width, middle - 6), score, font=_font(38), fill=_WHITE, anchor="lm")
    left = _MARGIN_PX + 72
    room = right - left - value_width - 32
    pen.text(
        (left, middle - 6), cut_to_width(first_printable(line.name), 34, room), font=_font(34), fill=_WHITE, anchor="lm"
    )
    if line.span is None:
        return
    low, mid, high = (left + int((right - left) * x) for x in line.span)
    pen.rectangle((left, middle + 27, right, middle + 30), fill=_TRACK)
    pen.rectangle((low, middle + 25, max(high, low + 2), middle + 32), fill=_ACCENT)
    pen.rectangle((mid - 2, middle + 21, mid + 2, middle + 36), fill=_WHITE)


def _render_place(pen: ImageDraw.ImageDraw, place: int, middle: int) -> None:
    is_medal = place <= len(_MEDAL_COLOURS)
    fill, ink = (_MEDAL_COLOURS[place - 1], _GROUND) if is_medal else (_TRACK, _WHITE)
    pen.ellipse((_MARGIN_PX, middle - 24, _MARGIN_PX + 48, middle + 24), fill=fill)
    pen.text((_MARGIN_PX + 24, middle), str(place), font=_font(26 if place < 100 else 18), fill=ink, anchor="mm")


def draw_position(text: str) -> Image.Image:
    """A position that is written as rows of cells: `X` and `O` are stones, dots are free, and words stay words."""
    rows = [[cell for cell in row.split() if first_printable((cell,)) or set(cell) <= set("·")] for row in text.splitlines()]
    rows = [row for row in rows if row][-POSITION_ROWS:]
    columns, lines = max((len(row) for row in rows), default=1), max(1, len(rows))
    wide, high = _PICTURE_SIZE[0] // columns, _PICTURE_SIZE[1] // lines
    if all(len(cell) == 1 for row in rows for cell in row):
        wide = high = min(wide, high)
    picture = Image.new("RGB", (wide * columns, high * lines), _TRACK)
    pen = ImageDraw.Draw(picture)
    for y, row in enumerate(rows):
        for x, cell in enumerate(row):
            _draw_cell(pen, cell, (x * wide + wide // 2, y * high + high // 2), min(wide, high))
    return picture


def _draw_cell(pen: ImageDraw.ImageDraw, cell: str, middle: tuple[int, int], size: int) -> None:
    x, y = middle
    radius = size * 2 // 5
    if cell == "X":
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=_ACCENT)
    elif cell == "O":
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), outline=_MEDAL_COLOURS[2], width=max(3, size // 7))
    elif set(cell) <= set(".·"):
        pen.ellipse((x - 3, y - 3, x + 3, y + 3), fill=_PALE)
    else:
        pen.text(middle, first_printable((cell,)), font=_font(22), fill=_WHITE, anchor="mm")


def first_printable(names: Sequence[str]) -> str:
    """The first of these texts that the font can draw; else the last, without the characters that it cannot."""
    texts = [" ".join(name.translate(_ASCII).split()) for name in names]
    complete = next((text for text in texts if text and _is_printable(text)), None)
    return complete if complete is not None else "".join(letter for letter in texts[-1] if _is_printable(letter))


def _is_printable(text: str) -> bool:
    """Whether the built-in font has all characters: it has printable ASCII and the middle dot."""
    return all(" " <= letter <= "~" or letter == "·" for letter in text)


def cut_to_width(text: str, size: int, width: float) -> str:
    """The text, cut and ended with three dots if it is wider than `width` pixels."""
    font = _font(size)
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(text + "...") > width:
        text = text[:-1]
    return text.rstrip() + "..."


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType, so it cannot draw cards; install its wheel from PyPI")
    return font


def _png(picture: Image.Image) -> bytes:
    """PNG with a palette of 64 colours, a third of the size of full colour."""
    out = io.BytesIO()
    picture.quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(out, "PNG", compress_level=6)
    return out.getvalue()
