"""Draws cards as PNG, 1200 × 630, with Pillow and the one font that comes with it."""

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

HOME = "cards/home.png"
# Whose link is worth a picture of its own: drawing one takes longer than writing an agent's page.
OVERALL, EACH = 10, 3
LINES = 4


@dataclass(frozen=True, kw_only=True)
class CardLine:
    """One line of a card's list."""

    place: int
    """1 for the best."""
    name: tuple[str, ...]
    """What to call it: the first of these that the font can draw."""
    value: str
    """Its number."""
    share: float
    """How long its bar is, 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """One card."""

    file: str
    """Where it lies, below the site's root."""
    title: tuple[str, ...]
    """The first of these that the font can draw."""
    above: tuple[str, ...]
    """Small, above the title."""
    below: str
    """Small, at the foot."""
    lines: tuple[CardLine, ...]
    """The list."""


def social_cards(standings: Standings) -> Iterator[Card]:
    """Every card of a board."""
    yield _home(standings)
    yield from (_task(standings, board) for board in standings.tasks)
    yield from (_game(standings, board) for board in standings.games)
    for entry in chosen_cards(standings):
        yield _agent(standings, entry)


def card_files(standings: Standings) -> dict[str, str]:
    """By page: the address of its card below the site's root. Every page that is not here shows the home page's."""
    tasks = [board.task for board in standings.tasks] + [board.task for board in standings.games]
    found = {task_page(task.id): _task_file(task.id) for task in tasks}
    found |= {agent_page(entry.login, entry.agent): _agent_file(entry) for entry in chosen_cards(standings)}
    return {page: quote(file) for page, file in found.items()}


def task_card(task_id: str) -> str:
    """The address of a task's card below the site's root."""
    return quote(_task_file(task_id))


def chosen_cards(standings: Standings) -> tuple[Entry, ...]:
    """The agents that have cards: the best overall and the best of each task."""
    entries = [row.entry for row in standings.overall[:OVERALL]]
    entries += [row.entry for board in standings.tasks for row in board.rows[:EACH]]
    entries += [row.entry for board in standings.games for row in board.rows[:EACH]]
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
    rows = [(row.place, row.entry, row.estimate.score) for row in standings.overall if not row.entry.is_aside]
    lines = _lines([(place, entry, score, format.number(score, 2)) for place, entry, score in rows])
    ranked = format.counted(len(rows), "ranked agent")
    if not rows:
        lines = tuple(_champion(board, line) for board in standings.games for line in _game_lines(board)[:1])[:LINES]
        ranked = ""
    counts = [format.counted(len(standings.tasks), "task"), format.counted(len(standings.games), "game"), ranked]
    counts = [words for words in counts if words and not words.startswith("0 ")]
    return Card(
        file=HOME, title=_title(standings), above=(f"Season {standings.challenge.season}", "A season"),
        below=" · ".join(counts), lines=lines,
    )  # fmt: skip


def _champion(board: GameStandings, line: CardLine) -> CardLine:
    """A game's best on the home page's card, with the game beside its name."""
    return replace(line, name=tuple(f"{board.task.title or board.task.id}: {name}" for name in line.name))


def _task(standings: Standings, board: TaskStandings) -> Card:
    task, rows = board.task, [row for row in board.rows if not row.estimate.is_missing and not row.entry.is_aside]
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
    rows = [row for row in board.rows if not row.entry.is_aside]
    return _lines([(r.place, r.entry, r.rating.elo, format.number(r.rating.elo, 0)) for r in rows])


def _agent(standings: Standings, entry: Entry) -> Card:
    shown = [*_solo_places(standings, entry), *_game_places(standings, entry)]
    overall = next((row for row in standings.overall if row.entry.name == entry.name), None)
    place = f"place {overall.place} overall · " if overall and not entry.is_aside else ""
    return Card(
        file=_agent_file(entry), title=_called(entry), above=_title(standings),
        below=f"{place}by {entry.login}", lines=tuple(sorted(shown, key=lambda line: line.place)[:LINES]),
    )  # fmt: skip


def _solo_places(standings: Standings, entry: Entry) -> Iterator[CardLine]:
    for board in standings.tasks:
        found = next((row for row in board.rows if row.entry.name == entry.name and not row.estimate.is_missing), None)
        if found:
            value = format.number(found.estimate.score, digits(board.task))
            yield _place(board, found.place, value)


def _game_places(standings: Standings, entry: Entry) -> Iterator[CardLine]:
    for board in standings.games:
        found = next((row for row in board.rows if row.entry.name == entry.name), None)
        if found:
            yield _place(board, found.place, format.number(found.rating.elo, 0))


def _place(board: TaskStandings | GameStandings, place: int, value: str) -> CardLine:
    """The bar of a place: whole for the first, empty behind the last."""
    share = 1 - (place - 1) / max(1, len(board.rows))
    return CardLine(place=place, name=(board.task.title or board.task.id, board.task.id), value=value, share=share)


def _lines(rows: list[tuple[int, Entry, float, str]]) -> tuple[CardLine, ...]:
    """The first rows; bars reach from the last of them, which keeps a stub, to the first."""
    shown = rows[:LINES]
    values = [score for _, _, score, _ in shown]
    best, worst = (values[0], values[-1]) if values else (0.0, 0.0)
    width = abs(best - worst)
    return tuple(
        CardLine(place=place, name=_called(entry), value=value, share=1 - 0.75 * abs(best - score) / width if width else 1)
        for place, entry, score, value in shown
    )


WIDTH, HEIGHT = 1200, 630
_MARGIN = 72
_GROUND, _INK, _QUIET, _ACCENT, _TRACK = "#141f30", "#ffffff", "#a9b8cc", "#4fd1bd", "#26364f"
_MEDALS = ("#f2c14e", "#c9d2db", "#d08f55")
_PLAIN = str.maketrans({MINUS: "-", "\N{NARROW NO-BREAK SPACE}": " ", "\N{EN DASH}": "-"})


def draw_card(card: Card) -> bytes:
    """A card's picture."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), _GROUND)
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, WIDTH, 10), fill=_ACCENT)
    inside = WIDTH - 2 * _MARGIN
    pen.text((_MARGIN, 56), fitted(drawable(card.above), 30, inside), font=_font(30), fill=_ACCENT)
    title = drawable(card.title)
    size = next((size for size in (76, 64, 54, 46) if _font(size).getlength(title) <= inside), 46)
    pen.text((_MARGIN, 150), fitted(title, size, inside), font=_font(size), fill=_INK, anchor="lm")
    for index, line in enumerate(card.lines):
        _list(pen, line, 222 + 80 * index)
    if not card.lines:
        pen.text((_MARGIN, 300), "The first place is free.", font=_font(40), fill=_QUIET)
    pen.text((_MARGIN, HEIGHT - 48), fitted(drawable((card.below,)), 26, inside), font=_font(26), fill=_QUIET, anchor="lm")
    return _png(picture)


def _list(pen: ImageDraw.ImageDraw, line: CardLine, top: int) -> None:
    middle = top + 26
    medal = _MEDALS[line.place - 1] if line.place <= len(_MEDALS) else _TRACK
    pen.ellipse((_MARGIN, middle - 24, _MARGIN + 48, middle + 24), fill=medal)
    ink = _GROUND if line.place <= len(_MEDALS) else _INK
    pen.text((_MARGIN + 24, middle), str(line.place), font=_font(26 if line.place < 100 else 18), fill=ink, anchor="mm")
    value = drawable((line.value,))
    pen.text((WIDTH - _MARGIN, middle - 6), value, font=_font(38), fill=_INK, anchor="rm")
    left, right = _MARGIN + 72, WIDTH - _MARGIN
    room = right - left - int(_font(38).getlength(value)) - 32
    pen.text((left, middle - 6), fitted(drawable(line.name), 34, room), font=_font(34), fill=_INK, anchor="lm")
    pen.rectangle((left, middle + 26, right, middle + 31), fill=_TRACK)
    pen.rectangle((left, middle + 26, left + max(8, int((right - left) * min(1.0, line.share))), middle + 31), fill=_ACCENT)


def drawable(names: Sequence[str]) -> str:
    """The first of these texts that the font has every letter of; else the last, without what it has not."""
    texts = [" ".join(name.translate(_PLAIN).split()) for name in names]
    found = next((text for text in texts if text and _is_known(text)), None)
    return found if found is not None else "".join(letter for letter in texts[-1] if _is_known(letter))


def _is_known(text: str) -> bool:
    """The built-in font holds the printable characters of ASCII, and the dot that parts our words."""
    return all(" " <= letter <= "~" or letter == "·" for letter in text)


def fitted(text: str, size: int, width: float) -> str:
    """The text, cut with three dots where it is wider than there is room."""
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
        raise TypeError("Pillow was built without FreeType, so it can not draw cards; install its wheel from PyPI")
    return font


def _png(picture: Image.Image) -> bytes:
    """Few colours, so a palette: a third of the bytes."""
    out = io.BytesIO()
    picture.quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(out, "PNG", compress_level=6)
    return out.getvalue()
