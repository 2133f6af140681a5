"""Runs the attacks and writes site/pages/security.md: `python -m tests.hostile.report [--missing] [--docker] [NAME …]`.

Without a name all attacks run, under each sandbox that they concern. `--missing` runs those that have no outcome yet,
`--page` runs none, and `--docker` leaves out gVisor where an attack does not ask for it, which takes a third of the time.
Outcomes are kept in `tests/hostile/outcomes.json`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluator.host.docker.engine import Engine
from tests.hostile.catalogue import FAMILIES, CatalogueEntry, catalogue

ROOT = Path(__file__).parents[2]
OUTCOMES = Path(__file__).with_name("outcomes.json")
PAGE = ROOT / "site" / "pages" / "security.md"
FAILED = "NOT CONTAINED"
# Attacks by agents and players are parameters of these.
OF_AGENTS, OF_PLAYERS = "tests/hostile/test_attacks.py", "tests/hostile/test_players.py"
# What holds after all attacks together.
AFTER_ALL = ("test_nothing_is_left_behind", "test_honest_agent_is_measured_as_before")
HEAD = """# Attacks and results

Every attack that the tests try, by family: what it tries, and what came of it. An agent's attack counts as contained if its
verdict is one that it deserves, what it tried did not work, its score is what its actions give, nothing of it was left
on the machine, and an honest agent had the same score afterwards. [Threats](threats.md) explains what is worth attacking,
and `SECURITY.md` in the repository says what is not promised.

This page is made by `python -m tests.hostile.report` from a run {when}, {machine}. It holds {count} attacks.

A word in the last two columns is a verdict, or in games how matches ended; `ok` means that the agent played on after what it
tried had failed. "–" stands where an attack ends before a container starts, or where it ran under one sandbox only.
"""


class Recorder:
    """Keeps the tests of the wanted attacks, and what came of each."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self._wanted = wanted
        self.outcomes: dict[str, dict[str, set[str]]] = {}
        self._attacks: dict[str, list[tuple[str, str, str]]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep what belongs to a wanted attack."""
        kept = []
        for item in items:
            attacks = [attack for attack in attacks_of(item) if attack[0] in self._wanted]
            self._attacks[item.nodeid] = attacks
            if attacks or item.name in AFTER_ALL:
                kept.append(item)
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of a test's call, or that it could not run."""
        if report.when != "call" and report.passed:
            return
        verdict = " ".join(str(value) for name, value in report.user_properties if name == "outcome")
        for name, how, words in self._attacks.get(report.nodeid, ()):
            outcome = (verdict or words) if report.passed else ("not run" if report.skipped else FAILED)
            if outcome:
                self.outcomes.setdefault(name, {}).setdefault(how, set()).add(outcome)


def attacks_of(item: pytest.Item) -> list[tuple[str, str, str]]:
    """The attacks that a test tries: name, sandbox, and the outcome if it passes, which agents' tests record themselves."""
    call = getattr(item, "callspec", None)
    parameters = dict(call.params) if call else {}
    if "attack" in parameters and "how" in parameters:
        return [(parameters["attack"].name, parameters["how"], "")]
    how = next((str(value) for value in parameters.values() if value in ("docker", "gvisor")), None)
    how = how or ("docker" if item.get_closest_marker("docker") else "host")
    return [(mark.args[0], how, mark.kwargs["outcome"]) for mark in item.iter_markers("attack")]


def run(wanted: Iterable[CatalogueEntry]) -> Iterator[tuple[int, dict[str, dict[str, str]]]]:
    """Run the tests of these attacks; for each round of them pytest's exit code, and the outcomes by attack and sandbox."""
    entries = list(wanted)
    files = {entry.place for entry in entries if entry.place.endswith(".py")}
    played = {entry.family == "games" for entry in entries if not entry.place.endswith(".py")}
    rounds = [[OF_PLAYERS if is_game else OF_AGENTS] for is_game in sorted(played)]
    for tests in filter(None, [*rounds, sorted(files)]):
        recorder = Recorder(frozenset(entry.name for entry in entries))
        code = pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[recorder])
        yield (
            int(code),
            {
                name: {how: FAILED if FAILED in words else ", ".join(sorted(words)) for how, words in sorted(every.items())}
                for name, every in sorted(recorder.outcomes.items())
            },
        )


def machine() -> str:
    """The versions of what contains the attacks."""
    version = Engine()._api.version()
    parts = {part["Name"]: part["Version"] for part in version.get("Components", ())}
    runsc = subprocess.run(["runsc", "--version"], capture_output=True, text=True, check=False).stdout.split()
    return ", ".join(
        [
            f"Linux {platform.release().partition('-')[0]} on {platform.machine()}",
            f"Docker {version['Version']}",
            f"runc {parts.get('runc', 'unknown')}",
            f"runsc {runsc[2] if len(runsc) > 2 else 'unknown'}",
        ]
    )


def _cell(outcomes: Mapping[str, str], *hows: str) -> str:
    words = [outcomes[how] for how in hows if how in outcomes]
    return words[0].replace("|", "\\|") if words else "–"


def page_of(document: Mapping[str, Any], entries: Iterable[CatalogueEntry]) -> str:
    """The page as Markdown."""
    every = list(entries)
    dates = sorted({entry["date"] for entry in document["outcomes"].values()})
    when = f"on {dates[0]}" if len(dates) == 1 else f"between {dates[0]} and {dates[-1]}"
    lines = [HEAD.format(when=when, machine=document["machine"], count=len(every))]
    for family, title in FAMILIES.items():
        own = [entry for entry in every if entry.family == family]
        if not own:
            continue
        lines += [f"## {title}\n", "| Attack | What it tries | Docker | gVisor |", "|---|---|---|---|"]
        for entry in own:
            outcomes = document["outcomes"].get(entry.name, {"results": {}})["results"]
            docker, gvisor = _cell(outcomes, "docker", "stdio", "host", "process"), _cell(outcomes, "gvisor")
            lines.append(f"| `{entry.name}` | {escaped(entry.tries)} | {docker} | {gvisor} |")
        lines.append("")
    return "\n".join(lines)


def escaped(words: str) -> str:
    """A sentence in a cell of a table: without markup, links or addresses."""
    return words.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def lacks(known: Mapping[str, Any] | None, entry: CatalogueEntry, *, docker: bool) -> bool:
    """Whether an outcome is missing, or is none that the page may show."""
    results = known["results"] if known else {}
    needed = {"docker"} if docker else {"docker", "gvisor"}
    is_agent = not entry.place.endswith(".py")
    return not results or FAILED in results.values() or (is_agent and not needed <= results.keys())


def save(known: dict[str, Any], names: set[str]) -> None:
    """Keep the outcomes of attacks that are still there."""
    known["outcomes"] = {name: one for name, one in sorted(known["outcomes"].items()) if name in names}
    OUTCOMES.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def main() -> int:
    """Run what was asked for and write outcomes and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--docker", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    entries = catalogue()
    known = json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {"machine": "", "outcomes": {}}
    wanted = [entry for entry in entries if not options.names or entry.name in options.names]
    if options.missing:
        wanted = [entry for entry in wanted if lacks(known["outcomes"].get(entry.name), entry, docker=options.docker)]
    code, names = 0, {entry.name for entry in entries}
    if wanted and not options.page:
        here, today = machine(), datetime.now(UTC).date().isoformat()
        if known["machine"] not in ("", here) and len(wanted) < len(entries):
            print(f"The other outcomes are of {known['machine']}, this is {here}; run all attacks.", file=sys.stderr)
            return 2
        known["machine"] = here
        os.environ["PULLRANK_ALL_ATTACKS"] = "0" if options.docker else "1"
        for ended, outcomes in run(wanted):
            code = code or ended
            for name, results in outcomes.items():
                before = known["outcomes"].get(name, {"results": {}})["results"]
                known["outcomes"][name] = {"date": today, "results": {**before, **results}}
            save(known, names)
    save(known, names)
    PAGE.write_text(page_of(known, entries))
    for name in sorted(names - known["outcomes"].keys()):
        print(f"no outcome: {name}")
    return code


if __name__ == "__main__":
    sys.exit(main())
