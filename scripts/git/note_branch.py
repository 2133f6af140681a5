"""Branches of one commit with one small file: what a job leaves for later ones, and anybody may read."""

from datetime import datetime

from scripts.git.data_branches import BranchCommit, open_branches, tip_of
from scripts.git.git_repository import GitRepository


def read_note_file(clone: GitRepository, branch: str, name: str) -> bytes | None:
    """The content of a branch's file, empty if it is not there; None without the branch."""
    tip = tip_of(clone, branch)
    if not tip:
        return None
    with open_branches(clone, "") as branches:
        branches.repository.fetch(tip, options=("--depth=1",))
        oid = branches.objects(tip).get(name)
        return branches.repository.read([oid])[0] if oid else b""


def replace_note_file(clone: GitRepository, branch: str, name: str, content: bytes, message: str, now: datetime) -> None:
    """Replace the branch by one commit with the file.

    Raises:
        GitError: the remote refuses.
    """
    with open_branches(clone, "") as branches:
        commit = branches.build(None, BranchCommit(message=message, files=((name, content),)), now)
        branches.repository.run("push", "--porcelain", "--no-verify", "origin", f"+{commit}:refs/heads/{branch}")
