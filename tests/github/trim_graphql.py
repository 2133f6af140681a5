"""Makes schema.graphql: GitHub's own GraphQL schema, cut down to the types and fields in fields.txt.

    npm pack @octokit/graphql-schema@15.26.1 && tar xzf octokit-graphql-schema-15.26.1.tgz
    python tests/github/trim_graphql.py package

The schema is published by GitHub and Octokit under the MIT licence, Copyright (c) 2018 Gregor Martynus; its text is kept at
the head of the file. Only prose, directives, and what fields.txt does not name are left out.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

from graphql import InterfaceTypeDefinitionNode, ObjectTypeDefinitionNode, Visitor, parse, print_ast, visit

HERE = Path(__file__).parent


class _Bare(Visitor):
    """Takes out descriptions and applied directives."""

    def leave(self, node: Any, *_: Any) -> Any:
        """The same node without them."""
        names = {field.name for field in dataclasses.fields(node)}
        empty = {name: value for name, value in (("description", None), ("directives", ())) if name in names}
        return dataclasses.replace(node, **empty) if empty else None


def wanted() -> dict[str, set[str]]:
    """Type to the fields that are kept; none for scalars and enumerations, which are kept whole."""
    lines = (line.split() for line in (HERE / "fields.txt").read_text().splitlines())
    return {name: set(fields) for name, *fields in lines}


def trimmed(schema: str, keep: dict[str, set[str]]) -> str:
    """The schema with only these types and fields; every argument of a field stays."""
    kept = []
    for node in parse(schema).definitions:
        name = getattr(getattr(node, "name", None), "value", None)
        if name not in keep:
            continue
        if isinstance(node, ObjectTypeDefinitionNode | InterfaceTypeDefinitionNode):
            fields = tuple(field for field in node.fields or () if field.name.value in keep[name])
            assert {field.name.value for field in fields} == keep[name], name
            interfaces = tuple(one for one in node.interfaces or () if one.name.value in keep)
            node = dataclasses.replace(node, fields=fields, interfaces=interfaces)
        kept.append(print_ast(visit(node, _Bare())))
    return "\n\n".join(kept) + "\n"


def main(package: Path) -> None:
    """Write schema.graphql beside this file."""
    version = json.loads((package / "package.json").read_text())["version"]
    licence = (package / "LICENSE.md").read_text().strip().splitlines()
    head = [f"From @octokit/graphql-schema {version}, cut down by trim_graphql.py.", "", *licence]
    text = "\n".join(f"# {line}".rstrip() for line in head)
    body = trimmed((package / "schema.graphql").read_text(), wanted())
    (HERE / "schema.graphql").write_text(f"{text}\n\n{body}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
