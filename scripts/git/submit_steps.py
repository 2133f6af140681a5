"""What is left to do in a clone until an agent's pull request is open: fork, branch, commit, push."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from scripts.git.git_repository import GitRepository
from scripts.git.pull_request_guard import GuardedPaths, PullAuthor, inspect_pull
from scripts.repository.checkout import AgentFolder, Checkout
from scripts.repository.layout import MAIN_BRANCH, SUBMISSIONS, repository_name

FORK_REMOTE = "fork"
# An address as scp has them: git@github.com:alice/board.git.
_SCP_ADDRESS = re.compile(r"(?:[^/@:]+@)?[^/@:]+\.[^/@:]+:(?P<path>[^/:][^:]*)")


@dataclass(frozen=True, kw_only=True)
class CloneState:
    """A clone as it is, compared with the board's main."""

    git: GitRepository
    head: str
    branch: str | None
    """The branch that is checked out; None without one."""
    base: str
    """The name of the board's main here, such as `origin/main`."""
    base_commit: str
    guarded: GuardedPaths
    """What is committed since main."""
    uncommitted: tuple[str, ...]
    """Paths that are changed or new and not committed."""
    remotes: dict[str, str]
    """`owner/name` of each remote on a server; empty for one that is a path."""


def read_clone(checkout: Checkout, login: str) -> CloneState | None:
    """The state of a board's clone for what one login may change; None if it is no clone with a branch main.

    Raises:
        CommandError: this is no clone, or git failed.
    """
    git = GitRepository(checkout.root)
    remotes = _remotes(git)
    board = repository_name(checkout.challenge.repository).casefold()
    of_board = [name for name, repository in remotes.items() if board and repository.casefold() == board]
    names = [f"{remote}/{MAIN_BRANCH}" for remote in (*of_board, "origin")]
    refs = {**{name: f"refs/remotes/{name}" for name in names}, MAIN_BRANCH: f"refs/heads/{MAIN_BRANCH}"}
    head = git.resolve("HEAD")
    base = next(((name, commit) for name, ref in refs.items() if (commit := git.resolve(ref))), None)
    if not head or not base:
        return None
    guarded = inspect_pull(git, base[1], head, PullAuthor(login=login), checkout.challenge.submissions)
    branch = git.found("symbolic-ref", "--quiet", "--short", "HEAD").decode("utf-8", "replace").strip()
    changed = tuple(line[3:] for line in git.status("--untracked-files=all"))
    return CloneState(
        git=git, head=head, branch=branch or None, base=base[0], base_commit=base[1], guarded=guarded, uncommitted=changed,
        remotes=remotes,
    )  # fmt: skip


def _remotes(git: GitRepository) -> dict[str, str]:
    raw = git.found("config", "--null", "--get-regexp", r"^remote\..*\.url$").decode("utf-8", "replace")
    pairs = (each.partition("\n") for each in raw.split("\0") if each)
    return {key.removeprefix("remote.").removesuffix(".url"): _owner_and_name(address) for key, _, address in pairs}


def _owner_and_name(address: str) -> str:
    if scp := _SCP_ADDRESS.fullmatch(address):
        return repository_name(f"/{scp['path']}")
    return repository_name(address) if urlsplit(address).netloc else ""


@dataclass(frozen=True, kw_only=True)
class SubmitSteps:
    """What is left to do."""

    commands: tuple[str, ...]
    """For a shell, in this order; every word of them is safe in one."""
    address: str | None
    """GitHub's page that opens the pull request; None where it is not known, or nothing is left to open."""
    note: str = ""
    """What the pull request would do besides, or why there is none; empty for neither."""


def submit_steps(checkout: Checkout, entry: AgentFolder, state: CloneState) -> SubmitSteps:
    """What is left to do until the pull request with an agent is open, by the state of the clone."""
    folder = f"{SUBMISSIONS}/{entry.login}/{entry.agent}"
    is_changed = any(path.startswith(f"{folder}/") for path in state.uncommitted)
    is_committed = folder in state.guarded.agents
    if not is_changed and not is_committed:
        return SubmitSteps(commands=(), address=None, note=f"{state.base} has this version: there is nothing to submit.")
    others = [each for each in (*state.guarded.agents, *state.guarded.removed) if each != folder]
    begins = not is_committed and (state.branch in (None, MAIN_BRANCH) or bool(others))
    is_new = begins or state.branch in (None, MAIN_BRANCH)
    branch = _free_branch(entry.agent, state) if is_new else str(state.branch)
    remote = _fork_remote(checkout, entry.login, state)
    commands: list[str] = []
    if begins:
        commands.append(shlex.join(["git", "switch", "--no-track", "-c", branch, state.base]))
    elif is_new:
        commands.append(shlex.join(["git", "switch", "-c", branch]))
    if is_changed:
        change = "Update" if state.git.leaves(state.base_commit, folder) else "Enter"
        commands.append(shlex.join(["git", "add", entry.shown]))
        commands.append(shlex.join(["git", "commit", "-m", f"{change} {entry.agent}"]))
    is_pushed = not commands and remote is not None and state.git.resolve(f"refs/remotes/{remote}/{branch}") == state.head
    if not is_pushed:
        commands += _push(checkout, entry.login, remote, branch)
    note = ""
    if remote is None and checkout.challenge.repository:
        note = f"Without gh, press Fork at {checkout.challenge.repository} instead."
    if others and not begins:
        note = f"The pull request would change {', '.join(others)} as well, which this branch has, too."
    elif remote is None and not checkout.challenge.repository:
        note = "This clone has no remote to push to, and challenge.yml names no repository: add your fork as a remote."
    return SubmitSteps(commands=tuple(commands), address=_address(checkout, entry.login, state, remote, branch), note=note)


def _free_branch(agent: str, state: CloneState) -> str:
    """A branch's name that is not taken here."""
    name = re.sub(r"\.+", "-", agent)  # git has names with dots that no branch may have: a..b, a.lock
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, 1000))
    return next(each for each in names if state.git.resolve(f"refs/heads/{each}") is None)


def _fork_remote(checkout: Checkout, login: str, state: CloneState) -> str | None:
    """The remote to push to: the login's own; another's if it is not the board; None if a fork is missing."""
    owners = {name: repository.partition("/")[0].casefold() for name, repository in state.remotes.items()}
    if own := next((name for name, owner in owners.items() if owner == login.casefold()), None):
        return own
    board = repository_name(checkout.challenge.repository).casefold()
    usual = [name for name in (FORK_REMOTE, "origin") if name in state.remotes]
    return next((name for name in usual if not board or state.remotes[name].casefold() != board), None)


def _push(checkout: Checkout, login: str, remote: str | None, branch: str) -> Iterator[str]:
    board = checkout.challenge.repository
    if remote is None and board:
        address = board.rstrip("/").removesuffix(".git")
        server, name = address.removesuffix(f"/{repository_name(board)}"), repository_name(board).rpartition("/")[2]
        yield shlex.join(["gh", "repo", "fork", address, "--clone=false"])
        yield shlex.join(["git", "remote", "add", FORK_REMOTE, f"{server}/{login}/{name}.git"])
        remote = FORK_REMOTE
    if remote is not None:
        yield shlex.join(["git", "push", "-u", remote, branch])


def _address(checkout: Checkout, login: str, state: CloneState, remote: str | None, branch: str) -> str | None:
    board = checkout.challenge.repository
    owner = login if remote is None else state.remotes[remote].partition("/")[0]
    if not board or not owner:
        return None
    head = quote(f"{owner}:{branch}", safe=":/")
    return f"{board.rstrip('/').removesuffix('.git')}/compare/{MAIN_BRANCH}...{head}?expand=1"
