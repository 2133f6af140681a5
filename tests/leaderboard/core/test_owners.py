"""Versions and tries: what the people behind an agent could choose from."""

import time

import pytest

from evaluator.model.records.stored_record import PREVIEW_BEACON
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import OwnerTries, OwnerTry, owner_groups, superseded_entries
from tests.leaderboard import make

ALICE, BOB = make.entry("alice"), make.entry("bob")
A, B = AgentName("alice", "agent"), AgentName("alice", "other")


def drawn(name: AgentName, digest: str, beacon: str) -> OwnerTry:
    return OwnerTry(name, name.login, digest, beacon)


def counted(*draws: OwnerTry, entries: tuple[Entry, ...] = (ALICE, BOB)) -> OwnerTries:
    return OwnerTries(owner_groups(entries, []), draws)


def test_a_try_is_a_version_with_a_draw_in_any_folder() -> None:
    """Going back to the best, alternating, and parallel folders all count."""
    tries = counted(drawn(A, "1", "a"), drawn(A, "2", "b"), drawn(A, "1", "c"), drawn(A, "1", "c"), drawn(B, "3", "c"))

    assert (tries.versions(A), tries.tries(A)) == (3, 4)
    assert (tries.tries(B), tries.tries(BOB.name)) == (4, 1)


def test_public_seeds_are_no_draw() -> None:
    tries = counted(drawn(A, "1", PREVIEW_BEACON), drawn(A, "2", PREVIEW_BEACON))

    assert (tries.versions(A), tries.tries(A)) == (2, 1)


def test_an_example_has_one_try() -> None:
    example = make.entry("local")
    draws = [drawn(example.name, "1", "a"), drawn(example.name, "1", "b")]

    assert counted(*draws, entries=(example,)).tries(example.name) == 1


@pytest.mark.attack(
    "tries_left_to_a_puppet_with_the_old_login", family="people", outcome="tries stay with the account",
    tries="Changes the login and registers the old one with a puppet, which takes over the tries.",
)  # fmt: skip
def test_tries_follow_the_account_and_not_the_login() -> None:
    """Whoever registered a login that was given up took over its tries, and its former owner had one."""
    renamed, newcomer = make.entry("anna"), make.entry("ann", version="a stranger's")
    before = [make.result(make.entry("ann", version=name), [1.0], login_id=7, at="2026-01-01T12:00:00Z") for name in "ab"]
    pairs = ((renamed, 7), (newcomer, 8))
    now = [make.result(entry, [1.0], login_id=number, at="2026-02-01T12:00:00Z") for entry, number in pairs]
    groups = owner_groups([renamed, newcomer], [*before, *now])
    draws = [
        OwnerTry(AgentName(one.login, one.agent), groups.persons.person_of_side(one), one.submission_digest, one.beacon)
        for one in (*before, *now)
    ]
    tries = OwnerTries(groups, draws)

    assert (tries.tries(renamed.name), tries.tries(newcomer.name)) == (3, 1)


def test_the_tries_of_a_large_team_are_counted_once() -> None:
    """Counted for each member anew, 600 accounts that name each other kept the site for a minute, by the square."""
    logins = [f"u{number}" for number in range(3000)]
    # Each names the one before and the one after, which is enough for a team.
    entries = [
        make.entry(login, authors=tuple(f"@{near}" for near in logins[max(i - 1, 0) : i + 2] if near != login))
        for i, login in enumerate(logins)
    ]
    begun = time.process_time()
    tries = OwnerTries(owner_groups(entries, []), [drawn(entry.name, entry.login, "a") for entry in entries])

    assert {tries.tries(entry.name) for entry in entries} == {3000}
    assert time.process_time() - begun < 30


def test_who_has_two_logins_is_one_owner_with_the_teams_of_both() -> None:
    """Found in any order: the one in the middle joins two teams that were apart."""
    cyd = {"ann": 1, "bob": 2, "cyd": 3, "cyd2": 3, "dora": 4}
    authors = {"ann": ("@cyd",), "cyd": ("@ann",), "cyd2": ("@bob",), "bob": ("@cyd2",)}
    entries = [make.entry(login, authors=authors.get(login, ())) for login in cyd]
    groups = owner_groups(entries, [make.result(entry, [1.0], login_id=cyd[entry.login]) for entry in entries])

    held = superseded_entries(groups, entries, lambda entry: (-ord(entry.login[0]),))

    assert held == {entry.name: "cyd/agent" for entry in entries if entry.login in ("ann", "bob", "cyd2")}
