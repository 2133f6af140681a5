"""`pullrank rehearse` where something is missing, refused, imitated or lost: one line says what, where, and what to do."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import parse_challenge, parse_moderation
from evaluator.model.config.moderation import Moderation, RehearsalEntry
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.config.submission_limits import SubmissionLimits
from leaderboard.core.owners import participant_faults
from scripts.commands import rehearse
from scripts.console import CommandError
from scripts.github.api.downloads import fetch_page
from scripts.rehearsal.prerequisites import FINISHED
from scripts.rehearsal.rehearsal_observations import printable
from scripts.rehearsal.working_copy import choose_task, open_working_copy, rehearsal_files
from scripts.repository.moderation_file import with_rehearsal_entry
from tests.github.server import GitHubStandIn
from tests.github.world import NAME, OWNER, PullRequest, World
from tests.scripts.checkouts import ROOT
from tests.scripts.rehearsal.rehearsed import CHALLENGE, FORK_OWNER, Played, play
from tests.workflows.rehearsing import Host, KilledError, with_fork
from tests.workflows.remote import git


@pytest.fixture
def stand_in() -> Iterator[GitHubStandIn]:
    made = GitHubStandIn(World())
    made.world.person("eve", 66)
    made.start()
    yield made
    made.stop()
    assert made.violations == []


@pytest.fixture
def played(tmp_path: Path, stand_in: GitHubStandIn) -> Played:
    return play(tmp_path, stand_in)


@pytest.fixture
def host(played: Played) -> Host:
    return played.host()


def refusal(host: Host, **more: Any) -> str:
    """The one line that a call ends with."""
    with pytest.raises(CommandError) as caught:
        host.calls(**more)
    (line,) = str(caught.value).splitlines()
    return line


def goes_on(host: Host, played: Played, **more: Any) -> None:
    """What was missing has come: the same command ends well, and nothing of the agent is left."""
    assert host.calls(**more) == 0
    assert played.rehearsal_branches() == []
    assert not [path for path in played.remote.paths("refs/heads/main") if path.startswith("submissions/host/rehearsal")]
    mark = parse_moderation(played.remote.show(played.remote.tip(), "moderation.yml").encode())
    assert len(mark.rehearsed_digests("host", "rehearsal")) == 1


def test_what_is_played_by_hand_is_a_rehearsal_that_ends_well(host: Host, played: Played) -> None:
    goes_on(host, played)

    assert [pull.merged for pull in played.pulls()] == [True, True]


# Before anything is opened


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"permissions": {"admin": False, "push": True, "pull": True}}, "Access: The token is not an administrator's"),
        ({"archived": True}, "Access: The repository is archived"),
        ({"disabled": True}, "Access: The repository is disabled"),
        ({"default_branch": "master"}, "Default branch: It is master"),
        ({"full_name": "host/other"}, "Repository: challenge.yml names host/board"),
    ],
)
def test_without_the_rights_nothing_is_begun(host: Host, played: Played, about: dict[str, Any], message: str) -> None:
    played.world.settings["about"] |= about

    assert message in refusal(host)
    assert played.pulls() == []
    assert played.rehearsal_branches() == []


@pytest.mark.parametrize("name", ["preview.yml", "report.yml", "official.yml"])
def test_a_workflow_that_is_switched_off_is_named(host: Host, played: Played, name: str) -> None:
    played.world.settings["workflows"] = {name: "disabled_manually"}

    assert f"not active: {name[:-4]} (somebody switched it off). https://github.com/host/board/actions" in refusal(host)
    assert played.pulls() == []


def test_a_workflow_that_it_does_not_need_may_be_off(host: Host, played: Played) -> None:
    played.world.settings["workflows"] = {"ci.yml": "disabled_manually", "act.yml": None}

    goes_on(host, played)


@pytest.mark.parametrize(
    "address", [None, "http://host.github.io/board/", "https://x/\x1b[31m", "ftp://x/", "https://x/?a=b"]
)
def test_the_site_is_only_where_pages_has_an_https_address(host: Host, played: Played, address: str | None) -> None:
    if address is None:
        del played.world.settings["/pages"]
    else:
        played.world.settings["/pages"]["html_url"] = address

    line = refusal(host)
    assert "an https address is needed: Settings › Pages" in line
    assert line.isprintable()
    assert played.pulls() == []


def test_a_page_is_fetched_over_https_only() -> None:
    with pytest.raises(CommandError, match="no https address"):
        fetch_page("http://127.0.0.1:9/", 10)


def test_a_workflows_own_token_is_nobodys(host: Host, played: Played) -> None:
    assert "the token belongs to no person" in refusal(host, token="bot-token")
    assert "the token belongs to no person" in refusal(host, token="expired")


def test_an_agent_of_that_name_stays_what_it_is(tmp_path: Path, stand_in: GitHubStandIn) -> None:
    folder = "submissions/Host/rehearsal"
    files = {f"{folder}/agent.py": "class Agent:\n    pass\n", f"{folder}/submission.yml": "name: R\nalgorithm: none\n"}
    played = play(tmp_path, stand_in, files)
    host, before = played.host(), played.remote.tip()

    assert f"{folder} is on main, and not from a rehearsal of yours; choose another name with --agent" in refusal(host)
    assert (played.remote.tip(), played.pulls(), played.rehearsal_branches()) == (before, [], [])

    assert host.calls(agent="rehearsal-2") == 0
    assert f"{folder}/agent.py" in played.remote.paths("refs/heads/main")


def test_a_task_that_main_has_not_is_a_usage_error(host: Host, played: Played) -> None:
    assert "has no task 'Nope'; its tasks are CartPole-v1" in refusal(host, task="Nope")
    assert played.rehearsal_branches() == []


# The fork


def test_a_fork_that_is_not_there_is_said(host: Host, played: Played) -> None:
    assert f"there is no fork {FORK_OWNER}/{NAME}, or the token may not see it" in refusal(host, fork=FORK_OWNER)
    assert played.pulls() == []


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"fork": False}, "helpers/board is no fork of host/board"),
        ({"parent": None, "source": None}, "helpers/board is no fork of host/board"),
        ({"permissions": {"admin": False, "push": False, "pull": True}}, "the token may not write to the fork"),
    ],
)
def test_what_is_no_fork_that_can_be_written_to_is_refused(
    host: Host, played: Played, about: dict[str, Any], message: str
) -> None:
    with_fork(played.world, played.branches)
    played.world.others[f"{FORK_OWNER}/{NAME}"] = {
        key: value for key, value in (played.world.others[f"{FORK_OWNER}/{NAME}"] | about).items() if value is not None
    }
    if about.get("parent", 0) is None:
        other = played.world.others[f"{FORK_OWNER}/{NAME}"]
        other |= {key: _other_origin() for key in ("parent", "source")}

    assert message in refusal(host, fork=FORK_OWNER)
    assert played.pulls() == []


def _other_origin() -> dict[str, Any]:
    from tests.github.contract import example

    outcome: dict[str, Any] = example("full-repository")["parent"]
    return outcome


def test_a_fork_that_went_its_own_way_is_to_be_synced_first(host: Host, played: Played, tmp_path: Path) -> None:
    with_fork(played.world, played.branches)
    clone = tmp_path / "own"
    git(tmp_path, "clone", "--quiet", str(played.branches.sources[FORK_OWNER]), str(clone))
    (clone / "mine.txt").write_text("mine")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "own way")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/main")

    assert "press 'Sync fork' on its page https://github.com/helpers/board" in refusal(host, fork=FORK_OWNER)
    assert played.rehearsal_branches(FORK_OWNER) == []


def test_a_fork_of_an_older_main_will_do_and_gets_nothing_but_the_agent(host: Host, played: Played) -> None:
    with_fork(played.world, played.branches)
    played.remote.change_main({"later.txt": "later"}, "Later")

    assert host.calls(fork=FORK_OWNER) == 0
    entering = played.pulls()[0]
    assert entering.fork_owner == FORK_OWNER
    changed = git(played.remote.bare, "diff", "--name-only", f"main...{entering.head_sha}").splitlines()
    assert sorted(changed) == []  # It is on main, and later gone again.
    names = git(played.remote.bare, "show", "--format=", "--name-only", entering.head_sha).splitlines()
    assert sorted(names) == ["submissions/host/rehearsal/agent.py", "submissions/host/rehearsal/submission.yml"]
    assert played.rehearsal_branches(FORK_OWNER) == []


@pytest.mark.attack(
    "fork_that_adds_to_a_rehearsal", family="supply", outcome="nothing is merged",
    tries="Has the host rehearse from its fork, and adds changes of the host's own agents to the branch before or after it.",
)  # fmt: skip
@pytest.mark.parametrize("when", ["before", "while it waits"])
def test_what_a_forks_owner_adds_to_a_rehearsal_is_not_merged(host: Host, played: Played, tmp_path: Path, when: str) -> None:
    best = "submissions/host/best/agent.py"
    played.remote.change_main({best: "strong"}, "Best")
    with_fork(played.world, played.branches)
    played.does.remove("comment")

    def add(branch: str) -> None:
        clone = tmp_path / "theirs"
        git(tmp_path, "clone", "--quiet", str(played.branches.sources[FORK_OWNER]), str(clone))
        if branch in played.rehearsal_branches(FORK_OWNER):
            git(clone, "checkout", "--quiet", branch)
        (clone / "submissions/host/rehearsal").mkdir(exist_ok=True)
        (clone / "submissions/host/rehearsal/agent.py").write_text("class Agent:\n    pass\n")
        (clone / "submissions/host/rehearsal/submission.yml").write_text("name: R\nalgorithm: none\ntasks: [CartPole-v1]\n")
        (clone / best).write_text("weak")
        git(clone, "add", "--all")
        git(clone, "commit", "--quiet", "--message", "more")
        git(clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")

    if when == "before":
        add("pullrank-rehearsal-rehearsal-01234567")
    else:
        assert "comment: expected one" in refusal(host, fork=FORK_OWNER, minutes=1)
        (pull,) = played.pulls()
        add(pull.branch)
        pull.head_sha = git(played.branches.sources[FORK_OWNER], "rev-parse", pull.branch)
        git(
            played.remote.bare,
            "fetch",
            "--quiet",
            str(played.branches.sources[FORK_OWNER]),
            f"+{pull.branch}:refs/pull/{pull.number}/head",
        )
    played.does.add("comment")

    line = refusal(host, fork=FORK_OWNER)
    assert f"changes {best}, which is no part of a rehearsal" in line
    assert played.remote.show(played.remote.tip(), best) == "strong"
    assert not any(pull.merged for pull in played.pulls())


# What never comes, and then does


WAITS: dict[str, tuple[str, str, str]] = {
    "run": ("preview begins", "no run of the workflow preview", "actions/workflows/preview.yml"),
    "comment": ("comment", "0 comments of github-actions[bot]", "actions/workflows/report.yml"),
    "status": ("status", "no status pullrank of github-actions[bot]", "actions/workflows/report.yml"),
    "official": ("official run begins", "no run of the workflow official", "actions/workflows/official.yml"),
    "record": ("results branch", "the branch results holds 0 records of host/rehearsal", "a phase or a quota"),
    "site": ("site", "agents/host/rehearsal.json answers 404", "https://host.github.io/board/"),
    "told": ("final comment", "✅ Preview", "job announce"),
}


@pytest.mark.parametrize("missing", WAITS)
def test_what_never_comes_ends_the_wait_and_the_next_call_goes_on(host: Host, played: Played, missing: str) -> None:
    played.does.remove(missing)
    step, seen, where = WAITS[missing]

    line = refusal(host, minutes=2)
    assert line.startswith(f"{step}: expected ")
    assert ", within 2 minutes; last seen: " in line
    assert seen in line
    assert where in line
    assert host.seconds >= 120
    (pull,) = played.pulls()

    played.does.add(missing)
    if pull.merged:
        assert pull.merge_commit_sha is not None
        entry = played.entries(pull.merge_commit_sha, pull)[0]
        played.world.runs = {k: v for k, v in played.world.runs.items() if "official" not in v.path}
        if missing != "record":
            played.does.discard("record")
        played.recorded(pull, pull.merge_commit_sha, entry)
    else:
        played.world.runs.clear()
        played.previewed(pull)
    goes_on(host, played)
    assert len(played.pulls()) == 2


def test_each_step_has_a_limit_of_its_own(host: Host, played: Played) -> None:
    played.does.remove("run")

    assert ", within 10 minutes;" in refusal(host)
    assert host.seconds < 700


def test_a_run_that_waits_for_a_click_is_linked(host: Host, played: Played) -> None:
    played.conclusions["preview"] = "action_required"

    assert "it waits for approval, open it and approve: https://github.com/host/board/actions/runs/" in refusal(
        host, minutes=1
    )


@pytest.mark.parametrize("conclusion", ["failure", "timed_out", "startup_failure"])
def test_a_preview_that_failed_ends_at_once_with_its_run(host: Host, played: Played, conclusion: str) -> None:
    played.conclusions["preview"] = conclusion

    line = refusal(host)
    assert f"preview ends: expected it succeeds; seen: {conclusion}: https://github.com/host/board/actions/runs/" in line
    assert host.seconds < 60


@pytest.mark.parametrize("headline", ["❌ No score on `CartPole-v1`", "🚧 Not scored", "🟡 Preview: 1 of 2 scored"])
def test_a_comment_without_a_score_is_told(host: Host, played: Played, headline: str) -> None:
    played.does.remove("comment")
    host.kill_after = lambda name: name == "preview ends" and bool(played.comment(played.pulls()[0], headline))

    assert f"comment: expected one, with score and place; seen: {headline}. Look at" in refusal(host)


def test_a_status_that_is_a_failure_is_told(host: Host, played: Played) -> None:
    played.does.remove("status")
    host.kill_after = lambda name: (
        name == "comment" and bool(played.status(played.pulls()[0], "github-actions[bot]", "failure"))
    )

    assert "status: expected success on the commit; seen: failure: preview" in refusal(host)


def test_an_official_run_that_failed_is_linked_and_a_later_one_will_do(host: Host, played: Played) -> None:
    played.conclusions["official"] = "failure"
    played.does -= {"record", "site", "told"}

    assert "official run ends: expected it succeeds; seen: failure: https://github.com/host/board/actions/runs/" in refusal(
        host
    )

    played.conclusions.clear()
    played.does |= {"record", "site", "told"}
    (pull,) = played.pulls()
    played.recorded(pull, played.remote.change_main({"x": "x"}, "Later"), played.entries(played.remote.tip(), pull)[0])
    goes_on(host, played)


def test_an_official_run_that_a_newer_one_replaced_is_waited_past(host: Host, played: Played) -> None:
    played.conclusions["official"] = "cancelled"

    assert "last seen: no official run that went on to its end" in refusal(host, minutes=1)


RECORDS: dict[str, dict[str, Any]] = {
    "another version": {"submission_digest": "f" * 64},
    "a preview": {"class": "preview"},
    "another repository's run": {
        "provenance": {"evaluated_at": "2026-05-01T12:00:00Z", "run_url": "https://github.com/eve/board/actions/runs/1"}
    },
}


@pytest.mark.parametrize("what", RECORDS)
def test_a_record_is_known_by_its_content(host: Host, played: Played, what: str) -> None:
    played.result = RECORDS[what]

    line = refusal(host, minutes=1)
    assert line.startswith("results branch: expected the record of exactly this version")
    assert ("none of this version" in line) == (what != "another repository's run")


def test_a_site_that_shows_another_version_is_not_taken(host: Host, played: Played) -> None:
    host.kill_after = lambda name: (
        name == "results branch" and bool(played.agents["api/agents/host/rehearsal.json"].update(digest="0" * 64))
    )

    assert "rehearsal.json shows another version" in refusal(host, minutes=1)


# The merge


@pytest.mark.parametrize(
    ("status", "message"),
    [(405, "Repository rule violations found: 1 approving review is required"), (403, "Resource not accessible")],
)
def test_a_merge_that_a_rule_forbids_is_told_in_githubs_words_and_a_person_may_do_it(
    host: Host, played: Played, status: int, message: str
) -> None:
    played.world.go_wrong("PUT", r"/merge$", status=status, message=f"{message}\x1b[2J\u202e", times=20)

    line = refusal(host)
    (pull,) = played.pulls()
    assert f"merge: GitHub refuses to merge https://github.com/host/board/pull/{pull.number}: " in line
    assert message in line
    assert line.isprintable()
    assert not pull.merged

    played.world.faults.clear()
    pull.merge_commit_sha = played.branches.merge(pull.number, "merge")
    pull.state, pull.merged = "closed", True
    goes_on(host, played)
    assert len(host.asked) == 1  # It was merged by a person: nothing is asked again.


def test_a_pull_request_that_moved_on_is_not_merged(host: Host, played: Played) -> None:
    def move(name: str) -> bool:
        if name == "status":
            played.pulls()[0].head_sha = "b" * 40
        return False

    host.kill_after = move

    assert "Head branch was modified" in refusal(host)
    assert not played.pulls()[0].merged


def test_a_merge_waits_until_github_knows_whether_it_can_be(host: Host, played: Played) -> None:
    def think(name: str) -> bool:
        if name in ("status", "withdrawal"):
            played.pulls()[-1].mergeable = None
        return False

    host.kill_after, pump = think, host.pump

    def answer() -> None:
        for pull in played.pulls():
            pull.mergeable = True
        pump()

    host.pump = answer

    goes_on(host, played)


def test_without_a_yes_nothing_is_merged(host: Host, played: Played) -> None:
    host.answer = False

    assert host.calls() == 130
    assert not played.pulls()[0].merged
    assert "Not merged." in host.lines[-1]

    host.answer = True
    goes_on(host, played)
    assert len(played.pulls()) == 2


# Stopped, and answers that were lost


def test_a_branch_without_its_pull_request_is_taken_up(host: Host, played: Played) -> None:
    played.world.go_wrong("POST", r"/pulls$", status=403, message="Forbidden", times=8)
    line = refusal(host)
    (branch,) = played.rehearsal_branches()
    assert f"the branch {branch} of host/board is ready. Then run the same command again" in line

    played.world.faults.clear()
    goes_on(host, played)
    assert played.pulls()[0].branch == branch


@pytest.mark.parametrize(("verb", "path"), [("POST", r"/pulls$"), ("PUT", r"/merge$")])
def test_a_lost_answer_is_not_asked_for_twice(host: Host, played: Played, verb: str, path: str) -> None:
    played.world.go_wrong(verb, path, status=502, after=True, times=1)

    goes_on(host, played)
    assert len(played.pulls()) == 2


def test_stopped_while_it_waits_it_goes_on(host: Host, played: Played) -> None:
    def stop(seconds: float) -> None:
        raise KilledError

    wait = host._pause
    host._pause = stop  # type: ignore[method-assign]
    with pytest.raises(KilledError):
        host.calls()
    host._pause = wait  # type: ignore[method-assign]

    goes_on(host, played)
    assert len(played.pulls()) == 2


@pytest.mark.parametrize("after", ["pull request", "status", "merge", "site", "withdrawal", "merge the withdrawal"])
def test_a_rehearsal_can_be_given_up_at_any_time(host: Host, played: Played, after: str) -> None:
    host.kill_after = lambda name: name == after
    with pytest.raises(KilledError):
        host.calls()
    host.kill_after = lambda name: False

    assert host.calls(gives_up=True) == 0
    assert played.rehearsal_branches() == []
    assert not [path for path in played.remote.paths("refs/heads/main") if path.startswith("submissions/")]
    assert {pull.state for pull in played.pulls()} == {"closed"}
    assert host.calls(gives_up=True) == 0
    assert "nothing to withdraw" in host.lines[-1]
    if after == "site":  # And then the next one is another.
        before = len(played.pulls())
        assert host.calls() == 0
        assert len(played.pulls()) == before + 2


def test_what_auto_delete_took_away_is_no_fault(host: Host, played: Played) -> None:
    def delete(name: str) -> bool:
        if name in ("merge", "merge the withdrawal"):
            for branch in played.rehearsal_branches():
                git(played.remote.bare, "update-ref", "-d", f"refs/heads/{branch}")
        return False

    host.kill_after = delete

    goes_on(host, played)
    assert "seen: none is left" in host.lines[-2]


# Strangers


def test_a_comment_under_another_name_is_not_the_bots(host: Host, played: Played) -> None:
    played.does.remove("comment")
    imitate: Callable[[str], Any] = lambda name: played.comment(  # noqa: E731
        played.pulls()[0], "✅ Preview: 500 on `CartPole-v1`, would take place 1 of 1", author="eve"
    )
    host.kill_after = lambda name: name == "preview ends" and bool(imitate(name))

    assert "last seen: 0 comments of github-actions[bot]" in refusal(host, minutes=1)


def test_a_status_under_another_name_is_not_the_bots(host: Host, played: Played) -> None:
    played.does.remove("status")
    host.kill_after = lambda name: name == "comment" and bool(played.status(played.pulls()[0], "eve"))

    assert "last seen: no status pullrank of github-actions[bot]" in refusal(host, minutes=1)


def test_nobody_else_can_end_a_rehearsal_or_have_his_own_taken_for_it(host: Host, played: Played) -> None:
    host.kill_after = lambda name: name == "site"
    with pytest.raises(KilledError):
        host.calls()
    entering = played.pulls()[0]
    played.world.comment(entering.number, "eve", f"{FINISHED}\n### Rehearsal\n")
    number = played.world.fresh()
    played.world.pulls[number] = PullRequest(
        number, "eve", "c" * 40, "pullrank-rehearsal-rehearsal-00000000", 2999, "eve", title="\x1b[31mmine\x1b[0m"
    )
    host.kill_after = lambda name: False

    goes_on(host, played)
    assert played.pulls()[0].number == entering.number
    assert f"pull/{number}" not in "\n".join(host.lines)


def test_a_line_is_printable_whatever_it_was_made_of() -> None:
    assert printable("\x1b[31mred\n\u202eabc\x00") == "\ufffd[31mred \ufffdabc\ufffd"
    assert len(printable("x" * 1000)) == 160


def test_the_token_goes_to_no_other_address(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="https is needed"), open_working_copy("ext::sh -c 'touch x'", "t"):
        raise AssertionError
    with pytest.raises(CommandError, match="https is needed"), open_working_copy("ssh://git@github.com/a/b", "t"):
        raise AssertionError
    with open_working_copy("https://github.com/a/b.git", "secret") as workplace:
        assert workplace.repository.credentials is not None
        assert workplace.repository.credentials.server_url == "https://github.com"
        config = (workplace.repository.path / "config").read_text()
    assert "secret" not in config


# The command itself


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "challenge.yml").write_text(
        f"title: T\nseason: '1'\nrepository: https://github.com/{OWNER}/{NAME}\ntasks: [{{id: CartPole-v1}}]\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "GH_TOKEN=$(gh auth token) pullrank rehearse"),
        ({"token": "t"}, "pass --yes"),
        ({"token": "t", "fork": "a b"}, "--fork is neither LOGIN nor LOGIN/NAME"),
        ({"token": "t", "fork": "a/../b"}, "--fork is neither LOGIN nor LOGIN/NAME"),
        ({"token": "t", "agent": "Big"}, "--agent is 1 to 40 lower-case letters"),
        ({"token": "t", "agent": "a.json"}, "--agent is 1 to 40 lower-case letters"),
    ],
)
def test_a_wrong_call_says_what_a_right_one_is(
    board: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(CommandError) as caught:
        rehearse.run(**options)
    assert (message in str(caught.value), caught.value.code) == (True, 2)


def test_a_board_that_names_no_repository_is_begun_elsewhere(board: Path) -> None:
    (board / "challenge.yml").write_text("title: T\nseason: '1'\ntasks: [{id: CartPole-v1}]\n")
    with pytest.raises(CommandError, match="run 'pullrank init'"):
        rehearse.run(token="t", yes=True)


def test_nothing_is_rehearsed_after_submissions_have_ended(board: Path) -> None:
    with (board / "challenge.yml").open("a") as rules:
        rules.write("final: '1'\n")
    with pytest.raises(CommandError, match="submissions of season 1 have ended"):
        rehearse.run(token="t", yes=True)


def test_the_command_asks_github(board: Path, stand_in: GitHubStandIn, played: Played) -> None:
    played.world.settings["workflows"] = {"preview.yml": "disabled_manually"}
    with pytest.raises(CommandError, match="preview \\(somebody switched it off\\)"):
        rehearse.run(token="host-token", yes=True, api=stand_in.address)


# What is entered, and what says that it was a rehearsal

ASKING = """\
title: T
season: "1"
people:
  terms: site/pages/terms.md
  fields:
    - {name: Affiliation, required: true}
    - {name: "A: \\"b\\"", required: true, kind: choice, options: ["x: y", z]}
    - {name: Student, required: true, kind: boolean}
    - {name: Left out}
tasks:
  - {id: CartPole-v1, episodes: 3}
  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3}
  - {id: learn, env: CartPole-v1, script: {steps: 4000, last: 5, worst: 0}}
"""


@pytest.mark.parametrize("task", [None, "CartPole-v1", "tictactoe", "learn"])
def test_the_example_keeps_the_boards_rules_whatever_it_is_measured_on(task: str | None) -> None:
    challenge = parse_challenge(ASKING.encode())
    chosen = choose_task(challenge, task)
    folder = "submissions/ada/rehearsal"
    versions = []
    for token in ("00000001", "00000002"):
        files = rehearsal_files(challenge, chosen, folder, token)
        blobs = tuple(
            SubmissionFile(path=path.removeprefix(f"{folder}/"), executable=False, content=content)
            for path, content in files.items()
        )
        versions.append(assemble(blobs, SubmissionLimits()))
    one, other = versions

    assert one.submission.tasks == (task or "CartPole-v1",)
    assert list(participant_faults(challenge.people, "ada", one.submission)) == []
    assert one.digest != other.digest
    assert one.submission == other.submission


def test_it_differs_from_the_example_by_one_comment_only(tmp_path: Path) -> None:
    challenge = parse_challenge(CHALLENGE.encode())
    files = rehearsal_files(challenge, challenge.tasks[0], "submissions/ada/rehearsal", "00000001")
    source = files["submissions/ada/rehearsal/agent.py"].decode()
    example = (ROOT / "scripts/templates/policy/agent.py").read_text()

    added = source.removeprefix(example)
    assert (added[0], added[1], added.count("\n")) == ("\n", "#", 2)


DIGEST, OLD = "a" * 64, "b" * 64
ITEM = 'login: eve\n{0}  agent: x\n{0}  digest: "' + OLD + '"\n{0}  since: "2026-01-01"\n'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "exclusions: []\n",
        "exclusions: []\nrehearsals: []\nverified: []\n",
        "exclusions: []\nrehearsals: [ ]  # none so far\n",
        "rehearsals:\n- " + ITEM.format("") + "exclusions: []\n",
        "rehearsals:\n    # the first\n\n    - " + ITEM.format("    ") + "exclusions: []\n",
        "# rehearsals: []\nexclusions: []  # nobody",
        "exclusions:\n  - {login: eve, since: '2026-01-01', who: h, why: 'rehearsals:', link: https://example.org/1}\n",
    ],
)
def test_a_mark_is_added_wherever_the_list_stands_and_nothing_else_changes(text: str) -> None:
    made = with_rehearsal_entry(
        text.encode(), RehearsalEntry(login="Ada", agent="rehearsal", digest=DIGEST, since="2026-05-01")
    )

    before, after = parse_moderation(text.encode()) if text else Moderation(), parse_moderation(made)
    assert after.rehearsed_digests("ada", "rehearsal") == {DIGEST}
    assert set(after.rehearsals) - set(before.rehearsals) == {
        RehearsalEntry(login="Ada", agent="rehearsal", digest=DIGEST, since="2026-05-01")
    }
    assert len(after.rehearsals) == len(before.rehearsals) + 1
    assert (after.exclusions, after.verified) == (before.exclusions, before.verified)
    assert [line for line in text.splitlines() if "#" in line and "none" not in line and line not in made.decode()] == []
    assert (
        with_rehearsal_entry(made, RehearsalEntry(login="ada", agent="rehearsal", digest=DIGEST, since="2026-06-01")) == made
    )


@pytest.mark.parametrize(
    "text", ["exclusions: {", "rehearsals: null\nexclusions: []\n", "rehearsals: [\n]\n", "nonsense: 1\n"]
)
def test_a_file_that_cannot_be_added_to_is_said_and_not_guessed_at(text: str) -> None:
    with pytest.raises(CommandError, match=r"moderation\.yml"):
        with_rehearsal_entry(
            text.encode(), RehearsalEntry(login="ada", agent="rehearsal", digest=DIGEST, since="2026-05-01")
        )


@pytest.mark.parametrize("name", ["123", "true", "null", "1e5"])
def test_names_that_yaml_would_take_for_something_else_are_marked(name: str) -> None:
    made = with_rehearsal_entry(
        b"exclusions: []\n", RehearsalEntry(login=name, agent=name, digest="1" * 64, since="2026-05-01")
    )

    assert parse_moderation(made).rehearsed_digests(name, name) == {"1" * 64}


PAGE = ROOT / "site/pages/host/rehearse.md"


def test_the_page_names_every_step_and_every_option(host: Host, played: Played) -> None:
    page = PAGE.read_text()
    rows = [line.split("|")[1] for line in page.partition("| Step |")[2].partition("\n\n")[0].splitlines() if "|" in line]
    named = {step.strip() for row in rows[2:] for step in row.split(",")}
    goes_on(host, played)
    options = {parameter.replace("_", "-") for parameter in inspect.signature(rehearse.run).parameters} - {"token", "api"}

    assert named == set(host.steps())
    assert [name for name in options if f"| `--{name}" not in page] == []


def test_the_page_claims_nothing_that_was_not_seen() -> None:
    table = PAGE.read_text().partition("| What | On GitHub |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]

    assert len(rows) >= 20
    assert {len(row) for row in rows} == {4}
    assert {row[1] for row in rows} <= {"seen", "not yet seen"}
