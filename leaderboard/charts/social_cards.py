"""Social cards: the pictures that other sites show beside a link, as PNG, drawn with Pillow and its built-in font."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from urllib.parse import quote

from PIL import Image, ImageDraw, ImageFont

from evaluator.model.identifiers import safe_path_segment
from leaderboard.core.entry import Entry
from leaderboard.core.game_standings import GameStandings
from leaderboard.core.standings import Standings, TaskStandings
from leaderboard.scoring.metrics import better, digits, ranking
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

    place: int
    name: tuple[str, ...]
    """Alternatives: the first that the font can draw is used."""
    value: str
    share: float
    """The length of its bar, 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """The content of one card. Of several alternatives the first that the font can draw is used."""

    file: str
    """Its path below the site's root."""
    title: tuple[str, ...]
    above: tuple[str, ...]
    below: str
    lines: tuple[CardLine, ...]


def social_cards(standings: Standings) -> Iterator[Card]:
    """Every card of a leaderboard."""
    yield _home(standings)
    yield from (_task(standings, board) for board in standings.tasks)
    yield from (_game(standings, board) for board in standings.games)
    for entry in chosen_cards(standings):
        yield _agent(standings, entry)


def card_files(standings: Standings) -> dict[str, str]:
    """The address of its card below the site's root, by page. All other pages use the card of the home page."""
    tasks = [board.task for board in standings.tasks] + [board.task for board in standings.games]
    files = {task_page(task.id): _task_file(task.id) for task in tasks}
    files |= {agent_page(entry.login, entry.agent): _agent_file(entry) for entry in chosen_cards(standings)}
    return {page: quote(file) for page, file in files.items()}


def task_card(task_id: str) -> str:
    """The address of a task's card below the site's root."""
    return quote(_task_file(task_id))


def chosen_cards(standings: Standings) -> tuple[Entry, ...]:
    """The agents that have their own cards: the best overall and the best of each task."""
    entries = [row.entry for row in standings.overall[:OVERALL_CARDS]]
    entries += [row.entry for board in standings.tasks for row in board.rows[:TASK_CARDS]]
    entries += [row.entry for board in standings.games for row in board.rows[:TASK_CARDS]]
    return tuple({entry.name: entry for entry in entries}.values())


def _task_file(task_id: str) -> str:
    return f"cards/tasks/{safe_path_segment(task_id)}.png"


def _agent_file(entry: Entry) -> str:
    return f"cards/agents/{entry.login}/{entry.agent}.png"


def _title(standings: Standings) -> tuple[str, ...]:
    return standings.challenge.title, "A leaderboard of agents"


def _called(entry: Entry) -> tuple[str, ...]:
    return entry.submission.name, entry.shown


def _home(standings: Standings) -> Card:
    rows = [(row.place, row.entry, row.estimate.score) for row in standings.overall if not row.is_aside]
    lines = _lines([(place, entry, score, format.number(score, 2)) for place, entry, score in rows])
    ranked = format.counted(len(rows), "ranked agent")
    if not rows:
        lines = tuple(_champion(board, line) for board in standings.games for line in _game_lines(board)[:1])[:CARD_LINES]
        ranked = ""
    counts = [format.counted(len(standings.tasks), "task"), format.counted(len(standings.games), "game"), ranked]
    counts = [words for words in counts if words and not words.startswith("0 ")]
    return Card(
        file=HOME_CARD, title=_title(standings), above=(f"Season {standings.challenge.season}", "A season"),
        below=" · ".join(counts), lines=lines,
    )  # fmt: skip


def _champion(board: GameStandings, line: CardLine) -> CardLine:
    """The best player of a game on the card of the home page, after the name of the game."""
    return replace(line, name=tuple(f"{board.task.title or board.task.id}: {name}" for name in line.name))


def _task(standings: Standings, board: TaskStandings) -> Card:
    task, rows = board.task, [row for row in board.rows if not row.estimate.is_missing and not row.is_aside]
    decimals = digits(task)
    lines = _lines([(r.place, r.entry, r.estimate.score, format.number(r.estimate.score, decimals)) for r in rows])
    return Card(
        file=_task_file(task.id), title=(task.title or task.id, task.id), above=_title(standings),
        below=f"{format.counted(len(board.rows), 'agent')} · {task.counted} episodes each · {better(ranking(task))}",
        lines=lines,
    )  # fmt: skip


def _game(standings: Standings, board: GameStandings) -> Card:
    return Card(
        file=_task_file(board.task.id), title=(board.task.title or board.task.id, board.task.id), above=_title(standings),
        below=f"{format.counted(len(board.rows), 'player')} · {board.task.matches} matches a duel",
        lines=_game_lines(board),
    )  # fmt: skip


def _game_lines(board: GameStandings) -> tuple[CardLine, ...]:
    rows = [row for row in board.rows if not row.is_aside]
    return _lines([(r.place, r.entry, r.rating.elo, format.number(r.rating.elo, 0)) for r in rows])


def _agent(standings: Standings, entry: Entry) -> Card:
    shown = [*_solo_places(standings, entry), *_game_places(standings, entry)]
    overall = next((row for row in standings.overall if row.entry.name == entry.name), None)
    place = f"place {overall.place} overall · " if overall and not overall.is_aside else ""
    return Card(
        file=_agent_file(entry), title=_called(entry), above=_title(standings),
        below=f"{place}by {entry.login}", lines=tuple(sorted(shown, key=lambda line: line.place)[:CARD_LINES]),
    )  # fmt: skip


def _solo_places(standings: Standings, entry: Entry) -> Iterator[CardLine]:
    for board in standings.tasks:
        row = next((row for row in board.rows if row.entry.name == entry.name and not row.estimate.is_missing), None)
        if row:
            yield _place(board, row.place, format.number(row.estimate.score, digits(board.task)))


def _game_places(standings: Standings, entry: Entry) -> Iterator[CardLine]:
    for board in standings.games:
        row = next((row for row in board.rows if row.entry.name == entry.name), None)
        if row:
            yield _place(board, row.place, format.number(row.rating.elo, 0))


def _place(board: TaskStandings | GameStandings, place: int, value: str) -> CardLine:
    """A line with a place; its bar is full for the first place and nearly empty for the last."""
    share = 1 - (place - 1) / max(1, len(board.rows))
    return CardLine(place=place, name=(board.task.title or board.task.id, board.task.id), value=value, share=share)


def _lines(rows: list[tuple[int, Entry, float, str]]) -> tuple[CardLine, ...]:
    """The first rows; the first has a full bar, the last of them a quarter."""
    shown = rows[:CARD_LINES]
    values = [score for _, _, score, _ in shown]
    best, worst = (values[0], values[-1]) if values else (0.0, 0.0)
    width = abs(best - worst)
    return tuple(
        CardLine(place=place, name=_called(entry), value=value, share=1 - 0.75 * abs(best - score) / width if width else 1)
        for place, entry, score, value in shown
    )


CARD_WIDTH, CARD_HEIGHT = 1200, 630
_MARGIN_PX = 72
_GROUND, _WHITE, _PALE, _ACCENT, _TRACK = "#141f30", "#ffffff", "#a9b8cc", "#4fd1bd", "#26364f"
_MEDAL_COLOURS = ("#f2c14e", "#c9d2db", "#d08f55")
_ASCII = str.maketrans({MINUS: "-", "\N{NARROW NO-BREAK SPACE}": " ", "\N{EN DASH}": "-"})


def render_card(card: Card) -> bytes:
    """The card as a PNG file."""
    picture = Image.new("RGB", (CARD_WIDTH, CARD_HEIGHT), _GROUND)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, CARD_WIDTH, 10), fill=_ACCENT)
    inside = CARD_WIDTH - 2 * _MARGIN_PX
    pen.text((_MARGIN_PX, 56), cut_to_width(first_printable(card.above), 30, inside), font=_font(30), fill=_ACCENT)
    title = first_printable(card.title)
    size = next((size for size in (76, 64, 54, 46) if _font(size).getlength(title) <= inside), 46)
    pen.text((_MARGIN_PX, 150), cut_to_width(title, size, inside), font=_font(size), fill=_WHITE, anchor="lm")
    for index, line in enumerate(card.lines):
        _render_line(pen, line, 222 + 80 * index)
    if not card.lines:
        pen.text((_MARGIN_PX, 300), "No scores yet.", font=_font(40), fill=_PALE)
    below = cut_to_width(first_printable((card.below,)), 26, inside)
    pen.text((_MARGIN_PX, CARD_HEIGHT - 48), below, font=_font(26), fill=_PALE, anchor="lm")
    return _png(picture)


def _render_line(pen: ImageDraw.ImageDraw, line: CardLine, top: int) -> None:
    middle = top + 26
    medal = _MEDAL_COLOURS[line.place - 1] if line.place <= len(_MEDAL_COLOURS) else _TRACK
    pen.ellipse((_MARGIN_PX, middle - 24, _MARGIN_PX + 48, middle + 24), fill=medal)
    ink = _GROUND if line.place <= len(_MEDAL_COLOURS) else _WHITE
    pen.text((_MARGIN_PX + 24, middle), str(line.place), font=_font(26 if line.place < 100 else 18), fill=ink, anchor="mm")
    value = first_printable((line.value,))
    pen.text((CARD_WIDTH - _MARGIN_PX, middle - 6), value, font=_font(38), fill=_WHITE, anchor="rm")
    left, right = _MARGIN_PX + 72, CARD_WIDTH - _MARGIN_PX
    room = right - left - int(_font(38).getlength(value)) - 32
    pen.text(
        (left, middle - 6), cut_to_width(first_printable(line.name), 34, room), font=_font(34), fill=_WHITE, anchor="lm"
    )
    pen.rectangle((left, middle + 26, right, middle + 31), fill=_TRACK)
    pen.rectangle((left, middle + 26, left + max(8, int((right - left) * min(1.0, line.share))), middle + 31), fill=_ACCENT)


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
