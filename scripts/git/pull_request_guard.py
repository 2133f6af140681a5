"""The guard of pull requests: a pull request may change its author's own folders, with plain files, and nothing else.

It compares git objects with renames off: the API's lists end at 300 or 3,000 files, and show a rename as one entry.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from evaluator.host.loading.submission_folder import POINTER_FAULT, check_name, new_names_fault, new_path_fault
from evaluator.host.loading.weights_cache import POINTER_BYTES, is_pointer
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.host.usage import MIB
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.identifiers import AGENT, AGENT_RULE, new_agent_fault
from leaderboard.core.entry import EXAMPLES_LOGIN
from scripts.git.copied_folders import FoldersByNames, copy_faults
from scripts.git.git_repository import FILE_MODES, GitRepository, TreeLeaf, by_folder
from scripts.git.tree_diff import (
    AddedBytes,
    TreeChange,
    UnreadableError,
    added_bytes,
    commit_outside,
    list_leaves,
    merge_bases,
    tree_changes,
)
from scripts.github.api.responses import GHOST
from scripts.repository.layout import SUBMISSIONS

FAULTS_SHOWN = 50
# Agents that one pull request may change: all files of each are read.
AGENTS_CHANGED = 200
# A pull request's commits may hold so many versions of its folders, at their largest: a merge keeps all for ever, and every
# job fetches them, also those that the last commit no longer has.
VERSIONS_KEPT = 4
# Git packs zeros a thousand times smaller, and almost equal files to nothing, but each clone unpacks all: this many times as
# much as it may be packed, but no more than the last in all. Each commit brings the whole list of logins, too.
UNPACKED_TIMES, LISTS_BYTES, UNPACKED_BYTES = 4, 64 * MIB, 2048 * MIB
# Of messages and signatures. Each plan and report reads all of main's own commits, as which a rebase brings these.
COMMITS_BYTES = 4 * MIB
NO_HISTORY = "the pull request has no commit in common with main; begin it on a branch of main"
LOST = "main has it no longer, so that a merge could change another file instead; merge main into the branch"
_RESERVED_LOGINS = {EXAMPLES_LOGIN: "the example agents", GHOST: "deleted accounts"}
_MODE_FAULTS = {
    "120000": "is a symbolic link; put the file itself there",
    "160000": "is another repository; put its files there",
}


@dataclass(frozen=True, kw_only=True)
class GuardedPaths:
    """What a pull request changes, and what of it is not allowed."""

    agents: tuple[str, ...]
    """Changed folders `submissions/<login>/<agent>` that are in the head."""
    removed: tuple[str, ...]
    """Folders that the head no longer has: withdrawn agents."""
    faults: tuple[str, ...]
    """What is wrong inside the author's own folders, each with what to do."""
    outside: tuple[str, ...] = ()
    """Changed paths of others, printable; any of them makes the scores untrusted."""
    touches_agents: bool = False
    """Whether anything in the folder of submissions is changed, by whom it may be."""

    @property
    def is_clean(self) -> bool:
        """Whether the pull request changed only its author's folders, within the rules. Only then are its scores trusted."""
        return not self.faults and not self.outside

    @property
    def withdrawn(self) -> tuple[str, ...]:
        """The removed agents, as `login/agent`."""
        return tuple(folder.removeprefix(f"{SUBMISSIONS}/") for folder in self.removed)


@dataclass(frozen=True, kw_only=True)
class PullAuthor:
    """Who opened the pull request."""

    login: str
    id: int | None = None
    """GitHub's account id: a login can be given up and registered by somebody else."""
    known_ids: frozenset[int] = field(default_factory=frozenset)
    """Account ids under which results of this login are recorded."""


def check_paths(changed: Iterable[TreeChange], login: str, owners: Mapping[str, str]) -> GuardedPaths:
    """Check the changed paths alone. `owners`: login without capitals to the spelling of its folder on main."""
    folder = owners.get(login.casefold(), login)
    changed_agents: set[str] = set()
    deleted_agents: set[str] = set()
    faults: list[str] = []
    outside: list[str] = []
    touches_agents = False
    for change in changed:
        path = change.path.decode("utf-8", "backslashreplace")
        parts = path.split("/")
        touches_agents |= parts[0] == SUBMISSIONS
        if len(parts) < 2 or parts[0] != SUBMISSIONS or parts[1].casefold() != folder.casefold():
            outside.append(_printable(path))
        elif fault := _path_fault(change, parts, folder):
            faults.append(f"{_printable(path)}: {fault}")
        else:
            (deleted_agents if change.status == "D" else changed_agents).add("/".join(parts[:3]))
    return GuardedPaths(
        agents=tuple(sorted(changed_agents)),
        removed=tuple(sorted(deleted_agents - changed_agents)),
        faults=_shortened(faults),
        outside=_shortened(outside),
        touches_agents=touches_agents,
    )


def _path_fault(change: TreeChange, parts: list[str], folder: str) -> str | None:
    """What is wrong with a changed path in the author's folder; deleting is always allowed."""
    if stands_for := _RESERVED_LOGINS.get(folder.casefold()):
        return f"the login {folder.casefold()} stands for {stands_for}; submit under another account"
    if parts[1] != folder:
        return f"the folder is spelled {SUBMISSIONS}/{folder}; rename it"
    if len(parts) > 2 and not AGENT.fullmatch(parts[2]) and len(parts) > 3:
        return f"an agent's folder is named with {AGENT_RULE}; rename it"
    if change.status == "D":
        return None
    if change.new_mode not in FILE_MODES:
        return _MODE_FAULTS.get(change.new_mode, f"has git's mode {change.new_mode}; commit a plain file")
    if len(parts) > 3 and (fault := new_agent_fault(parts[2])):
        return fault
    if len(parts) < 4:
        return f"lies outside an agent's folder; move it to {SUBMISSIONS}/{folder}/<agent>/"
    return _name_fault("/".join(parts[3:]))


def _name_fault(inside: str) -> str | None:
    try:
        check_name(inside)
    except LoadError as error:
        return str(error).partition(": ")[2]
    return new_path_fault(inside)


def _printable(path: str) -> str:
    shown = path.encode("unicode_escape").decode("ascii") if not path.isprintable() else path
    return shown if len(shown) <= 200 else shown[:197] + "…"


def _shortened(lines: list[str]) -> tuple[str, ...]:
    more = len(lines) - FAULTS_SHOWN
    return tuple(lines) if more <= 0 else (*lines[:FAULTS_SHOWN], f"and {more} more")


def owners_on(leaves: Iterable[TreeLeaf]) -> dict[str, str]:
    """Login without capitals to the spelling of its folder."""
    return by_casefold({leaf.path.split(b"/")[1].decode("utf-8", "replace") for leaf in leaves if leaf.path.count(b"/") > 1})


def by_casefold(logins: Iterable[str]) -> dict[str, str]:
    """Login without capitals to the spelling of its folder."""
    return {name.casefold(): name for name in sorted(logins)}


def inspect_pull(
    repository: GitRepository, base: str, head: str, author: PullAuthor, limits: SubmissionLimits
) -> GuardedPaths:
    """Everything the guard asks, of two commits that lie in the repository: main's and the pull request's.

    Raises:
        GitError: one of them is not there.
    """
    try:
        return _inspect(repository, base, head, author, limits)
    except UnreadableError as error:
        return GuardedPaths(agents=(), removed=(), faults=(error.reason,))


def _inspect(repository: GitRepository, base: str, head: str, author: PullAuthor, limits: SubmissionLimits) -> GuardedPaths:
    bases = merge_bases(repository, base, head)
    if not bases:
        return GuardedPaths(agents=(), removed=(), faults=(NO_HISTORY,))
    owners, agents_on_main = _agents_on_main(repository, base)
    changes = tree_changes(repository, base, head, author.login)
    guarded = check_paths(changes, author.login, owners)
    changed = {*guarded.agents, *guarded.removed}
    in_head = _head_folders(repository, head, changed)
    changed_in_head = sorted(changed & in_head.keys())
    faults = list(guarded.faults)
    if author.known_ids and author.id not in author.known_ids and author.login.casefold() in owners:
        faults.append(
            f"{SUBMISSIONS}/{author.login}: belongs to another account that had this login before; ask a maintainer"
        )
    if len(changed_in_head) > AGENTS_CHANGED:
        faults.append(f"the pull request changes more than {AGENTS_CHANGED} agents; split it into several")
    if not faults and not guarded.outside:
        owner = f"{SUBMISSIONS}/{owners.get(author.login.casefold(), author.login)}"
        on_main = repository.leaves(base, owner)
        before = [leaf for since in bases for leaf in list_leaves(repository, since, owner)]
        faults += _lost_faults(before, on_main, changes)
        merged = _merged_names(on_main, changes)
        faults += [
            f"{path}: {line}" for path in changed_in_head for line in _folder_faults(path, in_head[path], merged, limits)
        ]
    if not faults and not guarded.outside:
        faults += [line for path in changed_in_head for line in _pointer_faults(repository, path, in_head[path])]
    if not faults and not guarded.outside:
        faults += copy_faults(repository, agents_on_main, {path: in_head[path] for path in changed_in_head}, removed=changed)
    if not faults and not guarded.outside:
        faults += _history_faults(added_bytes(repository, base, head), max(1, len(changed_in_head)), limits)
    # A merge makes each of them a part of main: an open pull request with such a commit would count as merged.
    if not faults and not guarded.outside and (commit := commit_outside(repository, base, head, author.login)):
        words = f"{commit} changes what is not in {owner}, though a later one takes it back"
        faults.append(f"{words}; begin a new branch on main, with one commit")
    return GuardedPaths(
        agents=tuple(changed_in_head),
        removed=tuple(sorted(changed - in_head.keys())),
        faults=_shortened(faults),
        outside=guarded.outside,
        touches_agents=guarded.touches_agents,
    )


@lru_cache(maxsize=2)
def _agents_on_main(repository: GitRepository, base: str) -> tuple[Mapping[str, str], FoldersByNames]:
    """The owners and the agents on main: listed once for all pull requests that a report looks at."""
    leaves = repository.leaves(base, SUBMISSIONS)
    return owners_on(leaves), FoldersByNames(by_folder(leaves))


def uncommitted_copy_faults(repository: GitRepository, base: str, path: str, files: Iterable[SubmissionFile]) -> list[str]:
    """What the guard will say of a folder that lies on the disk: whether it is the same agent as one on main.

    Git stores the files as it does at `git add`, but adds them to nothing.
    """
    leaves = [
        TreeLeaf(
            mode=FILE_MODES[file.executable], size=len(file.content), path=f"{path}/{file.path}".encode(),
            oid=repository.run("hash-object", "-w", "--stdin", given=file.content).decode().strip(),
        )
        for file in files
    ]  # fmt: skip
    return copy_faults(repository, _agents_on_main(repository, base)[1], {path: leaves}, removed={path})


def _head_folders(repository: GitRepository, head: str, changed: set[str]) -> dict[str, list[TreeLeaf]]:
    """The agents' folders in the head, of the logins whose folders changed."""
    owners = sorted({"/".join(path.split("/")[:2]) for path in changed})
    return by_folder(leaf for owner in owners for leaf in list_leaves(repository, head, owner))


def _lost_faults(before: Iterable[TreeLeaf], on_main: Iterable[TreeLeaf], changes: Iterable[TreeChange]) -> Iterator[str]:
    """A line for each file or folder of the author's that is changed here, and that main has lost since the merge base.

    A merge takes a file that is gone, and one like it that came meanwhile, whoever's it is, for one file that was moved, and
    makes the pull request's change there.
    """
    now = {step for leaf in on_main for step in _steps(leaf.path)}
    lost = {step for leaf in before for step in _steps(leaf.path)} - now
    written = [_steps(change.path) for change in changes if change.status != "D"]
    gone = {step for steps in written if (step := next((step for step in steps if step in lost), None))}
    yield from (f"{_printable(step.decode('utf-8', 'backslashreplace'))}: {LOST}" for step in sorted(gone))


def _steps(path: bytes) -> list[bytes]:
    """The agent's folder of a path, and every step to the path itself."""
    parts = path.split(b"/")
    return [b"/".join(parts[:end]) for end in range(3, len(parts) + 1)]


def _merged_names(on_main: Iterable[TreeLeaf], changes: Sequence[TreeChange]) -> list[str]:
    """The author's files that main has after the merge: some may have come there since the pull request began."""
    deleted = {change.path for change in changes if change.status == "D"}
    names = {leaf.path for leaf in on_main} | {change.path for change in changes}
    return sorted(name.decode("utf-8", "replace") for name in names - deleted)


def _folder_faults(path: str, files: Sequence[TreeLeaf], merged: Sequence[str], limits: SubmissionLimits) -> tuple[str, ...]:
    """What is wrong with a complete folder, unchanged files included; sizes are checked before anything is read.

    Faults of the manifest or the entry point are left to the evaluation, as a verdict.
    """
    if too_large := limits.folder_fault({leaf.text.split("/", 3)[-1]: leaf.size for leaf in files}):
        return (too_large,)
    fault = new_names_fault(name for name in merged if name.startswith(f"{path}/"))
    return (_printable(fault),) if fault else ()


def _history_faults(added: AddedBytes, agents: int, limits: SubmissionLimits) -> Iterator[str]:
    """A line if the commits of so many agents bring too many bytes."""
    most = VERSIONS_KEPT * limits.kib * 1024 * agents
    most_unpacked = min(UNPACKED_TIMES * most + LISTS_BYTES, UNPACKED_BYTES)
    how = "make them one: 'git reset --soft origin/main', then commit and push with --force"
    if added.packed > most:
        yield f"the commits bring {added.packed / MIB:.1f} MiB of at most {most / MIB:.1f}, earlier versions included; {how}"
    elif added.unpacked > most_unpacked:
        size = f"{added.unpacked / MIB:.1f} MiB of at most {most_unpacked / MIB:.1f} when they are unpacked"
        yield f"the commits bring {size}, earlier versions included; {how}"
    elif added.commits > COMMITS_BYTES:
        size = f"{added.commits / MIB:.1f} MiB of at most {COMMITS_BYTES / MIB:.1f}"
        yield f"the commits without their files have {size}, such as by their messages; {how}"


def _pointer_faults(repository: GitRepository, path: str, files: Sequence[TreeLeaf]) -> Iterator[str]:
    """A line for each Git LFS pointer; only files small enough to be one are read."""
    small = [leaf for leaf in files if leaf.size < POINTER_BYTES]
    for leaf, content in zip(small, repository.read([leaf.oid for leaf in small]), strict=True):
        if is_pointer(content):
            name = leaf.text.removeprefix(f"{path}/")
            yield f"{path}: {_printable(name)}: {POINTER_FAULT}"
