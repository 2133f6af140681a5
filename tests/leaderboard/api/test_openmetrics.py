"""The counters: valid OpenMetrics, and each counts what it says."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from leaderboard.api.api_inputs import api_inputs
from leaderboard.api.openmetrics import BUCKETS, openmetrics_document
from tests.leaderboard.api.leaderboards import all_boards, departed, documents
from tests.leaderboard.pages import samples

BOARDS = all_boards()


def families(text):
    return {family.name: family for family in text_string_to_metric_families(text)}


def values(family, *labels):
    return {tuple(sample.labels.get(name) for name in labels): sample.value for sample in family.samples}


@pytest.mark.parametrize("name", BOARDS)
def test_they_parse_and_started_is_completed_and_failed(name):
    metric_families = families(documents(*BOARDS[name])["metrics.txt"].decode())

    started = metric_families["evaluation_started"].samples[0].value
    ended = [
        sample.value for name in ("evaluation_completed", "evaluation_failed") for sample in metric_families[name].samples
    ]
    assert started == sum(ended)


def test_the_histogram_counts_each_evaluation_once_and_its_last_bucket_holds_all():
    metric_families = families(openmetrics_document(api_inputs(*BOARDS["crowded"])))["evaluation_duration_seconds"]

    counts = {s.labels["env_id"]: s.value for s in metric_families.samples if s.name.endswith("_count")}
    last = {s.labels["env_id"]: s.value for s in metric_families.samples if s.labels.get("le") == "+Inf"}
    assert counts == last == {"ALE/Pong-v5": 2, "CartPole-v1": 3, "MountainCar-v0": 7}


def test_what_takes_exactly_as_long_as_a_bucket_is_in_it():
    who = samples.entry()
    result = samples.result(who, samples.POLE, (1.0,), cost={"wall_seconds": BUCKETS[1]})
    board = samples.board(
        samples.task_board(samples.POLE, [samples.row(who, samples.POLE, 1, 1.0, pooled_results=(result,))])
    )

    metric_families = families(openmetrics_document(api_inputs(board, samples.CONTEXT)))["evaluation_duration_seconds"]

    assert {s.labels["le"]: s.value for s in metric_families.samples if "le" in s.labels}[str(BUCKETS[1])] == 1


def test_failures_are_told_by_verdict_and_a_players_by_its_offence():
    crashed = families(openmetrics_document(api_inputs(*BOARDS["failed"])))
    played = families(openmetrics_document(api_inputs(*BOARDS["games"])))

    assert values(crashed["evaluation_failed"], "reason")["internal_error",] == 1
    assert values(crashed["submissions_validation_failures"], "reason") == {("invalid",): 1}
    assert values(played["submissions_validation_failures"], "reason") == {("illegal",): 1}


def test_each_version_is_received_once_by_its_door():
    assert values(families(openmetrics_document(api_inputs(*BOARDS["scripts"])))["submissions_received"], "mode") == {
        ("script",): 3
    }
    whole = families(openmetrics_document(api_inputs(samples.crowded(), departed())))
    assert values(whole["submissions_received"], "mode") == {("policy",): 8}
