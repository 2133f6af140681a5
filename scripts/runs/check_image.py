"""What the registry says of the image that a submission names, for `pullrank check`; nothing of it is fetched or run."""

from pathlib import Path

from evaluator.host.errors import AgentFault
from evaluator.host.loading.yaml_loader import MAX_BYTES, LoadError, parse_yaml
from evaluator.host.sandboxes.channel import clean_text
from evaluator.model.config.submission import MANIFEST_NAME, MOVES, parse_tagged
from evaluator.model.records.verdict import Verdict
from scripts.console import say
from scripts.repository.checkout import SubmissionEntry

# What runs official evaluations unless a host says otherwise.
PLATFORM = "linux/amd64"
SECONDS = 20


def check_image(found: SubmissionEntry) -> None:
    """Ask the registry for the image that the manifest names, if it names one; no answer is told and is no fault.

    Raises:
        LoadError: the registry does not give it, or it could not be run.
    """
    image = found.folder.image
    if image is None:
        return
    # What speaks with registries is imported only where an agent brings an image.
    from evaluator.host.docker.agent_image import inspect_image

    try:
        inspect_image(image.reference, PLATFORM, image.image_mib, SECONDS)
    except AgentFault as fault:
        line = f"{found.shown}/{MANIFEST_NAME}: {clean_text(str(fault))}"
        if fault.verdict is Verdict.INVALID:
            raise LoadError(line) from fault
        say(f"{line}; so it was not looked at")


def digest_advice(folder: Path, lines: tuple[str, ...]) -> list[str]:
    """The line to write for an image that was named by a tag, where its registry tells the digest."""
    if not any(MOVES in line for line in lines):
        return []
    from evaluator.host.docker.image_registry import Registry

    try:
        value, _ = parse_yaml((folder / MANIFEST_NAME).read_bytes(), MANIFEST_NAME, MAX_BYTES)
        tagged = parse_tagged(str(value["entry"]))
        if tagged is None:
            return []
        digest = Registry(tagged, SECONDS).digest_of(tagged.tag)
    except (AgentFault, LoadError, OSError, KeyError, TypeError):
        return []
    return [f"{folder}/{MANIFEST_NAME}: today that is {tagged.host}/{tagged.name}@sha256:{digest}; write it after 'entry:'"]
