"""Which records were played in the sandbox that their leaderboard evaluated in at the time."""

from dataclasses import dataclass, field

from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.challenge import Challenge
from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result, Tier
from scripts.git.git_repository import GitError, GitRepository


@dataclass(frozen=True)
class SandboxRules:
    """The sandbox that challenge.yml names now, and named at the commits that records were evaluated at."""

    clone: GitRepository
    challenge: Challenge
    _named: dict[str, str | None] = field(default_factory=dict)

    def fault(self, record: Result | Duel) -> str | None:
        """Why an official record does not rank; None if its sandbox is the leaderboard's, now or when it was evaluated."""
        wanted = self.challenge.runners.sandbox
        if record.tier is not Tier.OFFICIAL or record.sandbox.value in (wanted, self._named_at(record.provenance.commit)):
            return None
        return f"it was played in {record.sandbox}, and this leaderboard evaluates in {wanted}"

    def _named_at(self, commit: str | None) -> str | None:
        """The sandbox in challenge.yml at a commit; None if that cannot be read."""
        if commit and commit not in self._named:
            try:
                self._named[commit] = parse_challenge(self.clone.run("show", f"{commit}:challenge.yml")).runners.sandbox
            except (GitError, LoadError):
                self._named[commit] = None
        return self._named.get(commit or "")
