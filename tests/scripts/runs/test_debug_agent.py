"""`show`, `watch` and an evaluation in one process: what a participant sees of an agent's inside."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_duel
from tests.scripts.checkouts import GAMES, LEGAL, game_board, put, run, submit

PRINTING = (
    "class Agent:\n    def act(self, observation):\n        print('\\x1b[2J::set-output::\\u202e at', len(observation))\n"
    "        return int(observation[2] > 0)\n"
)
FAILING = "class Agent:\n    def act(self, observation):\n        print('\\x1b]0;title\\x07')\n        return 1 / 0\n"
TERMINAL = ("\x1b", "\x07", "\u202e")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("board")
    (root / "challenge.yml").write_text(GAMES)
    put(root / "submissions/alice/good", PRINTING, "[CartPole-v1]")
    put(root / "submissions/alice/bad", FAILING, "[CartPole-v1]")
    for name, code in (("good", 0), ("bad", 1)):
        assert run(root, "evaluate", f"submissions/alice/{name}", "--sandbox", "process")[0] == code
    return root


def test_show_lists_episodes_with_return_length_and_seed(board: Path) -> None:
    (document,) = json.loads(run(board, "show", "submissions/alice/good", "--json")[1])

    code, out, _ = run(board, "show", "submissions/alice/good", "--episodes")

    assert code == 0
    rows = [line.split() for line in out.splitlines()[3:5]]
    assert [row[:4] for row in rows] == [
        [str(index), f"{total:g}", str(length), seed]
        for index, (total, length, seed) in enumerate(
            zip(document["returns"], document["lengths"], document["seeds"], strict=True)
        )
    ]
    assert {row[4] for row in rows} <= {"best", "worst", "median"}


def test_a_version_that_was_not_played_is_told_so(board: Path) -> None:
    put(board / "submissions/alice/new", PRINTING + "# other", "[CartPole-v1]")

    assert run(board, "show", "submissions/alice/new") == (
        1,
        "",
        "submissions/alice/new: nothing is recorded of this version; run 'pullrank evaluate submissions/alice/new'\n",
    )


@pytest.mark.parametrize("ending", ["webp", "gif"])
def test_watch_draws_the_episode(board: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"deep/episode.{ending}"

    code, _, err = run(board, "watch", "submissions/alice/good", "--episode", "1", "--out", str(out))

    assert code == 0
    with Image.open(out) as picture:
        assert " frames of CartPole-v1, episode 1 of 2, return " in err
        assert picture.n_frames > 5


def test_watch_makes_a_video_where_there_is_an_encoder(board: Path, tmp_path: Path) -> None:
    out = tmp_path / "episode.mp4"

    code, _, err = run(board, "watch", "submissions/alice/good", "--episode", "1", "--out", str(out))

    if importlib.util.find_spec("imageio_ffmpeg") is None:
        assert (code, err.count("\n")) == (2, 1)
        assert "an .mp4 needs an encoder: 'make notebook' or 'pip install imageio-ffmpeg' brings it" in err
        return
    assert code == 0, err
    import imageio_ffmpeg

    about = next(imageio_ffmpeg.read_frames(str(out)))
    assert about["codec"].startswith("h264")
    assert about["size"][0] % 2 == about["size"][1] % 2 == 0
    assert about["duration"] > 0.2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "x.txt"), "x.txt: end the name in .webp, .gif or .mp4"),
        (("--episode", "9"), "CartPole-v1 has no episode '9'; it is best, median, worst or a number from 0 to 1"),
        (("--task", "tictactoe"), "submissions/alice/good: does not enter tictactoe; name it under 'tasks'"),
    ],
)
def test_watch_refuses_in_one_line(board: Path, words: tuple[str, ...], message: str) -> None:
    code, _, err = run(board, "watch", "submissions/alice/good", *words)

    assert code in (1, 2)
    assert message in err
    assert err.count("\n") == 1


def test_episodes_in_this_process_have_the_recorded_returns_and_are_not_recorded(board: Path) -> None:
    (document,) = json.loads(run(board, "show", "submissions/alice/good", "--json")[1])
    before = sorted((board / "results").rglob("*.json"))

    code, out, err = run(board, "evaluate", "submissions/alice/good", "--episodes", "2", "--log")

    assert code == 0
    assert [line.split()[3] for line in out.splitlines()] == [f"{total:g}" for total in document["returns"]]
    assert err.count("  | ") == sum(document["lengths"])
    assert sorted((board / "results").rglob("*.json")) == before


@pytest.mark.attack(
    "debugged_in_a_sandbox_that_is_none", family="escape", outcome="refused before anything of it runs",
    tries="Waits until a host looks at its log with `--log --sandbox docker`, which ran it outside of every sandbox.",
)  # fmt: skip
@pytest.mark.parametrize("words", [("--log",), ("--pdb",), ("--episodes", "1")])
def test_a_sandbox_that_would_not_be_used_is_refused(board: Path, words: tuple[str, ...]) -> None:
    code, out, err = run(board, "evaluate", "submissions/alice/good", "--sandbox", "docker", *words)

    assert (code, out) == (2, "")
    assert "run the agent in this process, not in docker" in err


def test_the_debugger_opens_where_it_fails(board: Path) -> None:
    code, out, err = run(board, "evaluate", "submissions/alice/bad", "--pdb")

    assert code == 1
    assert "episode 0, step 0: act raised ZeroDivisionError: division by zero at agent.py:4" in err
    assert "-> return 1 / 0" in out


LATE = (
    "class Agent:\n    asked = set()\n    def __init__(self, seed):\n        Agent.asked.add(seed)\n"
    "    def act(self, observation):\n        return 0 if len(self.asked) < {limit} else {{}}['late']\n"
)


@pytest.fixture
def long_board(tmp_path: Path) -> Path:
    """A task of nine episodes, more than are debugged by default, and another one before it."""
    task = "  - {id: CartPole-v1, episodes: 9, few_episodes: true}\n"
    before = "  - {id: Acrobot-v1, episodes: 1, few_episodes: true}\n"
    (tmp_path / "challenge.yml").write_text(f"title: Board\nseason: one\ntasks:\n{before}{task}")
    return tmp_path


def test_the_debugger_goes_on_until_a_late_episode_fails(long_board: Path) -> None:
    put(long_board / "submissions/alice/late", LATE.format(limit=8), "[Acrobot-v1, CartPole-v1]")
    _, out, _ = run(long_board, "evaluate", "submissions/alice/late", "--sandbox", "process", "--jobs", "1")
    (advice,) = [line for line in out.splitlines() if "--pdb" in line]
    assert "'pullrank evaluate submissions/alice/late --task CartPole-v1 --pdb' opens the debugger" in advice

    code, out, err = run(long_board, *advice.split("'")[1].split()[1:])

    assert code == 1
    assert "act raised KeyError: 'late' at agent.py:6" in err
    assert "-> return 0 if len(self.asked) < 8 else {}['late']" in out


def test_a_debugger_that_found_nothing_says_so(long_board: Path) -> None:
    put(long_board / "submissions/alice/late", LATE.format(limit=99), "[CartPole-v1]")

    code, out, err = run(long_board, "evaluate", "submissions/alice/late", "--pdb")

    assert (code, out.count("\n")) == (0, 9)
    assert "Nothing failed in 9 episodes." in err


@pytest.mark.attack(
    "log_of_escape_sequences_in_show", family="pages", outcome="marks, no command",
    tries="Prints terminal escapes, a title and a runner's command, to be shown by `show`.",
)  # fmt: skip
def test_no_log_reaches_the_terminal_as_it_is(board: Path) -> None:
    for name in ("good", "bad"):
        _, out, err = run(board, "show", f"submissions/alice/{name}")

        assert not any(sign in out + err for sign in TERMINAL)
        assert not any(line.lstrip(" ").startswith("::") for line in (out + err).splitlines())


@pytest.mark.attack(
    "output_of_escape_sequences_in_debugging", family="pages", outcome="marks, no command",
    tries="Prints terminal escapes and a runner's command while it is evaluated in one process.",
)  # fmt: skip
def test_no_output_reaches_the_terminal_as_it_is(board: Path) -> None:
    _, out, err = run(board, "evaluate", "submissions/alice/good", "--episodes", "1", "--log")

    assert "  | " in err
    assert not any(sign in out + err for sign in TERMINAL)
    assert not any(line.lstrip(" |").startswith("::") for line in err.splitlines())


GAME = (
    "class Agent:\n    def __init__(self, seed):\n        self.seed = seed\n"
    "    def act(self, observation):\n        print('asked')\n"
    "        return int(observation['action_mask'].nonzero()[0][self.seed % 2 - 1])\n"
    "    def end(self, observation, reward):\n        print('earned', reward)\n"
)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board on which alice's agent met the first legal move, and lost and won."""
    root = game_board(tmp_path_factory.mktemp("games"))
    submit(root, "mover", GAME, "[tictactoe, five]")
    assert run(root, "evaluate", "submissions/alice/mover", "--task", "tictactoe", "--sandbox", "process")[0] == 0
    return root


def recorded(board: Path, opponent: str) -> Duel:
    (path,) = (path for path in (board / "results/tictactoe").glob("*/*.json") if opponent in path.parent.name)
    return parse_duel(path.read_bytes())


def test_matches_in_this_process_are_those_of_its_validation_and_are_not_recorded(games: Path) -> None:
    validation = recorded(games, "alice+mover--alice+mover")
    before = sorted((games / "results").rglob("*.json"))

    code, out, err = run(games, "evaluate", "submissions/alice/mover", "--task", "tictactoe", "--episodes", "4", "--log")

    assert code == 0, err
    assert [line.rpartition(": ")[2] for line in out.splitlines()] == [
        " ".join(map(str, moves)) for moves in validation.match_moves()
    ]
    assert err.count("  | asked") == sum(match.plies for match in validation.matches)
    assert err.count("  | earned") == 2 * len(validation.matches)
    assert sorted((games / "results").rglob("*.json")) == before


def test_the_debugger_opens_where_a_player_fails(games: Path) -> None:
    submit(games, "thrower", "class Agent:\n    def act(self, observation):\n        return {}['move']\n")

    code, out, err = run(games, "evaluate", "submissions/alice/thrower", "--pdb")

    assert code == 1
    assert "match 0, ply 0: act raised KeyError: 'move' at agent.py:3" in err
    assert "-> return {}['move']" in out


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("4", "match 0, ply 1: the move 4 is not legal here; legal: 0, 1, 2, 3, 5, 6, 7, 8"),
        ("'four'", "match 0, ply 0: the answer is not a move; a move is one integer"),
    ],
)
def test_a_move_that_the_game_refuses_ends_the_match_with_what_was_legal(games: Path, answer: str, message: str) -> None:
    name = f"refused-{len(answer)}"
    submit(games, name, f"class Agent:\n    def act(self, observation):\n        return {answer}\n")

    code, _, err = run(games, "evaluate", f"submissions/alice/{name}", "--log")

    assert code == 1
    assert message in err


def test_a_constructor_that_fails_is_the_players_fault(games: Path) -> None:
    submit(games, "unborn", LEGAL + "    def __init__(self):\n        raise OSError('no file')\n")

    code, _, err = run(games, "evaluate", "submissions/alice/unborn", "--log")

    assert code == 1
    assert "Agent.__init__ raised OSError: no file at agent.py:8" in err


def test_a_match_is_printed_position_by_position(games: Path) -> None:
    duel = recorded(games, "alice+mover--local+random")
    side = [player.agent for player in duel.players].index("mover")
    lost = next(index for index, match in enumerate(duel.matches) if match.winner == 1 - side)

    code, out, _ = run(games, "watch", "submissions/alice/mover", "--task", "tictactoe", "--text")

    assert code == 0
    positions = out.split("\n\n")
    assert len(positions) == duel.matches[lost].plies + 1
    assert positions[0].startswith("alice/mover against local/random")
    assert positions[0].count(".") == 9
    assert positions[1].splitlines()[0].startswith("move 1: ")
    assert "local/random wins" in positions[-1]


@pytest.mark.parametrize("ending", ["webp", "gif"])
def test_watch_draws_a_match_by_the_games_own_pictures(games: Path, tmp_path: Path, ending: str) -> None:
    duel = recorded(games, "alice+mover--alice+mover")
    out, mover = tmp_path / f"match.{ending}", "submissions/alice/mover"

    code, _, err = run(games, "watch", mover, "--against", mover, "--episode", "1", "--out", str(out))

    assert code == 0, err
    with Image.open(out) as picture:
        assert picture.n_frames == duel.matches[1].plies + 1
        first = np.asarray(picture.convert("RGB")).copy()
        picture.seek(picture.n_frames - 1)
        assert (np.asarray(picture.convert("RGB"))[:400] != first[:400]).any()
    assert f"{out}: {duel.matches[1].plies + 1} frames of tictactoe, match 1 of 4" in err


def test_a_game_that_draws_nothing_is_shown_as_its_moves(games: Path, tmp_path: Path) -> None:
    folder = submit(games, "picker", LEGAL, "[five]")
    assert run(games, "evaluate", folder, "--sandbox", "process")[0] == 0
    text, film = tmp_path / "match.txt", tmp_path / "match.webp"
    words = ("watch", folder, "--episode", "0", "--out")

    assert run(games, *words, str(text))[0] == 0
    assert run(games, *words, str(film))[0] == 0

    assert sum(line.startswith("move ") for line in text.read_text().splitlines()) == 6
    with Image.open(film) as picture:
        assert picture.n_frames == 7


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            ("--task", "tictactoe", "--episode", "4"),
            2,
            "has no match '4'; it is best, median, worst or a number from 0 to 3",
        ),
        (("--against", "submissions/bob/none"), 1, "submissions/bob/none"),
        (("--task", "CartPole-v1", "--text"), 2, "--text and --against are for games"),
        (("--task", "tictactoe", "--against", "example_agents/other"), 1, "run 'pullrank duel submissions/alice/mover"),
    ],
)
def test_watch_refuses_a_match_in_one_line(games: Path, words: tuple[str, ...], code: int, message: str) -> None:
    if not (games / "example_agents/other").exists():
        put(games / "example_agents/other", LEGAL)

    refused, _, err = run(games, "watch", "submissions/alice/mover", *words)

    assert refused == code
    assert message in err
    assert err.count("\n") == 1
