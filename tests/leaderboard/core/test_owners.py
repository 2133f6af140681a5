"""Attempts and tries: what the people behind an agent could choose from."""

import time

from evaluator.model.records.result import PREVIEW_BEACON
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.owners import OwnerDraw, OwnerGroups, OwnerTries, PersonIndex, owner_groups, superseded_entries
from tests.leaderboard import make

ALICE, BOB = make.entry("alice"), make.entry("bob")
A, B = AgentName("alice", "agent"), AgentName("alice", "other")


def counted(*draws: OwnerDraw, entries: tuple[Entry, ...] = (ALICE, BOB)) -> OwnerTries:
    return OwnerTries(owner_groups(entries, []), draws)


def test_a_try_is_a_version_with_a_draw_in_any_folder() -> None:
    """Going back to the best, alternating, and parallel folders all count."""
    tries = counted(
        OwnerDraw(A, "1", "a"), OwnerDraw(A, "2", "b"), OwnerDraw(A, "1", "c"), OwnerDraw(A, "1", "c"),
        OwnerDraw(B, "3", "c"),
    )  # fmt: skip

    assert (tries.versions(A), tries.tries(A)) == (3, 4)
    assert (tries.tries(B), tries.tries(BOB.name)) == (4, 1)


def test_public_seeds_are_no_draw() -> None:
    tries = counted(OwnerDraw(A, "1", PREVIEW_BEACON), OwnerDraw(A, "2", PREVIEW_BEACON))

    assert (tries.versions(A), tries.tries(A)) == (2, 1)


def test_an_example_has_one_try() -> None:
    example = make.entry("local")
    draws = [OwnerDraw(example.name, "1", "a"), OwnerDraw(example.name, "1", "b")]

    assert counted(*draws, entries=(example,)).tries(example.name) == 1


def test_the_tries_of_a_large_team_are_counted_once() -> None:
    """Counted for each member anew, 600 accounts that name each other kept the site for a minute, by the square."""
    team = frozenset(f"u{number}" for number in range(3000))
    groups = OwnerGroups(PersonIndex({}), dict.fromkeys(team, team), frozenset())
    names = [AgentName(login, "agent") for login in sorted(team)]
    begun = time.process_time()
    tries = OwnerTries(groups, [OwnerDraw(name, name.login, "a") for name in names])

    assert {tries.tries(name) for name in names} == {3000}
    assert time.process_time() - begun < 5


def test_who_shares_a_person_with_others_is_one_owner_with_all_of_them() -> None:
    """Found in any order: the one in the middle joins two owners that were apart."""
    entries = [make.entry(login) for login in ("ann", "bob", "cyd", "dora")]
    members = {"ann": frozenset(["1", "2"]), "bob": frozenset(["3", "4"]), "cyd": frozenset(["2", "3"])}
    groups = OwnerGroups(PersonIndex({}), members, frozenset())

    held = superseded_entries(groups, entries, lambda entry: (-ord(entry.login[0]),))

    assert held == {entries[0].name: "cyd/agent", entries[1].name: "cyd/agent"}
