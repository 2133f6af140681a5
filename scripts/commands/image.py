"""`pullrank image ensure|publish`: the evaluator image, from a registry or built here."""

import os
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.docker import evaluator_image
from evaluator.host.docker.engine import Engine, EngineError
from scripts.console import OK, OUR_FAULT, CommandError, say
from scripts.github.workflow.outputs import write_output
from scripts.repository.checkout import base_image

run = typer.Typer(help="Have the evaluator image here, or put it into a registry.", no_args_is_help=True)

Reference = Annotated[
    str,
    typer.Option(
        "--from", envvar="EVALUATOR_IMAGE", help="registry/name, or registry/name@sha256:… to have exactly that one."
    ),
]
Token = Annotated[str, typer.Option(envvar="REGISTRY_TOKEN", help="For a registry that asks.")]


@run.command()
def ensure(reference: Reference = "", token: Token = "") -> int:
    """Have the image here: the one that is, the registry's, or one built now."""
    engine = _engine()
    base = base_image(os.environ)
    name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base))
    if engine.image_id(name) is None and reference:
        try:
            engine.fetch(wanted(reference, name), name, credentials(token))
            say(f"The evaluator image is {wanted(reference, name)}.")
        except EngineError as error:
            say(f"{error}; it is built here instead.")
    try:
        found = evaluator_image.ensure_evaluator_image(engine, base, lambda line: None)
    except EngineError as error:
        raise CommandError(OUR_FAULT, str(error)) from error
    say(f"{name} is {found}.")
    return OK


@run.command()
def publish(
    reference: Reference,
    token: Token = "",
    output: Annotated[Path | None, typer.Option(envvar="GITHUB_OUTPUT", help="Where the step's outputs go.")] = None,
) -> int:
    """Push the image, unless the registry has it; the outputs say by which digest it is had."""
    engine = _engine()
    base = base_image(os.environ)
    name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base))
    target = wanted(reference, name)
    try:
        digest, pushed = engine.fetch(target, name, credentials(token)), False
    except EngineError:
        digest, pushed = _pushed(engine, target, token), True
    place = target.rpartition(":")[0]
    for key, value in {"image": f"{place}@{digest}", "name": place, "digest": digest, "pushed": pushed}.items():
        write_output(output, key, value)
    say(f"{target} is {digest}{'' if pushed else ', as before'}.")
    return OK


def _pushed(engine: Engine, target: str, token: str) -> str:
    try:
        evaluator_image.ensure_evaluator_image(engine, base_image(os.environ), lambda line: None)
        name = evaluator_image.image_tag(evaluator_image.base_identity(engine, base_image(os.environ)))
        return engine.push(name, target, credentials(token))
    except EngineError as error:
        raise CommandError(OUR_FAULT, f"{error}; without it everybody builds the image in place") from error


def wanted(reference: str, name: str) -> str:
    """What to ask the registry for: exactly what was named by digest, else the tag that the sources give it."""
    return reference if "@" in reference else f"{reference.lower()}:{name.rpartition(':')[2]}"


def credentials(token: str) -> dict[str, str] | None:
    """What opens the registry; it looks at the token only."""
    return {"username": "token", "password": token} if token else None


def _engine() -> Engine:
    try:
        return Engine()
    except EngineError as error:
        raise CommandError(OUR_FAULT, str(error)) from error
