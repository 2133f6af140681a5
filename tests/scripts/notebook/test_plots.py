"""The examples of machines.md and notebook.md that read a board and draw, run as they stand on a board of the tests."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from leaderboard.text.serialise import csv_text
from tests.docs.blocks import ROOT, blocks_of
from tests.leaderboard.api.leaderboards import documents
from tests.leaderboard.pages import samples
from tests.needs import lacking
from tests.scripts.checkouts import game_board, run, submit

SITE = "https://<owner>.github.io/<board>/"
RULE = "class Agent:\n    memoryless = True\n    def act(self, observation):\n        return int(observation[2] > 0)\n"
PNG = b"\x89PNG"


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What `make notebook` installs; plots go to files of the test's folder."""
    if any(importlib.util.find_spec(name) is None for name in ("pandas", "matplotlib")):
        lacking("pandas and Matplotlib: 'make notebook' installs them", "NOTEBOOK")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    monkeypatch.chdir(tmp_path)


def shown(page: str) -> list[str]:
    """The examples of a page that this module runs."""
    note = ("run by", "tests/scripts/notebook/test_plots.py")
    return [block.text for block in blocks_of(ROOT / page) if block.note == note]


def test_the_page_for_machines_reads_and_draws_a_table(tmp_path: Path) -> None:
    board = samples.crowded()
    for path, content in documents(board).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    rows = board.tasks[0].rows
    placed = [row for row in rows if row.place is not None]
    agent = placed[0].entry
    examples = [
        text.replace(SITE, f"{tmp_path.as_uri()}/")
        .replace("tasks/CartPole-v1/", f"tasks/{board.tasks[0].task.id}/")
        .replace("alice/angle-rule", f"{agent.login}/{agent.agent}")
        for text in shown("site/pages/machines.md")
    ]
    names: dict[str, Any] = {}

    for example in examples:
        exec(compile(example, "machines.md", "exec"), names)

    assert len(examples) == 2
    assert names["table"]["score"].tolist() == pytest.approx([row.estimate.score for row in rows])
    assert names["top"]["agent"].tolist() == [row.entry.agent for row in placed[:10]][::-1]
    assert Path("top.png").read_bytes().startswith(PNG)
    assert names["returns"][board.tasks[0].task.id].tolist() == pytest.approx(list(placed[0].result.returns))


@pytest.mark.attack(
    "login_that_a_reader_takes_for_nothing", family="pages", outcome="read as text",
    tries="Registers a login such as NULL or 007, which readers of tables take for nothing or for a number.",
)  # fmt: skip
def test_the_example_reads_texts_as_texts(tmp_path: Path) -> None:
    heads = ["place", "login", "agent", "name", "algorithm", "score", "low", "high"]
    odd = [("NULL", "nan"), ("007", "1e5"), ("None", "null"), ("NA", "0x10"), ("true", "2024-01-01"), ("1_000", "inf")]
    rows = [[place, login, agent, "NaN", "n/a", 1.5, 1, 2] for place, (login, agent) in enumerate(odd, 1)]
    path = tmp_path / "api/tasks/CartPole-v1/leaderboard.csv"
    path.parent.mkdir(parents=True)
    path.write_bytes(csv_text([heads, *rows, [None, "late", "a", "b", "c", None, None, None]]))
    names: dict[str, Any] = {}

    exec(compile(shown("site/pages/machines.md")[0].replace(SITE, f"{tmp_path.as_uri()}/"), "machines.md", "exec"), names)

    top = names["top"][::-1]
    assert list(zip(top.login, top.agent, strict=True)) == odd
    assert set(top["name"]) == {"NaN"}
    assert top.score.tolist() == [1.5] * len(odd)


def test_the_page_for_notebooks_draws_what_is_recorded(tmp_path: Path) -> None:
    root = tmp_path / "board"
    root.mkdir()
    folder = submit(game_board(root), "rule", RULE, "[CartPole-v1]")
    assert run(root, "evaluate", folder, "--sandbox", "process")[0] == 0
    (example,) = shown("site/pages/agents/notebook.md")
    names: dict[str, Any] = {}

    exec(
        compile("import pullrank\n" + example.replace("https://owner.github.io/board/", str(root)), "notebook", "exec"),
        names,
    )

    import matplotlib.pyplot as plt

    assert names["top"]["name"].tolist() == ["Rule"]
    assert len(plt.gca().patches) == 1
