"""Policies of other systems through their adapters give what the same policy gives as an Agent; extras in manifests."""

import re

import pytest
from pydantic import ValidationError

from evaluator.host.digests.image_files import ROOT, build_context
from evaluator.host.digests.runtime_digest import contents, runtime_digest, versions, with_extras
from evaluator.host.docker.evaluator_image import image_tag
from evaluator.host.sandboxes import process_sandbox
from evaluator.model.config.limits import Limits
from evaluator.model.config.submission import ADAPTER_EXTRAS, ADAPTERS, EXTRAS, Submission, SubmissionKind
from evaluator.model.config.task import Task
from evaluator.model.records.result import Result
from evaluator.model.records.verdict import Verdict
from tests.evaluations import evaluated, folder, on_the_same_seeds, order
from tests.evaluator import foreign_agents

TASK = Task(id="CartPole-v1", env="CartPole-v1", episodes=6)


def adapted(adapter: str, source: str) -> Result:
    """What the agent reaches in the process sandbox."""
    return on_the_same_seeds(folder(source, foreign_agents.manifest(adapter)), TASK).result


@pytest.mark.parametrize(
    ("adapter", "source", "same"),
    [
        ("predict", foreign_agents.PREDICT, foreign_agents.AS_AGENT),
        ("predict", foreign_agents.RANDOM_PREDICT, foreign_agents.RANDOM_PREDICT_AS_AGENT),
        ("function", foreign_agents.FUNCTION, foreign_agents.AS_AGENT),
        ("gym-policy", foreign_agents.GYM_POLICY, foreign_agents.AS_AGENT),
        ("gym-policy", foreign_agents.RANDOM_GYM_POLICY, foreign_agents.RANDOM_AS_AGENT),
    ],
)
def test_a_foreign_policy_plays_what_the_same_agent_plays(adapter: str, source: str, same: str) -> None:
    """Equal, episode by episode: on the same seeds, the agent's own among them."""
    result, wanted = adapted(adapter, source), on_the_same_seeds(folder(same), TASK).result

    assert result.verdict is Verdict.OK, (result.message, result.log_tail)
    assert len(result.returns) == TASK.episodes
    assert len(set(result.returns)) > 1
    assert (result.returns, result.lengths) == (wanted.returns, wanted.lengths)


@pytest.mark.parametrize("adapter", ["predict", "gym-policy"])
def test_a_file_without_what_the_adapter_runs_is_told_so(adapter: str) -> None:
    result = adapted(adapter, "x = 1\n")

    assert (result.verdict, adapter in result.message) == (Verdict.INVALID, True)


def test_several_functions_need_a_name() -> None:
    result = adapted("function", "def a(o): return 0\ndef b(o): return 1\n")

    assert result.verdict is Verdict.INVALID
    assert "name it act" in result.message


def test_a_file_that_is_no_model_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_sandbox, "extras_fault", lambda extras: None)  # it is told before anything is imported
    result = adapted("sb3", "not a zip")

    assert result.verdict is Verdict.INVALID
    assert "model.save" in result.message


def test_an_agent_may_not_choose_its_lanes() -> None:
    """What adapters say of lanes, agents do not: the attribute is theirs to use as they like."""
    result = evaluated(foreign_agents.AS_AGENT.replace("memoryless = True", "lanes = 'mine'"), TASK).result

    assert result.verdict is Verdict.OK


def test_an_adapter_brings_its_extra() -> None:
    assert Submission(name="A", algorithm="x", adapter="sb3").needs == ("sb3",)
    assert Submission(name="A", algorithm="x", adapter="onnx", extras=("torch", "numpy")).needs == ("onnx", "torch")
    assert Submission(name="A", algorithm="x", extras=("torch", "sb3")).needs == ("sb3",)
    assert Submission(name="A", algorithm="x", extras=("numpy",)).needs == ()
    assert set(ADAPTER_EXTRAS) <= set(ADAPTERS)


def test_unknown_extras_and_extras_of_images_are_refused() -> None:
    with pytest.raises(ValidationError, match="no extra 'jax'"):
        Submission(name="A", algorithm="x", extras=("jax",))
    with pytest.raises(ValidationError, match="brings everything"):
        Submission(name="A", algorithm="x", kind=SubmissionKind.IMAGE, entry="a.b/c@sha256:" + "a" * 64, extras=("torch",))


def test_memory_is_the_larger_of_the_two() -> None:
    small, large = Limits(), Limits(memory_mib=8192)

    assert Submission(name="A", algorithm="x").allowed(small) == small
    assert Submission(name="A", algorithm="x", extras=("torch",)).allowed(small).memory_mib == 2048
    assert Submission(name="A", algorithm="x", extras=("torch",)).allowed(large) == large


def test_extras_change_the_runtime_of_who_needs_them_only() -> None:
    plain = runtime_digest("process")

    assert with_extras(plain, ()) == plain
    assert len({with_extras(plain, (name,)) for name in EXTRAS} | {plain}) == len(EXTRAS) + 1
    assert order(folder(foreign_agents.AS_AGENT), TASK).wanted().runtime_digest == order(folder("1"), TASK).runtime_digest
    needy = order(folder("1", foreign_agents.manifest("onnx")), TASK)
    assert needy.wanted().runtime_digest == with_extras(needy.runtime_digest, ("onnx",))


def test_an_image_without_extras_knows_nothing_of_them() -> None:
    assert not [name for name in build_context() if name.startswith("extra-")]
    assert image_tag("base") == image_tag("base", ())
    assert image_tag("base") != image_tag("base", ("onnx",))


@pytest.mark.parametrize("name", EXTRAS)
def test_each_lock_is_pinned_by_hash_and_holds_no_other_platform_for_learning(name: str) -> None:
    text = (ROOT / "evaluator" / "extras" / f"{name}.txt").read_text()
    pins = re.findall(r"^[a-z0-9-]+==.*\\$", text, re.MULTILINE)

    assert pins
    assert len(pins) == len(re.findall(r"^[a-z0-9]", text, re.MULTILINE))
    assert "nvidia" not in text
    assert "triton" not in text
    assert contents(name).get("torch", "2.13.0+cpu").endswith("+cpu")
    base = dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", (ROOT / "evaluator/requirements.txt").read_text(), re.MULTILINE))
    assert {p: v for p, v in contents(name).items() if p in base} == {p: base[p] for p in contents(name) if p in base}


def test_versions_say_how_arithmetic_was_pinned_and_what_the_extras_are() -> None:
    packages = versions(("sb3",))

    assert len(packages["pins"]) == 16
    assert packages["torch"] == contents("sb3")["torch"]
    assert "torch" not in versions()


def test_the_page_says_what_is_inside() -> None:
    page = (ROOT / "site/pages/agents/inside.md").read_text()

    for name, extra in EXTRAS.items():
        section = page.partition(f"## {name}\n")[2].partition("\n## ")[0]
        assert f"{extra.memory_mib} MiB" in section, name
        listed = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([^ |]+) \|$", section, re.MULTILINE))
        assert listed == contents(name), name
