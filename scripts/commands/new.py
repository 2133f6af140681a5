"""`pullrank new DIR`: writes an example agent that passes `check` and `evaluate`, for each kind and adapter."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.errors import EnvironmentFault
from evaluator.model.config.source_header import SOURCE_NAME
from evaluator.model.config.submission import ADAPTERS, SubmissionKind
from evaluator.model.config.task import Task
from evaluator.model.identifiers import AGENT, AGENT_RULE, new_agent_fault
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.new_agents.import_model import open_source, write_model_agent
from scripts.new_agents.new_agent import NewAgent, Template, template_for
from scripts.repository.checkout import Checkout, open_checkout
from scripts.repository.layout import SUBMISSIONS


def run(
    folder: Annotated[Path, typer.Argument(help="The new folder: submissions/<your login>/<agent>.", metavar="DIR")],
    name: Annotated[str | None, typer.Option(help="The name shown on the leaderboard.")] = None,
    kind: Annotated[str, typer.Option(help="policy, script or image.")] = "policy",
    adapter: Annotated[str | None, typer.Option(help="For an agent of another system: " + ", ".join(ADAPTERS) + ".")] = None,
    task: Annotated[list[str] | None, typer.Option(help="Enter this task only; may be given again.")] = None,
    one_file: Annotated[
        bool, typer.Option("--one-file", help="Write the manifest as a header of agent.py, not as submission.yml.")
    ] = False,
    model: Annotated[
        str | None,
        typer.Option("--from", help="A trained model: its file, a folder of rl-baselines3-zoo, or an https address."),
    ] = None,
) -> int:
    """Write a small example agent to start from."""
    checkout = open_checkout(Path.cwd())
    template = _template(kind, adapter)
    if folder.resolve().parent == checkout.root.resolve() / SUBMISSIONS:
        words = f"an agent lies in the folder of its owner; write {folder.parent}/<your login>/<agent>"
        raise CommandError(USAGE, f"{folder}: {words}")
    if not AGENT.fullmatch(folder.name):
        raise CommandError(USAGE, f"{folder.name!r} cannot be an agent's folder; name it with {AGENT_RULE}")
    if fault := new_agent_fault(folder.name):
        raise CommandError(USAGE, f"{folder}: {fault}")
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise CommandError(SUBMISSION_AT_FAULT, f"{folder}: is not empty; nothing was written")
    shown = name or folder.name.replace("-", " ").capitalize()
    if one_file and (model is not None or not template.has_agent_file):
        raise CommandError(USAGE, f"--one-file is for agents that {SOURCE_NAME} defines; leave it out")
    if model is not None:
        with open_source(model, checkout) as source:
            files = write_model_agent(source, folder, shown, task, checkout)
        say(f"Wrote {', '.join(f'{folder}/{file}' for file in files)}. Next: pullrank evaluate {folder}")
        return OK
    tasks = _tasks(checkout, template, folder, task)
    fitting = [
        each for each in checkout.challenge.tasks if (each.script is None) == (template.kind is not SubmissionKind.SCRIPT)
    ]
    new_agent = NewAgent(
        template=template, folder=folder, name=shown, tasks=tuple(tasks),
        all_tasks=not task and tasks == fitting, root=checkout.root, people=checkout.challenge.people,
        one_file=one_file,
    )  # fmt: skip
    files = new_agent.write()
    say(f"Wrote {', '.join(f'{folder}/{file}' for file in files)}. Next: {new_agent.next_step}")
    return OK


def _template(kind: str, adapter: str | None) -> Template:
    if kind not in list(SubmissionKind):
        raise CommandError(USAGE, f"there is no kind {kind!r}; the kinds are {', '.join(SubmissionKind)}")
    if adapter is not None and adapter not in ADAPTERS:
        raise CommandError(USAGE, f"there is no adapter {adapter!r}; the adapters are {', '.join(ADAPTERS)}")
    template = template_for(SubmissionKind(kind), adapter)
    if template is None:
        raise CommandError(
            USAGE, f"adapters run agents of the kind policy, not of the kind {kind}; leave out one of the two"
        )
    return template


def _tasks(checkout: Checkout, template: Template, folder: Path, ids: list[str] | None) -> list[Task]:
    """The tasks to enter: the named ones, or all that the template can play."""
    tasks = checkout.tasks(ids)
    option = f"--adapter {template.adapter}" if template.adapter else f"--kind {template.kind}"
    if ids and (wrong := next((task for task in tasks if not template.fits(task)), None)):
        advice = "name another --task"
        if template.adapter == "onnx" and wrong.game is not None:
            advice = f"for a game give your own network: pullrank new {folder} --from model.onnx --task {wrong.id}"
        raise CommandError(USAGE, f"{option} is for {template.where}; {wrong.id} is none of them: {advice}")
    fitting = [task for task in tasks if template.fits(task)]
    if not fitting:
        raise CommandError(USAGE, f"{option} is for {template.where}, and this challenge has none of them")
    try:
        return fitting if ids else template.default_tasks(fitting)
    except EnvironmentFault as error:
        raise CommandError(USAGE, f"{error}; name another --task") from error
