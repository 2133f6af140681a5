"""`pullrank erase LOGIN`: a person asks to be forgotten."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evaluator.model.identifiers import LOGIN
from leaderboard.core.entry import EXAMPLES_LOGIN
from scripts.console import OK, USAGE, CommandError, say
from scripts.git.git_repository import Credentials, GitError, GitRepository
from scripts.maintenance.apply_erasure import push_erasure, write_erasure
from scripts.maintenance.plan_erasure import ErasurePlan, plan_erasure
from scripts.options import GITHUB_SERVER, ServerAddress
from scripts.repository.checkout import open_checkout
from scripts.repository.layout import SUBMISSIONS
from scripts.repository.moderation_file import MODERATION_FILE

# Lines with the name that are shown.
_LINES = 20


def run(
    login: Annotated[str, typer.Argument(help="The GitHub login of the person.")],
    push: Annotated[bool, typer.Option("--push", help="Also change origin's data branches; needs --account.")] = False,
    account: Annotated[
        int | None, typer.Option(help="The person's account number at GitHub, from api.github.com/users/LOGIN.")
    ] = None,
    token: Annotated[str, typer.Option(envvar="GITHUB_TOKEN", help="For --push; needs write access to contents.")] = "",
    server: ServerAddress = GITHUB_SERVER,
) -> int:
    """Take a person's name, logs, weights and pages off the board; scores stay under a name that stands for nobody."""
    checkout, now = open_checkout(Path.cwd()), datetime.now(UTC)
    if not LOGIN.fullmatch(login) or login.casefold() == EXAMPLES_LOGIN:
        raise CommandError(USAGE, f"{login[:60]!r} is no GitHub login; write it as in submissions/LOGIN")
    plan = plan_erasure(checkout, login, now, account=account, must_name_account=push)
    clone = GitRepository(checkout.root, Credentials(server_url=server, token=token) if token else None)
    if push:
        push_erasure(clone, plan, now)
    write_erasure(checkout, plan, login)
    _say_what_is_left(clone, plan, login, pushed=push)
    return OK


def _say_what_is_left(clone: GitRepository, plan: ErasurePlan, login: str, *, pushed: bool) -> None:
    mark = plan.renaming.mark
    say(f"{login} is {mark} now: {len(plan.results)} results and {len(plan.duels)} duels keep their scores and the hash")
    say("that they had; name, account number, logs, messages and links to runs are gone. Nobody else's rank has moved.")
    say("Next:")
    say(f"1. Commit {MODERATION_FILE} and the removal of {SUBMISSIONS}/{login} on main, by a pull request of a maintainer.")
    say(
        "2. The branches of results, traces and weights are changed." if pushed else
        "2. The branches of results and traces still name them: 'pullrank erase' with --push and --account, before you "
        "commit step 1."
    )  # fmt: skip
    if lines := _lines_with(clone, login):
        more = f" and {len(lines) - _LINES} more" if len(lines) > _LINES else ""
        say(f"3. These lines have that name; change by hand those that mean this person: {', '.join(lines[:_LINES])}{more}.")
    else:
        say("3. No other file on main names the login.")
    say("4. Git's history still has everything. To rewrite it, with everybody's consent, since all clones and links break:")
    say(f"     git filter-repo --invert-paths --path {SUBMISSIONS}/{login}/   # main, then push it with --force")
    say("     git checkout --orphan new origin/results && git commit -m results && git push --force origin new:results")
    say("   The same for each branch traces-…, 'episodes' and 'weights', which may still have files of earlier versions.")
    say("   Old commits stay in forks, pull requests, Actions logs and artifacts (90 days), releases and archives of closed")
    say("   seasons; GitHub's support removes cached pull requests.")


def _lines_with(clone: GitRepository, login: str) -> list[str]:
    """Where tracked files name the login, outside of its own folder."""
    try:
        raw = clone.run("grep", "-n", "-i", "-w", "-I", "-F", "--full-name", "-e", login, "HEAD", "--", ".")
    except GitError:
        return []
    places = [":".join(line.split(":")[1:3]) for line in raw.decode("utf-8", "replace").splitlines()]
    own_folder = re.compile(rf"{SUBMISSIONS}/{re.escape(login)}/", re.IGNORECASE)
    return [place for place in dict.fromkeys(places) if not own_folder.match(place)]
