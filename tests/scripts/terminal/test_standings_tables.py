"""Tables of standings for the terminal."""

from dataclasses import replace

import pytest

from leaderboard.build_standings import build_standings
from scripts.terminal.standings_tables import standings_tables
from tests.leaderboard import make


def test_the_overall_table_counts_tasks_and_marks_what_counts_as_2(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    tasks = [make.task("first"), make.task("second")]
    high, low = make.entry("high"), make.entry("low")
    results = [make.result(high, [4.0, 6.0] * 9, on=tasks[0]), make.result(low, [0.4, 0.6] * 9, on=tasks[1])]
    standings_tables(build_standings(make.challenge(*tasks), [high, low], results, official=True))
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]

    (best,) = [cells for cells in shown if "high" in cells and "1/2" in cells]
    (other,) = [cells for cells in shown if "low" in cells and "1/2" in cells]
    assert "1.000*" in best
    assert "0.250" in other
    assert ["*:", "the", "score", "of", "a", "task", "counts", "as", "2,", "the", "most"] in shown


@pytest.mark.parametrize("task", [make.task("first"), make.game("first")], ids=["task", "game"])
def test_an_example_agent_has_no_author_called_local(capsys, monkeypatch, task):
    monkeypatch.setenv("COLUMNS", "160")
    ours, theirs = make.entry("local", agent="random"), make.entry("alice")
    results = [make.result(each, [1.0, 2.0], on=task) for each in (ours, theirs)] if task.game is None else []
    duels = [make.duel(*pair, on=task) for pair in ((ours, None), (theirs, None), (ours, theirs))] if task.game else []

    standings_tables(build_standings(make.challenge(task), [ours, theirs], results, duels=duels, official=False))

    out = capsys.readouterr().out
    assert "(example): of example_agents/." in out
    rows = [line.split() for line in out.splitlines()]
    assert any("(example)" in row for row in rows)
    assert not any("local" in row for row in rows[2:])


@pytest.mark.parametrize("task", [make.task("first"), make.game("first")], ids=["task", "game"])
def test_an_entry_whose_results_are_hidden_is_named_with_the_reason(capsys, task):
    hidden = replace(make.entry("mallory"), quarantined={task.id: "hidden: the registry was broken into\x1b[2J"})

    standings_tables(build_standings(make.challenge(task), [hidden, make.entry("alice")], [], official=False))

    out = capsys.readouterr().out
    assert "mallory/agent: hidden: the registry was broken into" in out
    assert "\x1b" not in out
    assert "alice/agent:" not in out, "it only waits"
    assert out.count("mallory/agent") == 1
