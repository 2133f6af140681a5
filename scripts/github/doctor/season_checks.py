"""Checks of what a sealed season, or one for teams, needs."""

from evaluator.host.seeds.season_secret import SECRET_VARIABLE
from evaluator.model.config.challenge import Challenge
from scripts.github.doctor.check_runner import (
    Check,
    SettingFinding,
    SettingLocation,
    SettingsReader,
    SettingState,
    check,
)
from scripts.github.doctor.protection_checks import main_only_policy
from scripts.github.workflow.step_access import TEAMS_VARIABLE

SEASON_ENVIRONMENT = "season"
_ENVIRONMENTS_PAGE = "settings/environments"


def season_checks(challenge: Challenge) -> tuple[Check, ...]:
    """The checks that a season needs; most need none."""
    teams = sorted({team for phase in challenge.phases for team in phase.teams})
    checks: list[Check] = [check_season_environment] if challenge.sealed or teams else []
    if challenge.sealed:
        checks.append(check_seal)
    if teams:
        checks.append(membership_check(teams))
    return tuple(checks)


@check(f"Environment {SEASON_ENVIRONMENT}", _ENVIRONMENTS_PAGE, f"{SEASON_ENVIRONMENT} › Deployment branches: main only")
def check_season_environment(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether another branch than main could read the environment's secrets."""
    good, changes = main_only_policy(asks, SEASON_ENVIRONMENT)
    return place.judged(
        good,
        "Only main can read the season's secrets.",
        "There is no such environment, or a workflow on another branch could read the season's secrets.",
        *changes,
    )


@check("Secret of the sealed season", _ENVIRONMENTS_PAGE, f"{SEASON_ENVIRONMENT} › Environment secrets › {SECRET_VARIABLE}")
def check_seal(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
    """Whether the sealed season's secret is in its environment. GitHub shows the name, never the value."""
    return place.judged(
        SECRET_VARIABLE in _secret_names(asks),
        "The official run finds a secret; whether it is the right one is checked against its hash at every run.",
        f"Without {SECRET_VARIABLE} the official run refuses to play; put there what 'pullrank season seal' printed.",
    )


def membership_check(teams: list[str]) -> Check:
    """Whether the plan can see the members of the organisations and teams that phases name."""
    click = (
        f"{SEASON_ENVIRONMENT} › Environment secrets › {TEAMS_VARIABLE}, a token that may read members of {', '.join(teams)}"
    )

    @check("Token for teams", _ENVIRONMENTS_PAGE, click)
    def look(asks: SettingsReader, place: SettingLocation) -> SettingFinding:
        if TEAMS_VARIABLE in _secret_names(asks):
            state, message = SettingState.GOOD, "The plan can ask who is in the teams that phases name."
        elif any("/" in team for team in teams):
            state = SettingState.MISSING
            message = "Phases name teams, whose members nobody sees without a token: nobody may enter."
        else:
            state = SettingState.CHOICE
            message = "Of organisations the plan sees public members only; with a token it sees all."
        return place.finding(state, message)

    return look


def _secret_names(asks: SettingsReader) -> set[str]:
    answer = asks.setting(f"/environments/{SEASON_ENVIRONMENT}/secrets?per_page=100") or {}
    return {str(secret.get("name")) for secret in answer.get("secrets", [])}
