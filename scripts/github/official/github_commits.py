"""What only GitHub knows of a commit: whether GitHub signed it, and whose pull request it merged.

One GraphQL request asks about a hundred commits. If the hour's limit is used up or GitHub does not answer, commits are left
out: they are recorded as not asked, and a later round asks again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.model.records.duel_record import Duel
from evaluator.model.records.result import Result
from evaluator.model.records.stored_record import Tier
from leaderboard.core.entry import EXAMPLES_LOGIN
from scripts.console import CommandError, escape_commands, say
from scripts.git.git_repository import full_sha
from scripts.github.api.client import COMMITS_LEAVE_POINTS
from scripts.github.workflow.event import COMMIT_SHA

COMMITS_PER_QUERY = 100
# After a failure: GitHub may have stopped a large query for its time.
COMMITS_PER_SMALL_QUERY = 25

_FACTS_FRAGMENT = """fragment facts on Commit {
  signature { isValid wasSignedByGitHub }
  associatedPullRequests(first: 100) {
    nodes {
      merged
      mergeCommit { oid }
      repository { id }
      author { login ... on User { databaseId } ... on Bot { databaseId } ... on Organization { databaseId } }
    }
  }
}"""


@dataclass(frozen=True, kw_only=True)
class GitHubCommit:
    """What GitHub knows of a commit."""

    is_signed_by_github: bool
    """Whether GitHub made the commit: the signature is good, and by GitHub's own key."""
    authors: Mapping[str, int] = field(default_factory=dict)
    """Login in lower case to account id, of whose pull requests it merged: anybody may open one with it."""

    def login_id_of(self, login: str) -> int | None:
        """The account id if one of the pull requests is that login's own.

        Who changes agents of others would be taken for their owner otherwise, and all of them for one person.
        """
        return self.authors.get(login.casefold())


GraphQLQuery = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Sends a GraphQL query with its variables; returns the answer, errors included."""
AskGitHub = Callable[[Sequence[str]], Mapping[str, GitHubCommit]]
"""What GitHub knows of commits, without those that it was not asked about."""


def ask_github(query: GraphQLQuery, repository: str, shas: Sequence[str]) -> dict[str, GitHubCommit]:
    """Ask GitHub about commits of `owner/name`. It neither fails nor waits for the next hour; it logs what is missing."""
    facts: dict[str, GitHubCommit] = {}
    begin, size, reason = 0, COMMITS_PER_QUERY, ""
    while begin < len(shas) and not reason:
        batch = shas[begin : begin + size]
        try:
            answer = _query_commits(query, repository, batch)
        except CommandError as error:
            reason = str(error) if size == COMMITS_PER_SMALL_QUERY else ""
            size = COMMITS_PER_SMALL_QUERY
            continue
        facts |= _parse_answer(answer, batch)
        begin += len(batch)
        reason = _stop_reason(answer)
    if missing := len(shas) - len(facts):
        why = escape_commands(reason or "no answer")
        say(f"GitHub was not asked about {missing} commits ({why}); a later round does it.")
    return facts


def known_commits(records: Iterable[Result | Duel]) -> dict[str, GitHubCommit]:
    """Facts recorded in results and in validation duels, so that no commit is asked about twice."""
    facts: dict[str, GitHubCommit] = {}
    for record in records:
        side, is_alone = record.sides[0], isinstance(record, Result) or record.is_validation
        is_known = record.tier is Tier.OFFICIAL and record.beacon_verified is not None
        if is_known and is_alone and side.login != EXAMPLES_LOGIN and COMMIT_SHA.fullmatch(record.beacon):
            known = facts.get(record.beacon)
            authors = {side.login.casefold(): side.login_id} if side.login_id is not None else {}
            facts[record.beacon] = GitHubCommit(
                is_signed_by_github=bool(record.beacon_verified), authors={**authors, **(known.authors if known else {})}
            )
    return facts


def _query_commits(query: GraphQLQuery, repository: str, batch: Sequence[str]) -> dict[str, Any]:
    owner, _, name = repository.partition("/")
    fields = "\n".join(f'    c{index}: object(oid: "{full_sha(sha)}") {{ ...facts }}' for index, sha in enumerate(batch))
    text = (
        "query($owner: String!, $name: String!) {\n  rateLimit { remaining }\n"
        f"  repository(owner: $owner, name: $name) {{\n    id\n{fields}\n  }}\n}}\n{_FACTS_FRAGMENT}"
    )
    return query(text, {"owner": owner, "name": name})


def _parse_answer(answer: dict[str, Any], batch: Sequence[str]) -> dict[str, GitHubCommit]:
    """The facts in an answer, without parts that failed."""
    repository = (answer.get("data") or {}).get("repository") or {}
    errors = [(error.get("type"), error.get("path") or []) for error in answer.get("errors") or []]
    # A pull request that we may not see is of another repository, whose organisation refuses our token.
    failed = {path[1] for kind, path in errors if len(path) > 1 and not (kind == "FORBIDDEN" and "nodes" in path)}
    names = [(f"c{index}", sha) for index, sha in enumerate(batch)]
    return {sha: _parse_commit(repository, name, sha) for name, sha in names if name in repository and name not in failed}


def _parse_commit(repository: dict[str, Any], name: str, sha: str) -> GitHubCommit:
    """The facts of one commit. The same commit may be in another repository's pull request, which does not count."""
    commit = repository[name] or {}  # Unknown to GitHub, so not signed by it.
    pulls = (commit.get("associatedPullRequests") or {}).get("nodes") or []
    authors = {
        author["login"].casefold(): author["databaseId"]
        for pull in pulls
        if pull and pull["merged"] and (pull["mergeCommit"] or {}).get("oid") == sha
        if pull["repository"]["id"] == repository["id"]
        if (author := pull["author"]) and author.get("databaseId") is not None
    }
    signature = commit.get("signature") or {}
    # Whoever signs with a key of their own can try out hashes.
    is_signed_by_github = bool(signature.get("isValid") and signature.get("wasSignedByGitHub"))
    return GitHubCommit(is_signed_by_github=is_signed_by_github, authors=authors)


def _stop_reason(answer: dict[str, Any]) -> str:
    """Why to stop asking; empty to go on."""
    data = answer.get("data") or {}
    if not data.get("repository"):
        errors = answer.get("errors") or [{}]
        return " ".join(str(errors[0].get("message") or "GitHub gave no reason").split())[:200]
    left = (data.get("rateLimit") or {}).get("remaining", 0)
    return f"{left} points are left of this hour's limit" if left < COMMITS_LEAVE_POINTS else ""
