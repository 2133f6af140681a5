"""The agents and the rules on a commit, read from its objects, whatever the checkout has."""

from collections.abc import Collection, Iterable

from evaluator.host.loading.submission_folder import assemble, check_name
from evaluator.host.loading.yaml_loader import LoadError, parse_challenge
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.submission_limits import SubmissionLimits
from evaluator.model.identifiers import AGENT, LOGIN
from leaderboard.core.entry import EXAMPLES_LOGIN, AgentName, Entry
from leaderboard.core.version_folders import duplicate_fault, without_duplicates
from scripts.git.git_repository import FILE_MODES, GitError, GitRepository, TreeLeaf, by_folder
from scripts.repository.checkout import AgentFolder
from scripts.repository.layout import EXAMPLE_AGENTS, SUBMISSIONS, folder_of

KnownFolders = dict[tuple[AgentName, tuple[TreeLeaf, ...]], Entry]
"""Folders that were read before, by what git has of them: of hundreds of merges nearly all stand on all commits."""


def read_entries(
    clone: GitRepository, sha: str, challenge: Challenge, known: KnownFolders | None = None
) -> tuple[list[Entry], list[str]]:
    """The agents of a commit with the baselines among the examples, and a line for every faulty folder.

    `known`: by the same challenge; what is read is added.
    """
    folders = _by_agent(clone.leaves(sha, SUBMISSIONS))
    reserved = [name for name in sorted(folders) if name[0].casefold() == EXAMPLES_LOGIN]
    faults = [
        f"{SUBMISSIONS}/{'/'.join(name)}: the login {EXAMPLES_LOGIN} stands for the example agents" for name in reserved
    ]
    folders = {name: leaves for name, leaves in folders.items() if name[0].casefold() != EXAMPLES_LOGIN}
    folders |= _baselines(clone, sha, challenge)
    return _read_folders(clone, folders, challenge, {} if known is None else known, faults)


def entries_of_logins(
    clone: GitRepository, sha: str, challenge: Challenge, logins: Collection[str], known: KnownFolders
) -> list[Entry]:
    """The agents of some logins, in any spelling, among those that `read_entries` has of the commit.

    What is said about hundreds of merges would otherwise list all agents hundreds of times.
    """
    wanted = {login.casefold() for login in logins} - {EXAMPLES_LOGIN}
    spelled = [login for login in clone.logins(sha) if login.casefold() in wanted]
    folders = _by_agent(leaf for login in spelled for leaf in clone.leaves(sha, f"{SUBMISSIONS}/{login}"))
    return _read_folders(clone, folders, challenge, known, [])[0]


def _by_agent(leaves: Iterable[TreeLeaf]) -> dict[AgentName, list[TreeLeaf]]:
    return {AgentName(*path.split("/")[1:]): files for path, files in by_folder(leaves).items()}


def _read_folders(
    clone: GitRepository,
    folders: dict[AgentName, list[TreeLeaf]],
    challenge: Challenge,
    known: KnownFolders,
    faults: list[str],
) -> tuple[list[Entry], list[str]]:
    """The agents in these folders, and the faults with a line for every faulty folder more."""
    entries = [entry for name, leaves in folders.items() if (entry := known.get((name, tuple(leaves))))]
    names = sorted(folders.keys() - {entry.spelled_name for entry in entries})
    for begin in range(0, len(names), 200):
        part = {name: folders[name] for name in names[begin : begin + 200]}
        _add_entries(clone, part, challenge, entries, faults)
    known |= {(entry.spelled_name, tuple(folders[entry.spelled_name])): entry for entry in entries}
    entries.sort(key=lambda entry: entry.spelled_name)
    entries, duplicates = without_duplicates(entries)
    for entry, other in duplicates:
        faults.append(f"{folder_of(entry.spelled_name)}: is left out: it {duplicate_fault(folder_of(other.spelled_name))}")
    return entries, faults


def _baselines(clone: GitRepository, sha: str, challenge: Challenge) -> dict[AgentName, list[TreeLeaf]]:
    """The files of the examples that are part of the official board."""
    folders: dict[AgentName, list[TreeLeaf]] = {}
    for leaf in clone.leaves(sha, EXAMPLE_AGENTS):
        parts = leaf.text.split("/")
        if len(parts) > 2 and challenge.is_baseline(EXAMPLES_LOGIN, parts[1], example=True):
            folders.setdefault(AgentName(EXAMPLES_LOGIN, parts[1]), []).append(leaf)
    return folders


def _add_entries(
    clone: GitRepository,
    folders: dict[AgentName, list[TreeLeaf]],
    challenge: Challenge,
    entries: list[Entry],
    faults: list[str],
) -> None:
    good: dict[AgentName, list[TreeLeaf]] = {}
    for name, leaves in folders.items():
        if fault := _folder_fault(name, leaves, challenge.submissions):
            faults.append(f"{folder_of(name)}: {fault}")
        else:
            good[name] = [leaf for leaf in leaves if leaf.is_hashed]
    contents = clone.read_each([leaf.oid for leaves in good.values() for leaf in leaves])
    for name, leaves in good.items():
        login, agent = name
        blobs = tuple(leaf.file(folder_of(name), next(contents)) for leaf in leaves)
        try:
            folder = assemble(blobs, challenge.submissions)
        except LoadError as error:
            faults.extend(f"{folder_of(name)}/{line}" for line in error.lines)
            continue
        named = challenge.is_baseline(login, agent, example=login == EXAMPLES_LOGIN)
        entries.append(Entry(login=login, agent=agent, submission=folder.submission, digest=folder.digest, baseline=named))


def _folder_fault(name: AgentName, leaves: list[TreeLeaf], limits: SubmissionLimits) -> str | None:
    if not LOGIN.fullmatch(name[0]) or not AGENT.fullmatch(name[1]):
        return "is not named <login>/<agent>"
    if any(leaf.mode not in FILE_MODES for leaf in leaves):
        return "holds something else than plain files"
    if limits.folder_fault({leaf.text: leaf.size for leaf in leaves}):
        return "is larger than the challenge allows"
    try:
        for leaf in leaves:
            check_name(leaf.text[len(folder_of(name)) + 1 :])
    except LoadError as error:
        return str(error)
    return None


def rules_at(clone: GitRepository, commit: str) -> Challenge | None:
    """challenge.yml at a commit; None where it cannot be read."""
    try:
        return parse_challenge(clone.run("show", f"{commit}:challenge.yml"))
    except (GitError, LoadError):
        return None


def submission_at(clone: GitRepository, sha: str, entry: Entry, limits: SubmissionLimits) -> AgentFolder:
    """An entry as the evaluator takes it, from the commit's objects."""
    path = folder_of(entry.spelled_name)
    folder = assemble(clone.blobs(sha, path), limits)
    return AgentFolder(login=entry.login, agent=entry.agent, path=clone.path / path, folder=folder, baseline=entry.baseline)
