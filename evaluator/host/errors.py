"""The errors that end an evaluation."""

from evaluator.model.records.verdict import Verdict


class AgentFault(Exception):
    """The agent did something that ends its evaluation; it becomes the result's verdict and message."""

    def __init__(self, verdict: Verdict, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.verdict = verdict
        self.trace = trace
        """The traceback of the agent's own code, as its side reports it; it becomes the end of the log."""
        self.asked_owner = False
        """Whether a host of its owner's was asked for files, and so may have chosen when this happens."""


class _InternalFault(AgentFault):
    def __init__(self, message: str) -> None:
        super().__init__(Verdict.INTERNAL_ERROR, message)


class RegistryFault(_InternalFault):
    """What its owner may have made fail, and is excused at first, not in every try.

    A host for an image or weights does not answer while others do, or the engine starts our image and not the agent's.
    """


class MachineFault(_InternalFault):
    """This machine lacks what the agent needs; another attempt would end the same."""


class SandboxClosed(Exception):
    """The sandbox closed its connection; `Sandbox.post_mortem` says why."""


class SandboxError(Exception):
    """A sandbox cannot be opened or driven, which is our failure; the message says what to do.

    What a kind of sandbox is made from may have an error of its own, a subclass of this one.
    """


class EnvironmentFault(Exception):
    """The task's environment cannot be made; the host must correct challenge.yml."""
