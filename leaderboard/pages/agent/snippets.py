"""What a reader copies from an agent's page: commands that fetch, check and repeat its results, and a badge's Markdown."""

import shlex
from dataclasses import dataclass
from urllib.parse import quote

from evaluator.model.config.challenge import Challenge
from evaluator.model.records.result import Tier
from leaderboard.core.eligibility import LOCAL
from leaderboard.core.standings import Standings
from leaderboard.pages.agent.agent_profile import AgentProfile
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


@dataclass(frozen=True, kw_only=True)
class BadgeSnippets:
    """The badges of an agent, and the Markdown of the first one."""

    first: str
    """The segment of its address that names the task, or `overall`."""
    others: tuple[str, ...]
    """That segment for the other badges."""
    markdown: str


def badge_snippets(challenge: Challenge, context: SiteContext, profile: AgentProfile) -> BadgeSnippets | None:
    """The agent's badges: overall, if it has a place there, then of each task.

    None without `badges: true` in challenge.yml, or while the agent is anonymous.
    """
    entry = profile.entry
    tasks = [entered.task for entered in profile.task_results] + [entered.board.task for entered in profile.game_results]
    if not challenge.badges or entry.anonymous or not tasks:
        return None
    segments = [urls.segment(task.id) for task in tasks]
    title = tasks[0].title or tasks[0].id
    if profile.overall:
        segments, title = ["overall", *segments], "overall"
    image = context.site_url + quote(f"badges/{entry.login}/{entry.agent}/{segments[0]}.svg")
    page = context.site_url + urls.agent_address(entry.login, entry.agent)
    return BadgeSnippets(first=segments[0], others=tuple(segments[1:]), markdown=f"[![{_plain(title)}]({image})]({page})")


def _plain(title: str) -> str:
    """The title without characters that could end the square brackets of a Markdown image."""
    return "".join(character for character in title if character not in "[]\\`<>\n\r")
