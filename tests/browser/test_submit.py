"""The submit form as somebody with only a browser uses it; what it writes is read by the evaluator's own parser."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import parse_submission
from evaluator.model.config.challenge import SubmissionLimits
from evaluator.model.config.submission import SubmissionFile

ROOT = Path(__file__).parents[2]
AGENT = "class Agent:\n    def act(self, observation):\n        return 0\n"
GOOD = {
    "login": "alice",
    "agent": "angle-rule",
    "name": "Angle rule",
    "algorithm": "hand-written rule",
    "source": AGENT,
    "meta-team": "A",
}


@pytest.fixture(scope="module")
def site(whole_site):
    return whole_site


def fill(page, **fields):
    for name, value in (GOOD | fields).items():
        page.locator(f"[id='pr-submit-{name}']").fill(value)


def check(page):
    page.get_by_role("button", name="Check it, and go on to GitHub").click()


def fault(page, field):
    return page.locator(f"[id='pr-submit-{field}-fault']")


def manifest(page) -> str:
    return page.locator("#pr-submit pre").last.text_content()


def test_it_opens_githubs_page_with_the_agent_filled_in(visit):
    page = visit("submit/")
    fill(page)
    check(page)
    asked = urlsplit(page.locator("#pr-open-first").get_attribute("href"))

    assert asked._replace(query="").geturl() == "https://github.com/example/board/new/main"
    assert parse_qs(asked.query) == {"filename": ["submissions/alice/angle-rule/agent.py"], "value": [AGENT]}


def test_the_manifest_goes_to_the_fork_that_github_made(visit):
    page = visit("submit/")
    fill(page)
    check(page)
    page.get_by_label("The branch").first.fill("patch-7")
    asked = urlsplit(page.get_by_role("link", name="Open GitHub’s page for submission.yml").get_attribute("href"))
    request = page.get_by_role("link", name="Open the pull request").first.get_attribute("href")

    assert asked.path == "/alice/board/new/patch-7"
    assert parse_qs(asked.query)["filename"] == ["submissions/alice/angle-rule/submission.yml"]
    assert parse_submission(parse_qs(asked.query)["value"][0].encode()).name == "Angle rule"
    assert request.startswith("https://github.com/example/board/compare/main...alice:patch-7?quick_pull=1")


def test_what_is_wrong_is_said_in_the_words_of_check(visit):
    page = visit("submit/")
    fill(page, login="-alice", agent="Angle", name=" x", algorithm="y" * 61, source="def act(:\n", **{"meta-team": ""})
    check(page)

    expect(fault(page, "login")).to_have_text(
        "must be a GitHub login: letters, digits, inner hyphens and '_', at most 39 characters"
    )
    expect(fault(page, "agent")).to_have_text(
        "must be 1 to 40 lower-case letters, digits, '.', '_' or '-', not ending in .json, .html, .md, .svg or .xml, "
        "and no device's name in Windows"
    )
    expect(fault(page, "name")).to_have_text("must not be empty or begin or end with a space")
    expect(fault(page, "algorithm")).to_contain_text("at most 60")
    expect(fault(page, "source")).to_contain_text("agent.py:1: '(' was never closed; correct the syntax")
    expect(fault(page, "source")).to_contain_text(
        "defines no class Agent; write 'class Agent' with a method act(self, observation)"
    )
    expect(fault(page, "meta-team")).to_have_text("must be answered")
    expect(page.locator("#pr-submit-login")).to_be_focused()
    assert page.locator("#pr-open-first").count() == 0
    fill(page)
    expect(fault(page, "login")).to_have_text("")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("class Agent:\n    pass\n", "agent.py:1: class Agent has no method act(self, observation); write it"),
        ("class Agent:\n    def act(self, o):\n        return ']'\n", ""),
        ("# class Agent\n", "defines no class Agent"),
        ("from mine import Agent\n", ""),
        ('"""open\nclass Agent:\n    def act(self, o): ...\n', "agent.py:1: a text begins here and does not end"),
        ("class Agent:\n    def act(self, o):\n        return (1]\n", "agent.py:3: unmatched ']'"),
        ("class Agent:\n \tdef act(self, o): ...\n", "agent.py:2: indents with tabs and spaces"),
        ("class Agent:\n    def act_batch(self, o):\n        return f'{o[\"a\"]}'\n", ""),
        ("", "agent.py: the entry file does not exist"),
    ],
)
def test_python_is_looked_at_roughly(visit, source, words):
    page = visit("submit/")
    fill(page, source=source)
    check(page)

    expect(fault(page, "source")).to_contain_text(words) if words else expect(fault(page, "source")).to_have_text("")


@pytest.mark.parametrize(
    "name",
    [
        "true",
        "null",
        "12",
        "a: b",
        "# x",
        "- x",
        "'q\"",
        "Ünï ✓ 🚀",
        "{{ x }}",
        "!!python/object",
        "&a",
        "yes",
        "مرحبا",
        "<b>x</b>",
        "@x",
        "1e3",
        "%x",
    ],
)
def test_whatever_is_typed_is_read_back_as_it_was(visit, name):
    page = visit("submit/")
    fill(page, name=name, algorithm=name, **{"meta-team": name})
    page.locator("details.pr-more summary").first.click()
    page.locator("#pr-submit-description").fill(f"{name}\n\nsecond: line")
    page.locator("#pr-submit-authors").fill("An Author, @bob")
    check(page)
    read = parse_submission(manifest(page).encode())

    assert (read.name, read.algorithm, read.meta["team"]) == (name, name, name)
    assert read.description == f"{name}\n\nsecond: line"
    assert read.authors == ("An Author", "@bob")


def test_the_beginning_that_it_offers_passes(visit):
    page = visit("submit/")
    fill(page)
    page.get_by_role("button", name="Start from a working agent").click()
    expect(page.locator("#pr-submit-source")).to_have_value(re.compile("acts at random"))
    check(page)
    blobs = tuple(
        SubmissionFile(path=name, executable=False, content=text.encode())
        for name, text in zip(
            ("agent.py", "submission.yml"), page.locator("#pr-submit pre").all_text_contents(), strict=True
        )
    )

    assert assemble(blobs, SubmissionLimits()).submission.tasks == "all"


@pytest.mark.parametrize(("start", "template"), [("agent.py", "policy-any"), ("submission.py", "script")])
def test_downloads_are_what_the_command_writes(start, template):
    assert (ROOT / "site/assets/start" / start).read_text() == (ROOT / "scripts/templates" / template / start).read_text()


def test_tasks_are_chosen_one_by_one(visit):
    page = visit("submit/")
    fill(page)
    page.get_by_label("all that fit its kind").uncheck()
    check(page)
    expect(fault(page, "tasks")).to_have_text("'tasks' is an empty list; name a task or write 'all'")
    page.get_by_label("CartPole").check()
    check(page)

    assert parse_submission(manifest(page).encode()).tasks == ("CartPole-v1",)


def test_an_image_needs_only_the_manifest(visit):
    page = visit("submit/")
    fill(page)
    page.get_by_label("Kind", exact=True).select_option("image")
    page.get_by_label("Image with its digest").fill("ghcr.io/alice/agent@sha256:" + "a" * 64)
    check(page)
    asked = urlsplit(page.locator("#pr-open-first").get_attribute("href"))

    assert parse_qs(asked.query)["filename"] == ["submissions/alice/angle-rule/submission.yml"]
    assert parse_submission(manifest(page).encode()).kind == "image"


def test_a_long_file_is_downloaded_and_uploaded(visit):
    page = visit("submit/")
    fill(page, source=AGENT + "# long\n" * 2000)
    check(page)
    assert page.locator("#pr-open-first").count() == 0
    link = page.get_by_role("link", name="Open the upload page of your fork")
    expect(link).to_have_attribute("href", "https://github.com/alice/board/upload/main/submissions/alice/angle-rule")
    page.locator("details.pr-more summary").filter(has_text="agent.py").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download agent.py").click()

    assert Path(download.value.path()).read_text() == AGENT + "# long\n" * 2000


def test_a_file_can_be_chosen(visit, tmp_path):
    (tmp_path / "mine.py").write_text(AGENT)
    page = visit("submit/")
    fill(page, source="")
    page.get_by_label("Choose a file").set_input_files(tmp_path / "mine.py")

    expect(page.locator("#pr-submit-source")).to_have_value(AGENT)


def test_without_javascript_the_way_by_hand_is_there(visit):
    page = visit("submit/", java_script_enabled=False)

    expect(page.get_by_text("The form needs JavaScript.")).to_be_visible()
    expect(page.get_by_role("heading", name="The folder")).to_be_visible()


def test_it_fits_a_phone(visit):
    page = visit("submit/", viewport={"width": 360, "height": 800})
    fill(page)
    check(page)
    expect(page.locator("#pr-open-first")).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") == 360
