"""The client of EvalAI's service: any method is sent under its name."""

from typing import Any

from evaluator.sandbox.adapters.evaluation_pb2 import Package

SERVICE = "Environment"


class EnvironmentStub:
    """Sends calls by name."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        path = f"/{SERVICE}/{method}"
        call = self._channel.unary_unary(path, Package.SerializeToString, Package.FromString)
        setattr(self, method, call)
        return call
