"""An entry: an agent that stands on main now."""

from dataclasses import dataclass
from functools import cached_property

from evaluator.model.config.moderation import VerifiedEntry
from evaluator.model.config.submission import Submission


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An agent that stands on main now."""

    login: str
    """Its owner; `local` for the examples."""
    agent: str
    """Its folder."""
    submission: Submission
    """What its manifest says."""
    digest: str
    """Its version: results of another one do not rank."""
    baseline: bool = False
    """Shown for comparison, by the host."""
    host: bool = False
    """The hosts' own."""
    verified: VerifiedEntry | None = None
    """Who of the hosts vouches for it."""
    anonymous: bool = False
    """Shown under another name for now, so nothing links to where it comes from."""

    @cached_property
    def name(self) -> tuple[str, str]:
        """By which it is found, half a million times on a large board: login without capitals, and folder."""
        return self.login.casefold(), self.agent

    @property
    def is_aside(self) -> bool:
        """Whether it is listed without a place of its own, so that it takes none from anybody."""
        return self.host or self.baseline

    @property
    def shown(self) -> str:
        """As words name it: `login/agent`."""
        return f"{self.login}/{self.agent}"
