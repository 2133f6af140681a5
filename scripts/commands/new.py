"""`pullrank new DIR`: a folder that passes `check` and `evaluate` at once, for every kind of agent and every adapter."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.errors import EnvironmentFault
from evaluator.model.config.challenge import Task
from evaluator.model.config.submission import ADAPTERS, SubmissionKind
from evaluator.model.identifiers import AGENT, ENDING_RULE, is_named_like_a_file
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.repository.checkout import Checkout, open_checkout
from scripts.runs.new_agent import NewAgent, Template, template_for


def run(
    folder: Annotated[Path, typer.Argument(help="The new folder: submissions/<your login>/<agent>.", metavar="DIR")],
    name: Annotated[str | None, typer.Option(help="The name the board shows.")] = None,
    kind: Annotated[str, typer.Option(help="policy, script or image.")] = "policy",
    adapter: Annotated[str | None, typer.Option(help="For an agent of another system: " + ", ".join(ADAPTERS) + ".")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Enter this task only; may be given again.")] = None,
) -> int:
    """Write a small agent to begin with."""
    board = open_checkout(Path.cwd())
    template = _template(kind, adapter)
    if not AGENT.fullmatch(folder.name):
        rule = "1 to 40 lower-case letters, digits, '.', '_' or '-'"
        raise CommandError(USAGE, f"{folder.name!r} cannot be an agent's folder; name it with {rule}")
    if is_named_like_a_file(folder.name):
        raise CommandError(USAGE, f"{folder}: {ENDING_RULE}")
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise CommandError(SUBMISSION_AT_FAULT, f"{folder}: is not empty; nothing was written")
    tasks = _tasks(board, template, task)
    fitting = [one for one in board.challenge.tasks if (one.script is None) == (template.kind is not SubmissionKind.SCRIPT)]
    start = NewAgent(
        template=template, folder=folder, name=name or folder.name.replace("-", " ").capitalize(), tasks=tuple(tasks),
        all_tasks=not task and tasks == fitting, root=board.root, people=board.challenge.people,
    )  # fmt: skip
    written = start.write()
    say(f"Wrote {', '.join(f'{folder}/{one}' for one in written)}. Next: {start.to_do}")
    return OK


def _template(kind: str, adapter: str | None) -> Template:
    """What is asked for.

    Raises:
        CommandError: there is no such kind or adapter, or not the two together.
    """
    if kind not in list(SubmissionKind):
        raise CommandError(USAGE, f"there is no kind {kind!r}; the kinds are {', '.join(SubmissionKind)}")
    if adapter is not None and adapter not in ADAPTERS:
        raise CommandError(USAGE, f"there is no adapter {adapter!r}; the adapters are {', '.join(ADAPTERS)}")
    found = template_for(SubmissionKind(kind), adapter)
    if found is None:
        raise CommandError(USAGE, f"adapters run agents of the kind policy, not of the kind {kind}; leave one of both out")
    return found


def _tasks(board: Checkout, template: Template, ids: list[str] | None) -> list[Task]:
    """The tasks to enter: the named ones, or all that fit.

    Raises:
        CommandError: one does not fit, or none does.
    """
    asked = board.tasks(ids)
    which = f"--adapter {template.adapter}" if template.adapter else f"--kind {template.kind}"
    if ids and (wrong := next((task for task in asked if not template.fits(task)), None)):
        raise CommandError(USAGE, f"{which} is for {template.where}; {wrong.id} is none of them: name another --task")
    fitting = [task for task in asked if template.fits(task)]
    if not fitting:
        raise CommandError(USAGE, f"{which} is for {template.where}, and this board has none of them")
    try:
        return fitting if ids else template.chosen(fitting)
    except EnvironmentFault as error:
        raise CommandError(USAGE, f"{error}; name another --task") from error
