"""`pullrank erase LOGIN`: a person asks to be forgotten."""

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from evaluator.model.identifiers import LOGIN
from leaderboard.core.eligibility import EXAMPLES_LOGIN
from leaderboard.core.store import PLAYER_SEPARATOR, RECORD_ENDING, TRY_INFIX, write_atomically
from leaderboard.text.urls import traces_branch
from scripts.console import OK, OUR_FAULT, USAGE, CommandError, say
from scripts.git.data_branches import BranchCommit, DataBranches, open_branches
from scripts.git.git_repository import Credentials, GitError, GitRepository
from scripts.git.version_origins import final_entries
from scripts.maintenance.erase_person import ErasedPerson, erase
from scripts.options import GITHUB_SERVER, ServerAddress
from scripts.repository.checkout import Checkout, open_checkout
from scripts.repository.layout import RESULTS_BRANCH, SUBMISSIONS
from scripts.repository.moderation_file import MODERATION_FILE, with_entry, with_quarantines_of
from scripts.runs.weights_branch import drop_weights

SHOWN = 20
_FAILED = re.compile(rf"{re.escape(TRY_INFIX)}\d{re.escape(RECORD_ENDING)}$")


def run(
    login: Annotated[str, typer.Argument(help="The GitHub login of the person.")],
    push: Annotated[bool, typer.Option("--push", help="Also change origin's data branches.")] = False,
    token: Annotated[str, typer.Option(envvar="GITHUB_TOKEN", help="For --push; needs write access to contents.")] = "",
    server: ServerAddress = GITHUB_SERVER,
) -> int:
    """Take a person's name, logs, weights and pages off the board; scores stay under a name that stands for nobody."""
    checkout, now = open_checkout(Path.cwd()), datetime.now(UTC)
    if not LOGIN.fullmatch(login) or login.casefold() == EXAMPLES_LOGIN:
        raise CommandError(USAGE, f"{login[:60]!r} is no GitHub login; write it as in submissions/LOGIN")
    person = erase(checkout, login, now)
    moderated = _moderated(checkout, person)  # Before anything is changed: the file can be one that takes no entry.
    clone = GitRepository(checkout.root, Credentials(server_url=server, token=token) if token else None)
    if push:
        drop_weights(clone, _own_weights(checkout, login), now)  # First: the rest cannot be found again once it is done.
        _push(clone, person, now)
    _write(checkout, person, login, moderated)
    _say_what_is_left(clone, person, login, pushed=push)
    return OK


def _own_weights(checkout: Checkout, login: str) -> set[str]:
    """The hashes of the weights that only this person's manifests name, also where submissions ended."""
    entries = [agent.entry() for agent in checkout.read_all()[0]]
    entries += final_entries(checkout).entries if checkout.has_ended else ()
    by_owner: dict[bool, set[str]] = {True: set(), False: set()}
    for entry in entries:
        by_owner[entry.login.casefold() == login.casefold()] |= {file.sha256 for file in entry.submission.weights}
    return by_owner[True] - by_owner[False]


def _moderated(checkout: Checkout, person: ErasedPerson) -> bytes:
    """moderation.yml, whose entries keep the places, and what is in quarantine hidden under the new name."""
    path = checkout.root / MODERATION_FILE
    content = path.read_bytes() if path.exists() else b""
    content = with_quarantines_of(content, person.renaming.login, person.renaming.mark)
    for erasure in person.erasures:
        content = with_entry(content, "erasures", erasure)
    return content


def _write(checkout: Checkout, person: ErasedPerson, login: str, moderated: bytes) -> None:
    """Change this clone: moderation.yml first."""
    if moderated:
        (checkout.root / MODERATION_FILE).write_bytes(moderated)
    for old, new, converted in person.moved_traces():
        if (checkout.store.traces / old).exists():
            write_atomically(checkout.store.traces / new, converted((checkout.store.traces / old).read_bytes()))
            (checkout.store.traces / old).unlink()
    for old, new, record in person.moved():
        write_atomically(checkout.store.results / new, record)
        (checkout.store.results / old).unlink(missing_ok=True)
        # A failed attempt that was played on this machine has no number in its name.
        (checkout.store.results / _FAILED.sub(RECORD_ENDING, old)).unlink(missing_ok=True)
    for folder in [
        *(checkout.root / SUBMISSIONS).glob("*"),
        *checkout.store.results.glob("*/*"),
        *checkout.store.traces.glob("*/*"),
    ]:
        if _is_named_after(folder.name, login.casefold()) and not folder.is_symlink():
            shutil.rmtree(folder)


def _push(clone: GitRepository, person: ErasedPerson, now: datetime) -> None:
    """Change the branches in one push for each season; the oldest first."""
    seasons = sorted({result.season for result, _ in person.results} | {duel.season for duel, _ in person.duels})
    for season in seasons:
        with open_branches(clone, season) as branches:
            tips = branches.tips()
            built = {}
            for branch, commit in (
                (RESULTS_BRANCH, _results_commit(branches, tips.get(RESULTS_BRANCH), person)),
                (traces_branch(season), _traces_commit(branches, tips.get(traces_branch(season)), person)),
            ):
                if commit.removed:
                    built[branch] = branches.build(tips[branch], commit, now)
            if built and not branches.push(built):
                raise CommandError(OUR_FAULT, "others pushed first; run 'pullrank recorded' and the same command again")


def _results_commit(branches: DataBranches, tip: str | None, person: ErasedPerson) -> BranchCommit:
    objects = branches.objects(tip)
    moved = [(old, new, content) for old, new, content in person.moved() if old in objects]
    gone = {old for old, _, _ in moved} | {path for path in objects if _is_of(path, person.renaming.login)}
    return BranchCommit(
        message="erase", files=tuple((new, content) for _, new, content in moved), removed=tuple(sorted(gone))
    )


def _traces_commit(branches: DataBranches, tip: str | None, person: ErasedPerson) -> BranchCommit:
    objects = branches.objects(tip)
    moved = [each for each in person.moved_traces() if each[0] in objects]
    if moved and tip:
        branches.repository.fetch(tip, options=("--depth=1", "--refetch"))
    contents = branches.repository.read_each([objects[old] for old, _, _ in moved])
    files = tuple((new, converted(content)) for (_, new, converted), content in zip(moved, contents, strict=True))
    gone = {old for old, _, _ in moved} | {path for path in objects if _is_of(path, person.renaming.login)}
    return BranchCommit(message="erase", files=files, removed=tuple(sorted(gone)))


def _is_of(path: str, login: str) -> bool:
    """Whether a file of a data branch is of a login, alone or in a duel: `<task>/<login>/…` or `<task>/<side>--<side>/…`."""
    parts = path.split("/")
    return len(parts) > 2 and _is_named_after(parts[1], login)


def _is_named_after(folder: str, login: str) -> bool:
    """Whether the folder is of a login, or of two players of whom it owns one."""
    names = folder.casefold().replace("-%2d", "\0").split("--") if PLAYER_SEPARATOR in folder else [folder.casefold()]
    return login in {name.partition(PLAYER_SEPARATOR)[0].replace("\0", "--") for name in names}


def _say_what_is_left(clone: GitRepository, person: ErasedPerson, login: str, *, pushed: bool) -> None:
    mark = person.renaming.mark
    say(f"{login} is {mark} now: {len(person.results)} results and {len(person.duels)} duels keep their scores and the hash")
    say("that they had; name, account number, logs, messages and links to runs are gone. Nobody else's rank has moved.")
    say("Next:")
    say(f"1. Commit {MODERATION_FILE} and the removal of {SUBMISSIONS}/{login} on main, by a pull request of a maintainer.")
    say(
        "2. The branches of results, traces and weights are changed." if pushed else
        "2. The branches of results and traces still name them: 'pullrank erase' with --push, before you commit step 1."
    )  # fmt: skip
    if lines := _lines_with(clone, login):
        more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
        say(f"3. These lines have that name; change by hand those that mean this person: {', '.join(lines[:SHOWN])}{more}.")
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
