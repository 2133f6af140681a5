"""A whole site with a bit of everything: solo tasks, games, pictures of episodes, names that would be more than text."""

import functools
import http.server
import io
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from PIL import Image

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.metric import Metric
from evaluator.model.config.people import CustomField, People
from leaderboard.core.standings import Standings
from leaderboard.site_context import EpisodeReplay, SiteContext
from scripts.static_site.build_site import build_in_folder
from tests.leaderboard.pages import game_samples, samples

HOSTILE = "</b><img src=x onerror=alert(1)>"
POLE, CAR = samples.POLE, samples.CAR
SHORT = samples.Task(
    id="Short-v0",
    title="Shortest way",
    metrics=(Metric(name="Length", kind="mean_length", direction="lower", decimals=1),),
)
FIRST = samples.entry("first", "alice", name="First")
SECOND = samples.entry("second", "bob", name="مرحبا بالعالم")
THIRD = samples.entry("third", "carol", name=HOSTILE)
LONG = samples.entry("a" * 40, "b" * 39, name="W" * 60)
FAILED = samples.entry("failed", "dora", name="Failed one")
ROOT = Path(__file__).parents[2]


def board() -> tuple[Standings, SiteContext]:
    """Solo tasks and games, and what pages know besides."""
    pole = [samples.row(who, POLE, i + 1, 480 - 60 * i, 5.0) for i, who in enumerate([FIRST, SECOND, THIRD, LONG])]
    car = [samples.row(who, CAR, i + 1, -110.0 - 10 * i, 3.0) for i, who in enumerate([SECOND, FIRST])]
    short = [
        samples.row(
            who, SHORT, i + 1, 20.0 + 40 * i, 2.0, pooled_results=(samples.result(who, SHORT, (1.0,) * 30, lengths=lengths),)
        )
        for i, (who, lengths) in enumerate([(FIRST, [20] * 30), (SECOND, list(range(45, 75)))])
    ]
    overall = [samples.overall_row(who, i + 1, 1.0 - 0.3 * i, (POLE, CAR)) for i, who in enumerate([FIRST, SECOND, THIRD])]
    made = samples.board(
        samples.task_board(POLE, pole, [samples.failure(FAILED, POLE)], [samples.entry("late", "erin", name="Late")]),
        samples.task_board(CAR, car),
        samples.task_board(SHORT, short, excluded=[samples.excluded(samples.entry("out", "frank"))]),
        overall=overall,
    )
    people = People(
        fields=(CustomField(name="team", required=True), CustomField(name="track", kind="choice", options=("a", "b")))
    )
    challenge = Challenge.model_validate({**made.challenge.model_dump(), "people": people.model_dump()})
    episodes = {row.result.key: _episodes(row.result.key, index) for index, row in enumerate(pole[:2])}
    pulls = {FIRST.name: 41, FAILED.name: 42}
    context = replace(samples.CONTEXT, episodes=episodes, pulls=pulls)
    return replace(made, challenge=challenge, games=game_samples.full().games), context


def _episodes(key: str, index: int) -> tuple[EpisodeReplay, ...]:
    return tuple(
        EpisodeReplay(
            which=which, number=0, total=480.0, length=90 - 40 * index, file=f"episodes/{key}-{which}.webp", columns=2,
            width=40, height=30, steps=(0, 20, 50 - 40 * index, 90 - 40 * index),
        )
        for which in (("best", "median") if index == 0 else ("best",))
    )  # fmt: skip


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        """Nothing."""


def serve(folder: Path) -> Iterator[str]:
    """Builds it below `folder`, and yields its address as long as it is served."""
    table, context = board()
    shutil.copytree(ROOT / "site", folder / "site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    served = folder / "served"
    served.mkdir()
    for shown in context.episodes.values():
        for one in shown:
            path = folder / "build" / one.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_picture())
    shutil.move(build_in_folder(table, context, folder), served / "board")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/board/"
    server.shutdown()
    server.server_close()


@functools.cache
def _picture() -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (80, 60), (90, 120, 150)).save(content, "WEBP", lossless=True)
    return content.getvalue()
