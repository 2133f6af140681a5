"""All checks of a repository, in the order in which they are shown."""

from evaluator.model.config.challenge import Challenge
from scripts.github.doctor.actions_checks import ACTIONS_CHECKS, check_runners
from scripts.github.doctor.check_runner import Check
from scripts.github.doctor.protection_checks import PROTECTION_CHECKS
from scripts.github.doctor.repository_checks import REPOSITORY_CHECKS, check_identity
from scripts.github.doctor.season_checks import season_checks

# What every leaderboard needs, whatever its challenge.yml says.
CHECKS: tuple[Check, ...] = (*REPOSITORY_CHECKS, *ACTIONS_CHECKS, *PROTECTION_CHECKS)


def checks_of(challenge: Challenge, repository: str) -> tuple[Check, ...]:
    """The checks for one leaderboard; `repository` is the owner/name that its challenge.yml gives."""
    return (check_identity(repository), *CHECKS, check_runners(challenge.runners.labels), *season_checks(challenge))
