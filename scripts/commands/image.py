"""`pullrank image …`: gets, builds, pulls, pushes or checks the evaluator image, or lists its components."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.digests.image_files import image_lock, lock_file
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.bill_of_materials import bill_of_materials
from evaluator.host.docker.engine import Engine
from evaluator.host.docker.engine_errors import EngineError
from scripts.console import OK, OUR_FAULT, CommandError, print_json, say
from scripts.github.workflow.outputs import write_output
from scripts.repository.checkout import base_image

run = typer.Typer(help="Get, build, push or check the evaluator image.", no_args_is_help=True)

Reference = Annotated[
    str,
    typer.Option(
        "--from", envvar="EVALUATOR_IMAGE", help="registry/name, or registry/name@sha256:… for exactly that image."
    ),
]
StepOutput = Annotated[Path | None, typer.Option(envvar="GITHUB_OUTPUT", help="File for the step's outputs.")]
Extras = Annotated[str, typer.Option("--extras", help="Names of extras that are in it too, with spaces between them.")]
RegistryToken = Annotated[str, typer.Option(envvar="REGISTRY_TOKEN", help="Token for a registry that requires one.")]


@run.command()
def ensure(reference: Reference = "", token: RegistryToken = "") -> int:
    """Get the image: the local one, the registry's, or one built now."""
    engine, base, name = _sources()
    if engine.image_id(name) is None and reference:
        try:
            engine.pull(registry_image(reference, name), name, credentials(token))
            say(f"The evaluator image is {registry_image(reference, name)}.")
        except EngineError as error:
            say(f"{error}; it is built here.")
    with _engine_faults():
        image_id = evaluator_image.ensure_evaluator_image(engine, base, lambda line: None)
    say(f"{name} is {image_id}.")
    return OK


@run.command()
def pull(reference: Reference, token: RegistryToken = "", output: StepOutput = None) -> int:
    """Pull the image of these sources, and write its digest to the step's outputs; exit code 3 if the registry lacks it."""
    engine, _, name = _sources()
    target = registry_image(reference, name)
    with _engine_faults("; run the workflow 'image' on main, then this again"):
        digest = engine.pull(target, name, credentials(token))
    _write_outputs(output, target, digest)
    say(f"{target} is {digest}.")
    return OK


@run.command()
def publish(reference: Reference, token: RegistryToken = "", output: StepOutput = None) -> int:
    """Push the image unless the registry has it, and write its digest to the step's outputs."""
    engine, base, name = _sources()
    target, pushed = registry_image(reference, name), False
    try:
        digest = engine.pull(target, name, credentials(token))
    except EngineError:
        with _engine_faults("; without it every job builds the image itself"):
            evaluator_image.ensure_evaluator_image(engine, base, lambda line: None)
            digest, pushed = engine.push(name, target, credentials(token)), True
    _write_outputs(output, target, digest)
    write_output(output, "pushed", pushed)
    say(f"{target} is {digest}{'' if pushed else ', as before'}.")
    return OK


@run.command()
def rebuild(extras: Extras = "") -> int:
    """Build the image once more from nothing and compare: the same sources must give the same image; exit code 3 if not."""
    names = extras.split()
    engine, base, name = _sources(names)
    with _engine_faults():
        evaluator_image.ensure_evaluator_image(engine, base, lambda line: None, names)
        here = evaluator_image.image_digest(engine, name)
        again = evaluator_image.rebuilt_digest(engine, base, lambda line: None, names)
    if again != here:
        raise CommandError(OUR_FAULT, f"{name} is {here}, and built again {again}; compare both with 'docker save'")
    say(f"{name} is {here}, and built again the same.")
    return OK


@run.command()
def sbom(
    extras: Extras = "", out: Annotated[Path | None, typer.Option("--out", help="Write it to this file.")] = None
) -> int:
    """Print what the image is made of, in CycloneDX 1.6, with the hashes of the locks."""
    names = extras.split()
    engine, base, name = _sources(names)
    with _engine_faults():
        evaluator_image.ensure_evaluator_image(engine, base, lambda line: None, names)
        made = bill_of_materials(engine, name, [image_lock(), *(lock_file(extra).decode() for extra in names)])
    if out is None:
        print_json(made)
        return OK
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    say(f"{out} lists the {len(made['components'])} components of {name}.")
    return OK


def _write_outputs(output: Path | None, reference: str, digest: str) -> None:
    repository = reference.partition("@")[0] if "@" in reference else reference.rpartition(":")[0]
    for key, value in {"image": f"{repository}@{digest}", "name": repository, "digest": digest}.items():
        write_output(output, key, value)


def registry_image(reference: str, name: str) -> str:
    """The image to fetch: the reference itself if it has a digest, else its repository with the sources' tag."""
    return reference if "@" in reference else f"{reference.lower()}:{name.rpartition(':')[2]}"


def credentials(token: str) -> dict[str, str] | None:
    """Credentials for the registry, which ignores the user name; None without a token."""
    return {"username": "token", "password": token} if token else None


def _sources(extras: Sequence[str] = ()) -> tuple[Engine, str, str]:
    """The engine, the base image, and the name of the image that these sources make with the extras."""
    with _engine_faults():
        engine, base = Engine(), base_image(os.environ)
        return engine, base, evaluator_image.image_tag(evaluator_image.base_identity(engine, base), extras)


@contextmanager
def _engine_faults(advice: str = "") -> Iterator[None]:
    """End the command where the engine refuses something, with its message and the advice."""
    try:
        yield
    except EngineError as error:
        raise CommandError(OUR_FAULT, f"{error}{advice}") from error
