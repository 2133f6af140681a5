"""`python -m tests.browser.engines ZENSICAL`: the hand-written pages under MkDocs and under Zensical, and what differs.

It prints a table and ends with 0 whatever it finds: the site is built by MkDocs with Material, which is only maintained by
now, and this says what a change to Zensical would take. The list in CONTRIBUTING.md is made from it.
"""

import html.parser
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Of the configuration: they name pages that only a whole build has.
_LEFT_OUT = ("nav", "not_in_nav", "validation")
SHOWN_PAGES = 5


@dataclass
class BuiltPage(html.parser.HTMLParser):
    """What readers and machines find on a page."""

    text: str
    tags: Counter[str] = field(default_factory=Counter)
    anchors: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    meta: set[str] = field(default_factory=set)
    scripts: set[str] = field(default_factory=set)
    words: list[str] = field(default_factory=list)
    has_search: bool = False

    def __post_init__(self) -> None:
        super().__init__()
        self._inside = 0
        self.feed(self.text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self._inside += tag == "article"
        self.has_search |= given.get("id") == "pr-search"
        if tag == "meta":
            self.meta.add(given.get("property") or given.get("name") or "")
        if tag == "script" and "/js/" in given.get("src", ""):
            self.scripts.add(given["src"].rpartition("/")[2])
        if self._inside:
            self.tags[tag] += 1
            self.anchors |= {given["id"]} if given.get("id") else set()
            self.links |= {given["href"]} if tag == "a" and given.get("href") else set()

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag == "article"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.words += data.split()


def differences(ours: BuiltPage, theirs: BuiltPage) -> Iterator[tuple[str, str]]:
    """What is otherwise on the second page: a subject, and an example."""
    if ours.words != theirs.words:
        pairs = zip([*ours.words, ""], [*theirs.words, ""], strict=False)
        yield "words", next((f"`{a}` / `{b}`" for a, b in pairs if a != b), "one is longer")
    for subject in ("anchors", "links", "meta", "scripts"):
        missing = sorted(getattr(ours, subject) - getattr(theirs, subject))
        if missing:
            yield f"{subject} that are missing", f"`{missing[0]}`"
    for tag in ("table", "pre", "h2", "h3", "details"):
        if ours.tags[tag] != theirs.tags[tag]:
            yield f"number of <{tag}>", f"{ours.tags[tag]} / {theirs.tags[tag]}"
    if ours.has_search and not theirs.has_search:
        yield "our own search", "the override is not used"


def report(ours: Path, theirs: Path) -> str:
    """A table of the differences of two built sites, in Markdown."""
    pages = sorted(path.relative_to(ours) for path in ours.rglob("*.html"))
    absent = [path for path in pages if not (theirs / path).exists()]
    examples: dict[str, list[tuple[Path, str]]] = {}
    for path in pages:
        if path not in absent:
            made = [BuiltPage((folder / path).read_text("utf-8")) for folder in (ours, theirs)]
            for subject, example in differences(*made):
                examples.setdefault(subject, []).append((path, example))
    lines = [f"{len(pages)} pages under MkDocs, {len(absent)} of them not under Zensical.", ""]
    lines += ["| What differs | Pages | Example: MkDocs / Zensical |", "|---|---|---|"]
    for subject, cases in sorted(examples.items(), key=lambda item: -len(item[1])):
        path, example = cases[0]
        lines.append(f"| {subject} | {len(cases)} | {path}: {example.replace('|', ' ')} |")
    lines += [f"| page that is missing | 1 | {path} |" for path in absent[:SHOWN_PAGES]]
    return "\n".join(lines) + "\n"


def prepare(place: Path) -> None:
    """The hand-written pages, the theme's overrides and a configuration without the generated pages."""
    shutil.copytree(ROOT / "site", place / "site")
    shutil.copytree(ROOT / "site" / "pages", place / "docs")
    shutil.copytree(ROOT / "site" / "assets", place / "docs" / "assets", dirs_exist_ok=True)
    (place / "docs" / "index.md").write_text("# Board\n")
    text = (ROOT / "mkdocs.yml").read_text("utf-8").replace("docs_dir: build/pages", "docs_dir: docs")
    for key in _LEFT_OUT:
        text = re.sub(rf"(?ms)^{key}:.*?(?=^\S|\Z)", "", text)
    for engine in ("mkdocs", "zensical"):
        (place / f"{engine}.yml").write_text(text.replace("site_dir: build/site", f"site_dir: {engine}"), encoding="utf-8")


def main(zensical: str) -> None:
    """Build both and print the report."""
    commands = {
        "mkdocs": [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", "mkdocs.yml"],
        "zensical": [str(Path(zensical).absolute()), "build", "--config-file", "zensical.yml"],
    }
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        prepare(place)
        for engine, command in commands.items():
            done = subprocess.run(command, cwd=place, capture_output=True, text=True)
            if done.returncode != 0 or not (place / engine).is_dir():
                print(f"{engine} could not build the pages:", (done.stderr or done.stdout).strip()[-2000:], sep="\n")
                return
        print(report(place / "mkdocs", place / "zensical"), end="")


if __name__ == "__main__":
    main(sys.argv[1])
