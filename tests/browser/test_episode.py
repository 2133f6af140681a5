"""Players of episodes as a reader uses them, in a real browser."""

import functools
import http.server
import io
import json
import shutil
import threading
from dataclasses import asdict

import pytest
from PIL import Image
from playwright.sync_api import expect

from leaderboard.pages.episode_replays import replay_figure, replay_thumbnail
from leaderboard.site_context import EpisodeReplay
from scripts.pictures.render_episodes import sprite_sheet
from tests.browser.conftest import ROOT, _Quiet

FRAMES, SIDE = 10, 40
HOSTILE = "</b><img src=x onerror=alert(1)>"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Episodes</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="assets/board.css">
<link rel="stylesheet" href="assets/episode.css">
</head><body data-md-color-scheme="default" class="md-typeset"><h1>Episodes</h1>{body}
<script type="module" src="assets/js/episode-player.js"></script></body></html>"""
COMPARE = """<div id="place"></div><script type="module">
import {{ create, playTogether }} from "./assets/js/episode-player.js";
const figures = {episodes}.map((one) => create(one, {{ name: {name}, said: "return 1" }}));
document.querySelector("#place").append(playTogether(figures, {{ label: "both" }}), ...figures);
</script>"""


def episode(length=90, frames=FRAMES, which="best"):
    """An episode whose frames are shades of grey, the first one black."""
    step = length // (frames - 1)
    return EpisodeReplay(
        which=which, number=3, total=-12.5, length=length, file="episodes/abc123-best.webp", columns=4, width=SIDE,
        height=SIDE, steps=tuple(step * index for index in range(frames)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The address of a folder with one page of each kind."""
    folder = tmp_path_factory.mktemp("episodes")
    shutil.copytree(ROOT / "site" / "assets", folder / "assets")
    made = sprite_sheet([Image.new("RGB", (SIDE, SIDE), (28 * i, 28 * i, 28 * i)) for i in range(FRAMES)])
    (folder / "episodes").mkdir()
    (folder / "episodes" / "abc123-best.webp").write_bytes(made.content)
    both = [asdict(episode()), asdict(episode(length=18))]
    for name, body in {
        "one": replay_figure(episode(), "./", 1),
        "small": '<div class="pr-cards"><div class="pr-card">{}</div></div>'.format(replay_thumbnail(episode(), "./")),
        "both": COMPARE.format(episodes=json.dumps(both), name=json.dumps(HOSTILE).replace("</", "<\\/")),
    }.items():
        (folder / f"{name}.html").write_text(PAGE.format(body=body), encoding="utf-8")
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def look(chromium, place):
    """Opens pages; nothing may be said on the console or asked of another host."""
    messages, asked, contexts = [], [], []

    def open_page(name, **options):
        context = chromium.new_context(**{"viewport": {"width": 600, "height": 700}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{place}{name}.html")
        return page

    yield open_page
    for context in contexts:
        context.close()

    assert messages == []
    assert [url for url in asked if not url.startswith((place, "data:"))] == []


def shade(page, number=0):
    """The grey that a screen shows in its middle: 28 for each frame before it."""
    page.wait_for_function("() => [...document.querySelectorAll('.pr-screen img')].every((image) => image.naturalWidth)")
    shot = page.locator(".pr-screen").nth(number).screenshot()
    picture = Image.open(io.BytesIO(shot)).convert("L")
    return round(picture.getpixel((picture.width // 2, picture.height // 2)) / 28)


def test_without_a_script_the_first_picture_is_shown(look):
    page = look("one", java_script_enabled=False)

    page.wait_for_load_state("networkidle")
    expect(page.locator("figcaption")).to_have_text("Best episode return −12.5, 90 steps")
    expect(page.locator("img")).to_have_attribute("alt", "the best episode: its first picture")
    assert page.locator(".pr-player").count() == 0
    box = page.locator(".pr-screen").bounding_box()
    assert abs(box["width"] - box["height"]) < 3


def test_one_steps_and_slides(look):
    page = look("one")

    assert shade(page) == 0
    page.get_by_role("button", name="Step forward").click()
    assert shade(page) == 1
    page.get_by_role("slider").fill("7")
    assert shade(page) == 7
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", "step 70 of 90")
    expect(page.locator(".pr-step")).to_have_text("70 / 90")
    page.get_by_role("button", name="Step back").click()
    assert shade(page) == 6


def test_it_plays_to_its_end_and_again(look):
    page = look("one")

    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator(".pr-step")).to_have_text("90 / 90")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert shade(page) == 9
    page.get_by_role("button", name="Play").click()
    expect(page.locator(".pr-step")).not_to_have_text("90 / 90")


def test_the_keyboard_alone_does_it_all(look):
    page = look("one")
    step = page.locator(".pr-step")

    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Play")).to_be_focused()
    page.keyboard.press("End")
    expect(step).to_have_text("90 / 90")
    page.keyboard.press("ArrowLeft")
    expect(step).to_have_text("80 / 90")
    page.keyboard.press("Home")
    expect(step).to_have_text("0 / 90")
    page.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(step).to_have_text("10 / 90")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_two_are_played_in_step_and_the_shorter_holds_its_last(look):
    page = look("both")

    assert page.locator(".pr-player").count() == 1
    page.get_by_role("slider").fill("12")
    assert (shade(page, 0), shade(page, 1)) == (1, 9)
    page.keyboard.press("End")
    assert (shade(page, 0), shade(page, 1)) == (9, 9)
    expect(page.locator("figcaption b").first).to_have_text(HOSTILE)


def test_small_pictures_move_until_a_reader_holds_them(look):
    page = look("small")
    moving = "() => document.getAnimations().filter((one) => one.playState === 'running').length"

    assert page.evaluate(moving) == 2
    page.get_by_role("button", name="Stop the animations").click()
    assert page.evaluate(moving) == 0
    page.reload()
    assert page.evaluate(moving) == 0
    page.get_by_role("button", name="Play the animations").click()
    assert page.evaluate(moving) == 2


def test_small_pictures_are_still_where_less_motion_is_wanted(look):
    page = look("small", reduced_motion="reduce")

    assert page.evaluate("() => document.getAnimations().length") == 0
    assert shade(page) == 0
