"""`show`, `watch` and an evaluation in one process: what a participant sees of an agent's inside."""

import importlib.util
import json
from pathlib import Path

import pytest
from PIL import Image

from tests.scripts.checkouts import GAMES, put, run

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
        (("--task", "tictactoe"), "nothing is recorded of this version"),
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
