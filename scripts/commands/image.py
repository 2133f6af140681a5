"""`pullrank image …`: gets, builds, pulls, pushes or checks the evaluator image, or lists its components."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.digests.image_files import image_lock, lock_file
from evaluator.host.docker import evaluator_image
from evaluator.host.docker.bill_of_materials import bill_of_materials
from evaluator.host.docker.engine import Engine, EngineError
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
    engine = _engine()
    base = base_image(os.environ)
    name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base))
    if engine.image_id(name) is None and reference:
        try:
            engine.fetch(registry_image(reference, name), name, credentials(token))
            say(f"The evaluator image is {registry_image(reference, name)}.")
        except EngineError as error:
            say(f"{error}; it is built here.")
    try:
        image_id = evaluator_image.ensure_evaluator_image(engine, base, lambda line: None)
    except EngineError as error:
        raise CommandError(OUR_FAULT, str(error)) from error
    say(f"{name} is {image_id}.")
    return OK


@run.command()
def pull(reference: Reference, token: RegistryToken = "", output: StepOutput = None) -> int:
    """Pull the image of these sources, and write its digest to the step's outputs; exit code 3 if the registry lacks it."""
    engine = _engine()
    name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base_image(os.environ)))
    target = registry_image(reference, name)
    try:
        digest = engine.fetch(target, name, credentials(token))
    except EngineError as error:
        raise CommandError(OUR_FAULT, f"{error}; run the workflow 'image' on main, then this again") from error
    _write_outputs(output, target, digest)
    say(f"{target} is {digest}.")
    return OK


@run.command()
def publish(
    reference: Reference,
    token: RegistryToken = "",
    output: StepOutput = None,
) -> int:
    """Push the image unless the registry has it, and write its digest to the step's outputs."""
    engine = _engine()
    base = base_image(os.environ)
    name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base))
    target = registry_image(reference, name)
    try:
        digest, pushed = engine.fetch(target, name, credentials(token)), False
    except EngineError:
        digest, pushed = _build_and_push(engine, target, token), True
    _write_outputs(output, target, digest)
    write_output(output, "pushed", pushed)
    say(f"{target} is {digest}{'' if pushed else ', as before'}.")
    return OK


@run.command()
def rebuild(extras: Extras = "") -> int:
    """Build the image once more from nothing and compare: the same sources must give the same image; exit code 3 if not."""
    engine, names = _engine(), extras.split()
    base = base_image(os.environ)
    try:
        evaluator_image.ensure_evaluator_image(engine, base, lambda line: None, names)
        name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base), names)
        here = evaluator_image.image_digest(engine, name)
        again = evaluator_image.rebuilt_digest(engine, base, lambda line: None, names)
    except EngineError as error:
        raise CommandError(OUR_FAULT, str(error)) from error
    if again != here:
        raise CommandError(OUR_FAULT, f"{name} is {here}, and built again {again}; compare both with 'docker save'")
    say(f"{name} is {here}, and built again the same.")
    return OK


@run.command()
def sbom(
    extras: Extras = "",
    out: Annotated[Path | None, typer.Option("--out", help="Write it to this file.")] = None,
) -> int:
    """Print what the image is made of, in CycloneDX 1.6, with the hashes of the locks."""
    engine, names = _engine(), extras.split()
    base = base_image(os.environ)
    try:
        evaluator_image.ensure_evaluator_image(engine, base, lambda line: None, names)
        name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base), names)
        made = bill_of_materials(engine, name, [image_lock(), *(lock_file(one).decode() for one in names)])
    except EngineError as error:
        raise CommandError(OUR_FAULT, str(error)) from error
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


def _build_and_push(engine: Engine, target: str, token: str) -> str:
    try:
        evaluator_image.ensure_evaluator_image(engine, base_image(os.environ), lambda line: None)
        name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base_image(os.environ)))
        return engine.push(name, target, credentials(token))
    except EngineError as error:
        raise CommandError(OUR_FAULT, f"{error}; without it every job builds the image itself") from error


def registry_image(reference: str, name: str) -> str:
    """The image to fetch: the reference itself if it has a digest, else its repository with the sources' tag."""
    return reference if "@" in reference else f"{reference.lower()}:{name.rpartition(':')[2]}"


def credentials(token: str) -> dict[str, str] | None:
    """Credentials for the registry, which ignores the user name; None without a token."""
    return {"username": "token", "password": token} if token else None


def _engine() -> Engine:
    try:
        return Engine()
    except EngineError as error:
        raise CommandError(OUR_FAULT, str(error)) from error
