"""Who brings what to a popular board, and when: honest agents, copies, resubmissions, broken folders, withdrawals."""

import random
from dataclasses import dataclass, field

MANIFEST = "name: {name}\nalgorithm: rule\nkind: policy\nentry: agent.py\n"
SOURCE = "class Agent:\n    memoryless = True\n\n    def act(self, observation):\n        return {act}\n"
# What each of a hundred pull requests is; the rest are new, honest agents.
SHARES = {
    "update": 12, "copy": 6, "near copy": 6, "resubmitted": 8, "broken manifest": 4, "crashes": 5, "outside": 3,
    "symlink": 2, "withdraws": 5, "closed by its author": 3, "conflict": 2, "two commits at once": 4,
}  # fmt: skip
HONEST = "new agent"
# Kinds that change what a merged pull request of the same author brought.
LATER = ("update", "withdraws")
COMMANDS = ("/rank", "/help", "/retry", "/evaluate {sha}", "/rank", "/frobnicate")

Files = dict[str, str | None]
"""Path to content; None removes. A path may begin with a mode and a colon."""


@dataclass(kw_only=True)
class PlannedPull:
    """One pull request of the population."""

    index: int
    kind: str
    author: str
    opens: float
    """Seconds after the beginning."""
    files: Files
    second: Files | None = None
    """A second commit."""
    second_after: float = 0.0
    closes_after: float | None = None
    """Seconds after which its author closes it."""
    conflicts: bool = False
    needs: int | None = None
    """The index of a pull request that must be merged before this one can be opened."""


@dataclass(kw_only=True)
class PlannedCommand:
    """A comment that is meant as a command."""

    pull: int
    """Index of its pull request."""
    after: float
    """Seconds after that was opened."""
    by_author: bool
    text: str


@dataclass(kw_only=True)
class Population:
    """Everything that people other than the maintainers do."""

    pulls: list[PlannedPull] = field(default_factory=list)
    commands: list[PlannedCommand] = field(default_factory=list)


def _agent(login: str, name: str, act: str) -> Files:
    folder = f"submissions/{login}/{name}"
    return {f"{folder}/submission.yml": MANIFEST.format(name=name), f"{folder}/agent.py": SOURCE.format(act=act)}


def _honest(login: str, name: str, number: int) -> Files:
    return _agent(
        login, name, f"int(observation[2] > {number / 100_000}) if hasattr(observation, '__len__') else {number % 4}"
    )


def kinds(count: int, chance: random.Random) -> list[str]:
    """The kind of each pull request, every kind at least once; those that build on a merge come later."""
    drawn = [kind for kind, share in SHARES.items() for _ in range(max(1, round(share * count / 100)))]
    drawn = (drawn + [HONEST] * count)[: max(count, len(drawn))]
    chance.shuffle(drawn)
    early = count // 3
    for index, kind in enumerate(drawn[:early]):
        if kind in LATER:
            other = next(i for i in range(len(drawn) - 1, early - 1, -1) if drawn[i] not in LATER)
            drawn[index], drawn[other] = drawn[other], kind
    return drawn


def arrivals(count: int, seconds: float, chance: random.Random) -> list[float]:
    """Times of opening: half of them in five bursts of ten minutes, as before deadlines, the rest evenly."""
    bursts = [seconds * (0.02 + 0.22 * number) for number in range(5)]
    times = [chance.uniform(0, seconds) for _ in range(count - count // 2)]
    times += [min(seconds, chance.choice(bursts) + chance.uniform(0, 600)) for _ in range(count // 2)]
    return sorted(times)


def make_population(count: int, *, seconds: float, commands: int, seed: int) -> Population:
    """So many pull requests, opened within so many seconds, with so many commands on them."""
    chance = random.Random(seed)
    drawn = kinds(count, chance)
    times = arrivals(len(drawn), seconds, chance)
    population = Population()
    merged: list[PlannedPull] = []
    for index, (kind, opens) in enumerate(zip(drawn, times, strict=True)):
        population.pulls.append(_pull(index, kind, opens, merged, chance))
        if kind in (HONEST, "near copy", "resubmitted", "two commits at once"):
            merged.append(population.pulls[-1])
    for number in range(commands):
        pull = chance.choice(population.pulls)
        text = COMMANDS[number % len(COMMANDS)]
        by_author = chance.random() < 0.8
        population.commands.append(
            PlannedCommand(pull=pull.index, after=chance.uniform(60, 3600), by_author=by_author, text=text)
        )
    return population


def _pull(index: int, kind: str, opens: float, merged: list[PlannedPull], chance: random.Random) -> PlannedPull:
    login, name = f"person{index}", "agent"
    pull = PlannedPull(index=index, kind=kind, author=login, opens=opens, files=_honest(login, name, index))
    # The earliest merges that nobody has built on yet: they stand on main by then.
    if kind in LATER and merged:
        before = merged.pop(0)
        pull.author, pull.needs = before.author, before.index
        if kind == "update":
            pull.files = _honest(before.author, name, index)
        else:
            pull.files = dict.fromkeys(before.files)
    elif kind in ("copy", "near copy") and merged:
        before = merged[len(merged) // 4]
        standing = before.second or before.files
        source = standing[f"submissions/{before.author}/{name}/agent.py"]
        assert source is not None
        pull.files = {**_honest(login, name, index), f"submissions/{login}/{name}/agent.py": source}
        if kind == "copy":
            pull.needs = before.index
            pull.files[f"submissions/{login}/{name}/submission.yml"] = standing[
                f"submissions/{before.author}/{name}/submission.yml"
            ]
        else:
            pull.files[f"submissions/{login}/{name}/agent.py"] = f"# my own idea, number {index}\n{source}"
    elif kind == "resubmitted":
        pull.files, pull.second = _agent(login, name, "1 / 0"), _honest(login, name, index)
        pull.second_after = chance.uniform(900, 2400)
    elif kind == "two commits at once":
        pull.second, pull.second_after = _honest(login, name, index), chance.uniform(5, 60)
        pull.files = _agent(login, name, f"{index % 2} + 0")
    elif kind == "broken manifest":
        pull.files[f"submissions/{login}/{name}/submission.yml"] = "name: [unclosed\n"
    elif kind == "crashes":
        pull.files = _agent(login, name, f"1 / 0 + {index}")
    elif kind == "outside":
        pull.files["README.md"] = f"{login} was here\n"
    elif kind == "symlink":
        pull.files[f"120000:submissions/{login}/{name}/weights"] = "/etc/passwd"
    elif kind == "closed by its author":
        pull.closes_after = chance.uniform(30, 1800)
    elif kind == "conflict":
        pull.conflicts = True
    return pull
