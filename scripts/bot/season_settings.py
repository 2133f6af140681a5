"""What the rules in challenge.yml ask of the repository besides: the environment that holds a season's secrets."""

from evaluator.host.seeds.season_secret import VARIABLE
from evaluator.model.config.challenge import Challenge
from scripts.bot.checks import Asks, Check, Finding, Place, State, check, judged
from scripts.bot.settings import main_only

ENVIRONMENT = "season"
TEAMS_VARIABLE = "PULLRANK_TEAMS_TOKEN"
_PAGE = "settings/environments"


def season_checks(challenge: Challenge) -> tuple[Check, ...]:
    """What to look at, by what the season needs: nothing for most."""
    teams = sorted({team for phase in challenge.phases for team in phase.teams})
    found: list[Check] = [environment] if challenge.sealed or teams else []
    if challenge.sealed:
        found.append(seal)
    if teams:
        found.append(membership(teams))
    return tuple(found)


@check(f"Environment {ENVIRONMENT}", _PAGE, f"{ENVIRONMENT} › Deployment branches: main only")
def environment(asks: Asks, place: Place) -> Finding:
    """Whether another branch than main could read what the environment holds."""
    good, changes = main_only(asks, ENVIRONMENT)
    return judged(
        place,
        good=good,
        words=(
            "Only main can read the season's secrets.",
            "There is no such environment, or a workflow on another branch could read the season's secrets.",
        ),
        changes=changes,
    )


@check("Secret of the sealed season", _PAGE, f"{ENVIRONMENT} › Environment secrets › {VARIABLE}")
def seal(asks: Asks, place: Place) -> Finding:
    """Whether the sealed season's secret is where the official run looks for it. GitHub tells the name, never the value."""
    return judged(
        place,
        good=VARIABLE in _names(asks),
        words=(
            "The official run finds a secret; whether it is the right one is checked against its hash at every run.",
            f"Without {VARIABLE} the official run refuses to play; put there what 'pullrank season seal' printed.",
        ),
        changes=(),
    )


def membership(teams: list[str]) -> Check:
    """Whether the plan can see who is in the organisations and teams that phases name."""
    click = f"{ENVIRONMENT} › Environment secrets › {TEAMS_VARIABLE}, a token that may read members of {', '.join(teams)}"

    @check("Token for teams", _PAGE, click)
    def look(asks: Asks, place: Place) -> Finding:
        if TEAMS_VARIABLE in _names(asks):
            state, said = State.GOOD, "The plan can ask who is in the teams that phases name."
        elif any("/" in team for team in teams):
            state, said = State.MISSING, "Phases name teams, whose members nobody sees without a token: nobody may enter."
        else:
            state, said = State.CHOICE, "Of organisations the plan sees public members only; with a token it sees all."
        return Finding(name=place.name, state=state, said=said, page=place.page, click=place.click)

    return look


def _names(asks: Asks) -> set[str]:
    found = asks.setting(f"/environments/{ENVIRONMENT}/secrets?per_page=100") or {}
    return {str(one.get("name")) for one in found.get("secrets", [])}
