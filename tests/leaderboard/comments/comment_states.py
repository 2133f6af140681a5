"""Every state of the comment, made by hand, with friendly or with hostile text in it."""

from typing import Any

from evaluator.model.config.task import ReferenceScore, Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.comments.comment_states import (
    AgentReport,
    CommentContext,
    CommentState,
    DuelReport,
    GameReport,
    HelpText,
    NoRun,
    NoRunReason,
    OfficialScore,
    OurFailure,
    OverallReport,
    Previewed,
    RankReply,
    Refused,
    Running,
    TaskReport,
    Withdrawn,
)
from leaderboard.core.entry import Estimate
from leaderboard.core.game_standings import MatchCount
from tests.leaderboard.make import digest

HEAD, EVALUATOR, MERGE = "4f0c7d21" * 5, "9ab31e55" * 5, "c0ffee12" * 5
RUN = "https://github.com/example/board/actions/runs/77"
CONTEXT = CommentContext(run_id=77, repository="https://github.com/example/board", site="https://example.github.io/board/")

POLE = Task(id="CartPole-v1", title="CartPole", bounds=(1, 500), random=ReferenceScore(score=22, source="ours"))
TAXI = Task(id="Taxi-v4", title="Taxi")
LAKE = Task(id="FrozenLake-v1", title="Frozen Lake", bounds=(0, 1), decimals=3)
LANDER = Task(id="LunarLander-v3", title="Lunar Lander")
WALKER = Task(id="BipedalWalker-v3", title="Bipedal Walker")


def result(task: Task, verdict: Verdict = Verdict.OK, **fields: Any) -> Result:
    played = task.episodes if verdict is Verdict.OK else 0
    return Result.with_self_hash(
        {
            "schema": 1, "key": digest(task.id), "class": "preview", "task": task.id, "task_digest": task.digest(),
            "login": "alice", "agent": "angle-rule", "submission_digest": digest("alice"), "season": "2026",
            "beacon": "preview", "sandbox": "docker", "runtime_digest": digest("runtime"), "verdict": verdict,
            "seeds": ["0" * 32] * played, "returns": [1.0] * played, "lengths": [435] * played, "limits": {},
            "cost": {"cpu_seconds": 12.14, "wall_seconds": 31.5, "peak_memory_bytes": 88 << 20, "steps": 435 * played},
            "provenance": {"evaluated_at": "2026-05-01T12:00:00Z"}, **fields,
        }
    )  # fmt: skip


def scored(task: Task, score: float, error: float, **fields: Any) -> TaskReport:
    usual: dict[str, Any] = {
        "result": result(task), "estimate": Estimate(score=score, low=score - error, high=score + 0.9 * error),
        "place": 3, "rank_low": 2, "rank_high": 5, "entries": 13,
    }  # fmt: skip
    return TaskReport(task=task, **{**usual, **fields})


def failed(task: Task, verdict: Verdict, message: str) -> TaskReport:
    return TaskReport(task=task, result=result(task, verdict, message=message))


def estimate(score: float, error: float) -> Estimate:
    return Estimate(score=score, low=score - error, high=score + error)


def agent(*rows: TaskReport, **fields: Any) -> AgentReport:
    return AgentReport(**{"login": "alice", "agent": "angle-rule", "name": "Angle rule", "rows": rows, **fields})


def previewed(*agents: AgentReport, **fields: Any) -> Previewed:
    return Previewed(head_sha=HEAD, evaluator_sha=EVALUATOR, run_url=RUN, agents=agents, **fields)


POLE_ROW = scored(
    POLE, 435.2, 14.1, own_last=estimate(412.1, 17), own_place=5, leader=estimate(499.1, 0.8), leader_name="bob/mlp"
)
LAKE_ROW = scored(
    LAKE,
    0.74,
    0.085,
    place=1,
    rank_low=1,
    rank_high=4,
    with_leader=True,
    leader=estimate(0.71, 0.08),
    leader_name="carol/careful",
)
LANDER_ROW = scored(
    LANDER, -112.4, 31, place=9, rank_low=7, rank_high=9, entries=9, leader=estimate(271.3, 9), leader_name="bob/mlp"
)
FIRST_ROW = scored(WALKER, -91.6, 4.2, place=1, rank_low=1, rank_high=1, entries=1)
CRASH = failed(
    TAXI, Verdict.CRASHED, "episode 3: act raised ZeroDivisionError: division by zero at agent.py:12"
)  # fmt: skip
LOG = (
    "| == alice/angle-rule on Taxi-v4: crashed\n| > loading the table\n| > Traceback (most recent call last):\n"
    '| >   File "/agent/agent.py", line 12, in act\n| >     return state // self.count\n'
    "| > ZeroDivisionError: integer division or modulo by zero\n"
)
LATE = failed(WALKER, Verdict.TIMEOUT, "no answer within 2 s for 16 live episodes")
OURS = failed(LANDER, Verdict.INTERNAL_ERROR, "EngineError at container.py:88: the engine does not answer")
OVERALL = OverallReport(estimate=estimate(0.412, 0.03), place=4, rank_low=3, rank_high=6, entries=21, played=7, tasks=8)


FOUR = Task(id="connect_four", title="Connect Four", game="pettingzoo.classic.connect_four_v3")
TIC = Task(id="tictactoe", title="Tic-tac-toe", game="pettingzoo.classic.tictactoe_v3")


def duel(opponent: str, wins: int, draws: int, losses: int, **fields: Any) -> DuelReport:
    count = MatchCount(won=wins, drawn=draws, lost=losses, errors=fields.pop("errors", 0))
    return DuelReport(opponent=opponent, count=count, **fields)


def rated(task: Task, elo: float, error: float, **fields: Any) -> GameReport:
    usual: dict[str, Any] = {
        "estimate": estimate(elo, error), "place": 3, "rank_low": 2, "rank_high": 5, "entries": 9, "anchor": "local/random",
        "leader": Estimate(score=610, low=480, high=740), "leader_name": "bob/search",
        "duels": (duel("local/random", 97, 1, 2, is_baseline=True), duel("bob/search", 12, 8, 80)),
    }  # fmt: skip
    return GameReport(task=task, **{**usual, **fields})


FOUR_ROW = rated(FOUR, 212.4, 88, own_last=Estimate(score=150, low=60, high=240))
TIC_ROW = rated(
    TIC, 640, 300, place=1, rank_low=1, rank_high=4, with_leader=True, one_sided=True,
    duels=(duel("local/random", 0, 0, 100, errors=100, fault="It did not answer in time. no move within 2 s"),),
)  # fmt: skip
REFUSED = GameReport(task=TIC, refusal="match 3, move 5: the illegal move 4, after 0 4 8 2", position="X . .\n. O .\nO . X")
NOT_MET = GameReport(task=FOUR, duels=(duel("local/random", 3, 1, 0),))
LONE = GameReport(task=FOUR)
GAME_OURS = GameReport(task=FOUR, failed="EngineError at container.py:88: the engine does not answer")
GAME_LOG = "| == alice/angle-rule on tictactoe: ok\n| > I like the centre\n"


def states() -> dict[str, CommentState]:
    """One friendly example of each."""
    return {**solo_states(), **game_states()}


def game_states() -> dict[str, CommentState]:
    """Those with games."""
    placed = rated(FOUR, 212.4, 88, place=2, official=True)
    refused = GameReport(task=TIC, refusal=REFUSED.refusal, position=REFUSED.position, log="a word\n", official=True)
    return {
        "game_passed": previewed(agent(games=(FOUR_ROW,))),
        "game_passed_many": previewed(
            agent(POLE_ROW, games=(FOUR_ROW, TIC_ROW)), agent(agent="second", name="Second", games=(NOT_MET,))
        ),
        "game_refused": previewed(agent(games=(REFUSED,)), log=GAME_LOG),
        "game_mixed": previewed(agent(POLE_ROW, CRASH, games=(FOUR_ROW, REFUSED, GAME_OURS)), log=LOG + GAME_LOG),
        "game_alone": previewed(agent(games=(LONE,))),
        "game_unrated": previewed(agent(games=(NOT_MET,))),
        "game_ours": previewed(agent(games=(GAME_OURS,))),
        "game_official": OfficialScore(merge_sha=MERGE, agents=(agent(games=(placed,)),), run_url=RUN),
        "game_official_partly": OfficialScore(
            merge_sha=MERGE, agents=(agent(games=(placed, refused)),), pending=("alice/angle-rule on Quarto",)
        ),
        "game_unsigned": OfficialScore(merge_sha=MERGE, agents=(agent(games=(rated(FOUR, 1, 2, signed=False),)),)),
        "game_ranked": RankReply(agents=(agent(games=(placed,)),)),
    }


def solo_states() -> dict[str, CommentState]:
    """Those of agents that play alone, and of no agent at all."""
    official = result(POLE, **{"class": "official", "beacon": MERGE, "beacon_verified": True})
    done = scored(
        POLE, 431.0, 13.2, result=official, place=2, rank_low=1, rank_high=4, leader=estimate(499.1, 0.8),
        leader_name="bob/mlp", own_last=estimate(412.1, 17),
    )  # fmt: skip
    return {
        "running": Running(head_sha=HEAD, run_url=RUN),
        "passed": previewed(agent(POLE_ROW)),
        "passed_many": previewed(agent(POLE_ROW, LAKE_ROW, LANDER_ROW, FIRST_ROW, scored(TAXI, 7.9, 0.4), overall=OVERALL)),
        "failed": previewed(agent(CRASH), log=LOG),
        "late": previewed(agent(LATE)),
        "mixed": previewed(
            agent(POLE_ROW, CRASH, overall=OVERALL),
            agent(LAKE_ROW, agent="lake-walker", name="Lake walker"),
            agent(agent="third", name=None, faults=("submission.yml:3: unknown key 'taskz'; did you mean 'tasks'?",)),
            log=LOG,
            skipped=("alice/fifth: a preview plays four agents; this one waits for the merge",),
            removed=("alice/old",),
        ),
        "manifest": previewed(
            agent(
                name=None,
                faults=(
                    "submission.yml:2: unknown key 'algorythm'; did you mean 'algorithm'?",
                    "submission.yml:1: the key 'algorithm' is missing; add it",
                    "submission.yml:4: 'tasks' must be a list of ids, or 'all'",
                ),
            )
        ),
        "ours_task": previewed(agent(OURS)),
        "withdrawing": previewed(removed=("alice/old",)),
        "refused": Refused(
            head_sha=HEAD, outside=(".github/workflows/preview.yml", "submissions/bob/mlp/agent.py"), run_url=RUN
        ),
        "refused_inside": Refused(
            head_sha=HEAD, faults=("submissions/alice/x/link.py: is a symbolic link; put the file itself there",)
        ),
        "waiting": NoRun(head_sha=HEAD, reason=NoRunReason.WAITING, run_url=RUN),
        "conflict": NoRun(head_sha=HEAD, reason=NoRunReason.CONFLICT),
        "nothing": NoRun(head_sha=HEAD, reason=NoRunReason.NOTHING),
        "no_run": NoRun(head_sha=HEAD, reason=NoRunReason.NO_RUN),
        "broken": OurFailure(head_sha=HEAD, reason="the engine does not answer", tried=2, run_url=RUN),
        "given_up": OurFailure(head_sha=HEAD, reason="no artifact", tried=3, again=False, issue_url=RUN, run_url=RUN),
        "official": OfficialScore(merge_sha=MERGE, agents=(agent(done),), run_url=RUN),
        "official_partly": OfficialScore(
            merge_sha=MERGE, agents=(agent(done, CRASH),), pending=("alice/angle-rule on Frozen Lake",)
        ),
        "merged": OfficialScore(merge_sha=MERGE, agents=(agent(),), pending=("alice/angle-rule on CartPole",), run_url=RUN),
        "withdrawn": Withdrawn(agents=("alice/old",), merged=True),
        "withdrawal": Withdrawn(agents=("alice/old", "alice/older"), merged=False, head_sha=HEAD),
        "ranked": RankReply(agents=(agent(done),)),
        "unranked": RankReply(agents=()),
        "help": HelpText(),
    }
