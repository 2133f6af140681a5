"""What the documents say: the numbers of the board and no others, in every order."""

import csv
import io
import json
from dataclasses import replace

import pytest

from evaluator.model.records.verdict import Verdict
from leaderboard.api.rank_json import standings_document
from leaderboard.build_standings import build_standings
from leaderboard.core.entry import Excluded
from leaderboard.core.standings import FinalDraws
from leaderboard.site_context import FormerEntry
from scripts.terminal.standings_tables import standings_tables
from tests.leaderboard import make
from tests.leaderboard.api.leaderboards import CONTEXT, SCRIPT, all_boards, departed, documents, scripts
from tests.leaderboard.pages import everything, game_samples, samples
from tests.leaderboard.pages.test_render_pages import words

BOARDS = all_boards()


def read(files, path):
    return json.loads(files[path])


@pytest.mark.parametrize("name", ["crowded", "games", "scripts", "tied", "failed"])
def test_every_number_is_the_one_that_rank_prints(name):
    board, context = BOARDS[name]
    printed, files = json.loads(json.dumps(standings_document(board))), documents(board, context)

    overall = read(files, "api/overall.json")["rows"]
    assert [{k: row[k] for k in line} for row, line in zip(overall, printed["overall"], strict=True)] == printed["overall"]
    for board_document in [*printed["tasks"], *printed["games"]]:
        folder = f"api/tasks/{board_document['task'].replace('/', '%2F')}"
        document, table = read(files, f"{folder}/leaderboard.json"), read(files, f"{folder}/table.json")
        lines = list(csv.DictReader(io.StringIO(files[f"{folder}/leaderboard.csv"].decode())))
        assert [
            {k: row[k] for k in own} for row, own in zip(document["rows"], board_document["rows"], strict=True)
        ] == board_document["rows"]
        for place, row in enumerate(board_document["rows"]):
            score = row["estimate"]["score"] if "estimate" in row else row["rating"]["elo"]
            shown = dict(zip(table["columns"], table["rows"][place], strict=True))
            assert (shown["place"], shown["login"], shown["score"]) == (row["place"], row["login"], score)
            assert float(lines[place]["score"]) == score
            agent = read(files, f"api/agents/{row['login']}/{row['agent']}.json")
            own = next(one for one in agent["tasks"] if one["task"] == board_document["task"])
            assert {name: own[name] for name in own if name in row} == {name: row[name] for name in row if name in own}
        assert len(lines) == len(table["rows"]) == len(board_document["rows"])


def test_other_orders_hold_the_same_rows():
    files = documents(samples.crowded())
    folder = "api/tasks/MountainCar-v0"

    by_place = read(files, f"{folder}/leaderboard.json")["rows"]
    for order in ("newest", "oldest"):
        other = read(files, f"{folder}/leaderboard-{order}.json")["rows"]
        dates = [row["evaluated_at"] for row in other]
        assert sorted(dates, reverse=order == "newest") == dates
        assert sorted(map(str, other)) == sorted(map(str, by_place))


def test_medals_go_to_the_first_three_places_whatever_the_sign_and_to_no_baseline():
    rows = read(documents(samples.crowded()), "api/tasks/MountainCar-v0/leaderboard.json")["rows"]

    assert [row["medal"] for row in rows] == ["gold", "silver", "bronze", None, None, None, None]
    assert rows[-1]["place"] is None


def test_those_who_share_a_place_share_its_medal():
    rows = read(documents(samples.tied()), "api/tasks/CartPole-v1/leaderboard.json")["rows"]

    assert [row["medal"] for row in rows] == ["gold", "gold", "gold", None]


def test_a_table_lists_everybody_without_a_place_with_the_reason():
    files = documents(scripts())

    table = read(files, "api/tasks/Script-v0/table.json")
    document = [dict(zip(table["columns"], row, strict=True)) for row in table["failures"]]
    assert [(one["agent"], one["verdict"], one["flags"], one["score"]) for one in document] == [
        ("claims", "crashed", ["self-reported"], 1e6),
        ("waits", "waiting", [], None),
        ("out", "excluded", ["excluded"], None),
        ("left", "withdrawn", ["withdrawn"], None),
    ]
    assert all(one["message"] for one in document)
    assert table["columns"].count("metric:Length") == 1
    assert table["leader"] == 0
    assert dict(zip(table["columns"], table["rows"][0], strict=True))["flags"] == ["verified"]


def test_a_table_describes_its_columns_for_the_page():
    files = documents(scripts())
    table = read(files, "api/tasks/Script-v0/table.json")
    heads = {head["id"]: head for head in table["heads"]}
    game = read(documents(game_samples.full()), "api/tasks/connect_four/table.json")

    usual = ["place", "agent", "score", "interval", "algorithm", "evaluated_at", "login"]
    further = ["metric:1", "episodes", "attempts", "cpu_seconds", "peak_memory_bytes", "kind", "sandbox"]
    assert list(heads) == [*usual, *further, "verdict", "message"]
    assert (heads["metric:1"]["label"], heads["metric:1"]["fields"]) == ("Length", ["metric:Length"])
    assert [name for name, head in heads.items() if head["shown"] == "with failures"] == ["verdict", "message"]
    assert dict(zip(table["columns"], table["rows"][0], strict=True))["sandbox"] == "docker"
    played = ["wins", "draws", "losses", "errors", "points", "opponents"]
    assert [head["id"] for head in game["heads"]] == [*usual, *played, "attempts", "verdict", "message"]
    for document in (table, game):
        assert {name for head in document["heads"] for name in head["fields"]} <= set(document["columns"])


def test_a_table_of_nobody_has_no_leader():
    files = documents(samples.empty())

    assert read(files, "api/tasks/CartPole-v1/table.json")["leader"] is None
    assert len(files["api/tasks/CartPole-v1/leaderboard.csv"].splitlines()) == 1


def test_a_task_with_a_slash_has_one_folder():
    files = documents(samples.crowded())
    document = {task["id"]: task for task in read(files, "api/tasks.json")}

    assert "api/tasks/ALE%2FPong-v5/leaderboard.json" in files
    assert document["ALE/Pong-v5"]["leaderboard"] == "api/tasks/ALE%252FPong-v5/leaderboard.json"


def test_an_agent_has_its_returns_its_circumstances_once_and_its_earlier_versions():
    files = documents(samples.crowded(), departed())
    agent = read(files, "api/agents/user1/rule-1.json")
    result = samples.crowded().tasks[0].rows[0].result

    pole = agent["tasks"][0]
    assert pole["returns"] == list(result.returns)
    assert pole["length"] == {"mean": 10.0, "least": 10, "greatest": 10}
    assert [(one["score"], one["digest"]) for one in pole["history"]] == [(2.0, samples.digest("earlier"))]
    assert pole["replays"][0]["file"] == "episodes/a%20b.webp"
    assert len(agent["runs"]) == 1
    assert agent["runs"][pole["run"]]["commit"] == "c" * 40
    assert agent["pull"] == 12


def test_a_script_has_its_curve_and_the_lengths_that_a_metric_needs():
    task = read(documents(scripts()), "api/agents/zed/runner.json")["tasks"][0]

    assert task["curve"][0] == [5, 1.0]
    assert task["lengths"] == [33333, 5, 5], "the first was left: no episode can be longer"
    assert task["script"] == {"claimed": 9.5, "steps": 20, "episodes": 4, "unfinished": 1}
    assert SCRIPT.metrics[1].name in task["metrics"]


def test_who_left_keeps_a_document_a_badge_and_a_state():
    files = documents(samples.crowded(), departed())

    assert read(files, "api/agents/dora/gone.json")["state"] == "withdrawn"
    assert read(files, "api/agents/eve/copy.json")["exclusion"]["why"] == "copied"
    assert read(files, "badges/dora/gone/CartPole-v1.json")["message"] == "withdrawn"
    agents = {one["login"]: one for one in read(files, "api/status.json")["agents"]}
    assert agents["dora"]["tasks"] == [["withdrawn", "its folder is on main no more"], None, None]
    assert agents["eve"]["tasks"] == [["excluded", "copied"]] * 3


def test_the_status_says_where_everybody_stands():
    agents = {one["login"]: one for one in read(documents(game_samples.full()), "api/status.json")["agents"]}

    assert agents["alice"]["tasks"][3] == ["ranked", 1]
    assert agents["mallory"]["tasks"][3][0] == "refused"
    assert agents["carol"]["tasks"][3] == ["waiting"]
    assert agents["local"]["tasks"][1] == ["ranked", None]


def test_the_status_has_advice_for_every_verdict_but_ok():
    verdicts = read(documents(samples.one()), "api/status.json")["verdicts"]

    assert list(verdicts) == [verdict.value for verdict in Verdict if verdict is not Verdict.OK]
    assert [word for word, words in verdicts.items() if words["ours"]] == ["internal_error"]
    assert all(words["next"] for words in verdicts.values())


def test_health_counts_what_waits_and_whose_fault_it_was():
    health = read(documents(samples.failed()), "api/health.json")

    assert (health["waiting"], health["ours"], health["failures"]["crashed"]) == (1, 1, 1)
    assert health["last_evaluation"] == samples.NOON
    assert "internal_error" not in health["failures"]


def test_a_missing_score_is_null_and_never_nan():
    who = samples.entry()
    nan = float("nan")
    row = samples.row(who, samples.POLE, 1, 1.0, estimate=samples.Estimate(score=nan, low=nan, high=nan))
    files = documents(samples.board(samples.task_board(samples.POLE, [row])))

    document = read(files, "api/tasks/CartPole-v1/leaderboard.json")["rows"][0]
    assert (document["estimate"]["score"], document["medal"]) == (None, None)


def test_a_moment_is_iso_also_where_only_words_are_known():
    board = samples.one()
    document = read(documents(board, samples.CONTEXT), "api/index.json")

    assert document["generated_at"] == "2026-01-02T03:04:00Z"
    assert read(documents(board, CONTEXT), "api/index.json")["generated_at"] == "2026-01-02T03:04:00Z"


def test_flags_and_reasons_of_a_game_are_told_too():
    who = game_samples.players()
    host = replace(who[0], host=True)
    out = Excluded(login="eve", agent="x", exclusion=samples.excluded(samples.entry("x", "eve")).exclusion)
    made = game_samples.board(game_samples.TICTACTOE, [host, *who[1:2]], excluded=(out,), waiting=(who[2],))
    files = documents(game_samples.of(made))

    document = read(files, "api/tasks/tictactoe/leaderboard.json")
    assert document["excluded"][0]["why"] == "copies weights"
    assert document["rows"][0]["host"] is True
    table = read(files, "api/tasks/tictactoe/table.json")
    assert [row[table["columns"].index("verdict")] for row in table["failures"]] == ["waiting", "excluded"]
    assert (table["leader"], table["rows"][0][0]) == (1, None)
    assert read(files, f"badges/{host.login}/{host.agent}/tictactoe.json")["message"].startswith("host · ")


def test_what_does_not_count_here_is_no_history_and_who_stands_here_has_not_left():
    row = samples.one().tasks[0].rows[0]
    other = {"key": samples.digest("other"), "submission_digest": samples.digest("other")}
    preview = samples.result(row.entry, samples.POLE, (9.0,), **other, **{"class": "preview"})
    early = samples.result(row.entry, samples.POLE, (9.0,), **other, season="2025")
    gone = FormerEntry(login="alice", agent="angle-rule", exclusion=None, results=(row.result,))
    context = replace(CONTEXT, results=(preview, early, row.result), former_entries=(gone,))
    files = documents(samples.one(), context)

    agent = read(files, "api/agents/alice/angle-rule.json")
    assert (agent["state"], "history" in agent["tasks"][0]) == ("entered", False)
    assert read(files, "badges/alice/angle-rule/overall.json")["message"].startswith("#1")
    assert read(files, "api/status.json")["agents"][0]["tasks"] == [["ranked", 1]]


def test_on_a_local_board_everything_but_previews_counts():
    row = samples.one().tasks[0].rows[0]
    local = samples.result(row.entry, samples.POLE, (1.0,), key=samples.digest("l"), sandbox="process", **{"class": "local"})
    board = replace(samples.one(), official=False)
    files = documents(board, replace(CONTEXT, results=(row.result, local)))

    assert len(read(files, "api/agents/alice/angle-rule.json")["tasks"][0]["history"]) == 1


def test_a_row_whose_place_another_version_holds_says_so_in_every_document_and_page(capsys):
    chosen, other, bob = (make.entry(login, agent=agent, version=agent) for login, agent in
                          (("alice", "chosen"), ("alice", "other"), ("bob", "agent")))  # fmt: skip
    task, game = make.task("one"), make.game()
    results = [
        make.result(entry, [score - 0.1, score + 0.1] * 6, on=task, at=at, beacon=beacon, key=make.digest(f"{score}"))
        for entry, score, at, beacon in (
            (chosen, 0.9, make.NOON, "merge"), (other, 0.8, make.NOON, "merge"),
            (chosen, 0.2, "2026-03-01T00:00:00Z", "final"), (other, 0.7, "2026-03-01T00:00:00Z", "final"),
            (bob, 0.5, "2026-03-01T00:00:00Z", "final"),
        )
    ]  # fmt: skip
    duels = [make.duel(one, on=game, beacon=beacon) for one in (chosen, other, bob) for beacon in ("merge", "final")]
    for one, before, after in ((chosen, "wwww", "lldd"), (other, "wlwl", "wwwl")):
        duels += [make.duel(one, bob, played, on=game, beacon=at) for played, at in ((before, "merge"), (after, "final"))]
    rules = make.challenge(task, game).model_copy(update={"badges": True})
    board = build_standings(
        rules, [chosen, other, bob], results, official=True, duels=duels, final=FinalDraws(beacon="final")
    )
    printed, files = json.loads(json.dumps(standings_document(board))), documents(board)

    lists = [printed["overall"], printed["tasks"][0]["rows"], printed["games"][0]["rows"]]
    lists += [read(files, "api/overall.json")["rows"]]
    lists += [read(files, f"api/tasks/{name}/leaderboard.json")["rows"] for name in ("one", "game")]
    for rows in lists:
        held = [(row["agent"], row.get("held_by")) for row in rows if row["place"] is None]
        assert held == [("other", "alice/chosen")]
        assert (sorted(row["place"] for row in rows[:2]), {row["tries"] for row in rows}) == ([1, 2], {1})
    why = "no place: alice/chosen, another version of its owner, holds it, chosen by the live scores before the end"
    for name in ("one", "game"):
        table = read(files, f"api/tasks/{name}/table.json")
        last = dict(zip(table["columns"], table["rows"][-1], strict=True))
        assert (last["agent"], last["place"], last["flags"], last["message"]) == ("other", None, ["another version"], why)
        *_, line = csv.DictReader(io.StringIO(files[f"api/tasks/{name}/leaderboard.csv"].decode()))
        assert (line["agent"], line["place"], line["flags"], line["medal"]) == ("other", "", "another version", "")
    badge = read(files, "badges/alice/other/one.json")
    assert badge["message"].startswith("another version · ")
    pages = everything.render(board, CONTEXT)
    assert words(pages["agents/alice/other.md"]).count(why) == 2
    for path in ("tasks/one.md", "tasks/game.md", "index.md"):
        assert "An owner holds one place." in words(pages[path])
    standings_tables(board)
    assert "another version" in capsys.readouterr().out
