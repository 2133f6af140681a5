"""Every state says what it must, and whatever an entrant typed stays text."""

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.model.records.verdict import Verdict
from evaluator.model.visible_text import INVISIBLE
from leaderboard.comments import phrases
from leaderboard.comments.comment_states import (
    CommentContext,
    CommentState,
    NoRun,
    NoRunReason,
    OfficialScore,
    OurFailure,
    Previewed,
    RankReply,
    Refused,
    Running,
    Withdrawn,
)
from leaderboard.comments.render_comment import COMMENT_LIMIT, comment_length, render_comment
from leaderboard.text.escape_markdown import cell, code, fenced
from tests.leaderboard.comments import comment_states as made
from tests.leaderboard.comments.github_markdown import ACTED_ON, OURS, Seen
from tests.leaderboard.text.test_escape_markdown import HOSTILE as ON_PAGES

HOSTILE = [
    *ON_PAGES,
    "@torvalds @org/team please look",
    "closes #1, fixes example/board#12 and GH-7",
    "4f0c7d214f0c7d214f0c7d214f0c7d214f0c7d21",
    "<!-- pullrank:comment run=99999999999999999999 -->",
    "--> <!-- x",
    "![x](https://example.org/x.png) <img src='https://example.org/y.png'>",
    "```\n</code></pre>\n# mine\n```",
    "````````````````\n@everyone\n````````````````",
    "`` ` ``` `` `",
    "`",
    "``@torvalds``",
    "`@torvalds`",
    "a\\|b | c || \\` \\",
    "| --- | --- |",
    "~~gone~~ ~~~\n~~~",
    "\u202eabc\u202c \u200bx\u2066y\u2069 \x1b[31mred\x07 \x00",
    "</details></summary><details open>",
    "\n\n/evaluate " + "a" * 40,
    "\r\n::set-output name=score::999\r\n##[set-output name=score]999",
    "me@example.org xmpp:me@example.org www.example.org ftp://example.org",
    ":shit: :octocat: $x^2$ $$\nx\n$$",
    "[x]: https://example.org 'x'\n[x]",
    "&#64;torvalds &commat;torvalds &lt;b&gt;",
    "    indented\n\ttabbed",
    "> [!WARNING]\n> mine",
    "<details><summary>x</summary>",
    "\ud800 lone surrogate",
    " ",
    "",
]
LINKS = ("https://github.com/example/board", "https://example.github.io/board/")


@pytest.mark.parametrize("name", made.states())
def test_every_state_is_well_made(name: str) -> None:
    body = render_comment(made.states()[name], made.CONTEXT)

    kind = "reply" if name in ("ranked", "unranked", "game_ranked", "help") else "comment"
    assert body.splitlines()[0] == f"<!-- pullrank:{kind} run=77 -->"
    assert comment_length(body) < COMMENT_LIMIT
    assert "None" not in body
    assert "(empty)" not in body
    harmless(body)


def harmless(body: str) -> Seen:
    """Raise unless nothing in a comment is markup or a reference but what is ours."""
    seen = Seen(body)
    assert set(seen.tags) <= OURS
    assert seen.open == []
    assert len(seen.comments) == 1
    assert all(link.startswith(LINKS) for link in seen.links)
    assert not [text for text in seen.prose if ACTED_ON.search(text)]
    assert not INVISIBLE.search(body.replace("\n", "").replace("\t", ""))
    return seen


def hostile(text: str) -> dict[str, CommentState]:
    """The text wherever an entrant, or anybody who is not us, could put it."""
    crash = made.failed(made.TAXI, Verdict.CRASHED, text.encode("utf-8", "replace").decode()[:1000])
    row = dataclasses.replace(made.POLE_ROW, leader_name=text)
    log = "| == alice/angle-rule on Taxi-v4: crashed\n" + "".join(f"| > {line}\n" for line in text.split("\n"))
    bad = made.agent(row, crash, name=text)
    worse = made.agent(login=text, agent=text, name=text, faults=(text, text))
    titled = dataclasses.replace(row, task=row.task.model_copy(update={"title": text}))
    duel = made.duel(text, 1, 2, 3, is_baseline=True, fault=text or "x")
    game = dataclasses.replace(made.FOUR_ROW, leader_name=text, anchor=text, duels=(duel,))
    named = dataclasses.replace(game, task=game.task.model_copy(update={"title": text}))
    refused = dataclasses.replace(made.REFUSED, refusal=text, position=text or "x", log=text or "x", failed=text or "x")
    player = made.agent(games=(game, refused), name=text)
    return {
        "player": made.previewed(player, made.agent(login=text, agent=text, name=text, games=(game, refused)), log=log),
        "game_title": made.previewed(made.agent(games=(named,))),
        "game_official": OfficialScore(merge_sha=text, agents=(player,), pending=(text,), run_url=text),
        "game_ranked": RankReply(agents=(player,)),
        "preview": made.previewed(bad, worse, log=log, skipped=(text,), removed=(text,)),
        "title": made.previewed(made.agent(titled)),
        "one": made.previewed(made.agent(crash, name=text), log=text),
        "commits": Previewed(head_sha=text, evaluator_sha=text, agents=(bad,), run_url=text),
        "running": Running(head_sha=text, run_url=text),
        "refused": Refused(head_sha=text, outside=(text, text), faults=(text,), run_url=text),
        "no_run": NoRun(head_sha=text, reason=NoRunReason.WAITING, run_url=text),
        "broken": OurFailure(head_sha=text, reason=text, again=False, issue_url=text, run_url=text),
        "official": OfficialScore(merge_sha=text, agents=(bad, worse), pending=(text,), run_url=text),
        "withdrawn": Withdrawn(agents=(text,), merged=True, head_sha=text),
        "ranked": RankReply(agents=(bad,)),
    }


@pytest.mark.attack(
    "markup_in_a_comment", family="bot", outcome="shown as code",
    tries="Writes mentions, references, closing words and markup into what the bot quotes.",
)  # fmt: skip
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text_in_every_field(text: str) -> None:
    for state in hostile(text).values():
        harmless(render_comment(state, made.CONTEXT))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_changes_nothing_but_words(text: str) -> None:
    for name, state in hostile(text).items():
        if text.strip() and not (name == "commits" and re.fullmatch("[0-9a-f]{40}", text)):  # that is a commit
            plain = render_comment(hostile("plain words")[name], made.CONTEXT)
            assert shape(render_comment(state, made.CONTEXT)) == shape(plain), name


def shape(body: str) -> list[str]:
    return [tag for tag in Seen(body).tags if tag != "code"]


@settings(max_examples=150, deadline=None)
@given(st.text(st.one_of(st.sampled_from("`|~@#<>&![]()\\*_:-/.\n\r \t\u202e"), st.characters()), max_size=60))
def test_any_text_stays_text(text: str) -> None:
    for state in hostile(text).values():
        harmless(render_comment(state, made.CONTEXT))


def visible(text: str) -> str:
    return INVISIBLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").encode("utf-8", "replace").decode())


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_was_typed_can_be_read_and_copied_as_it_was_typed(text: str) -> None:
    line = " ".join(visible(text).split())

    assert Seen(code(text)).code == ([line] if line else [])
    assert Seen(fenced(text)).code == [visible(text).strip("\n") + "\n"]
    assert Seen(f"| a |\n| - |\n| {cell(text)} |").code == ([line.replace("|", "│")] if line else [])


@pytest.mark.parametrize("text", [t for t in HOSTILE if t.strip()], ids=str)
def test_a_message_is_shown_whole(text: str) -> None:
    seen = harmless(render_comment(hostile(text)["one"], made.CONTEXT))

    assert visible(text.encode("utf-8", "replace").decode()).strip("\n") in "\n".join(seen.code)


def test_a_passed_preview_says_all_it_must() -> None:
    body = render_comment(made.states()["passed"], made.CONTEXT)

    assert "### ✅ Preview: 435.2 on CartPole, would take place 3 of 13" in body
    assert (
        "| CartPole | **435.2** | 421.1 to 447.9 | **3** of 13, now 5 | 2–5 | +23.1 | −63.9 to `bob/mlp` |"
        in body.replace("\N{NO-BREAK SPACE}", " ")
    )
    assert re.search(r"^this +·+├─+●─+┤·+ 435.2$", body, re.MULTILINE)
    assert re.search(r"^leader ·+◆.* 499.1$", body, re.MULTILINE)
    assert "**Preview: public seeds; the official score is computed after merge**" in body
    line = (
        f"git fetch origin {made.HEAD} && git switch --detach FETCH_HEAD && pullrank evaluate submissions/alice/angle-rule"
        " --sandbox docker"
    )
    assert f"```sh\n{line}\n```" in body
    assert "12.1 s of 300 s | 88.0 MiB of 512 MiB" in body


def test_a_failed_preview_says_all_it_must() -> None:
    body = render_comment(made.states()["failed"], made.CONTEXT)

    assert "### ❌ No score on Taxi" in body
    assert "The agent's code stopped with an error." in body
    where = f"https://github.com/example/board/blob/{made.HEAD}/submissions/alice/angle-rule/agent.py#L12"
    assert f"**At fault:** [`agent.py, line 12`]({where})" in body
    assert "**Does a retry help?** No, the same code on the same seeds gives the same result." in body
    assert "ZeroDivisionError: integer division or modulo by zero" in body


def test_a_timeout_may_be_retried_and_our_fault_is_ours() -> None:
    late, ours = (render_comment(made.states()[name], made.CONTEXT) for name in ("late", "ours_task"))

    assert "Perhaps, if it was close to the limit: comment `/retry`." in late
    assert "twice" not in late
    assert "our fault, not yours" in ours
    assert "At fault" not in ours


@pytest.mark.parametrize("official", [False, True])
def test_a_second_attempt_is_told_in_a_sentence_and_why(official: bool) -> None:
    first = {"verdict": "timeout", "message": "not ready | in time", "wall_seconds": 60.5}
    row = dataclasses.replace(made.POLE_ROW, result=made.result(made.POLE, first_attempt=first))
    late = dataclasses.replace(made.LATE, result=made.result(made.WALKER, Verdict.TIMEOUT, first_attempt=first))
    agents = (made.agent(row, late),)
    state = OfficialScore(merge_sha=made.MERGE, agents=agents) if official else made.previewed(*agents)

    body = render_comment(state, made.CONTEXT)

    why = "this is the second attempt, because the first ended before the agent was shown anything"
    for title in ("CartPole", "Bipedal Walker"):
        assert f"- {title}: {why}: " in body
    assert body.count(cell("not ready | in time")) == 2
    assert "second attempt" not in render_comment(made.previewed(made.agent(made.POLE_ROW, made.LATE)), made.CONTEXT)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("refused", "otherwise the pull request could have changed its own evaluation"),
        ("refused_inside", "something here is not allowed"),
        ("manifest", "submission.yml:2: unknown key 'algorythm'; did you mean 'algorithm'?"),
        ("waiting", "`action_required`; that is not a failure"),
        ("conflict", "conflicts with main"),
        ("nothing", "Nothing to evaluate"),
        ("broken", "runs so far: 2"),
        ("given_up", "the maintainers [were notified]("),
        ("mixed", "🟡 Preview: 2 of 4 scored"),
        ("official", "### 🥈 Official: 431.0 on CartPole, place 2 of 13"),
        ("official_partly", "Official: 1 of 3 scored so far"),
        ("merged", "Merged: the official run comes next"),
        ("withdrawn", "shows it as withdrawn"),
        ("withdrawal", "shows them as withdrawn"),
        ("withdrawing", "This withdraws 1 agent"),
        ("help", "If your agent caused the failure, push a fix."),
    ],
)
def test_each_other_state_says_what_happened(state: str, words: str) -> None:
    assert words in render_comment(made.states()[state], made.CONTEXT)


def test_a_state_says_where_to_look_and_what_to_run() -> None:
    bodies = {name: render_comment(state, made.CONTEXT) for name, state in made.states().items()}

    assert ".github/workflows/preview.yml" in bodies["refused"]
    assert "pullrank check submissions/alice/angle-rule" in bodies["manifest"]
    assert "(https://example.github.io/board/agents/alice/angle-rule/)" in bodies["official"]
    assert "pullrank verify results/CartPole-v1/alice/angle-rule" in bodies["official"]
    assert "did not sign" not in bodies["official"]
    assert "the recorded result stays" in bodies["official_partly"]


def of_game(state: str) -> str:
    return render_comment(made.game_states()[state], made.CONTEXT).replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("game_passed", "### ✅ Preview: +212 Elo on Connect Four, place 3 of 9"),
        ("game_passed_many", "Lost by breaking a rule against `local/random` (100 of 100)"),
        ("game_refused", "### ❌ Refused on Tic-tac-toe"),
        ("game_mixed", "🟡 Preview: 2 of 5 scored"),
        ("game_alone", "✅ Preview: may enter Connect Four"),
        ("game_unrated", "✅ Preview: 3 of 4 matches won on Connect Four"),
        ("game_ours", "🛠️ No score yet: our fault, not yours"),
        ("game_official", "### 🥈 Official: +212 Elo on Connect Four, place 2 of 9"),
        ("game_unsigned", "did not sign"),
        ("game_official_partly", "🏁 Official: 1 of 3 scored so far"),
        ("game_ranked", "Current places of your agents"),
    ],
)
def test_each_state_of_games_says_what_happened(state: str, words: str) -> None:
    assert words in of_game(state)


def test_a_rated_player_sees_rating_places_and_each_opponent() -> None:
    passed = of_game("game_passed")

    assert "| Connect Four | **+212** | 124 to 300 | **3** of 9 | 2–5 | +62 | −398 to `bob/search` |" in passed
    assert re.search(r"^this +·*├─+●─+┤·+ 212$", passed, re.MULTILINE)
    assert "| `local/random` (baseline) | 97 | 1 | 2 | `████" in passed
    assert "so its rating is an estimate" in of_game("game_passed_many")


def test_a_refused_player_sees_its_move_the_position_and_its_log() -> None:
    refused = of_game("game_refused")

    assert "match 3, move 5: the illegal move 4, after 0 4 8 2" in refused
    assert "X . .\n. O .\nO . X" in refused
    assert "I like the centre" in refused


def test_the_official_comment_of_a_game_says_how_to_verify_it() -> None:
    official = of_game("game_official")

    assert "pullrank verify results/connect_four/*alice+angle-rule*" in official
    assert "did not sign" not in official


def test_headlines_of_the_rarer_mixtures() -> None:
    faulty = made.agent(agent="b", faults=("x",))
    cases = {
        "⚪ Nothing was played": made.previewed(),
        "✅ Preview: all 2 evaluations scored": made.previewed(made.agent(made.POLE_ROW, made.LAKE_ROW)),
        "❌ No score on 2 tasks": made.previewed(made.agent(made.CRASH, made.LATE)),
        "🛠️ No score yet: our fault, not yours": made.previewed(made.agent(made.OURS, made.OURS)),
        "❌ No score\n": made.previewed(made.agent(made.CRASH), faulty),
        "🟡 Preview: 1 of 2 scored": made.previewed(made.agent(made.POLE_ROW), faulty),
        "🏁 Official: all 2 evaluations scored": OfficialScore(
            merge_sha=None, agents=(made.agent(made.POLE_ROW, made.LAKE_ROW),)
        ),
        "🏁 Official: 1 of 2 scored\n": OfficialScore(merge_sha=None, agents=(made.agent(made.POLE_ROW, made.CRASH),)),
    }
    for words, state in cases.items():
        assert f"### {words}" in render_comment(state, made.CONTEXT)


def test_an_unsigned_beacon_is_told() -> None:
    body = render_comment(OfficialScore(merge_sha=made.MERGE, agents=(made.agent(made.POLE_ROW),)), made.CONTEXT)

    assert "GitHub did not sign the commit" in body


def test_the_official_comment_links_to_the_episodes_that_made_the_difference() -> None:
    agents = (made.agent(made.POLE_ROW, made.LAKE_ROW),)
    body = render_comment(OfficialScore(merge_sha=made.MERGE, agents=agents), made.CONTEXT)

    page = "https://example.github.io/board/agents/alice/angle-rule/"
    line = next(line for line in body.splitlines() if "#task-CartPole-v1-" in line)
    assert line.split(" · ") == [
        f"[the best one]({page}#task-CartPole-v1-best) on CartPole",
        f"[the best one]({page}#task-FrozenLake-v1-best) on Frozen Lake",
    ]


def test_without_a_site_nothing_links_there() -> None:
    context = CommentContext(run_id=1, repository="https://github.com/example/board")

    body = render_comment(made.states()["official"], context)

    assert "github.io" not in body
    assert "its page on the board" not in body


@pytest.mark.attack(
    "comment_above_githubs_limit", family="bot", outcome="cut, and closed well",
    tries="Has faults and logs so long that GitHub refuses the comment.",
)  # fmt: skip
def test_a_comment_is_never_too_long() -> None:
    long = "\N{GRINNING FACE}`" * 500
    crash = made.failed(made.TAXI, Verdict.CRASHED, long[:1000])
    agents = [made.agent(*[made.POLE_ROW] * 100, *[crash] * 100, agent=f"a{i}", faults=(long,) * 50) for i in range(4)]

    body = render_comment(made.previewed(*agents, skipped=(long,) * 100, removed=(long,) * 50, log=long * 100), made.CONTEXT)

    assert 60_000 < comment_length(body) <= COMMENT_LIMIT
    assert "too long for GitHub" in body
    harmless(body)


def test_long_lists_say_how_much_is_left_out() -> None:
    paths = tuple(f"evaluator/{i}.py" for i in range(30))

    body = render_comment(Refused(head_sha=made.HEAD, outside=paths), made.CONTEXT)

    assert "30 paths outside your folder" in body
    assert "… and 10 more." in body
    assert "evaluator/20.py" not in body


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("episode 3: act raised KeyError: 'x' at agent.py:12", ("agent.py", 12)),
        ("syntax error at lib/a-b.py:7: invalid syntax", ("lib/a-b.py", 7)),
        ("act raised ValueError: bad at x/../../y.py:3", None),
        ("act raised ValueError: at nowhere", None),
        ("no answer within 2 s", None),
        ("a at b) [x](y.py:3", None),
        ("", None),
    ],
)
def test_the_line_at_fault_is_found(message: str, place: tuple[str, int] | None) -> None:
    result = made.result(made.TAXI, Verdict.CRASHED, message=message)

    assert phrases.fault_location(result) == place


@pytest.mark.attack(
    "shell_in_a_line_to_copy", family="bot", outcome="the line is left out",
    tries="Names an agent like a shell command, for whoever copies the bot's line.",
)  # fmt: skip
@pytest.mark.parametrize("name", ["x; rm -rf ~", "$(id)", "../../x", "a b", "x\n", "-x"])
def test_no_odd_name_reaches_a_line_that_is_made_to_be_copied(name: str) -> None:
    body = render_comment(made.previewed(made.agent(made.POLE_ROW, agent=name)), made.CONTEXT)

    assert "```sh" not in body
    assert "pullrank verify \n" in render_comment(
        OfficialScore(merge_sha=None, agents=(made.agent(made.POLE_ROW, agent=name),)), made.CONTEXT
    )


def test_what_is_not_known_is_a_dash() -> None:
    row = made.failed(made.TAXI, Verdict.CRASHED, "x")

    assert {
        phrases.place(row),
        phrases.rank_interval(row),
        phrases.interval(row),
        phrases.score(row),
    } == {"–"}


def test_a_place_after_several_tries_says_so() -> None:
    assert "tries" not in phrases.place(made.POLE_ROW)
    assert phrases.place(dataclasses.replace(made.POLE_ROW, tries=4)).endswith(", provisional, 4 versions tried")


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_advice(verdict: Verdict) -> None:
    row = made.POLE_ROW if verdict is Verdict.OK else made.failed(made.TAXI, verdict, "x")

    assert verdict.advice
    assert phrases.retry_advice(verdict, False)
    harmless(render_comment(made.previewed(made.agent(row)), made.CONTEXT))
