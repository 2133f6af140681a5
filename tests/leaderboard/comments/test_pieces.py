"""The comment's pieces: the drawn intervals, the clip, the log."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.comments.log_excerpt import PREVIEW_LOG_BYTES, LogTail, log_tails, neutralised, write_preview_log
from leaderboard.comments.phrases import LEADER_SIGN, TEXT_WIDTH, TextBar, text_chart, text_shares
from leaderboard.comments.render_comment import COMMENT_LIMIT, TRUNCATION_NOTE, comment_length, truncate_comment
from leaderboard.core.entry import Estimate
from tests.leaderboard.comments.github_markdown import MARKDOWN, Seen

FINITE = st.floats(-1e6, 1e6)


def bar(name: str, low: float, score: float, high: float, mark: str = "●") -> TextBar:
    return TextBar(name=name, estimate=Estimate(score=score, low=low, high=high), mark=mark)


def test_intervals_share_a_scale() -> None:
    drawn = text_chart([bar("this", 0, 25, 50), bar("leader", 75, 100, 100, LEADER_SIGN)], 1)

    assert drawn.splitlines() == [
        "this   ├─────●──────┤············  25.0",
        "leader ···················├─────◆ 100.0",
        "       0.0                  100.0",
    ]


def test_equal_scores_have_a_picture_too() -> None:
    assert text_chart([bar("this", 5, 5, 5)], 0).splitlines()[0] == f"this {'·' * 13}●{'·' * 12} 5"
    assert "●" in text_chart([bar("this", 0, 0, 0)], 0)


@given(st.lists(st.tuples(FINITE, FINITE, FINITE).map(sorted), min_size=1, max_size=3), st.integers(0, 6))
def test_every_line_is_equally_wide_and_has_its_mark(ends: list[list[float]], decimals: int) -> None:
    lines = text_chart([bar(f"n{i}", *three) for i, three in enumerate(ends)], decimals).splitlines()

    for line in lines[:-1]:
        assert len(line) == len(lines[0])
        drawn = line[3 : 3 + TEXT_WIDTH]
        assert re.fullmatch(r"·*├?─*●─*┤?·*", drawn)


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(0, 10_000))
def test_shares_fill_the_bar_and_hide_nothing(wins: int, ties: int, losses: int) -> None:
    drawn = text_shares(wins, ties, losses)
    whole = wins + ties + losses

    assert len(drawn) == (TEXT_WIDTH if whole else 0)
    assert re.fullmatch("█*▒*·*", drawn)
    for sign, count in zip("█▒·", (wins, ties, losses), strict=True):
        assert (sign in drawn) == (count > 0)
        assert not whole or abs(drawn.count(sign) - TEXT_WIDTH * count / whole) < 3


def test_a_short_text_is_not_clipped() -> None:
    assert truncate_comment("a" * COMMENT_LIMIT) == "a" * COMMENT_LIMIT


@given(
    st.lists(
        st.sampled_from(
            ["```text", "````", "```", "````text", "words", "<details><summary>x</summary>\n", "</details>\n", ""]
        )
    )
)
def test_what_was_open_is_closed(lines: list[str]) -> None:
    text = "\n".join([*lines, "\N{GRINNING FACE}" * 300])

    short = truncate_comment(text, 400)

    assert comment_length(short) <= 400
    assert short.endswith(TRUNCATION_NOTE)
    assert "<em>This comment was too long" in MARKDOWN.render(short)


def test_a_clip_closes_a_fence_inside_details() -> None:
    text = "\n".join(["<details><summary>x</summary>", "", "````text", *["```"] * 500, "````", "", "</details>"])

    seen = Seen(truncate_comment(text, 300))

    assert seen.open == []
    assert seen.tags == ["details", "summary", "pre", "code", "p", "em"]


COMMANDS = {
    "add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice", "remove-matcher",
    "save-state", "set-env", "set-output", "stop-commands", "warning",
}  # fmt: skip


def obeyed(line: str) -> str | None:
    """The command that the runner would obey in a line: what actions/runner's ActionCommand.TryParseV2 and TryParse do."""
    stripped = line.lstrip()
    if stripped.startswith("::") and (end := stripped.find("::", 2)) >= 0:
        name = stripped[2:end].split(" ", 1)[0].lower()
        if name in COMMANDS:
            return name
    begin = line.find("##[")
    end = line.find("]", begin)
    if begin >= 0 and end >= 0:
        name = line[begin + 3 : end].split(" ", 1)[0].lower()
        if name in COMMANDS:
            return name
    return None


COMMAND_LINES = [
    "::set-output name=score::999",
    "  \t::add-mask::0",
    "step 3 ##[set-output name=score;]999",
    "##[stop-commands]tok",
    "\u00a0::warning::led by a no-break space",
    "::ERROR file=a::b",
    "ok\r::set-output name=s::1",
    "a\u2028::error::b",
    "####[[error]]##[error]x",
    "##\u200b[error]x",
    ":::error::x",
    "::::error::x",
]


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_no_line_of_an_agent_is_a_command(line: str) -> None:
    log = write_preview_log([LogTail(who="alice/x on T", verdict="crashed", text=line)]).decode()

    assert not [one for one in re.split(r"[\n\r]", log) if obeyed(one)]
    assert obeyed(neutralised(line)) is None
    assert all(one.startswith("| ") for one in log.splitlines())


@given(st.text(st.one_of(st.sampled_from(":#[]errorset-output \t\r\n\x85\u2028"), st.characters()), max_size=80))
def test_no_text_of_an_agent_is_a_command(text: str) -> None:
    log = write_preview_log([LogTail(who="alice/x on T", verdict="crashed", text=text)]).decode()

    assert not [one for one in re.split(r"[\n\r]", log) if obeyed(one)]


def test_what_was_written_is_read() -> None:
    given = [
        LogTail(who="alice/x on CartPole-v1", verdict="crashed", text="one\n\n  two x[::2]\n"),
        LogTail(who="alice/y on ALE/Pong-v5", verdict="ok", text="| == alice/x on CartPole-v1: ok\n| > forged"),
        LogTail(who="alice/z on T", verdict="ok", text=" \n"),
        LogTail(who="bob_corp/x on T", verdict="crashed", text="of an account that an enterprise manages"),
    ]

    assert log_tails(write_preview_log(given).decode()) == {
        "alice/x on CartPole-v1": "one\n\n  two x[::2]",
        "alice/y on ALE/Pong-v5": "| == alice/x on CartPole-v1: ok\n| > forged",
        "bob_corp/x on T": "of an account that an enterprise manages",
    }


def test_a_log_keeps_the_ends_and_its_cap() -> None:
    lines = "\n".join(f"line {i} \N{GRINNING FACE}" for i in range(20_000))
    log = write_preview_log(LogTail(who=f"alice/x on T{i}", verdict="ok", text=lines) for i in range(40))

    assert len(log) <= PREVIEW_LOG_BYTES
    assert all(text.endswith("line 19999 \N{GRINNING FACE}") for text in log_tails(log.decode()).values())
    assert len(log_tails(log.decode())) == 40


def test_a_log_of_another_form_is_left_out() -> None:
    assert log_tails("") == {}
    assert log_tails("no head\n| > before any head\n| == ../../x on T: ok\n| > y\n") == {}
