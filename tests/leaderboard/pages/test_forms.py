"""What the submit, status and compare pages are made of."""

import json
import re

import pytest

from evaluator.model.config.challenge import Challenge
from evaluator.model.config.people import Ban, CustomField, People
from evaluator.model.config.task import Task
from evaluator.model.config.training_script import ScriptRules
from leaderboard.comments import sample_comments as comment_page
from leaderboard.comments.sample_comments import sample_states as states
from leaderboard.pages import submit_form
from leaderboard.pages.render_pages import render_pages
from leaderboard.text.format import task_kind
from tests.leaderboard.pages import samples

HOSTILE = "</option><img src=x onerror=alert(1)>"


def test_the_form_knows_the_rules_of_the_models():
    rules = json.loads(submit_form.form_rules(samples.crowded(), samples.CONTEXT))

    assert rules["repository"] == samples.REPOSITORY
    assert re.fullmatch(rules["patterns"]["agent"], "angle-rule")
    assert re.fullmatch(rules["patterns"]["agent"], "json.v2")
    assert not re.fullmatch(rules["patterns"]["agent"], "rule.json")
    assert [task["id"] for task in rules["tasks"]] == ["CartPole-v1", "MountainCar-v0", "ALE/Pong-v5"]
    assert (rules["files"], rules["kib"]) == (100, 25600)


def rules_for(people):
    board = samples.empty()
    asking = Challenge.model_validate({**board.challenge.model_dump(), "people": people.model_dump()})
    return json.loads(submit_form.form_rules(type(board)(**{**vars(board), "challenge": asking}), samples.CONTEXT))


def test_the_form_asks_what_the_hosts_ask():
    rules = rules_for(People(fields=(CustomField(name="team", shown=False),), ban=(Ban(login="eve", why="cheated"),)))

    assert (rules["terms"], rules["terms_url"]) == (None, None)
    assert rules["bans"] == ["eve"]
    assert rules["fields"] == [{"name": "team", "kind": "text", "options": [], "required": False, "description": None}]


@pytest.mark.parametrize(
    ("terms", "address"),
    [
        ("https://lab.example/terms?v=2", "https://lab.example/terms?v=2"),
        ("site/pages/terms.md", "../terms/"),
        ("site/pages/host/the terms.md", "../host/the%20terms/"),
        ("docs/TERMS.txt", f"{samples.REPOSITORY}/blob/main/docs/TERMS.txt"),
        ("javascript:alert(1)", f"{samples.REPOSITORY}/blob/main/javascript%3Aalert%281%29"),
    ],
)
def test_the_form_links_the_terms_that_are_accepted(terms, address):
    rules = rules_for(People(terms=terms))

    assert (rules["terms"], rules["terms_url"]) == (terms, address)


def test_a_task_is_for_agents_scripts_or_players():
    assert task_kind(samples.POLE) == "task"
    assert task_kind(Task(id="g", game="pettingzoo.classic.tictactoe_v3")) == "game"
    assert task_kind(Task(id="s", env="CartPole-v1", script=ScriptRules(steps=5000, last=100, worst=0))) == "script"


def test_every_state_is_shown_in_the_templates_own_words():
    shown = {one.id: one.comment for one in comment_page.sample_states()}

    assert list(shown) == [one.id for one in states()]
    assert "Preview: 435.2 on CartPole, would take place 3 of 13" in shown["scores"]
    assert "ZeroDivisionError" in shown["no-score"]
    assert "did you mean &#39;algorithm&#39;?" in shown["faults"] or "did you mean 'algorithm'?" in shown["faults"]


def test_nothing_in_a_shown_comment_leads_to_the_example():
    for one in comment_page.sample_states():
        assert "<a " not in one.comment
        assert "</a>" not in one.comment
        assert "<!--" not in one.comment


def test_tables_and_code_of_a_shown_comment_can_be_reached_and_read():
    table = next(one.comment for one in comment_page.sample_states() if one.id == "scores")

    assert "<table>" in table
    assert table.count("<table>") == table.count('class="pr-comment-table" tabindex="0"')
    assert "<th>" not in table
    assert "<th style" not in table
    assert "<pre>" not in table


@pytest.mark.attack(
    "title_on_the_compare_page", family="pages", outcome="shown as text",
    tries="Closes an option of a form with a title.",
)  # fmt: skip
def test_titles_of_tasks_stay_text_on_the_compare_page():
    task = Task(id="x", title=HOSTILE)
    page = render_pages(samples.board(samples.task_board(task)), samples.CONTEXT)["compare.md"]

    assert "<img" not in page
    assert "onerror" in page


def test_an_empty_board_has_nothing_to_compare():
    board = samples.empty()
    bare = type(board)(**{**vars(board), "tasks": ()})

    assert "There is nothing to compare." in render_pages(bare, samples.CONTEXT)["compare.md"]


def test_the_status_page_names_no_repository_that_it_does_not_know():
    context = type(samples.CONTEXT)(generated_at="now")

    assert "data-repository" not in render_pages(samples.empty(), context)["status.md"]
    assert "data-repository" in render_pages(samples.empty(), samples.CONTEXT)["status.md"]
