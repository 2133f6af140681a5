"""An image is named by its digest, and whoever names it otherwise is told how to find that."""

import pytest

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.image_reference import parse_reference, parse_tagged
from evaluator.model.config.submission import SubmissionFile, SubmissionKind
from evaluator.model.config.submission_limits import SubmissionLimits

DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "host", "name"),
    [
        (f"ghcr.io/alice/agent@sha256:{DIGEST}", "ghcr.io", "alice/agent"),
        (f"docker.io/alice@sha256:{DIGEST}", "docker.io", "alice"),
        (f"localhost:5000/a/b/c_d.e@sha256:{DIGEST}", "localhost:5000", "a/b/c_d.e"),
        (f"127.0.0.1:1/a@sha256:{DIGEST}", "127.0.0.1:1", "a"),
        (f"host:443/a@sha256:{DIGEST}", "host:443", "a"),
    ],
)
def test_named_by_digest(text: str, host: str, name: str) -> None:
    image = parse_reference(text)

    assert (image.host, image.name, image.digest, str(image)) == (host, name, DIGEST, text)


@pytest.mark.parametrize("text", ["ghcr.io/alice/agent", "ghcr.io/alice/agent:v1.2", "localhost:5000/agent:latest"])
def test_a_tag_is_refused_with_the_way_to_the_digest(text: str) -> None:
    with pytest.raises(ValueError, match="may be another image tomorrow") as caught:
        parse_reference(text)

    assert f"docker buildx imagetools inspect {text}" in str(caught.value)
    assert 'docker inspect --format "{{index .RepoDigests 0}}" ' + text in str(caught.value)
    assert parse_tagged(text)


@pytest.mark.parametrize(
    "text",
    [
        "agent.py", "", "alice/agent", f"alice/agent@sha256:{DIGEST}", f"ghcr.io/a@sha256:{DIGEST[1:]}",
        f"ghcr.io/a@sha256:{DIGEST.upper()}", f"ghcr.io/a:v1@sha256:{DIGEST}", f"ghcr.io/A@sha256:{DIGEST}",
        f"https://ghcr.io/a@sha256:{DIGEST}", f"ghcr.io/../a@sha256:{DIGEST}", f"ghcr.io//a@sha256:{DIGEST}",
        f"user:word@ghcr.io/a@sha256:{DIGEST}", f"ghcr.io/a@sha256:{DIGEST}\n", f"ghcr.io/a?x@sha256:{DIGEST}",
        f"ghcr.io/a@md5:{DIGEST}", f"[::1]:5000/a@sha256:{DIGEST}", "a" * 300, "a-" * 150 + "!",
    ],
)  # fmt: skip
def test_what_names_no_image(text: str) -> None:
    with pytest.raises(ValueError, match="'entry'"):
        parse_reference(text)


def submitted(*lines: str) -> tuple[str, ...]:
    manifest = "\n".join(["name: A", "algorithm: b", "kind: image", *lines]).encode()
    try:
        submission_folder = assemble(
            (SubmissionFile(path="submission.yml", executable=False, content=manifest),), SubmissionLimits(image_mib=7)
        )
    except LoadError as error:
        return error.lines
    assert submission_folder.submission.kind is SubmissionKind.IMAGE
    assert submission_folder.image is not None
    assert submission_folder.image.image_mib == 7
    return (str(submission_folder.image.reference),)


def test_a_folder_needs_nothing_but_its_manifest() -> None:
    assert submitted(f"entry: ghcr.io/a@sha256:{DIGEST}") == (f"ghcr.io/a@sha256:{DIGEST}",)


def test_the_manifest_says_what_is_wrong() -> None:
    assert "'entry' is 'agent.py', but an image is named by its registry and digest" in submitted()[0]
    assert "may be another image tomorrow" in submitted("entry: ghcr.io/a:1")[0]
    for wrong in ("main_file: a.py", "adapter: rl-arena", "extras: [numpy]"):
        (line,) = submitted(f"entry: ghcr.io/a@sha256:{DIGEST}", wrong)
        assert f"'{wrong.partition(':')[0]}' is not for images" in line
