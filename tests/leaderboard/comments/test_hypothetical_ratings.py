"""The rating that a preview's duels would give is the one that they give."""

import dataclasses

from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.stored_record import SandboxKind, Tier
from leaderboard.build_standings import RecordedLeaderboard, build_standings
from leaderboard.comments.comment_standings import official_report, official_state, preview_state
from leaderboard.comments.comment_states import GameReport
from leaderboard.core.entry import Entry
from tests.leaderboard.make import duel, entry, game

GAME = game("tictactoe", title="Tic-tac-toe")
RULES = Challenge(title="Test", season="1", tasks=(GAME,), baselines=("bob/agent",))
ANN, CYD, DAN, ZOE = (entry(login) for login in ("ann", "cyd", "dan", "zoe"))
BOB = dataclasses.replace(entry("bob"), baseline=True)
BOARD = (ANN, BOB, CYD, DAN)


def recorded(*duels: Duel, entries: tuple[Entry, ...] = BOARD) -> RecordedLeaderboard:
    validations = [duel(one, on=GAME) for one in BOARD]
    pairs = [duel(ANN, BOB, "wwwdwl", on=GAME), duel(BOB, CYD, "wwdwwl", on=GAME), duel(ANN, CYD, "wwdwlw", on=GAME)]
    return RecordedLeaderboard(challenge=RULES, entries=entries, results=(), duels=(*validations, *pairs, *duels))


def previewing(*duels: Duel, who: Entry = ZOE) -> Preview:
    shown = tuple(one.model_copy(update={"tier": Tier.PREVIEW, "sandbox": SandboxKind.PROCESS}) for one in duels)
    agent = PreviewedAgent.model_construct(
        login=who.login, agent=who.agent, submission_digest=who.digest, name="Zoe", faults=(), results=(), duels=shown
    )
    return Preview.model_construct(head_sha="a" * 40, evaluator_sha="b" * 40, agents=(agent,), skipped=())


def shown(board: RecordedLeaderboard, preview: Preview) -> GameReport:
    (agent,) = preview_state(preview, board, run_url=None).agents
    (game,) = agent.games
    return game


def test_a_newcomer_gets_the_rating_and_place_that_the_board_would_give() -> None:
    board = recorded()
    own = (duel(ZOE, on=GAME), duel(ZOE, BOB, "wldwlw", on=GAME), duel(ZOE, ANN, "lwllwd", on=GAME))
    game = shown(board, previewing(*own))
    rows = build_standings(RULES, [*BOARD, ZOE], [], official=True, duels=[*board.duels, *own]).games[0].rows
    row = next(row for row in rows if row.entry == ZOE)

    assert (game.estimate, game.place, game.rank_low, game.rank_high) == (
        row.estimate, row.place, row.rank_low, row.rank_high
    )  # fmt: skip
    assert (game.entries, game.anchor, game.one_sided) == (3, "bob/agent", False), (
        "without the baseline, which takes no place"
    )
    assert [(m.opponent, m.is_baseline, m.count.won, m.count.drawn, m.count.lost) for m in game.duels] == [
        ("bob/agent", True, 3, 1, 2), ("ann/agent", False, 2, 1, 3),
    ]  # fmt: skip
    assert (game.count.won, game.count.matches) == (5, 12)
    assert not game.official


def test_who_wins_everything_is_rated_by_a_prior_and_it_is_said() -> None:
    game = shown(recorded(), previewing(duel(ZOE, on=GAME), duel(ZOE, BOB, "wwwwww", on=GAME)))

    assert game.one_sided
    assert game.estimate is not None


def test_a_new_version_is_compared_with_the_one_that_stands() -> None:
    old = entry("zoe", version="0")
    board = recorded(duel(old, on=GAME), duel(old, BOB, "llldlw", on=GAME), entries=(*BOARD, old))
    game = shown(board, previewing(duel(ZOE, on=GAME), duel(ZOE, BOB, "wwwdwl", on=GAME)))

    assert game.own_last is not None
    assert game.estimate is not None
    assert game.estimate.score > game.own_last.score


def test_a_refused_player_is_shown_with_its_position_and_has_no_rating() -> None:
    own = duel(ZOE, outcomes="dwiw", on=GAME, moves=[[0], [1], [4, 0, 8], [2]])
    game = shown(recorded(), previewing(own))

    assert game.refusal is not None
    assert game.refusal.startswith("match 3, move 4: the illegal move 9")
    assert sum(game.position.count(sign) for sign in "XO") == 3
    assert (game.estimate, game.duels, game.failed) == (None, (), None)


def test_a_player_that_crashed_against_itself_has_no_position() -> None:
    own = duel(ZOE, outcomes="ff", on=GAME, verdicts=("crashed", "crashed"))
    game = shown(recorded(), previewing(own))

    assert game.refusal is not None
    assert game.position == ""


def test_what_failed_on_our_side_is_nobodys_fault() -> None:
    broken = duel(ZOE, BOB, "", on=GAME, message="EngineError: no engine")
    game = shown(recorded(), previewing(duel(ZOE, on=GAME), broken))

    assert game.failed == "EngineError: no engine"
    assert (game.refusal, game.duels) == (None, ())


def test_an_offence_against_another_is_told() -> None:
    game = shown(recorded(), previewing(duel(ZOE, on=GAME), duel(ZOE, BOB, "wwwiwl", on=GAME)))

    assert game.duels[0].fault == "match 4, move 4: the illegal move 9"
    assert game.duels[0].count.errors == 1


def test_a_board_without_duels_rates_nobody_yet() -> None:
    empty = RecordedLeaderboard(challenge=RULES, entries=BOARD, results=())
    game = shown(empty, previewing(duel(ZOE, on=GAME), duel(ZOE, BOB, "wwwdwl", on=GAME)))

    assert game.estimate is None
    assert [duel.opponent for duel in game.duels] == ["bob/agent"]


def test_duels_of_other_settings_are_not_shown() -> None:
    other = game("tictactoe", max_plies=50)
    preview = previewing(duel(ZOE, on=other))

    assert preview_state(preview, recorded(), run_url=None).agents[0].games == ()


def test_the_official_comment_shows_what_is_recorded_and_what_is_not() -> None:
    bad = duel(DAN, outcomes="iw", on=GAME, at="2026-02-01T00:00:00Z")
    board = recorded(bad, entries=(*BOARD, ZOE))
    state = official_state(board, [("ann", "agent"), ("dan", "agent"), ("zoe", "agent")], "c" * 40)
    games = {agent.login: agent.games for agent in state.agents}

    assert games["ann"][0].official
    assert games["ann"][0].estimate is not None
    assert not games["ann"][0].signed
    assert {duel.opponent for duel in games["ann"][0].duels} == {"bob/agent", "cyd/agent"}
    assert games["dan"][0].refusal is not None
    assert games["zoe"] == ()
    assert state.pending == ("zoe/agent on Tic-tac-toe",)
    official = official_report(board, "ANN", "agent")
    assert official is not None
    assert official.games == games["ann"]
