"""Three hundred merges at once, run by act: all are recorded, none twice, and everybody is told within GitHub's limits."""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.act.board import BALANCES, entry
from tests.act.crowd import CHALLENGE, TASK, merge_many
from tests.act.forge import ActForge
from tests.act.seen import RESULTS, TRACES, labels, only_comment, places, recorded, results, run_of
from tests.github.queries import COMMITS
from tests.github.world import HOUR

pytestmark = [pytest.mark.docker, pytest.mark.act]
PEOPLE = 300
# Of the hour's thousand requests for all jobs; what the entrants are told is spread over hours.
HOURS = 3
MERGED: dict[str, str] = {}


@pytest.fixture(scope="module")
def forge(weekly: None, open_forge: Callable[..., ActForge]) -> Iterator[ActForge]:
    made = open_forge("crowd", CHALLENGE, private=True)
    made.world.person("first", 11)
    return made


def an_hour_later(forge: ActForge) -> None:
    """GitHub counts anew."""
    forge.world.left |= dict.fromkeys(forge.world.left, HOUR)


def test_1_one_agent_shows_how_long_one_takes(forge: ActForge) -> None:
    forge.on_hold = True
    number = forge.open("first", entry("first", "balance", BALANCES, (TASK,)))
    forge.on_hold = False
    forge.merge(number)

    run_of(forge, "official")
    assert recorded(forge) == [(TASK, "first/balance")]


def test_2_three_hundred_merges_of_one_push_are_recorded_once_each(forge: ActForge) -> None:
    an_hour_later(forge)
    before, calls = len(forge.runs), len(forge.stand_in.calls)
    MERGED.update(merge_many(forge, PEOPLE))

    rounds = [run for name, run in forge.runs[before:] if name == "official" and "success" in _results_of(run, "evaluate")]
    assert len(rounds) == 1
    run_of(forge, "official")
    assert recorded(forge) == sorted([(TASK, "first/balance"), *((TASK, name) for name in MERGED)])
    assert len(forge.remote.paths(TRACES)) == len(forge.remote.paths(RESULTS)) == PEOPLE + 1
    measured = results(forge)
    for name, sha in MERGED.items():
        one = measured[f"{TASK} {name}"]
        assert (one["beacon"], one["beacon_verified"], one["verdict"]) == (sha, True, "ok")
        assert one["login_id"] == forge.world.people[one["login"]].id
    made = forge.stand_in.calls[calls:]
    # A hundred commits in one request: three in each job that has to know, and none asked about alone.
    asked = [call for call in made if call.path == "/graphql" and "associatedPullRequests" in call.body["query"]]
    assert 3 <= len(asked) <= 12
    assert [call.path for call in made if "/commits/" in call.path] == []
    assert PEOPLE > COMMITS


def test_3_the_site_shows_them_all(forge: ActForge) -> None:
    listed = json.loads(forge.page(f"api/tasks/{TASK}/leaderboard.json"))["rows"]
    names = [f"{one['login']}/{one['agent']}" for one in listed]
    assert sorted(names) == sorted(["first/balance", *MERGED])
    # The page has the first hundred rows; the table's own script has the others from the document beside it.
    shown = places(forge, TASK)
    assert shown == names[: len(shown)]
    assert len(shown) == 100
    assert all((forge.actions.deployed[-1] / "agents" / name / "index.html").is_file() for name in names)


def test_4_everybody_is_told_in_a_few_hours_and_others_have_requests_left(forge: ActForge) -> None:
    numbers = [pull.number for pull in forge.world.pulls.values() if pull.author.startswith("person")]
    left, hours = [forge.world.left["core"]], 1
    while not all("official" in labels(forge, number) for number in numbers):
        assert hours < HOURS, f"{sum('official' in labels(forge, number) for number in numbers)} of {PEOPLE} were told"
        an_hour_later(forge)
        forge.tick()
        hours += 1
        left.append(forge.world.left["core"])

    assert min(left) > HOUR / 5
    for number in numbers:
        comment = only_comment(forge, number)
        assert f"of {PEOPLE + 1} |" in comment
        assert forge.world.pulls[number].merge_commit_sha[:7] in comment  # type: ignore[index]


def test_5_an_hour_later_nothing_is_done_twice(forge: ActForge) -> None:
    tips = [forge.remote.tip(ref) for ref in (RESULTS, TRACES)]
    written = [call for call in forge.stand_in.writes() if "graphql" not in call]
    an_hour_later(forge)
    forge.tick()

    assert [forge.remote.tip(ref) for ref in (RESULTS, TRACES)] == tips
    assert [call for call in forge.stand_in.writes() if "graphql" not in call] == written


def _results_of(run: object, job: str) -> set[str]:
    return {one.result for one in getattr(run, "shards", {}).get(job, [])}
