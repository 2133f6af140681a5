"""`python -m tests.evaluator.conformance.play SANDBOX`: every case in one sandbox, as JSON, with pinned arithmetic.

`docker-streams` is the docker sandbox over standard input and output, with the cases that are measured over both channels.
"""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from evaluator.host.deterministic import run_pinned
from evaluator.host.digests.image_files import default_base
from evaluator.host.sandboxes.select_sandbox import SelectedSandbox, select_sandbox
from tests.evaluator.conformance.cases import CASES, measured

MODULE = "tests.evaluator.conformance.play"
STREAMS = "docker-streams"


def _chosen(name: str) -> SelectedSandbox:
    over_socket = False if name == STREAMS else None
    kind = "docker" if name == STREAMS else name
    return select_sandbox(kind, os.environ.get("BASE_IMAGE") or default_base(), lambda line: None, over_socket=over_socket)


def main(name: str) -> None:
    """Measure, and print what came of each case by its name."""
    chosen = _chosen(name)
    cases = {title: case for title, case in CASES.items() if case.over_streams or name != STREAMS}
    # A container's start is mostly waiting.
    with ThreadPoolExecutor(1 if name == "process" else 3) as pool:
        measurements = pool.map(lambda case: measured(case, chosen), cases.values())
        print(json.dumps(dict(zip(cases, measurements, strict=True))))


if __name__ == "__main__":
    run_pinned(os.environ, ["-m", MODULE, *sys.argv[1:]])
    main(sys.argv[1])
