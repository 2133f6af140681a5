"""The agents of a commit, all of them and those of some logins."""

from pathlib import Path

from evaluator.model.config.challenge import Challenge
from leaderboard.core.entry import Entry
from scripts.git.main_entries import KnownFolders, entries_of_logins, read_entries
from tests.scripts.github.remotes import AGENT, agent_files, make_board

RULES = Challenge.model_validate({"title": "Test", "season": "1", "tasks": [{"id": "CartPole-v1"}]})


def test_the_agents_of_some_logins_are_those_that_all_agents_have_of_them(tmp_path: Path) -> None:
    board = make_board(tmp_path, agent_files("bob"))
    files = {
        **agent_files("bob", "second", AGENT + b"# another\n"),
        # The same files twice: one folder counts, whichever way it is read.
        **agent_files("Carol", "one", AGENT + b"# hers\n"), **agent_files("Carol", "two", AGENT + b"# hers\n"),
        **agent_files("carol", "zero", AGENT + b"# hers too\n"),
        "submissions/dave/broken/submission.yml": b"name: [\n", **agent_files("local"),
    }  # fmt: skip
    sha = board.commit(files)
    entries, faults = read_entries(board.repository, sha, RULES)
    assert len(faults) == 3

    def named(login: str, known: KnownFolders) -> list[Entry]:
        return entries_of_logins(board.repository, sha, RULES, [login], known)

    known: KnownFolders = {}
    for login in ("bob", "BOB", "carol", "Carol", "dave", "local", "nobody", "bo"):
        expected = [entry for entry in entries if entry.login.casefold() == login.casefold()]
        assert named(login, known) == named(login, known) == expected
    assert len(named("carol", {})) == 2
