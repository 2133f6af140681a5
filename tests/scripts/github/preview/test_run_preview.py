"""`pullrank bot preview` on real repositories, with real sandboxes."""

import itertools
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.loading.submission_folder import read_folder
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.records.preview import Preview
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.log_excerpt import PREVIEW_LOG_BYTES, log_tails
from leaderboard.core.store import ResultStore
from scripts.console import CommandError
from scripts.github.preview import run_preview
from scripts.github.preview.preview_artifact import LOG_FILE, PREVIEW_BYTES, PREVIEW_FILE
from scripts.github.workflow.event import WorkflowEnvironment, pull_event
from scripts.repository.checkout import Checkout, open_checkout
from scripts.runs.local_evaluator import Evaluator
from tests.leaderboard import make
from tests.leaderboard.comments.github_markdown import Seen
from tests.scripts.github.remotes import AGENT, Clone, agent_files, git, make_board

CRASH = b"""
class Agent:
    def act(self, observation):
        print("::set-output name=score::999")
        print("##[stop-commands]x\\n```\\n@torvalds closes #1")
        raise ValueError("no idea ``` <img src=x>")
"""


class PreviewBoard:
    """A runner's disk: main checked out, the head's clone beside it, and what the workflow says."""

    def __init__(self, place: Path) -> None:
        self.main = make_board(place, {**agent_files("bob", "standing", source=AGENT + b"# bob\n")})
        git(self.main.path, "reset", "-q", "--hard")
        self.place = place
        self.out, self.summary = place / "out", place / "summary.md"
        self.head = Clone(place / "_head")
        git(place, "clone", "-q", str(place / "origin.git"), "_head")

    def change(self, files: Mapping[str, bytes | None]) -> str:
        return self.head.commit(files)

    def workflow(self, login: str = "alice", base: str | None = None) -> WorkflowEnvironment:
        pull = {
            "number": 7,
            "user": {"login": login, "id": 11},
            "head": {"sha": self.head.head, "ref": "b", "repo": {"id": 2}},
            "base": {"sha": base or self.main.head, "ref": "main"},
        }
        return WorkflowEnvironment(
            event_name="pull_request", event={"pull_request": pull}, repository="example/board", repository_id=1,
            sha="d" * 40, run_id=77, api_url="https://api.github.com",
            graphql_url="https://api.github.com/graphql", server_url="https://github.com",
            token="", summary_path=self.summary, output_path=None, workspace=self.main.path,
        )  # fmt: skip

    def run(self, login: str = "alice", **options: Any) -> Preview:
        options = {"sandbox": "process", **options}
        assert run_preview.preview_pull_request(self.workflow(login), self.head.path, self.out, **options) == 0
        return self.written()

    def written(self) -> Preview:
        return Preview.model_validate(json.loads((self.out / PREVIEW_FILE).read_bytes()))

    def said(self) -> str:
        body = self.summary.read_text(encoding="utf-8")
        assert body.startswith("<!-- pullrank:comment run=77 -->\n")
        assert Seen(body).open == []
        return body.replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture
def preview_board(tmp_path: Path) -> PreviewBoard:
    return PreviewBoard(tmp_path)


def test_a_good_agent_is_played_on_its_tasks(preview_board: PreviewBoard) -> None:
    preview_board.change(agent_files("alice"))

    preview = preview_board.run()

    (agent,) = preview.agents
    assert (agent.login, agent.agent, agent.name, agent.faults) == ("alice", "a", "Test", ())
    assert [(r.task, r.verdict, r.tier, r.login_id) for r in agent.results] == [
        ("CartPole-v1", "ok", "preview", 11),
        ("FrozenLake-v1", "ok", "preview", 11),
    ]
    assert {r.beacon for r in agent.results} == {"preview"}
    assert {r.provenance.commit for r in agent.results} == {preview_board.head.head} == {preview.head_sha}
    assert preview.evaluator_sha == preview_board.main.head
    assert "✅ Preview: all 2 evaluations scored" in preview_board.said()
    assert "would take place" not in preview_board.said().splitlines()[1]


def test_after_the_end_a_preview_is_compared_with_the_final_draws_and_takes_no_place(preview_board: PreviewBoard) -> None:
    """Main has dropped bob's agent since; its final draw is on the board all the same."""
    main = preview_board.main
    bob = Checkout(main.path).read_all()[0][0].entry()
    rules = (main.path / "challenge.yml").read_bytes() + b'final: "1"\n'
    final = main.commit({"challenge.yml": rules})
    main.commit(dict.fromkeys(agent_files("bob", "standing")))
    main.push()
    git(main.path, "reset", "-q", "--hard")
    store = ResultStore(results=main.path / "results", traces=main.path / "traces")
    tasks = {task.id: task for task in open_checkout(main.path).challenge.tasks}
    for beacon, score in (("early", 450.0), (final, 300.0)):
        store.write(make.result(bob, (score, score), on=tasks["CartPole-v1"], beacon=beacon), None)
    preview_board.change(agent_files("alice"))

    preview_board.run()

    said = preview_board.said()
    assert "to `bob/standing`" in said
    (row,) = (line for line in said.splitlines() if line.startswith("| CartPole") and "bob/standing" in line)
    score, place, ranks, gap = (row.split(" | ")[column] for column in (1, 3, 4, 6))
    assert (place, ranks) == ("–", "–")
    assert float(gap.split()[0].replace("\N{MINUS SIGN}", "-")) == pytest.approx(float(score.strip("*")) - 300, abs=0.2)


def test_it_says_at_home_what_it_says_here(preview_board: PreviewBoard) -> None:
    preview_board.change(agent_files("alice"))

    first, second = preview_board.run(), preview_board.run()

    assert [r.returns for a in first.agents for r in a.results] == [r.returns for a in second.agents for r in a.results]
    assert [r.key for a in first.agents for r in a.results] == [r.key for a in second.agents for r in a.results]


def test_a_crash_is_told_with_its_log_and_no_command_reaches_the_runner(
    preview_board: PreviewBoard, capfd: pytest.CaptureFixture[str]
) -> None:
    preview_board.change(agent_files("alice", source=CRASH))

    preview = preview_board.run()

    (agent,) = preview.agents
    assert {r.verdict for r in agent.results} == {Verdict.CRASHED}
    assert {r.log_tail for r in agent.results} == {""}
    assert all(r.self_hash() == r.self_sha256 for r in agent.results)
    log = (preview_board.out / LOG_FILE).read_text(encoding="utf-8")
    assert all(line.startswith("| ") for line in log.splitlines())
    assert "##[" not in log
    assert "@torvalds closes #1" in log_tails(log)["alice/a on CartPole-v1"]
    printed = capfd.readouterr()
    assert "set-output" not in printed.out + printed.err
    assert "stop-commands" not in printed.out + printed.err
    body = preview_board.said()
    assert "❌ No score on 2 tasks" in body
    assert "agent.py, line 6" in body
    assert "img" not in Seen(body).tags


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        (
            agent_files("alice", manifest=b"name: Test\n"),
            "submissions/alice/a/submission.yml:1: the key 'algorithm' is missing",
        ),
        (agent_files("alice", manifest=b"{{{"), "submissions/alice/a/submission.yml:1:"),
        ({"submissions/alice/a/agent.py": AGENT}, "submissions/alice/a/submission.yml: is missing"),
        (agent_files("alice", manifest=b"name: T\nalgorithm: x\ntasks: [Nim]\n"), "there is no task 'Nim'"),
    ],
)
def test_a_broken_manifest_is_an_outcome(preview_board: PreviewBoard, files: dict[str, bytes | None], fault: str) -> None:
    preview_board.change(files)

    preview = preview_board.run()

    (agent,) = preview.agents
    assert (agent.results, agent.submission_digest) == ((), None)
    assert fault in agent.faults[0]
    assert "❌ No score: 1 thing to fix first" in preview_board.said()
    assert fault in preview_board.said()


def test_a_broken_agent_does_not_keep_another_from_its_score(preview_board: PreviewBoard) -> None:
    preview_board.change({**agent_files("alice", "bad", manifest=b"x: 1\n"), **agent_files("alice", "good")})

    preview = preview_board.run()

    assert [(a.agent, len(a.results), bool(a.faults)) for a in preview.agents] == [("bad", 0, True), ("good", 2, False)]
    assert "🟡 Preview: 2 of 3 scored" in preview_board.said()


def test_files_outside_are_refused_and_nothing_is_played(preview_board: PreviewBoard) -> None:
    preview_board.change(
        {**agent_files("alice"), ".github/workflows/preview.yml": b"x", "submissions/bob/standing/agent.py": b"x"}
    )

    preview = preview_board.run()

    assert preview.agents == ()
    assert set(preview.skipped) == {".github/workflows/preview.yml", "submissions/bob/standing/agent.py"}
    assert "2 paths outside your folder" in preview_board.said()


def test_a_copy_is_refused(preview_board: PreviewBoard) -> None:
    preview_board.change(agent_files("alice", source=AGENT + b"# bob\n"))

    preview = preview_board.run()

    assert preview.agents == ()
    assert "is the same agent as submissions/bob/standing" in preview.skipped[0]
    assert "something here is not allowed" in preview_board.said()


def test_a_withdrawal_and_a_change_of_nothing_are_outcomes_too(preview_board: PreviewBoard) -> None:
    preview_board.change({"submissions/bob/standing/agent.py": None, "submissions/bob/standing/submission.yml": None})

    assert preview_board.run("bob").agents == ()
    assert "🪦 This withdraws 1 agent" in preview_board.said()

    preview_board.summary.unlink()
    git(preview_board.head.path, "reset", "-q", "--hard", "origin/main")
    git(preview_board.head.path, "commit", "-q", "--allow-empty", "-m", "nothing")
    assert preview_board.run("bob").agents == ()
    assert "Nothing to evaluate" in preview_board.said()


def test_a_fifth_agent_waits_for_the_merge(preview_board: PreviewBoard) -> None:
    manifest = b"name: T\nalgorithm: x\ntasks: [FrozenLake-v1]\n"
    files = [agent_files("alice", f"a{i}", AGENT + b"#%d\n" % i, manifest) for i in range(6)]
    preview_board.change({name: content for one in files for name, content in one.items()})

    preview = preview_board.run()

    assert [a.agent for a in preview.agents] == ["a0", "a1", "a2", "a3"]
    assert [line.split(":")[0] for line in preview.skipped] == ["alice/a4", "alice/a5"]
    assert "alice/a5" in preview_board.said()


@pytest.mark.attack(
    "fault_behind_four_good_agents", family="bot", outcome="told in place of a good one: all are read",
    tries="Puts an agent that a preview refuses behind four good ones, which are all that it plays.",
)  # fmt: skip
def test_a_fault_of_a_fifth_agent_is_told(preview_board: PreviewBoard) -> None:
    """Else it would be merged as good: nothing after the merge refuses an unclear name, or one who is of another team."""
    main = preview_board.main
    main.commit({"challenge.yml": (main.path / "challenge.yml").read_bytes() + b"people: {one_team_each: true}\n"})
    main.push()
    git(main.path, "reset", "-q", "--hard")
    manifest = b"name: T\nalgorithm: x\ntasks: [FrozenLake-v1]\n"
    manifests = {f"a{i}": manifest for i in range(6)}
    manifests |= {"y": manifest.replace(b"T", "T\N{HANGUL FILLER}".encode(), 1), "z": manifest + b'authors: ["@bob"]\n'}
    files = [agent_files("alice", name, AGENT + b"#" + name.encode(), text) for name, text in manifests.items()]
    preview_board.change({name: content for one in files for name, content in one.items()})

    preview = preview_board.run()

    assert [(a.agent, len(a.results), bool(a.faults)) for a in preview.agents] == [
        ("a0", 1, False), ("a1", 1, False), ("y", 0, True), ("z", 0, True),
    ]  # fmt: skip
    assert [line.split(":")[0] for line in preview.skipped] == [f"alice/a{i}" for i in (4, 5, 3, 2)]
    assert "🟡 Preview: 2 of 4 scored" in preview_board.said()


def test_when_time_is_up_nothing_more_begins(preview_board: PreviewBoard) -> None:
    preview_board.change(agent_files("alice"))
    ticks = itertools.count(0, 10)

    preview = preview_board.run(budget=15, clock=lambda: float(next(ticks)))

    assert [r.task for r in preview.agents[0].results] == ["CartPole-v1"]
    assert preview.skipped == (
        "alice/a on FrozenLake-v1: the preview’s time was up; the official run plays it after the merge",
    )


def stopped_after(count: int, how: Callable[[], BaseException]) -> Callable[..., Any]:
    """Bench.run that is stopped when it has been called so often."""
    real, calls = Evaluator.run, itertools.count()

    def run(self: Evaluator, *arguments: Any, **options: Any) -> Any:
        if next(calls) == count:
            raise how()
        return real(self, *arguments, **options)

    return run


def test_what_was_done_before_a_stop_is_kept(preview_board: PreviewBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    preview_board.change(agent_files("alice"))
    monkeypatch.setattr(Evaluator, "run", stopped_after(1, KeyboardInterrupt))

    with pytest.raises(KeyboardInterrupt):
        run_preview.preview_pull_request(
            preview_board.workflow(), preview_board.head.path, preview_board.out, sandbox="process"
        )

    assert [r.task for r in preview_board.written().agents[0].results] == ["CartPole-v1"]
    assert "the run was stopped" in preview_board.written().skipped[0]
    assert "CartPole" in preview_board.said()


def test_a_kill_leaves_what_was_done(preview_board: PreviewBoard) -> None:
    preview_board.change(agent_files("alice"))
    child = os.fork()
    if not child:
        try:
            Evaluator.run = stopped_after(1, lambda: SystemExit(os._exit(9)))  # type: ignore[method-assign]
            run_preview.preview_pull_request(
                preview_board.workflow(), preview_board.head.path, preview_board.out, sandbox="process"
            )
        finally:  # Whatever is raised here must not go on as a second run of the tests.
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9

    assert [r.task for r in preview_board.written().agents[0].results] == ["CartPole-v1"]


def test_a_failure_of_ours_is_told_and_raised(preview_board: PreviewBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    preview_board.change(agent_files("alice"))
    monkeypatch.setattr(Evaluator, "run", stopped_after(0, lambda: CommandError(3, "the engine does not answer")))

    with pytest.raises(CommandError):
        run_preview.preview_pull_request(
            preview_board.workflow(), preview_board.head.path, preview_board.out, sandbox="process"
        )

    assert preview_board.written().agents[0].results == ()
    assert "our fault, not yours" in preview_board.said()
    assert "the engine does not answer" in preview_board.said()


def test_a_head_without_mains_history_is_an_outcome(preview_board: PreviewBoard) -> None:
    preview_board.change(agent_files("alice"))
    orphan = git(preview_board.head.path, "commit-tree", git(preview_board.head.path, "write-tree"), "-m", "fresh")
    git(preview_board.head.path, "update-ref", "HEAD", orphan)

    preview = preview_board.run()

    assert "no commit in common with main" in preview.skipped[0]


def test_results_that_do_not_fit_are_named(preview_board: PreviewBoard, monkeypatch: pytest.MonkeyPatch) -> None:
    preview_board.change(agent_files("alice"))
    preview_board.run()
    monkeypatch.setattr(run_preview, "PREVIEW_BYTES", (preview_board.out / PREVIEW_FILE).stat().st_size - 300)

    preview = preview_board.run()

    assert [r.task for r in preview.agents[0].results] == ["CartPole-v1"]
    assert preview.skipped == ("alice/a on FrozenLake-v1: played, but its episodes do not fit a preview",)


def test_notes_are_bounded(preview_board: PreviewBoard) -> None:
    session = run_preview.PreviewSession(
        checkout=open_checkout(preview_board.main.path),
        pull=pull_event(preview_board.workflow()),
        evaluator_sha="e" * 40,
        out=preview_board.out,
        run_url="u",
    )
    for i in range(150):
        session.skip(f"{i}" * 1000)

    assert len(session.write().skipped) == 100
    assert max(map(len, session.skipped)) == 1000


def test_both_files_keep_their_caps(preview_board: PreviewBoard) -> None:
    noisy = b"print('x' * 100_000)\nraise SystemExit\n"
    preview_board.change(agent_files("alice", source=noisy))

    preview_board.run()

    assert (preview_board.out / PREVIEW_FILE).stat().st_size <= PREVIEW_BYTES
    assert (preview_board.out / LOG_FILE).stat().st_size <= PREVIEW_LOG_BYTES


def record_for_bob(preview_board: PreviewBoard) -> None:
    """An official result of bob's agent, better than what alice's has."""
    preview_board.change(agent_files("alice"))
    played = preview_board.run().agents[0].results[0]
    digest = read_folder(preview_board.main.path / "submissions/bob/standing", SubmissionLimits()).digest
    fields = {
        "class": "official",
        "sandbox": "docker",
        "beacon": "b" * 40,
        "login": "bob",
        "login_id": 2,
        "agent": "standing",
        "submission_digest": digest,
    }
    official = Result.with_self_hash({**played.document(), **fields, "returns": [400.0, 450.0, 500.0]})
    ResultStore(results=preview_board.main.path / "results", traces=preview_board.main.path / "traces").write(official, None)
    preview_board.summary.unlink()


def test_recorded_results_give_the_place_that_it_would_take(preview_board: PreviewBoard) -> None:
    record_for_bob(preview_board)

    preview_board.run()

    assert "| **2** of 2 |" in preview_board.said()
    assert "to `bob/standing`" in preview_board.said()


def test_an_excluded_entry_takes_no_place(preview_board: PreviewBoard) -> None:
    moderation = (
        b'exclusions:\n  - {login: bob, since: "2026-01-01", who: host, why: asked to, link: "https://example.org/1"}\n'
    )
    (preview_board.main.path / "moderation.yml").write_bytes(moderation)

    record_for_bob(preview_board)
    preview_board.run()

    assert "**1** of 1" in preview_board.said()


def test_a_robots_pull_request_is_an_outcome(preview_board: PreviewBoard) -> None:
    preview_board.change(agent_files("renovate[bot]"))

    preview = preview_board.run("renovate[bot]")

    assert preview.agents == ()
    assert preview.skipped


@pytest.mark.docker
def test_in_the_container(preview_board: PreviewBoard, docker: object) -> None:
    preview_board.change({**agent_files("alice", "good"), **agent_files("alice", "bad", source=CRASH)})
    begun = time.monotonic()

    preview = preview_board.run(sandbox="docker")

    assert [(a.agent, {r.verdict for r in a.results}) for a in preview.agents] == [("bad", {"crashed"}), ("good", {"ok"})]
    assert {r.sandbox for a in preview.agents for r in a.results} == {"docker"}
    assert "@torvalds" in (preview_board.out / LOG_FILE).read_text(encoding="utf-8")
    assert time.monotonic() - begun < 600
