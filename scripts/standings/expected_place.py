"""The end of an evaluation at home, as the comment on a pull request ends: the place that the agent would take, and why."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.preview import Preview, PreviewedAgent
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import SandboxKind, Tier
from evaluator.model.records.verdict import Verdict
from leaderboard.build_standings import RecordedLeaderboard
from leaderboard.comments.comment_standings import preview_state, without_places
from leaderboard.comments.comment_states import AgentReport, Previewed
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName
from scripts.console import CommandError, say
from scripts.git.data_branches import export_files, results_commit
from scripts.git.git_repository import GitRepository
from scripts.git.season_commits import final_entries
from scripts.repository.checkout import AgentFolder, Checkout
from scripts.standings.recorded_standings import erased_entries, with_stay_beacons

# What a sentence of the referee begins with where the agent failed before it had acted once.
_AT_THE_START = re.compile(r"episode \d+, step 0: ")
# The owner of an agent that lies outside of submissions/, while its place is looked up; a login that nobody can have.
STANDIN = "you-"
_OFFICIAL = {"tier": Tier.OFFICIAL, "sandbox": SandboxKind.DOCKER, "beacon": "here"}


def with_recorded(checkout: Checkout) -> Checkout:
    """The checkout with the recorded results, fetched if there are none; without a network that is said in one line."""
    if any(record.tier is Tier.OFFICIAL for record in checkout.every_record):
        return checkout
    if not (checkout.root / "challenge.yml").is_file():  # an installed command, outside of every clone
        say("There are no recorded results here; run this in a clone of the board for the place that it would take.")
        return checkout
    clone = GitRepository(checkout.root)
    try:
        if sha := results_commit(clone):
            export_files(clone, sha, checkout.store.results)
    except CommandError as error:
        say(f"The recorded results could not be fetched ({error}); places are among the results in this clone.")
    return replace(checkout)


def recorded_here(checkout: Checkout) -> tuple[RecordedLeaderboard, bool]:
    """What is recorded in this clone, and whether it is official; before the first official result, local ones count."""
    entries = [each.entry() for each in checkout.read_all()[0]]
    kept = [entry for entry in entries if checkout.moderation.exclusion_of(*entry.version) is None]
    results, duels = checkout.results, checkout.duels
    official = any(record.tier is Tier.OFFICIAL for record in checkout.every_record)
    if not official:
        versions = {(entry.name, entry.digest) for entry in entries}  # what was tried at home before is no try
        results = [
            result.model_copy(update=_OFFICIAL)
            for result in results
            if (AgentName.folded(result.login, result.agent), result.submission_digest) in versions
        ]
        duels = [duel.model_copy(update=_OFFICIAL) for duel in duels]
    else:
        kept = with_stay_beacons(GitRepository(checkout.root), "HEAD", checkout.challenge, kept)
    recorded = RecordedLeaderboard(
        challenge=checkout.challenge, entries=tuple(kept), results=tuple(results), duels=tuple(duels), at=datetime.now(UTC),
        erased=tuple(erased_entries(checkout.moderation)),
    )  # fmt: skip
    if official and checkout.has_ended:
        try:
            final = final_entries(checkout)
        except CommandError:  # The end is not merged yet, or the history is not here.
            return recorded, official
        ranking = tuple(entry for entry in final.entries if checkout.moderation.exclusion_of(*entry.version) is None)
        recorded = replace(recorded, entries=ranking, final=final.draws)
    return recorded, official


def expected_comment(
    recorded: RecordedLeaderboard,
    entry: AgentFolder,
    results: Sequence[Result],
    duels: Sequence[Duel],
    closed: Collection[str] = (),
) -> Previewed:
    """The state of the comment that a pull request with this agent would get, without places on the tasks `closed` to it."""
    login = entry.login
    if login == EXAMPLES_LOGIN and not entry.baseline:
        # An agent from any other folder would be somebody's; a board leaves out agents that have no owner.
        login = STANDIN
        results = [result.model_copy(update={"login": login}) for result in results]
        duels = [_with_owner(duel, entry) for duel in duels]
    agent = PreviewedAgent.model_construct(
        login=login, agent=entry.agent, submission_digest=entry.folder.digest, name=entry.folder.submission.name,
        results=tuple(results), duels=tuple(duels),
    )  # fmt: skip
    state = preview_state(
        Preview.model_construct(head_sha="", evaluator_sha="", agents=(agent,), skipped=()), recorded, run_url=None
    )
    return replace(state, agents=tuple(without_places(shown, closed) for shown in state.agents))


def _with_owner(duel: Duel, entry: AgentFolder) -> Duel:
    one, other = (
        player.model_copy(update={"login": STANDIN}) if player.name == entry.name else player for player in duel.players
    )
    return duel.model_copy(update={"players": (one, other)})


def narrower_tasks(entry: AgentFolder, agent: AgentReport) -> str | None:
    """A question for an agent that fails at the first step of some tasks and plays others, though it enters all."""
    failed = [row for row in agent.rows if row.result.verdict is not Verdict.OK and _failed_at_once(row.result)]
    games = [game for game in agent.games if game.refusal]
    played = [row.task.id for row in agent.rows if row.estimate] + [game.task.id for game in agent.games if not game.refusal]
    if entry.folder.submission.tasks != "all" or not (failed or games) or not played:
        return None
    shown = " and ".join(played) if len(played) < 3 else f"{len(played)} tasks"
    return f"Only for {shown}? Write 'tasks: [{', '.join(played)}]' in {entry.folder.manifest.file}."


def _failed_at_once(result: Result) -> bool:
    return result.verdict in (Verdict.CRASHED, Verdict.PROTOCOL_ERROR) and (
        _AT_THE_START.match(result.message) is not None or not result.message.startswith("episode ")
    )
