"""`pullrank watch DIR`: an episode of an agent as a moving picture, from its recorded actions."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from evaluator.host.errors import EnvironmentFault
from scripts.console import OK, SUBMISSION_AT_FAULT, USAGE, CommandError, say
from scripts.options import AgentArgument
from scripts.repository.checkout import open_checkout
from scripts.runs.newest_results import entry_in, episode_number, newest_results

_ENDINGS = (".webp", ".gif", ".mp4")
NO_VIDEO = "an .mp4 needs an encoder: 'make notebook' or 'pip install imageio-ffmpeg' brings it; or write .gif or .webp"


def run(
    folder: AgentArgument,
    task: Annotated[str | None, typer.Option(help="The task; the first that is recorded, if left out.")] = None,
    episode: Annotated[str, typer.Option(help="worst, best, median, or the episode's number.")] = "worst",
    out: Annotated[Path | None, typer.Option(help="A file .webp, .gif or .mp4; else one in build/watch/.")] = None,
) -> int:
    """Draw a recorded episode as a moving picture; the agent is not run."""
    if out is not None and out.suffix.lower() not in _ENDINGS:
        raise CommandError(USAGE, f"{out}: end the name in .webp, .gif or .mp4")
    if out is not None and out.suffix.lower() == ".mp4" and find_spec("imageio_ffmpeg") is None:
        raise CommandError(USAGE, f"{out}: {NO_VIDEO}")
    checkout = open_checkout(Path.cwd())
    entry = entry_in(checkout, folder)
    played, result = newest_results(checkout, entry, [task] if task else None)[0]
    number = episode_number(result, played, episode)
    target = out or checkout.root / "build/watch" / f"{entry.agent}-{played.id}-{number}.webp"
    # Imported late: pictures take long to import.
    from scripts.static_site.render_episodes import WantedEpisode, save_episode

    path = checkout.store.result_path(result)
    wanted = WantedEpisode(
        task=played, key=result.key, result=path, trace=checkout.store.trace_of(path), path=result.path(),
        chosen=((episode, number),),
    )  # fmt: skip
    try:
        frames = save_episode(wanted, target)
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
