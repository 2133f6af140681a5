"""Phases, people and quotas where the bot meets them: the preview, the official plan, and the comments."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from evaluator.host.deterministic import pinned_variables
from evaluator.host.seeds.season_secret import SeasonSecret
from leaderboard.planning.refusal_reasons import reason_in_words
from scripts.console import CommandError
from scripts.git import beacons
from scripts.github.official.round_work import read_round_work
from scripts.github.pull_request import announce_official_scores
from scripts.github.pull_request.season_rule_notes import rules_before_merge
from scripts.github.workflow.plan_context import PlanContext, parse_plan_context
from scripts.repository.season_file import SEASON_FILE, RevealedSecret, SeasonEntry, SeasonFile
from scripts.standings.recorded_standings import rank_recorded, recorded_input
from tests.leaderboard import make
from tests.scripts.github.preview.test_run_preview import PreviewBoard
from tests.scripts.github.remotes import CHALLENGE, MANIFEST, Clone, agent_files, make_board
from tests.scripts.github.rounds import open_run
from tests.scripts.github.scenes import LAKE, POLE, Scene

OVER = b"""phases:
  - {id: warm-up, name: Warm-up, end: 2020-01-01T00:00:00Z, tasks: [CartPole-v1]}
"""
TEAM = b"""phases:
  - {id: ours, name: Ours, teams: [lab/rl], tasks: [CartPole-v1]}
"""
TERMS = b"people: {terms: terms.md}\n"


@pytest.fixture(autouse=True)
def _pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in pinned_variables().items():
        monkeypatch.setenv(name, value)


def put(clone: Clone, more: bytes) -> None:
    """The rules with something more, on main and on the disk."""
    clone.commit({"challenge.yml": CHALLENGE.rstrip() + b"\n" + more})
    (clone.path / "challenge.yml").write_bytes(CHALLENGE.rstrip() + b"\n" + more)


@pytest.fixture
def board(tmp_path: Path) -> Clone:
    made = make_board(tmp_path / "board")
    made.commit(agent_files("alice"))
    made.push()
    return made


def planned(board: Clone, more: bytes, **fields: object) -> tuple[set[str], list[str]]:
    put(board, more)
    work = read_round_work(replace(open_run(board), **fields), board.head, "")
    return {item.task_id for item in work.items}, [reason_in_words(one.reason) for one in work.deferred]


def test_the_official_plan_leaves_out_what_came_too_late(board: Clone) -> None:
    tasks, reasons = planned(board, OVER)

    assert tasks == {"FrozenLake-v1"}
    stays = "the version that came in time stays where its folder holds it, the other tasks are open"
    assert reasons == [f"too late: phase 'warm-up' ended 2020-01-01 00:00 UTC; {stays}"]


def test_only_the_plan_job_asks_who_is_a_member_and_the_others_are_handed_it(board: Clone) -> None:
    asked: list[tuple[str, str]] = []

    def is_member(login: str, team: str) -> bool:
        asked.append((login, team))
        return True

    assert planned(board, TEAM)[0] == {"FrozenLake-v1"}  # nobody could ask, so nobody is a member
    work_tasks, _ = planned(board, TEAM, is_member=is_member)
    handed = PlanContext(now=datetime(2026, 3, 1, tzinfo=UTC), members={"lab/rl": frozenset(["alice"])})

    assert work_tasks == {"CartPole-v1", "FrozenLake-v1"}
    assert asked == [("alice", "lab/rl")]
    assert planned(board, TEAM, plan_context=parse_plan_context(handed.serialised()))[0] == work_tasks
    assert parse_plan_context(handed.serialised()) == handed


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"now":"yesterday","members":{}}', '{"now":"2026-01-01T00:00:00","members":{}}']
)
def test_a_moment_that_no_plan_handed_on_is_refused(text: str) -> None:
    with pytest.raises(CommandError):
        parse_plan_context(text)


def test_people_are_left_out_of_the_plan_until_they_keep_the_rules(board: Clone) -> None:
    tasks, reasons = planned(board, TERMS)

    assert tasks == set()
    assert "the terms are not accepted" in reasons[0]


def test_a_preview_says_what_is_too_late_and_plays_the_rest(tmp_path: Path) -> None:
    context = PreviewBoard(tmp_path)
    (context.main.path / "challenge.yml").write_bytes(CHALLENGE.rstrip() + b"\n" + OVER)
    context.change(agent_files("alice"))

    preview = context.run()

    assert [result.task for result in preview.agents[0].results] == ["FrozenLake-v1"]
    assert "too late: phase 'warm-up' ended 2020-01-01 00:00 UTC" in context.said()


def test_a_preview_tells_the_people_s_faults_with_their_line_and_plays_nothing(tmp_path: Path) -> None:
    context = PreviewBoard(tmp_path)
    (context.main.path / "challenge.yml").write_bytes(CHALLENGE.rstrip() + b"\n" + TERMS)
    context.change(agent_files("alice"))

    (agent,) = context.run().agents

    assert agent.results == ()
    assert agent.faults[0].startswith("submissions/alice/a/submission.yml:1: the terms are not accepted")


def test_a_preview_refuses_a_new_version_that_names_somebody_of_another_team(tmp_path: Path) -> None:
    context = PreviewBoard(tmp_path)
    (context.main.path / "challenge.yml").write_bytes(CHALLENGE.rstrip() + b"\npeople: {one_team_each: true}\n")
    context.change(agent_files("alice", manifest=MANIFEST + b'authors: ["@bob"]\n'))

    (agent,) = context.run().agents

    assert agent.results == ()
    assert "@bob is in another team already" in agent.faults[0]


QUOTA = b"quota: {per_day: 1}\n"


def test_a_merge_over_the_quota_is_told_when_it_renews_and_is_not_done(scene: Scene) -> None:
    put(scene.clone, QUOTA)
    scene.clone.push()
    scene.bring()
    scene.merge()
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    earlier = replace(scene.entry(scene.clone.head), digest=make.digest("before"))
    scene.record(make.result(earlier, (9.0, 11.0), on=POLE, at=now))

    assert announce_official_scores.announce_merged(scene.context("push")) == 0

    body = "\n".join(scene.bodies())
    assert "Not evaluated now" in body
    assert "quota: 1 of 1 today; renews" in body
    assert "There is nothing to do" not in body
    assert scene.world.labelled.get(7, []) == []


def test_a_merge_that_came_too_late_is_told_so_and_what_counts_is_still_awaited(scene: Scene) -> None:
    put(scene.clone, OVER)
    scene.clone.push()
    scene.bring()
    scene.merge()

    assert announce_official_scores.announce_merged(scene.context("push")) == 0

    body = "\n".join(scene.bodies())
    assert "too late: phase 'warm-up' ended 2020-01-01 00:00 UTC" in body
    assert "FrozenLake" in body.split("Not yet recorded")[1].split("Not evaluated now")[0]


HIDDEN = b"""phases:
  - {id: final, name: Final, public_from: %s, tasks: [CartPole-v1, FrozenLake-v1]}
"""


def test_a_merge_after_the_end_of_submissions_is_told_that_it_takes_no_part(scene: Scene) -> None:
    put(scene.clone, b'final: "1"\n')
    scene.clone.push()
    scene.bring()
    scene.merge()
    context = scene.context("push")

    before = rules_before_merge(context.recorded, ["alice"], context.now, context.github.is_member)
    announce_official_scores.announce_merged(scene.context("push"))

    (body,) = scene.bodies()
    late = "too late: the submissions of season 1 have ended, so this version takes no part in it"
    assert before == (late,)
    assert late.replace("too late: ", "") in body
    assert 7 not in scene.world.labelled


SECRET = SeasonSecret(bytes(range(32)))


def test_a_merge_after_the_reveal_of_a_sealed_season_is_told_that_it_takes_no_part(scene: Scene) -> None:
    sealed = b"seeds: sealed\nsealed: {secret_sha256: %s, decimals: 0}\n" % SECRET.sha256.encode()
    put(scene.clone, QUOTA + sealed)
    scene.clone.push()
    news = RevealedSecret(secret=SECRET.raw.hex(), at="2026-06-01T00:00:00Z", commit=scene.clone.head)
    file = scene.clone.path / "results" / SEASON_FILE
    file.parent.mkdir(exist_ok=True)
    scene.bring()
    scene.merge()
    context = scene.context("push")
    (before,) = rules_before_merge(context.recorded, ["alice"], context.now, context.github.is_member)
    file.write_bytes(SeasonFile(seasons=(SeasonEntry(season="1", revealed=news),)).serialised())
    context = scene.context("push")

    after = rules_before_merge(context.recorded, ["alice"], context.now, context.github.is_member)
    announce_official_scores.announce_merged(context)

    (body,) = scene.bodies()
    late = "too late: the submissions of season 1 have ended, so this version takes no part in it"
    assert "1 of 1 versions left today" in before
    assert after == (late,)
    assert late.replace("too late: ", "") in body
    assert 7 not in scene.world.labelled


OTHER = b"class Agent:\n    def act(self, o):\n        return 1\n"


def ended(scene: Scene) -> Scene:
    """Alice's version stands at the end with a live and a final draw, carol's with a final draw; then main changes."""
    scene.bring()
    scene.merge()
    scene.clone.commit(agent_files("carol", "c", OTHER + b"# carol\n"))
    alice, carol = scene.entry(scene.clone.head), scene.entry(scene.clone.head, "carol", "c")
    put(scene.clone, b'final: "1"\n')
    final = scene.clone.head
    scene.record(make.result(alice, (400.0, 402.0), on=POLE, beacon=scene.world.pulls[7].merge_commit_sha))
    for entry, returns in ((alice, (9.0, 11.0)), (carol, (99.0, 101.0))):
        scene.record(*(make.result(entry, returns, on=task, beacon=final) for task in (POLE, LAKE)))
    scene.clone.commit({**agent_files("alice", source=OTHER), **dict.fromkeys(agent_files("carol", "c"))})
    scene.clone.push()
    return scene


def test_after_the_end_comments_rank_the_versions_that_stood_then_as_the_site_does(scene: Scene) -> None:
    """Although main has another version of alice's agent by now, and carol's no more."""
    context = ended(scene).context("push")

    announce_official_scores.announce_merged(context)

    site = rank_recorded(recorded_input(context.checkout, official=True), official=True)
    assert [(row.entry.login, row.place) for row in site.tasks[0].rows] == [("carol", 1), ("alice", 2)]
    assert context.recorded.standings.tasks == site.tasks
    (body,) = scene.bodies()
    shown = body.replace("\N{NO-BREAK SPACE}", " ")
    assert "🏁 Official: all 2 evaluations scored" in shown
    assert shown.count("**2** of 2") == 2
    assert "to `carol/c`" in shown
    assert scene.world.labelled[7] == ["official"]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_score_on_a_hidden_board_is_told_when_the_board_is_shown(scene: Scene, replaced: bool) -> None:
    put(scene.clone, HIDDEN % b"2999-01-01T00:00:00Z")
    scene.clone.push()
    scene.bring()
    scene.merge()
    entry = scene.entry(scene.clone.head)
    scene.record(*(make.result(entry, (9.0, 11.0), on=task) for task in (POLE, LAKE)))
    if replaced:
        scene.clone.commit(agent_files("alice", source=b"class Agent:\n    def act(self, o):\n        return 1\n"))
        scene.clone.push()
    announce_official_scores.announce_merged(scene.context("push"))
    before, labels = "\n".join(scene.bodies()), list(scene.world.labelled.get(7, []))
    put(scene.clone, HIDDEN % b"2020-01-01T00:00:00Z")
    announce_official_scores.announce_merged(scene.context("push", run_id=501))

    assert "🔒 Official: recorded, and shown when the leaderboard is public" in before
    assert "10.0" not in before
    assert labels == []
    assert "🏁 Official: all 2 evaluations scored" in "\n".join(scene.bodies())
    assert scene.world.labelled[7] == ["official"]


def test_a_merge_of_a_member_whom_only_the_plan_could_see_is_not_called_a_stranger(scene: Scene) -> None:
    put(scene.clone, TEAM)
    scene.clone.push()
    scene.bring()
    scene.merge()
    context = scene.context("push")
    handed = PlanContext(now=context.now, members={"lab/rl": frozenset(["alice"])})

    announce_official_scores.announce_merged(replace(context, members=parse_plan_context(handed.serialised()).members))
    member = "\n".join(scene.bodies())
    announce_official_scores.announce_merged(replace(context, members={"lab/rl": frozenset()}))
    stranger = "\n".join(scene.bodies())

    assert "not allowed" not in member
    assert "CartPole" in member.split("Not yet recorded")[1]
    assert "not allowed: phase" in stranger


def test_outlook_tells_what_merging_now_would_mean(scene: Scene) -> None:
    put(scene.clone, TEAM + QUOTA + b"people: {ban: [{login: mallory, why: ran a miner}]}\n")
    scene.clone.push()
    context = scene.context("schedule")

    alice = rules_before_merge(context.recorded, ["alice"], context.now, context.github.is_member)
    scene.world.teams["lab/rl"] = {"alice": "active"}
    member = rules_before_merge(context.recorded, ["alice"], context.now, context.github.is_member)
    (ban, *_) = rules_before_merge(context.recorded, ["Mallory"], context.now, context.github.is_member)

    assert [line.split(":")[0] for line in alice] == ["not seen", "quota"]
    assert "is for the members of lab/rl; this comment can see public membership" in alice[0]
    assert [line.split(":")[0] for line in member] == ["quota"]
    assert "1 of 1 versions left today, renews" in member[0]
    assert "mallory may not take part: ran a miner" in ban


@pytest.mark.attack(
    "merges_that_are_never_done", family="bot", outcome="what all share is read once",
    tries="Has a hundred merges wait for a quota or a team for ever; for each, all agents' files are read in every hour.",
)  # fmt: skip
@pytest.mark.parametrize("rule", [QUOTA, TEAM])
def test_merges_that_wait_have_the_agents_read_and_github_asked_once(
    scene: Scene, rule: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the check whether something is due, and the plan, would outlast their jobs: no official run begins."""
    put(scene.clone, rule)
    scene.clone.push()
    for number in (7, 8, 9):
        scene.bring(number, "alice", f"a{number}", b"x = %d\n" % number)
        scene.merge(number)
    walks = []
    original = beacons.FolderHistory.digests
    monkeypatch.setattr(beacons.FolderHistory, "digests", lambda *given: walks.append(given) or original(*given))
    announce_official_scores.announce_merged(scene.context("push"))
    walks.clear()
    before = len(scene.standin.made())

    assert list(announce_official_scores.pulls_with_news(scene.context("schedule", run_id=501))) == []
    assert len([names for _, names in walks if names]) == 1
    assert len([line for line in scene.standin.made()[before:] if "/memberships/" in line]) <= 1
