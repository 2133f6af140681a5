"""Planning is a difference of sets, and says why."""

import dataclasses
from collections.abc import Iterable

import pytest

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission import Submission
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import Entry
from leaderboard.core.version_folders import AS_RECORDED
from leaderboard.planning.missing_work import (
    INTERNAL_ERROR_LIMIT,
    DuelWorkItem,
    MeasurementContext,
    WorkItem,
    given_up,
    missing_work,
)
from leaderboard.planning.pack_shards import DUEL_SECONDS, UNKNOWN_SECONDS, expected_seconds
from tests.leaderboard import make
from tests.leaderboard.recorded import recorded

CHALLENGE = Challenge(title="T", season="s", tasks=(Task(id="A"), Task(id="B")))
WHERE = MeasurementContext(runtime_digest="0" * 64, beacon="preview")
ENTRY = Entry(login="alice", agent="x", submission=Submission(name="X", algorithm="y"), digest="1" * 64)


def reasons(items: list[WorkItem]) -> list[tuple[str, str]]:
    return [(item.task_id, item.reason) for item in items]


def test_everything_is_wanted_where_nothing_is_recorded() -> None:
    assert reasons(missing_work(CHALLENGE, [ENTRY], [], WHERE, [])) == [("A", "new"), ("B", "new")]


def test_what_is_recorded_is_not_wanted_again() -> None:
    done = [recorded(CHALLENGE, ENTRY, "A", WHERE)]

    assert reasons(missing_work(CHALLENGE, [ENTRY], done, WHERE, [])) == [("B", "new")]


def test_two_tasks_of_the_same_settings_are_measured_each_for_itself() -> None:
    """Two phases with one environment: keys are equal, seeds are not."""
    phases = CHALLENGE.model_copy(update={"tasks": (Task(id="dev", env="A"), Task(id="test", env="A"))})
    done = [recorded(phases, ENTRY, "dev", WHERE)]
    failed = [recorded(phases, ENTRY, "test", WHERE, Verdict.INTERNAL_ERROR)] * INTERNAL_ERROR_LIMIT

    assert reasons(missing_work(phases, [ENTRY], done, WHERE, [])) == [("test", "new")]
    assert reasons(missing_work(phases, [ENTRY], failed, WHERE, [])) == [("dev", "new")]


def test_every_draw_of_a_version_is_wanted_whatever_came_of_the_others() -> None:
    """Else one could look at a draw at home, which anybody can compute, and leave before it is recorded."""
    stays = dataclasses.replace(WHERE, beacons={(("alice", "x"), "A"): ("aaa", "bbb", "ccc")})
    done = [recorded(CHALLENGE, ENTRY, "A", dataclasses.replace(WHERE, beacon="bbb"))]
    wanted = [item for item in missing_work(CHALLENGE, [ENTRY], done, stays, []) if item.task_id == "A"]

    assert [(item.wanted.beacon, item.reason) for item in wanted] == [("aaa", "another draw"), ("ccc", "another draw")]
    assert all(item.is_awaited for item in wanted)


def test_a_failure_of_the_agent_is_a_record_and_one_of_ours_is_not() -> None:
    failed = recorded(CHALLENGE, ENTRY, "A", WHERE, Verdict.CRASHED)
    ours = recorded(CHALLENGE, ENTRY, "B", WHERE, Verdict.INTERNAL_ERROR)

    assert reasons(missing_work(CHALLENGE, [ENTRY], [failed, ours], WHERE, [])) == [("B", "new")]


def test_each_change_is_named() -> None:
    done = [recorded(CHALLENGE, ENTRY, task, WHERE) for task in ("A", "B")]
    edited = CHALLENGE.model_copy(update={"tasks": (Task(id="A", episodes=7), Task(id="B", description="other words"))})
    other = dataclasses.replace(ENTRY, digest="2" * 64)
    newer = MeasurementContext(runtime_digest="3" * 64, beacon="preview")

    assert reasons(missing_work(edited, [ENTRY], done, WHERE, [])) == [("A", "the task's settings changed")]
    changed = [("A", "the agent changed"), ("B", "the agent changed")]
    assert reasons(missing_work(CHALLENGE, [other], done, WHERE, [])) == changed
    assert reasons(missing_work(CHALLENGE, [ENTRY], done, newer, [])) == [
        ("A", "the evaluator changed"),
        ("B", "the evaluator changed"),
    ]


def test_going_back_to_an_earlier_version_needs_no_run() -> None:
    other = dataclasses.replace(ENTRY, digest="2" * 64)
    done = [recorded(CHALLENGE, entry, task, WHERE) for entry in (ENTRY, other) for task in ("A", "B")]

    assert missing_work(CHALLENGE, [ENTRY], done, WHERE, []) == []


def test_a_task_that_is_not_entered_is_not_wanted() -> None:
    narrow = dataclasses.replace(ENTRY, submission=Submission(name="X", algorithm="y", tasks=("B",)))

    assert reasons(missing_work(CHALLENGE, [narrow], [], WHERE, [])) == [("B", "new")]


GAME = make.game()
GAMES = make.challenge(make.task("solo"), GAME)
ALICE, BOB, CAROL = (make.entry(login) for login in ("alice", "bob", "carol"))


def duels_of(items: Iterable[WorkItem | DuelWorkItem]) -> list[DuelWorkItem]:
    return [item for item in items if isinstance(item, DuelWorkItem)]


def wanted(entries: Iterable[Entry], duels: Iterable[Duel], where: MeasurementContext = WHERE) -> list[str]:
    """What is wanted of the game, in a word each."""
    items = duels_of(missing_work(GAMES, entries, [], where, duels))
    return [f"{item.entries[0].login}-{item.entries[1].login}: {item.reason}" for item in items]


def play(entries: Iterable[Entry], duels: list[Duel], outcomes: str = "wl", where: MeasurementContext = WHERE) -> list[Duel]:
    """What is recorded once all that is wanted was played."""
    items = duels_of(missing_work(GAMES, entries, [], where, duels))
    return [
        *duels,
        *(
            make.duel(
                *item.entries, outcomes, key=item.wanted.key(), beacon=item.wanted.beacon,
                runtime_digest=item.wanted.runtime_digest,
            )
            for item in items
        ),
    ]  # fmt: skip


def test_solo_tasks_come_first_then_validations_then_pairs() -> None:
    first = play([ALICE, BOB], [])

    items = missing_work(GAMES, [CAROL, BOB, ALICE], [], WHERE, first)

    assert [type(item).__name__ for item in items[:4]] == ["WorkItem"] * 3 + ["DuelWorkItem"]
    assert wanted([CAROL, BOB, ALICE], first) == ["carol-carol: new", "alice-bob: new"]
    assert [item.is_validation for item in duels_of(items)] == [True, False]


def test_a_game_comes_to_rest() -> None:
    duels = play([ALICE, BOB], play([ALICE, BOB], []))

    assert len(duels) == 3
    assert wanted([ALICE, BOB], duels) == []


def test_a_refused_player_meets_nobody() -> None:
    duels = [*play([ALICE], [], "wi"), *play([BOB, CAROL], [])]

    assert wanted([ALICE, BOB, CAROL], duels) == ["bob-carol: new"]


def test_a_wanted_duel_names_both_versions_in_the_order_of_the_sides() -> None:
    (item,) = duels_of(missing_work(GAMES, [BOB, ALICE], [], WHERE, play([ALICE, BOB], [])))

    assert item.entries == (ALICE, BOB)
    assert item.wanted.submission_digests == (ALICE.digest, BOB.digest)
    assert (item.wanted.task_digest, item.wanted.season, item.task_id) == (GAME.digest(), "1", "game")


def test_each_change_of_a_duel_is_named() -> None:
    duels = play([ALICE, BOB], play([ALICE, BOB], []))
    newer = make.entry("bob", version="2")
    evaluator = dataclasses.replace(WHERE, runtime_digest="3" * 64)

    assert wanted([ALICE, newer], duels) == ["bob-bob: the agent changed"]
    assert wanted([ALICE, newer], play([ALICE, newer], duels)) == ["alice-bob: the agent changed"]
    changed = ["alice-alice", "bob-bob", "alice-bob"]
    assert wanted([ALICE, BOB], duels, evaluator) == [f"{pair}: the evaluator changed" for pair in changed]
    assert wanted([ALICE, BOB], play([ALICE, BOB], duels, where=evaluator), evaluator) == []


def test_the_seeds_of_a_duel_come_from_the_later_beacon() -> None:
    of = {"alice": "aaa", "bob": "bbb", "carol": "aaa"}
    beacons = {((login, "agent"), "game"): (beacon,) for login, beacon in of.items()}
    where = dataclasses.replace(WHERE, beacons=beacons, order={"aaa": 2, "bbb": 1})
    duels = play([ALICE, BOB, CAROL], [], where=where)

    validations = duels_of(missing_work(GAMES, [ALICE, BOB], [], where, []))
    pairs = duels_of(missing_work(GAMES, [ALICE, BOB, CAROL], [], where, duels))

    assert [item.wanted.beacon for item in validations] == ["aaa", "bbb"]
    assert [item.wanted.beacon for item in pairs] == ["aaa", "aaa", "aaa"]
    other = dataclasses.replace(where, order={"aaa": 1, "bbb": 2})
    assert [item.wanted.beacon for item in duels_of(missing_work(GAMES, [ALICE, BOB, CAROL], [], other, duels))] == [
        "bbb",
        "aaa",
        "bbb",
    ]


def test_a_player_that_came_back_is_validated_for_each_stay_and_meets_others_in_the_present_one() -> None:
    beacons = {(("alice", "agent"), "game"): ("aaa", "ccc"), (("bob", "agent"), "game"): ("bbb",)}
    where = dataclasses.replace(WHERE, beacons=beacons, order={"aaa": 1, "bbb": 2, "ccc": 3})
    duels = play([ALICE, BOB], [], where=where)
    items = duels_of(missing_work(GAMES, [ALICE, BOB], [], where, []))

    assert [item.wanted.beacon for item in items] == ["aaa", "ccc", "bbb"]
    assert [item.wanted.beacon for item in duels_of(missing_work(GAMES, [ALICE, BOB], [], where, duels))] == ["ccc"]


def test_the_final_draw_of_a_game_is_a_validation_and_a_duel_for_everybody() -> None:
    duels = play([ALICE, BOB], play([ALICE, BOB], []))
    final = dataclasses.replace(WHERE, beacon="final")

    assert wanted([ALICE, BOB], duels, WHERE) == []
    assert wanted([ALICE, BOB], duels, final) == [
        f"{pair}: another draw" for pair in ("alice-alice", "bob-bob", "alice-bob")
    ]


def test_where_two_beacons_have_no_order_nothing_is_guessed() -> None:
    where = MeasurementContext(runtime_digest="0" * 64, beacon="aaa", beacons={(("bob", "agent"), "game"): ("bbb",)})

    with pytest.raises(KeyError):
        where.later(ALICE, BOB, "game")


def test_a_duel_that_failed_on_our_side_is_tried_again_a_few_times() -> None:
    duels = play([ALICE, BOB], [])
    (item,) = duels_of(missing_work(GAMES, [ALICE, BOB], [], WHERE, duels))
    failed = make.duel(*item.entries, "", key=item.wanted.key())

    assert wanted([ALICE, BOB], [*duels, *[failed] * (INTERNAL_ERROR_LIMIT - 1)]) == ["alice-bob: new"]
    assert wanted([ALICE, BOB], [*duels, *[failed] * INTERNAL_ERROR_LIMIT]) == []
    assert given_up([failed] * INTERNAL_ERROR_LIMIT, AS_RECORDED) == [failed] * INTERNAL_ERROR_LIMIT


def test_two_examples_of_one_version_each_have_duels_of_their_own() -> None:
    one = make.entry("local")
    twin = dataclasses.replace(one, agent="twin")

    assert wanted([one, twin], play([one], [])) == ["local-local: new"]
    assert wanted([one, twin], play([one, twin], [])) == ["local-local: new"]


def test_a_renamed_folder_is_not_evaluated_again() -> None:
    renamed = dataclasses.replace(ENTRY, agent="renamed")
    done = [recorded(CHALLENGE, ENTRY, task, WHERE) for task in ("A", "B")]
    ours = [recorded(CHALLENGE, ENTRY, task, WHERE, Verdict.INTERNAL_ERROR) for task in ("A", "B")] * INTERNAL_ERROR_LIMIT

    assert missing_work(CHALLENGE, [renamed], done, WHERE, []) == []
    assert missing_work(CHALLENGE, [dataclasses.replace(renamed, login="ALICE")], done, WHERE, []) == []
    assert missing_work(CHALLENGE, [renamed], ours, WHERE, []) == []
    assert reasons(missing_work(CHALLENGE, [dataclasses.replace(renamed, login="bob")], done, WHERE, [])) == [
        ("A", "new"),
        ("B", "new"),
    ]


def test_a_renamed_player_meets_nobody_again() -> None:
    duels = play([ALICE, BOB], play([ALICE, BOB], []))

    assert wanted([dataclasses.replace(ALICE, agent="zz"), BOB], duels) == []


def test_a_duel_is_expected_to_take_what_both_players_think() -> None:
    def thought(first: Entry, second: Entry, seconds: tuple[float, float]) -> Duel:
        duel = make.duel(first, second)
        players = zip(duel.players, seconds, strict=True)
        slow = [
            player.model_copy(update={"cost": player.cost.model_copy(update={"wall_seconds": s})}) for player, s in players
        ]
        return duel.model_copy(update={"players": tuple(slow)})

    recorded_ = [thought(ALICE, ALICE, (30, 10)), thought(ALICE, BOB, (40, 2)), make.duel(ALICE, BOB, "")]
    validated = [make.duel(entry) for entry in (ALICE, BOB, CAROL)]
    items = duels_of(missing_work(GAMES, [ALICE, BOB, CAROL], [], WHERE, validated))[-3:]

    assert [f"{a.login}-{b.login}" for a, b in (item.entries for item in items)] == ["alice-bob", "alice-carol", "bob-carol"]
    assert expected_seconds(items, [], recorded_) == [DUEL_SECONDS + s for s in (42, 40 + 20, 2 + 20)]
    assert expected_seconds(items, []) == [DUEL_SECONDS + UNKNOWN_SECONDS] * 3


@pytest.mark.parametrize(
    ("tries", "side"),
    [
        ([("internal_error", "ok")] * 2, 0),
        ([("ok", "internal_error")] * 2, 1),
        ([("internal_error", "ok")], None),
        ([("internal_error", "ok"), ("ok", "ok")], None),
        ([("internal_error", "ok"), ("ok", "internal_error")], None),
    ],
)
def test_whose_registry_failed_in_all_tries_but_the_last_answers_for_that(
    tries: list[tuple[str, str]], side: int | None
) -> None:
    duels = play([ALICE, BOB], [])
    (item,) = duels_of(missing_work(GAMES, [ALICE, BOB], [], WHERE, duels))
    failed = [make.duel(*item.entries, "", key=item.wanted.key(), verdicts=verdicts) for verdicts in tries]

    (again,) = duels_of(missing_work(GAMES, [ALICE, BOB], [], WHERE, [*duels, *failed]))

    assert again.liable_side == side
