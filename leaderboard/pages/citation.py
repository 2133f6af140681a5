"""How to cite a page of the leaderboard: what it shows changes, so the entry names the build and the commit."""

import re

from evaluator.model.config.challenge import Challenge
from leaderboard.site_context import SiteContext
from leaderboard.text import bibtex

_DATED = re.compile(r"\d{4}-\d\d-\d\d")


def citation(challenge: Challenge, context: SiteContext, task: str, path: str) -> str:
    """BibTeX of a page at `path` below the site's root, of one task if `task` is not empty; empty without a build date."""
    if not _DATED.match(context.generated_at):
        return ""
    commit = f" from commit {context.commit}" if context.commit else ""
    return bibtex.misc_entry(
        [challenge.title, challenge.season, task],
        title=f"{task}, {challenge.title}, season {challenge.season}"
        if task
        else f"{challenge.title}, season {challenge.season}",
        author=" and ".join(challenge.people.hosts) or f"The hosts of {challenge.title}",
        date=context.generated_at,
        address=f"{context.site_url}{path}" if context.site_url else context.repository or challenge.repository,
        note=f"Built {context.generated_at}{commit}",
    )
