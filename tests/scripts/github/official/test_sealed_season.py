"""A sealed season from plan to pages, with real agents: nothing carries the episodes out; the reveal opens it all."""

import base64
import dataclasses
import html
import io
import json
import shutil
import subprocess
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaluator.host.deterministic import pinned_variables
from evaluator.host.docker.agent_image import trim_images
from evaluator.host.docker.engine import StoredImage
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.host.seeds.encryption import decrypt_result
from evaluator.host.seeds.season_secret import SECRET_VARIABLE, SeasonSecret
from evaluator.host.usage import MIB
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission_limits import KEPT_IMAGES_MIB
from evaluator.model.records.parse import parse_result
from evaluator.model.records.preview import Preview
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import SandboxKind
from evaluator.model.records.verdict import Verdict
from leaderboard.api.rank_json import standings_document
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.comments import render_comment
from leaderboard.comments.comment_standings import official_state, preview_state
from leaderboard.comments.comment_states import CommentContext
from leaderboard.core.store import ResultStore
from leaderboard.pages.render_pages import render_pages
from leaderboard.scoring.metrics import is_missing
from leaderboard.site_context import SiteContext
from scripts.commands import bot
from scripts.console import CommandError
from scripts.git.data_branches import export_files, results_commit
from scripts.github.official import check_shards, evaluate_shard, plan_shards, publish_round
from scripts.github.official.round_work import OfficialRun, read_round_work
from scripts.github.preview.preview_artifact import ArtifactError, read_artifact
from scripts.github.workflow import sealed_jobs
from scripts.github.workflow.sealed_jobs import JOB_SLOT_SECONDS
from scripts.maintenance import record_season
from scripts.repository.checkout import Checkout
from scripts.repository.layout import RESULTS_BRANCH
from scripts.repository.season_file import RevealedSecret, SeasonEntry
from scripts.standings.recorded_standings import recorded_standings
from scripts.verification.verify_records import VerificationJob, verify_file, verify_files
from tests.leaderboard import make
from tests.scripts.github.remotes import Clone, agent_files, git, make_board, origin_branch
from tests.scripts.github.rounds import Round, evaluator_of, open_run

SECRET = SeasonSecret(bytes(range(32)))
CHALLENGE = f"""title: Test
season: "1"
quota: {{per_day: 3}}
seeds: sealed
sealed: {{secret_sha256: {SECRET.sha256}, decimals: 0}}
tasks:
  - {{id: CartPole-v1, episodes: 3}}
  - {{id: FrozenLake-v1, script: {{steps: 400, last: 3, worst: 0}}}}
""".encode()
OPENED = CHALLENGE[: CHALLENGE.index(b"seeds")] + CHALLENGE[CHALLENGE.index(b"tasks") :]
# Writes what it sees wherever it can: to its log, into the time it takes, and into the number of its steps. The colons keep
# the word from coming up by chance, as four letters do in Base64.
PROBE = b"""
import time
class Agent:
    def __init__(self, seed):
        print(":MARK: seed", seed, flush=True)
    def act(self, observation):
        print(":MARK:", observation.tolist(), flush=True)
        time.sleep(0.02 if observation[0] > 0 else 0)
        return int(observation[2] > 0)
"""
SHOUT = b"""
class Agent:
    def act(self, observation):
        raise ValueError(f":MARK: {observation.tolist()}")
"""
SCRIPT = b"""
import sys
import gymnasium
env = gymnasium.make(sys.argv[1])
for _ in range(5):
    state, _ = env.reset()
    over = False
    while not over:
        state, _, ended, cut, _ = env.step((state + 1) % 4)
        over = ended or cut
print(':MARK:', state)
print('{"score": 0.123456789}')
"""
SCRIPT_FILES: dict[str, bytes | None] = {
    "submissions/erin/s/submission.py": SCRIPT,
    "submissions/erin/s/submission.yml": b"name: S\nalgorithm: none\nkind: script\nmain_file: submission.py\n",
}


@dataclasses.dataclass
class Clock:
    """Stands for the module `time`: only sleeping takes time."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def run_with(clone: Clone, secret: str = SECRET.raw.hex()) -> OfficialRun:
    return dataclasses.replace(open_run(clone), secret=secret)


def plan_sealed(clone: Clone, place: Path) -> Round:
    git(clone.path, "checkout-index", "-f", "challenge.yml")
    return Round(clone, run_with(clone), plan_shards.plan_shards(open_run(clone)), place)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Round:
    """A round with a probe, one that shouts, and a plain agent: played, checked and recorded."""
    place = tmp_path_factory.mktemp("sealed")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in pinned_variables().items():
            patch.setenv(name, value)
        clone = make_board(place / "board", {"challenge.yml": CHALLENGE})
        clone.commit({**agent_files("alice", "probe", PROBE), **agent_files("bob", "shout", SHOUT)})
        clone.commit({**agent_files("carol"), **SCRIPT_FILES})
        clone.push()
        git(clone.path, "reset", "-q", "--hard")
        begun = plan_sealed(clone, place / "in")
        for shard in begun.planned.shards:
            begun.evaluate(shard)
        checked = begun.check()
        assert checked.refused == ()
        assert len(begun.record().recorded) == 4
    return begun


def open_board(played: Round, place: Path, *, revealed: bool) -> Checkout:
    """A clone of the board with the branches checked out."""
    shutil.copytree(played.clone.path, place / "clone")
    board = Checkout(place / "clone")
    export_files(played.clone.repository, results_commit(played.clone.repository), board.root / "results")
    origin = played.clone.path.parent / "origin.git"
    packed = subprocess.run(["git", "-C", str(origin), "archive", "traces-1"], capture_output=True, check=True).stdout
    (board.root / "traces").mkdir()
    subprocess.run(["tar", "-x", "-C", str(board.root / "traces")], input=packed, check=True)
    if revealed:
        record_season.record_locally(board, reveal)
        board = Checkout(place / "clone")
    return board


def reveal(entry: SeasonEntry) -> SeasonEntry:
    news = RevealedSecret(secret=SECRET.raw.hex(), at="2026-06-01T00:00:00Z")
    return entry.model_copy(update={"revealed": news})


def test_every_entry_plays_the_same_episodes_and_none_knows_its_own_seed(played: Round, tmp_path: Path) -> None:
    board = open_board(played, tmp_path, revealed=True)
    results = {result.login: result for result in board.recorded[0]}

    assert results["alice"].seeds == results["carol"].seeds == SECRET.episode_seeds("1", "CartPole-v1", 3)
    assert results["alice"].beacon == f"sealed-{SECRET.sha256}"
    assert ":MARK: seed" not in results["carol"].log_tail
    assert SECRET.agent_seeds("1", "a" * 64, "t", 3) != SECRET.agent_seeds("1", "b" * 64, "t", 3)


def test_what_is_public_carries_no_episode(played: Round) -> None:
    handed = [p for p in played.place.rglob("*") if p.is_file()]
    branch = origin_branch(played.clone, RESULTS_BRANCH)
    traces = origin_branch(played.clone, "traces-1")
    seeds = SECRET.episode_seeds("1", "CartPole-v1", 3)
    everything = [*(p.read_bytes() for p in handed), *branch.values(), *traces.values()]
    public = [parse_result(content) for content in branch.values()]

    assert len(handed) >= 8
    assert not [c for c in everything if b":MARK:" in c or b"0.1234" in c or any(seed.encode() in c for seed in seeds)]
    for result in public:
        assert (result.seeds, result.returns, result.lengths, result.metrics, result.log_tail, result.message) == (
            (), (), (), {}, "", "",
        )  # fmt: skip
        assert (result.cost.steps, result.cost.peak_memory_bytes, result.script) == (0, None, None)
        assert result.cost.wall_seconds in (60, 240, 960, 3840)
        assert result.provenance.evaluated_at.endswith(":00:00Z")
    assert {r.login: r.verdict for r in public} == {
        "alice": Verdict.OK, "bob": Verdict.CRASHED, "carol": Verdict.OK, "erin": Verdict.OK,
    }  # fmt: skip
    assert all(r.sealed and r.sealed.score == round(r.sealed.score) for r in public if r.verdict is Verdict.OK)


def test_how_much_an_agent_wrote_does_not_show_in_the_size(played: Round) -> None:
    sizes = {len(base64.b64decode(json.loads(content)["sealed"]["ciphertext"])) for content in played_results(played)}
    traces = {len(json.loads(content)["ciphertext"]) for content in origin_branch(played.clone, "traces-1").values()}

    assert sizes == {(1 << 14) + 16}
    assert len(traces) == 1


def played_results(played: Round) -> list[bytes]:
    return list(origin_branch(played.clone, RESULTS_BRANCH).values())


def test_the_public_log_of_a_shard_says_nothing_of_the_agents(played: Round, capsys: pytest.CaptureFixture[str]) -> None:
    again = dataclasses.replace(played, place=played.place.parent / "again")
    again.evaluate(0)
    printed = capsys.readouterr()

    assert printed.out + printed.err == ""


@pytest.mark.attack(
    "tells_the_neighbour_what_it_sees", family="cheating", outcome="in a sealed season no agent runs beside another",
    tries="Tells an agent that is evaluated side by side, by timing, of the sealed episodes that both play.",
)  # fmt: skip
@pytest.mark.parametrize("rules", [CHALLENGE, OPENED])
def test_sealed_evaluations_are_played_one_after_the_other(
    rules: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = make_board(
        tmp_path / "board", {"challenge.yml": rules, **agent_files("alice"), **agent_files("bob", source=PROBE)}
    )
    board.push()
    git(board.path, "reset", "-q", "--hard")
    begun, asked = plan_sealed(board, tmp_path / "in"), []
    monkeypatch.setattr(evaluate_shard, "run_jobs", lambda jobs, at_once, **options: asked.append(at_once) or iter(()))

    evaluate_shard.evaluate_shard(begun.run, evaluator_of(board.path), begun.assignment(), tmp_path / "out", at_once=4)

    assert asked == [1 if rules is CHALLENGE else 4]


@pytest.mark.attack(
    "tells_the_next_agent_what_it_saw", family="cheating", outcome="in a sealed season each agent has a machine of its own",
    tries="Leaves thousands of bits about the sealed episodes in the kernel's memory, for the next agent on its machine.",
)  # fmt: skip
@pytest.mark.parametrize(("rules", "sizes"), [(CHALLENGE, [1, 1, 1]), (OPENED, [1, 2])])
def test_sealed_agents_share_no_machine(rules: bytes, sizes: list[int], tmp_path: Path) -> None:
    """Which names of files an agent looked for in vain is shown by timing to whoever comes later on that machine."""
    agents = {**agent_files("alice"), **agent_files("alice", "b", PROBE), **agent_files("bob", source=SHOUT)}
    board = make_board(tmp_path / "board", {"challenge.yml": rules, **agents})
    board.push()
    git(board.path, "reset", "-q", "--hard")

    work = read_round_work(run_with(board), board.head, "")

    shards = [{work.items[index].players[0].name for index in shard} for shard in work.packing.shards]
    assert sorted(map(len, shards)) == sizes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(sealed_jobs, "time", clock)
    return clock


@pytest.mark.parametrize(("rules", "length"), [(CHALLENGE, 2 * JOB_SLOT_SECONDS), (OPENED, 0.0)])
def test_a_job_ends_at_full_multiples_only(
    rules: bytes, length: float, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it fails: what makes it fail may be the agent's."""
    board = make_board(tmp_path, {"challenge.yml": rules})
    git(board.path, "reset", "-q", "--hard")
    work = SimpleNamespace(workspace=board.path, event_name="")
    for name in ("official_run_of_step", "open_evaluator", "required_secret"):
        monkeypatch.setattr(bot, name, lambda *given, **named: run_with(board))
    monkeypatch.setattr(bot, "_environment", lambda: work)

    def fail(*given: object, **named: object) -> None:
        clock.now += 1.25 * JOB_SLOT_SECONDS if length else 0.0
        raise CommandError(1, "a result cannot be written")

    monkeypatch.setattr(evaluate_shard, "evaluate_shard", fail)
    with pytest.raises(CommandError, match="cannot be written"):
        bot.evaluate(shard=0, shards=1, sha=board.head, out=tmp_path / "out")

    assert clock.now == length


@pytest.mark.attack(
    "sealed_episodes_that_replay_slowly", family="cheating", outcome="replays last a full multiple of ten minutes",
    tries="Makes its sealed episodes long or short where no score shows it, and is read in the time that replays take.",
)  # fmt: skip
def test_how_long_the_replays_of_a_sealed_season_take_is_not_public(
    played: Round, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original, said = publish_round.check_shards, list[float]()

    def check(*given: Any) -> check_shards.CheckedShards:
        clock.now += 7.5
        return original(*given)

    monkeypatch.setattr(publish_round, "check_shards", check)
    monkeypatch.setattr(publish_round, "say", lambda line: said.append(clock.now))
    monkeypatch.setattr(publish_round, "open_github", lambda environment: None)
    work: Any = SimpleNamespace(workspace=played.clone.path, output_path=None)
    publish_round.publish_round(
        played.run, played.assignment(), [played.place], tmp_path, work, {publish_round.PublishStep.CHECK}
    )

    assert said == [JOB_SLOT_SECONDS]


@pytest.mark.attack(
    "sealed_image_that_is_fetched_for_each_task", family="images", outcome="refused where seeds are sealed",
    tries="Is an image larger than all that stay: its registry sees, by the next task's fetch, when a sealed one ended.",
)  # fmt: skip
def test_an_image_of_a_sealed_season_is_fetched_once() -> None:
    def rules(mib: int) -> bytes:
        return CHALLENGE + f"submissions: {{image_mib: {mib}}}\n".encode()

    most = parse_challenge(rules(KEPT_IMAGES_MIB)).submissions.image_mib
    stored = [StoredImage(name="alice", size=most * MIB, used="now"), StoredImage(name="bob", size=1, used="earlier")]
    engine: Any = SimpleNamespace(stored=lambda repository: stored[::-1], remove_image=lambda name: None)

    assert trim_images(engine) == ["bob"]
    with pytest.raises(LoadError, match="sealed seeds need an 'image_mib' of at most 4096: a larger one is fetched anew"):
        parse_challenge(rules(most + 1))


def test_publish_seals_anew_with_what_only_github_tells(played: Round) -> None:
    handed = {r.login: r for r in map(parse_result, (p.read_bytes() for p in shard_results(played)))}
    recorded = {r.login: r for r in map(parse_result, played_results(played))}

    assert (handed["alice"].login_id, recorded["alice"].login_id) == (None, 11)
    assert len({one.sealed.nonce for one in (handed["alice"], recorded["alice"]) if one.sealed}) == 2
    assert decrypt_result(recorded["alice"], SECRET).returns == decrypt_result(handed["alice"], SECRET).returns


def shard_results(played: Round) -> list[Path]:
    return [p for shard in played.planned.shards for p in (played.folder(shard) / "results").rglob("*.json")]


def test_what_is_recorded_is_not_wanted_again_and_a_version_more_changes_no_episode(played: Round) -> None:
    work = read_round_work(open_run(played.clone), played.clone.head, results_commit(played.clone.repository))

    assert work.items == ()


@pytest.mark.parametrize(
    ("secret", "why"),
    [("", "is not set"), ("00" * 32, "is not the secret whose hash"), ("secret", "is not 64 hex digits")],
)
def test_a_wrong_secret_is_refused_before_anything_is_played_or_believed(
    played: Round, tmp_path: Path, secret: str, why: str
) -> None:
    run = run_with(played.clone, secret)
    out = tmp_path / "out"

    with pytest.raises(CommandError, match=why):
        evaluate_shard.evaluate_shard(run, evaluator_of(played.clone.path), played.assignment(), out)
    with pytest.raises(CommandError, match=why):
        check_shards.check_shards(run, played.assignment(), [played.place], tmp_path / "accepted", datetime.now(UTC))
    assert not out.exists()


@pytest.mark.parametrize("other", [CHALLENGE.replace(SECRET.sha256.encode(), b"ab" * 32), OPENED])
def test_a_hash_that_changes_in_a_season_ends_the_plan(played: Round, tmp_path: Path, other: bytes) -> None:
    shutil.copytree(played.clone.path.parent, tmp_path / "board")
    clone = Clone(tmp_path / "board" / "clone")
    git(clone.path, "remote", "set-url", "origin", str(tmp_path / "board" / "origin.git"))
    clone.commit({"challenge.yml": other})

    with pytest.raises(CommandError, match=r"season 1 has results of other episodes: .*give the season another name"):
        read_round_work(open_run(clone), clone.head, results_commit(clone.repository))


@pytest.mark.attack(
    "season_with_a_published_secret", family="cheating", outcome="nothing is planned",
    tries="Computes the episodes of a new season from the secret of the last one, which its hosts wrote down again.",
)  # fmt: skip
@pytest.mark.parametrize("is_recorded", [False, True])
def test_a_season_does_not_have_the_secret_of_another(played: Round, tmp_path: Path, is_recorded: bool) -> None:
    """The secret is public since the reveal, and may be written down again for the next season as all else is."""
    shutil.copytree(played.clone.path.parent, tmp_path / "board")
    clone = Clone(tmp_path / "board" / "clone")
    git(clone.path, "remote", "set-url", "origin", str(tmp_path / "board" / "origin.git"))
    clone.commit({"challenge.yml": CHALLENGE.replace(b'season: "1"', b'season: "2"')})
    if not is_recorded:  # An earlier season nobody entered.
        git(clone.path, "push", "-q", "origin", ":results")
        record_season.record_on_branch(clone.repository, "1", reveal, "reveal season 1", datetime.now(UTC))

    with pytest.raises(CommandError, match=r"season 2 has the secret of season 1, .*run 'pullrank season seal'"):
        read_round_work(open_run(clone), clone.head, results_commit(clone.repository))


def test_a_preview_refuses_the_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, SECRET.raw.hex())

    with pytest.raises(CommandError, match="set in a preview, which must not know it"):
        bot.preview(head=tmp_path, out=tmp_path / "out")


def test_a_forged_score_and_a_changed_byte_are_refused(played: Round, tmp_path: Path) -> None:
    shutil.copytree(played.place, tmp_path / "in")
    begun = dataclasses.replace(played, place=tmp_path / "in")
    path = next(p for p in shard_results(begun) if "alice" in str(p))
    document = json.loads(path.read_bytes())
    document["sealed"]["ciphertext"] = document["sealed"]["ciphertext"][:-8] + "AAAAAAA="
    path.write_bytes(Result.with_self_hash(document).serialised())
    checked = begun.check()

    assert [line for line in checked.refused if "alice" in line and "does not verify" in line]
    accepted = {record.login: record for record in checked.accepted if not hasattr(record, "players")}
    assert accepted["alice"].verdict is Verdict.INTERNAL_ERROR
    assert accepted["alice"].message == ""
    assert decrypt_result(accepted["alice"], SECRET).message.startswith("publish refused it")


def copied(played: Round, tmp_path: Path) -> Round:
    """The played round with files of its own, to be spoilt."""
    shutil.copytree(played.place, tmp_path / "in", ignore=shutil.ignore_patterns("accepted"))
    return Round(played.clone, played.run, played.planned, tmp_path / "in")


@pytest.mark.parametrize("spoil", ["folder", "trace-folder", "no-number", "cut"])
def test_one_surprising_file_of_a_sealed_season_costs_that_result_alone(played: Round, tmp_path: Path, spoil: str) -> None:
    begun = copied(played, tmp_path)
    place = {"trace-folder": "traces", "no-number": "traces", "cut": "traces"}.get(spoil, "results")
    path = next(begun.place.glob(f"shard-*/{place}/CartPole-v1/alice/*/*.json"))
    content = path.read_bytes()
    path.unlink()
    if "folder" in spoil:
        path.mkdir()
    else:
        path.write_bytes(content[:-9] if spoil == "cut" else b'{"schema": 1, "nonce": 7, "ciphertext": [1]}')
    checked = begun.check()

    assert len(checked.refused) == 1
    assert sorted(record.verdict for record in checked.accepted).count(Verdict.INTERNAL_ERROR) == 1
    assert len(checked.accepted) == 4


def test_what_cannot_be_sealed_costs_that_result_alone(
    played: Round, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, real = copied(played, tmp_path), check_shards.sealed_record

    def sealing(challenge: Challenge, secret: SeasonSecret, result: Result, trace: bytes | None) -> Any:
        if result.login == "alice" and result.verdict is Verdict.OK:
            raise ValueError("it was not played with that secret")
        return real(challenge, secret, result, trace)

    monkeypatch.setattr(check_shards, "sealed_record", sealing)
    checked = begun.check()

    assert [line.partition(": ")[2] for line in checked.refused] == ["cannot be sealed"]
    assert [record.verdict for record in checked.accepted if record.login == "alice"] == [Verdict.INTERNAL_ERROR]
    assert len(checked.accepted) == 4


@pytest.mark.attack(
    "sealed_script_without_a_value", family="cheating", outcome="ok, without a score, once and for all",
    tries="Reaches no threshold when it learnt badly, so that its sealed result has no score, and is run again.",
)  # fmt: skip
def test_a_sealed_result_without_a_value_to_rank_by_counts_and_is_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a failure of ours: played three times, and no quota knew of it."""
    for name, value in pinned_variables().items():
        monkeypatch.setenv(name, value)
    metric = b"metrics: [{name: speed, kind: steps_to_threshold, threshold: 2, direction: lower}], script: {steps"
    clone = make_board(tmp_path / "board", {"challenge.yml": CHALLENGE.replace(b"script: {steps", metric)})
    clone.commit({**agent_files("zoe"), **SCRIPT_FILES})
    clone.push()
    git(clone.path, "reset", "-q", "--hard")
    begun = plan_sealed(clone, tmp_path / "in")

    for shard in begun.planned.shards:
        begun.evaluate(shard)
    checked = begun.check()

    assert checked.refused == ()
    assert {record.login: record.verdict for record in checked.accepted} == {"erin": Verdict.OK, "zoe": Verdict.OK}
    shown = {record.login: record.sealed for record in checked.accepted if isinstance(record, Result)}
    assert shown["erin"] is not None
    assert shown["zoe"] is not None
    assert (shown["erin"].score, shown["zoe"].score is None) == (None, False)
    begun.record()
    assert read_round_work(open_run(clone), clone.head, results_commit(clone.repository)).items == ()
    table = recorded_standings(open_board(begun, tmp_path, revealed=False), official=False)
    assert [(row.entry.login, is_missing(row.estimate.score)) for row in table.tasks[1].rows] == [("erin", True)]


def test_until_the_reveal_the_board_ranks_rounded_scores_without_intervals(played: Round, tmp_path: Path) -> None:
    board = open_board(played, tmp_path, revealed=False)
    table = recorded_standings(board, official=False)
    task = table.tasks[0]
    pages = html.unescape("".join(render_pages(table, SiteContext(generated_at="now")).values()))

    assert [row.entry.login for row in task.rows] == ["alice", "carol"]
    assert all(row.estimate.low != row.estimate.low and row.rank_high == len(task.rows) for row in task.rows)
    assert "This season is sealed." in pages
    assert ":MARK:" not in pages
    json.dumps(standings_document(table), allow_nan=False)


@pytest.fixture
def _any_sandbox_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """What these rounds are played in is not official anywhere else."""
    monkeypatch.setattr(SandboxKind, "is_official", property(lambda kind: True))

    def rules_of(text: bytes) -> Challenge:
        rules = parse_challenge(text)
        return rules.model_copy(update={"runners": rules.runners.model_copy(update={"sandbox": SandboxKind.PROCESS})})

    monkeypatch.setattr("scripts.git.main_entries.parse_challenge", rules_of)


@pytest.mark.usefixtures("_any_sandbox_ranks")
def test_before_the_reveal_verification_says_that_it_cannot_know(played: Round, tmp_path: Path) -> None:
    board = open_board(played, tmp_path, revealed=False)

    findings = verify_files(board.challenge, board.store, board.store.files(), quiet=True)

    assert {finding.status for finding in findings} == {VerificationStatus.SEALED}


@pytest.mark.usefixtures("_any_sandbox_ranks")
def test_after_the_reveal_everything_verifies_and_the_board_has_its_returns(played: Round, tmp_path: Path) -> None:
    board = open_board(played, tmp_path, revealed=True)
    findings = verify_files(board.challenge, board.store, board.store.files(), quiet=True)
    table = recorded_standings(board, official=False)
    task = table.tasks[0]
    pages = html.unescape("".join(render_pages(table, SiteContext(generated_at="now")).values()))

    assert {finding.status for finding in findings} == {VerificationStatus.VERIFIED}
    assert sum(finding.steps for finding in findings) > 0
    assert all(row.estimate.low <= row.estimate.score <= row.estimate.high for row in task.rows)
    assert "This season is sealed." not in pages
    assert ":MARK:" in pages
    assert [failure.result.message.count(":MARK:") for failure in task.failures] == [1]


def test_a_public_score_that_is_not_that_of_its_episodes_is_found_out_at_the_reveal(played: Round, tmp_path: Path) -> None:
    board = open_board(played, tmp_path, revealed=True)
    path = next(p for p in board.store.files() if "carol" in str(p))
    document = json.loads(path.read_bytes())
    document["sealed"]["score"] = 500.0
    path.write_bytes(Result.with_self_hash(document).serialised())

    (finding,) = verify_files(board.challenge, board.store, [path], quiet=True)

    assert finding.status is VerificationStatus.REFUTED
    assert "score" in finding.faults[0]


def test_the_reveal_on_the_branch_ends_the_plan(played: Round, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(played.clone.path.parent, tmp_path / "board")
    clone = Clone(tmp_path / "board" / "clone")
    git(clone.path, "remote", "set-url", "origin", str(tmp_path / "board" / "origin.git"))
    clone.commit(agent_files("dora"))
    before = read_round_work(open_run(clone), clone.head, results_commit(clone.repository))
    record_season.record_on_branch(clone.repository, "1", reveal, "reveal season 1", datetime.now(UTC))
    after = read_round_work(open_run(clone), clone.head, results_commit(clone.repository))

    assert (len(before.items), len(after.items)) == (1, 0)
    assert "was revealed" in capsys.readouterr().err
    assert ResultStore(results=tmp_path / "r", traces=tmp_path / "t").read() == ([], [])
    assert export_files(clone.repository, results_commit(clone.repository), tmp_path / "r") == 5
    assert (tmp_path / "r" / "season.json").exists()


def test_the_comments_say_what_is_sealed(played: Round, tmp_path: Path) -> None:
    board = open_board(played, tmp_path, revealed=False)
    entries = tuple(submission.entry() for submission in board.read_all()[0] if submission.login != "local")
    promoted = [Result.with_self_hash({**result.document(), "sandbox": "docker"}) for result in board.recorded[0]]
    recorded = RecordedLeaderboard(challenge=board.challenge, entries=entries, results=tuple(promoted))
    (probe,) = (entry for entry in entries if entry.login == "alice")
    context = CommentContext(run_id=1, repository="https://github.example/o/b")
    comment = render_comment.render_comment(official_state(recorded, [("alice", "probe")], "1" * 40), context)
    plain = make.result(probe, [9.0, 10.0, 11.0], on=board.challenge.tasks[0], sandbox="process", **{"class": "preview"})
    agent = {
        "login": "alice",
        "agent": "probe",
        "submission_digest": probe.digest,
        "name": "P",
        "results": [plain.document()],
    }
    document = {"schema": 1, "head_sha": "2" * 40, "evaluator_sha": "3" * 40, "agents": [agent]}
    guessed = render_comment.render_comment(preview_state(Preview.model_validate(document), recorded, run_url=None), context)

    assert "on the secret episodes of this season, which are the same for everybody" in comment
    assert "merge commit" not in comment
    assert "pullrank verify" not in comment
    assert ":MARK:" not in comment
    assert "the secret episodes of this season, which a preview never uses: the place is an estimate" in guessed


def test_a_preview_that_says_it_is_sealed_is_not_believed(played: Round) -> None:
    (content,) = (c for name, c in origin_branch(played.clone, RESULTS_BRANCH).items() if "alice" in name)
    result = {**json.loads(content), "class": "preview"}
    forged = Result.with_self_hash({**result, "sealed": {**result["sealed"], "score": 1e9}}).document()
    agent = {"login": "alice", "agent": "probe", "submission_digest": result["submission_digest"], "name": "P"}
    document = {"schema": 1, "head_sha": "2" * 40, "evaluator_sha": "3" * 40, "agents": [{**agent, "results": [forged]}]}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("preview.json", json.dumps(Preview.model_validate(document).document()))

    with pytest.raises(ArtifactError, match="no preview has a season's secret"):
        read_artifact(packed.getvalue())


def test_a_sealed_result_is_filled_in_and_opens_as_before(tmp_path: Path) -> None:
    clone = make_board(tmp_path / "board", {"challenge.yml": CHALLENGE, **agent_files("alice")})
    silent = dataclasses.replace(run_with(clone), ask=lambda shas: {})
    planned = plan_sealed(clone, tmp_path / "in")
    begun = dataclasses.replace(planned, run=silent)
    for shard in begun.planned.shards:
        begun.evaluate(shard)
    begun.check()
    begun.record()
    before, traces = (origin_branch(clone, name) for name in ("results", "traces-1"))
    later = Round(clone, run_with(clone), plan_shards.plan_shards(open_run(clone)), tmp_path / "later")
    later.check(later.place)
    published = later.record()
    after = origin_branch(clone, "results")
    old, new = ([parse_result(content) for content in files.values()] for files in (before, after))

    assert (later.planned.count, later.planned.unasked, published.amended) == (0, 1, 1)
    assert [(one.beacon_verified, one.login_id) for one in (*old, *new)] == [(None, None), (True, 11)]
    assert new[0].sealed is not None
    assert old[0].sealed is not None
    assert new[0].sealed.score == old[0].sealed.score
    assert new[0].trace_sha256 == old[0].trace_sha256
    assert origin_branch(clone, "traces-1") == traces
    plain = decrypt_result(new[0], SECRET)
    filled = ("login_id", "beacon_verified", "self_sha256")
    parts = [{k: v for k, v in one.document().items() if k not in filled} for one in (plain, decrypt_result(old[0], SECRET))]
    assert parts[0] == parts[1]
    assert plain.self_hash() == plain.self_sha256
    assert verify_file(_job(clone, tmp_path / "store", after, traces)).status is VerificationStatus.VERIFIED


def _job(clone: Clone, place: Path, results: dict[str, bytes], traces: dict[str, bytes]) -> VerificationJob:
    """The only result and its trace, to be replayed with the secret."""
    files = []
    for folder, contents in (("results", results), ("traces", traces)):
        for name, content in contents.items():
            files.append(place / folder / name)
            files[-1].parent.mkdir(parents=True)
            files[-1].write_bytes(content)
    return VerificationJob(challenge=Checkout(clone.path).challenge, result=files[0], trace=files[1], secret=SECRET)
