"""Starts an agent of EvalAI's in a process of its own, as `python agent.py` would, with four differences.

The messages' modules are ours, as those that compilers wrote for the platform no longer load. A long sleep at the start
is skipped: on the platform it waits for the environment, which stands here already. Common generators are seeded.
`evalai_runner.py` itself and the seed are gone from the arguments.
"""

import runpy
import sys
import time
from pathlib import Path

from evaluator.sandbox.adapters import evaluation_pb2, evaluation_pb2_grpc
from evaluator.sandbox.seeding import seed_globals

LONG_SECONDS = 5.0


def main() -> None:
    """Run the file."""
    seed, path = sys.argv[1:]
    seed_globals(int(seed), str(Path(path).parent))
    sys.argv = [path]
    sys.path[0] = str(Path(path).parent)
    for name, module in (("evaluation_pb2", evaluation_pb2), ("evaluation_pb2_grpc", evaluation_pb2_grpc)):
        sys.modules[name] = sys.modules[f"utils.{name}"] = module
    slept = time.sleep

    def sleep(seconds: float) -> None:
        slept(seconds if seconds < LONG_SECONDS else 0)

    time.sleep = sleep  # type: ignore[assignment]
    runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    main()
