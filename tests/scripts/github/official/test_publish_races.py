"""Twelve publishers at once lose nothing, and neither does one that is killed at any of its steps."""

import hashlib
import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.host.seeds.derived_seeds import episode_seeds
from evaluator.host.solo.verify_result import check_fields
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.parse import parse_duel, parse_record, parse_result
from evaluator.model.records.result import Result
from leaderboard.core.store import RECORD_ENDING, TRACE_ENDING, ResultStore
from scripts.console import CommandError
from scripts.git.data_branches import PushRetries
from scripts.github.official import record_results
from scripts.github.official.round_work import OfficialRun, open_official
from scripts.maintenance import record_season
from scripts.repository.layout import RESULTS_BRANCH
from scripts.repository.season_file import RevealedSecret, SeasonClosing, parse_seasons
from tests.leaderboard.make import duel, entry, game, result, task
from tests.scripts.github.remotes import Clone, git, make_board, origin_branch
from tests.scripts.github.rounds import answers

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PUBLISHERS = 12
ALICE_IN_QUARANTINE = b"""quarantines:
  - since: "2025-01-01T00:00:00Z"
    until: "2026-01-02T00:00:00Z"
    commit: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    login: Alice
    who: carol
    why: the image was bad
"""
TOKEN = "ghp_" + 36 * "A"
# Refuses what looks like a token, in GitHub's words.
SCANNER = """#!/bin/sh
while read -r old new ref; do
    places=$(git grep -nE 'ghp_[A-Za-z0-9]{36}|shpat_[0-9a-f]{32}' "$new" | head -5 | cut -d: -f2,3)
    test -z "$places" && continue
    echo "error: GH013: Repository rule violations found for $ref."
    echo "- GITHUB PUSH PROTECTION"
    echo "    - Push cannot contain secrets"
    for place in $places; do echo "         path: $place"; done
    exit 1
done
"""
KILLER = """#!/bin/sh
# The machine stops at the n-th call of git: before it, or right after it.
n=$(($(cat {count} 2>/dev/null || echo 0) + 1)); echo $n > {count}
[ "$n" = "{before}" ] && kill -9 $PPID && exit 1
{git} "$@"; code=$?
[ "$n" = "{after}" ] && kill -9 $PPID
exit $code
"""


def board_with_push_protection(place: Path) -> Clone:
    """A board whose remote refuses every push in which `SCANNER` sees a token."""
    clone = make_board(place)
    hook = place / "origin.git/hooks/pre-receive"
    hook.write_text(SCANNER)
    hook.chmod(0o755)
    return clone


def run_on(clone: Clone) -> OfficialRun:
    return open_official(clone.repository, ("process", ""), answers())


def accepted(place: Path, *logins: str) -> Path:
    """A folder as `check` leaves it, with a result and a trace for each login."""
    store = ResultStore(results=place / "results", traces=place / "traces")
    for login in logins:
        trace = f"trace of {login} by {place.name}\n".encode()
        measured = result(entry(login), [1.0], trace_sha256=hashlib.sha256(trace).hexdigest(), message=place.name)
        store.write(measured, trace)
    return place


def whole(clone: Clone) -> dict[str, str]:
    """Login to the publisher whose result is recorded, once every result is seen to lie with the very trace it names."""
    results, traces = origin_branch(clone, RESULTS_BRANCH), origin_branch(clone, "traces-1")
    messages = {}
    for name, content in results.items():
        recorded = parse_result(content)
        trace = traces[name.removesuffix(RECORD_ENDING) + TRACE_ENDING]
        assert hashlib.sha256(trace).hexdigest() == recorded.trace_sha256
        messages[recorded.login] = recorded.message
    assert len(traces) == len(results)
    git(clone.path.parent / "origin.git", "fsck", "--strict")
    return messages


def test_twelve_publishers_at_once_lose_nothing(tmp_path: Path) -> None:
    """Each brings a result of its own and one that all of them bring: of that, one result lies with its own trace."""
    clone = make_board(tmp_path / "board")
    folders = [accepted(tmp_path / f"publisher-{n}", f"user{n}", "shared") for n in range(PUBLISHERS)]

    refused: list[int] = []

    def pause(attempt: int) -> None:
        refused.append(attempt)
        time.sleep(random.uniform(0, 1.5))

    with ThreadPoolExecutor(PUBLISHERS) as pool:
        retries = PushRetries(pause=pause)
        done = list(
            pool.map(lambda folder: record_results.record_accepted(run_on(clone), "1", folder, NOW, retries), folders)
        )
    messages = whole(clone)

    assert refused  # they did get in each other's way
    assert set(messages) == {f"user{n}" for n in range(PUBLISHERS)} | {"shared"}
    assert all(messages[f"user{n}"] == f"publisher-{n}" for n in range(PUBLISHERS))
    assert sum(len(each.recorded) for each in done) == PUBLISHERS + 1
    assert len(git(tmp_path / "board/origin.git", "log", "--format=%H", RESULTS_BRANCH).splitlines()) == PUBLISHERS


def test_a_replay_takes_the_place_of_what_is_in_quarantine_and_of_nothing_else(tmp_path: Path) -> None:
    """With its own trace; the hidden record stays in the branch's history."""
    clone = make_board(tmp_path / "board")
    names = ("alice", "bob")
    record_results.record_accepted(run_on(clone), "1", accepted(tmp_path / "first", *names), NOW)
    hidden = {path: text for path, text in origin_branch(clone, RESULTS_BRANCH).items() if "/alice/" in path}
    clone.commit({"moderation.yml": ALICE_IN_QUARANTINE})

    done = record_results.record_accepted(run_on(clone), "1", accepted(tmp_path / "second", *names), NOW)

    assert ([record.login for record in done.recorded], done.known) == (["alice"], 1)
    assert whole(clone) == {"alice": "second", "bob": "first"}
    ((path, content),) = hidden.items()
    assert git(clone.path.parent / "origin.git", "show", f"{RESULTS_BRANCH}~1:{path}") == content.decode().strip()

    clone.commit({"moderation.yml": ALICE_IN_QUARANTINE.replace(b"who:", b"replay: false\n    who:")})
    record_results.record_accepted(run_on(clone), "1", accepted(tmp_path / "third", *names), NOW)
    assert whole(clone) == {"alice": "second", "bob": "first"}


@pytest.mark.attack(
    "secret_that_the_remote_refuses", family="bot", outcome="recorded without its words, and all others as they are",
    tries="Prints what GitHub takes for a secret, or plays it, so that GitHub refuses the push of everybody's results.",
)  # fmt: skip
def test_what_the_remote_takes_for_a_secret_keeps_nobodys_results_from_being_recorded(tmp_path: Path) -> None:
    """Of what it sees in a trace the agent's failure is left: else a bad draw could be made to count for nothing."""
    clone = board_with_push_protection(tmp_path / "board")
    folder = accepted(tmp_path / "accepted", "alice", "mallory", "trudy")
    store = ResultStore(results=folder / "results", traces=folder / "traces")
    printed = {"log_tail": TOKEN, "message": f"x {TOKEN}"}
    for number in range(8):  # More than are named at once.
        store.write(result(entry("mallory", agent=f"a{number}"), **printed))
    store.write(result(entry("mallory", agent="scored"), [2.0], message=TOKEN))
    store.write(result(entry("zoe"), log_tail="fine"))
    store.write(result(entry("bob"), log_tail="fine"))
    store.write(duel(entry("bob"), entry("mallory"), verdicts=("ok", "crashed"), message="", on=game("nim")))
    seen = parse_duel((path := next(iter(store.duel_files()))).read_bytes()).document()
    seen["players"][1]["log_tail"] = seen["matches"][0]["message"] = TOKEN
    path.write_bytes(Duel.with_self_hash(seen).serialised())
    trace = TOKEN.encode()
    store.write(result(entry("trudy", agent="b"), [9.0], trace_sha256=hashlib.sha256(trace).hexdigest()), trace)

    done = record_results.record_accepted(run_on(clone), "1", folder, NOW)

    assert len(done.recorded) == 16
    records = [parse_record(content) for content in origin_branch(clone, RESULTS_BRANCH).values()]
    assert len(records) == 16
    assert all(record.self_hash() == record.self_sha256 for record in records)
    results = {(each.login, each.agent): each for each in records if isinstance(each, Result)}
    assert results["zoe", "agent"].log_tail == results["bob", "agent"].log_tail == "fine"
    assert results["alice", "agent"].message == "accepted"
    assert (results["mallory", "scored"].returns, results["mallory", "a7"].verdict) == ((2.0,), "crashed")
    assert results["mallory", "a7"].log_tail == results["mallory", "a7"].message == record_results.LEFT_OUT
    assert (results["trudy", "b"].verdict, results["trudy", "b"].returns) == ("invalid", ())
    assert results["trudy", "agent"].returns == (1.0,)


@pytest.mark.attack(
    "secret_as_a_name", family="bot", outcome="not recorded, and all others as they are",
    tries="Names its agent as GitHub writes a secret, so that it refuses the push of everybody's results.",
)  # fmt: skip
def test_an_agent_that_is_named_like_a_secret_keeps_nobodys_results_from_being_recorded(tmp_path: Path) -> None:
    """Nothing of it can be recorded: each of its records and duels has the name, and its path, too."""
    clone = board_with_push_protection(tmp_path / "board")
    folder = accepted(tmp_path / "accepted", "alice")
    store = ResultStore(results=folder / "results", traces=folder / "traces")
    named = entry("mallory", agent="shpat_" + 32 * "0")
    for number in range(8):  # More than are named at once.
        store.write(duel(named, entry(f"rival{number}"), on=game("nim")))
    store.write(result(named))
    store.write(result(named, on=task("a"), verdict="internal_error", unfetched=True))
    store.write(result(named, [1.0], on=task("b")))
    store.write(result(entry("mallory"), [2.0]))
    store.write(result(entry("rival1"), [3.0], log_tail="fine"))

    done = record_results.record_accepted(run_on(clone), "1", folder, NOW, PushRetries(tries=1))

    records = [parse_record(content) for content in origin_branch(clone, RESULTS_BRANCH).values()]
    assert {(each.login, each.returns) for each in records if isinstance(each, Result)} == {
        ("alice", (1.0,)), ("mallory", (2.0,)), ("rival1", (3.0,)),
    }  # fmt: skip
    assert len(records) == len(done.recorded) == 3


def test_what_is_left_of_a_refused_script_is_not_refuted(tmp_path: Path) -> None:
    """Its seeds were those from its first counted episode on; of a failure they are the first ones, as of any other."""
    clone = board_with_push_protection(tmp_path / "board")
    folder, trace, mallory = accepted(tmp_path / "accepted", "alice"), TOKEN.encode(), entry("mallory")
    seeds = episode_seeds("1", "test", mallory.digest, task().id, 2, first=3)
    script = {"returns": [0.0] * 5, "lengths": [1] * 5, "counts_from": 3}
    scored = result(mallory, [0.0] * 2, seeds=seeds, script=script, trace_sha256=hashlib.sha256(trace).hexdigest())
    assert "the seeds are not those that the beacon gives" not in check_fields(scored)
    ResultStore(results=folder / "results", traces=folder / "traces").write(scored, trace)

    record_results.record_accepted(run_on(clone), "1", folder, NOW)

    records = [parse_result(content) for content in origin_branch(clone, RESULTS_BRANCH).values()]
    (refused,) = (record for record in records if record.login == "mallory")
    assert (refused.verdict, len(refused.seeds)) == ("invalid", 2)
    assert "the seeds are not those that the beacon gives" not in check_fields(refused)


def killed_publish(clone: Clone, folder: Path, tmp_path: Path, **when: int) -> int:
    """Publish in a process of its own with a git that kills it; the exit code, negative for a signal."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    count = tmp_path / "count"
    count.unlink(missing_ok=True)
    script = tools / "git"
    script.write_text(KILLER.format(count=count, git=shutil.which("git"), **{"before": 0, "after": 0, **when}))
    script.chmod(0o755)

    def work() -> None:
        os.environ["PATH"] = f"{tools}:{os.environ['PATH']}"
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        record_results.record_accepted(run_on(clone), "1", folder, NOW, PushRetries(pause=lambda attempt: None))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(600)
    assert process.exitcode is not None
    return process.exitcode


def test_a_kill_at_any_step_loses_nothing_and_the_next_run_completes(tmp_path: Path) -> None:
    first = accepted(tmp_path / "first", "alice")
    folder = accepted(tmp_path / "second", "alice", "bob", "carol")
    original = make_board(tmp_path / "original")
    record_results.record_accepted(run_on(original), "1", first, NOW)
    calls, killed, seen = 1, 0, set()
    while True:
        codes = []
        for when in ("before", "after"):
            shutil.rmtree(tmp_path / "board", ignore_errors=True)
            shutil.copytree(tmp_path / "original", tmp_path / "board")
            clone = Clone(tmp_path / "board" / "clone")
            git(clone.path, "remote", "set-url", "origin", str(tmp_path / "board" / "origin.git"))
            codes.append(killed_publish(clone, folder, tmp_path, **{when: calls}))
            after_kill = whole(clone)
            seen.add(len(after_kill))
            assert after_kill["alice"] == "first"
            record_results.record_accepted(run_on(clone), "1", folder, NOW)
            assert whole(clone) == {"alice": "first", "bob": "second", "carol": "second"}
        if codes == [0, 0]:
            break
        assert codes == [-signal.SIGKILL] * 2
        killed += 2
        calls += 1

    assert killed >= 16
    assert seen == {1, 3}


def test_a_kill_at_first_use_leaves_both_branches_or_none(tmp_path: Path) -> None:
    folder = accepted(tmp_path / "first", "alice")
    for call in (4, 5, 6, 7):
        clone = make_board(tmp_path / f"board-{call}")
        killed_publish(clone, folder, tmp_path, after=call)
        branches = git(clone.path.parent / "origin.git", "for-each-ref", "--format=%(refname:short)").split()
        assert branches in (["main"], ["main", "results", "traces-1"])
        record_results.record_accepted(run_on(clone), "1", folder, NOW)
        assert whole(clone) == {"alice": "first"}


def test_who_is_never_first_stops_and_says_so(tmp_path: Path) -> None:
    clone = make_board(tmp_path / "board")
    folder = accepted(tmp_path / "mine", "alice")
    waits: list[int] = []
    lock = tmp_path / "board/origin.git/refs/heads/results.lock"
    lock.write_text("")
    with pytest.raises(CommandError, match="nothing is lost"):
        record_results.record_accepted(run_on(clone), "1", folder, NOW, PushRetries(tries=5, pause=waits.append))
    lock.unlink()

    assert waits == [1, 2, 3, 4, 5]
    assert len(record_results.record_accepted(run_on(clone), "1", folder, NOW).recorded) == 1


def test_a_season_that_two_hosts_change_at_once_keeps_both_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a close in the moment of a reveal takes the reveal back, and all play on with a secret that is known."""
    clone = make_board(tmp_path / "board")
    revealed = RevealedSecret(secret="a" * 64, at="2026-01-01T00:00:00Z")
    closed = SeasonClosing(
        at="2026-01-01T00:00:00Z", by="carol", results=0, steps=0, files_sha256="b" * 64, archive_sha256="c" * 64
    )
    read = record_season.read_recorded

    def record(**changed: object) -> None:
        record_season.record_on_branch(
            clone.repository, "1", lambda entry: entry.model_copy(update=changed), "change season 1", NOW
        )

    def read_before_another(*given: object) -> object:
        answer = read(*given)
        monkeypatch.undo()
        record(revealed=revealed)
        return answer

    monkeypatch.setattr(record_season, "read_recorded", read_before_another)
    record(closed=closed)

    entry = parse_seasons(origin_branch(clone, RESULTS_BRANCH)["season.json"]).of("1")
    assert (entry.revealed, entry.closed) == (revealed, closed)


# In parts


def pushes(clone: Clone) -> list[dict[str, bool]]:
    """Of each push to the origin, oldest first: whether it moved each of the two branches."""
    log = clone.path.parent / "pushes"
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [{"results": f"refs/heads/{RESULTS_BRANCH}" in line, "traces": "refs/heads/traces-1" in line} for line in lines]


def watched(clone: Clone) -> Clone:
    """The origin writes down each push as one line of the branches that it moves."""
    hook = clone.path.parent / "origin.git/hooks/pre-receive"
    hook.write_text(
        f"#!/bin/sh\ncut -d' ' -f3 | tr '\\n' ' ' >> {clone.path.parent}/pushes; echo >> {clone.path.parent}/pushes\n"
    )
    hook.chmod(0o755)
    return clone


LOGINS = tuple(f"user{number}" for number in range(7))


@pytest.mark.parametrize(("files", "size", "expected"), [(2, 10**9, 4), (100, 1, 7), (100, 10**9, 1)])
def test_a_large_round_is_pushed_in_parts_of_results_with_their_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, size: int, expected: int
) -> None:
    monkeypatch.setattr(record_results, "PART_FILES", files)
    monkeypatch.setattr(record_results, "PART_BYTES", size)
    monkeypatch.setattr(record_results, "BACKGROUND_FILES", 2)  # so that a second process reads some of them
    clone = watched(make_board(tmp_path / "board"))
    published = record_results.record_accepted(run_on(clone), "1", accepted(tmp_path / "mine", *LOGINS), NOW)

    assert pushes(clone) == [{"results": True, "traces": True}] * expected
    assert (len(published.recorded), published.known) == (7, 0)
    assert whole(clone) == dict.fromkeys(LOGINS, "mine")
    assert len(git(clone.path.parent / "origin.git", "rev-list", RESULTS_BRANCH).split()) == expected


def test_a_kill_between_parts_keeps_what_was_pushed_and_the_next_run_records_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_results, "PART_FILES", 2)
    folder = accepted(tmp_path / "mine", *LOGINS[:4])
    counts = set()
    for call in range(2, 60):
        shutil.rmtree(tmp_path / "board", ignore_errors=True)
        clone = watched(make_board(tmp_path / "board"))
        code = killed_publish(clone, folder, tmp_path, after=call)
        if code == 0:
            break
        there = git(clone.path.parent / "origin.git", "for-each-ref", "--format=%(refname:short)").split()
        counts.add(len(whole(clone)) if RESULTS_BRANCH in there else 0)
        before = len(pushes(clone))
        again = record_results.record_accepted(run_on(clone), "1", folder, NOW)
        assert whole(clone) == dict.fromkeys(LOGINS[:4], "mine")
        assert len(again.recorded) + again.known == 4
        assert len(pushes(clone)) == 2
        assert before <= 2
        assert len(git(clone.path.parent / "origin.git", "rev-list", RESULTS_BRANCH).split()) == 2

    assert code == 0
    assert counts == {0, 2, 4}


def test_a_part_that_the_remote_refuses_leaves_the_parts_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_results, "PART_FILES", 3)
    clone = make_board(tmp_path / "board")
    hook = clone.path.parent / "origin.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\n[ -e once ] && echo 'error: too large' >&2 && exit 1\ntouch once\n")
    hook.chmod(0o755)
    folder = accepted(tmp_path / "mine", *LOGINS)
    with pytest.raises(CommandError, match="too large"):
        record_results.record_accepted(run_on(clone), "1", folder, NOW)
    assert len(whole(clone)) == 3

    hook.unlink()
    again = record_results.record_accepted(run_on(clone), "1", folder, NOW)
    assert (len(again.recorded), again.known) == (4, 3)
    assert whole(clone) == dict.fromkeys(LOGINS, "mine")
