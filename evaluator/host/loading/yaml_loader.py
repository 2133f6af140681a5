"""Reading of YAML documents into models; every fault names its line."""

import functools
from pathlib import Path
from typing import Any, NewType, TypeVar

import yaml
from pydantic import ValidationError

from evaluator.host.digests.local_code import with_code_digest
from evaluator.model.base import Frozen
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.moderation import Moderation
from evaluator.model.config.submission import Submission
from evaluator.model.validation_messages import faults_in_words
from evaluator.model.visible_text import INVISIBLE, printable_line

MAX_SUBMISSION_BYTES = 1 << 16
MAX_CHALLENGE_BYTES = 1 << 20
MAX_YAML_DEPTH = 12
# A document of a byte or two for each value takes a hundred times as long as one that people write.
BYTES_PER_EVENT = 8
# Of a number. Python fails to print one of more than 4,300 digits, which may be written in hexadecimal.
MAX_BITS = 63
# Of manifests: with all that are kept some 100 MB at most.
KEPT_MANIFEST_BYTES = 1 << 11
LineNumber = NewType("LineNumber", int)
Model = TypeVar("Model", bound=Frozen)
LineNumbers = dict[tuple[int | str, ...], LineNumber]


class LoadError(Exception):
    """A document cannot be used; each line of the message says what is wrong, where, and what to do."""

    def __init__(self, *lines: str) -> None:
        self.lines = tuple(map(printable_line, lines))
        super().__init__("\n".join(self.lines))


def parse_challenge(content: bytes, name: str = "challenge.yml") -> Challenge:
    """Parse a challenge, and give each task the digest of the host's own code, where that code is present.

    Raises:
        LoadError: the document is invalid, or such code cannot be read.
    """
    challenge = _model(Challenge, content, name, MAX_CHALLENGE_BYTES)
    try:
        return with_code_digest(challenge)
    except OSError as error:
        why = f"cannot be read ({error.strerror}), but a task of {name} is measured by it; make it readable"
        raise LoadError(f"{error.filename}: {why}") from error


def parse_submission(content: bytes, name: str = "submission.yml") -> Submission:
    """Parse a manifest. Planning needs each twice, for its agent and for main's history, so short ones are kept.

    Raises:
        LoadError: the document is invalid.
    """
    return _parse_kept(content, name) if len(content) <= KEPT_MANIFEST_BYTES else _parse_submission(content, name)


def _parse_submission(content: bytes, name: str) -> Submission:
    return _model(Submission, content, name, MAX_SUBMISSION_BYTES)


_parse_kept = functools.lru_cache(maxsize=1 << 15)(_parse_submission)


def parse_moderation(content: bytes) -> Moderation:
    """Parse moderation.yml; raises as `parse_submission` does."""
    return _model(Moderation, content, "moderation.yml", MAX_CHALLENGE_BYTES)


def read_challenge(path: Path) -> Challenge:
    """Read a challenge file; raises LoadError where it cannot be read, or is invalid."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LoadError(f"{path}: cannot be read ({error.strerror}); run this inside a board's folder") from error
    return parse_challenge(content, path.name)


def read_moderation(path: Path) -> Moderation:
    """Read a moderation.yml; empty without one. Raises as `read_challenge` does."""
    try:
        return parse_moderation(path.read_bytes()) if path.exists() else Moderation()
    except OSError as error:
        raise LoadError(f"{path.name}: cannot be read ({error.strerror}); make it a file") from error


def _model(model: type[Model], content: bytes, name: str, limit: int) -> Model:
    value, lines = parse_yaml(content, name, limit)
    if not isinstance(value, dict):
        raise LoadError(f"{name}:1: must be a mapping of keys to values, such as 'name: My agent'")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = sorted(
            ((nearest_line(lines, path), text) for path, text in faults_in_words(model, error)), key=lambda fault: fault[0]
        )
        raise LoadError(*(f"{name}:{line}: {text}" for line, text in faults)) from error


def nearest_line(lines: LineNumbers, path: tuple[int | str, ...]) -> int:
    """The line of the path, or of its nearest parent that is in the document."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, LineNumber(1))


def parse_yaml(content: bytes, name: str, limit: int) -> tuple[Any, LineNumbers]:
    """Parse plain YAML: UTF-8, no anchors, no tags, no duplicate keys, limited size and depth.

    Raises:
        LoadError: the document is not plain YAML.
    """
    text = _text(content, name, limit)
    try:
        node = _composed(text, name, limit // BYTES_PER_EVENT)
        lines: LineNumbers = {(): LineNumber(1)}
        return (None, lines) if node is None else (_value(node, (), lines, name), lines)
    except yaml.YAMLError as error:
        line = _line_of(getattr(error, "problem_mark", None))
        problem = getattr(error, "problem", None) or "is not YAML"
        raise LoadError(f"{name}:{line}: {problem}; check the quotes and the indentation") from error


def dump_yaml(value: Any) -> str:
    """Plain YAML in the order given, as a person would write it."""
    return str(yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=118, default_flow_style=False))


def _text(content: bytes, name: str, limit: int) -> str:
    if len(content) > limit:
        raise LoadError(f"{name}: has {len(content)} bytes, the limit is {limit}; shorten it")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise LoadError(f"{name}:{line}: is not UTF-8 text; save it as UTF-8") from error
    if character := INVISIBLE.search(text.replace("\r\n", "\n")):
        line = text[: character.start()].count("\n") + 1
        raise LoadError(f"{name}:{line}: holds the invisible character U+{ord(character.group()):04X}; remove it")
    return text


def _composed(text: str, name: str, most_events: int) -> yaml.Node | None:
    """The document's root. The parser in C is ten times as fast; the one in Python describes faults better."""
    fault = yaml.YAMLError()
    for loader in (getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader):
        try:
            _refuse_clever_yaml(text, name, loader, most_events)
            node: yaml.Node | None = yaml.compose(text, Loader=loader)
            return node
        except yaml.YAMLError as error:
            fault = error
        except (ValueError, OverflowError):  # The one in Python fails at an escape of no character, such as "\Uffffffff".
            break
    raise fault


def _refuse_clever_yaml(text: str, name: str, loader: type[yaml.SafeLoader], most_events: int) -> None:
    """Refuse anchors, which make bombs, tags, which make objects, depth, which makes recursion, and too many events."""
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=loader)):
        if count > most_events:
            raise LoadError(f"{name}:{_line_of(event.start_mark)}: has too many values up to here; leave some out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if fault := _fault(event, depth):
            raise LoadError(f"{name}:{_line_of(event.start_mark)}: {fault}")


def _fault(event: yaml.Event, depth: int) -> str | None:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        return "anchors and aliases (& and *) are not allowed; write the value out"
    if getattr(event, "tag", None):
        return "tags (!) are not allowed; write a plain value"
    return f"is nested deeper than {MAX_YAML_DEPTH} levels; flatten it" if depth > MAX_YAML_DEPTH else None


def _line_of(mark: Any) -> int:
    return mark.line + 1 if mark else 1


def _value(node: yaml.Node, path: tuple[int | str, ...], lines: LineNumbers, name: str) -> Any:
    lines[path] = LineNumber(node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines, name)
    if isinstance(node, yaml.SequenceNode):
        return [_value(inner, (*path, index), lines, name) for index, inner in enumerate(node.value)]
    try:
        value = yaml.constructor.SafeConstructor().construct_object(node)
    except (ValueError, OverflowError) as error:
        written = f"{name}:{lines[path]}: {node.value[:40]!r}"
        raise LoadError(f"{written} looks like a number or a date but is none; write it in quotes") from error
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        written = f"{name}:{lines[path]}: {node.value[:40]!r}"
        raise LoadError(f"{written} is a number of more than {MAX_BITS} bits; write a smaller one, or a text in quotes")
    return value


def _mapping(node: yaml.MappingNode, path: tuple[int | str, ...], lines: LineNumbers, name: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value
        if not isinstance(key_node, yaml.ScalarNode):
            raise LoadError(f"{name}:{line}: a key must be a plain word")
        if key in result:
            raise LoadError(f"{name}:{line}: the key {key!r} stands twice; keep one")
        result[key] = _value(value_node, (*path, key), lines, name)
        lines[(*path, key)] = LineNumber(line)
    return result
