"""`pullrank quarantine`: hides results that were measured while something was wrong, has them replayed, and lifts again."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from evaluator.host.seeds.season_secret import SECRET_VARIABLE
from evaluator.model.config.moderation import Moderation, Quarantine
from evaluator.model.validation_messages import faults_in_words
from leaderboard.core.entry import EXAMPLES_LOGIN
from leaderboard.core.store import RECORD_ENDING
from scripts.console import OK, USAGE, CommandError, print_json, say
from scripts.git.folder_history import commit_times
from scripts.git.git_repository import GitError, GitRepository
from scripts.git.pull_numbers import pull_numbers_by_agent
from scripts.github.doctor.repository_checks import SEASON_ENVIRONMENT
from scripts.github.workflow.event import TEAMS_VARIABLE
from scripts.options import JsonDocument
from scripts.repository.checkout import Checkout, open_checkout
from scripts.repository.moderation_file import MODERATION_FILE, HiddenRecord, hidden_records, with_entry, without_quarantines

_FORM = "%Y-%m-%dT%H:%M:%SZ"


def run(
    since: Annotated[str, typer.Option(help="The commit, of main or of results, since which something was wrong.")] = "",
    login: Annotated[str | None, typer.Option(help="Only this owner's results.")] = None,
    image: Annotated[str | None, typer.Option(help="Only results made with this image, sha256:…")] = None,
    why: Annotated[str, typer.Option(help="What went wrong, in one line; shown on the board.")] = "",
    who: Annotated[str, typer.Option(help="Your login.")] = "",
    link: Annotated[str | None, typer.Option(help="Where it is discussed: an https:// address.")] = None,
    replay: Annotated[bool, typer.Option(help="Evaluate again what is hidden.")] = True,
    lift: Annotated[bool, typer.Option("--lift", help="Show again what is hidden; other options choose.")] = False,
    as_json: JsonDocument = False,
) -> int:
    """Hide results that were measured while something was wrong, and show them again."""
    checkout = open_checkout(Path.cwd())
    clone = GitRepository(checkout.root)
    sha = _resolved(clone, since) if since else ""
    if lift:
        return _lift(checkout, sha, login, image)
    if not (sha and why and who):
        raise CommandError(USAGE, "say --since COMMIT, --why 'what went wrong' and --who your-login; or --lift")
    quarantine = _quarantine(checkout, clone, sha, {"login": login, "image": image, "why": why, "who": who, "link": link,
                                                    "replay": replay})  # fmt: skip
    hidden = hidden_records(checkout.every_record, Moderation(quarantines=(quarantine,)))
    if not hidden:
        raise CommandError(USAGE, "no recorded result is covered; run 'pullrank recorded' first, or choose less narrowly")
    path = checkout.root / MODERATION_FILE
    path.write_bytes(with_entry(path.read_bytes() if path.exists() else b"", "quarantines", quarantine))
    if as_json:
        print_json(_document(quarantine, hidden))
    else:
        _say_what_to_do(checkout, quarantine, hidden)
    return OK


def _resolved(clone: GitRepository, since: str) -> str:
    try:
        sha = None if since.startswith("-") else clone.resolve(since)
    except GitError:
        sha = None
    if sha is None:
        raise CommandError(USAGE, f"{since[:80]!r} is no commit of this clone; first 'git fetch origin main results'")
    return sha


def _quarantine(checkout: Checkout, clone: GitRepository, sha: str, fields: dict[str, Any]) -> Quarantine:
    now = datetime.now(UTC).strftime(_FORM)
    try:
        begin = min(_begin(checkout, clone, sha), now)
        return Quarantine.model_validate({**fields, "commit": sha, "since": begin, "until": now})
    except ValidationError as error:
        raise CommandError(USAGE, faults_in_words(Quarantine, error)[0][1]) from error


def _begin(checkout: Checkout, clone: GitRepository, sha: str) -> str:
    """When the first result was evaluated: since a commit of main, or recorded since one of results."""
    if clone.file(sha, "challenge.yml") is not None:
        (at,) = commit_times(clone, [_merged_by(clone, sha)])
        return at.astimezone(UTC).strftime(_FORM)
    parent = clone.resolve(f"{sha}^")
    older = {leaf.text for leaf in clone.tree(parent)} if parent else set()
    times = [
        record.provenance.evaluated_at for record in checkout.every_record if record.path() + RECORD_ENDING not in older
    ]
    if not times:
        raise CommandError(USAGE, "nothing here was recorded since that commit; run 'pullrank recorded' first")
    return min(times)


def _merged_by(clone: GitRepository, sha: str) -> str:
    """The commit of main that brought a commit: whoever made a pull request chose the times of its commits."""
    main = clone.first_parent(clone.resolve("HEAD") or sha)
    if sha in main:
        return sha
    # By all ways to it: along first parents git finds the merge of a pull request's last commit only.
    later = set(clone.run("rev-list", "--ancestry-path", f"{sha}..HEAD").decode().split())
    if brought := [commit for commit in main if commit in later]:
        return brought[-1]
    raise CommandError(USAGE, f"{sha[:12]} is not on main here, so its time is its author's word; name main's commit")


def _document(quarantine: Quarantine, hidden: Sequence[HiddenRecord]) -> dict[str, Any]:
    return {
        "quarantine": quarantine.model_dump(mode="json"),
        "hidden": [
            {
                "name": hidden_record.name,
                "key": hidden_record.record.key,
                "path": hidden_record.record.path() + RECORD_ENDING,
            }
            for hidden_record in hidden
        ],
        "authors": _authors(hidden),
    }


def _authors(hidden: Sequence[HiddenRecord]) -> list[str]:
    return sorted(
        {login for hidden_record in hidden for login in hidden_record.owners if login != EXAMPLES_LOGIN}, key=str.casefold
    )


def _say_what_to_do(checkout: Checkout, quarantine: Quarantine, hidden: Sequence[HiddenRecord]) -> None:
    say(f"{MODERATION_FILE}: {len(hidden)} results of {quarantine.since} to {quarantine.until} are {quarantine.in_words}:")
    for hidden_record in hidden:
        say(f"  {hidden_record.name}")
    owners = {login.casefold() for hidden_record in hidden for login in hidden_record.owners}
    numbers = sorted({number for name, number in pull_numbers_by_agent(checkout.root).items() if name.login in owners})
    authors = ", ".join(f"@{login}" for login in _authors(hidden)) or "nobody: only examples are hidden"
    comments = f", in the comments of {', '.join(f'#{number}' for number in numbers)}" if numbers else ""
    secrets = "".join(f"\n   - {line}" for line in secrets_to_rotate(sealed=bool(checkout.challenge.sealed)))
    replay = "Once the cause is mended: the next official run replays them; 'pullrank plan --explain' lists them."
    steps = [
        f"Commit {MODERATION_FILE} on main: from then on nobody sees these results ranked. Nothing is deleted.",
        *([replay] if quarantine.replay else []),
        f"The bot tells the authors{comments}: {authors}.",
        f"Rotate what a hole or a bad machine could have read:{secrets}",
        f"When all is {'replayed and ' if quarantine.replay else ''}checked: 'pullrank quarantine --lift', and commit.",
    ]
    say("Next:")
    for number, step in enumerate(steps, 1):
        say(f"{number}. {step}")


def secrets_to_rotate(*, sealed: bool) -> list[str]:
    """What the workflows can read, and how it is replaced."""
    season = f"{SECRET_VARIABLE} in the environment {SEASON_ENVIRONMENT}"
    return [
        f"{season}: this season is sealed with it; reveal or end the season, then 'pullrank season seal' for the next one"
        if sealed
        else f"{season}, if it is set: 'pullrank season seal' makes another",
        f"{TEAMS_VARIABLE} in the environment {SEASON_ENVIRONMENT}, if it is set: revoke the token, make another",
        "personal tokens that were used with 'pullrank doctor', 'rehearse' or 'season': revoke them on GitHub",
        "deploy keys, webhooks and self-hosted runners of the repository: remove each that nobody knows",
        "GITHUB_TOKEN of past runs needs nothing: it ended with its job",
    ]


def _lift(checkout: Checkout, sha: str, login: str | None, image: str | None) -> int:
    lifted = [
        quarantine
        for quarantine in checkout.moderation.quarantines
        if sha in ("", quarantine.commit)
        and (login is None or (quarantine.login or "").casefold() == login.casefold())
        and image in (None, quarantine.image)
    ]
    if not lifted:
        raise CommandError(USAGE, f"{MODERATION_FILE} has no such quarantine; nothing is lifted")
    count = len(hidden_records(checkout.every_record, Moderation(quarantines=tuple(lifted))))
    path = checkout.root / MODERATION_FILE
    path.write_bytes(without_quarantines(path.read_bytes(), lifted))
    say(f"{MODERATION_FILE}: {len(lifted)} quarantines are lifted, and {count} results count again; commit it on main.")
    return OK
