"""Looking a submission up, in a real browser."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.whole import HOSTILE


@pytest.fixture(scope="module")
def site(whole_site):
    return whole_site


def cards(page):
    return page.locator(".pr-status-card")


def look_up(page, words):
    page.get_by_label("Name, login, login/agent or pull request number").fill(words)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("asked", ["alice/first", "First", "41", "#41"])
def test_it_is_found_by_name_login_and_pull_request(visit, asked):
    page = visit("status/")
    look_up(page, asked)

    expect(cards(page).first.locator("h2")).to_have_text("First")
    expect(cards(page).first.get_by_role("link", name="pull request #41")).to_have_attribute(
        "href", "https://github.com/example/board/pull/41"
    )
    expect(cards(page).first).to_contain_text("place 1")


def test_the_address_holds_what_was_asked(visit):
    page = visit("status/?find=dora")
    expect(cards(page)).to_have_count(1)
    expect(cards(page)).to_contain_text("failed: crashed")
    expect(cards(page)).to_contain_text("open another pull request")
    look_up(page, "erin")
    expect(cards(page)).to_contain_text("waiting")
    expect(page).to_have_url(re.compile(r"\?find=erin$"))
    page.go_back()
    expect(cards(page)).to_contain_text("failed: crashed")


def test_an_unknown_number_leads_to_the_pull_request(visit):
    page = visit("status/?find=977")

    expect(page.locator("#pr-status-said")).to_have_text("No submission matches.")
    expect(page.get_by_role("link", name="Pull request #977")).to_have_attribute(
        "href", "https://github.com/example/board/pull/977"
    )


def test_hostile_names_stay_text(visit):
    page = visit("status/?find=carol/third")

    expect(cards(page).locator("h2")).to_have_text(HOSTILE)
    assert page.locator("img[src=x]").count() == 0


def test_what_is_typed_stays_text(visit):
    page = visit("status/")
    look_up(page, HOSTILE + "zzz")

    expect(page.locator("#pr-status .pr-empty")).to_be_visible()
    assert page.locator("img[src=x]").count() == 0


def test_without_javascript_it_says_where_else_to_look(visit):
    page = visit("status/", java_script_enabled=False)

    expect(page.get_by_text("The search needs JavaScript.")).to_be_visible()
    expect(page.get_by_role("heading", name="An open pull request")).to_be_visible()


def test_every_state_of_the_comment_is_shown(visit):
    page = visit("states/", java_script_enabled=False)

    expect(page.locator(".pr-comment")).to_have_count(9)
    expect(page.locator(".pr-comment h3").nth(1)).to_contain_text("Preview: 435.2 on CartPole, would take place 3 of 13")
    assert page.locator(".pr-comment a[href]:not(.headerlink)").count() == 0
