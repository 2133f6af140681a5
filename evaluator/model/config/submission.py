"""A submission's manifest, its extras, and the submission digest."""

import enum
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from pydantic import Field, model_validator

from evaluator.model import canonical_json
from evaluator.model.base import Frozen
from evaluator.model.config.image_reference import parse_reference
from evaluator.model.config.limits import Limits
from evaluator.model.config.source_header import SOURCE_NAME
from evaluator.model.config.task import Task
from evaluator.model.identifiers import Digest, Line, LongLine, TaskId, Text, Url, WeightsUrl
from evaluator.model.validation_messages import did_you_mean, misplaced
from evaluator.model.visible_text import name_fault, one_line, text_fault

DEFAULT = "numpy"
GRPC = "grpc"


@dataclass(frozen=True, kw_only=True)
class Extra:
    """One extra of the evaluator image."""

    memory_mib: int
    """Memory that an agent with it has at least, where the challenge's limit is lower."""
    contains: tuple[str, ...] = ()
    """Extras whose lock is part of this one's."""


EXTRAS = {
    "torch": Extra(memory_mib=2048),
    "sb3": Extra(memory_mib=2048, contains=("torch",)),
    "onnx": Extra(memory_mib=1024),
    GRPC: Extra(memory_mib=768),
}
# The extra that brings a module.
EXTRA_MODULES = {"torch": "torch", "stable_baselines3": "sb3", "onnxruntime": "onnx", "grpc": GRPC}
# The extra that each adapter needs.
ADAPTER_EXTRAS = {"sb3": "sb3", "onnx": "onnx", "evalai-grpc": GRPC}


def memory_mib(extras: Iterable[str], own: int) -> int:
    """The memory limit of an agent with these extras, in MiB; `own` is the challenge's."""
    return max([own, *(EXTRAS[name].memory_mib for name in extras)])


def name_with_extras(runtime_digest: str, extras: Sequence[str], locks: Mapping[str, str]) -> str:
    """The runtime digest for agents with extras; `locks`: extra to its lock's SHA-256."""
    if not extras:
        return runtime_digest
    lines = [runtime_digest, *(f"{name} {locks[name]}" for name in extras)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


IDENTITY_FIELDS = ("kind", "entry", "main_file", "adapter", "extras")
MANIFEST_NAME = "submission.yml"
# The values of `adapter`.
ADAPTERS = ("rl-arena", "kaggle-connectx", "predict", "function", "gym-policy", "sb3", "onnx", "evalai-grpc")

# Adapters whose entry is a saved model instead of Python source.
MODEL_ADAPTERS = ("sb3", "onnx")


@enum.unique
class SubmissionKind(enum.StrEnum):
    """How an agent is brought."""

    POLICY = "policy"
    SCRIPT = "script"
    IMAGE = "image"


class WeightsFile(Frozen):
    """A file of the agent that does not lie in git, and is fetched before the agent starts."""

    file: LongLine
    """Its path in the agent's folder."""
    url: WeightsUrl
    """Where it is fetched while the board has no copy."""
    sha256: Digest
    """The hash of its bytes; other bytes are refused."""
    bytes: int = Field(ge=1)


class Submission(Frozen):
    """submission.yml: what a participant says of the agent in its folder."""

    name: Line
    """The name the board shows."""
    algorithm: Line
    """What it is: "PPO", "Q-learning", "hand-written rule"."""
    kind: SubmissionKind = SubmissionKind.POLICY
    """policy: a class with `act`; script and image are the other kinds."""
    entry: LongLine = SOURCE_NAME
    """The file that defines `class Agent`, or an image reference with its digest."""
    tasks: Literal["all"] | tuple[TaskId, ...] = "all"
    """The tasks to enter: ids from challenge.yml, or all of them."""
    main_file: LongLine | None = None
    """For a script of several files: the one to run."""
    adapter: Line | None = None
    """Runs an agent written for another system."""
    extras: tuple[Line, ...] = ()
    """Image extras it needs beyond numpy."""
    weights: tuple[WeightsFile, ...] = Field(default=(), max_length=20)
    """Large files that do not lie in git; they are fetched, and mounted beside the others."""
    loopback: bool = False
    """Whether its own processes speak with each other over 127.0.0.1; nothing else can be reached in either case."""
    authors: tuple[Line, ...] = Field(default=(), max_length=20)
    """Who made it, besides the login of the pull request."""
    description: Text | None = None
    """A few sentences for the agent's page."""
    url: Url | None = None
    """Where to read more."""
    paper: Url | None = None
    license: Line | None = None
    terms: bool | None = None
    """Acceptance of the challenge's terms, where it has any."""
    meta: dict[str, str | bool] = Field(default_factory=dict, max_length=20)
    """The fields this challenge asks for."""

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.tasks == ():
            raise ValueError("'tasks' is an empty list; name a task or write 'all'")
        if self.adapter is not None and self.adapter not in ADAPTERS:
            hint = did_you_mean(self.adapter, ADAPTERS, "the adapters are")
            raise misplaced(("adapter",), f"there is no adapter '{self.adapter}'; {hint}")
        for index, name in enumerate(self.extras):
            if name not in (DEFAULT, *EXTRAS):
                hint = did_you_mean(name, (DEFAULT, *EXTRAS), "the extras are")
                hint += " Or bring an image (kind: image)" if hint.endswith("?") else ", or bring an image (kind: image)"
                raise misplaced(("extras", index), f"there is no extra '{name}'; {hint}")
        return self

    @model_validator(mode="after")
    def _of_an_image(self) -> Self:
        if self.kind is not SubmissionKind.IMAGE:
            return self
        try:
            parse_reference(self.entry)
        except ValueError as error:
            raise misplaced(("entry",), str(error)) from error
        if wrong := next((name for name in ("main_file", "adapter", "extras", "weights") if getattr(self, name)), None):
            raise ValueError(f"'{wrong}' is not for images: an image brings everything itself; leave it out")
        return self

    def identity(self) -> dict[str, object]:
        """The fields that define the agent: changing others does not change the digest."""
        everything = self.model_dump(mode="json")
        fields = {name: everything[name] for name in IDENTITY_FIELDS}
        # A later field is left out where it is not used, so that earlier agents keep their digest.
        fields |= {"loopback": True} if self.loopback else {}
        return fields | ({"weights": [list(pair) for pair in self.fetched]} if self.weights else {})

    @property
    def fetched(self) -> tuple[tuple[str, str], ...]:
        """File and hash of what is fetched: the agent is the same wherever that comes from."""
        return tuple(sorted((weights.file, weights.sha256) for weights in self.weights))

    def wording_faults(self) -> Iterator[tuple[tuple[int | str, ...], str]]:
        """What of its names and texts is refused where it is new: the keys that lead there, and why.

        No part of the validation, so that versions of earlier rules stay readable; pages show them without what hides.
        """
        names: dict[tuple[int | str, ...], str | None] = {
            ("name",): self.name, ("algorithm",): self.algorithm, ("license",): self.license,
            **{("authors", index): author for index, author in enumerate(self.authors)},
        }  # fmt: skip
        for place, text in names.items():
            if text is not None and (fault := name_fault(text)):
                yield place, f"'{'.'.join(map(str, place))}' {fault}"
        if fault := text_fault(self.description or ""):
            yield ("description",), f"'description' {fault}"
        for name, answer in self.meta.items():
            if fault := text_fault(name):
                yield ("meta",), f"a key of 'meta' {fault}"
            if isinstance(answer, str) and (fault := text_fault(answer)):
                yield ("meta", name), f"'meta.{one_line(name)}' {fault}"

    @property
    def source(self) -> str:
        """The file that is run or imported; for an image its reference."""
        return self.main_file or self.entry if self.kind is SubmissionKind.SCRIPT else self.entry

    @property
    def needs(self) -> tuple[str, ...]:
        """The extras that it is run with, sorted: its own and its adapter's, without those contained in others."""
        named = {name for name in self.extras if name != DEFAULT}
        if self.adapter in ADAPTER_EXTRAS:
            named.add(ADAPTER_EXTRAS[self.adapter])
        contained = {inner for name in named for inner in EXTRAS[name].contains}
        return tuple(sorted(named - contained))

    @property
    def connects_to_itself(self) -> bool:
        """Whether it may open IPv4 and IPv6 sockets, which only reach its own container's loopback."""
        return self.loopback or GRPC in self.needs

    def allowed(self, limits: Limits) -> Limits:
        """The challenge's limits, with the memory that its extras need."""
        return limits.model_copy(update={"memory_mib": memory_mib(self.needs, limits.memory_mib)}) if self.needs else limits

    def enters(self, task_id: str) -> bool:
        """Whether the manifest names the task."""
        return self.tasks == "all" or task_id in self.tasks

    def plays(self, task: Task) -> bool:
        """Whether the agent is measured on the task."""
        return self.enters(task.id) and self.fits(task)

    def fits(self, task: Task) -> bool:
        """Whether the agent is of the task's kind: scripts play tasks with script rules, others play the rest."""
        return (self.kind is SubmissionKind.SCRIPT) == (task.script is not None)


def extras_needed_by(submissions: Iterable[Submission]) -> tuple[str, ...]:
    """The extras that several agents need together."""
    return tuple(sorted({name for submission in submissions for name in submission.needs}))


@dataclass(frozen=True, kw_only=True)
class SubmissionFile:
    """One file of a submission as git would store it."""

    path: str
    """Path inside the folder, with forward slashes."""
    executable: bool
    """Git's mode 100755 rather than 100644."""
    content: bytes


def submission_digest(submission: Submission, blobs: Sequence[SubmissionFile]) -> str:
    """SHA-256 over mode, path and bytes of every file, submission.yml reduced to its identity fields.

    A header of agent.py counts with all its bytes: the agent can read its own file, and may do what stands there.
    """
    lines: list[list[object]] = [["manifest", submission.identity()]]
    for blob in sorted(blobs, key=lambda b: b.path):
        if blob.path != MANIFEST_NAME:
            mode = "100755" if blob.executable else "100644"
            lines.append([mode, [blob.path, hashlib.sha256(blob.content).hexdigest()]])
    return canonical_json.digest(lines)
