"""Records relabelled with hash, key, seeds, trace and path made anew: a field is refused, or the page says that it is not.

The list of what `verify` cannot tell stands on the page about integrity, and is compared with what happens here.
"""

import base64
import json
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from pydantic import BaseModel

from evaluator.host.duels.evaluate_duel import DuelPlayer, DuelRequest, evaluate_duel, order_sides
from evaluator.host.envs.pettingzoo_game import open_game, replay
from evaluator.host.loading.submission_folder import SubmissionFolder, assemble
from evaluator.host.loading.yaml_loader import parse_challenge
from evaluator.host.seeds.derived_seeds import episode_seeds, opening_seeds
from evaluator.host.solo.evaluate_agent import evaluate_agent
from evaluator.host.verification import VerificationStatus
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.records.duel_record import Duel, WantedDuel
from evaluator.model.records.parse import parse_trace
from evaluator.model.records.result import Result, WantedResult
from evaluator.model.records.stored_record import Tier
from evaluator.model.records.trace import Trace, TraceLeaf
from evaluator.model.sealed_fields import SealedPart
from leaderboard.core.entry import AgentName
from leaderboard.core.store import ResultStore
from scripts.git.beacons import version_origins
from scripts.verification.verify_records import verify_files
from tests.evaluations import ANGLE_RULE, DIGEST, order, process
from tests.evaluator.script_runs import MANIFEST as SCRIPT_MANIFEST
from tests.evaluator.script_runs import PLAY
from tests.scripts.github.games import FIRST, MIDDLE
from tests.scripts.github.remotes import MANIFEST, Clone, agent_files, make_board

ROOT = Path(__file__).parents[2]
RULES = b"""title: Test
season: "1"
tasks:
  - {id: CartPole-v1, episodes: 2}
  - {id: twin, env: CartPole-v1, episodes: 2}
  - {id: lake, env: FrozenLake-v1, reusable: true, script: {steps: 400, last: 3, worst: -1}}
  - {id: tictactoe, game: pettingzoo.classic.tictactoe_v3, matches: 4}
"""
SCRIPT = PLAY + 'play(gym.make("lake"), 20)\nprint(json.dumps({"score": 0.5}))\n'
# Breaks rules in two matches, in one of them by an illegal move, and leaves in the others.
BREAKS = b"""class Agent:
    asked = 0
    def act(self, observation):
        Agent.asked += 1
        if Agent.asked == 1:
            return int(observation["action_mask"].argmin())
        if Agent.asked == 2:
            return None
        raise RuntimeError("gone")
"""
FAILS = b"class Agent:\n    def act(self, observation):\n        raise RuntimeError('bad luck')\n"
# Encrypted whole: without the secret it is never called verified, and with it every byte of it is compared.
ENCRYPTED = "sealed"
# Two attempts, so that every field is there to be changed.
TWICE = {"verdict": "internal_error", "message": "the engine is busy", "wall_seconds": 1.5}
RUN = "https://github.com/o/r/actions/runs/1"

# In place of a trace's hash: its actions are to be packed another way.
LOOSELY = "packed loosely"

Document = dict[str, Any]
Change = Callable[[Document], Document]


@dataclass(frozen=True)
class Setting:
    """A board with its history, and an honest record of each kind."""

    clone: Clone
    challenge: Challenge
    result: tuple[Result, bytes]
    script: tuple[Result, bytes]
    duel: Duel
    broken: Duel
    """A duel in which one side breaks rules and cannot go on."""
    failed: Result
    """A result without a score."""

    @property
    def first(self) -> str:
        """The commit before anybody entered."""
        return self.clone.repository.first_parent(self.clone.head)[-1]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    files = {
        **agent_files("alice", "pole", ANGLE_RULE.encode()), **agent_files("alice", "other", ANGLE_RULE.encode() + b"# 2\n"),
        **agent_files("bob", "xo", MIDDLE), **agent_files("alice", "xo", FIRST),
        "submissions/alice/script/submission.py": SCRIPT.encode(),
        "submissions/alice/script/submission.yml": SCRIPT_MANIFEST,
        **agent_files("bob", "breaks", BREAKS), **agent_files("alice", "fails", FAILS),
    }  # fmt: skip
    clone = make_board(tmp_path_factory.mktemp("board"), {"challenge.yml": RULES})
    number = "evaluator/model/measurement_version.py"
    clone.commit({**files, number: (ROOT / number).read_bytes()})
    clone.commit({"README.md": b"later\n"})
    clone.push()
    challenge = parse_challenge(RULES)
    return Setting(
        clone=clone,
        challenge=challenge,
        result=with_trace(played(clone, challenge, "pole", "CartPole-v1")),
        script=with_trace(played(clone, challenge, "script", "lake")),
        duel=met(clone, challenge, "xo"),
        broken=met(clone, challenge, "breaks"),
        failed=played(clone, challenge, "fails", "CartPole-v1")[0],
    )


def with_trace(played: tuple[Result, bytes | None]) -> tuple[Result, bytes]:
    """What was played to its end."""
    result, trace = played
    assert trace is not None, result.message
    return result, trace


def folder(clone: Clone, login: str, agent: str) -> SubmissionFolder:
    return assemble(clone.repository.blobs(clone.head, f"submissions/{login}/{agent}"), SubmissionLimits())


def official(clone: Clone, login: str, agent: str) -> Document:
    """What an order of an official run says."""
    name = AgentName(login, agent)
    origins = version_origins(clone.repository, clone.head, {name: folder(clone, login, agent).digest}, {})
    return {
        "season": "1", "beacon": origins.versions[name].sha,
        "beacon_verified": True,
        "tier": Tier.OFFICIAL, "commit": clone.head, "run_url": RUN,
    }  # fmt: skip


def now() -> datetime:
    return datetime.now(UTC)


def played(clone: Clone, challenge: Challenge, agent: str, task_id: str) -> tuple[Result, bytes | None]:
    task = challenge.task(task_id)
    assert task is not None
    own = official(clone, "alice", agent)
    wanted = order(folder(clone, "alice", agent), task, agent=agent, login_id=7, **own)
    box = process()
    evaluation = evaluate_agent(wanted, box.kind, box.opener, now, lambda done: None)
    jailed = {"sandbox": "docker", "image_digest": "sha256:" + "1" * 64, "first_attempt": TWICE}
    return Result.with_self_hash({**evaluation.result.document(), **jailed}), evaluation.trace


def met(clone: Clone, challenge: Challenge, bobs: str) -> Duel:
    """Alice against one of Bob's agents."""
    task = challenge.task("tictactoe")
    assert task is not None
    one, other = (
        DuelPlayer(login=login, login_id=number, agent=agent, folder=folder(clone, login, agent))
        for login, number, agent in (("alice", 7, "xo"), ("bob", 8, bobs))
    )
    wanted = DuelRequest(
        contenders=order_sides(one, other), game=open_game(task), limits=Limits(), runtime_digest=DIGEST,
        **official(clone, "bob", bobs),
    )  # fmt: skip
    box = process()
    duel = evaluate_duel(wanted, box.kind, box.opener, now, lambda done: None)
    jailed = {"sandbox": "docker", "image_digest": "sha256:" + "1" * 64, "first_attempt": TWICE}
    return Duel.with_self_hash({**duel.document(), **jailed})


# --- what a forger does once a field is changed


def remade(document: Document) -> Document:
    """The same with the key and the seeds that its fields give."""
    if "players" in document:
        digests = tuple(player["submission_digest"] for player in document["players"])
        shared = {name: document[name] for name in WantedDuel.model_fields if name != "submission_digests"}
        key = WantedDuel(submission_digests=digests, **shared).key()
        count = 2 * len(document["seeds"])
        seeds = opening_seeds(document["season"], document["beacon"], digests, document["task"], count)
    else:
        key = WantedResult(**{name: document[name] for name in WantedResult.model_fields}).key()
        script = document.get("script")
        first = Result.model_validate(document).script.first(len(document["seeds"])) if script else 0  # type: ignore[union-attr]
        name = (document["season"], document["beacon"], document["submission_digest"], document["task"])
        seeds = episode_seeds(*name, len(document["seeds"]), first)
    return {**document, "key": key, "seeds": list(seeds)}


def forged(document: Document, trace: bytes | None, raw: Document) -> tuple[Result | Duel, bytes | None]:
    """A record with everything made anew that depends on a changed field; `raw` is changed last, and left as it is."""
    document = remade(document)
    if "players" in document:
        return Duel.with_self_hash({**document, **raw}), None
    if document["trace_sha256"] is None:
        trace = None
    if trace is not None:
        trace = loosely(trace) if document["trace_sha256"] == LOOSELY else trace
        trace = parse_trace(trace).model_copy(update={"key": document["key"]}).serialised()
        document["trace_sha256"] = parse_trace(trace).sha256()
    return Result.with_self_hash({**document, **raw}), trace


def status_of(
    challenge: Challenge, root: Path, record: Result | Duel, trace: bytes | None
) -> tuple[VerificationStatus, str]:
    """What `verify` says of a record that lies where it says that it belongs."""
    for name in ("results", "traces"):
        shutil.rmtree(root / name, ignore_errors=True)
    store = ResultStore(results=root / "results", traces=root / "traces")
    path = store.write(record, trace)
    (finding,) = verify_files(challenge, store, [path], quiet=True)
    return finding.status, "; ".join(finding.faults)


# --- which fields there are, and how each is changed


def inner(annotation: Any) -> type[BaseModel] | None:
    """The model in a field, whether there is one, several or perhaps none of it."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return None if annotation in (TraceLeaf, SealedPart) else annotation
    return next((model for part in get_args(annotation) if (model := inner(part))), None)


def fields(model: type[BaseModel], before: str = "") -> Iterator[str]:
    """Every field, those of parts with a dot."""
    for name, info in model.model_fields.items():
        own = before + (info.alias or name)
        part = inner(info.annotation)
        if part is None:
            yield own
        else:
            yield from fields(part, own + ".")


def put(document: Document, path: str, change: Callable[[Any], Any]) -> Document:
    """A copy with one field changed; of several parts in the first one."""
    changed_document: Document = json.loads(json.dumps(document))
    place: Any = changed_document
    *way, last = path.split(".")
    for name in way:
        place = place[name][0] if isinstance(place[name], list) else place[name]
    place[last] = change(place.get(last))
    return changed_document


def other(value: Any) -> Any:
    """Another value that looks as likely."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str() if re.fullmatch(r"[0-9a-f]{32,64}", value):
            return value[::-1] if value != value[::-1] else "cd" * (len(value) // 2)
        case list() if value:
            return [other(value[0]), *value[1:]]
        case dict():
            return {**value, "python": "9.9"}
        case None:
            return 1
        case _:
            return "other"


def local(document: Document) -> Document:
    """All that makes a record local."""
    where = {**document["provenance"], "commit": None, "run_url": None}
    fields = {**document, "class": "local", "beacon": "preview", "beacon_verified": False, "provenance": where}
    if "players" in fields:
        return {**fields, "players": [{**player, "login_id": None} for player in fields["players"]]}
    return {**fields, "login_id": None}


def failed(document: Document) -> Document:
    if "players" in document:
        nothing = {"matches": [], "moves": None, "milliseconds": None}
        return {**document, "verdict": "internal_error", **nothing}
    return {**document, "verdict": "crashed", "returns": [], "lengths": [], "metrics": {}, "trace_sha256": None}


def unfetched(document: Document) -> Document:
    return {**failed(document), "verdict": "internal_error", "unfetched": True}


def broken_off(document: Document) -> Document:
    """A match without its last move, whose loser is said to have been late: only a clock that is gone could tell."""
    duel = Duel.model_validate(document)
    game = open_game(parse_challenge(RULES).games[0])
    moves, times = duel.match_moves(), duel.match_milliseconds()
    moves[0], times[0] = moves[0][:-1], times[0][:-1]
    then = replay(game, duel.seeds[0], moves[0], 0)
    assert then.mover is not None
    match = {
        **document["matches"][0], "end": "late", "winner": 1 - then.mover, "offenders": [then.mover],
        "scores": list(then.scores), "plies": len(moves[0]), "checksum": then.checksum,
    }  # fmt: skip
    players = json.loads(json.dumps(document["players"]))
    players[then.mover]["cost"]["steps"] -= 1
    return {
        **document, "players": players, "matches": [match, *document["matches"][1:]],
        "moves": packed(moves), "milliseconds": packed(times),
    }  # fmt: skip


def packed(rows: list[list[int]]) -> Document:
    return TraceLeaf.of(np.array([number for row in rows for number in row], np.int64)).model_dump(mode="json")


def shifted_steps(document: Document) -> Document:
    players = json.loads(json.dumps(document["players"]))
    players[0]["cost"]["steps"] -= 1
    players[1]["cost"]["steps"] += 1
    return {**document, "players": players}


def slower(document: Document) -> Document:
    times = Duel.model_validate(document).match_milliseconds()
    return {**document, "milliseconds": packed([[*row[:-1], row[-1] + 1] for row in times])}


def other_moves(document: Document) -> Document:
    moves = Duel.model_validate(document).match_moves()
    return {**document, "moves": packed([[*moves[0][:-2], moves[0][-1], moves[0][-2]], *moves[1:]])}


def repacked_moves(document: Document) -> Document:
    """The same moves, packed with less effort."""
    return put(document, "moves.data", loose)


def with_another_refused_move(document: Document) -> Document:
    """Another illegal move where one was refused."""
    matches = [{**match, "refused": None if match["refused"] is None else 10**6} for match in document["matches"]]
    return {**document, "matches": matches}


def forfeited_by_the_other_side(document: Document) -> Document:
    """What was forfeited by one side is said to be forfeited by the other, which then is who failed."""
    players = [
        {**player, "verdict": opponent["verdict"]}
        for player, opponent in zip(document["players"], reversed(document["players"]), strict=True)
    ]
    matches = [
        {**match, "offenders": [match["winner"]], "winner": 1 - match["winner"]} if match["end"] == "forfeit" else match
        for match in document["matches"]
    ]
    return {**document, "players": players, "matches": matches}


def repacked(document: Document) -> Document:
    """The mark of a trace whose actions `forged` is to pack another way."""
    return {**document, "trace_sha256": LOOSELY}


def loosely(trace: bytes) -> bytes:
    """The same actions, packed with less effort."""
    document = json.loads(trace)
    for leaf in document["actions"]:
        leaf["data"] = loose(leaf["data"])
    return Trace.model_validate(document).serialised()


def loose(data: str) -> str:
    """Numbers of a leaf, packed with less effort."""
    return base64.b64encode(zlib.compress(zlib.decompress(base64.b64decode(data)), 1)).decode()


def without_a_first_attempt(document: Document) -> Document:
    """Of two attempts only the second."""
    return {**document, "first_attempt": None}


def with_cards(document: Document) -> Document:
    """The mark of graphics cards that nobody had."""
    return {**document, "gpus": {"wanted": 2, "cards": ["A card, driver 1", "A card, driver 1"]}}


def to(path: str, *values: Any) -> list[Change]:
    return [lambda document, value=value: put(document, path, lambda _: value) for value in values]  # type: ignore[misc]


def changes(setting: Setting) -> dict[str, list[Change]]:
    """How a field is changed where another value of its kind would not be plausible; several ways where one is caught."""
    return {
        "class": [*to("class", "local", "preview"), local],
        "task": to("task", "twin"),
        "login": to("login", "bob"),
        "agent": to("agent", "other"),
        "protocol": to("protocol", 1, 3),
        "trace_sha256": [repacked],
        "players.login": to("players.login", "aaron"),
        "players.agent": to("players.agent", "other"),
        "beacon": to("beacon", "preview", setting.first, "sealed-" + "0" * 64),
        "sandbox": to("sandbox", "process", "gvisor"),
        "runtime_digest": to("runtime_digest", "cd" * 32),
        "verdict": [failed],
        "erased_sha256": to("erased_sha256", "cd" * 32),
        "first_attempt.verdict": to("first_attempt.verdict", "ok", "crashed", "timeout"),
        "first_attempt.message": [without_a_first_attempt],
        "first_attempt.wall_seconds": to("first_attempt.wall_seconds", -1.0, 2.5),
        "continued_after": to("continued_after", [1], [0], [99999]),
        "unfetched": [unfetched, *to("unfetched", True)],
        "gpus.wanted": [with_cards],
        "gpus.cards": [with_cards],
        "players.verdict": to("players.verdict", "crashed"),
        "metrics": to("metrics", {"clipped_actions": 1.0}, {"score": 1.0}, {"clipped_actions": 0.5}),
        "limits.memory_mib": to("limits.memory_mib", 513, 2048),
        "provenance.commit": to("provenance.commit", "a" * 40, setting.first, None),
        "provenance.run_url": to("provenance.run_url", RUN + "2"),
        "provenance.evaluated_at": to("provenance.evaluated_at", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"),
        "script.ended_at": [lambda one: put(one, "script.ended_at", lambda ends: [ends[0] + 1, *ends[1:]])],
        "script.notices": to("script.notices", ["other"]),
        "script.claimed": to("script.claimed", 0.75),
        "script.unfinished": to("script.unfinished", [0]),
        "matches.end": [*to("matches.end", "too_long"), broken_off],
        "matches.winner": [lambda one: put(one, "matches.winner", lambda side: 0 if side is None else 1 - side)],
        "matches.offenders": to("matches.offenders", [0], [1]),
        "players.cost.steps": [shifted_steps],
        "moves": [other_moves, repacked_moves],
        "milliseconds": [slower],
    }  # fmt: skip


# Changes of the duel in which rules were broken.
OF_A_BROKEN_DUEL: dict[str, list[Change]] = {
    "matches.refused": [with_another_refused_move],
    "matches.offenders": [forfeited_by_the_other_side],
    "matches.winner": [forfeited_by_the_other_side],
}


# Changed after everything else was made anew.
RAW = ("key", "seeds", "self_sha256")


def accepted(setting: Setting, root: Path, model: type[BaseModel]) -> set[str]:
    """The fields whose change `verify` calls verified."""
    own = changes(setting)
    names = set()
    for name in fields(model):
        if name == ENCRYPTED:
            continue
        honest, trace = (setting.duel, None) if model is Duel else setting.script if "script." in name else setting.result
        generic: list[Change] = [lambda one, name=name: put(one, name, other)]  # type: ignore[misc]
        tries = [(honest.document(), change) for change in own.get(name) or generic]
        tries += [(setting.broken.document(), change) for change in OF_A_BROKEN_DUEL.get(name, ())]
        for document, change in tries:
            if is_verified(setting.challenge, root, name, change(document), document, trace):
                names.add(name)
    return names


def is_verified(
    challenge: Challenge, root: Path, name: str, changed: Document, honest: Document, trace: bytes | None
) -> bool:
    assert changed != honest, name
    try:
        if name == "self_sha256":
            record: Result | Duel = (Duel if "players" in changed else Result).model_validate(changed)
        else:
            raw = {name: changed[name]} if name in RAW else {}
            record, trace = forged({**changed, **{key: honest[key] for key in raw}}, trace, raw)
    except ValueError:
        return False  # it is no file of this kind
    assert record.document() != honest, name
    return status_of(challenge, root, record, trace)[0] is VerificationStatus.VERIFIED


def listed(of: str) -> dict[str, str]:
    """The list on the page about integrity: field, and what a clone with history checks."""
    page = (ROOT / "site" / "pages" / "integrity.md").read_text()
    table = page.split(f"| Field of a {of} |")[1].split("\n\n")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, re.MULTILINE))


KINDS = [("result", Result), ("duel", Duel)]


def test_the_honest_records_are_verified_with_history_and_without(setting: Setting, tmp_path: Path) -> None:
    for root in (tmp_path, setting.clone.path):
        for record, trace in (
            setting.result, setting.script, (setting.duel, None), (setting.broken, None), (setting.failed, None)
        ):  # fmt: skip
            assert status_of(setting.challenge, root, record, trace) == (VerificationStatus.VERIFIED, "")


@pytest.mark.parametrize(("of", "model"), KINDS)
def test_the_page_lists_exactly_what_the_files_alone_cannot_show(
    of: str, model: type[BaseModel], setting: Setting, tmp_path: Path
) -> None:
    assert len(listed(of)) > 15
    assert accepted(setting, tmp_path, model) == set(listed(of))


@pytest.mark.parametrize(("of", "model"), KINDS)
def test_a_clone_with_history_refuses_what_the_page_says(of: str, model: type[BaseModel], setting: Setting) -> None:
    unchecked = {name for name, reason in listed(of).items() if reason.startswith("not checked")}

    assert accepted(setting, setting.clone.path, model) == unchecked


def test_ends_of_episodes_that_no_order_of_steps_allows_are_refuted(setting: Setting, tmp_path: Path) -> None:
    result, trace = setting.script
    assert result.script is not None
    assert result.script.ended_at is not None
    for ends in ([0, *result.script.ended_at[1:]], [*result.script.ended_at[:-1], 10**6], [1]):
        changed = put(result.document(), "script.ended_at", lambda _, ends=ends: ends)  # type: ignore[misc]
        assert not is_verified(setting.challenge, tmp_path, "script.ended_at", changed, result.document(), trace)


@pytest.mark.attack(
    "forfeit_that_its_offender_wins", family="cheating", outcome="refuted",
    tries="Names the side that forfeited twice, or both sides in another order, so that the match has any winner.",
)  # fmt: skip
@pytest.mark.parametrize("offenders", [[1, 1], [1, 0]])
def test_who_forfeited_a_match_did_not_win_it(setting: Setting, offenders: list[int]) -> None:
    document = setting.broken.document()
    forfeited = [match["end"] == "forfeit" for match in document["matches"]]
    assert [match["offenders"] for match in document["matches"] if match["end"] == "forfeit"] == [[1]] * sum(forfeited)
    assert any(forfeited)
    won = [
        {**match, "offenders": offenders, "winner": 1} if is_forfeit else match
        for match, is_forfeit in zip(document["matches"], forfeited, strict=True)
    ]
    both = [{**player, "verdict": "crashed"} for player in document["players"]]

    with pytest.raises(ValueError, match="in order, each once"):
        forged({**document, "players": both, "matches": won}, None, {})


def test_a_forfeit_is_that_of_all_who_failed_and_of_nobody_else(setting: Setting, tmp_path: Path) -> None:
    document = setting.broken.document()
    both = [{**player, "verdict": "crashed"} for player in document["players"]]

    changed, _ = forged({**document, "players": both}, None, {})

    status, why = status_of(setting.challenge, tmp_path, changed, None)
    assert status is VerificationStatus.REFUTED
    assert "is forfeited by others than the players that could not go on" in why


@pytest.mark.parametrize("change", [to("season", "2"), to("beacon", "a" * 40), to("submission_digest", "cd" * 32)])
def test_a_result_without_a_score_is_compared_with_mains_history_alone(
    setting: Setting, tmp_path: Path, change: list[Change]
) -> None:
    changed, _ = forged(change[0](setting.failed.document()), None, {})

    assert status_of(setting.challenge, tmp_path, changed, None)[0] is VerificationStatus.VERIFIED
    assert status_of(setting.challenge, setting.clone.path, changed, None)[0] is VerificationStatus.REFUTED


@pytest.mark.attack(
    "number_with_another_sign_of_zero", family="cheating", outcome="refuted",
    tries="Writes -0.0 where 0.0 is recorded, which the hash of the record does not tell apart.",
)  # fmt: skip
@pytest.mark.parametrize("name", ["script.returns", "metrics", "cost.cpu_seconds"])
def test_another_sign_of_zero_is_refuted(setting: Setting, tmp_path: Path, name: str) -> None:
    result, trace = setting.script
    document = put(result.document(), "cost.cpu_seconds", lambda _: 0.0)
    honest, _ = forged(document, trace, {})

    def negated(value: Any) -> Any:
        if isinstance(value, list):
            return [-0.0 if number == 0 else number for number in value]
        return dict.fromkeys(value, -0.0) if isinstance(value, dict) else -0.0

    changed, _ = forged(put(document, name, negated), trace, {})

    assert honest.self_sha256 == changed.self_sha256
    assert honest.serialised() != changed.serialised(), "nothing was zero"
    assert status_of(setting.challenge, tmp_path, honest, trace)[0] is VerificationStatus.VERIFIED
    assert status_of(setting.challenge, tmp_path, changed, trace)[0] is VerificationStatus.REFUTED


@pytest.mark.attack(
    "trace_with_more_in_it", family="cheating", outcome="refuted",
    tries="Packs a trace's actions in wider numbers, as fractions, or with other bytes behind them.",
)  # fmt: skip
@pytest.mark.parametrize("how", ["behind", "wide", "fractions"])
def test_a_trace_that_holds_more_than_its_actions_is_refuted(setting: Setting, tmp_path: Path, how: str) -> None:
    result, trace = setting.result
    document = json.loads(trace)
    (leaf,) = document["actions"]
    raw = zlib.decompress(base64.b64decode(leaf["data"]))
    numbers = np.frombuffer(raw, leaf["dtype"])
    if how == "behind":
        content = zlib.compress(raw, 9) + b"a word"
    else:
        leaf["dtype"] = "<i8" if how == "wide" else "<f8"
        content = zlib.compress((numbers if how == "wide" else numbers + 0.25).astype(leaf["dtype"]).tobytes(), 9)
    leaf["data"] = base64.b64encode(content).decode()
    changed, packed_trace = forged(result.document(), Trace.model_validate(document).serialised(), {})

    assert status_of(setting.challenge, tmp_path, changed, packed_trace)[0] is VerificationStatus.REFUTED


@pytest.mark.attack(
    "duel_with_an_erased_opponent", family="cheating", outcome="refuted in a clone with history",
    tries="Records a duel of somebody's invented version against a name that stands for an erased person.",
)  # fmt: skip
def test_an_erased_side_does_not_vouch_for_the_other(setting: Setting) -> None:
    duel = setting.duel.document()
    alice, bob = duel["players"]
    somebody = {**alice, "login": "a_erased_12345678", "login_id": None}

    def vouched(*players: Document) -> tuple[VerificationStatus, str]:
        changed, _ = forged({**duel, "players": list(players), "erased_sha256": "cd" * 32}, None, {})
        return status_of(setting.challenge, setting.clone.path, changed, None)

    assert vouched(somebody, bob) == (VerificationStatus.VERIFIED, "")
    status, why = vouched(somebody, {**bob, "login": "zed"})
    assert status is VerificationStatus.REFUTED
    assert "no folder of zed on main ever held version" in why


def test_every_field_is_walked() -> None:
    assert {"class", "limits.memory_mib", "cost.cpu_seconds", "provenance.commit", "script.claimed", "sealed"} <= set(
        fields(Result)
    )
    assert {"players.cost.steps", "matches.end", "milliseconds", "limits.pids"} <= set(fields(Duel))
    assert len(set(fields(Result))) > 45


def preview(setting: Setting) -> tuple[Result, bytes]:
    """Alice at home, on seeds that she knew."""
    task = setting.challenge.tasks[0]
    wanted = order(folder(setting.clone, "alice", "pole"), task, agent="pole", season="1")
    box = process()
    evaluation = evaluate_agent(wanted, box.kind, box.opener, now, lambda done: None)
    assert evaluation.trace is not None
    return evaluation.result, evaluation.trace


def test_a_preview_that_is_called_official_is_refused(setting: Setting, tmp_path: Path) -> None:
    result, trace = preview(setting)
    assert status_of(setting.challenge, tmp_path, result, trace) == (VerificationStatus.VERIFIED, "")
    where = {**result.document()["provenance"], "commit": setting.clone.head, "run_url": RUN}
    labels = {"class": "official", "sandbox": "docker", "beacon_verified": True, "login_id": 7, "provenance": where}

    record, forged_trace = forged({**result.document(), **labels}, trace, {})

    assert status_of(setting.challenge, tmp_path, record, forged_trace) == (
        VerificationStatus.REFUTED,
        "it is official, and its seeds come from 'preview', which is no commit and no sealed secret",
    )  # fmt: skip


def test_seeds_of_a_commit_that_did_not_bring_the_version_are_refuted(setting: Setting) -> None:
    """Replay would hold: the forger played on the seeds of a commit that he liked."""
    task = setting.challenge.tasks[0]
    later = setting.clone.head
    wanted = order(
        folder(setting.clone, "alice", "pole"),
        task,
        agent="pole",
        **{**official(setting.clone, "alice", "pole"), "beacon": later},
    )
    box = process()
    evaluation = evaluate_agent(wanted, box.kind, box.opener, now, lambda done: None)
    record = Result.with_self_hash({**evaluation.result.document(), "sandbox": "docker"})

    status, fault = status_of(setting.challenge, setting.clone.path, record, evaluation.trace)

    assert status is VerificationStatus.REFUTED
    assert fault.startswith(f"its seeds come from {later[:12]}, and the version came to main with ")


def test_a_file_that_lies_elsewhere_than_it_says_is_refuted_and_not_read(setting: Setting, tmp_path: Path) -> None:
    store = ResultStore(results=tmp_path / "results", traces=tmp_path / "traces")
    path = store.write(*setting.result)
    moved = path.parent.parent / "mallory" / path.name
    for old, new in ((path, moved), (store.trace_of(path), store.trace_of(moved))):
        new.parent.mkdir(parents=True)
        old.rename(new)

    (finding,) = verify_files(setting.challenge, store, [moved], quiet=True)
    results, damaged = store.read()

    assert finding.status is VerificationStatus.REFUTED
    assert "it lies at CartPole-v1/alice/mallory/" in finding.faults[0]
    assert (results, len(damaged)) == ([], 1)
    assert "lies elsewhere" in damaged[0].reason


def test_seeds_by_the_folder_as_the_rule_was_before_are_stale_and_not_refuted(tmp_path: Path) -> None:
    clone = make_board(tmp_path / "board", {"challenge.yml": RULES})
    source = ANGLE_RULE.encode()
    clone.commit(agent_files("alice", "first", source))
    moved = clone.commit({**dict.fromkeys(agent_files("alice", "first")), **agent_files("alice", "pole", source, MANIFEST)})
    task = parse_challenge(RULES).tasks[0]
    own = {**official(clone, "alice", "pole"), "beacon": moved}
    box = process()
    evaluation = evaluate_agent(
        order(folder(clone, "alice", "pole"), task, agent="pole", **own), box.kind, box.opener, now, lambda done: None
    )
    record = Result.with_self_hash({**evaluation.result.document(), "sandbox": "docker"})

    status, fault = status_of(parse_challenge(RULES), clone.path, record, evaluation.trace)

    assert status is VerificationStatus.STALE
    assert fault.startswith("its seeds come from the commit that brought the folder")


def test_seeds_of_a_task_that_is_named_later_cannot_be_those_that_were_known(setting: Setting) -> None:
    """Many versions are merged for one task; with each one's seeds known, the best of them would be named for another."""
    clone = setting.clone
    source = ANGLE_RULE.encode() + b"# one of many\n"
    task = parse_challenge(RULES).tasks[0]

    def entered(tasks: bytes) -> str:
        return clone.commit(agent_files("alice", "many", source, MANIFEST + b"tasks: [" + tasks + b"]\n"))

    def judged(beacon: str) -> tuple[VerificationStatus, str]:
        box = process()
        own = {**official(clone, "alice", "many"), "beacon": beacon}
        one = evaluate_agent(
            order(folder(clone, "alice", "many"), task, agent="many", **own), box.kind, box.opener, now, lambda n: None
        )
        record = Result.with_self_hash({**one.result.document(), "sandbox": "docker"})
        return status_of(parse_challenge(RULES), clone.path, record, one.trace)

    first = entered(b"twin")
    assert judged(first) == (VerificationStatus.REFUTED, f"no folder on main ever entered that version for {task.id}")
    second = entered(b"twin, CartPole-v1")
    assert judged(second) == (VerificationStatus.VERIFIED, "")
    status, fault = judged(first)
    assert (status, fault.partition(";")[0]) == (
        VerificationStatus.STALE,
        "its seeds come from the commit that brought the version",
    )


def test_limits_that_were_changed_since_leave_an_official_record_verified(setting: Setting, tmp_path: Path) -> None:
    newer = setting.challenge.model_copy(update={"limits": Limits(memory_mib=1000)})

    assert status_of(newer, setting.clone.path, *setting.result) == (VerificationStatus.VERIFIED, "")
    assert status_of(newer, tmp_path, *setting.result)[0] is VerificationStatus.STALE
