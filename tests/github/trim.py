"""Makes api.json.gz: GitHub's own description of its API, cut down to the operations in operations.txt.

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python tests/github/trim.py package/generated/api.github.com.json

The description is published by GitHub and Octokit under the MIT licence, Copyright (c) 2020 Octokit contributors; its text
is kept inside the file, under `x-licence`. Only prose, code samples and what no kept operation refers to are left out.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROSE = ("x-codeSamples", "externalDocs", "tags", "x-github", "x-webhooks")


def trimmed(spec: dict[str, Any], operations: list[tuple[str, str]]) -> dict[str, Any]:
    """The same description with only these operations and what they refer to."""
    paths: dict[str, Any] = {}
    for verb, path in operations:
        paths.setdefault(path, {})[verb.lower()] = spec["paths"][path][verb.lower()]
    components: dict[str, dict[str, Any]] = {}
    waiting = list(references(paths))
    while waiting:
        kind, name = waiting.pop()
        if name not in components.setdefault(kind, {}):
            components[kind][name] = spec["components"][kind][name]
            waiting.extend(references(components[kind][name]))
    return without_prose({"openapi": spec["openapi"], "info": spec["info"], "servers": spec["servers"], "paths": paths,
                          "components": components})  # fmt: skip


def references(value: Any) -> set[tuple[str, str]]:
    """Every component that a value refers to."""
    if isinstance(value, list):
        return set().union(*(references(one) for one in value))
    if not isinstance(value, dict):
        return set()
    names = set().union(*(references(one) for one in value.values()))
    if isinstance(value.get("$ref"), str):
        kind, name = value["$ref"].removeprefix("#/components/").split("/")
        names.add((kind, name))
    return names


def without_prose(value: Any) -> Any:
    """The same value without what only people read; a schema's property may be called `description`, and stays."""
    if isinstance(value, list):
        return [without_prose(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key: without_prose(one)
        for key, one in value.items()
        if key not in PROSE and not (key == "description" and isinstance(one, str) and ("type" in value or "in" in value))
    }


def main(source: Path) -> None:
    """Write api.json.gz beside this file, the same bytes each time."""
    lines = (HERE / "operations.txt").read_text().splitlines()
    spec = trimmed(json.loads(source.read_text()), [(verb, path) for verb, path in (line.split() for line in lines)])
    spec["x-licence"] = (source.parents[1] / "LICENSE").read_text()
    text = json.dumps(spec, separators=(",", ":"), sort_keys=True).encode()
    (HERE / "api.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
