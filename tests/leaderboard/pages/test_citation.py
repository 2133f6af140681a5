"""How a page says that it is cited."""

from dataclasses import replace

from leaderboard.pages.render_pages import render_pages
from leaderboard.pages.template_renderer import citation
from tests.leaderboard.pages import samples

DATED = replace(samples.CONTEXT, generated_at="2026-03-04 05:06 UTC", commit="c" * 40, site_url="https://board.example/")


def test_it_names_build_commit_and_address():
    text = citation(samples.one().challenge, DATED, "CartPole_1", "tasks/CartPole-v1/")

    assert "title = {{CartPole\\_1, " in text
    assert "  year = {2026},\n  month = {3},\n  url = {https://board.example/tasks/CartPole-v1/}," in text
    assert f"note = {{Built 2026-03-04 05:06 UTC from commit {'c' * 40}}}" in text


def test_without_a_date_there_is_nothing_to_cite():
    assert citation(samples.one().challenge, replace(DATED, generated_at="now"), "", "") == ""


def test_the_page_of_a_task_has_it_behind_a_fold():
    text = render_pages(samples.one(), DATED)["tasks/CartPole-v1.md"]

    assert '<details class="pr-cite" data-search-exclude><summary>Cite</summary>' in text
