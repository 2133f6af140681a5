"""What a board shows at a moment: hidden boards, other names, and who is listed without a place."""

from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

from evaluator.model.moderation import Exclusion, Moderation, Verified
from evaluator.model.people import People
from evaluator.model.phase import Phase
from evaluator.model.submission import Submission
from leaderboard.anonymity import Shown, as_shown, called
from leaderboard.board import standings
from leaderboard.pages import PageContext, render
from leaderboard.whatif import Recorded, official_state
from tests.leaderboard.make import challenge, entry, result, task

BEFORE, AFTER = datetime(2026, 5, 31, 23, 59, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC)
UNTIL = "2026-06-01T00:00:00Z"
A, B = task("a"), task("b")


def secretive(login):
    submission = Submission(
        name=f"{login}-net", algorithm=f"{login}-search", authors=(login,), description=f"by {login}",
        url=f"https://{login}.example/", meta={"Affiliation": f"{login} lab"},
    )  # fmt: skip
    return replace(entry(login, agent=f"{login}-agent"), submission=submission)


def whole(rules, entries, moderation=None):
    results = tuple(
        result(one, [float(place), place + 1.0, place + 2.0], on=each, message="", log_tail=f"{one.login} says hello")
        for place, one in enumerate(entries)
        for each in (A, B)
    )
    return Shown(challenge=rules, entries=tuple(entries), results=results, duels=(), moderation=moderation or Moderation())


def board(shown):
    return standings(
        shown.challenge, shown.entries, shown.results, official=True, moderation=shown.moderation, duels=shown.duels
    )


def people(**fields):
    return challenge(A, B).model_copy(update={"people": People(**fields)})


def test_no_page_names_anybody_before_the_date_and_every_page_does_after() -> None:
    names = ("ann", "bobby")
    season = whole(people(anonymous_until=UNTIL), [secretive(name) for name in names])
    context = PageContext(generated_at="now", repository="https://github.com/o/b")

    before = render(board(as_shown(season, BEFORE)), context)
    after = render(board(as_shown(season, AFTER)), context)

    text = "\n".join([*before, *before.values()]).lower()
    assert [name for name in (*names, "github.com/o/b/tree", "github.com/o/b/blob") if name in text] == []
    assert "entry" in before["tasks/a.md"].lower()
    assert all(name in after["tasks/a.md"] for name in names)


def test_other_names_change_no_place_and_stay_the_same_on_every_task() -> None:
    season = whole(people(anonymous_until=UNTIL), [secretive(name) for name in ("ann", "bobby", "cy")])

    masked, plain = board(as_shown(season, BEFORE)), board(as_shown(season, AFTER))

    for one, other in zip(masked.tasks, plain.tasks, strict=True):
        assert [(r.place, r.estimate) for r in one.rows] == [(r.place, r.estimate) for r in other.rows]
    assert len({tuple(r.entry.login for r in task_board.rows) for task_board in masked.tasks}) == 1


def test_who_is_excluded_stays_excluded_under_another_name() -> None:
    out = Exclusion(login="ann", since="2026-01-01", who="host", why="ann copied", link="https://x.example/")
    season = whole(people(anonymous_until=UNTIL), [secretive("ann"), secretive("bobby")], Moderation(exclusions=(out,)))

    found = board(as_shown(season, BEFORE)).tasks[0]

    assert len(found.rows) == len(found.excluded) == 1
    assert "ann" not in str(found.excluded)


def test_hosts_and_baselines_keep_their_names() -> None:
    rules = people(anonymous_until=UNTIL, hosts=("hosty",)).model_copy(update={"baselines": ("basey/agent",)})

    assert called(rules, "hosty/x", BEFORE) == "hosty/x"
    assert called(rules, "basey/agent", BEFORE) == "basey/agent"
    assert called(rules, "ann/x", BEFORE).startswith("Entry ")
    assert called(rules, "ann/x", AFTER) == "ann/x"


def test_a_hidden_board_has_a_page_without_scores_and_no_part_in_the_overall_board() -> None:
    phase = Phase(id="final", name="Final", tasks=("b",), public_from=UNTIL)
    season = whole(challenge(A, B).model_copy(update={"phases": (phase,)}), [secretive("ann")])

    shown = as_shown(season, BEFORE)
    pages = render(board(shown), PageContext(generated_at="now", hidden=(B,), now=BEFORE))

    assert [one.task.id for one in board(shown).tasks] == ["a"]
    assert list(board(shown).overall[0].normalised) == ["a"]
    assert "hidden until 2026-06-01 00:00 UTC" in unescape(pages["tasks/b.md"])
    assert "ann" not in pages["tasks/b.md"]
    assert [one.task.id for one in board(as_shown(season, AFTER)).tasks] == ["a", "b"]


def test_a_comment_tells_no_official_score_of_a_hidden_board() -> None:
    phase = Phase(id="final", name="Final", tasks=("b",), public_from=UNTIL)
    rules = challenge(A, B).model_copy(update={"phases": (phase,)})
    season = whole(rules, [secretive("ann"), secretive("bobby")])

    def told(at):
        state = official_state(
            Recorded(challenge=rules, entries=season.entries, results=season.results, at=at), [("ann", "ann-agent")], None
        )
        return [row.task.id for agent in state.agents for row in agent.rows]

    assert told(BEFORE) == ["a"]
    assert told(AFTER) == ["a", "b"]


def test_a_comment_names_no_leader_before_the_date() -> None:
    rules = people(anonymous_until=UNTIL)
    season = whole(rules, [secretive("ann"), secretive("bobby")])

    def leader(at):
        recorded = Recorded(challenge=rules, entries=season.entries, results=season.results, at=at)
        return official_state(recorded, [("ann", "ann-agent")], None).agents[0].rows[0].leader_name

    assert leader(AFTER) == "bobby/bobby-agent"
    assert leader(BEFORE) == called(rules, "bobby/bobby-agent", BEFORE) != "bobby/bobby-agent"


def test_hosts_and_baselines_take_no_place_from_others() -> None:
    entries = [secretive("ann"), replace(secretive("base"), baseline=True), secretive("cy"), secretive("hosty")]

    found = board(as_shown(whole(people(hosts=("hosty",)), entries), AFTER))

    rows = {row.entry.login: row for row in found.tasks[0].rows}
    assert [row.entry.login for row in found.tasks[0].rows] == ["hosty", "cy", "base", "ann"]
    assert {login: row.place for login, row in rows.items()} == {"hosty": 1, "cy": 1, "base": 2, "ann": 2}
    assert rows["ann"].rank_high <= 2
    assert rows["cy"].with_leader
    assert not rows["hosty"].with_leader
    assert {row.entry.login: row.place for row in found.overall if not row.entry.is_aside} == {"cy": 1, "ann": 2}
    assert found.tasks[0].best.entry.login == "cy"


def test_pages_mark_hosts_and_whom_the_host_verified() -> None:
    vouched = Verified(login="Ann", since="2026-05-01", who="boss", why="retrained it")
    shown = as_shown(
        whole(people(hosts=("hosty",)), [secretive("ann"), secretive("hosty")], Moderation(verified=(vouched,))), AFTER
    )

    pages = render(board(shown), PageContext(generated_at="now"))

    assert pages["tasks/a.md"].count("verified by the host") == 1
    assert '<span class="pr-tag">host</span>' in pages["tasks/a.md"]
    assert "retrained it" in pages["agents/ann/ann-agent.md"]


def test_home_lists_phases_prizes_and_sponsors() -> None:
    rules = people(prizes=[{"place": "1st", "what": "a laptop"}], sponsors=[{"name": "Lab", "url": "https://lab.example/"}])
    phases = (Phase(id="one", name="Warm-up", tasks=("a",), end=UNTIL, teams=("lab/rl",)),)
    season = whole(rules.model_copy(update={"phases": phases}), [])

    home = render(board(as_shown(season, AFTER)), PageContext(generated_at="now", now=AFTER))["index.md"]

    assert [
        words for words in ("a laptop", "https://lab.example/", "Warm-up", "ended", "lab/rl") if words not in unescape(home)
    ] == []
