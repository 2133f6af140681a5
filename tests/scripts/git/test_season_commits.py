"""The commits that began and ended a season, by the history of challenge.yml."""

from pathlib import Path

import pytest

from evaluator.model.config.challenge import Challenge
from scripts.console import CommandError
from scripts.git.season_commits import checked_season_commits, season_commits
from tests.scripts.github.remotes import make_board

SEASON = b"title: Test\nseason: %s\ntasks: [{id: CartPole-v1}]\n"
RULES = Challenge.model_validate({"title": "Test", "season": "1", "tasks": [{"id": "CartPole-v1"}]})


def test_a_season_begins_once_and_its_end_cannot_be_taken_back(tmp_path: Path) -> None:
    board = make_board(tmp_path)
    first = board.commit({"challenge.yml": SEASON % b"'2'"})
    board.commit({"challenge.yml": SEASON % b"'3'"})
    board.commit({"challenge.yml": b"no: [rules"})
    board.commit({"challenge.yml": SEASON % b"'2'\nfinal: '1'"})
    ended = board.commit({"challenge.yml": SEASON % b"'2'\nfinal: '2'"})
    board.commit({"challenge.yml": SEASON % b"'2'"})
    again = board.commit({"challenge.yml": SEASON % b"'2'\nfinal: '2'"})
    commits = season_commits(board.repository, board.head, "2")

    assert (commits.began, commits.final and commits.final.sha) == (first, ended)
    assert again != ended
    with pytest.raises(CommandError, match=r"ended with commit .* write 'final: \"2\"' into challenge.yml again"):
        checked_season_commits(board.repository, board.head, RULES.model_copy(update={"season": "2"}))
    with pytest.raises(CommandError, match="no commit of main says so"):
        checked_season_commits(board.repository, board.head, RULES.model_copy(update={"season": "3", "final": "3"}))
