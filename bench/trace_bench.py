"""How small the actions of a trace can get: those of `walker-gait` on Bipedal Walker, four floats a step.

`python -m bench.trace_bench` plays four episodes without a sandbox and prints bytes a step, by order of the bytes and by
packer, and the entropy of each byte of a float: what no packer gets below that looks at each byte alone.
"""

import bz2
import lzma
import runpy
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

EPISODES = 4
AGENT = Path("example_agents/walker-gait/agent.py")
Actions = npt.NDArray[np.float32]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "zlib 9": lambda raw: zlib.compress(raw, 9),
    "bz2 9": lambda raw: bz2.compress(raw, 9),
    "LZMA 9e": lambda raw: lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME),
}


def recorded_actions() -> Actions:
    """The actions of some episodes, shape (steps, 4)."""
    environment, actions = gymnasium.make("BipedalWalker-v3"), []
    for seed in range(EPISODES):
        agent, ended = runpy.run_path(str(AGENT))["Agent"](), False
        observation, _ = environment.reset(seed=seed)
        while not ended:
            actions.append(np.asarray(agent.act(observation), dtype="<f4"))
            observation, _, terminated, truncated, _ = environment.step(actions[-1])
            ended = terminated or truncated
    return np.array(actions, dtype="<f4")


def orders(actions: Actions) -> Iterator[tuple[str, bytes]]:
    """The same actions, to be packed: as traces store them, and in orders that help packers of numbers."""
    bits = actions.view("<u4")
    yield "as stored", actions.tobytes()
    yield "byte by byte", _planes(bits)
    yield "XOR with the step before, byte by byte", _planes(bits[1:] ^ bits[:-1])
    yield "difference of the bits, byte by byte", _planes(bits[1:] - bits[:-1])


def _planes(bits: npt.NDArray[np.uint32]) -> bytes:
    """All first bytes of the first motor, then all second ones, and so on."""
    return np.ascontiguousarray(bits.view("u1").reshape(len(bits), -1, 4).transpose(1, 2, 0)).tobytes()


def byte_entropies(actions: Actions) -> list[float]:
    """Bits of the first to the last byte of a float, a mean over the motors."""
    parts = actions.view("u1").reshape(len(actions), -1, 4)
    return [float(np.mean([_entropy(parts[:, motor, byte]) for motor in range(parts.shape[1])])) for byte in range(4)]


def _entropy(values: npt.NDArray[np.uint8]) -> float:
    shares = np.bincount(values) / len(values)
    shares = shares[shares > 0]
    return float(-(shares * np.log2(shares)).sum())


def main() -> None:
    """Play and print."""
    actions = recorded_actions()
    table = Table(f"{len(actions):,} steps of 16 bytes", *PACKERS)
    for name, raw in orders(actions):
        table.add_row(name, *(f"{len(pack(raw)) / len(actions):.2f}" for pack in PACKERS.values()))
    Console().print(table)
    print("Bits of each byte of a float:", *(f"{bits:.2f}" for bits in byte_entropies(actions)))


if __name__ == "__main__":
    main()
