from pathlib import Path

import pytest

from scripts.console import CommandError
from scripts.github.workflow.outputs import SUMMARY_BYTES, SUMMARY_CUT, write_output, write_summary


def test_outputs_are_json_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "output"
    write_output(path, "shards", [0, 1])
    write_output(path, "sha", "abc")

    assert path.read_text() == 'shards=[0,1]\nsha="abc"\n'


def test_nowhere_to_write_is_no_error(tmp_path: Path) -> None:
    write_output(None, "count", 1)
    write_summary(None, "text")


@pytest.mark.attack(
    "line_end_in_an_output", family="bot", outcome="one line of ASCII",
    tries="Ends the line of an output to set a variable of the next step.",
)  # fmt: skip
@pytest.mark.parametrize("value", ["a\nLD_PRELOAD=/tmp/x", "a\r\nb", "a\u2028b", "<<EOF\nx\nEOF", "\x85"])
def test_attack_9_a_line_end_in_a_value_begins_no_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "output"
    write_output(path, "name", value)

    assert len(path.read_text().splitlines()) == 1
    assert path.read_bytes().isascii()


@pytest.mark.parametrize("name", ["", "a=b", "a\nb", "A", "a<<b", "1a", "a" * 51])
def test_attack_9_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match="not a name"):
        write_output(tmp_path / "output", name, 1)


def test_an_output_that_github_would_drop_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="GitHub takes 524,288"):
        write_output(tmp_path / "output", "keys", "x" * (1 << 19))
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_output(tmp_path / "output", "number", float("nan"))


def test_summaries_add_up_to_what_github_takes(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    write_summary(path, "# one")
    write_summary(path, "é" * SUMMARY_BYTES)
    write_summary(path, "no room")

    text = path.read_text()
    assert text.startswith("# one\né")
    assert text.endswith(SUMMARY_CUT)
    assert SUMMARY_BYTES - 4 <= path.stat().st_size <= SUMMARY_BYTES


def test_text_that_is_no_unicode_is_written_somehow(tmp_path: Path) -> None:
    write_summary(tmp_path / "summary", "a\ud800b")

    assert (tmp_path / "summary").read_text() == "a?b\n"
