"""Quotas: counted from what is recorded, in days and months of UTC."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from evaluator.model.config.phase import Phase, Quota
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import PREVIEW_BEACON
from leaderboard.core.version_folders import without_duplicates
from leaderboard.planning.evaluation_quota import QuotaAccounts, apply_quotas
from leaderboard.planning.missing_work import MeasurementContext, missing_work
from leaderboard.planning.refusal_reasons import reason_in_words
from tests.leaderboard.make import challenge, digest, duel, entry, game, result, task

NOW = datetime(2026, 3, 1, 18, 0, tzinfo=UTC)
MORNING, YESTERDAY, LAST_MONTH = "2026-03-01T00:00:00Z", "2026-02-28T23:59:59Z", "2026-02-01T12:00:00Z"
A, B = task("a"), task("b")


def rules(quota=None, **fields):
    return challenge(A, B).model_copy(update={"quota": quota, **fields})


def held(season, entries, results, *, arrived=None, now=NOW, beacons=None, beacon="test"):
    where = MeasurementContext(runtime_digest=digest("runtime"), beacon=beacon, beacons=beacons or {})
    items = missing_work(season, entries, results, where, [])
    accounts = QuotaAccounts(season, entries, results)
    kept, waiting = apply_quotas(season, items, accounts, arrived or {}, now)
    return [(i.entry.shown, i.task_id) for i in kept], [
        (item.entry.shown, item.task_id, reason_in_words(exhausted)) for item, exhausted in waiting
    ]


def old(login, version, at, **fields):
    return result(entry(login, version=version), [1.0], on=A, at=at, **fields)


def test_a_version_over_the_days_limit_waits_for_the_next_day_in_utc() -> None:
    kept, waiting = held(rules(Quota(per_day=1)), [entry("ann", version="2")], [old("ann", "1", MORNING)])

    assert kept == []
    assert waiting[0][2] == "quota: 1 of 1 today; renews 2026-03-02 00:00 UTC"
    assert held(rules(Quota(per_day=1)), [entry("ann", version="2")], [old("ann", "1", YESTERDAY)])[1] == []


def test_a_month_and_a_season_end_differently() -> None:
    months, season = rules(Quota(per_month=1)), rules(Quota(total=1))
    entries = [entry("ann", version="2")]

    assert held(months, entries, [old("ann", "1", MORNING)])[1][0][2].endswith("this month; renews 2026-04-01 00:00 UTC")
    assert held(months, entries, [old("ann", "1", YESTERDAY)])[1] == []
    assert held(season, entries, [old("ann", "1", LAST_MONTH)])[1][0][2] == "quota: 1 of 1 this season; does not renew"


def test_failures_of_ours_cost_nothing() -> None:
    free = result(entry("ann", version="1"), on=A, at=MORNING, verdict="internal_error")

    assert held(rules(Quota(per_day=1)), [entry("ann", version="2")], [free])[1] == []


@pytest.mark.attack(
    "image_that_is_missing_when_unlucky", family="images", outcome="counts for the quota like every other version",
    tries="Removes its image or weights when its seeds are bad ones, to be invalid without having used a version.",
)  # fmt: skip
def test_what_never_ran_counts_too() -> None:
    """Its owner could compute the score from the merge on, and decides whether the image is there."""
    missing = result(entry("ann", version="1"), on=A, at=MORNING, verdict="invalid")

    assert len(held(rules(Quota(per_day=1)), [entry("ann", version="2")], [missing])[1]) == 2


def test_who_ran_and_broke_the_contract_then_pays() -> None:
    """A script that prints no score when it earned too little, or an agent that calls itself invalid, saw its episodes."""
    used = result(entry("ann", version="1"), on=A, at=MORNING, verdict="invalid", image_digest="sha256:" + "1" * 64)

    assert len(held(rules(Quota(per_day=1)), [entry("ann", version="2")], [used])[1]) == 2


def test_a_crash_counts_and_so_does_what_no_longer_stands_on_main() -> None:
    crash = result(entry("ann", agent="gone", version="1"), on=A, at=MORNING)

    assert len(held(rules(Quota(per_day=1)), [entry("ann", version="2")], [crash])[1]) == 2


def test_a_version_counts_once_whatever_it_plays_and_however_often() -> None:
    now = entry("ann", version="1")
    again = [old("ann", "1", LAST_MONTH), result(now, [2.0], on=A, at=MORNING)]

    kept, waiting = held(rules(Quota(per_day=1)), [now], again)

    assert [task_id for _, task_id in kept] == ["a", "b"]  # it is free, on another task too
    assert waiting == []


def test_a_version_that_comes_back_counts_again_and_its_tasks_do_not() -> None:
    ann = entry("ann", version="1")
    beacons = {((ann.login, ann.agent), task_id): ("first", "again") for task_id in ("a", "b")}
    used = result(ann, [1.0], on=A, at=LAST_MONTH, beacon="first")

    kept, waiting = held(rules(Quota(total=1)), [ann], [used], beacons=beacons)

    assert kept == [("ann/agent", "a"), ("ann/agent", "b")]  # on the first beacon, which was counted
    assert [(name, task_id) for name, task_id, _ in waiting] == [("ann/agent", "a"), ("ann/agent", "b")]
    assert held(rules(Quota(total=2)), [ann], [used], beacons=beacons)[1] == []


def test_a_plan_for_previews_charges_nothing_for_what_was_evaluated_officially() -> None:
    """`pullrank plan` said "Not now: 1 of 1 today" of the versions that had used the quota."""
    season, entries = rules(Quota(per_day=1)), [entry("ann", version="1"), entry("bob", version="2")]

    kept, waiting = held(season, entries, [old("ann", "1", MORNING), old("bob", "1", MORNING)], beacon=PREVIEW_BEACON)

    assert {who for who, _ in kept} == {"ann/agent"}
    assert {who for who, *_ in waiting} == {"bob/agent"}


def test_final_draws_wait_for_no_quota() -> None:
    season = rules(Quota(total=1)).model_copy(update={"final": "1"})
    assert season.is_final

    assert held(season, [entry("ann", version="2")], [old("ann", "1", MORNING)])[1] == []


def test_a_limit_that_was_lowered_below_what_was_used_holds() -> None:
    used = [old("ann", str(number), MORNING) for number in range(3)]

    assert held(rules(Quota(per_day=1)), [entry("ann", version="9")], used)[1][0][2].startswith("quota: 3 of 1 today")
    assert held(rules(Quota(per_day=4)), [entry("ann", version="9")], used)[1] == []


def test_whoever_came_first_is_served_first() -> None:
    entries = [entry("ann", agent="late"), entry("ann", agent="soon")]
    arrived = {("ann", "late"): datetime(2026, 3, 1, 12, tzinfo=UTC), ("ann", "soon"): datetime(2026, 3, 1, 11, tzinfo=UTC)}

    kept, waiting = held(rules(Quota(per_day=1)), entries, [], arrived=arrived)

    assert {name for name, _ in kept} == {"ann/soon"}
    assert {name for name, *_ in waiting} == {"ann/late"}


def test_owners_that_name_each_other_share_a_teams_quota_and_nobody_is_dragged_in() -> None:
    season = rules(Quota(per_day=1, of="team"))
    team = [entry("ann", version="2", authors=("@Bob",)), entry("bob", version="2", authors=("@ann",))]

    assert len(held(season, team, [old("bob", "1", MORNING)])[1]) == 4
    alone = [entry("ann", version="2", authors=("@bob",)), entry("bob", version="2")]
    assert {name for name, *_ in held(season, alone, [old("ann", "1", MORNING)])[1]} == {"ann/agent"}


def test_a_phases_quota_is_its_own_and_the_seasons_counts_beside_it() -> None:
    phase = Phase(id="final", name="Final", tasks=("b",), quota=Quota(total=1))
    used = result(entry("ann", version="1"), [1.0], on=B, at=LAST_MONTH)

    kept, waiting = held(rules(phases=(phase,)), [entry("ann", version="2")], [used])

    assert kept == [("ann/agent", "a")]
    assert waiting == [("ann/agent", "b", "quota of phase 'final': 1 of 1 in this phase; does not renew")]


def test_baselines_and_hosts_have_no_quota() -> None:
    season = rules(Quota(per_day=1))
    season = season.model_copy(update={"people": season.people.model_copy(update={"hosts": ("Ann",)})})

    assert held(season, [entry("ann", version="2")], [old("ann", "1", MORNING)])[1] == []
    base = replace(entry("bob", version="2"), baseline=True)
    assert held(season, [base], [old("bob", "1", MORNING)])[1] == []


def test_what_is_left_is_said_with_when_it_renews() -> None:
    accounts = QuotaAccounts(rules(Quota(per_day=2, total=9)), [], [old("ann", "1", MORNING)])

    assert accounts.of("Ann", ["a"])[0].remaining(NOW) == (
        "quota: 1 of 2 versions left today, renews 2026-03-02 00:00 UTC; 8 of 9 versions left this season, does not renew"
    )


def test_a_player_s_version_counts_once_however_many_duels_it_plays() -> None:
    chess = game("a")
    ann, bob, cy = (entry(name) for name in ("ann", "bob", "cy"))
    duels = [duel(ann, on=chess, at=MORNING), *(duel(ann, other, on=chess, at=MORNING) for other in (bob, cy))]

    account = QuotaAccounts(challenge(chess).model_copy(update={"quota": Quota(per_day=2)}), [], duels).of("ann", ["a"])[0]

    assert account.windows(NOW)[0].used == 1


def test_another_login_of_the_same_account_has_no_quota_of_its_own() -> None:
    used = old("ann", "1", MORNING)
    used = Result.with_self_hash({**used.document(), "login_id": 7})
    renamed = result(entry("anna", version="1"), [1.0], on=B, at=LAST_MONTH, login_id=7)
    season = rules(Quota(total=2))

    assert held(season, [entry("anna", version="2")], [used, renamed])[1][0][2].startswith("quota: 2 of 2 this season")
    stranger = Result.with_self_hash({**renamed.document(), "login_id": 8})
    assert held(season, [entry("anna", version="2")], [used, stranger])[1] == []


@pytest.mark.attack(
    "team_quota_after_a_renamed_login", family="people", outcome="counts for the team like before",
    tries="Changes the login of a team's member, so that the team's quota begins anew.",
)  # fmt: skip
def test_a_team_pays_for_what_a_member_used_under_an_earlier_login() -> None:
    """A quota of a team began anew for whoever changed the login."""
    used = [result(entry("ann", version=str(i)), [1.0], on=A, at=LAST_MONTH, login_id=7) for i in range(2)]
    renamed = result(entry("anna", version="now"), [1.0], on=A, at=MORNING, login_id=7)
    team = [entry("anna", authors=("@bob",)), entry("bob", authors=("@anna",))]
    accounts = QuotaAccounts(rules(Quota(total=9, of="team")), team, [*used, renamed, old("bob", "1", MORNING)])

    for login in ("anna", "bob"):
        account = accounts.of(login, ["a"])[0]
        assert (account.windows(NOW)[0].used, account.owners) == (4, {"anna", "bob"})


def test_a_login_that_was_registered_anew_does_not_pay_for_who_had_it() -> None:
    before = result(entry("ann", version="1"), [1.0], on=A, at=LAST_MONTH, login_id=7)
    now = result(entry("ann", version="2"), [1.0], on=A, at=MORNING, login_id=8)

    account = QuotaAccounts(rules(Quota(total=9)), [], [before, now]).of("ann", ["a"])[0]

    assert account.windows(NOW)[0].used == 1


def test_twenty_folders_of_one_version_cost_one_and_are_evaluated_once() -> None:
    folders = [replace(entry("ann", version="1"), agent=f"a{number}") for number in range(20)]
    kept, waiting = held(rules(Quota(total=1)), [without_duplicates(folders)[0][0]], [])

    assert len(without_duplicates(folders)[0]) == 1
    assert ({name for name, _ in kept}, waiting) == ({"ann/a0"}, [])
