"""The page about metrics: what it shows is run as it stands there."""

import json
import re
from pathlib import Path

from evaluator.model.config.metric import BUILT_IN, Metric
from tests.scripts.checkouts import ROOT, put, run

PAGE = (ROOT / "site/pages/host/metrics.md").read_text()
LEFT = "class Agent:\n    def act(self, observation):\n        return 0\n"
LEAN = "class Agent:\n    def act(self, observation):\n        return int(observation[2] > 0)\n"


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_example_is_evaluated_ranked_and_verified(tmp_path: Path) -> None:
    (tmp_path / "challenge.yml").write_text(block("yaml"))
    (tmp_path / "smoothness.py").write_text(block("python"))
    for name, source in (("left", LEFT), ("lean", LEAN)):
        put(tmp_path / "example_agents" / name, source, "all")
        code, out, err = run(tmp_path, "evaluate", f"example_agents/{name}", "--sandbox", "process")
        assert code == 0, err
        assert re.search(r"Pushes changed\s+\d\.\d{3}\s+lower", out)

    document = json.loads(run(tmp_path, "rank", "--json")[1])
    pole, acrobot = document["tasks"]
    _, table, _ = run(tmp_path, "rank")

    # Neither stands for 195 steps: they share the first metric, and `ties` puts the one that never turns first.
    assert [(row["agent"], row["metrics"]["Success"]) for row in pole["rows"]] == [("left", 0), ("lean", 0)]
    assert set(pole["rows"][0]["metrics"]) == {"Success", "Pushes changed", "Length"}
    assert {row["agent"]: row["metrics"]["Pushes changed"] for row in pole["rows"]}["left"] == 0
    assert [metric["direction"] for metric in acrobot["metrics"]] == ["lower"]
    assert {"Success", "↑", "↓"} <= set(table.split())
    assert "Pushes changed: lower is better" in " ".join(table.split())
    assert run(tmp_path, "verify", "results")[0] == 0


def test_the_page_names_every_kind_and_every_field() -> None:
    assert [name for name in (*BUILT_IN, *Metric.model_fields) if f"`{name}`" not in PAGE] == []
