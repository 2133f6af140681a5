"""What a board shows at a moment: hidden boards, other names, and who is listed without a place."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

import pytest

from evaluator.model.config.moderation import Exclusion, Moderation, VerifiedEntry
from evaluator.model.config.people import People
from evaluator.model.config.phase import Phase
from evaluator.model.config.submission import Submission, SubmissionKind
from evaluator.model.config.training_script import ScriptRules
from evaluator.model.records.stored_record import FirstAttempt
from leaderboard.api.game_leaderboards import game_document
from leaderboard.build_standings import RecordedLeaderboard, build_standings
from leaderboard.comments import render_comment
from leaderboard.comments.comment_standings import official_report, official_state
from leaderboard.comments.comment_states import CommentContext, RankReply
from leaderboard.pages.agent import agent_page
from leaderboard.pages.render_pages import render_pages
from leaderboard.site_context import SiteContext, former_entries
from leaderboard.visibility import StandingsInput, anonymous_name, as_shown, with_host_flags
from tests.leaderboard.make import challenge, duel, entry, game, result, task

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
        result(
            one,
            [float(place), place + 1.0, place + 2.0],
            on=each,
            message="",
            log_tail=f"{one.login} says hello",
            first_attempt=first(one.login),
        )
        for place, one in enumerate(entries)
        for each in (A, B)
    )
    moderation = moderation or Moderation()
    flagged = with_host_flags(entries, rules, moderation)
    return StandingsInput(challenge=rules, entries=flagged, results=results, duels=(), moderation=moderation)


def first(words):
    return {"verdict": "internal_error", "message": f"no registry has {words}/image", "wall_seconds": 1}


def board(shown):
    return build_standings(
        shown.challenge, shown.entries, shown.results, official=True, moderation=shown.moderation, duels=shown.duels
    )


def all_pages(table, context):
    """Those that MkDocs makes, and those of agents."""
    return render_pages(table, context) | {
        path: page.content for path, page in agent_page.render_agent_pages(table, context)
    }


def people(**fields):
    return challenge(A, B).model_copy(update={"people": People(**fields)})


def test_no_page_names_anybody_before_the_date_and_every_page_does_after() -> None:
    names = ("ann", "bobby")
    season = whole(people(anonymous_until=UNTIL), [secretive(name) for name in names])
    context = SiteContext(generated_at="now", repository="https://github.com/o/b")

    before = all_pages(board(as_shown(season, BEFORE)), context)
    after = all_pages(board(as_shown(season, AFTER)), context)

    text = "\n".join([*before, *before.values()]).lower()
    assert [name for name in (*names, "github.com/o/b/tree", "github.com/o/b/blob") if name in text] == []
    assert "entry" in before["tasks/a.md"].lower()
    assert all(name in after["tasks/a.md"] for name in names)


@pytest.mark.attack(
    "anonymity_undone_by_a_page", family="people", outcome="neither commit nor image nor digest is there",
    tries="Looks on the pages of anonymous entries and their duels for commits and images, which say whose they are.",
)  # fmt: skip
def test_no_page_shows_a_commit_or_an_image_before_the_date() -> None:
    commit, image = 40 * "b", f"sha256:{64 * 'c'}"
    season = whole(people(anonymous_until=UNTIL), [secretive("ann"), secretive("bobby")])
    results = tuple(one.model_copy(update={"beacon": commit, "image_digest": image}) for one in season.results)
    solo = replace(season, results=results)
    games = season_of_games(lambda one: one.model_copy(update={"beacon": commit}))

    for told in (solo, games):
        context = SiteContext(generated_at="now")
        before, after = ("\n".join(all_pages(board(as_shown(told, at)), context).values()) for at in (BEFORE, AFTER))
        assert commit in after
        assert [word for word in (commit, commit[:12], image[7:]) if word in before] == []


@pytest.mark.attack(
    "key_of_an_anonymous_record", family="people", outcome="no key is there",
    tries="Reads the keys of records on the pages of anonymous entries that left: the files of that name lie below a login.",
)  # fmt: skip
@pytest.mark.parametrize("is_excluded", [False, True])
def test_no_page_of_who_left_shows_a_records_key_before_the_date(is_excluded: bool) -> None:
    ann, bobby = secretive("ann"), secretive("bobby")
    out = Exclusion(login="ann", since="2026-01-01", who="host", why="a copy", link="https://x.example/")
    season = whole(people(anonymous_until=UNTIL), [ann, bobby], Moderation(exclusions=(out,) if is_excluded else ()))
    season = replace(season, entries=season.entries[1:])

    def text(at: datetime) -> str:
        shown = as_shown(season, at)
        gone = former_entries(shown.entries, shown.results, shown.moderation, "1")
        context = SiteContext(generated_at="now", repository="https://github.com/o/b", former_entries=gone)
        return "\n".join(all_pages(board(shown), context).values())

    keys = [one.key[:12] for one in season.results if one.login == "ann"]
    assert [key for key in keys if key in text(BEFORE)] == []
    assert [key for key in keys if key in text(AFTER)] == keys


def test_other_names_of_commits_change_no_choice_of_draws() -> None:
    """Where a version came back to main, it has no place until it is drawn from every period there."""
    draws = ("1" * 40, "2" * 40)
    season = whole(people(anonymous_until=UNTIL), [secretive("ann"), secretive("bobby")])
    entries = tuple(replace(one, stay_beacons={"a": frozenset(draws)}) for one in season.entries)
    first = tuple(one.model_copy(update={"beacon": draws[0]}) for one in season.results)
    both = (*first, *(one.model_copy(update={"beacon": draws[1]}) for one in first if one.login == "ann"))

    boards = [board(as_shown(replace(season, entries=entries, results=both), at)).tasks[0] for at in (BEFORE, AFTER)]

    assert [(len(one.rows), len(one.waiting), len(one.rows[0].pooled_results)) for one in boards] == [(1, 1, 2), (1, 1, 2)]


@pytest.mark.attack(
    "words_of_an_anonymous_script", family="people", outcome="not shown until names are",
    tries="Has its script say its author's name as a request that was not granted, which an anonymous entry's page lists.",
)  # fmt: skip
def test_what_an_anonymous_script_says_is_not_shown_before_the_date() -> None:
    on = task("a", script=ScriptRules(steps=1000, last=10, worst=0, window=2))
    script = {"returns": [1.0] * 10, "lengths": [1] * 10, "counts_from": 0, "notices": ["I am ann"]}
    who = secretive("ann")
    scripted = replace(who, submission=who.submission.model_copy(update={"kind": SubmissionKind.SCRIPT}))
    season = whole(people(anonymous_until=UNTIL), [scripted])
    said = result(scripted, [1.0] * 10, on=on, script=script)
    season = replace(season, challenge=season.challenge.model_copy(update={"tasks": (on,)}), results=(said,))
    context = SiteContext(generated_at="now")

    before, after = ("\n".join(all_pages(board(as_shown(season, at)), context).values()) for at in (BEFORE, AFTER))

    assert "I&#32;am&#32;ann" in after
    assert "I&#32;am&#32;ann" not in before


def test_other_names_change_no_place_and_stay_the_same_on_every_task() -> None:
    season = whole(people(anonymous_until=UNTIL), [secretive(name) for name in ("ann", "bobby", "cy")])

    masked, plain = board(as_shown(season, BEFORE)), board(as_shown(season, AFTER))

    for one, other in zip(masked.tasks, plain.tasks, strict=True):
        assert [(r.place, r.estimate) for r in one.rows] == [(r.place, r.estimate) for r in other.rows]
    assert len({tuple(r.entry.login for r in task_board.rows) for task_board in masked.tasks}) == 1


@pytest.mark.attack(
    "folder_of_a_rivals_digits", family="people", outcome="an entry of its own, whatever becomes of the other",
    tries="Finds a folder's name whose hidden name has the same eight digits as a rival's, and has it excluded.",
)  # fmt: skip
@pytest.mark.parametrize("is_excluded", [False, True])
def test_whose_name_gives_a_rivals_digits_is_nobody_else(is_excluded: bool) -> None:
    """Eight digits are found in minutes. The two were one owner with two tries, and excluded together."""
    ann, eve = (replace(secretive(login), agent=agent) for login, agent in (("ann", "a24477"), ("eve", "e18915")))
    out = Exclusion(login="eve", since="2026-01-01", who="host", why="eve copied", link="https://x.example/")
    moderation = Moderation(exclusions=(out,) if is_excluded else ())
    season = whole(people(anonymous_until=UNTIL), [secretive("bobby"), eve, ann], moderation)
    assert len({anonymous_name(season.challenge, one.shown, BEFORE) for one in (ann, eve)}) == 1

    masked, plain = board(as_shown(season, BEFORE)).tasks[0], board(as_shown(season, AFTER)).tasks[0]

    assert [(row.place, row.tries, row.estimate) for row in masked.rows] == [
        (row.place, row.tries, row.estimate) for row in plain.rows
    ]
    assert len({row.entry.name for row in masked.rows}) == len(plain.rows)
    assert len(masked.excluded) == is_excluded


def test_who_is_excluded_stays_excluded_under_another_name() -> None:
    out = Exclusion(login="ann", since="2026-01-01", who="host", why="ann copied", link="https://x.example/")
    season = whole(people(anonymous_until=UNTIL), [secretive("ann"), secretive("bobby")], Moderation(exclusions=(out,)))

    standings = board(as_shown(season, BEFORE)).tasks[0]

    assert len(standings.rows) == len(standings.excluded) == 1
    assert "ann" not in str(standings.excluded)


@pytest.mark.attack(
    "exclusion_of_a_hidden_name_that_is_gone", family="people", outcome="stays excluded",
    tries="Withdraws, while names are hidden, what is excluded by its digest, to be listed as withdrawn, with its record.",
)  # fmt: skip
def test_who_is_excluded_by_a_digest_and_gone_stays_excluded() -> None:
    ann, bobby = secretive("ann"), secretive("bobby")
    out = Exclusion(
        login="ann", digest=ann.digest, since="2026-01-01", who="host", why="ann copied", link="https://x.example/"
    )
    season = whole(people(anonymous_until=UNTIL), [ann, bobby], Moderation(exclusions=(out,)))
    season = replace(season, entries=season.entries[1:])

    for at in (BEFORE, AFTER):
        standings = board(as_shown(season, at)).tasks[0]
        assert (len(standings.excluded), len(standings.withdrawn)) == (1, 0)
        assert ("ann" in str(standings.excluded)) == (at == AFTER)


def test_a_player_excluded_by_a_digest_and_gone_stays_listed() -> None:
    """Of a game alone there is no result that tells which digests an exclusion may be about."""
    season = season_of_games()
    ann = season.entries[0]
    out = Exclusion(
        login="ann", digest=ann.digest, since="2026-01-01", who="host", why="ann copied", link="https://x.example/"
    )
    season = replace(season, entries=season.entries[1:], moderation=Moderation(exclusions=(out,)))

    assert [len(board(as_shown(season, at)).games[0].excluded) for at in (BEFORE, AFTER)] == [1, 1]


def test_hosts_and_baselines_keep_their_names() -> None:
    rules = people(anonymous_until=UNTIL, hosts=("hosty",)).model_copy(update={"baselines": ("basey/agent",)})

    assert anonymous_name(rules, "hosty/x", BEFORE) == "hosty/x"
    assert anonymous_name(rules, "basey/agent", BEFORE) == "basey/agent"
    assert anonymous_name(rules, "ann/x", BEFORE).startswith("Entry ")
    assert anonymous_name(rules, "ann/x", AFTER) == "ann/x"


def test_a_hidden_board_has_a_page_without_scores_and_no_part_in_the_overall_board() -> None:
    phase = Phase(id="final", name="Final", tasks=("b",), public_from=UNTIL)
    season = whole(challenge(A, B).model_copy(update={"phases": (phase,)}), [secretive("ann")])

    shown = as_shown(season, BEFORE)
    pages = render_pages(board(shown), SiteContext(generated_at="now", hidden=(B,), now=BEFORE))

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
            RecordedLeaderboard(challenge=rules, entries=season.entries, results=season.results, at=at),
            [("ann", "ann-agent")],
            None,
        )
        return [row.task.id for agent in state.agents for row in agent.rows]

    assert told(BEFORE) == ["a"]
    assert told(AFTER) == ["a", "b"]


def test_a_comment_names_no_leader_before_the_date() -> None:
    rules = people(anonymous_until=UNTIL)
    season = whole(rules, [secretive("ann"), secretive("bobby")])

    def leader(at):
        recorded = RecordedLeaderboard(challenge=rules, entries=season.entries, results=season.results, at=at)
        return official_state(recorded, [("ann", "ann-agent")], None).agents[0].rows[0].leader_name

    assert leader(AFTER) == "bobby/bobby-agent"
    assert leader(BEFORE) == anonymous_name(rules, "bobby/bobby-agent", BEFORE) != "bobby/bobby-agent"


def test_hosts_and_baselines_take_no_place_from_others() -> None:
    entries = [secretive("ann"), replace(secretive("base"), baseline=True), secretive("cy"), secretive("hosty")]

    standings = board(as_shown(whole(people(hosts=("hosty",)), entries), AFTER))

    rows = {row.entry.login: row for row in standings.tasks[0].rows}
    assert [row.entry.login for row in standings.tasks[0].rows] == ["hosty", "cy", "base", "ann"]
    assert {login: row.place for login, row in rows.items()} == {"hosty": 1, "cy": 1, "base": 2, "ann": 2}
    assert rows["ann"].rank_high <= 2
    assert rows["cy"].with_leader
    assert not rows["hosty"].with_leader
    assert {row.entry.login: row.place for row in standings.overall if not row.entry.is_unranked} == {"cy": 1, "ann": 2}
    assert standings.tasks[0].best.entry.login == "cy"


def test_pages_mark_hosts_and_whom_the_host_verified() -> None:
    vouched = VerifiedEntry(login="Ann", since="2026-05-01", who="boss", why="retrained it")
    shown = as_shown(
        whole(people(hosts=("hosty",)), [secretive("ann"), secretive("hosty")], Moderation(verified=(vouched,))), AFTER
    )

    pages = all_pages(board(shown), SiteContext(generated_at="now"))

    assert pages["tasks/a.md"].count("verified by the host") == 2  # in the table, and where the leader is named
    assert '<span class="pr-tag">host</span>' in pages["tasks/a.md"]
    assert "retrained it" in pages["agents/ann/ann-agent/index.html"]


def test_home_lists_phases_prizes_and_sponsors() -> None:
    rules = people(prizes=[{"place": "1st", "what": "a laptop"}], sponsors=[{"name": "Lab", "url": "https://lab.example/"}])
    phases = (Phase(id="one", name="Warm-up", tasks=("a",), end=UNTIL, teams=("lab/rl",)),)
    season = whole(rules.model_copy(update={"phases": phases}), [])

    home = render_pages(board(as_shown(season, AFTER)), SiteContext(generated_at="now", now=AFTER))["index.md"]

    assert [
        words for words in ("a laptop", "https://lab.example/", "Warm-up", "ended", "lab/rl") if words not in unescape(home)
    ] == []


GAME = game("connect_four")
# The last one has nothing on the board, and an exclusion.
NAMES = ("ann", "bobby", "cyril", "dora", "emil", "fritz")


def telling(one):
    """The same duel with the players' names wherever something of theirs may stand."""
    words = " ".join(player.login for player in one.players)
    texts = {"message": f"{words} failed", "log_tail": f"{words} say hello"}
    numbers = [int("77001177" + "".join(str(ord(letter)) for letter in player.login)) for player in one.players]
    players = tuple(
        player.model_copy(update={**texts, "login_id": number}) for player, number in zip(one.players, numbers, strict=True)
    )
    matches = tuple(match.model_copy(update={"message": f"{words} went wrong"}) for match in one.matches)
    where = one.provenance.model_copy(update={"commit": "9b7e1d3f" * 5, "run_url": f"https://x.example/{words}"})
    started = FirstAttempt.model_validate(first(words))
    return one.model_copy(
        update={"players": players, "matches": matches, "provenance": where, "message": words, "first_attempt": started}
    )


def season_of_games(altered=telling, **fields):
    """Three rated players, one refused, one excluded, and a host's."""
    entries = [*map(secretive, NAMES[:-1]), secretive("hosty")]
    ann, bobby, cyril, dora, emil, hosty = entries
    duels = [duel(one, on=GAME) for one in (ann, bobby, cyril, emil, hosty)]
    duels += [duel(dora, outcomes="df", on=GAME, verdicts=("crashed", "crashed"))]
    duels += [duel(ann, bobby, "wwdlif", on=GAME), duel(bobby, cyril, "wldwlw", on=GAME), duel(cyril, ann, "wldb", on=GAME)]
    duels += [duel(hosty, one, "wldo", on=GAME) for one in (ann, bobby, cyril)]
    out = Exclusion(login="emil", since="2026-01-01", who="host", why="emil copied", link="https://x.example/emil")
    rules = challenge(GAME).model_copy(
        update={"people": People(anonymous_until=UNTIL, hosts=("hosty",)), "repository": "https://github.com/o/b", **fields}
    )
    return StandingsInput(
        challenge=rules, entries=tuple(entries), results=(), duels=tuple(map(altered, duels)),
        moderation=Moderation(exclusions=(out, out.model_copy(update={"login": "fritz"}))),
    )  # fmt: skip


def everything(shown):
    """All pages and addresses of a board of games, and its document."""
    table, context = board(shown), SiteContext(generated_at="now", repository="https://github.com/o/b", now=BEFORE)
    return all_pages(table, context), json.dumps([game_document(one) for one in table.games])


def test_no_page_duel_or_document_of_a_game_names_anybody_before_the_date() -> None:
    season = season_of_games()

    pages, document = everything(as_shown(season, BEFORE))
    named, _ = everything(as_shown(season, AFTER))

    text = "\n".join([*pages, *pages.values(), document])
    secrets = (*NAMES, "77001177", "9b7e1d3f", *(one.key for one in season.duels), "https://x.example")
    secrets += tuple(one.digest for one in season.entries if one.login != "hosty")
    assert [(word, path) for word in secrets for path in pages if word in (path + pages[path]).lower()] == []
    assert [word for word in secrets if word in text.lower()] == []
    assert "hosty" in text
    assert len([path for path in pages if "/duels/" in path]) == len([path for path in named if "/duels/" in path]) == 7


def test_other_names_change_nothing_of_a_games_ratings() -> None:
    season = season_of_games()

    (masked,), (plain,) = board(as_shown(season, BEFORE)).games, board(as_shown(season, AFTER)).games

    def numbers(standings):
        return sorted(
            (
                row.place,
                row.rank_low,
                row.rank_high,
                round(row.rating.elo - standings.rows[0].rating.elo, 6),
                row.count.points,
            )
            for row in standings.rows
        )

    assert len(masked.failures) == len(masked.excluded) == 1
    assert numbers(masked) == numbers(plain)


def test_an_anchor_that_is_no_baseline_keeps_its_name_and_no_other_does() -> None:
    anchored = GAME.model_copy(update={"anchor": "ann/ann-agent"})

    shown = board(as_shown(season_of_games(tasks=(anchored,)), BEFORE)).games[0]

    assert shown.anchor == "ann/ann-agent"
    assert [row.entry.login for row in shown.rows if row.entry.login in NAMES] == ["ann"]


def test_comments_on_games_name_no_opponent_before_the_date() -> None:
    season = season_of_games(altered=lambda one: one)

    def told(at):
        recorded = RecordedLeaderboard(
            challenge=season.challenge, entries=season.entries, results=(), duels=season.duels, at=at
        )
        own = official_report(recorded, "ann", "ann-agent")
        states = [official_state(recorded, [("ann", "ann-agent")], "a" * 40), RankReply(agents=(own,))]
        context = CommentContext(run_id=1, repository="https://github.com/o/b", site=None)
        return "\n".join(render_comment.render_comment(state, context) for state in states)

    assert "bobby" in told(AFTER)
    assert [name for name in ("bobby", "cyril") if name in told(BEFORE)] == []
    assert "Entry " in told(BEFORE)
