"""`pullrank ready DIR`: whether a pull request with this agent would pass, and what is left to do until it is open."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.task import Task
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from leaderboard.core.entry import EXAMPLES_LOGIN
from leaderboard.ratings.rated_duels import rated_totals, validation_refusal
from scripts.commands.check import check_folder
from scripts.commands.evaluate import print_places
from scripts.console import OK, SUBMISSION_AT_FAULT, CommandError, print_json, say
from scripts.git.pull_request_guard import uncommitted_copy_faults
from scripts.git.submit_steps import CloneState, SubmitSteps, read_clone, submit_steps
from scripts.options import AgentArgument, JsonDocument
from scripts.repository.checkout import AgentFolder, Checkout, open_checkout
from scripts.repository.layout import MAIN_BRANCH, SUBMISSIONS
from scripts.runs.eligible_tasks import closed_here, eligible_tasks
from scripts.standings.agent_records import duels_of, newest_results
from scripts.standings.expected_place import expected_comment, recorded_here, with_recorded

PATHS_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class ReadyCheck:
    """One condition of a pull request."""

    what: str
    fault: str = ""
    """What is wrong and what to do; empty where nothing is."""


def run(folder: AgentArgument, as_json: JsonDocument = False) -> int:
    """Say whether a pull request with this agent would pass: paths, check, results, place; then what is left to do."""
    checkout = open_checkout(Path.cwd())
    clone = None
    try:
        entry = check_folder(checkout, folder)[0]
    except LoadError as error:
        checks = [ReadyCheck(what="check", fault=line) for line in error.lines]
    else:
        checks, clone = _checks(checkout, entry)
    passed = not any(each.fault for each in checks)
    steps = submit_steps(checkout, entry, clone) if passed and clone else None
    if as_json:
        print_json({
            "ready": passed, "checks": [{"what": each.what, "ok": not each.fault, "fault": each.fault} for each in checks],
            "places": list(_places(checkout, entry)) if passed else [], "commands": list(steps.commands) if steps else [],
            "pull_request": steps.address if steps else None, "note": steps.note if steps else "",
        })  # fmt: skip
        return OK if passed else SUBMISSION_AT_FAULT
    for each in checks:
        say(f"no  {each.what}: {each.fault}" if each.fault else f"ok  {each.what}")
    if steps:
        print_places(checkout, entry, *_recorded(checkout, entry))
        say(_in_words(steps))
    return OK if passed else SUBMISSION_AT_FAULT


def _in_words(steps: SubmitSteps) -> str:
    lines = [f"Ready. {steps.note}".rstrip()]
    if steps.commands:
        lines += ["What is left to do:", *steps.commands]
    if steps.address:
        lines.append(f"{'Then open' if steps.commands else 'Everything is pushed; open'} the pull request: {steps.address}")
    elif steps.commands:
        lines.append("Then open the pull request.")
    return "\n".join(lines)


def _checks(checkout: Checkout, entry: AgentFolder) -> tuple[list[ReadyCheck], CloneState | None]:
    """The checks of a folder that can be read, and the clone that they looked at."""
    if entry.login == EXAMPLES_LOGIN:
        fault = f"{entry.shown}: put it at {SUBMISSIONS}/<your login>/{entry.agent}"
        return [ReadyCheck(what="check"), ReadyCheck(what="login", fault=fault)], None
    try:
        clone = read_clone(checkout, entry.login)
        faults = _path_faults(clone, entry) if clone else [f"this is no clone with a branch {MAIN_BRANCH}; clone your fork"]
    except CommandError as error:
        clone, faults = None, [str(error)]
    checks = [
        ReadyCheck(what="check"),
        ReadyCheck(what=f"login {entry.login}, which must be the account that opens the pull request"),
        ReadyCheck(what="only your own folder is changed", fault="; ".join(faults)),
        *_result_checks(checkout, entry),
    ]
    return checks, clone


def _path_faults(clone: CloneState, entry: AgentFolder) -> list[str]:
    """What the branch changes beside the owner's folders, committed since main or not; and what git would leave out."""
    path = f"{SUBMISSIONS}/{entry.login}/{entry.agent}"
    ignored = clone.git.ignored(path)
    copied: list[str] = []
    if any(each.startswith(f"{path}/") for each in clone.uncommitted):
        copied = uncommitted_copy_faults(clone.git, clone.base_commit, path, entry.folder.blobs)
    folder = f"{SUBMISSIONS}/{entry.login}/"
    outside = [*clone.guarded.outside, *(path for path in clone.uncommitted if not path.startswith(folder))]
    outside = list(dict.fromkeys(outside))
    more = len(outside) - PATHS_SHOWN
    files = {f"{folder}{entry.agent}/{blob.path}" for blob in entry.folder.blobs}
    return [
        *dict.fromkeys([*clone.guarded.faults, *copied]),
        *(f"{path} lies outside of {folder}: undo it, or leave it out" for path in outside[:PATHS_SHOWN]),
        *([f"{more} more lie there, too"] if more > 0 else []),
        *(f"{path} is ignored by git, which would leave it out: rename it" for path in ignored if path in files),
    ]


def _recorded(checkout: Checkout, entry: AgentFolder) -> tuple[list[Result], list[Duel]]:
    """The newest result of this version on each task that it enters, and its newest duel with each opponent."""
    entered = {task.id for task in eligible_tasks(checkout.challenge, entry)}
    duels: dict[tuple[str, ...], Duel] = {}
    for duel in duels_of(checkout, entry, None):
        duels.setdefault((duel.task, *(f"{player.login}/{player.agent}" for player in duel.players)), duel)
    results = [result for _, result in newest_results(checkout, entry, None, may_be_none=True) if result.task in entered]
    return results, [duel for duel in duels.values() if duel.task in entered]


def _result_checks(checkout: Checkout, entry: AgentFolder) -> Iterator[ReadyCheck]:
    """Of each task that the agent enters, whether what is recorded lets it in; of a game its validation does."""
    missing = f"this version was not evaluated here; run 'pullrank evaluate {entry.shown}'"
    results, duels = _recorded(checkout, entry)
    of_task = {result.task: result for result in results}
    tasks, closed = eligible_tasks(checkout.challenge, entry), closed_here(checkout, entry)
    if closed.keys() >= {task.id for task in tasks}:
        for reason in dict.fromkeys(closed.values()):
            yield ReadyCheck(what=", ".join(name for name, why in closed.items() if why == reason), fault=reason)
        return
    for task in tasks:
        result = of_task.get(task.id)
        if task.id in closed:
            yield ReadyCheck(what=f"not on {task.id}: {closed[task.id]}")
        elif task.game is not None:
            of_game = [duel for duel in duels if duel.task == task.id]
            yield _game_check(entry, task, of_game) if of_game else ReadyCheck(what=task.id, fault=missing)
        elif result is None:
            yield ReadyCheck(what=task.id, fault=missing)
        elif result.verdict is not Verdict.OK:
            yield ReadyCheck(what=task.id, fault=f"{result.verdict}: {result.message}")
        else:
            yield ReadyCheck(what=f"{task.id}: evaluated, {len(result.returns)} episodes")


def _game_check(entry: AgentFolder, task: Task, duels: list[Duel]) -> ReadyCheck:
    """The check of a game: the validation decides, as in the pull request, and others are named with their scores."""
    validation = next((duel for duel in duels if duel.is_validation), None)
    if validation is None:
        return ReadyCheck(what=task.id, fault=f"no validation is recorded; run 'pullrank evaluate {entry.shown}'")
    if reason := validation_refusal(validation):
        return ReadyCheck(what=task.id, fault=f"it may not enter: {reason}")
    words = [f"{task.id}: validated in {len(validation.matches)} matches against itself"]
    for duel in duels:
        if not duel.is_validation and duel.verdict is Verdict.OK:
            side = duel.side_of(entry.name)
            count, other = rated_totals(duel).counts[side], duel.players[1 - side]
            words.append(f"{count.won}–{count.drawn}–{count.lost} against {other.login}/{other.agent}")
    return ReadyCheck(what="; ".join(words))


def _places(checkout: Checkout, entry: AgentFolder) -> Iterator[dict[str, str | int]]:
    """The place that the agent would take on each task and game, where it has one."""
    recorded, _ = recorded_here(with_recorded(checkout))
    (agent,) = expected_comment(recorded, entry, *_recorded(checkout, entry), closed_here(checkout, entry)).agents
    for row in agent.rows:
        if row.place is not None:
            yield {"task": row.task.id, "place": row.place, "of": row.entries}
    for game in agent.games:
        if game.place is not None:
            yield {"task": game.task.id, "place": game.place, "of": game.entries}
