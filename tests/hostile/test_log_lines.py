"""No text of a stranger commands a workflow's runner, a terminal or a later job: each message is a line of its own."""

import io
import json
import re
from pathlib import Path

import pytest
import rich.console
from hypothesis import given
from hypothesis import strategies as st

from evaluator.host.loading.yaml_loader import LoadError, parse_submission
from evaluator.model.visible_text import printable_line, without_commands
from leaderboard.comments.log_excerpt import LogTail, write_preview_log
from scripts.console import CommandError, escape_commands, print_json, say
from scripts.github.workflow.outputs import write_output
from scripts.rehearsal.rehearsal_observations import printable
from scripts.terminal import evaluation_tables, standings_tables, terminal_output
from tests.leaderboard.pages import samples
from tests.scripts.github.preview.test_run_preview import PreviewBoard
from tests.scripts.github.remotes import agent_files

# What runners obey. A line is what ends with LF, CR or CRLF; .NET trims every blank of Unicode before it looks for "::".
_AT_START = re.compile(r"^\s*::", re.UNICODE)
_ANYWHERE = re.compile(r"##\[|##vso\[", re.IGNORECASE)
_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")


def commands(text: str) -> list[str]:
    """The lines of a log that a runner obeys or that repaint a terminal."""
    return [line for line in re.split(r"[\r\n]", text) if _AT_START.search(line) or _ANYWHERE.search(line)] + [
        match.group() for match in _TERMINAL.finditer(text.replace("\r\n", "\n"))
    ]


FORGED = [
    pytest.param("::add-mask::1", marks=pytest.mark.attack(
        "command_that_masks", family="bot", tries="Masks a digit in the log of a job with ::add-mask::.",
        outcome="printed with a space in it")),
    pytest.param("  \t::set-output name=again::true", marks=pytest.mark.attack(
        "command_behind_blanks", family="bot", tries="Sets an output with a command behind blanks.",
        outcome="printed with a space in it")),
    pytest.param("\u3000\u00a0::error::x", marks=pytest.mark.attack(
        "command_behind_blanks_of_unicode", family="bot", outcome="printed with a space in it",
        tries="Annotates a commit with a command behind blanks that only .NET trims.")),
    pytest.param("x ##[group]y", marks=pytest.mark.attack(
        "command_in_brackets", family="bot", tries="Folds a log with the older form of commands inside a line.",
        outcome="printed with a space in it")),
    pytest.param("x ##vso[task.setvariable variable=a]b", marks=pytest.mark.attack(
        "command_of_azure", family="bot", tries="Sets a variable where the workflow runs on Azure Pipelines.",
        outcome="printed with a space in it")),
    pytest.param("x\r::stop-commands::t", marks=pytest.mark.attack(
        "command_behind_carriage_return", family="bot", tries="Begins a line with a carriage return.",
        outcome="printed on the same line")),
    pytest.param("x\n::debug::y", marks=pytest.mark.attack(
        "command_behind_line_feed", family="bot", tries="Begins a line with a line feed in a message.",
        outcome="printed on the same line")),
    pytest.param("x\u2028::warning::y\u2029::notice::z", marks=pytest.mark.attack(
        "command_behind_line_separators", family="bot", tries="Begins lines with U+2028 and U+2029.",
        outcome="printed on the same line")),
    pytest.param("x\x0b::error::y\x0c::error::z\x85::error::w", marks=pytest.mark.attack(
        "command_behind_vertical_tab", family="bot", tries="Begins lines with vertical tab, form feed and NEL.",
        outcome="printed on the same line")),
    pytest.param("\x1b[2J\x1b]0;owned\x07\x9b31m", marks=pytest.mark.attack(
        "terminal_codes_in_a_message", family="bot", tries="Clears the terminal of whoever runs a command.",
        outcome="printed as marks")),
    pytest.param("##\u200b[error]x ##\u2060[endgroup]", id="hidden inside the brackets"),
    pytest.param(":\u200b:error::x", id="hidden inside the colons"),
    pytest.param("\ufe0f::error::x \U000e0101##\ufe0f[error]", marks=pytest.mark.attack(
        "command_behind_a_selector", family="bot", outcome="printed with a space in it",
        tries="Splits a command with a selector that the printing removes.")),
]  # fmt: skip


@pytest.mark.parametrize("text", FORGED)
def test_no_message_is_a_command(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(text.replace("\n", " "))
    for error in (CommandError(1, text, "second"), LoadError(text, "second")):
        assert len(str(error).splitlines()) == 2
        assert len(re.split(r"[\r\n]", str(error))) == 2
        say(str(error))
    print_json({text: [text]})
    print_json({text: [text]}, indent=None)
    said = capsys.readouterr()

    assert commands(said.err) == []
    assert len(said.err.splitlines()) == 5
    assert commands(said.out) == []
    log = write_preview_log([LogTail(who="alice/x on T", verdict="crashed", text=text)]).decode()
    for written in (log, escape_commands(text), printable(text), printable_line(text)):
        assert commands(written) == []


@pytest.mark.parametrize("text", ["##[error]x", "##vso[x]", "a##[b]##[c]", "###[error]"])
def test_a_document_holds_the_same_words_and_no_command(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": text})

    printed = capsys.readouterr().out
    assert json.loads(printed) == {"name": text}
    assert commands(printed) == []


@given(
    st.text(
        st.one_of(st.sampled_from("::##[]vso \t\r\n\x85\u2028\u200b\ufe0f\u2060\U000e0101e"), st.characters()), max_size=60
    )
)
def test_no_text_at_all_is_a_command(text: str) -> None:
    assert commands(printable_line(text)) == []
    assert commands(without_commands(printable_line(text))) == []
    assert commands(escape_commands(text)) == []
    assert len(re.split(r"[\r\n]", printable_line(text))) == 1


NAME = "aaaaaaaaaa bbbbbbbbbb ::add-mask::1 ##[error]x cc::set-output::"


@pytest.mark.attack(
    "command_at_the_break_of_a_table", family="bot", outcome="broken by a space wherever the line breaks",
    tries="Has a name that a table breaks just before a command.",
)  # fmt: skip
@pytest.mark.parametrize("width", range(20, 60, 4))
def test_no_row_of_a_table_is_a_command(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    plain = rich.console.Console
    monkeypatch.setattr(terminal_output, "Console", lambda **options: plain(file=out, **{**options, "width": width}))
    who = samples.entry("evil", "mallory").submission.model_copy(update={"name": NAME})
    entry = samples.entry("evil", "mallory")
    entry = type(entry)(**{**vars(entry), "submission": who})
    fails = samples.failure(entry, samples.CAR, message=f"x\n{NAME}", log_tail=f"{NAME}\n::error::x\n\x1b[2J")
    standings_tables.standings_tables(
        samples.board(samples.task_board(samples.POLE, [samples.row(entry, samples.POLE, 1, 4.0)], [fails]))
    )
    evaluation_tables.evaluation_table(samples.challenge(), [fails.result])

    assert "add-mask" in out.getvalue().replace("\n", "")
    assert commands(out.getvalue()) == []


CRASH = b"""
print("x" + chr(0x2028) + "::add-mask::1", chr(13) + "::set-output name=again::true", "##vso[task.complete]", chr(0xE0101))
class Agent:
    def act(self, observation):
        raise ValueError("::error::x" + chr(13) + "::error::y" + chr(0x85) + "##[error]z" + chr(27) + "[2J")
"""


@pytest.mark.attack(
    "commands_through_a_whole_preview", family="bot", outcome="printed as text, in summary and artifact too",
    tries="Puts commands into the name, log, error and branch of a pull request, and lets the preview run on it.",
)  # fmt: skip
def test_a_whole_preview_prints_no_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    board = PreviewBoard(tmp_path)
    forged = b'name: "##[error] ::add-mask::1"\nalgorithm: "::error::x"\nauthors: ["##vso[task.complete]"]\n'
    board.change(
        {**agent_files("alice", source=CRASH, manifest=forged), **agent_files("alice", "b", b"", b"name: '::x'\n\xc2\x85")}
    )
    board.run()
    printed = capfd.readouterr()

    assert commands(printed.out + printed.err) == []
    assert commands((board.out / "preview.log").read_text(encoding="utf-8")) == []
    assert commands((board.out / "preview.json").read_text(encoding="utf-8").replace("##[", "")) == []
    assert "::" not in board.summary.read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.attack(
    "output_of_another_step", family="bot", outcome="one line of ASCII",
    tries="Ends the line of a step's output, or its heredoc, to set another output.",
)  # fmt: skip
@pytest.mark.parametrize("value", ["x\nagain=true", "x\r\nagain=true", "x<<EOF\nEOF\nagain=true", "\u2028again=true"])
def test_a_value_sets_one_output(value: str, tmp_path: Path) -> None:
    path = tmp_path / "output"
    write_output(path, "name", {value: value})

    assert re.fullmatch(rb"name=[ -~]+\n", path.read_bytes())


@pytest.mark.attack(
    "manifest_that_quotes_itself", family="bot", outcome="refused in one line",
    tries="Makes the refusal of a manifest quote a key or a value that holds line ends and commands.",
)  # fmt: skip
@pytest.mark.parametrize(
    "manifest",
    [
        'name: x\nalgorithm: y\n"a\\n::error::x": 1\n',
        'name: x\nalgorithm: y\nadapter: "a\\L::error::x"\n',
        'name: x\nalgorithm: y\nextras: ["a\\n##[error]x"]\n',
        'name: x\nalgorithm: y\nentry: "a\\r::error::x"\nkind: image\n',
        'name: x\nalgorithm: y\nkind: "a\\n::error::x"\n',
        'name: x\nalgorithm: y\nmeta: {"a\\N::error::b": 1, "a\\n::error::c": 2}\n',
        'name: x\nalgorithm: y\n"a\\n::error::x": 1\n"a\\n::error::x": 1\n',
    ],
)  # fmt: skip
def test_a_refusal_is_lines_of_ours(manifest: str) -> None:
    with pytest.raises(LoadError) as caught:
        parse_submission(manifest.encode())

    assert commands(str(caught.value)) == []
    assert [line.startswith("submission.yml:") for line in re.split(r"[\r\n]", str(caught.value))] == [True] * len(
        caught.value.lines
    )


@pytest.mark.attack(
    "command_behind_a_million_lines", family="bot", outcome="printed with a space in it",
    tries="Puts a command behind a million empty lines, so that who looks for it does not come to an end.",
)  # fmt: skip
def test_empty_lines_are_read_once() -> None:
    lines = "\n" * (1 << 20)

    assert without_commands(f"{lines}\x0b \t::set-output name=a::b") == f"{lines}\x0b \t: :set-output name=a::b"
