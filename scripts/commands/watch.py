"""`pullrank watch DIR`: an episode or a match of an agent as a moving picture, from its recorded actions."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.errors import EnvironmentFault
from evaluator.model.config.task import Task
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.options import AgentArgument
from scripts.repository.checkout import AgentFolder, Checkout, open_checkout
from scripts.standings.agent_records import OwnMatch, choose_match, entry_in, episode_number, match_tasks, newest_results

_ENDINGS = (".webp", ".gif", ".mp4")
NO_VIDEO = "an .mp4 needs an encoder: 'make notebook' or 'pip install imageio-ffmpeg' brings it; or write .gif or .webp"


def run(
    folder: AgentArgument,
    task: Annotated[str | None, typer.Option(help="The task or game; the first that is recorded, if left out.")] = None,
    episode: Annotated[str, typer.Option(help="worst, best, median, or the number of the episode or match.")] = "worst",
    out: Annotated[
        Path | None, typer.Option(help="A file .webp, .gif or .mp4, or .txt for games; else one in build/watch/.")
    ] = None,
    against: Annotated[Path | None, typer.Option(help="In a game: the opponent's folder; anybody's, if left out.")] = None,
    text: Annotated[bool, typer.Option("--text", help="In a game: print the positions instead of drawing them.")] = False,
) -> int:
    """Draw a recorded episode or match as a moving picture; the agent is not run."""
    checkout = open_checkout(Path.cwd())
    entry = entry_in(checkout, folder)
    opponent = entry_in(checkout, against) if against else None
    game = _game(checkout, entry, task, wanted=text or against is not None)
    _check_ending(out, (*_ENDINGS, ".txt") if game else _ENDINGS)
    if game is None:
        return _watch_episode(checkout, entry, task, episode, out)
    match = choose_match(checkout, entry, game, opponent, episode)
    target = out or checkout.root / "build/watch" / f"{entry.agent}-{game.id}-{match.index}.webp"
    try:
        return _watch_match(match, game, None if text else target)
    except (EnvironmentFault, ValueError, OSError) as error:
        raise CommandError(SUBMISSION_AT_FAULT, f"{game.id}, match {match.index}: {error}; nothing was drawn") from error


def _check_ending(out: Path | None, endings: tuple[str, ...]) -> None:
    ending = out.suffix.lower() if out else None
    if ending is not None and ending not in endings:
        raise CommandError(USAGE, f"{out}: end the name in {', '.join(endings[:-1])} or {endings[-1]}")
    if ending == ".mp4" and find_spec("imageio_ffmpeg") is None:
        raise CommandError(USAGE, f"{out}: {NO_VIDEO}")


def _game(checkout: Checkout, entry: AgentFolder, task: str | None, *, wanted: bool) -> Task | None:
    """The game to watch; None for a task that is played alone. `wanted`: only a game can be meant."""
    if task is not None:
        named = checkout.tasks([task])[0]
        if named.game is None and wanted:
            raise CommandError(USAGE, f"{task} is played alone; --text and --against are for games")
        if named.game is not None and not entry.folder.submission.plays(named):
            raise CommandError(
                USAGE, f"{entry.shown}: does not enter {named.id}; name it under 'tasks' in its submission.yml"
            )
        return named if named.game is not None else None
    games = match_tasks(checkout, entry)
    if wanted:
        entered = [each for each in checkout.games(None) if entry.folder.submission.plays(each)]
        return next(iter([*games, *entered, *checkout.games(None)]))
    alone = any(result.submission_digest == entry.folder.digest for result in checkout.results)
    return None if alone or not games else games[0]


def _watch_match(match: OwnMatch, game: Task, target: Path | None) -> int:
    # Imported late: pictures take long to import.
    from scripts.pictures.game_frames import match_text, save_match_animation, watched_positions

    as_text = target is None or target.suffix.lower() == ".txt"
    positions = watched_positions(match.duel, match.index, game, pictures=not as_text)
    if target is None:
        print(match_text(positions), end="")
        return OK
    if as_text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(match_text(positions))
    else:
        save_match_animation(positions, target)
    shown = "positions" if as_text else "frames"
    number = f"match {match.index} of {len(match.duel.matches)}"
    say(f"{target}: {len(positions)} {shown} of {game.id}, {number}; {positions[-1].caption[-1]}")
    return OK


def _watch_episode(checkout: Checkout, entry: AgentFolder, task: str | None, episode: str, out: Path | None) -> int:
    played, result = newest_results(checkout, entry, [task] if task else None)[0]
    number = episode_number(result, played, episode)
    target = out or checkout.root / "build/watch" / f"{entry.agent}-{played.id}-{number}.webp"
    # Imported late: pictures take long to import.
    from scripts.pictures.render_episodes import RenderRequest, save_episode_animation

    path = checkout.store.path_of(result)
    wanted = RenderRequest(
        task=played, key=result.key, result=path, trace=checkout.store.trace_of(path), path=result.path(),
        chosen=((episode, number),),
    )  # fmt: skip
    try:
        frames = save_episode_animation(wanted, target)
    except FileNotFoundError as error:
        raise CommandError(
            SUBMISSION_AT_FAULT,
            f"{wanted.trace.name}: its actions are not here; run 'pullrank evaluate {entry.shown} --again'",
        ) from error
    except (EnvironmentFault, ValueError, OSError) as error:
        raise CommandError(SUBMISSION_AT_FAULT, f"{played.id}, episode {number}: {error}; nothing was drawn") from error
    total = f"return {result.returns[number]:g} in {result.lengths[number]} steps"
    say(f"{target}: {frames} frames of {played.id}, episode {number} of {len(result.returns)}, {total}")
    return OK
