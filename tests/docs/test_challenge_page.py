"""site/pages/host/challenge.md: every field of challenge.yml stands there, with its default and in an example that loads."""

import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from evaluator.model.config.challenge import Challenge, Runners, Sealed
from evaluator.model.config.limits import Limits
from evaluator.model.config.metric import Metric
from evaluator.model.config.people import Ban, CustomField, People, Prize, Sponsor
from evaluator.model.config.phase import Phase, Quota
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.config.task import ClockSettings, ParallelEpisodes, ReferenceScore, Task
from evaluator.model.config.training_script import ScriptRules
from tests.docs.blocks import ROOT, as_challenge, blocks_of
from tests.scripts.checkouts import put, run

PAGE = ROOT / "site/pages/host/challenge.md"
SECTIONS: dict[type[BaseModel], tuple[str, ...]] = {
    Challenge: ("The whole file",), Task: ("A task", "Games"), ParallelEpisodes: ("Lanes",),
    ReferenceScore: ("Random and reference",),
    ClockSettings: ("Clock",), Metric: ("A metric",), ScriptRules: ("Script",), Limits: ("Limits",),
    SubmissionLimits: ("Submissions",), Runners: ("Runners",), Phase: ("A phase",), Quota: ("A quota",),
    People: ("People",), Ban: ("A ban",), CustomField: ("A field",), Prize: ("A prize",), Sponsor: ("A sponsor",),
    Sealed: ("Sealed",),
}  # fmt: skip


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field's type speaks of."""
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from models_in(part)


def every_model(model: type[BaseModel], known: set[type[BaseModel]]) -> set[type[BaseModel]]:
    if model not in known:
        known.add(model)
        for field in model.model_fields.values():
            for inner in models_in(field.annotation):
                every_model(inner, known)
    return known


def rows(model: type[BaseModel]) -> dict[str, str]:
    """Fields that the page has of a model, and the default that it says."""
    sections = re.split(r"^#+ (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    texts = [text for head, text in zip(sections[1::2], sections[2::2], strict=True) if head in SECTIONS[model]]
    assert len(texts) == len(SECTIONS[model])
    return dict(re.findall(r"^\| `(\w+)`(?: ★)? \| (.*?) \|", "".join(texts).replace("| |", "|  |"), re.MULTILINE))


def test_every_model_has_its_section() -> None:
    assert every_model(Challenge, set()) == set(SECTIONS)


@pytest.mark.parametrize("model", SECTIONS, ids=lambda model: model.__name__)
def test_every_field_stands_there_and_no_other(model: type[BaseModel]) -> None:
    assert set(rows(model)) == set(model.model_fields)


@pytest.mark.parametrize("model", SECTIONS, ids=lambda model: model.__name__)
def test_defaults_that_are_numbers_or_words_are_the_models(model: type[BaseModel]) -> None:
    defaults = rows(model)
    for name, field in model.model_fields.items():
        default = field.default
        if field.is_required():
            assert defaults[name].strip() == "" or (model, name) == (Task, "id"), name
        elif isinstance(default, (bool, int, float)) and not isinstance(default, PydanticUndefined.__class__):
            assert yaml.safe_load(defaults[name]) == default, name
        elif isinstance(default, str) and default:
            assert defaults[name] == f"`{default}`", name


def test_a_star_marks_exactly_what_is_measured() -> None:
    starred = set(re.findall(r"^\| `(\w+)` ★", PAGE.read_text(), re.MULTILINE))
    solo = Task(id="x", script=ScriptRules(worst=0)).measured()
    game = Task(id="x", game="y").measured()

    assert starred == solo.keys() | game.keys()


def fields_used(value: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """Every field that was written in an example."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield type(value), name
            yield from fields_used(getattr(value, name))
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from fields_used(one)


def test_every_field_stands_in_an_example_that_loads() -> None:
    examples = [as_challenge(block.text) for block in blocks_of(PAGE) if block.language == "yaml"]
    used = {one for example in examples for one in fields_used(example)}

    assert [(model.__name__, name) for model in SECTIONS for name in model.model_fields if (model, name) not in used] == []


def test_the_union_of_types_is_walked() -> None:
    assert set(models_in(tuple[Ban, ...])) == set(models_in(Union[Ban, None])) == {Ban}  # noqa: UP007


def test_the_environment_of_ones_own_is_checked_evaluated_and_verified(tmp_path: Path) -> None:
    own = [block for block in blocks_of(PAGE) if block.note and "test_challenge_page" in block.note[1]]
    source, challenge, commands = (next(b.text for b in own if b.language == kind) for kind in ("python", "yaml", "sh"))
    (tmp_path / "gridworld.py").write_text(source)
    (tmp_path / "challenge.yml").write_text(challenge)
    put(tmp_path / "example_agents" / "random", (ROOT / "example_agents/random/agent.py").read_text(), "all")

    for line in commands.splitlines():
        words = line.split()[1:]
        code, out, err = run(tmp_path, *words, *(["--sandbox", "process"] if words[0] == "evaluate" else []))
        assert code == 0, err
        if words[0] == "evaluate":
            assert float(out.split("ok")[1].split()[0]) == pytest.approx(-40, abs=3)
            assert "Detours" in out
    assert "1 verified" in err
