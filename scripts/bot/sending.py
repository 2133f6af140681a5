"""What is sent to GitHub: parts of addresses, and texts no longer than it takes."""

from urllib.parse import quote

from scripts.console import OUR_FAULT, CommandError

BODY_CHARACTERS = 65_536
OUTSIDE = ("/orgs/", "/users/", "/user")  # What is not below the repository.


def segment(text: str) -> str:
    """A part of an address."""
    return quote(text, safe="")


def bounded(text: str) -> str:
    """A comment's or an issue's text.

    Raises:
        CommandError: it is too long.
    """
    if len(text) > BODY_CHARACTERS:
        raise CommandError(OUR_FAULT, f"a text of {len(text):,} characters; GitHub takes {BODY_CHARACTERS:,}")
    return text
