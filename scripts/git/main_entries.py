"""The agents on a commit, read from its objects, whatever the checkout has."""

from pathlib import Path

from evaluator.host.loading.submission_folder import SubmissionFolder, assemble, check_name
from evaluator.host.loading.yaml_loader import LoadError
from evaluator.model.config.challenge import Challenge, SubmissionLimits
from evaluator.model.config.submission import SubmissionFile
from evaluator.model.identifiers import AGENT, LOGIN
from leaderboard.core.entry import AgentName, Entry
from leaderboard.core.versions import twin_fault, without_twins
from scripts.git.git_repository import FILE_MODES, GitRepository, TreeLeaf
from scripts.repository.checkout import AgentFolder
from scripts.repository.layout import EXAMPLE_AGENTS, LOCAL, SUBMISSIONS, folder_of


def read_entries(clone: GitRepository, sha: str, challenge: Challenge) -> tuple[list[Entry], list[str]]:
    """The agents of a commit with the baselines among the examples, and a line for every faulty folder."""
    folders: dict[AgentName, list[TreeLeaf]] = {}
    for leaf in clone.leaves(sha, SUBMISSIONS):
        parts = leaf.path.decode("utf-8", "replace").split("/")
        if len(parts) > 3:
            folders.setdefault(AgentName(parts[1], parts[2]), []).append(leaf)
    faults = [f"{SUBMISSIONS}/{name[0]}/{name[1]}: {_RESERVED}" for name in sorted(folders) if name[0].casefold() == LOCAL]
    folders = {name: leaves for name, leaves in folders.items() if name[0].casefold() != LOCAL}
    folders |= _baselines(clone, sha, challenge)
    entries: list[Entry] = []
    names = sorted(folders)
    for begin in range(0, len(names), 200):
        part = {name: folders[name] for name in names[begin : begin + 200]}
        _add_entries(clone, part, challenge, entries, faults)
    entries, twins = without_twins(entries)
    faults += [f"{folder_of(AgentName(entry.login, entry.agent))}: {_twin_fault(other)}" for entry, other in twins]
    return entries, faults


def _twin_fault(other: Entry) -> str:
    return f"is left out: it {twin_fault(folder_of(AgentName(other.login, other.agent)))}"


_RESERVED = f"the login {LOCAL} stands for the example agents"


def _baselines(clone: GitRepository, sha: str, challenge: Challenge) -> dict[AgentName, list[TreeLeaf]]:
    """The files of the examples that are part of the official board."""
    folders: dict[AgentName, list[TreeLeaf]] = {}
    for leaf in clone.leaves(sha, EXAMPLE_AGENTS):
        parts = leaf.path.decode("utf-8", "replace").split("/")
        if len(parts) > 2 and challenge.is_baseline(LOCAL, parts[1], example=True):
            folders.setdefault(AgentName(LOCAL, parts[1]), []).append(leaf)
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
            good[name] = [leaf for leaf in leaves if b"/__pycache__/" not in leaf.path]
    contents = iter(clone.read([leaf.oid for leaves in good.values() for leaf in leaves]))
    for name, leaves in good.items():
        login, agent = name
        blobs = tuple(_blob(name, leaf, next(contents)) for leaf in leaves)
        try:
            folder = assemble(blobs, challenge.submissions)
        except LoadError as error:
            faults.extend(f"{folder_of(name)}/{line}" for line in error.lines)
            continue
        named = challenge.is_baseline(login, agent, example=login == LOCAL)
        entries.append(Entry(login=login, agent=agent, submission=folder.submission, digest=folder.digest, baseline=named))


def _folder_fault(name: AgentName, leaves: list[TreeLeaf], limits: SubmissionLimits) -> str | None:
    if not LOGIN.fullmatch(name[0]) or not AGENT.fullmatch(name[1]):
        return "is not named <login>/<agent>"
    if any(leaf.mode not in FILE_MODES for leaf in leaves):
        return "holds something else than plain files"
    if limits.size_fault(len(leaves), sum(leaf.size for leaf in leaves)):
        return "is larger than the challenge allows"
    try:
        for leaf in leaves:
            check_name(_path_inside(name, leaf))
    except LoadError as error:
        return str(error)
    return None


def _path_inside(name: AgentName, leaf: TreeLeaf) -> str:
    """A file's path inside its agent's folder."""
    return leaf.path.decode("utf-8", "replace")[len(folder_of(name)) + 1 :]


def _blob(name: AgentName, leaf: TreeLeaf, content: bytes) -> SubmissionFile:
    return SubmissionFile(path=_path_inside(name, leaf), executable=leaf.mode == "100755", content=content)


def read_agent(clone: GitRepository, sha: str, entry: Entry, limits: SubmissionLimits) -> SubmissionFolder:
    """An entry's folder, from the commit's objects."""
    return assemble(clone.blobs(sha, folder_of(AgentName(entry.login, entry.agent))), limits)


def submission_at(clone: GitRepository, sha: str, entry: Entry, limits: SubmissionLimits) -> AgentFolder:
    """An entry as the evaluator takes it."""
    path = clone.path / Path(folder_of(AgentName(entry.login, entry.agent)))
    folder = read_agent(clone, sha, entry, limits)
    return AgentFolder(login=entry.login, agent=entry.agent, path=path, folder=folder, baseline=entry.baseline)
