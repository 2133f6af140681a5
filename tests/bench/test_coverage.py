"""A short form of the simulations of coverage; their seeds are fixed, so what they reach here never changes."""

import pytest

from bench import coverage, optional_stopping
from bench.coverage_row import CoverageRow

# With few boards a share differs from that of many: three standard errors of 95 % in 400 boards.
CHANCE = 3.3


def close_enough(row: CoverageRow) -> bool:
    sign, limit = row.target.split() if row.target else ("≥", "-inf")
    return row.measured >= float(limit) - CHANCE if sign == "≥" else row.measured <= float(limit) + CHANCE


def test_intervals_of_scores_hold() -> None:
    rows = list(coverage.score_rows(400))

    assert len(rows) == len(coverage.SCORES)
    assert [row for row in rows if not close_enough(row)] == []
    # A width that holds everything would be no interval.
    assert float(rows[0].width.split()[0]) < 1.35


def test_rank_intervals_hold_and_still_tell_apart() -> None:
    rows = list(coverage.rank_rows(100))

    assert [row for row in rows if not close_enough(row)] == []
    assert 26 <= rows[-1].measured <= 51


def test_no_strategy_of_stopping_gains() -> None:
    rows = {row.case: row for row in optional_stopping.rows(300)}

    assert [row for row in rows.values() if not close_enough(row)] == []
    assert rows["parallel folders: gain of the live score (not a rank)"].measured > 1.5


def test_a_row_knows_whether_it_is_reached() -> None:
    assert CoverageRow("case", 93.0, "≥ 93").is_reached
    assert not CoverageRow("case", 5.1, "≤ 5").is_reached
    assert CoverageRow("case", 5.1, "").is_reached


def test_the_page_has_the_rows_of_the_simulations() -> None:
    rows = coverage.table(boards=10)
    table, _, _ = coverage.PAGE.read_text().partition("## Strategies")
    shown = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]

    assert [(cells[0].removeprefix("| "), cells[2]) for cells in shown] == [(row.case, row.target) for row in rows]


@pytest.mark.parametrize("option", [[], ["--page"]])
def test_the_command_prints_the_table(option, monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setattr(coverage, "PAGE", tmp_path / "coverage.md")
    monkeypatch.setattr("sys.argv", ["coverage", "--boards", "5", *option])

    coverage.main()

    assert "rank interval of an agent among 8 equal agents" in capsys.readouterr().out
    assert coverage.PAGE.exists() == bool(option)
