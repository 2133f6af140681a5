"""What became of everybody, and what it cost: states, explanations, requests, growth, results."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from leaderboard.comments.render_comment import comment_run
from tests.github.world import BOT, PullRequest
from tests.load.actions_clock import HOUR_SECONDS
from tests.load.board import CrowdedBoard
from tests.load.population import PlannedPull, Population
from tests.scripts.github.remotes import git

RESULTS, TRACES = "refs/heads/results", "refs/heads/traces-2026"
# What the comment of each kind says, one of these; where a kind ends otherwise, something is wrong.
EXPLAINED = {
    "copy": ("is the same agent as",),
    "broken manifest": ("submission.yml",),
    "crashes": ("ZeroDivisionError",),
    "outside": ("README.md",),
    "symlink": ("is a symbolic link",),
    "conflict": ("conflict",),
}
MERGED = ("official", "withdrawn")
# Besides these, every kind ends merged and with its official score.
ENDS = {
    "copy": "refused", "broken manifest": "refused", "crashes": "refused", "outside": "refused", "symlink": "refused",
    "conflict": "conflict", "withdraws": "withdrawn", "closed by its author": "closed",
}  # fmt: skip


@dataclass(kw_only=True)
class LoadReport:
    """The figures of one replay."""

    pulls: int
    commands: int
    seconds: float
    """Of this machine."""
    hours: float
    """Of the simulated clock, until the last job ended."""
    states: dict[str, Counter[str]]
    """Kind to state and how many."""
    unexplained: list[str]
    unsettled_line: list[str]
    slowest: float
    """Hours from a pull request's opening to its last change of state, the longest."""
    unanswered: int
    requests: list[int]
    """By hour, of the API that GitHub counts in requests."""
    queries: list[int]
    """By hour, of GraphQL, which GitHub counts in points."""
    busiest_hour: int
    """Most requests in any 60 minutes, without GraphQL."""
    busiest_of_both: int
    texts: list[int]
    """Comments created, by hour."""
    by_workflow: dict[str, tuple[int, int, float]]
    """Jobs, runs replaced while they waited, and machine hours."""
    longest_wait: float
    """Seconds that a job waited for a machine."""
    entries: int
    results: int
    lost: list[str]
    twice: list[str]
    pushed_kilobytes: float
    packed_kilobytes: float
    commits: int
    violations: list[str]
    failures: list[str] = field(default_factory=list)
    by_path: Counter[str] = field(default_factory=Counter)


def examine(board: CrowdedBoard, population: Population, seconds: float) -> LoadReport:
    """Look at everything that a replay left."""
    states: dict[str, Counter[str]] = defaultdict(Counter)
    unexplained, unsettled_line = [], []
    comments: dict[int, list[str]] = defaultdict(list)
    for one in board.world.comments.values():
        if one.author == BOT and comment_run(one.body) is not None:
            comments[one.number].append(one.body)
    said = board.said_of_commits()
    for planned in population.pulls:
        pull = board.world.pulls.get(board.numbers.get(planned.index, -1))
        state = "never opened" if pull is None else state_of(pull, said.get(pull.head_sha, ""), board.world.labelled)
        states[planned.kind][state] += 1
        name = f"{planned.kind} #{pull.number if pull else planned.index}"
        if state != ENDS.get(planned.kind, "official") and not (planned.kind == "closed by its author" and state in MERGED):
            unsettled_line.append(f"{name}: {state}")
        elif (
            pull
            and not is_superseded(planned, population, board)
            and (fault := unexplained_by(planned, pull, state, comments[pull.number]))
        ):
            unexplained.append(f"{name}: {fault}")
    lost, twice, results, entries = results_of(board)
    packed = board.remote.packed_kilobytes("refs/heads/main", RESULTS, TRACES)
    requests = [at for at, _, path in board.asked if not path.endswith("/graphql")]
    queries = [at for at, _, path in board.asked if path.endswith("/graphql")]
    return LoadReport(
        pulls=len(population.pulls), commands=board.commands_given, seconds=seconds, hours=board.clock.now / HOUR_SECONDS,
        states=dict(states), unexplained=unexplained, unsettled_line=unsettled_line, slowest=board.slowest() / HOUR_SECONDS,
        unanswered=unanswered(board), requests=by_hour(requests), queries=by_hour(queries), busiest_hour=busiest(requests),
        busiest_of_both=busiest([*requests, *queries]), texts=by_hour(board.texts),
        by_workflow={
            name: (count, board.pool.replaced.get(name, 0), board.pool.machine_seconds[name] / HOUR_SECONDS)
            for name, count in sorted(board.pool.jobs.items())
        },
        longest_wait=board.pool.longest_wait, entries=entries, results=results, lost=lost, twice=twice,
        pushed_kilobytes=board.pushed_kilobytes, packed_kilobytes=packed,
        commits=board.remote.commits(RESULTS), violations=board.stand_in.violations,
        failures=board.failures + board.pool.too_long,
        by_path=Counter(shape(verb, path) for _, verb, path in board.asked),
    )  # fmt: skip


def state_of(pull: PullRequest, status: str, labelled: dict[int, list[str]]) -> str:
    """Where a pull request stands, by what GitHub shows of it."""
    labels = labelled.get(pull.number, [])
    if pull.merged:
        return ("withdrawn" if "needs-review" in labels else "official") if "official" in labels else "merged, not told"
    if pull.state == "closed":
        return "closed"
    if status == "failure":
        return "refused" if {"needs-changes", "needs-review"} & set(labels) else "refused without a label"
    if status == "error" and not pull.mergeable:
        return "conflict"
    return f"open, {status or 'nothing said'}"


def is_superseded(planned: PlannedPull, population: Population, board: CrowdedBoard) -> bool:
    """Whether a later merge of the same author changed or withdrew it, which its comment may be about."""
    later = (other for other in population.pulls if other.needs == planned.index and other.author == planned.author)
    return any(other.index in board.numbers and board.world.pulls[board.numbers[other.index]].merged for other in later)


def unexplained_by(planned: PlannedPull, pull: PullRequest, state: str, bodies: list[str]) -> str:
    """What is missing from the comments of a pull request in its last state."""
    if state == "closed":  # By its author, whom nobody owes an explanation.
        return ""
    if len(bodies) != 1:
        return f"{len(bodies)} comments"
    sha = pull.merge_commit_sha if pull.merged else pull.head_sha
    if state != "withdrawn" and (sha or "")[:7] not in bodies[0]:
        return "the comment is about another commit"
    words = EXPLAINED.get(planned.kind, ()) if not pull.merged else ()
    return "" if not words or any(word in bodies[0] for word in words) else "the comment does not say why"


def results_of(board: CrowdedBoard) -> tuple[list[str], list[str], int, int]:
    """Results that main asks for and the branch has not, what was played or recorded twice, and how much there is."""
    paths = [path for path in board.remote.paths(RESULTS) if path.count("/") == 3]
    recorded = Counter("/".join(path.split("/")[:3]) for path in paths)
    main = board.remote.paths("refs/heads/main")
    entries = sorted({"/".join(path.split("/")[1:3]) for path in main if path.startswith("submissions/")})
    tasks = ("CartPole-v1", "FrozenLake-v1")
    standing = {f"{task}/{name}" for name in entries for task in tasks}
    current = versions_recorded(board)
    lost = [f"{name}: of its version on main" for name in sorted(standing) if current.get(name, 0) == 0]
    twice = [f"{path}: played {count} times" for path, count in board.played.items() if count > 1]
    added = Counter(path for letter, path in board.remote.changes_of(RESULTS) if letter == "A")
    twice += [f"{path}: recorded {count} times" for path, count in added.items() if count > 1]
    lost += [f"{path}: recorded, and gone" for path in added if path not in set(board.remote.paths(RESULTS))]
    lost += [f"{path}: an internal error" for path in paths if ".try" in path]
    assert sum(recorded.values()) == len(paths)
    return lost, twice, len(paths), len(entries)


def unanswered(board: CrowdedBoard) -> int:
    """Comments with a command that got no reaction."""
    commands = ("/rank", "/help", "/retry", "/evaluate")
    given = [one for one in board.world.comments.values() if one.author != BOT and one.body.startswith(commands)]
    return sum(not one.reactions for one in given)


def by_hour(times: list[float]) -> list[int]:
    """How many in each hour."""
    hours = Counter(int(at // HOUR_SECONDS) for at in times)
    return [hours[hour] for hour in range(max(hours, default=-1) + 1)]


def busiest(times: list[float]) -> int:
    """Most in any 60 minutes."""
    times, first, most = sorted(times), 0, 0
    for last, at in enumerate(times):
        while times[first] <= at - HOUR_SECONDS:
            first += 1
        most = max(most, last - first + 1)
    return most


def shape(verb: str, path: str) -> str:
    """A request without its numbers."""
    parts = path.split("/")[4:] if path.startswith("/repos/") else path.split("/")[1:]
    return f"{verb} /" + "/".join("…" if part.isdigit() or len(part) == 40 else part for part in parts)


def print_report(report: LoadReport) -> None:
    """The tables."""
    console = Console(width=130)
    names = sorted({state for counts in report.states.values() for state in counts})
    table = Table("kind", *names, title=f"{report.pulls:,} pull requests, {report.commands} commands")
    for kind, counts in sorted(report.states.items()):
        table.add_row(kind, *(str(counts[name] or "") for name in names))
    console.print(table)
    table = Table("workflow", "jobs", "replaced while waiting", "machine hours")
    for name, (jobs, replaced, hours) in report.by_workflow.items():
        table.add_row(name, f"{jobs:,}", f"{replaced:,}", f"{hours:.1f}")
    console.print(table)
    figures = {
        "simulated hours": f"{report.hours:.2f}",
        "seconds here": f"{report.seconds:,.0f}",
        "not settled": len(report.unsettled_line),
        "settled and not explained": len(report.unexplained),
        "longest way to the last state": f"{report.slowest:.2f} h",
        "commands without a reaction": report.unanswered,
        "requests by hour": report.requests,
        "queries of GraphQL by hour": report.queries,
        "most requests in 60 minutes": f"{report.busiest_hour:,}, with GraphQL {report.busiest_of_both:,}",
        "comments created by hour": report.texts,
        "longest wait for a machine": f"{report.longest_wait:.0f} s",
        "entries on main": report.entries,
        "results recorded": report.results,
        "commits of the results branch": report.commits,
        "results lost": len(report.lost),
        "results played or recorded twice": len(report.twice),
        "kB pushed to the data branches an entry": f"{report.pushed_kilobytes / max(1, report.entries):.1f}",
        "kB of a pack of everything an entry": f"{report.packed_kilobytes / max(1, report.entries):.1f}",
        "jobs that failed": len(report.failures),
        "against GitHub's description": len(report.violations),
    }
    table = Table("figure", "value")
    for name, value in figures.items():
        table.add_row(name, str(value))
    console.print(table)
    table = Table("request", "times")
    for name, count in report.by_path.most_common(25):
        table.add_row(name, f"{count:,}")
    console.print(table)
    for title, lines in (
        ("not settled", report.unsettled_line), ("not explained", report.unexplained), ("lost", report.lost),
        ("twice", report.twice), ("failed", report.failures), ("violations", report.violations),
    ):  # fmt: skip
        for line in lines[:8]:
            console.print(f"{title}: {line}", highlight=False, markup=False)


def versions_recorded(board: CrowdedBoard) -> dict[str, int]:
    """`task/login/agent` of main to the results of exactly the version that stands there."""
    found: dict[str, int] = {}
    digests = {f"{entry.login}/{entry.agent}": entry.digest for entry in board.entries()}
    for path in board.remote.paths(RESULTS):
        parts = path.split("/")
        if len(parts) != 4:
            continue
        document = json.loads(git(board.remote.bare, "show", f"{RESULTS}:{path}"))
        if digests.get(f"{parts[1]}/{parts[2]}") == document["submission_digest"] and document["verdict"] == "ok":
            found["/".join(parts[:3])] = found.get("/".join(parts[:3]), 0) + 1
    return found
