"""GitHub's own expression engine, kept running in one Node process."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.needs import lacking, node

HERE = Path(__file__).parent
BUNDLE = HERE / "node_modules" / ".engine.cjs"
_WHOLE = re.compile(r"\s*\$\{\{((?:(?!\}\}).)*)\}\}\s*", re.DOTALL)
_PART = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)


def node_here() -> str:
    """Node, where the packages of tests/workflows/package.json are there for it."""
    program = node()
    if not BUNDLE.exists():
        lacking("the packages of tests/workflows: run 'make test' where npm can install", "NODE")
    return program


class ExpressionError(Exception):
    """GitHub's engine refuses an expression or a workflow."""


class Expressions:
    """Answers what GitHub would."""

    def __init__(self) -> None:
        self._node = subprocess.Popen([node_here(), str(BUNDLE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        """End the process."""
        self._node.communicate(timeout=120)

    def _ask(self, operation: str, **request: Any) -> Any:
        assert self._node.stdin
        assert self._node.stdout
        self._node.stdin.write(json.dumps({"operation": operation, **request}) + "\n")
        self._node.stdin.flush()
        answer = json.loads(self._node.stdout.readline())
        if "error" in answer:
            raise ExpressionError(f"{answer['error']} in {request.get('expression') or request.get('name')}")
        return answer["found"]

    def conditions(self, path: Path) -> dict[str, dict[str, Any]]:
        """Job id to its condition and its steps' conditions, as GitHub reads them."""
        parsed = self._ask("conditions", name=path.name, content=path.read_text(encoding="utf-8"))
        if parsed["errors"]:
            raise ExpressionError("; ".join(parsed["errors"]))
        read: dict[str, dict[str, Any]] = parsed["jobs"]
        return read

    def holds(self, condition: str, contexts: dict[str, Any], status: str = "success") -> bool:
        """Whether a condition is true."""
        whole = _WHOLE.fullmatch(condition)
        expression = whole[1] if whole else condition
        return bool(self._ask("evaluate", expression=expression, contexts=contexts, status=status)["truth"])

    def fill(self, template: Any, contexts: dict[str, Any]) -> Any:
        """A value with its expressions evaluated; a lone expression keeps its type."""
        if not isinstance(template, str) or "${{" not in template:
            return template
        if whole := _WHOLE.fullmatch(template):
            return self._ask("evaluate", expression=whole[1].strip(), contexts=contexts, status="success")["value"]
        return _PART.sub(lambda part: self._text(part[1], contexts), template)

    def _text(self, expression: str, contexts: dict[str, Any]) -> str:
        return str(self._ask("evaluate", expression=expression.strip(), contexts=contexts, status="success")["text"])

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """GitHub's own examples of an event."""
        payloads: list[dict[str, Any]] = self._ask("payloads", event=event)
        return payloads
