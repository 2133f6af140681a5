"""How documents are written: strict JSON without spaces, in UTF-8, and text that no reader can take for an instruction."""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pydantic_core import PydanticSerializationError, to_json

from evaluator.model.identifiers import safe_path_segment
from leaderboard.text import urls
from leaderboard.text.escape_markdown import visible

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
# What spreadsheets take for a formula, or for the end of a cell.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What a cell holds only in quotes, as `csv` has it.
_QUOTED = re.compile('[,"\r\n]')
# XML 1.0 has no way to write these, not even as references.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_ESCAPED = re.compile("[&<>\"']")
# Letters, digits and what places and scores are written with: nothing of it hides, and XML reads all of it as it is.
_PLAIN = re.compile(r"[\w #.,·−\u202f]*")
# What is not a task and not an agent, but stands where one could stand.
_TAKEN = ("overall", "board")


def json_document(value: Any) -> bytes:
    """A JSON document. What no encoding can write becomes a question mark, so that a name never stops a board."""
    return json_text(value).encode("utf-8", "replace")


def json_text(value: Any) -> str:
    """A JSON value as text; null for a number that JSON has no word for."""
    try:
        # A million times: it takes a quarter of the time of the standard library's.
        return to_json(value, inf_nan_mode="null").decode()
    except PydanticSerializationError:
        # A name with half a character in it.
        return _JSON.encode(value)


def json_scalars(values: Sequence[float | None]) -> list[str]:
    """Each number, true, false or null as JSON, in one call for all: there is no text among them that holds a comma."""
    return json_text(values)[1:-1].split(",") if values else []


def wrap_json_list(head: Mapping[str, Any], name: str, items: Iterable[str], tail: Mapping[str, Any]) -> bytes:
    """A document with a list in its midst whose items are JSON already."""
    whole = f"{json_text(head)[:-1]},{json_text(name)}:[{','.join(items)}]"
    return f"{whole},{json_text(tail)[1:]}".encode("utf-8", "replace") if tail else f"{whole}}}".encode("utf-8", "replace")


def finite(value: float | None) -> float | None:
    """A number, and None for what JSON has no word for."""
    return value if value is not None and math.isfinite(value) else None


def cell(value: object) -> object:
    """One cell of a CSV file: text that begins like a formula gets an apostrophe, numbers stay numbers."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else value
    return value


def csv_cell(value: str) -> str:
    """One cell of text as it stands in the file, in quotes where it holds what ends a cell."""
    plain = str(cell(value))
    doubled = plain.replace('"', '""')
    return f'"{doubled}"' if _QUOTED.search(plain) else plain


def csv_text(lines: Iterable[Iterable[object]]) -> bytes:
    """A CSV file (RFC 4180)."""
    whole = io.StringIO(newline="")
    csv.writer(whole).writerows(map(cell, line) for line in lines)
    return whole.getvalue().encode("utf-8", "replace")


def xml(text: str) -> str:
    """Text for XML, in an element or an attribute, without what XML forbids and without what hides or reorders."""
    if _PLAIN.fullmatch(text):
        return text
    return _ESCAPED.sub(lambda found: _XML[found.group()], _NOT_XML.sub("\ufffd", visible(text)))


def segment(task_id: str) -> str:
    """A task's part of a path. A task that is called like something else gives way; no task begins with `_`."""
    plain = safe_path_segment(task_id)
    return f"_{plain}" if plain.casefold() in _TAKEN else plain


def task_file(task_id: str, name: str) -> str:
    """A document of a task, as a path below the site's root."""
    return f"api/tasks/{safe_path_segment(task_id)}/{name}"


def agent_file(login: str, agent: str) -> str:
    """The document of an agent, as a path below the site's root."""
    return f"api/agents/{login}/{agent}.json"


def address(path: str) -> str:
    """The address below the site's root at which a file is served."""
    return quote(path)


def agent_address(login: str, agent: str) -> str:
    """An agent's page, as an address below the site's root."""
    return urls.address(urls.agent_page(login, agent))


def task_address(task_id: str) -> str:
    """A task's page, as an address below the site's root."""
    return urls.address(urls.task_page(task_id))
