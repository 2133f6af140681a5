"""GitHub is asked about many commits at once, about none of them twice, and never for longer than it has time for."""

import functools
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.model.records.parse import parse_record, parse_result
from scripts.git.data_branches import read_recorded, results_commit
from scripts.github.api.client import COMMITS_LEAVE_POINTS, GitHub
from scripts.github.official import check_shards, github_commits, plan_shards, record_results
from scripts.github.official.evaluate_shard import ShardAssignment
from scripts.github.official.github_commits import GitHubCommit
from scripts.github.official.round_work import OfficialRun, RoundWork, read_round_work
from scripts.github.official.shard_artifacts import item_path
from scripts.repository.layout import RESULTS_BRANCH
from tests.github import queries
from tests.github.server import GitHubStandIn
from tests.github.world import NAME, OWNER, PullRequest
from tests.leaderboard.make import entry, result
from tests.scripts.github.games import FIRST, LAST, entered, game_board
from tests.scripts.github.remotes import AGENT, Clone, agent_files, git, make_board, origin_branch
from tests.scripts.github.rounds import ALONE, Round, open_run, plan_round, play_two_agents

NEW = 600
LOGIN = "user{:03}"
Asking = Callable[[list[str]], dict[str, GitHubCommit]]


@pytest.fixture
def ask(github: GitHub) -> Asking:
    return functools.partial(github_commits.ask_github, github.query, f"{OWNER}/{NAME}")


def sha(number: int) -> str:
    return f"{number:040x}"


def merge(standin: GitHubStandIn, commit: str, number: int, author: str = "alice") -> PullRequest:
    """A pull request that a commit of main merged."""
    made = PullRequest(number, author, "e" * 40, state="closed", merged=True, merge_commit_sha=commit)
    standin.world.pulls[number] = made
    standin.world.commits.setdefault(commit, []).append(number)
    return made


def queried(standin: GitHubStandIn) -> list[int]:
    """How many commits each request asked about."""
    return [call.body["query"].count("object(") for call in standin.calls if call.path in queries.PATHS]


# One question


def test_who_signed_a_commit_and_who_brought_it(ask: Asking, standin: GitHubStandIn) -> None:
    merge(standin, sha(1), 1)
    merge(standin, sha(2), 2, author="eve")
    standin.world.unverified.add(sha(2))

    assert ask([sha(1), sha(2), sha(3)]) == {
        sha(1): GitHubCommit(is_signed_by_github=True, authors={"alice": 11}),
        sha(2): GitHubCommit(is_signed_by_github=False, authors={"eve": 66}),
        sha(3): GitHubCommit(is_signed_by_github=True),
    }
    assert queried(standin) == [3]


@pytest.mark.attack(
    "ground_commit_with_a_key_of_its_own", family="people", outcome="not verified",
    tries="Tries out hashes of a commit, signs the luckiest with its own key, and has main fast-forwarded to it.",
)  # fmt: skip
def test_a_signature_of_somebody_else_than_github_proves_nothing_of_a_beacon(ask: Asking, standin: GitHubStandIn) -> None:
    merge(standin, sha(1), 1, author="eve")
    standin.world.signed_by_people.add(sha(1))

    assert ask([sha(1)]) == {sha(1): GitHubCommit(is_signed_by_github=False, authors={"eve": 66})}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"merged": False, "state": "open"}, "it only contains the commit"),
        ({"merge_commit_sha": sha(9)}, "another commit merged it"),
        ({"author": "gone"}, "the account is deleted"),
    ],
)
def test_a_pull_request_that_says_nothing_of_the_owner(
    ask: Asking, standin: GitHubStandIn, change: dict[str, object], why: str
) -> None:
    made = merge(standin, sha(1), 1)
    for name, value in change.items():
        setattr(made, name, value)

    assert ask([sha(1)]) == {sha(1): GitHubCommit(is_signed_by_github=True)}, why


@pytest.mark.attack(
    "two_pull_requests_of_one_commit", family="people", outcome="its owner's",
    tries="Opens another pull request with the commit of somebody else, to own its agent or to hide whose it is.",
)  # fmt: skip
def test_another_pull_request_of_ones_commit_changes_nothing(ask: Asking, standin: GitHubStandIn) -> None:
    for number in range(1, 100):
        merge(standin, sha(1), number, author="eve")
    merge(standin, sha(1), 100)

    facts = ask([sha(1)])[sha(1)]
    assert facts.login_id_of("alice") == 11
    assert facts.login_id_of("bob") is None


def test_two_pull_requests_of_one_account_do_not_hide_it(ask: Asking, standin: GitHubStandIn) -> None:
    """Else whoever opens the same change twice could rename the account, and start a new count of tries."""
    merge(standin, sha(1), 1)
    merge(standin, sha(1), 2)

    assert ask([sha(1)])[sha(1)].login_id_of("Alice") == 11


@pytest.mark.attack(
    "pull_request_of_another_repository", family="people", outcome="not believed",
    tries="Merges the same commit in another repository to own its agent.",
)  # fmt: skip
def test_a_pull_request_of_another_repository_is_not_believed(ask: Asking, standin: GitHubStandIn) -> None:
    theirs = merge(standin, sha(1), 1, author="eve")
    standin.world.commits.clear()
    standin.world.elsewhere[sha(1)] = [theirs]
    assert ask([sha(1)])[sha(1)].login_id_of("alice") is None

    merge(standin, sha(1), 2)
    assert ask([sha(1)])[sha(1)].login_id_of("Alice") == 11


@pytest.mark.attack(
    "pull_request_that_nobody_may_see", family="people", outcome="not believed",
    tries="Merges the same commit in an organisation that refuses the board's token, so that each hour asks about it again.",
)  # fmt: skip
def test_a_pull_request_that_our_token_may_not_see_leaves_no_question_open(ask: Asking, standin: GitHubStandIn) -> None:
    theirs = merge(standin, sha(1), 1, author="eve")
    theirs.forbidden = True
    standin.world.commits.clear()
    standin.world.elsewhere[sha(1)] = [theirs]
    assert ask([sha(1)]) == {sha(1): GitHubCommit(is_signed_by_github=True)}

    merge(standin, sha(1), 2)
    assert ask([sha(1)])[sha(1)].login_id_of("Alice") == 11


def test_a_commit_that_github_has_not_is_not_signed(ask: Asking, standin: GitHubStandIn) -> None:
    standin.world.gone.add(sha(1))

    assert ask([sha(1)]) == {sha(1): GitHubCommit(is_signed_by_github=False)}


def test_graphql_answers_beside_the_api_or_where_the_runner_says(standin: GitHubStandIn) -> None:
    enterprise = GitHub("bot-token", f"{standin.address}/api/v3", f"{OWNER}/{NAME}", pace=0)
    named = GitHub("bot-token", standin.address, f"{OWNER}/{NAME}", graphql_url=f"{standin.address}/api/graphql", pace=0)

    for each in (enterprise, named):
        assert github_commits.ask_github(each.query, f"{OWNER}/{NAME}", [sha(1)])[sha(1)].is_signed_by_github
    assert [call.path for call in standin.calls] == ["/api/graphql", "/api/graphql"]


# Many, and limits


def test_a_hundred_commits_are_one_request(ask: Asking, standin: GitHubStandIn) -> None:
    for number in range(NEW):
        standin.world.person(LOGIN.format(number), 5000 + number)
        merge(standin, sha(number), 10 + number, LOGIN.format(number))
    facts = ask([sha(number) for number in range(NEW)])

    assert [facts[sha(number)].login_id_of(LOGIN.format(number)) for number in range(NEW)] == [
        5000 + number for number in range(NEW)
    ]
    assert queried(standin) == [100] * 6
    assert standin.world.left == {"core": 1000, "graphql": 994}


def test_near_the_limit_no_more_is_asked(
    ask: Asking, standin: GitHubStandIn, slept: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    standin.world.left["graphql"] = COMMITS_LEAVE_POINTS + 1
    facts = ask([sha(number) for number in range(NEW)])

    assert set(facts) == {sha(number) for number in range(200)}
    assert slept == []
    assert f"GitHub was not asked about 400 commits ({COMMITS_LEAVE_POINTS - 1} points are left" in capsys.readouterr().err


def test_a_limit_that_is_used_up_is_no_failure(
    ask: Asking, standin: GitHubStandIn, slept: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    standin.world.left["graphql"] = 0

    assert ask([sha(1)]) == {}
    assert slept == []
    assert "API rate limit already exceeded" in capsys.readouterr().err


@pytest.mark.parametrize("after", ["3600", "86400"])
def test_a_wait_that_is_too_long_is_not_waited(ask: Asking, standin: GitHubStandIn, slept: list[float], after: str) -> None:
    standin.world.go_wrong("POST", "/graphql", status=429, headers={"Retry-After": after}, message="slow down", times=99)

    assert ask([sha(1)]) == {}
    assert slept == []


def test_a_query_that_takes_github_too_long_is_asked_in_smaller_parts(ask: Asking, standin: GitHubStandIn) -> None:
    standin.world.go_wrong("POST", "/graphql", status=502, message="Bad Gateway", times=8)
    facts = ask([sha(number) for number in range(60)])

    assert len(facts) == 60
    assert queried(standin)[8:] == [25, 25, 10]


def test_what_github_cannot_answer_is_missing_and_the_rest_is_not() -> None:
    commit = {"signature": {"isValid": True}, "associatedPullRequests": {"nodes": []}}
    answer = {
        "data": {"rateLimit": {"remaining": 900}, "repository": {"id": "R", "c0": commit, "c1": None}},
        "errors": [{"message": "timeout", "path": ["repository", "c1", "signature"]}],
    }

    assert list(github_commits.ask_github(lambda text, variables: answer, "o/b", [sha(1), sha(2)])) == [sha(1)]


@pytest.mark.parametrize("answer", [{}, {"data": None}, {"data": {"repository": None}}, {"errors": []}])
def test_an_answer_without_anything_in_it_ends_the_asking(answer: dict[str, object]) -> None:
    asked: list[str] = []

    def query(text: str, variables: dict[str, object]) -> dict[str, object]:
        asked.append(text)
        return answer

    assert github_commits.ask_github(query, "o/b", [sha(number) for number in range(300)]) == {}
    assert len(asked) == 1


# A whole round


def many_agents(place: Path) -> Clone:
    """A board on whose main each of 600 commits brings an agent."""
    clone = make_board(place, {"challenge.yml": b'title: Test\nseason: "1"\ntasks:\n  - {id: CartPole-v1, episodes: 1}\n'})
    stream = b""
    for number in range(NEW):
        stream += b"commit refs/heads/main\ncommitter T <t@example.org> 1767225600 +0000\ndata 0\n"
        stream += b"from refs/heads/main^0\n" if number == 0 else b""
        for path, content in agent_files(LOGIN.format(number), source=AGENT + b"# %d\n" % number).items():
            assert content is not None
            stream += f"M 100644 inline {path}\ndata {len(content)}\n".encode() + content + b"\n"
    git(clone.path, "fast-import", "--quiet", "--force", given=stream)
    git(clone.path, "read-tree", "HEAD")
    clone.push()
    return clone


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    return many_agents(tmp_path_factory.mktemp("crowd") / "board")


def copied(clone: Clone, place: Path) -> Clone:
    """The same board with an origin of its own."""
    shutil.copytree(clone.path.parent, place)
    copy = Clone(place / "clone")
    git(copy.path, "remote", "set-url", "origin", str(place / "origin.git"))
    return copy


def handed_in(run: OfficialRun, clone: Clone, place: Path) -> tuple[ShardAssignment, RoundWork]:
    """Every shard hands in a file for each of its agents; that none of them is a result costs a try of each."""
    planned = plan_shards.plan_shards(run)
    work = read_round_work(run, planned.sha, planned.results_sha)
    for number in planned.shards:
        given = ShardAssignment(sha=planned.sha, results_sha=planned.results_sha, shards=len(planned.shards), shard=number)
        items = work.shard(number)
        folder = place / f"shard-{number}"
        folder.mkdir(parents=True)
        claim = given.claim(tuple(item.wanted.key() for item in items)).model_dump_json(by_alias=True)
        (folder / "shard.json").write_text(claim)
        for item in items:
            file = folder / "results" / f"{item_path(item)}.json"
            file.parent.mkdir(parents=True)
            file.write_bytes(b"no result")
    return ShardAssignment(sha=planned.sha, results_sha=planned.results_sha, shards=len(planned.shards)), work


@pytest.mark.parametrize(("left", "answered"), [(1000, NEW), (COMMITS_LEAVE_POINTS + 2, 300)])
def test_a_round_of_many_new_agents_is_recorded_whatever_is_left_of_the_limit(
    crowd: Clone, ask: Asking, standin: GitHubStandIn, slept: list[float], tmp_path: Path, left: int, answered: int
) -> None:
    clone = copied(crowd, tmp_path / "board")
    run = replace(open_run(clone), ask=ask)
    assignment, work = handed_in(run, clone, tmp_path / "in")
    for number, item in enumerate(work.items):
        (login,) = {entry.login for entry in getattr(item, "entries", None) or (item.entry,)}  # type: ignore[union-attr]
        standin.world.person(login, 5000 + number)
        merge(standin, item.wanted.beacon, 10 + number, login)
    standin.world.left["graphql"] = left
    checked = check_shards.check_shards(run, assignment, [tmp_path / "in"], tmp_path / "accepted", datetime.now(UTC))
    published = record_results.record_accepted(run, "1", tmp_path / "accepted", datetime.now(UTC), ALONE)
    recorded = read_recorded(clone.repository, results_commit(clone.repository))[0]
    ids = {person.login: person.id for person in standin.world.people.values()}

    assert len({item.wanted.beacon for item in work.items}) == NEW
    assert (len(checked.accepted), len(published.recorded), len(recorded)) == (NEW, NEW, NEW)
    assert len(standin.calls) <= 7
    assert slept == []
    assert sum(one.beacon_verified is True and one.login_id == ids[one.login] for one in recorded) == answered
    assert sum(one.beacon_verified is None and one.login_id is None for one in recorded) == NEW - answered


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Round:
    """A round of two agents by two commits, played."""
    return play_two_agents(tmp_path_factory.mktemp("late"))


@pytest.fixture
def begun(played: Round, ask: Asking, standin: GitHubStandIn, tmp_path: Path) -> Round:
    shutil.copytree(played.place, tmp_path / "in")
    clone = copied(played.clone, tmp_path / "board")
    for number, commit in enumerate(git(clone.path, "rev-list", "HEAD").split()):
        merge(standin, commit, 10 + number, ("bob", "alice")[number])
    return Round(clone, replace(open_run(clone), ask=ask), played.planned, tmp_path / "in")


def facts_of(clone: Clone) -> dict[str, tuple[bool | None, int | None]]:
    """What the results branch says that GitHub said; every file is whole."""
    records = {name: parse_record(content) for name, content in origin_branch(clone, RESULTS_BRANCH).items()}
    assert all(one.self_hash() == one.self_sha256 and one.path() + ".json" == name for name, one in records.items())
    singles = [parse_result(content) for content in origin_branch(clone, RESULTS_BRANCH).values()]
    return {f"{one.login} {one.task}": (one.beacon_verified, one.login_id) for one in singles}


def following(begun: Round, place: Path) -> Round:
    """The next round, with the same GitHub; nothing is left to play."""
    planned = plan_shards.plan_shards(begun.run)
    return Round(begun.clone, begun.run, planned, place)


def test_what_could_not_be_asked_is_filled_in_by_a_later_round(begun: Round, standin: GitHubStandIn, tmp_path: Path) -> None:
    standin.world.left["graphql"] = 0
    begun.check()
    begun.record()
    before, traces = origin_branch(begun.clone, RESULTS_BRANCH), origin_branch(begun.clone, "traces-1")
    assert set(facts_of(begun.clone).values()) == {(None, None)}

    standin.world.left["graphql"] = 1000
    standin.calls.clear()
    later = following(begun, tmp_path / "later")
    later.check(later.place)
    published = later.record()
    after = origin_branch(begun.clone, RESULTS_BRANCH)

    assert (later.planned.count, later.planned.unasked, later.planned.outputs()["unasked"]) == (0, 4, 4)
    assert (published.amended, published.recorded, published.known) == (4, (), 0)
    assert facts_of(begun.clone) == {
        f"{login} {task}": (True, number)
        for login, number in (("alice", 11), ("bob", 22))
        for task in ("CartPole-v1", "FrozenLake-v1")
    }
    assert queried(standin) == [2]
    filled = ("login_id", "beacon_verified", "self_sha256")
    for name, content in after.items():
        old, new = (parse_result(one).document() for one in (before[name], content))
        assert {k: v for k, v in old.items() if k not in filled} == {k: v for k, v in new.items() if k not in filled}
    assert origin_branch(begun.clone, "traces-1") == traces
    manifest = (later.place / "accepted" / "hash-lists" / "0.sha256").read_text()
    assert sorted(line.split("  results/")[1] for line in manifest.splitlines()) == sorted(after)
    assert following(begun, tmp_path / "last").planned.unasked == 0
    lines = git(begun.clone.path.parent / "origin.git", "log", "--format=%B", RESULTS_BRANCH).splitlines()
    assert sum(line.startswith("fill in: ") for line in lines) == 4


def test_filling_in_twice_or_after_somebody_else_changes_nothing(
    begun: Round, standin: GitHubStandIn, tmp_path: Path
) -> None:
    standin.world.left["graphql"] = 0
    begun.check()
    begun.record()
    standin.world.left["graphql"] = 1000
    later = following(begun, tmp_path / "later")
    later.check(later.place)
    later.record()
    tip = results_commit(begun.clone.repository)
    again = later.record()

    assert (again.recorded, again.amended, again.known) == ((), 0, 0)
    assert results_commit(begun.clone.repository) == tip


def test_a_commit_is_asked_about_once_ever(begun: Round, standin: GitHubStandIn, tmp_path: Path) -> None:
    begun.check()
    begun.record()
    assert queried(standin) == [2]
    text = b'title: Test\nseason: "1"\ntasks:\n  - {id: CartPole-v1, episodes: 3}\n  - {id: FrozenLake-v1, episodes: 2}\n'
    begun.clone.commit({"challenge.yml": text, **agent_files("eve")})
    begun.clone.push()
    git(begun.clone.path, "checkout-index", "-f", "challenge.yml")
    later = following(begun, tmp_path / "later")
    assert later.planned.count == 4
    for shard in later.planned.shards:
        later.evaluate(shard)
    later.check()
    later.record()

    assert queried(standin) == [2, 1]
    assert facts_of(begun.clone)["eve CartPole-v1"] == (True, None)
    assert len(origin_branch(begun.clone, RESULTS_BRANCH)) == 8


def test_duels_are_filled_in_once_both_players_commits_are_known(
    ask: Asking, standin: GitHubStandIn, tmp_path: Path
) -> None:
    board = game_board(tmp_path / "board", entered("alice", FIRST + b"# mine\n"))
    brought = board.commit(entered("bob", LAST + b"# mine\n"))
    board.push()
    merge(standin, brought, 7, "bob")
    begun = plan_round(board, tmp_path / "in")
    begun = replace(begun, run=replace(begun.run, ask=ask))
    for shard in begun.planned.shards:
        begun.evaluate(shard)
    standin.world.left["graphql"] = 0
    begun.check()
    begun.record()
    before = [parse_record(content) for content in origin_branch(board, RESULTS_BRANCH).values()]
    standin.world.left["graphql"] = 1000
    later = following(begun, tmp_path / "later")
    later.check(later.place)
    published = later.record()
    after = [parse_record(content) for content in origin_branch(board, RESULTS_BRANCH).values()]

    assert {one.beacon_verified for one in before} == {None}
    assert {one.beacon_verified for one in after} == {True}
    assert published.amended == len(before) == len(after) > 0
    ids = {(player.login, player.login_id) for one in after for player in one.players}  # type: ignore[union-attr]
    assert ("bob", 22) in ids
    assert {number for login, number in ids if login == "bob"} == {22}


@pytest.mark.attack(
    "two_rivals_in_one_pull_request", family="people", outcome="nobody's",
    tries="Changes the agents of two rivals in one pull request, whose author's number would make them one owner.",
)  # fmt: skip
def test_who_changes_agents_of_others_does_not_make_them_one_owner(begun: Round, standin: GitHubStandIn) -> None:
    for pull in standin.world.pulls.values():
        pull.author = "eve"
    begun.check()
    begun.record()

    assert set(facts_of(begun.clone)) >= {"alice CartPole-v1", "bob CartPole-v1"}
    assert set(facts_of(begun.clone).values()) == {(True, None)}


def test_of_several_peoples_records_of_one_commit_the_one_with_a_number_tells_whose_it_is() -> None:
    fields = {"beacon": sha(1), "beacon_verified": True}
    hers = result(entry("alice"), [1.0], login_id=11, **fields)
    his = result(entry("bob"), [1.0], login_id=None, **fields)

    for records in ([hers, his], [his, hers]):
        fact = github_commits.known_commits(records)[sha(1)]
        assert (fact.login_id_of("Alice"), fact.login_id_of("bob")) == (11, None)
