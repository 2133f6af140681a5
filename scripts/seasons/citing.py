"""How a closed season is cited: CITATION.cff for GitHub and archives, BibTeX for papers."""

import json
import re
from dataclasses import dataclass

from evaluator.model.config.challenge import Challenge

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Citation:
    """What a citation says."""

    challenge: Challenge
    """The board."""
    by: str
    """Who signs for the season."""
    date: str
    """The day it was closed: 2026-12-31."""
    address: str | None
    """Where the archived board is."""

    @property
    def title(self) -> str:
        """The board and its season."""
        return f"{self.challenge.title}, season {self.challenge.season}"

    def cff(self) -> str:
        """CITATION.cff, version 1.2.0: every value is written as JSON, which is YAML."""
        fields: dict[str, object] = {
            "cff-version": "1.2.0",
            "message": "If you use these results, please cite them like this.",
            "type": "dataset",
            "title": self.title,
            "version": self.challenge.season,
            "date-released": self.date,
            "authors": [{"name": self.by}],
        }
        if self.challenge.repository:
            fields["repository-code"] = self.challenge.repository
        if self.address:
            fields["url"] = self.address
        return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())

    def bibtex(self) -> str:
        """One entry of type misc."""
        words = re.findall(r"[a-z0-9]+", f"{self.challenge.title} {self.challenge.season}".lower())
        address = self.address or self.challenge.repository
        lines = [
            f"  title = {{{{{_tex(self.title)}}}}},",
            f"  author = {{{{{_tex(self.by)}}}}},",
            f"  year = {{{self.date[:4]}}},",
            f"  month = {{{int(self.date[5:7])}}},",
            *([f"  url = {{{address}}},"] if address else []),
        ]
        return "\n".join([f"@misc{{{'-'.join(words) or 'board'},", *lines, "}"]) + "\n"


def _tex(text: str) -> str:
    return "".join(_SPECIAL.get(letter, letter) for letter in text)
