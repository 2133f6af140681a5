"""Frames for replays of games that have no drawing of ours: text if the game has it, else pictures; made once."""

import base64
import io
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pygame
import pytest

from evaluator.environments import quarto
from evaluator.host.errors import EnvironmentFault
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Entry
from leaderboard.core.standings import Standings
from leaderboard.site_context import AllFrames
from scripts.pictures import game_frames
from scripts.pictures.game_frames import downscaled, png_data_url, rendered_frames, rendered_matches
from tests.evaluations import FIRST_LEGAL, RANDOM_PLAYER, duelled, folder

FIVE = Task(id="five", game="pettingzoo.classic.rps_v2", kwargs={"num_actions": 5, "max_cycles": 3}, opening=0, matches=4)
ROCK = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 0\n"


def written(**kwargs: Any) -> Any:
    """A host's own game that renders text."""
    return quarto.raw_env(**kwargs)


def silent(**kwargs: Any) -> Any:
    """A host's own game that renders nothing."""
    made = quarto.raw_env(**kwargs)
    made.metadata = {"name": "silent"}
    return made


WRITTEN = Task(id="written", game=f"{__name__}:written", matches=4)
SILENT = Task(id="silent", game=f"{__name__}:silent", matches=2)


def board(task: Task, sources: tuple[str, str]) -> tuple[Standings, Duel]:
    """The board of a game after one duel of two players that passed their validations."""
    players = [("alice", "one", sources[0]), ("bob", "other", sources[1])]
    entries = [
        Entry(login=login, agent=agent, submission=(rendered := folder(source)).submission, digest=rendered.digest)
        for login, agent, source in players
    ]
    duel = duelled(*sources, task)
    own = duelled(sources[0], None, task)
    other = duelled(sources[1], None, task)
    named = {"login": "bob", "agent": "other"}
    other = other.model_copy(update={"players": tuple(p.model_copy(update=named) for p in other.players)})
    challenge = Challenge(title="Test", season="test", tasks=(task,))
    return build_standings(challenge, entries, [], official=False, duels=[duel, own, other]), duel


def test_a_game_with_text_has_a_text_before_each_move_and_one_after_all(tmp_path: Path) -> None:
    table, duel = board(WRITTEN, (RANDOM_PLAYER, FIRST_LEGAL))

    rendered = rendered_frames(table, tmp_path)

    assert sorted(rendered) == [(duel.key, 0), (duel.key, 1)]
    for (_, index), match in rendered.items():
        assert (len(match.texts), match.images) == (duel.matches[index].plies + 1, ())
        assert len(match.movers) == duel.matches[index].plies
        assert match.texts[0] != match.texts[-1]
        assert (match.movers[0], set(match.movers)) == (index % 2, {0, 1})


def test_a_game_without_text_has_pictures(tmp_path: Path) -> None:
    table, duel = board(FIVE, (ROCK, ROCK + "# another\n"))

    match = rendered_frames(table, tmp_path)[duel.key, 1]

    assert (len(match.images), match.texts, match.movers) == (7, (), (1, 0, 1, 0, 1, 0))
    assert all(image.startswith("data:image/png;base64,iVBOR") and len(image) < 40_000 for image in match.images)


def test_frames_are_made_once(tmp_path: Path) -> None:
    table, _ = board(FIVE, (ROCK, ROCK + "# another\n"))
    first = rendered_frames(table, tmp_path)
    (path,) = tmp_path.iterdir()
    before = path.stat().st_mtime_ns

    second: AllFrames = rendered_frames(table, tmp_path)

    assert (second, path.stat().st_mtime_ns) == (first, before)


@pytest.mark.parametrize(
    "damage", [lambda content: content[: len(content) // 2], lambda content: b"{}", lambda content: b"[1]"]
)
def test_frames_that_are_damaged_are_made_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    table, _ = board(FIVE, (ROCK, ROCK + "# another\n"))
    first = rendered_frames(table, tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))

    assert rendered_frames(table, tmp_path) == first
    assert path.read_bytes() == whole


def test_a_game_that_renders_nothing_is_shown_without_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, _ = board(SILENT, (RANDOM_PLAYER, FIRST_LEGAL))

    assert rendered_frames(table, tmp_path) == {}
    assert "renders neither text (ansi) nor pictures (rgb_array); its matches are shown without frames" in "".join(
        capsys.readouterr().err.split("\n")
    )


@pytest.mark.attack(
    "position_that_cannot_be_drawn", family="games", outcome="that duel alone has no frames",
    tries="Leads a host's own game into a position that it fails to draw, so that no match of anybody is shown in frames.",
)  # fmt: skip
def test_a_duel_that_cannot_be_rendered_costs_no_other_its_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, other = board(WRITTEN, (RANDOM_PLAYER, FIRST_LEGAL))
    hostile = other.model_copy(update={"key": "0" * 64})
    render = game_frames._FrameRenderer.render

    def fragile(renderer: Any, duel: Duel) -> Any:
        if duel is hostile:
            raise EnvironmentFault("the game written cannot be rendered: no such piece")
        return render(renderer, duel)

    monkeypatch.setattr(game_frames._FrameRenderer, "render", fragile)
    monkeypatch.setattr(game_frames, "shown_duels", lambda _: [hostile, other])

    assert {key for key, _ in rendered_frames(table, tmp_path)} == {other.key}
    assert "no such piece; its matches are shown without frames" in " ".join(capsys.readouterr().err.split())


@pytest.mark.attack(
    "matches_that_take_an_hour_to_draw", family="games", outcome="frames end after minutes; the leaders' come first",
    tries="Plays 197 moves of Go in each match and then breaks a rule, so that drawing its duels ends the job of the site.",
)  # fmt: skip
def test_duels_that_take_an_hour_to_draw_do_not_keep_the_site_from_being_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, of_leaders = board(WRITTEN, (RANDOM_PLAYER, FIRST_LEGAL))
    loser = {"players": tuple(p.model_copy(update={"login": "mallory"}) for p in of_leaders.players)}
    hostile = [of_leaders.model_copy(update={**loser, "key": f"{number:064x}"}) for number in range(60)]
    monkeypatch.setattr(game_frames, "shown_duels", lambda _: [*hostile, of_leaders])
    clock = iter(range(0, 1_000_000, 60))
    monkeypatch.setattr(game_frames, "time", SimpleNamespace(monotonic=lambda: next(clock)), raising=False)

    first = {key for key, _ in rendered_frames(table, tmp_path)}
    second = {key for key, _ in rendered_frames(table, tmp_path)}

    assert of_leaders.key in first
    assert len(first) * 60 <= game_frames.FRAMES_SECONDS
    assert first < second, "what was rendered before is shown and takes no time"
    assert f"no time to render {61 - len(first)} duels of written" in " ".join(capsys.readouterr().err.split())


def test_a_game_of_our_own_drawing_needs_no_frames(tmp_path: Path) -> None:
    task = Task(id="tictactoe", game="pettingzoo.classic.tictactoe_v3", matches=2)
    table, _ = board(task, (RANDOM_PLAYER, FIRST_LEGAL))

    assert (rendered_frames(table, tmp_path), list(tmp_path.iterdir())) == ({}, [])


def test_broken_rules_are_among_the_watched_matches() -> None:
    duel = duelled(ROCK, FIRST_LEGAL, Task(id="t", game="pettingzoo.classic.tictactoe_v3", matches=20))
    broken = [index for index, match in enumerate(duel.matches) if match.offenders]

    assert rendered_matches(duel) == sorted({0, 1, *broken[:2]})


def test_a_picture_becomes_a_smaller_png_of_the_same_colours() -> None:
    picture = np.zeros((90, 41, 3), np.uint8)
    picture[:45, :, 0] = 200

    small = downscaled(picture, 30)
    content = base64.b64decode(png_data_url(small).partition(",")[2])
    decoded = pygame.image.load(io.BytesIO(content), "picture.png")

    assert (small.shape, decoded.get_size()) == ((30, 13, 3), (13, 30))
    assert (decoded.get_at((0, 0))[:3], decoded.get_at((12, 29))[:3]) == ((200, 0, 0), (0, 0, 0))
