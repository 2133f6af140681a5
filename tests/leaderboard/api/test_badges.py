"""Badges: place and score for those who rank, a word for all others, legible, and never in another's way."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task
from leaderboard.api.badges import badge_svg
from tests.leaderboard.api.leaderboards import documents, scripts
from tests.leaderboard.pages import game_samples, samples


def words_of(files, path):
    badge = json.loads(files[f"badges/{path}.json"])
    return badge["label"], badge["message"]


def test_a_badge_says_place_and_score():
    files = documents(samples.crowded())

    assert words_of(files, "user0/rule-0/MountainCar-v0") == ("MountainCar-v0", "#2 of 6 · −105.0")
    assert words_of(files, "local/random/MountainCar-v0") == ("MountainCar-v0", "baseline · −200.0")
    assert words_of(files, "user2/rule-2/CartPole-v1") == ("CartPole", "crashed")
    assert words_of(files, "user3/rule-3/CartPole-v1") == ("CartPole", "waiting")
    assert words_of(files, "user0/rule-0/overall") == ("Sample board", "#2 of 6 · 0.700")
    assert words_of(files, "local/random/overall") == ("Sample board", "no score yet")


def test_games_and_claims_have_words_of_their_own():
    files = documents(game_samples.full())

    assert words_of(files, "alice/minimax/connect_four")[1] == "#1 of 3 · Elo 412"
    assert words_of(files, "mallory/cheat/connect_four")[1] == "refused"
    assert words_of(documents(scripts()), "yan/claims/Script-v0")[1] == "self-reported"


def test_a_task_called_overall_gives_way():
    task = Task(id="Overall")
    who = samples.entry()
    files = documents(samples.board(samples.task_board(task, [samples.row(who, task, 1, 1.0)])))

    assert words_of(files, "alice/angle-rule/_Overall")[0] == "Overall"
    assert words_of(files, "alice/angle-rule/overall")[0] == "Sample board"


def test_without_badges_in_the_challenge_no_document_has_or_names_any():
    board = samples.crowded()
    without = documents(replace(board, challenge=board.challenge.model_copy(update={"badges": False})))

    assert {path for path in documents(board) if path not in without} == {
        path for path in documents(board) if path.startswith("badges/")
    }
    assert not [path for path in without if path.startswith("badges/")]
    assert not [name for name in json.loads(without["api/index.json"])["links"] if "badge" in name]
    assert not [path for path in json.loads(without["api/openapi.json"])["paths"] if path.startswith("/badges/")]


def test_the_field_is_off_by_default_and_changes_no_measurement():
    plain = Challenge(title="t", season="1", tasks=(Task(id="CartPole-v1"),))
    with_badges = Challenge.model_validate({**plain.model_dump(), "badges": True})

    assert not plain.badges
    assert [task.digest() for task in plain.tasks] == [task.digest() for task in with_badges.tasks]


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("board", [samples.crowded(), samples.failed(), scripts(), game_samples.full()])
def test_white_text_has_contrast_enough(board):
    badges = [content for path, content in documents(board).items() if re.fullmatch("badges/.*json", path)]
    colors = {json.loads(content)["color"] for content in badges}

    assert colors
    assert min(1.05 / (luminance(color) + 0.05) for color in colors) >= 4.5


def test_a_picture_is_as_wide_as_its_words_and_can_be_read_aloud():
    narrow, wide = (
        ET.fromstring(badge_svg({"schemaVersion": 1, "label": label, "message": "1", "color": "333333"}))
        for label in ("i", "W" * 60)
    )

    assert int(narrow.get("width")) < 40 < 500 < int(wide.get("width"))
    assert wide.get("aria-label") == "W" * 60 + ": 1"
