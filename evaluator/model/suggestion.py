"""The name that was probably meant, in messages about a name that there is not."""

from collections.abc import Iterable

# More names than these are not listed.
LISTED_NAMES = 20


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name most like a word, whatever its capitals; None if none is like it."""
    import difflib  # imported late: needed only for a fault

    by_folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(word[:100].casefold(), by_folded, n=1)
    return by_folded[near[0]] if near else None


def did_you_mean(word: str, names: Iterable[str], known: str) -> str:
    """A hint: the nearest name, or all of them after the words `known`, such as "the tasks are"."""
    names = list(names)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean '{near}'?"
    return listed(names, known)


def listed(names: list[str], known: str) -> str:
    """Names after the words `known`, LISTED_NAMES at most."""
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return f"{known} {', '.join(names[:LISTED_NAMES])}{more}"
