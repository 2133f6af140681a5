"""A comment tells no score that the board does not show: neither of a hidden board, nor what a sealed season hides."""

from datetime import UTC, datetime

import pytest

from evaluator.host.seeds.encryption import encrypt_result
from evaluator.host.seeds.season_secret import SeasonSecret
from evaluator.model.config.challenge import Challenge, Sealed
from evaluator.model.config.phase import Phase
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.comments import render_comment
from leaderboard.comments.comment_standings import official_report, official_state
from leaderboard.comments.comment_states import CommentContext, OfficialScore, RankReply
from leaderboard.comments.phrases import official_headline
from tests.leaderboard.make import challenge, duel, entry, game, result, task

BEFORE, AFTER = datetime(2026, 5, 31, 23, 59, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
OPEN, LATER, GAME = task("open"), task("later"), game("duel")
ANN, BOB, CYD = (entry(login) for login in ("ann", "bob", "cyd"))
CONTEXT = CommentContext(run_id=1, repository="https://github.com/o/b", site=None)
# Parts thousands.
THIN = "\N{NARROW NO-BREAK SPACE}"
SECRET = SeasonSecret(bytes(range(32)))


def phased(*tasks: str) -> Challenge:
    """Tasks that are all there, some of them on boards that are hidden until June."""
    final = Phase(id="final", name="Final", tasks=tasks, public_from="2026-06-01T00:00:00Z")
    return challenge(OPEN, LATER, GAME).model_copy(update={"phases": (final,)})


def state_at(at: datetime, *hidden: str, others: bool = True) -> OfficialScore:
    """What Ann is told, whose score is 71234.5 wherever she has one; she has no place but the second."""
    results = [result(ANN, [71234.5] * 9, on=LATER), result(BOB, [81234.5] * 9, on=LATER)]
    results += [result(ANN, [0.625] * 9, on=OPEN)] if others else []
    duels = [
        *(duel(one, on=GAME) for one in (ANN, BOB, CYD)),
        duel(ANN, BOB, "wwwwwd", on=GAME),
        duel(BOB, CYD, "wl", on=GAME),
    ]
    recorded = RecordedLeaderboard(
        challenge=phased(*hidden), entries=(ANN, BOB, CYD), results=tuple(results), duels=tuple(duels), at=at
    )
    return official_state(recorded, [("ann", "agent")], "c" * 40)


@pytest.mark.parametrize("others", [False, True])
def test_no_headline_and_no_line_tells_what_a_hidden_board_holds(others: bool) -> None:
    comment = render_comment.render_comment(state_at(BEFORE, "later", "duel", others=others), CONTEXT)

    assert [
        word for word in ("71234", f"71{THIN}234", f"81{THIN}234", "Elo", "place 2", "bob", "🥇") if word in comment
    ] == (["🥇"] if others else [])
    assert ("Official: 0.6 on open" in comment) is others


def test_a_score_that_waits_for_its_board_is_said_to_wait() -> None:
    """Else a merge would be told for ever that its run comes next."""
    state = state_at(BEFORE, "open", "later", "duel")

    assert state.unshown == 3
    assert official_headline(state) == "🔒 Official: recorded, and shown when the leaderboard is public"


def test_everything_is_told_once_the_board_is_shown() -> None:
    state = state_at(AFTER, "open", "later", "duel")
    comment = render_comment.render_comment(state, CONTEXT)

    assert state.unshown == 0
    assert "🏁 Official: all 3 evaluations scored" in comment
    assert f"71{THIN}234" in comment
    assert "bob" in comment


def test_of_a_sealed_result_the_headline_has_the_rounded_score_and_nothing_more() -> None:
    sealing = Sealed(secret_sha256=SECRET.sha256, decimals=-1)
    rules = challenge(LATER).model_copy(update={"sealed": sealing})
    plain = result(ANN, [71234.5] * 9, on=LATER, beacon=SECRET.beacon, log_tail="71234.5", message="")
    closed, _ = encrypt_result(plain, b'{"trace": 1}\n', 71230.0, SECRET)
    recorded = RecordedLeaderboard(challenge=rules, entries=(ANN,), results=(closed,), at=BEFORE)
    own = official_report(recorded, "ann", "agent")
    assert own is not None

    state = official_state(recorded, [("ann", "agent")], "c" * 40)
    comment = "".join(render_comment.render_comment(one, CONTEXT) for one in (state, RankReply(agents=(own,))))

    assert official_headline(state).startswith(f"🥇 Official: 71{THIN}230")
    assert [word for word in ("71234", f"71{THIN}234", "71,234") if word in comment] == []
