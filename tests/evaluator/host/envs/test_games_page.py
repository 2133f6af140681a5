"""What site/pages/games.md says of games, and that every player and game in it really runs."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pettingzoo.test import api_test, seed_test

from evaluator.host.envs.pettingzoo_game import open_game
from evaluator.host.loading.yaml_loader import parse_challenge, parse_submission
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import MatchEnd
from tests.duels import RANDOM, duelled
from tests.evaluations import process

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "site/pages/games.md").read_text()
BLOCKS = dict(re.findall(r'```python(?: title="([^"]+)")?\n(.*?)```', PAGE, re.DOTALL))
CHALLENGE = parse_challenge((ROOT / "challenge.yml").read_bytes())
GAMES = {task.id: task.model_copy(update={"matches": 4}) for task in CHALLENGE.tasks if task.game}


def ends_of(sources: tuple[str, str], task: Task, adapter: str | None = None) -> set[MatchEnd]:
    tally = duelled(sources, task, process(), adapters=(adapter, None))
    assert tally.faults == (None, None)
    return {match.end for match in tally.matches}


@pytest.mark.parametrize("name", ["tictactoe", "connect_four", "quarto"])
def test_first_player_of_the_page_plays(name: str) -> None:
    assert ends_of((BLOCKS[""], RANDOM), GAMES[name]) == {MatchEnd.PLAYED}


@pytest.mark.parametrize("name", ["tictactoe", "connect_four", "quarto"])
def test_player_of_rl_arena_plays(name: str) -> None:
    assert ends_of((BLOCKS["player.py"], RANDOM), GAMES[name], "rl-arena") == {MatchEnd.PLAYED}


def test_player_of_kaggle_plays() -> None:
    assert ends_of((BLOCKS["main.py"], RANDOM), GAMES["connect_four"], "kaggle-connectx") == {MatchEnd.PLAYED}


def test_manifests_of_the_page_are_right() -> None:
    manifests = re.findall(r"```yaml\n(name:.*?)```", PAGE, re.DOTALL)

    assert [parse_submission(text.encode()).adapter for text in manifests] == ["rl-arena", "kaggle-connectx"]
    for text in manifests:
        assert f'title="{parse_submission(text.encode()).entry}"' in PAGE


@pytest.fixture
def nim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Task]:
    """The page's own game, under another module's name."""
    (tmp_path / "nim_of_the_page.py").write_text(BLOCKS["evaluator/environments/nim.py"])
    monkeypatch.syspath_prepend(tmp_path)
    [text] = re.findall(r"```yaml\n(tasks:\n.*?)```", PAGE, re.DOTALL)
    written = text.replace("evaluator.environments.nim:", "nim_of_the_page:")
    yield parse_challenge(b'title: T\nseason: "1"\n' + written.encode()).tasks[0]
    sys.modules.pop("nim_of_the_page", None)


@pytest.mark.filterwarnings("ignore")
def test_game_of_the_page_is_one(nim: Task) -> None:
    game = open_game(nim)

    api_test(game.make(), num_cycles=50)
    seed_test(game.make, num_cycles=20)
    assert ends_of((BLOCKS[""], RANDOM), nim) == {MatchEnd.PLAYED}


def test_table_of_games_is_right() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| (\d+)[^|]*\|$", PAGE, re.MULTILINE))

    assert rows == {name: str(open_game(task).action_space.n) for name, task in GAMES.items()}
    for name in ("tictactoe", "connect_four", "quarto"):
        shape = open_game(GAMES[name]).observation_space["observation"].shape  # type: ignore[index]
        assert f"| `{name}` | int8, shape {shape}" in PAGE
    throws = open_game(GAMES["rock_paper_scissors"])
    assert (throws.masked, throws.start("00" * 16).observe()) == (False, 3)


def test_table_of_ends_is_whole() -> None:
    section = PAGE[PAGE.index("### Ends") : PAGE.index("### Validation")]

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(MatchEnd)


def test_numbers_of_the_page_are_the_defaults() -> None:
    task = GAMES["connect_four"]

    assert (task.clock.move_seconds, task.clock.bank_seconds, task.max_plies, task.opening) == (2, 20, 1000, 2)
    assert (Task(id="x", game="y").matches, task.opponents) == (100, 20)
    assert CHALLENGE.limits.wall_seconds == 3000
    assert open_game(GAMES["rock_paper_scissors"]).task.kwargs == {"max_cycles": 50}
