"""Episodes rendered from traces: once for each result, kept by its key, and never an end of anything else."""

import io
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from PIL import Image

from evaluator.model.records.result import Result
from leaderboard.site_context import Episodes
from scripts.pictures import render_episodes
from scripts.pictures.render_episodes import (
    TARGET_SHEET_BYTES,
    RenderRequest,
    episodes_folder,
    not_rendered,
    picture_files,
    render_new,
    render_requests,
    rendered_episodes,
    rendered_replays,
    shrink_frame,
    sprite_sheet,
    store_file,
    stored_files,
    stored_rendering,
    text_picture,
)
from scripts.repository.checkout import open_checkout
from scripts.standings.recorded_standings import recorded_standings
from tests.evaluations import evaluated

CHALLENGE = """title: Test
season: test
tasks:
  - {{id: FrozenLake-v1, episodes: 4, kwargs: {{is_slippery: true}}}}
  {more}
"""
EAGER = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return 1 + observation % 2\n"


class Dying(gymnasium.Env[Any, Any]):
    """Ends its process when it is looked at, as a library may."""

    metadata: ClassVar = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = self.action_space = gymnasium.spaces.Discrete(16)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return 0, {}

    def render(self) -> Any:
        os._exit(1)


class Hanging(Dying):
    def render(self) -> Any:
        time.sleep(600)


for broken in (Dying, Hanging):
    gymnasium.register(f"{broken.__name__}-v0", broken)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board with one agent that was evaluated."""
    root = tmp_path_factory.mktemp("board")
    (root / "challenge.yml").write_text(CHALLENGE.format(more=""))
    folder = root / "submissions" / "alice" / "test"
    folder.mkdir(parents=True)
    (folder / "submission.yml").write_text("name: Test\nalgorithm: none\n")
    (folder / "agent.py").write_text(EAGER)
    board = open_checkout(root)
    done = evaluated(EAGER, board.challenge.tasks[0])
    board.store.write(done.result, done.trace)
    return root


def wanted_of(root: Path) -> list[RenderRequest]:
    board = open_checkout(root)
    return render_requests(board, recorded_standings(board, official=False))


def test_the_best_entries_episodes_are_rendered_once(played: Path) -> None:
    board = open_checkout(played)
    table = recorded_standings(board, official=False)
    first: Episodes = rendered_replays(board, table)
    kept = {path: path.stat().st_mtime_ns for path in episodes_folder(played).iterdir()}

    assert rendered_replays(open_checkout(played), table) == first
    assert {path: path.stat().st_mtime_ns for path in episodes_folder(played).iterdir()} == kept
    (replays,) = first.values()
    assert [episode.which for episode in replays] == ["best", "median", "worst"]
    result: Result = table.tasks[0].rows[0].result
    assert [(e.total, e.length) for e in replays] == [(result.returns[e.number], result.lengths[e.number]) for e in replays]
    for episode, (name, content) in zip(replays, picture_files(first, played / "build"), strict=True):
        picture = Image.open(io.BytesIO(content))
        assert (name, picture.format) == (episode.file, "WEBP")
        assert picture.size == (episode.columns * episode.width, episode.rows * episode.height)
        assert (max(episode.width, episode.height), episode.steps[-1]) == (240, episode.length)
        assert len(content) <= TARGET_SHEET_BYTES


def test_what_is_damaged_is_rendered_again(played: Path) -> None:
    (one,) = wanted_of(played)
    render_new([one], episodes_folder(played), quiet=True)
    every = list(stored_files([one], episodes_folder(played)))
    for path in every:
        before = path.read_bytes()
        path.write_bytes(before[:-1])
        assert not_rendered([one], episodes_folder(played)) == [one]
        assert render_new([one], episodes_folder(played), quiet=True) == 1
        assert (path.read_bytes(), not_rendered([one], episodes_folder(played))) == (before, [])
    every[0].write_text(json.dumps({**json.loads(every[0].read_text()), "form": 2}))
    assert stored_rendering(episodes_folder(played), one) is None


def test_another_results_file_is_not_believed(played: Path, tmp_path: Path) -> None:
    (one,) = wanted_of(played)
    render_new([one], tmp_path, quiet=True)

    assert stored_rendering(tmp_path, replace(one, key=one.key[:20] + "0" * 44)) is None


def test_what_was_measured_again_after_a_quarantine_is_rendered_again(played: Path, tmp_path: Path) -> None:
    (one,) = wanted_of(played)
    render_new([one], tmp_path, quiet=True)
    again = replace(one, totals=tuple(total + 1 for total in one.totals))

    assert len(one.totals) == len(one.chosen)
    assert (not_rendered([one], tmp_path), not_rendered([again], tmp_path)) == ([], [again])
    assert (rendered_episodes([again], tmp_path), list(stored_files([again], tmp_path))) == ({}, [])


def test_a_trace_that_is_not_here_or_not_the_one_that_was_recorded_shows_nothing(
    played: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (one,) = wanted_of(played)
    other = tmp_path / "other.trace.json"
    assert render_new([replace(one, trace=other)], tmp_path, quiet=True) == 0

    other.write_bytes(one.trace.read_bytes() + b"\n")

    assert render_new([replace(one, trace=other)], tmp_path, quiet=True) == 1
    kept = stored_rendering(tmp_path, one)
    assert kept is not None
    assert (kept.reason, kept.episodes) == ("the trace is not the one that the result names", ())
    assert "FrozenLake-v1: the trace is not the one" in capsys.readouterr().err.replace("\n", " ")


def test_an_environment_that_renders_nothing_is_shown_without_pictures(tmp_path: Path, played: Path) -> None:
    (one,) = wanted_of(played)
    silent = one.task.model_copy(update={"env": "tests.evaluator.worlds:Shifted-v0", "kwargs": {}})

    assert render_new([replace(one, task=silent)], tmp_path, quiet=True) == 1
    assert (kept := stored_rendering(tmp_path, one)) is not None
    assert kept.reason == "its environment renders nothing"
    assert [path.name for path in tmp_path.iterdir()] == [f"{one.key[:20]}.json"]


def test_an_environment_that_cannot_be_made_ends_nothing(tmp_path: Path, played: Path) -> None:
    (one,) = wanted_of(played)
    gone = one.task.model_copy(update={"env": "Nowhere-v0"})

    assert render_new([replace(one, task=gone), one], tmp_path, quiet=True) == 2


@pytest.mark.parametrize("kind", ["Dying", "Hanging"])
def test_an_environment_that_dies_or_hangs_takes_nothing_else_along(
    kind: str, tmp_path: Path, played: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (one,) = wanted_of(played)
    bad = one.task.model_copy(update={"id": "Bad", "env": f"{__name__}:{kind}-v0", "kwargs": {}})

    assert render_new([replace(one, task=bad, key="1" * 64), one], tmp_path, quiet=True, patience=10) == 2
    assert [path.name for path in tmp_path.glob("*.json")] == [f"{one.key[:20]}.json"]
    assert "Bad: no answer came within 10 s; it is shown without" in capsys.readouterr().err.replace("\n", " ")


def test_rendering_ends_in_time_to_keep_what_was_rendered(
    tmp_path: Path, played: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (one,) = wanted_of(played)
    late = replace(one, task=one.task.model_copy(update={"id": "Late"}), key="1" * 64)
    monkeypatch.setattr(render_episodes, "RENDER_SECONDS", 0.0)

    assert render_new([one, late], tmp_path, quiet=True) == 1
    assert [path.name for path in tmp_path.glob("*.json")] == [f"{one.key[:20]}.json"]
    assert "no time to render 1 more results" in capsys.readouterr().err.replace("\n", " ")


def test_where_names_are_hidden_nothing_is_rendered(played: Path) -> None:
    board = open_checkout(played)
    table = recorded_standings(board, official=False)
    (task,), (row,) = table.tasks, table.tasks[0].rows
    masked = replace(row, entry=replace(row.entry, anonymous=True))

    assert render_requests(board, replace(table, tasks=(replace(task, rows=(masked,)),))) == []


@pytest.mark.parametrize(
    "name", ["../x.webp", "ab.json", "0" * 20 + "-other.webp", "0" * 20 + ".html", "x/" + "0" * 20 + ".json"]
)
def test_only_what_can_be_a_kept_file_is_taken(name: str, tmp_path: Path) -> None:
    assert not store_file(tmp_path, name, b"x")
    assert list(tmp_path.iterdir()) == []
    assert store_file(tmp_path, "0" * 20 + "-best.webp", b"x")


def test_a_sheet_is_a_full_grid_that_ends_with_the_last_frame() -> None:
    made = sprite_sheet([Image.new("RGB", (8, 6), (40 * i, 0, 0)) for i in range(5)])
    assert made is not None
    picture = Image.open(io.BytesIO(made.content)).convert("RGB")

    assert (made.columns, made.width, made.height, made.kept) == (3, 8, 6, (0, 1, 2, 3, 4))
    assert picture.size == (24, 12)
    assert [picture.getpixel((4 + 8 * (i % 3), 3 + 6 * (i // 3)))[0] for i in range(6)] == [0, 40, 80, 120, 160, 160]


def test_what_is_heavy_keeps_fewer_frames_and_what_is_too_heavy_none() -> None:
    noise = np.random.default_rng(0)

    def frames(side: int, count: int) -> list[Image.Image]:
        return [Image.fromarray(noise.integers(0, 255, (side, side, 3), np.uint8)) for _ in range(count)]

    lighter = sprite_sheet(frames(60, 40))
    assert lighter is not None
    assert 1 < len(lighter.kept) < 40
    assert (lighter.kept[0], lighter.kept[-1]) == (0, 39)
    assert sprite_sheet(frames(520, 5)) is None


def test_text_becomes_a_picture() -> None:
    plain, coloured = text_picture("ab\ncd"), text_picture("\x1b[31mab\x1b[0m\ncd")

    assert (plain.size, plain.tobytes()) == ((24, 34), coloured.tobytes())
    assert text_picture("ab\nce").tobytes() != plain.tobytes()
    assert max(shrink_frame("x" * 5000 + "\n" * 5000).size) == 240
    assert shrink_frame("☃").size == shrink_frame("?").size


def test_a_picture_is_shrunk_to_a_side() -> None:
    assert shrink_frame(np.zeros((400, 600, 3), np.uint8)).size == (240, 160)
    assert shrink_frame(np.zeros((10, 20, 3), np.uint8)).size == (20, 10)
    assert shrink_frame(np.zeros((1000, 1, 3), np.uint8)).size == (1, 240)
