"""Commands with which a reader fetches, checks and repeats an agent's results."""

import shlex
from dataclasses import dataclass

from evaluator.model.records.result import Tier
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.standings import Standings
from leaderboard.pages.agent.agent_results import AgentProfile
from leaderboard.site_context import SiteContext
from leaderboard.text import urls


@dataclass(frozen=True, kw_only=True)
class ReaderCommands:
    """Shell commands, several lines each; empty where there is nothing to run."""

    fetch: str
    """Gets the repository and the recorded files of the agent."""
    verify: str
    attested: str
    """Verifies GitHub's attestation of the recorded files."""
    play: str


def reader_commands(standings: Standings, context: SiteContext, profile: AgentProfile) -> ReaderCommands:
    """The commands for one agent."""
    entry, repository = profile.entry, context.repository or standings.challenge.repository
    results = [entered.result for entered in profile.task_results if entered.result]
    official = [result for result in results if result.tier is Tier.OFFICIAL]
    recorded = f"results/*/{shlex.quote(entry.login)}/{shlex.quote(entry.agent)}"
    is_local = entry.login == LOCAL
    folder = f"{'example_agents' if is_local else f'submissions/{entry.login}'}/{entry.agent}"
    return ReaderCommands(
        fetch=_fetch(repository, standings.challenge.season, entry.login, entry.agent) if official and repository else "",
        verify=f".venv/bin/pullrank verify {recorded}" if results else "",
        attested=_attested(repository, recorded) if official and repository else "",
        play=f".venv/bin/pullrank evaluate {shlex.quote(folder)}",
    )


def _fetch(repository: str, season: str, login: str, agent: str) -> str:
    return (
        f"git clone {shlex.quote(repository)} board && cd board && make recorded\n"
        f"git fetch origin {shlex.quote(urls.traces_branch(season))} && mkdir -p traces\n"
        f"git archive FETCH_HEAD {shlex.quote(f'*/{login}/{agent}/*')} | tar -x -C traces"
    )


def _attested(repository: str, recorded: str) -> str:
    name = shlex.quote("/".join(repository.rstrip("/").split("/")[-2:]))
    return f'for file in {recorded}/*.json; do gh attestation verify "$file" --repo {name}; done'
