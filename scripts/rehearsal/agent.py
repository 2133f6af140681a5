"""The agent that a rehearsal enters, and what says afterwards that it was one."""

import re
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluator.host.loading.yaml_loader import LoadError, parse_moderation
from evaluator.model.config.challenge import Challenge, Task
from evaluator.model.config.moderation import Rehearsal
from evaluator.model.config.participants import CustomField, People
from evaluator.model.config.submission import MANIFEST_NAME, Kind
from scripts.console import USAGE, CommandError
from scripts.starting import Start, beginning, quoted

MODERATION = "moderation.yml"
NAME = "Rehearsal"
_DESCRIPTION = "A rehearsal of the host's, to see that the board works. It is withdrawn again at once."
_LIST = re.compile(r"^rehearsals:[ \t]*(\[[ \t]*\])?[ \t]*(#.*)?$", re.MULTILINE)


def chosen_task(challenge: Challenge, wanted: str | None) -> Task:
    """The task that the rehearsal enters: the wanted one, else the first one played alone, else the first.

    Raises:
        CommandError: there is no such task.
    """
    if wanted is None:
        alone = [task for task in challenge.tasks if task.game is None and task.script is None]
        return (alone or list(challenge.tasks))[0]
    for task in challenge.tasks:
        if task.id == wanted:
            return task
    names = ", ".join(task.id for task in challenge.tasks)
    raise CommandError(USAGE, f"challenge.yml on main has no task {wanted!r}; its tasks are {names}")


def agent_files(challenge: Challenge, task: Task, folder: str, token: str) -> dict[str, bytes]:
    """The example that `pullrank new` writes for a task, changed by one comment; by path from the repository's root.

    Args:
        challenge: what the board asks of a submission.
        task: the one to enter.
        folder: `submissions/<login>/<agent>`.
        token: what makes this version another one than those before.
    """
    template = beginning(Kind.POLICY if task.script is None else Kind.SCRIPT, None)
    assert template is not None, "every kind has a template"
    with TemporaryDirectory(prefix="pullrank-rehearsal-") as place:
        root = Path(place)
        start = Start(
            template=template, folder=root / folder, name=NAME, tasks=(task,), all_tasks=False, root=root,
            people=challenge.people,
        )  # fmt: skip
        start.write()
        texts = {path.name: path.read_text(encoding="utf-8") for path in (root / folder).iterdir()}
    source = next(name for name in sorted(texts) if name.endswith(".py"))
    texts[source] += f"\n# Rehearsal {token}: but for this comment it is the example that 'pullrank new' writes.\n"
    texts[MANIFEST_NAME] += f"description: {quoted(_DESCRIPTION)}\n{_answers(challenge.people)}"
    return {f"{folder}/{name}": text.encode() for name, text in texts.items()}


def _answers(people: People) -> str:
    """What the board asks of everybody, answered for a rehearsal."""
    lines = ["terms: true"] if people.terms is not None else []
    required = [field for field in people.fields if field.required]
    lines += ["meta:"] if required else []
    lines += [f"  {quoted(field.name)}: {_answer(field)}" for field in required]
    return "".join(f"{line}\n" for line in lines)


def _answer(field: CustomField) -> str:
    match field.kind:
        case "boolean":
            return "true"
        case "choice":
            return quoted(field.options[0])
        case "text":
            return quoted(NAME)


def marked(content: bytes, login: str, agent: str, digest: str, day: date) -> bytes:
    """moderation.yml with one more version that was a rehearsal; everything else in it stays as it is written.

    Raises:
        CommandError: the file is faulty, or written in a way that a line cannot be added to.
    """
    mark = Rehearsal(login=login, agent=agent, digest=digest, since=day.isoformat())
    try:
        if content.strip() and digest in parse_moderation(content).rehearsed(login, agent):
            return content
        made = _with_item(content.decode("utf-8"), mark).encode()
        if digest in parse_moderation(made).rehearsed(login, agent):
            return made
    except LoadError as error:
        raise CommandError(USAGE, f"{MODERATION} on main cannot be used: {error.lines[0]}; mend it first") from error
    raise CommandError(USAGE, f"{MODERATION} on main: its list 'rehearsals' is written in a way that cannot be added to")


def _with_item(text: str, mark: Rehearsal) -> str:
    place = _LIST.search(text)
    indent = "  "
    if place is not None:
        following = re.match(r"(?:\s*#[^\n]*\n|\s*\n)*([ \t]*)- ", text[place.end() :])
        indent = following[1] if following else indent
    fields = (
        f"login: {quoted(mark.login)}",
        f"agent: {quoted(mark.agent)}",
        f'digest: "{mark.digest}"',
        f'since: "{mark.since}"',
    )
    item = f"{indent}- " + f"\n{indent}  ".join(fields)
    if place is None:
        return f"{text.rstrip()}\nrehearsals:\n{item}\n".lstrip("\n")
    return f"{text[: place.start()]}rehearsals:\n{item}{text[place.end() :]}"
