"""The preview's artifact: untrusted bytes, read without unpacking anything to disk."""

import io
import itertools
import stat
import zipfile
import zlib

from pydantic import ValidationError

from evaluator.model import canonical_json
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview
from evaluator.model.records.result import Result
from evaluator.model.validation_messages import error_in_words
from leaderboard.comments.log_excerpt import PREVIEW_LOG_BYTES

ZIP_BYTES = 1 << 20
PREVIEW_FILE, PREVIEW_BYTES = "preview.json", 512 << 10
LOG_FILE = "preview.log"
# No number of a preview is larger: its square, and sums of many, are finite.
LARGEST_NUMBER = 1e30
# GitHub and common tools write these two; each other method has a decoder with errors of its own.
ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile and zlib raise on a bad archive: NotImplementedError for a missing feature, RuntimeError for a password.
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


class ArtifactError(Exception):
    """The artifact cannot be used; one line says why."""


def read_artifact(content: bytes) -> tuple[Preview, str]:
    """The preview in an artifact, and the text of its log; the text is empty if the log cannot be read.

    Raises:
        ArtifactError: it is not a zip file as our preview writes it.
    """
    if len(content) > ZIP_BYTES:
        raise ArtifactError(f"the artifact has {len(content)} bytes, more than {ZIP_BYTES}")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = _checked_members(archive)
            return _parse_preview(_read_preview(archive, members[PREVIEW_FILE])), _read_log(archive, members.get(LOG_FILE))
    except _ZIP_ERRORS as error:
        raise ArtifactError(f"the artifact is not a zip file that can be read: {str(error)[:100]}") from error


def _checked_members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The files by name, after all that the archive's directory says of them is checked."""
    members = archive.infolist()
    names = sorted(member.orig_filename for member in members)
    if names not in ([PREVIEW_FILE], [PREVIEW_FILE, LOG_FILE]):
        raise ArtifactError(f"the artifact holds other files than {PREVIEW_FILE} and {LOG_FILE}: {str(names[:4])[:200]}")
    for member in members:
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG) or member.flag_bits & 1:
            raise ArtifactError(f"{member.orig_filename} in the artifact is not a plain file")
        if member.compress_type not in ZIP_METHODS:
            raise ArtifactError(f"{member.orig_filename} in the artifact is neither stored nor deflated")
        if member.file_size > (PREVIEW_BYTES if member.orig_filename == PREVIEW_FILE else PREVIEW_LOG_BYTES):
            raise ArtifactError(f"{member.orig_filename} in the artifact is too large")
    return {member.orig_filename: member for member in members}


def _read_preview(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as file:
        content = file.read(PREVIEW_BYTES + 1)  # The size in the archive's directory is untrusted too.
    if len(content) > PREVIEW_BYTES:
        raise ArtifactError(f"{PREVIEW_FILE} in the artifact is too large")
    return content


def _read_log(archive: zipfile.ZipFile, member: zipfile.ZipInfo | None) -> str:
    if member is None:
        return ""
    try:
        with archive.open(member) as file:
            return file.read(PREVIEW_LOG_BYTES).decode("utf-8", "replace")
    except _ZIP_ERRORS:
        return ""


def _parse_preview(content: bytes) -> Preview:
    try:
        document = canonical_json.parse_strict(content)
        if _largest(document) > LARGEST_NUMBER:
            raise ArtifactError(
                f"a number in {PREVIEW_FILE} is larger than {LARGEST_NUMBER:g}, so nothing can be reckoned with it"
            )
        preview = Preview.model_validate(document)
    except ValidationError as error:
        raise ArtifactError(f"{PREVIEW_FILE} is not a preview: {error_in_words(error, 300)}") from error
    except ValueError as error:
        raise ArtifactError(f"{PREVIEW_FILE} is not strict JSON: {str(error)[:200]}") from error
    if not _is_same_json(preview.document(), document):
        raise ArtifactError(f"{PREVIEW_FILE} is not in the form that previews are written in")
    results = [result for agent in preview.agents for result in agent.results]
    duels = [duel for agent in preview.agents for duel in agent.duels]
    if any(result.sealed for result in results):
        raise ArtifactError(f"a result in {PREVIEW_FILE} is sealed, and no preview has a season's secret")
    for measured in itertools.chain[Result | Duel](results, duels):
        if measured.self_hash() != measured.self_sha256:
            raise ArtifactError(f"a result in {PREVIEW_FILE} does not fit its own hash")
    return preview


def _largest(document: object) -> float:
    """The greatest absolute value of the numbers in a document."""
    if isinstance(document, dict):
        return max(map(_largest, document.values()), default=0)
    if isinstance(document, list):
        return max(map(_largest, document), default=0)
    return abs(document) if isinstance(document, int | float) else 0


def _is_same_json(ours: object, theirs: object) -> bool:
    """Equal, with the same types throughout, so that nothing was silently converted; 1 may stand for 1.0."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_is_same_json(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_is_same_json, ours, theirs))
    return ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)
