"""GitHub's own description of its API: every request of the bot and every answer of the stand-in is checked against it."""

import copy
import gzip
import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from openapi_core import Config, OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.testing import MockRequest, MockResponse

HOST = "https://api.github.com"


@cache
def description() -> dict[str, Any]:
    """The description, as trim.py made it."""
    document: dict[str, Any] = json.loads(gzip.decompress(Path(__file__).with_name("api.json.gz").read_bytes()))
    return document


@cache
def _api() -> OpenAPI:
    return OpenAPI.from_dict(description(), config=Config(spec_validator_cls=None))


def example(name: str) -> Any:
    """One of GitHub's own examples, to be changed at will."""
    return copy.deepcopy(description()["components"]["examples"][name]["value"])


# The same requests with the same answers are made again and again: checking each once halves what a test of settings takes.
@lru_cache(200)
def request_faults(verb: str, path: str, query: str, body: bytes) -> tuple[MockRequest, list[str]]:
    """The request, and what GitHub would say against it."""
    request = MockRequest(
        HOST, verb.lower(), path, args=dict(parse_qsl(query)), data=body or None, content_type="application/json"
    )
    return request, _faults(f"request {verb} {path}", lambda: _api().validate_request(request))


# GitHub has null there for deleted forks and accounts, whatever its description says.
_NULLS = re.compile(r"(\d+\.)?(head\.repo|user): (None for not nullable|None is not of type 'object')")


def answer_faults(request: MockRequest, status: int, body: bytes | None, headers: Mapping[str, str]) -> list[str]:
    """What GitHub's description says against an answer of the stand-in; not every refusal is described."""
    # What counts down is no other answer.
    counting = {name for name, value in headers.items() if name.startswith("X-RateLimit-") and value.isdecimal()}
    named = tuple((name, "1" if name in counting else value) for name, value in headers.items())
    return _answer_faults(request, status, body, named)


@lru_cache(200)
def _answer_faults(request: MockRequest, status: int, body: bytes | None, headers: tuple[tuple[str, str], ...]) -> list[str]:
    kind = "application/json" if body else "text/plain"
    response = MockResponse(body or b"", status_code=status, headers=dict(headers), content_type=kind)
    title = f"answer {status} to {request.method} {request.path}"
    faults = _faults(title, lambda: _api().validate_response(request, response))
    return [] if status >= 400 and any("Unknown response http status" in fault for fault in faults) else faults


def _faults(title: str, check: Any) -> list[str]:
    try:
        check()
    except OpenAPIError as error:
        wrong = getattr(error.__cause__, "schema_errors", ())
        inner = [f"{'.'.join(map(str, one.absolute_path))}: {' '.join(one.message.split())[-200:]}" for one in wrong]
        left = [line for line in inner if not _NULLS.fullmatch(line)]
        return [f"{title}: {type(error).__name__}: {left or str(error)[:300]}"] if left or not inner else []
    return []
