"""The page about integrity, integrity.md: the score in plain Gymnasium is what was recorded."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.scripts.checkouts import ROOT, put, run

PAGE = (ROOT / "site/pages/integrity.md").read_text()
SNIPPET = re.search(r"<!-- run by tests/docs/test_integrity_page.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)[1]
CHALLENGE = """title: T
season: s
tasks:
  - {id: CartPole-v1, episodes: 20}
  - {id: Acrobot-v1, episodes: 4, few_episodes: true}
"""
RULE = "class Agent:\n    def act(self, observation):\n        return int(observation[2] > 0)\n"


@pytest.mark.parametrize("task", ["CartPole-v1", "Acrobot-v1"])
def test_ten_lines_of_gymnasium_give_the_recorded_returns(tmp_path: Path, task: str) -> None:
    (tmp_path / "challenge.yml").write_text(CHALLENGE)
    folder = put(tmp_path / "example_agents" / "rule", RULE, f"[{task}]")
    code, _, err = run(tmp_path, "evaluate", "example_agents/rule", "--sandbox", "process")
    assert code == 0, err
    (recorded,) = (tmp_path / "results").rglob("*.json")
    (folder / "result.json").write_bytes(recorded.read_bytes())

    done = subprocess.run([sys.executable, "-c", SNIPPET], cwd=folder, capture_output=True, text=True, check=False)
    spoilt = json.loads(recorded.read_bytes())
    spoilt["returns"][-1] += 1
    (folder / "result.json").write_text(json.dumps(spoilt))
    other = subprocess.run([sys.executable, "-c", SNIPPET], cwd=folder, capture_output=True, text=True, check=False)

    assert len(SNIPPET.strip().splitlines()) <= 12
    assert done.returncode == 0, done.stderr
    returns = json.loads(recorded.read_bytes())["returns"]
    assert float(done.stdout) == sum(returns) / len(returns)
    assert "AssertionError" in other.stderr
