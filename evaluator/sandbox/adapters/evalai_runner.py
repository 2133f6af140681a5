"""Start of an EvalAI agent's process, as by `python agent.py`, with four differences.

The message modules are ours, since the platform's generated ones no longer load. Long sleeps are skipped: on the platform
they wait for the environment, which is ready here. Global generators are seeded. The arguments do not contain
`evalai_runner.py` and the seed.
"""

import runpy
import sys
import time
from pathlib import Path

from evaluator.sandbox.adapters import evaluation_pb2, evaluation_pb2_grpc
from evaluator.sandbox.seeding import seed_globals

SKIPPED_SLEEP_SECONDS = 5.0


def main() -> None:
    """Run the agent's file."""
    seed, path = sys.argv[1:]
    seed_globals(int(seed), str(Path(path).parent))
    sys.argv = [path]
    sys.path[0] = str(Path(path).parent)
    for name, module in (("evaluation_pb2", evaluation_pb2), ("evaluation_pb2_grpc", evaluation_pb2_grpc)):
        sys.modules[name] = sys.modules[f"utils.{name}"] = module
    real_sleep = time.sleep

    def sleep(seconds: float) -> None:
        real_sleep(seconds if seconds < SKIPPED_SLEEP_SECONDS else 0)

    time.sleep = sleep  # type: ignore[assignment]
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    main()
