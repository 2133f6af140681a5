"""Facts about the actions that our workflows pin, read from the actions' own files at the pinned commits.

`python -m tests.workflows.facts CLONES` writes facts.json anew: CLONES holds a git clone of each action under its name
(checkout, attest, …), with the pinned commit in it. What the stand-ins in actions.py do is tested against facts.json.
"""

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.workflows.files import FILES

FACTS = Path(__file__).parent / "facts.json"
PIN = re.compile(r"uses:\s*(?P<action>[\w.-]+/[\w.-]+)@(?P<commit>\S+)(?:\s*#\s*(?P<tag>\S+))?")


class Rule(NamedTuple):
    """Something that we rely on, and the text of the action's own files that says so."""

    name: str
    says: str
    places: dict[str, str]
    """File to a text that stands in it; `dist/` is what runs, the others are what it is made from."""


RULES = {
    "actions/download-artifact": (
        Rule(
            "single-artifact",
            "The only artifact that a pattern matches is unpacked into `path`; of several, each into a folder of its name.",
            {
                "src/download-artifact.ts": "artifacts.length === 1",
                "README.md": "This change also applies to patterns that only match a single artifact.",
                "dist/index.js": "artifacts.length === 1",
            },
        ),
        Rule(
            "nothing-matched",
            "A pattern that matches nothing is no error.",
            {"src/download-artifact.ts": "if (artifacts.length) {", "dist/index.js": "if (artifacts.length) {"},
        ),
    ),
    "actions/upload-artifact": (
        Rule(
            "hidden-files",
            "Files and folders whose name begins with a dot are left out unless include-hidden-files is true.",
            {
                "src/shared/search.ts": "excludeHiddenFiles: !includeHiddenFiles",
                "action.yml": "hidden files will be excluded",
            },
        ),
        Rule(
            "servers",
            "GitHub Enterprise Server is refused; github.com, *.ghe.com and *.localhost are served.",
            {"README.md": "not currently supported on GitHub Enterprise Server", "dist/upload/index.js": ".GHE.COM"},
        ),
    ),
    "actions/attest": (
        Rule(
            "subjects",
            "At most 1,024 subjects in one attestation; one more is an error.",
            {"src/subject.ts": "const MAX_SUBJECT_COUNT = 1024", "action.yml": "count cannot exceed 1024"},
        ),
        Rule(
            "checksums-bytes",
            "A checksums file is at most 512 × 1,024 bytes.",
            {"src/subject.ts": "MAX_SUBJECT_CHECKSUM_SIZE_BYTES = 512 * MAX_SUBJECT_COUNT"},
        ),
        Rule(
            "components",
            "A list of components needs a format, a serial number and a version, and at most 16 MiB.",
            {"src/sbom.ts": "sbomObject?.serialNumber &&", "action.yml": "File size cannot exceed 16MB."},
        ),
        Rule(
            "provenance",
            "Without a predicate and without a list of components, where the subjects were built is attested.",
            {"src/detect.ts": "return 'provenance'"},
        ),
    ),
    "actions/checkout": (
        Rule(
            "all-history",
            "fetch-depth: 0 fetches every branch and every tag, whole.",
            {
                "src/ref-helper.ts": "const result = ['+refs/heads/*:refs/remotes/origin/*', tagsRefSpec]",
                "dist/index.js": "const result = ['+refs/heads/*:refs/remotes/origin/*', tagsRefSpec]",
            },
        ),
        Rule(
            "one-commit",
            "A commit is fetched as itself, without any branch.",
            {"src/ref-helper.ts": "result.push(commit)", "dist/index.js": "result.push(commit)"},
        ),
    ),
}


class Pin(NamedTuple):
    """One `uses:` of a workflow."""

    action: str
    commit: str
    tag: str | None


def pins(texts: list[str]) -> set[Pin]:
    """Every action of somebody else that these files use."""
    return {Pin(one["action"], one["commit"], one["tag"]) for text in texts for one in PIN.finditer(text)}


def ours() -> set[Pin]:
    """What our workflows pin."""
    return pins([path.read_text(encoding="utf-8") for path in FILES])


def facts() -> dict[str, dict[str, Any]]:
    """Action to its recorded facts."""
    recorded: dict[str, dict[str, Any]] = json.loads(FACTS.read_text(encoding="utf-8"))
    return recorded


def differences(pinned: set[Pin], recorded: dict[str, dict[str, Any]]) -> list[str]:
    """Which pins the recorded facts are not of, a line each; none when they fit."""
    return [
        f"{pin.action}@{pin.commit} # {pin.tag} is pinned, but facts.json is of {known.get('commit')} # {known.get('tag')}; "
        "run 'python -m tests.workflows.facts CLONES'"
        for pin in sorted(pinned, key=str)
        if (known := recorded.get(pin.action, {})).get("commit") != pin.commit or known.get("tag") != pin.tag
    ]


def digest(content: bytes) -> str:
    """SHA-256, in hex."""
    return hashlib.sha256(content).hexdigest()


def described(text: str) -> dict[str, Any]:
    """What an action.yml says: inputs with their defaults, outputs, what runs it, and which actions it uses itself."""
    manifest = yaml.safe_load(text)
    inputs = manifest.get("inputs") or {}
    return {
        "using": manifest["runs"]["using"],
        "inputs": {name: (one or {}).get("default") for name, one in inputs.items()},
        "required": [name for name, one in inputs.items() if (one or {}).get("required") and "default" not in one],
        "outputs": sorted(manifest.get("outputs") or {}),
        "uses": sorted(f"{pin.action}@{pin.commit}" for pin in pins([text])),
    }


def _shown(clone: Path, commit: str, file: str) -> bytes | None:
    done = subprocess.run(["git", "-C", clone, "show", f"{commit}:{file}"], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _places(rule: Rule, clone: Path, commit: str) -> Iterator[tuple[str, dict[str, str]]]:
    for file, text in rule.places.items():
        content = _shown(clone, commit, file)
        # A clone may lack large files; a file that is there must hold the text.
        if content is not None and text.encode() not in content:
            sys.exit(f"{clone.name}: {file} no longer says {text!r}; look whether the rule {rule.name} still holds")
        yield file, {"text": text, **({"sha256": digest(content)} if content is not None else {})}


def read(pin: Pin, clones: Path) -> dict[str, Any]:
    """The facts of one action from a clone of its repository."""
    clone = clones / pin.action.partition("/")[2]
    manifest = _shown(clone, pin.commit, "action.yml")
    if manifest is None:
        sys.exit(f"{clone}: there is no clone with {pin.commit} in it; clone https://github.com/{pin.action} there")
    tags = subprocess.run(["git", "-C", clone, "tag", "--points-at", pin.commit], capture_output=True, text=True, check=True)
    if pin.tag not in tags.stdout.split():
        sys.exit(f"{pin.action}: {pin.commit} is not {pin.tag}; its tags are {tags.stdout.split()}")
    rules = {}
    for rule in RULES.get(pin.action, ()):
        places = dict(_places(rule, clone, pin.commit))
        if not any("sha256" in place for place in places.values()):
            sys.exit(f"{pin.action}: none of {', '.join(places)} is there to show the rule {rule.name}")
        rules[rule.name] = {"says": rule.says, "places": places}
    return {
        "commit": pin.commit, "tag": pin.tag, "sha256": digest(manifest), **described(manifest.decode()), "rules": rules,
    }  # fmt: skip


def main(clones: Path) -> None:
    """Write facts.json anew."""
    made = {pin.action: read(pin, clones) for pin in sorted(ours())}
    FACTS.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(made)} actions are described in {FACTS.name}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
