"""`pullrank import-evalai`: converts an EvalAI configuration and reports what became of each key."""

from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.loading.yaml_loader import LoadError, dump_yaml, nearest_line, parse_challenge, parse_yaml
from leaderboard.core.store import write_atomically
from scripts.console import OK, USAGE, CommandError, print_json, say
from scripts.import_evalai.config_reader import ImportFaultError, KeyFate
from scripts.import_evalai.convert_challenge import MAX_PAGE_BYTES, ImportedChallenge, convert_challenge
from scripts.options import JsonDocument

MAX_IMPORT_BYTES = 1 << 20
_FILE_HEAD = """# yaml-language-server: $schema=site/pages/schemas/challenge.json
# Imported from EvalAI; every field is described in site/pages/host/challenge.md.
"""


def run(
    config: Annotated[Path, typer.Argument(help="challenge_config.yaml, with its templates beside it.")],
    out: Annotated[Path, typer.Option(help="The folder to write into.")] = Path(),
    env: Annotated[
        str | None, typer.Option(help="The environment of every task; EvalAI's configuration names none.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace an existing challenge.yml.")] = False,
    as_json: JsonDocument = False,
) -> int:
    """Convert an EvalAI challenge: challenge.yml, Markdown pages, and a line for each key."""
    imported = _convert(config, env)
    text = _FILE_HEAD + dump_yaml(imported.challenge)
    try:
        parse_challenge(text.encode())
    except LoadError as error:
        raise CommandError(
            USAGE, "the imported challenge.yml would not be valid; nothing was written", *error.lines
        ) from error
    written = _write(imported, text, config.parent, out, force=force)
    if as_json:
        notes = [{"place": note.place, "fate": note.fate, "words": note.words} for note in imported.report.notes]
        print_json({"written": written, "notes": notes})
    else:
        _print_report(imported, written)
    return OK


def _convert(config: Path, env: str | None) -> ImportedChallenge:
    try:
        document, lines = parse_yaml(config.read_bytes(), config.name, MAX_IMPORT_BYTES)
    except OSError as error:
        raise CommandError(
            USAGE, f"{config}: cannot be read ({error.strerror}); name EvalAI's challenge_config.yaml"
        ) from error
    except LoadError as error:
        raise CommandError(USAGE, *error.lines) from error
    try:
        return convert_challenge(document, lambda name: _read_beside(config.parent, name), env)
    except ImportFaultError as error:
        place = str(error).partition(":")[0]
        raise CommandError(USAGE, f"{config.name}:{nearest_line(lines, _steps(place))}: {error}") from error


def _steps(place: str) -> tuple[int | str, ...]:
    """The steps to a key such as `challenge_phases[0].codename`."""
    steps = place.replace("[", ".").replace("]", "").split(".")
    return tuple(int(step) if step.isdecimal() else step for step in steps if step)


def _read_beside(folder: Path, name: str) -> bytes | None:
    """A file in the configuration's folder; None if it is missing, too large, or outside that folder."""
    root = folder.resolve()
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root) or not path.is_file() or path.stat().st_size > MAX_PAGE_BYTES:
            return None
        return path.read_bytes()
    except (OSError, ValueError):  # No file can have that name, such as one with a zero byte, or it cannot be read.
        return None


def _write(imported: ImportedChallenge, text: str, source: Path, out: Path, *, force: bool) -> list[str]:
    target = out / "challenge.yml"
    if target.exists() and not force:
        raise CommandError(USAGE, f"{target}: already exists; pass --force to replace it, or --out another folder")
    files: dict[Path, bytes] = {Path("challenge.yml"): text.encode()}
    files |= {Path("site/pages") / name: page.encode() for name, page in imported.pages.items()}
    for picture in imported.pictures:
        if (content := _read_beside(source, picture)) is not None:
            files[Path("site/assets") / Path(picture).name] = content
    for folder in sorted({(out / path).parent for path in files}):
        if not folder.resolve().is_relative_to(out.resolve()):
            raise CommandError(USAGE, f"{folder}: leads out of {out}; remove that link, or pass --out another folder")
    for path, content in files.items():
        write_atomically(out / path, content)  # A link there is replaced: in somebody else's folder it may lead anywhere.
    return [str(path) for path in files]


def _print_report(imported: ImportedChallenge, written: list[str]) -> None:
    warnings = len(list(imported.report.with_fate(KeyFate.WARNING)))
    titles = {KeyFate.CARRIED: "Carried over", KeyFate.CHANGED: "In another form", KeyFate.DROPPED: "Left out"}
    for fate, title in {**titles, KeyFate.WARNING: f"{warnings} to check"}.items():
        lines = [f"  {note.place}: {note.words}" for note in imported.report.with_fate(fate)]
        for line in [f"\n{title}:", *lines] if lines else ():
            say(line)
    if not warnings:
        say("\nNo warnings.")
    say(f"\nWritten: {', '.join(written)}. Next: 'pullrank check', then 'make demo'.")
