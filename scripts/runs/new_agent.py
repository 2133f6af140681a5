"""What a new agent begins as: for each kind and adapter a folder under scripts/templates, filled in and copied."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluator.model.config.challenge import Task
from evaluator.model.config.participants import CustomField, People
from evaluator.model.config.submission import MANIFEST_NAME, SubmissionKind

TEMPLATES = Path(__file__).parents[1] / "templates"
# What stands in the templates where the new agent's own words go.
_SCHEMA, _NAME, _TASKS = "../../../site/pages/schemas/submission.json", "name: My agent\n", "tasks: all\n"
_IMAGE = "your-login/your-agent"
_ARENA = ("pettingzoo.classic.tictactoe_v3", "pettingzoo.classic.connect_four_v3", "evaluator.environments.quarto")
_CONNECT_FOUR = "pettingzoo.classic.connect_four_v3"
_ACTION = "ACTION = 0\n"
# Adapters whose example does one and the same in every state.
_CONSTANT = ("function", "evalai-grpc")
_ALONE = "tasks that are played alone and measure no scripts"
# The models that lie with the templates, and what makes others.
_MODELS = {"sb3": ("model.zip", "train.py"), "onnx": ("model.onnx", "export.py")}
_ENVIRONMENT = 'ENVIRONMENT = "CartPole-v1"\n'


@dataclass(frozen=True, kw_only=True)
class Template:
    """One way to begin."""

    kind: SubmissionKind
    adapter: str | None = None
    fits: Callable[[Task], bool]
    where: str
    """Those tasks, in words."""

    def chosen(self, tasks: list[Task]) -> list[Task]:
        """Of the tasks that fit, those on which what lies with the template can be measured at once."""
        if self.adapter in _MODELS:
            return [task for task in tasks if _of_cartpole(task)] or tasks[:1]
        if self.adapter in _CONSTANT:
            first = zero_action(tasks[0])
            return [task for task in tasks if zero_action(task) == first]
        return tasks


def _solo(task: Task) -> bool:
    return task.game is None and task.script is None


def _of_cartpole(task: Task) -> bool:
    """The models that lie with the templates are of this environment: it is small."""
    return task.env_id == "CartPole-v1"


def zero_action(task: Task) -> str:
    """The action of all zeros, as Python has it.

    Raises:
        WorldError: the environment cannot be made here.
    """
    # Environments are opened for two adapters only, and take longer to import than all else.
    import numpy as np
    from gymnasium.spaces import Discrete

    from evaluator.host.envs.gym_task import load_gym_task

    space = load_gym_task(task).action_space
    return str(int(space.start)) if isinstance(space, Discrete) else str(np.zeros(space.shape or ()).tolist())


TEMPLATES_OF_KINDS = (
    Template(kind=SubmissionKind.POLICY, fits=lambda task: task.script is None,
    where="tasks and games that measure no scripts"),
    Template(kind=SubmissionKind.SCRIPT, fits=lambda task: task.script is not None, where="tasks that have 'script' rules"),
    Template(kind=SubmissionKind.IMAGE, fits=lambda task: task.script is None,
    where="tasks and games that measure no scripts"),
    Template(
        kind=SubmissionKind.POLICY, adapter="rl-arena", fits=lambda task: task.game in _ARENA,
        where="tic-tac-toe, Connect Four and Quarto",
    ),
    Template(
        kind=SubmissionKind.POLICY, adapter="kaggle-connectx", fits=lambda task: task.game == _CONNECT_FOUR,
        where="Connect Four",
    ),
    Template(kind=SubmissionKind.POLICY, adapter="predict", fits=_solo, where=_ALONE),
    Template(kind=SubmissionKind.POLICY, adapter="function", fits=_solo, where=_ALONE),
    Template(kind=SubmissionKind.POLICY, adapter="gym-policy", fits=_solo, where=_ALONE),
    Template(kind=SubmissionKind.POLICY, adapter="evalai-grpc", fits=_solo, where=_ALONE),
    Template(kind=SubmissionKind.POLICY, adapter="sb3", fits=_solo, where=_ALONE),
    Template(kind=SubmissionKind.POLICY, adapter="onnx", fits=_solo, where=_ALONE),
)  # fmt: skip


def template_for(kind: SubmissionKind, adapter: str | None) -> Template | None:
    """The template of a kind and adapter, if there is one."""
    return next((one for one in TEMPLATES_OF_KINDS if (one.kind, one.adapter) == (kind, adapter)), None)


@dataclass(frozen=True, kw_only=True)
class NewAgent:
    """What is written, and where."""

    template: Template
    folder: Path
    name: str
    tasks: tuple[Task, ...]
    """What it is measured on; at least one."""
    all_tasks: bool
    """Whether these are all that agents of its kind are measured on."""
    root: Path
    people: People

    @property
    def to_do(self) -> str:
        """What comes next."""
        if self.template.kind is SubmissionKind.IMAGE:
            return f"build and push the image as {self.folder}/README.md says"
        play = f"pullrank evaluate {self.folder}"
        if self._asked():
            play = f"answer what is asked at the end of {self.folder}/submission.yml; then {play}"
        left_out, maker = self._left_out()
        return f"run {self.folder}/{maker}, which makes {left_out}; then {play}" if left_out else play

    def _left_out(self) -> tuple[str, str]:
        """The model that is not written, since it is another environment's, and what makes one; empty if it is."""
        fits = all(_of_cartpole(task) for task in self.tasks)
        return ("", "") if fits else _MODELS.get(self.template.adapter or "", ("", ""))

    def write(self) -> list[str]:
        """Write the folder; returns the names of its files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        written = []
        for path in self._files():
            target = self.folder / path.name
            if path.suffix in (".zip", ".onnx"):
                target.write_bytes(path.read_bytes())
            else:
                asked = self._asked() if path.name == MANIFEST_NAME else ""
                target.write_text(self._filled(path.read_text(encoding="utf-8")) + asked, encoding="utf-8")
            written.append(path.name)
        return written

    def _asked(self) -> str:
        """What only a person can answer, as the end of submission.yml: written out, but for the answers."""
        lines = []
        if self.people.terms is not None:
            lines.append(f"# terms: true  # this board has terms: read {self.people.terms}, and accept them with this line")
        if required := [field for field in self.people.fields if field.required]:
            lines.append("# meta:  # this board asks")
            lines += [f"#   {quoted(field.name)}: {_answer(field)}" for field in required]
        return "".join(f"{line}\n" for line in lines)

    def _files(self) -> Iterator[Path]:
        found = sorted(path for path in (TEMPLATES / self._place()).iterdir() if path.is_file())
        wanted = [path for path in found if path.name != self._left_out()[0]]
        yield from sorted(wanted, key=lambda path: path.name != MANIFEST_NAME)

    def _place(self) -> str:
        if self.template.adapter or self.template.kind is not SubmissionKind.POLICY:
            return self.template.adapter or str(self.template.kind)
        games = [task.game is not None for task in self.tasks]
        return "policy-game" if all(games) else "policy-any" if any(games) else "policy"

    def _filled(self, text: str) -> str:
        schema = os.path.relpath(self.root / "site/pages/schemas/submission.json", self.folder.resolve())
        ids = "all" if self.all_tasks else "[" + ", ".join(quoted(task.id) for task in self.tasks) + "]"
        words = {_SCHEMA: schema, _NAME: f"name: {quoted(self.name)}\n", _TASKS: f"tasks: {ids}\n", _IMAGE: self._image()}
        if self.template.adapter in _MODELS:
            words[_ENVIRONMENT] = f"ENVIRONMENT = {json.dumps(self.tasks[0].env_id)}\n"
        if self.template.adapter in _CONSTANT:
            words[_ACTION] = f"ACTION = {zero_action(self.tasks[0])}\n"
        for old, new in words.items():
            text = text.replace(old, new)
        return text

    def _image(self) -> str:
        parent = self.folder.resolve().parent
        login = parent.name if parent.parent.name == "submissions" else "your-login"
        return f"{login.lower()}/{self.folder.name}"


def _answer(field: CustomField) -> str:
    """What may stand there."""
    match field.kind:
        case "boolean":
            return "true  # or false"
        case "choice":
            return f"{quoted(field.options[0])}  # one of {', '.join(field.options)}"
        case "text":
            return '"…"'


def quoted(text: str) -> str:
    """A text as YAML has it, whatever is in it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
