"""What the repository is: its name, its default branch, who can see it, and what its owner's plan does not have."""

from typing import Any

from scripts.bot.checks import Asks, Check, Finding, Place, State, check, judged

BOARD = "main"
_ENTERPRISE = ("enterprise", "business", "business_plus")
_PAID = ("pro", "team", *_ENTERPRISE)


def identity(named: str) -> Check:
    """Whether challenge.yml, which names `named` (`owner/name` or nothing), means this repository."""
    click = "Not a setting: change the line 'repository:' of challenge.yml and commit it to main"

    @check("Repository", "edit/main/challenge.yml", click)
    def look(asks: Asks, place: Place) -> Finding:
        actual = str((asks.setting("") or {}).get("full_name", ""))
        said = f"challenge.yml names {named or 'no repository'}, GitHub calls this one {actual}: no workflow does anything."
        return judged(
            place,
            good=bool(named) and named.casefold() == actual.casefold(),
            words=("challenge.yml names this repository.", f"{said} Write 'repository: https://github.com/{actual}'."),
            changes=(),
        )

    return look


@check("Access", "settings/access", "Collaborators › an administrator's token; Danger Zone › not archived")
def access(asks: Asks, place: Place) -> Finding:
    """Whether the token is an administrator's, without which half of the answers are not given."""
    found = asks.setting("")
    if not found:
        return judged(place, good=False, words=("", "There is no such repository, or the token may not see it."), changes=())
    closed = "archived" if found.get("archived") else "disabled" if found.get("disabled") else ""
    return judged(
        place,
        good=not closed and (found.get("permissions") or {}).get("admin") is True,
        words=(
            "The token is an administrator's.",
            f"The repository is {closed}: nothing runs."
            if closed
            else "The token is not an administrator's: what is said below may be wrong, and nothing can be set.",
        ),
        changes=(),
    )


@check("Default branch", "settings", f"General › Default branch: {BOARD}; rename the other one")
def default_branch(asks: Asks, place: Place) -> Finding:
    """Whether the default branch is the one that the workflows run on."""
    actual = str((asks.setting("") or {}).get("default_branch", ""))
    return judged(
        place,
        good=actual == BOARD,
        words=(f"It is {BOARD}.", f"It is {actual}: schedules and comments run that branch's workflows, which do nothing."),
        changes=(),  # Open pull requests and clones hang on it: a person decides.
    )


@check("Visibility and plan", "settings", "Danger Zone › Change visibility; the plan is the owner's billing page")
def plan(asks: Asks, place: Place) -> Finding:
    """Who sees the board, and what its owner's plan does not have for a repository that is not public."""
    found = asks.setting("") or {}
    name = _plan_name(asks, found.get("owner") or {})
    shown = f"plan {name}" if name else "a plan that this token may not see"
    visibility = str(found.get("visibility") or ("private" if found.get("private") else "public"))
    if visibility == "public":
        state, said = State.GOOD, f"Public, {shown}: every plan has all that a public board needs."
    else:
        state, said = State.CHOICE, f"{visibility.capitalize()}, {shown}. {' '.join(lacking(name, found))}"
    return Finding(name=place.name, state=state, said=said, page=place.page, click=place.click)


def _plan_name(asks: Asks, owner: dict[str, Any]) -> str:
    kind = "orgs" if owner.get("type") == "Organization" else "users"
    found = asks.setting(f"/{kind}/{owner['login']}") if owner.get("login") else None
    return str(((found or {}).get("plan") or {}).get("name", "")).casefold()


def lacking(name: str, repository: dict[str, Any]) -> list[str]:
    """What a plan (GitHub's name for it; empty if unknown) lacks for this private repository, a sentence for each thing."""
    lines = []
    if not name:
        lines.append("On Free:")
    if name not in _PAID:
        lines += [
            "No Pages: the board is not published.",
            "No environments: a sealed season's secret and a token for teams have no place, and any branch may deploy.",
            "No rulesets: main and what is recorded are not protected.",
        ]
    if not name:
        lines.append("On Free, Pro and Team:")
    if name not in _ENTERPRISE:
        lines += ["No private Pages: a published site is public.", "No attestations: results are recorded without."]
    if repository.get("allow_forking") is False:
        lines.append("No forks: participants need write access and push branches here.")
    lines.append("No private reports of holes. Workflows of forks are off until they are allowed. Minutes are counted.")
    return lines


REPOSITORY_CHECKS = (access, default_branch, plan)
