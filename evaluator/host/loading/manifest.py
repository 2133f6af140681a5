"""The manifest of a folder: submission.yml, or the header of agent.py; either, and never both."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluator.host.loading.yaml_loader import MAX_SUBMISSION_BYTES, LineNumbers, LoadError, parse_submission, parse_yaml
from evaluator.model.config.source_header import (
    SOURCE_NAME,
    HeaderError,
    SourceHeader,
    find_header,
    has_first_line,
    near_header,
)
from evaluator.model.config.submission import MANIFEST_NAME, MODEL_ADAPTERS, Submission
from evaluator.model.validation_messages import nearest

# Where a manifest may stand; the first that is there holds it.
MANIFESTS = (MANIFEST_NAME, SOURCE_NAME)


@dataclass(frozen=True, kw_only=True)
class ManifestText:
    """Where a manifest stands, and its YAML."""

    file: str
    yaml: bytes
    """On the same lines as in that file."""

    def parse(self) -> Submission:
        """The manifest; raises LoadError where it is invalid."""
        submission = parse_submission(self.yaml, self.file)
        if self.file == SOURCE_NAME and (fault := _header_fault(submission)):
            raise LoadError(f"{self.file}:{self.lines().get(('entry',), 1)}: {fault}; write {MANIFEST_NAME} instead")
        return submission

    def lines(self) -> LineNumbers:
        """The line of each key."""
        return parse_yaml(self.yaml, self.file, MAX_SUBMISSION_BYTES)[1]


def _header_fault(submission: Submission) -> str | None:
    if submission.entry != SOURCE_NAME:
        return f"a header speaks of its own file only, but 'entry' names {submission.entry!r}"
    return "a model is no text that a header could stand in" if submission.adapter in MODEL_ADAPTERS else None


def manifest_of(files: Mapping[str, bytes]) -> ManifestText:
    """The manifest among a folder's files.

    Raises:
        LoadError: there is none, or there are two, or the header cannot be read.
    """
    header = _header(files.get(SOURCE_NAME, b""))
    if MANIFEST_NAME in files:
        if header:
            raise LoadError(f"{SOURCE_NAME}: has a header, and there is {MANIFEST_NAME} too; keep one of them")
        return ManifestText(file=MANIFEST_NAME, yaml=files[MANIFEST_NAME])
    if header:
        return ManifestText(file=SOURCE_NAME, yaml=header.yaml)
    near = nearest(MANIFEST_NAME, [path for path in files if "/" not in path])
    advice = (
        f"{near} is there: rename it" if near else f"write it, or a header in {SOURCE_NAME}, or let 'pullrank new' do so"
    )
    if has_first_line(files.get(SOURCE_NAME, b"")):
        advice = f"and a header stands at the top of {SOURCE_NAME}, before any code: move it there"
    elif not near and (meant := near_header(files.get(SOURCE_NAME, b""))):
        raise LoadError(f"{SOURCE_NAME}:{meant.line}: {meant}")
    raise LoadError(f"{MANIFEST_NAME}: is missing; {advice}")


def parse_source_header(source: bytes) -> Submission:
    """The manifest in the header of an agent.py; raises LoadError where there is none, or it is invalid."""
    return manifest_of({SOURCE_NAME: source}).parse()


def _header(source: bytes) -> SourceHeader | None:
    try:
        return find_header(source)
    except HeaderError as error:
        raise LoadError(f"{SOURCE_NAME}:{error.line}: {error}") from error
