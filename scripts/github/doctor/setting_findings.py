"""How repository settings are checked and repaired: each check runs on its own, whatever happens to the others."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from scripts.console import CommandError
from scripts.github.api.client import GitHub


class SettingState(StrEnum):
    """The result of a check."""

    GOOD = "good"
    MISSING = "missing"
    CHOICE = "choice"
    """Both ways are right; the host should know the current one."""
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SettingChange:
    """One request that corrects a setting."""

    method: str
    path: str
    """Below the repository."""
    body: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SettingFinding:
    """One checked setting."""

    name: str
    state: SettingState
    message: str
    """How it is set, and why that matters."""
    page: str
    """Below the repository's page, or a complete address."""
    click: str
    changes: tuple[SettingChange, ...] = ()
    """Requests that correct it; empty if the API cannot, or if a person should decide."""

    def page_address(self, repository: str) -> str:
        """The complete address of its page. `repository`: owner/name."""
        return self.page if self.page.startswith("https://") else f"https://github.com/{repository}/{self.page}"


@dataclass(frozen=True)
class SettingLocation:
    """Where a setting is found on GitHub's pages."""

    name: str
    page: str
    click: str

    def finding(self, state: SettingState, message: str, *changes: SettingChange) -> SettingFinding:
        """What was found there."""
        return SettingFinding(
            name=self.name, state=state, message=message, page=self.page, click=self.click, changes=changes
        )

    def judged(self, is_right: bool, right: str, wrong: str, *changes: SettingChange) -> SettingFinding:
        """A setting that is right or wrong: what to say in either case, and what corrects it."""
        return self.finding(SettingState.GOOD, right) if is_right else self.finding(SettingState.MISSING, wrong, *changes)


# No answer at all, or a bad token: every other check would fail, too.
_FATAL_STATUSES = (0, 401)
Check = Callable[[GitHub], SettingFinding]
"""Checks one setting."""


def check(name: str, page: str, click: str) -> Callable[[Callable[[GitHub, SettingLocation], SettingFinding]], Check]:
    """Make a check from a function; an answer that is refused or odd is a finding, and the others go on."""

    def made(function: Callable[[GitHub, SettingLocation], SettingFinding]) -> Check:
        place = SettingLocation(name, page, click)

        def looked(github: GitHub) -> SettingFinding:
            try:
                return function(github, place)
            except CommandError as error:
                status = getattr(error, "status", 0)
                if status in _FATAL_STATUSES:
                    raise
                why = "the plan does not have it, or the token may not see it" if status in (403, 404) else "try again later"
                return place.finding(SettingState.UNKNOWN, f"Could not be looked at ({why}): {error}")
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                message = f"GitHub's answer has another shape than we know ({type(error).__name__}): look for yourself."
                return place.finding(SettingState.UNKNOWN, message)

        return looked

    return made


def apply_repairs(github: GitHub, checks: Iterable[Check]) -> dict[str, str]:
    """Make the changes for missing settings, one check after the other; each check sees the changes before it.

    Returns GitHub's error message by the name of the setting; it is empty if the setting is right now.

    Raises:
        CommandError: GitHub does not answer, or the token is invalid.
    """
    refusals = {}
    for run_check in checks:
        finding = run_check(github)
        if finding.state is SettingState.MISSING and finding.changes:
            refusals[finding.name] = _apply_changes(github, finding)
    return refusals


def _apply_changes(github: GitHub, finding: SettingFinding) -> str:
    """GitHub's error message, or ""; later changes of a finding build on earlier ones."""
    for change in finding.changes:
        try:
            github.change_setting(change.method, change.path, dict(change.body))
        except CommandError as error:
            if getattr(error, "status", 0) in _FATAL_STATUSES:
                raise
            return str(error)
    return ""
