"""BibTeX entries of leaderboards and seasons."""

import re
from collections.abc import Sequence

_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def misc_entry(key: Sequence[str], *, title: str, author: str, date: str, address: str | None, note: str = "") -> str:
    """An entry of type misc; `key` are the texts that its key is made of, `date` begins with year and month."""
    words = re.findall(r"[a-z0-9]+", " ".join(key).lower())
    lines = [
        f"  title = {{{{{_latex(title)}}}}},",
        f"  author = {{{{{_latex(author)}}}}},",
        f"  year = {{{date[:4]}}},",
        f"  month = {{{int(date[5:7])}}},",
        *([f"  url = {{{address}}},"] if address else []),
        *([f"  note = {{{_latex(note)}}},"] if note else []),
    ]
    return "\n".join([f"@misc{{{'-'.join(words) or 'board'},", *lines, "}"]) + "\n"


def _latex(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in text)
