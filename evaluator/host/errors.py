"""What ends an evaluation: faults of the untrusted side, and a task that cannot be played."""

from evaluator.model.records.verdict import Verdict


class AgentFault(Exception):
    """The agent did something that ends its evaluation. `evaluate` turns it into a result; nobody else catches it."""

    def __init__(self, verdict: Verdict, message: str) -> None:
        super().__init__(message)
        self.verdict = verdict


class SandboxClosed(Exception):
    """The sandbox closed its end. What that means is for the sandbox's owner to find out."""


class EnvironmentFault(Exception):
    """The task's environment cannot be made; the host must mend challenge.yml."""
