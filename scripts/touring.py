"""Tournaments: what is wanted and not recorded, held until nothing is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluator.host.digests.runtime_digest import lock_digests
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.verdict import Verdict
from leaderboard.planning.missing import DuelItem, Where, plan
from scripts.console import say
from scripts.dueling import Hall, title
from scripts.entering import entered
from scripts.progress import titled_bar
from scripts.repository.checkout import PREVIEW_BEACON, Board, Found


@dataclass(frozen=True, kw_only=True)
class Tour:
    """What a tournament came to."""

    recorded: int
    """Duels of these games that were there before."""
    held: tuple[Duel, ...]
    """Those held just now, in order; with the failures of ours."""


def players(board: Board, tell: Callable[[str], None]) -> list[Found]:
    """Everybody who may play; `tell` hears of those that name a task there is not. Ranking names unreadable folders."""
    able = []
    for agent in board.read_all()[0]:
        try:
            entered(agent, board.tasks(None))
        except LoadError as error:
            tell("\n".join(error.lines))
            continue
        if board.moderation.of(agent.login, agent.agent) is None:
            able.append(agent)
    return able


def tour(hall: Hall, found: Sequence[Found], games: Sequence[Task], *, quiet: bool) -> Tour:
    """Hold every duel that is wanted of these games, each recorded as it ends: validations first, then pairs.

    Who is to meet whom is asked anew after each round, since a round changes the ratings. A failure of ours stays wanted,
    but not for this run.
    """
    board = hall.bench.board
    known, damaged = board.store.read_duels()
    for file in damaged:
        say(f"{file.path}: is not a duel ({file.reason}); where it is wanted it is played again")
    challenge = board.challenge.model_copy(update={"tasks": tuple(games)})
    ids = {task.id for task in games}
    before = sum(duel.task in ids for duel in known)
    held: list[Duel] = []
    while items := _round(hall, challenge, found, known, held):
        held.extend(_held(hall, challenge, found, items, quiet=quiet))
    return Tour(recorded=before, held=tuple(held))


def _round(
    hall: Hall, challenge: Challenge, found: Sequence[Found], known: Sequence[Duel], held: Sequence[Duel]
) -> list[DuelItem]:
    """What is to be held next; validations alone while there are any, so that ratings know of every player."""
    where = Where(runtime_digest=hall.bench.runtime_digest, beacon=PREVIEW_BEACON, locks=lock_digests())
    failed = {(duel.players[0].name, duel.players[1].name, duel.key) for duel in held if duel.verdict is not Verdict.OK}
    wanted = plan(challenge, [agent.entry() for agent in found], [], where, [*known, *held])
    items = [
        item
        for item in wanted
        if isinstance(item, DuelItem) and (item.entries[0].name, item.entries[1].name, item.wanted.key()) not in failed
    ]
    return [item for item in items if item.is_validation] or items


def _held(hall: Hall, challenge: Challenge, found: Sequence[Found], items: Sequence[DuelItem], *, quiet: bool) -> list[Duel]:
    by_name = {agent.name: agent for agent in found}
    tasks = {task.id: task for task in challenge.tasks}
    total = sum(tasks[item.task_id].matches for item in items)
    held: list[Duel] = []
    done = 0
    with titled_bar("", total, quiet=quiet) as tell:
        for item in items:
            one, other = (by_name[entry.name] for entry in item.entries)
            order = hall.order(one, other, tasks[item.task_id])
            said = f"{title(order)} ({len(held) + 1} of {len(items)})"
            tell(done, said)
            duel = hall.hold(order, _after(done, said, tell))
            hall.bench.board.store.write_duel(duel)
            held.append(duel)
            done += order.game.task.matches
    return held


def _after(before: int, said: str, tell: Callable[[int, str | None], None]) -> Callable[[int], None]:
    return lambda matches: tell(before + matches, said)
