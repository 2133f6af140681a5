"""The submit form as somebody with only a browser uses it; what it writes is read by the evaluator's own parser."""

import re
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import expect

from evaluator.host.loading.manifest import manifest_of
from evaluator.host.loading.submission_folder import assemble
from evaluator.host.loading.yaml_loader import parse_submission
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.config.submission_limits import SubmissionLimits

ROOT = Path(__file__).parents[2]
# In place of GitHub's page, which opens in another tab.
UNOPENED = "window.open = (address) => { window.opened = address; return null; };"
AGENT = "class Agent:\n    def act(self, observation):\n        return 0\n"
# Lines are long, since Chromium takes long to type many into a field.
LONG = AGENT + 100 * f"# {'long ' * 20}\n"
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


@pytest.fixture
def form(visit):
    """Opens the page, where nothing leaves the site."""
    return lambda path="submit/", **options: visit(path, before=UNOPENED, **options)


def fill(page, **fields):
    for name, value in (GOOD | fields).items():
        page.locator(f"[id='pr-submit-{name}']").fill(value)


def check(page):
    page.get_by_role("button", name="Check it, and go on to GitHub").click()


def fault(page, field):
    return page.locator(f"[id='pr-submit-{field}-fault']")


def written(page) -> bytes:
    return page.locator("#pr-submit pre").text_content().encode()


def submission(page):
    """What the evaluator reads of the file that was written."""
    return manifest_of({"agent.py": written(page)}).parse()


def test_it_opens_githubs_page_with_the_agent_filled_in(form):
    page = form()
    fill(page)
    check(page)
    opened = page.evaluate("window.opened")
    asked = urlsplit(opened)
    header = "# /// pullrank\n# name: Angle rule\n# algorithm: hand-written rule\n# meta:\n#   team: A\n# ///\n\n"

    assert asked._replace(query="").geturl() == "https://github.com/example/board/new/main"
    assert parse_qs(asked.query) == {"filename": ["submissions/alice/angle-rule/agent.py"], "value": [header + AGENT]}
    assert page.locator("#pr-open-first").get_attribute("href") == opened


def test_a_boards_terms_are_linked_and_must_be_accepted(form):
    def with_terms(route):
        rules = route.fetch().json()
        route.fulfill(json=rules | {"terms": "site/pages/terms.md", "terms_url": "../terms/"})

    page = form("states/")
    page.route("**/submit/form.json", with_terms)
    page.goto(page.url.replace("states/", "submit/"))
    fill(page)
    check(page)

    expect(fault(page, "terms")).to_have_text("must be accepted to take part")
    link = page.get_by_role("link", name="site/pages/terms.md")
    assert link.evaluate("link => link.href") == page.url.split("submit/")[0] + "terms/"
    page.get_by_label("I accept the terms of this board").check()
    check(page)
    assert submission(page).terms is True


def test_the_folder_follows_the_name_until_somebody_types_one(form):
    page = form()
    folder = page.locator("#pr-submit-agent")
    names = {"Angle rule": "angle-rule", "Émile’s №1 – v2!": "emile-s-no1-v2", "مرحبا": "", "x" * 60: "x" * 40}
    for name, expected in names.items():
        page.locator("#pr-submit-name").fill(name)
        expect(folder).to_have_value(expected)
    folder.fill("mine")
    page.locator("#pr-submit-name").fill("Other")

    expect(folder).to_have_value("mine")


def test_a_form_that_was_checked_is_checked_again_once_after_the_last_key(form):
    page = form()
    fill(page, name="")
    check(page)
    expect(fault(page, "name")).to_contain_text("must not be empty")
    looks = page.evaluate("""() => {
      window.looks = 0;
      const encode = TextEncoder.prototype.encode;
      TextEncoder.prototype.encode = function (text) { window.looks += 1; return encode.call(this, text); };
      const name = document.querySelector("#pr-submit-name");
      for (let i = 0; i < 20; i += 1) {
        name.value += "n";
        name.dispatchEvent(new Event("input", { bubbles: true }));
      }
      return window.looks;
    }""")
    expect(fault(page, "name")).to_have_text("")

    assert looks == 0
    assert 0 < page.evaluate("window.looks") < 4


def test_a_header_in_the_code_is_not_written_twice(form):
    page = form()
    fill(page, source="# Mine.\n# /// pullrank\n# name: x\n# ///\n" + AGENT)
    check(page)

    expect(fault(page, "source")).to_have_text("agent.py:2: has a header already; remove it, since the form writes one")


@pytest.mark.parametrize(
    ("begins", "link", "tasks"),
    [("tasks/CartPole-v1/", "Submit to this task", ("CartPole-v1",)), ("", "Submit an agent", "all")],
)
def test_from_submit_to_githubs_last_button_takes_eight_actions(visit, begins, link, tasks):
    """Each press and each field counts. GitHub's own page is a stand-in: what follows there takes five."""
    actions = 0
    page = visit(begins)
    page.context.route(
        "https://github.com/**", lambda route: route.fulfill(body="<h1>GitHub</h1>", content_type="text/html")
    )
    page.get_by_role("link", name=link).first.click()
    actions += 1
    expect(page.locator("#pr-submit-source")).to_have_value(re.compile("acts at random"))
    page.get_by_label("Your GitHub login").fill("alice")
    actions += 1
    page.locator("[id='pr-submit-meta-team']").fill("A")  # this board asks for it; others do not
    with page.expect_popup() as popup:
        check(page)
    actions += 1
    asked = parse_qs(urlsplit(popup.value.url).query)
    popup.value.close()
    page.context.unroute_all()
    blob = SubmissionFile(path="agent.py", executable=False, content=asked["value"][0].encode())
    submission = assemble((blob,), SubmissionLimits()).submission
    at_github = page.locator(".pr-route li").all_text_contents()[1:]
    presses = sum(line.count("“") for line in at_github) + 1  # “Create pull request” is pressed twice

    assert asked["filename"] == ["submissions/alice/my-first-agent/agent.py"]
    assert (submission.name, submission.algorithm, submission.tasks) == ("My first agent", "random", tasks)
    assert actions + presses == 8


@pytest.mark.parametrize("path", ["submit/", "submit/?task=CartPole-v1"])
def test_a_changed_agent_is_not_called_random(form, path):
    page = form(path)
    expect(page.locator("#pr-submit-source")).to_have_value(re.compile("acts at random"))
    fill(page, algorithm="random")
    check(page)

    expect(fault(page, "algorithm")).to_have_text("still says random, but the code was changed; name its method")


@pytest.mark.parametrize("task", ["__proto__", "constructor", "'\"><b>", "nothing"])
def test_an_unknown_task_in_the_address_changes_nothing(form, task):
    page = form(f"submit/?task={quote(task)}")
    expect(page.locator("#pr-submit-all")).to_be_checked()

    assert page.locator("[data-task]:checked").count() == 0


def test_the_two_ways_are_tabs(form):
    page = form()
    browser, computer = page.get_by_role("tab").all()
    expect(page.locator("#pr-submit-login")).to_be_visible()
    browser.focus()
    page.keyboard.press("ArrowRight")
    expect(computer).to_be_focused()
    expect(computer).to_have_attribute("aria-selected", "true")
    expect(page.locator("#pr-submit-login")).to_be_hidden()
    expect(page.get_by_text("Fork the leaderboard")).to_be_visible()
    page.keyboard.press("Home")

    expect(page.locator("#pr-submit-login")).to_be_visible()


def test_an_address_opens_the_tab_that_it_names(form):
    page = form("submit/#on-my-computer")

    expect(page.get_by_role("tab", name="On my computer")).to_have_attribute("aria-selected", "true")


def test_what_is_wrong_is_said_in_the_words_of_check(form):
    page = form("submit/")
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
        ("class Agent:\n    def act(self, o)\n        return 0\n", "agent.py:2: expected ':' at the end of the line"),
        ("class Agent:\n    def act(\n        self, o\n    ):\n        return {1: 2}[1] if o else 0\n", ""),
        ("class Agent:\n    def act(self, o):\n        return “left”\n", "agent.py:3: invalid character '“' (U+201C)"),
        ("class Agent:\n    def act(self, o):\n        return\u00a00\n", "agent.py:3: invalid character '\u00a0' (U+00A0)"),
        ("class Agent:\n    def act(self, größe):\n        return '“'  # “\n", ""),
        ("class Agent:\n    def act_batch(self, o):\n        return f'{o[\"a\"]}'\n", ""),
        ("", "agent.py: the entry file does not exist"),
    ],
)
def test_python_is_looked_at_roughly(form, source, words):
    page = form("submit/")
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
def test_whatever_is_typed_is_read_back_as_it_was(form, name):
    page = form("submit/")
    fill(page, name=name, algorithm=name, **{"meta-team": name})
    page.locator("details.pr-more summary").first.click()
    page.locator("#pr-submit-description").fill(f"{name}\n\nsecond: line")
    page.locator("#pr-submit-authors").fill("An Author, @bob")
    check(page)
    read = submission(page)

    assert (read.name, read.algorithm, read.meta["team"]) == (name, name, name)
    assert read.description == f"{name}\n\nsecond: line"
    assert read.authors == ("An Author", "@bob")


def test_the_beginning_that_it_offers_passes(form):
    page = form("submit/")
    fill(page)
    source = page.locator("#pr-submit-source")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Start from a working agent").click()
    expect(source).to_have_value(AGENT)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Start from a working agent").click()
    expect(source).to_have_value(re.compile("acts at random"))
    check(page)
    blob = SubmissionFile(path="agent.py", executable=False, content=written(page))

    assert assemble((blob,), SubmissionLimits()).submission.tasks == "all"


@pytest.mark.parametrize(("start", "template"), [("agent.py", "policy-any"), ("submission.py", "script")])
def test_downloads_are_what_the_command_writes(start, template):
    assert (ROOT / "site/assets/start" / start).read_text() == (ROOT / "scripts/templates" / template / start).read_text()


def test_tasks_are_chosen_one_by_one(form):
    page = form("submit/")
    fill(page)
    page.get_by_label("all that fit its kind").uncheck()
    check(page)
    expect(fault(page, "tasks")).to_have_text("'tasks' is an empty list; name a task or write 'all'")
    page.get_by_label("CartPole").check()
    check(page)

    assert submission(page).tasks == ("CartPole-v1",)


def test_an_image_needs_only_the_manifest(form):
    page = form("submit/")
    fill(page)
    page.get_by_label("Kind", exact=True).select_option("image")
    page.get_by_label("Image with its digest").fill("ghcr.io/alice/agent@sha256:" + "a" * 64)
    check(page)
    asked = urlsplit(page.locator("#pr-open-first").get_attribute("href"))

    assert parse_qs(asked.query)["filename"] == ["submissions/alice/angle-rule/submission.yml"]
    assert parse_submission(written(page)).kind == "image"


def test_a_long_file_is_downloaded_and_uploaded(form):
    page = form("submit/")
    fill(page, source=LONG)
    check(page)
    assert page.locator("#pr-open-first").count() == 0
    link = page.get_by_role("link", name="Open the upload page of your fork")
    expect(link).to_have_attribute("href", "https://github.com/alice/board/upload/main/submissions/alice/angle-rule")
    page.locator("details.pr-more summary").filter(has_text="agent.py").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download agent.py").click()

    assert Path(download.value.path()).read_text().endswith("# ///\n\n" + LONG)
    assert page.evaluate("window.opened") is None


def test_a_file_can_be_chosen(form, tmp_path):
    (tmp_path / "mine.py").write_text(AGENT)
    page = form("submit/")
    fill(page, source="")
    page.get_by_label("Choose a file").set_input_files(tmp_path / "mine.py")

    expect(page.locator("#pr-submit-source")).to_have_value(AGENT)


def test_without_javascript_the_way_by_hand_is_there(form):
    page = form("submit/", java_script_enabled=False)

    expect(page.get_by_text("The form needs JavaScript.")).to_be_visible()
    expect(page.get_by_role("heading", name="The folder")).to_be_visible()


def test_it_fits_a_phone(form):
    page = form("submit/", viewport={"width": 360, "height": 800})
    fill(page)
    check(page)
    expect(page.locator("#pr-open-first")).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") == 360
