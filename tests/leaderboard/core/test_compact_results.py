"""Results without what no page shows: smaller, and shown as the whole ones are."""

import pickle
from dataclasses import replace

import pytest

from evaluator.model.config.metric import Metric
from evaluator.model.records.result import Result
from leaderboard.build_standings import build_standings
from leaderboard.core.store import CompactResults
from tests.leaderboard import make
from tests.leaderboard.api.leaderboards import CONTEXT, documents
from tests.leaderboard.pages.everything import render

BY_RETURN = make.task()
BY_LENGTH = make.task(anchors=None, metrics=(Metric(name="Length", kind="mean_length", direction="lower"),))
REVEALED = {"beacon": "sealed-" + "a" * 64, "seeds": [f"{number:032x}" for number in range(12)]}
FIRST = {"verdict": "timeout", "message": "not ready", "wall_seconds": 60.5}
WHO = [make.entry(name) for name in ("alice", "bob", "carol")]


def results(lean=lambda result: result, task=BY_RETURN):
    """Two scores, one failure and an earlier version, read anew each time."""
    made = [
        make.result(WHO[0], [1.0, 0.5, 0.25], on=task, lengths=[3, 2, 1 << 40], metrics={"clipped": 2.0}),
        make.result(WHO[1], [0.0, 1.0, 0.75], on=task, versions={"python": "3.12.1"}),
        make.result(WHO[2], on=task, message="it crashed", log_tail="the end"),
        make.result(
            make.entry("alice", version="0"), [0.0, 0.0, 0.0], on=task, at="2025-12-30T12:00:00Z", first_attempt=FIRST
        ),
    ]
    return [lean(Result.model_validate(one.document())) for one in made]


def shown(records, task):
    context = replace(CONTEXT, results=tuple(records))
    board = build_standings(make.challenge(task), WHO, records, official=True)
    return documents(board, context) | render(board, context)


@pytest.mark.parametrize("task", [BY_RETURN, BY_LENGTH], ids=["return", "length"])
def test_every_page_and_document_says_the_same(task):
    whole, lean = shown(results(task=task), task), shown(results(CompactResults(), task), task)

    assert len(whole) > 20
    assert lean == whole


def test_a_revealed_season_is_ranked_by_pairs_all_the_same():
    luck = [10.0, -20.0, 30.0, -40.0, 50.0, -60.0] * 2
    records = [
        make.result(who, [one + better + 0.1 * (place % 3) for place, one in enumerate(luck)], **REVEALED)
        for who, better in zip(WHO, (0.0, 1.0, 2.0), strict=True)
    ]

    def ranks(results):
        return [
            (row.rank_low, row.rank_high)
            for row in build_standings(make.challenge(), WHO, results, official=True).tasks[0].rows
        ]

    whole = ranks(records)
    assert whole == [(1, 1), (2, 2), (3, 3)]
    assert ranks([CompactResults()(Result.model_validate(one.document())) for one in records]) == whole


def test_seeds_are_dropped_and_what_is_equal_is_kept_once():
    first, second, *_ = results(CompactResults())

    assert (first.seeds, list(first.returns), list(first.lengths)) == ((), [1.0, 0.5, 0.25], [3, 2, 1 << 40])
    assert first.limits is second.limits
    assert first.runtime_digest is second.runtime_digest


def test_what_other_processes_read_is_the_same():
    records = results(CompactResults()) + results()

    read = pickle.loads(pickle.dumps(records))

    assert read == records
    assert [one.document() for one in read[len(WHO) + 1 :]] == [one.document() for one in records[len(WHO) + 1 :]]
    assert [repr(one) for one in read] == [repr(one) for one in records]
    assert read[0].limits is read[1].limits
    assert read[0].model_copy(update={"login": "bob"}).login == "bob"


def test_a_compact_result_names_every_field():
    original, compact = results()[0], results(CompactResults())[0]

    for part, other in ((compact, original), (compact.cost, original.cost), (compact.provenance, original.provenance)):
        assert list(part.__dict__) == list(type(part).model_fields)
        assert part.model_fields_set == set(part.__dict__)
        assert type(part) is type(other)
    assert compact.model_fields_set is results(CompactResults())[1].model_fields_set


def test_a_result_without_episodes_stays_as_it_is():
    whole = make.result(WHO[0])

    assert CompactResults()(whole) is whole
    assert (whole.returns, whole.verdict) == ((), "crashed")
