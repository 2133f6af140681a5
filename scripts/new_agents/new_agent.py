"""The example agents that `pullrank new` writes: a template folder for each kind and adapter, filled in and copied."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evaluator.model.config.people import CustomField, People
from evaluator.model.config.source_header import SOURCE_NAME, header_of
from evaluator.model.config.submission import MANIFEST_NAME, SubmissionKind
from evaluator.model.config.task import Task
from scripts.repository.layout import TEMPLATE_FOLDER

# Texts in the templates that are replaced by the new agent's values.
_SCHEMA_PATH, _NAME_LINE, _TASKS_LINE = "../../../site/pages/schemas/submission.json", "name: My agent\n", "tasks: all\n"
_IMAGE_NAME = "your-login/your-agent"
_RL_ARENA_GAMES = ("pettingzoo.classic.tictactoe_v3", "pettingzoo.classic.connect_four_v3", "evaluator.environments.quarto")
_CONNECT_FOUR_ENV = "pettingzoo.classic.connect_four_v3"
_ACTION_LINE = "ACTION = 0\n"
# Adapters whose example agent always takes the same action.
_CONSTANT_ADAPTERS = ("function", "evalai-grpc")
# By adapter: the CartPole model in the template, and the script that makes models for other environments.
_MODEL_FILES = {"sb3": ("model.zip", "train.py"), "onnx": ("model.onnx", "export.py")}
_ENVIRONMENT_LINE = 'ENVIRONMENT = "CartPole-v1"\n'


@dataclass(frozen=True, kw_only=True)
class Template:
    """An example agent of a kind and adapter."""

    kind: SubmissionKind = SubmissionKind.POLICY
    adapter: str | None = None
    fits: Callable[[Task], bool]
    where: str
    """The tasks that `fits` accepts, in words."""

    @property
    def has_agent_file(self) -> bool:
        """Whether its entry is agent.py."""
        return self.kind is SubmissionKind.POLICY and self.adapter in (None, "evalai-grpc")

    def default_tasks(self, tasks: list[Task]) -> list[Task]:
        """Of the fitting tasks, those that the unchanged template can play."""
        if self.adapter in _MODEL_FILES:
            return [task for task in tasks if _is_cartpole(task)] or tasks[:1]
        if self.adapter in _CONSTANT_ADAPTERS:
            first = zero_action(tasks[0])
            return [task for task in tasks if zero_action(task) == first]
        return tasks


def _is_cartpole(task: Task) -> bool:
    """Whether the model files in the templates fit: they were trained on CartPole."""
    return task.env_id == "CartPole-v1"


def zero_action(task: Task) -> str:
    """The action of all zeros as Python source.

    Raises:
        EnvironmentFault: the environment cannot be opened here.
    """
    # Imported late: only two adapters open environments, and gymnasium is slow to import.
    import numpy as np
    from gymnasium.spaces import Discrete

    from evaluator.host.envs.gym_task import load_gym_task

    space = load_gym_task(task).action_space
    return str(int(space.start)) if isinstance(space, Discrete) else str(np.zeros(space.shape or ()).tolist())


_NO_SCRIPTS = "tasks and games that measure no scripts"
AGENT_TEMPLATES = (
    Template(fits=lambda task: task.script is None, where=_NO_SCRIPTS),
    Template(kind=SubmissionKind.IMAGE, fits=lambda task: task.script is None, where=_NO_SCRIPTS),
    Template(kind=SubmissionKind.SCRIPT, fits=lambda task: task.script is not None, where="tasks that have 'script' rules"),
    Template(
        adapter="rl-arena", fits=lambda task: task.game in _RL_ARENA_GAMES, where="tic-tac-toe, Connect Four and Quarto"
    ),
    Template(adapter="kaggle-connectx", fits=lambda task: task.game == _CONNECT_FOUR_ENV, where="Connect Four"),
    *(
        Template(
            adapter=adapter, fits=lambda task: task.game is None and task.script is None,
            where="tasks that are played alone and measure no scripts",
        )
        for adapter in ("predict", "function", "gym-policy", "evalai-grpc", "sb3", "onnx")
    ),
)  # fmt: skip


def template_for(kind: SubmissionKind, adapter: str | None) -> Template | None:
    """The template of a kind and adapter; None if there is none."""
    return next((template for template in AGENT_TEMPLATES if (template.kind, template.adapter) == (kind, adapter)), None)


@dataclass(frozen=True, kw_only=True)
class NewAgent:
    """The folder of a new agent."""

    template: Template
    folder: Path
    name: str
    tasks: tuple[Task, ...]
    all_tasks: bool
    """Whether these are all tasks for agents of this kind."""
    root: Path
    people: People
    one_file: bool = False
    """Whether the manifest is written as a header of agent.py."""

    @property
    def next_step(self) -> str:
        """What the user should do next."""
        if self.template.kind is SubmissionKind.IMAGE:
            return f"build and push the image as {self.folder}/README.md says"
        play = f"pullrank evaluate {self.folder}"
        if self._questions():
            place = f"the header of {self.folder}/{SOURCE_NAME}" if self.one_file else f"{self.folder}/{MANIFEST_NAME}"
            play = f"answer what is asked at the end of {place}; then {play}"
        missing_model, maker = self._missing_model()
        return f"run {self.folder}/{maker}, which makes {missing_model}; then {play}" if missing_model else play

    def _missing_model(self) -> tuple[str, str]:
        """The model file that is not copied, being for another environment, and the script that makes one; else empty."""
        fits = all(_is_cartpole(task) for task in self.tasks)
        return ("", "") if fits else _MODEL_FILES.get(self.template.adapter or "", ("", ""))

    def write(self) -> list[str]:
        """Write the folder; returns the names of its files."""
        files = {path.name: path.read_bytes() for path in self._files()}
        for name, content in files.items():
            if not name.endswith((".zip", ".onnx")):
                files[name] = self._fill_in(content.decode()).encode()
        files[MANIFEST_NAME] += self._questions().encode()
        if self.one_file:
            files[SOURCE_NAME] = header_of(files.pop(MANIFEST_NAME)) + b"\n" + files[SOURCE_NAME]
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        return list(files)

    def _questions(self) -> str:
        """Comment lines for the end of submission.yml: what the challenge asks of authors."""
        lines = []
        if self.people.terms is not None:
            lines.append(f"# terms: true  # this board has terms: read {self.people.terms}, and accept them with this line")
        if required := [custom for custom in self.people.fields if custom.required]:
            lines.append("# meta:  # this board asks")
            lines += [f"#   {yaml_quoted(custom.name)}: {_answer(custom)}" for custom in required]
        return "".join(f"{line}\n" for line in lines)

    def _files(self) -> list[Path]:
        files = [path for path in (TEMPLATE_FOLDER / self._template_name()).iterdir() if path.is_file()]
        files = [path for path in files if path.name != self._missing_model()[0]]
        return sorted(files, key=lambda path: (path.name != MANIFEST_NAME, path))

    def _template_name(self) -> str:
        if self.template.adapter or self.template.kind is not SubmissionKind.POLICY:
            return self.template.adapter or str(self.template.kind)
        games = [task.game is not None for task in self.tasks]
        return "policy-game" if all(games) else "policy-any" if any(games) else "policy"

    def _fill_in(self, text: str) -> str:
        schema = os.path.relpath(self.root / "site/pages/schemas/submission.json", self.folder.resolve())
        ids = "all" if self.all_tasks else "[" + ", ".join(yaml_quoted(task.id) for task in self.tasks) + "]"
        replacements = {
            _SCHEMA_PATH: schema,
            _NAME_LINE: f"name: {yaml_quoted(self.name)}\n",
            _TASKS_LINE: f"tasks: {ids}\n",
            _IMAGE_NAME: self._image(),
        }
        if self.template.adapter in _MODEL_FILES:
            replacements[_ENVIRONMENT_LINE] = f"ENVIRONMENT = {json.dumps(self.tasks[0].env_id)}\n"
        if self.template.adapter in _CONSTANT_ADAPTERS:
            replacements[_ACTION_LINE] = f"ACTION = {zero_action(self.tasks[0])}\n"
        for old, new in replacements.items():
            text = text.replace(old, new)
        return text

    def _image(self) -> str:
        parent = self.folder.resolve().parent
        login = parent.name if parent.parent.name == "submissions" else "your-login"
        return f"{login.lower()}/{self.folder.name}"


def _answer(field: CustomField) -> str:
    """An example of a valid value."""
    match field.kind:
        case "boolean":
            return "true  # or false"
        case "choice":
            return f"{yaml_quoted(field.options[0])}  # one of {', '.join(field.options)}"
        case "text":
            return '"…"'


def yaml_quoted(text: str) -> str:
    """A text as a double-quoted YAML string; for text without control characters."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
