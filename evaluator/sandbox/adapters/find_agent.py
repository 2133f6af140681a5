"""Helpers of adapters: finding the agent in a participant's file, whatever its name."""

import inspect
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from evaluator import wire
from evaluator.sandbox.load_agent import AgentError


def own_class(module: ModuleType, methods: Sequence[str], adapter: str) -> tuple[type, str]:
    """The file's class with one of the methods, and that method; of several classes the one named `Agent`.

    Raises:
        AgentError: there is none, or it is not clear which one is meant.
    """
    candidates = {}
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            method = next((m for m in methods if m in dir(value)), None)
            if method is not None:
                candidates[name] = value, method
    if "Agent" in candidates:
        return candidates["Agent"]
    if len(candidates) == 1:
        return next(iter(candidates.values()))
    wanted = f"a class with a method {' or '.join(methods)}"
    if not candidates:
        raise AgentError(wire.ErrorReason.INVALID, f"the adapter {adapter} needs {wanted}; the file defines none")
    several = f"the file defines {', '.join(sorted(candidates))}; name the one that is meant Agent"
    raise AgentError(wire.ErrorReason.INVALID, f"the adapter {adapter} needs {wanted}; {several}")


def own_function(module: ModuleType, names: Sequence[str], adapter: str) -> Callable[..., Any]:
    """The file's function of one of these names, or its only public one; raises as `own_class` does."""
    for name in names:
        if callable(value := getattr(module, name, None)) and not isinstance(value, type):
            function: Callable[..., Any] = value
            return function
    functions = [
        value for value in vars(module).values() if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    public = [value for value in functions if not value.__name__.startswith("_")]
    if len(public) == 1:
        return public[0]
    message = f"the adapter {adapter} needs one function of an observation; name it {names[0]}"
    raise AgentError(wire.ErrorReason.INVALID, message)


def parameters(function: Callable[..., Any]) -> frozenset[str]:
    """The names of a function's parameters; empty where they are unknown."""
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


def missing(adapter: str, package: str, extra: str) -> AgentError:
    """The error where an extra's package is missing, as it can be in the process sandbox."""
    message = f"the adapter {adapter} needs {package}; use a container sandbox, which has the extra {extra}, or install it"
    return AgentError(wire.ErrorReason.INVALID, message)
