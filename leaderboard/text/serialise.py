"""Writes documents: strict compact JSON, CSV, XML and BibTeX, with text that no reader can take for an instruction."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from evaluator.model.visible_text import visible

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
# Spreadsheets take text that begins with one of these for a formula, some of them also behind blanks. Where the comma is the
# decimal sign they part cells at semicolons, take a line end inside of a cell for the next row, and quotes behind both away.
_FORMULA = re.compile('^(?=[\t\r]|\\s*[=+\\-@＝＋－＠])|(?<=[;\t\r\n])(?=(?:[^\\S;\t\r\n]|")*[=+\\-@＝＋－＠])')
# XML 1.0 cannot contain these, not even as references.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_ESCAPED = re.compile("[&<>\"']")
# Letters, digits and the characters of places and scores, none of them special in XML.
_XML_SAFE = re.compile(r"[\w #.,·−\u202f]*")


def json_document(value: Any) -> bytes:
    """A JSON document. A character that UTF-8 cannot encode becomes a question mark, so that a name breaks no page."""
    return json_text(value).encode("utf-8", "replace")


def json_text(value: Any) -> str:
    """A JSON value as text, in which nothing is hidden; null for NaN and infinity."""
    try:
        # Four times as fast as the standard library.
        text = to_json(value, inf_nan_mode="null").decode()
    except PydanticSerializationError:
        # A text with a lone surrogate.
        text = _JSON.encode(value)
    # What may hide or reorder is not special in JSON, so it is replaced in the whole document at once.
    return visible(text)


def finite(value: float | None) -> float | None:
    """A number; None for NaN and infinity, which JSON lacks."""
    return value if value is not None and math.isfinite(value) else None


def csv_cell(value: object) -> object:
    """One cell of a CSV file: text like a formula gets an apostrophe, also behind a semicolon; no NaN, no infinity."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return finite(value)
        case str():
            return _FORMULA.sub("'", visible(value))
    return value


def csv_text(lines: Iterable[Iterable[object]]) -> bytes:
    """A CSV file (RFC 4180)."""
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(map(csv_cell, line) for line in lines)
    return buffer.getvalue().encode("utf-8", "replace")


def xml(text: str) -> str:
    """Text for an XML element or attribute, without characters that XML forbids, or that hide or reorder text."""
    shown = visible(text)
    if _XML_SAFE.fullmatch(shown):
        return shown
    return _ESCAPED.sub(lambda match: _XML[match.group()], _NOT_XML.sub("\ufffd", shown))


# BibTeX counts braces, also those behind a backslash: one of them alone would end a field, or the whole entry.
_ESCAPES = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
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
