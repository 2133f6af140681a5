"""What cards say, and that their pictures can be drawn."""

import io

import pytest
from PIL import Image

from leaderboard.charts import social_cards
from leaderboard.charts.social_cards import CARD_HEIGHT, CARD_WIDTH, cut_to_width, first_printable, render_card
from scripts.static_site.build_site import card_pictures
from tests.leaderboard.pages import game_samples, samples
from tests.leaderboard.pages.test_render_pages import hostile_board

BOARDS = {name: getattr(samples, name) for name in ("empty", "one", "tied", "failed", "crowded")}
BOARDS |= {"full": game_samples.full, "lone": game_samples.lone}


@pytest.mark.parametrize("name", BOARDS)
def test_every_card_is_a_picture_of_its_size(name, tmp_path):
    pictures = dict(card_pictures(BOARDS[name](), samples.CONTEXT, tmp_path))

    assert social_cards.HOME_CARD in pictures
    for content in pictures.values():
        assert Image.open(io.BytesIO(content)).size == (CARD_WIDTH, CARD_HEIGHT)
        assert len(content) < 40_000


def test_every_page_that_names_a_card_has_one():
    board = game_samples.full()
    files = {card.file.replace("%", "%25") for card in social_cards.social_cards(board)}

    assert set(social_cards.card_files(board).values()) <= files
    assert social_cards.task_card("ALE/Pong-v5") == "cards/tasks/ALE%252FPong-v5.png"


def test_only_the_best_have_cards():
    rows = [samples.row(samples.entry(f"agent-{i}"), samples.POLE, i + 1, 9.0 - i) for i in range(8)]
    board = samples.board(samples.task_board(samples.POLE, rows))

    assert [entry.agent for entry in social_cards.chosen_cards(board)] == ["agent-0", "agent-1", "agent-2"]


def lines(board, file):
    (shown,) = [card for card in social_cards.social_cards(board) if card.file == file]
    return [(line.place, line.name[0], line.value) for line in shown.lines]


def test_a_tasks_card_has_its_best():
    assert lines(samples.crowded(), "cards/tasks/MountainCar-v0.png")[:2] == [
        (1, "W" * 60, "−104.2  (−105.7 to −102.7)"),
        (2, "rule-0", "−105.0  (−107.0 to −103.0)"),
    ]


def test_a_card_looks_at_each_row_a_few_times(monkeypatch):
    """Ten thousand agents on eight tasks took four minutes when each row looked at all the others."""
    looked = []
    has_interval = social_cards._has_interval
    monkeypatch.setattr(social_cards, "_has_interval", lambda estimate: looked.append(1) or has_interval(estimate))
    rows = [samples.row(samples.entry(f"agent-{i}"), samples.POLE, i + 1, 9.0 - i / 50) for i in range(200)]

    list(social_cards.social_cards(samples.board(samples.task_board(samples.POLE, rows))))

    assert len(looked) <= 3 * len(rows)


def test_what_stands_aside_has_no_line():
    board = samples.board(
        samples.task_board(samples.POLE, [samples.row(samples.entry(baseline=True), samples.POLE, 1, 1.0)])
    )

    assert lines(board, "cards/tasks/CartPole-v1.png") == []


def test_bars_begin_at_the_random_score_and_there_is_none_without_one():
    near = [(500.0, "best"), (497.4, "near"), (22.4, "as-random")]
    rows = [samples.row(samples.entry(name), samples.POLE, i + 1, score) for i, (score, name) in enumerate(near)]
    board = samples.board(samples.task_board(samples.POLE, rows), official=False)
    cards = {card.file: card for card in social_cards.social_cards(board)}

    spans = [line.span for line in cards["cards/tasks/CartPole-v1.png"].lines]
    scores = [round(score, 3) for _, score, _ in spans]
    assert 0.98 < scores[0] <= 1.0
    assert scores[0] - scores[1] < 0.01
    assert scores[2] == 0.0
    assert all(
        low <= score <= high for low, score, high in (line.span for line in cards["cards/tasks/CartPole-v1.png"].lines)
    )
    assert cards["cards/agents/alice/near.png"].lines[0].span is None
    assert all(card.below.startswith("local, unofficial · ") for card in cards.values())


def test_the_champion_of_a_game_stands_after_those_of_tasks():
    assert lines(game_samples.full(), social_cards.HOME_CARD)[3] == (1, "Connect Four: minimax", "412  (330 to 497)")


def test_a_home_card_names_champions_of_tasks_where_nobody_has_half_of_them():
    """As on the page: one task of three gives no medal on the overall leaderboard."""
    who = samples.entry()
    few = samples.overall_row(who, 1, 0.35, (), normalised={"CartPole-v1": 1.05, "MountainCar-v0": None, "Pong": None})
    board = samples.board(samples.task_board(samples.POLE, [samples.row(who, samples.POLE, 1, 497.5)]), overall=[few])
    cards = {card.file: card for card in social_cards.social_cards(board)}

    assert lines(board, social_cards.HOME_CARD) == [(1, "CartPole: angle-rule", "497.5  (492.5 to 502.5)")]
    assert cards["cards/agents/alice/angle-rule.png"].below == "by alice"


def test_a_baseline_has_no_place_on_its_card():
    rows = [samples.row(samples.entry("best"), samples.POLE, 1, 500.0)]
    rows += [samples.row(samples.entry("random", baseline=True), samples.POLE, 2, 22.0)]
    board = samples.board(samples.task_board(samples.POLE, rows))

    assert lines(board, "cards/agents/alice/random.png") == [(None, "CartPole", "22.0")]


def test_an_agents_card_has_its_places():
    assert lines(samples.crowded(), "cards/agents/user1/rule-1.png") == [
        (1, "CartPole", "500.0"),
        (3, "MountainCar-v0", "−113.0"),
    ]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("plain",), "plain"),
        (("世界", "alice/world"), "alice/world"),
        (("مرحبا", "日本"), ""),
        (("−12 345.6",), "-12 345.6"),
        (("", "alice/empty"), "alice/empty"),
    ],
)
def test_what_the_font_has_not_falls_back(names, shown):
    assert first_printable(names) == shown


def test_long_text_is_cut():
    assert cut_to_width("short", 30, 500) == "short"
    assert cut_to_width("W" * 60, 30, 300).endswith("...")


@pytest.mark.attack(
    "name_on_a_picture", family="pages", outcome="drawn or replaced",
    tries="Has a name that the picture's font or size cannot hold.",
)  # fmt: skip
@pytest.mark.parametrize("text", ["<img src=x>", "\u202eمرحبا", "😀" * 9, "a\nb\x00c", " "])
def test_hostile_names_are_drawn_or_replaced(text):
    assert all(render_card(card) for card in social_cards.social_cards(hostile_board(text)))
