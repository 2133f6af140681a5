"""`python -m tests.evaluator.conformance.record [--force]`: measure every case anew and write it down.

A recording of the same measurement version and the same packages is not written over: what it holds is what results of that
version were measured by. `--force` is for new cases, and for a change of what measures that no result was recorded by yet.
"""

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from evaluator.host.deterministic import run_pinned
from evaluator.host.digests import image_files
from evaluator.model.measurement_version import MEASUREMENT_VERSION
from tests.evaluations import process
from tests.evaluator.conformance.cases import CASES, measured

MODULE = "tests.evaluator.conformance.record"
FILE = Path(__file__).with_name("recorded.json")
AGAIN = f"python -m {MODULE}"


def head() -> dict[str, Any]:
    """What a recording is good for."""
    packages = {name: image_files.measuring_pins(content.decode()) for name, content in image_files.current_locks().items()}
    return {"protocol": MEASUREMENT_VERSION, "machine": platform.machine(), "packages": packages}


def refusal(before: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Why a recording may not be written over, if so."""
    if before["protocol"] > now["protocol"]:
        return (
            f"the recording is of measurement version {before['protocol']}, the code's is {now['protocol']}; never lower it"
        )
    if (before["protocol"], before["packages"]) == (now["protocol"], now["packages"]):
        return (
            f"there is a recording of measurement version {now['protocol']} with these packages; raise "
            "MEASUREMENT_VERSION in evaluator/model/measurement_version.py where a measurement changed, or add --force "
            "where only cases were added"
        )
    return None


def fault(before: dict[str, Any], now: dict[str, Any], title: str, measured: dict[str, Any] | None) -> str | None:
    """What a developer is to do where a case is not as it was recorded; None where it is."""
    if before["protocol"] != now["protocol"]:
        return f"the recording is of measurement version {before['protocol']}, the code's is {now['protocol']}: run {AGAIN}"
    if before["packages"] != now["packages"]:
        return f"the packages that measure have changed, which makes results stale by itself: run {AGAIN}"
    if title not in before["cases"]:
        return f"the case '{title}' is not recorded: run {AGAIN} --force"
    if measured == before["cases"][title]:
        return None
    was = before["cases"][title]
    parts = sorted(name for name in {*was, *(measured or {})} if was.get(name) != (measured or {}).get(name))
    return (
        f"'{title}' is measured differently ({', '.join(parts)}): undo that, or raise MEASUREMENT_VERSION in "
        f"evaluator/model/measurement_version.py, which makes every recorded result stale, and run {AGAIN}"
    )


def written(document: dict[str, Any]) -> str:
    """The recording's text, with a line for each case."""
    rows = ",\n".join(f"  {json.dumps(title)}: {json.dumps(case)}" for title, case in document["cases"].items())
    start = json.dumps({**document, "cases": {}}, indent=1)
    return start.replace('"cases": {}', '"cases": {\n' + rows + "\n }") + "\n"


def main(words: list[str]) -> int:
    """Record; 1 where that is refused."""
    now = head()
    before = json.loads(FILE.read_text()) if FILE.exists() else None
    if before and "--force" not in words and (why := refusal(before, now)):
        print(f"Nothing is recorded: {why}.", file=sys.stderr)
        return 1
    document = {**now, "cases": {title: measured(case, process()) for title, case in CASES.items()}}
    FILE.write_text(written(document))
    print(f"Recorded {len(CASES)} cases of measurement version {MEASUREMENT_VERSION} in {FILE}.")
    return 0


if __name__ == "__main__":
    run_pinned(os.environ, ["-m", MODULE, *sys.argv[1:]])
    sys.exit(main(sys.argv[1:]))
