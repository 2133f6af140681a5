"""Whether a workflow runs in the repository that challenge.yml names, and not in a copy, a fork or a renamed repository.

It runs before anything is installed, so it uses the standard library only:
`python3 -m scripts.github.workflow.right_repository`.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

# The line as `pullrank init` writes it, or quoted otherwise, with or without a comment after it.
_REPOSITORY_LINE = re.compile(
    r"""^repository[ \t]*:[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'#]\S*))[ \t]*(?:[ \t]\#.*)?\r?$""",
    re.MULTILINE | re.VERBOSE,
)
_REPOSITORY_URL = re.compile(r"https://[A-Za-z0-9.-]+/([A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100}?)(?:\.git)?/?")


def named_repository(challenge: str) -> str:
    """`owner/name` from the line `repository:` of a challenge.yml; empty without one."""
    line = _REPOSITORY_LINE.search(challenge)
    address = _REPOSITORY_URL.fullmatch(next(filter(None, line.groups()), "")) if line else None
    return address[1] if address else ""


def is_here(named: str, actual: str) -> bool:
    """Whether both are the same repository; GitHub ignores case."""
    return bool(named) and named.casefold() == actual.casefold()


def wrong_repository_summary(named: str, actual: str, server: str = "https://github.com") -> str:
    """The summary of a run that did nothing: why, and what to do; Markdown."""
    owner = actual.partition("/")[0]
    why = f"`challenge.yml` names the repository `{named}`" if named else "`challenge.yml` names no `repository:`"
    return (
        f"## Nothing was run\n\n{why}, and this one is `{actual}`. Until they agree no workflow does anything.\n\n"
        f'- **A fresh copy of the template:** run `pullrank init --title "…" --owner {owner} --repository {actual}`, '
        "commit, push, then `pullrank doctor --fix`.\n"
        "- **A board that was renamed or transferred:** change one line of `challenge.yml` to "
        f"`repository: {server}/{actual}`, commit it to main, then run `pullrank doctor`.\n"
        "- **A fork for a pull request:** nothing is to be done; the board's own repository evaluates it.\n"
    )


def main(environ: Mapping[str, str], root: Path) -> int:
    """Write the output `here`, `true` or `false`; if false also a summary and a warning. Returns 0 in both cases.

    Exit code 2: GITHUB_REPOSITORY is not set.
    """
    actual = environ.get("GITHUB_REPOSITORY", "")
    if not actual:
        print("GITHUB_REPOSITORY is not set; 'make here' runs in a GitHub workflow", file=sys.stderr)
        return 2
    path = root / "challenge.yml"
    named = named_repository(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else ""
    here = is_here(named, actual)
    _append(environ.get("GITHUB_OUTPUT"), f"here={'true' if here else 'false'}\n")
    if not here:
        _append(
            environ.get("GITHUB_STEP_SUMMARY"),
            wrong_repository_summary(named, actual, environ.get("GITHUB_SERVER_URL") or "https://github.com"),
        )
        print(
            f"::warning::Nothing was run: challenge.yml names {named or 'no repository'}, this is {actual}; see the summary"
        )
    return 0


def _append(path: str | None, text: str) -> None:
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    sys.exit(main(os.environ, Path.cwd()))
