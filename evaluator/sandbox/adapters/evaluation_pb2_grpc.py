"""The client's side of EvalAI's service: whatever method an agent calls is sent as it is called."""

from typing import Any

from evaluator.sandbox.adapters.evaluation_pb2 import Package

SERVICE = "Environment"


class EnvironmentStub:
    """Calls by name."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):
            raise AttributeError(method)
        path = f"/{SERVICE}/{method}"
        call = self._channel.unary_unary(path, Package.SerializeToString, Package.FromString)
        setattr(self, method, call)
        return call
