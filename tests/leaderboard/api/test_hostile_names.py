"""Hostile names reach every document and stay text; what is hidden, sealed or anonymous stays so."""

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from evaluator.model.config.phase import Phase
from evaluator.model.sealed_fields import SealedPart
from leaderboard.site_context import SiteContext
from leaderboard.visibility import as_shown
from tests.leaderboard.api.leaderboards import CONTEXT, documents
from tests.leaderboard.pages import samples
from tests.leaderboard.test_visibility import BEFORE, UNTIL, A, B, board, people, secretive, whole
from tests.leaderboard.test_visibility import challenge as rules

SHOWN = "=cmd|'/c'!A1</script><img src=x>\"]]>&\\ \ufffd?,;`{{x}}"
EVIL = "=cmd|'/c'!A1</script><img src=x>\"]]>&\\ \u202e\ud800,;`{{x}}"


def hostile():
    """A board whose models were not asked whether a text may be so."""
    plain = samples.entry("evil", "mallory")
    manifest = plain.submission.model_copy(update={"name": EVIL, "algorithm": EVIL, "authors": (EVIL,), "description": EVIL})
    who = replace(plain, submission=manifest)
    task = samples.POLE.model_copy(update={"title": EVIL, "description": EVIL})
    fails = samples.failure(replace(who, agent="fails"), samples.CAR, message="m", log_tail="l")
    bad = fails.result.model_copy(update={"message": EVIL, "log_tail": EVIL})
    files = samples.board(
        samples.task_board(task, [samples.row(who, task, 1, 4.0)]),
        samples.task_board(samples.CAR, [], [replace(fails, result=bad)], excluded=(samples.excluded(who),)),
        overall=[samples.overall_row(who, 1, 1.0, (task,))],
    )
    return replace(files, challenge=files.challenge.model_copy(update={"title": EVIL}))


@pytest.fixture(scope="module")
def files():
    return documents(hostile())


@pytest.mark.attack(
    "quotes_in_a_document", family="pages", outcome="stays JSON",
    tries="Ends a text of a JSON document, or the element that holds it.",
)  # fmt: skip
def test_json_stays_json_and_holds_the_text_as_it_is_shown(files):
    agent = json.loads(files["api/agents/mallory/evil.json"])

    assert agent["name"] == SHOWN


@pytest.mark.attack(
    "formula_in_a_table", family="pages", outcome="an apostrophe makes it text",
    tries="Has a name that a spreadsheet runs as a formula.",
)  # fmt: skip
def test_no_spreadsheet_takes_a_name_for_a_formula(files):
    lines = list(csv.DictReader(io.StringIO(files["api/tasks/CartPole-v1/leaderboard.csv"].decode(), newline="")))

    assert len(lines) == 1
    assert lines[0]["name"] == "'" + SHOWN
    assert not [value for value in lines[0].values() if value.startswith(("=", "+", "@", "\t", "\r"))]
    assert lines[0]["score"] == "4.0"


def test_a_negative_number_is_no_formula():
    content = documents(samples.crowded())["api/tasks/MountainCar-v0/leaderboard.csv"]
    lines = list(csv.DictReader(io.StringIO(content.decode())))

    assert lines[0]["score"] == "-104.2"


@pytest.mark.attack(
    "markup_in_feeds_and_badges", family="pages", outcome="well formed, runs nothing",
    tries="Writes elements into feeds and the SVG of badges.",
)  # fmt: skip
def test_feeds_and_badges_are_well_formed_and_run_nothing(files):
    for path, content in files.items():
        if path.endswith((".atom", ".svg")):
            root = ET.fromstring(content)
            names = {element.tag.rpartition("}")[2] for element in root.iter()}
            assert not names & {"script", "img", "foreignObject"}, path
            assert "\u202e" not in content.decode()
    badge = ET.fromstring(files["badges/mallory/evil/CartPole-v1.svg"])
    assert "img src=x" in "".join(badge.itertext())


@pytest.mark.attack(
    "labels_of_metrics", family="pages", outcome="the document parses, without the name",
    tries="Ends a label of the OpenMetrics document.",
)  # fmt: skip
def test_metrics_parse_whatever_a_task_is_called(files):
    families = {family.name: family for family in text_string_to_metric_families(files["metrics.txt"].decode())}

    assert families["evaluation_failed"].samples[0].labels == {"reason": "crashed"}
    assert EVIL[:5] not in files["metrics.txt"].decode()


@pytest.mark.attack(
    "anonymity_undone_by_a_document", family="people", outcome="no name, digest or key is there",
    tries="Looks for the names behind anonymous entries in documents for machines.",
)  # fmt: skip
def test_no_document_names_anybody_before_the_date():
    names = ("ann", "bobby")
    season = whole(people(anonymous_until=UNTIL), [secretive(name) for name in names])
    left = whole(season.challenge, [secretive("cyrus")]).results
    own_image = f"sha256:{64 * 'c'}"
    results = tuple(one.model_copy(update={"image_digest": own_image}) for one in (*season.results, *left))
    season = replace(season, results=results)
    shown = as_shown(season, BEFORE)
    assert len(board(shown).tasks[0].withdrawn) == 1
    context = SiteContext(
        generated_at="now", repository="https://github.com/o/b", results=shown.results, now=BEFORE,
        pulls={(name, f"{name}-agent"): 99887766 for name in names},
    )  # fmt: skip

    files = documents(board(shown), context)

    text = "\n".join([*files, *(content.decode() for content in files.values())]).lower()
    assert [name for name in (*names, "cyrus", "99887766", "github.com/o/b/tree", "results/a/entry") if name in text] == []
    for result in season.results:
        assert result.key not in text
        assert result.submission_digest not in text
    assert own_image not in text
    assert '"anonymous":true' in text


def test_a_hidden_board_is_named_and_nothing_more():
    phase = Phase(id="final", name="Final", tasks=("b",), public_from=UNTIL)
    season = whole(rules(A, B).model_copy(update={"phases": (phase,)}), [secretive("ann")])
    shown = as_shown(season, BEFORE)

    files = documents(board(shown), SiteContext(generated_at="now", hidden=(B,), now=BEFORE, results=shown.results))

    tasks = {task["id"]: task for task in json.loads(files["api/tasks.json"])}
    assert (tasks["b"]["hidden"], tasks["b"]["leaderboard"], tasks["b"]["feed"]) == (True, None, None)
    assert not [path for path in files if "/b/" in path or path.endswith(("/b.json", "/b.svg", "/b.atom"))]
    assert 'env_id="b"' not in files["metrics.txt"].decode()


def test_a_sealed_result_shows_its_rounded_score_alone():
    who = samples.entry()
    part = SealedPart(score=470.0, nonce="0" * 24, ciphertext="QUJD")
    open_result = samples.result(who, samples.POLE, (471.23, 469.99))
    sealed = open_result.model_copy(
        update={"sealed": part, "seeds": (), "returns": (), "lengths": (), "metrics": {}, "log_tail": ""}
    )
    row = samples.row(who, samples.POLE, 1, 470.0, pooled_results=(sealed,))

    files = documents(samples.board(samples.task_board(samples.POLE, [row])), CONTEXT)

    task = json.loads(files["api/agents/alice/angle-rule.json"])["tasks"][0]
    assert (task["returns"], task["sealed"], task["episodes"]) == ([], True, 100)
    assert not [path for path, content in files.items() if b"QUJD" in content]
