"""Seeds that nobody can choose: derived from the season, a beacon and the submission's digest."""

import hashlib

from evaluator.model import canonical_json

EPISODE_LABEL = "pullrank-episode-1"
AGENT_LABEL = "pullrank-agent-1"
OPENING_LABEL = "pullrank-opening-1"
PLAYER_LABEL = "pullrank-player-1"


def _derive(label: str, season: str, beacon: str, who: str | list[str], task_id: str, index: int) -> str:
    """128 bits for one episode or match; `who` is the submission's digest, or the two of a duel."""
    name = [label, season, beacon, who, task_id, index]
    return hashlib.sha256(canonical_json.canonical(name)).hexdigest()[:32]


def episode_seeds(
    season: str, beacon: str, submission_digest: str, task_id: str, episodes: int, first: int = 0
) -> tuple[str, ...]:
    """The environment seed of each episode as 32 hex digits (128 bits; 32 bits are guessed from one observation)."""
    return tuple(
        _derive(EPISODE_LABEL, season, beacon, submission_digest, task_id, i) for i in range(first, first + episodes)
    )


def agent_seeds(season: str, beacon: str, submission_digest: str, task_id: str, episodes: int) -> tuple[int, ...]:
    """The agent's own seed for each episode, below 2**32 for every library; it does not reveal the environment seed."""
    derived = (_derive(AGENT_LABEL, season, beacon, submission_digest, task_id, i) for i in range(episodes))
    return tuple(int(seed[:8], 16) for seed in derived)


def opening_seeds(season: str, beacon: str, digests: tuple[str, str], task_id: str, matches: int) -> tuple[str, ...]:
    """One seed for each pair of matches, 32 hex digits, for the game and its opening."""
    return tuple(_derive(OPENING_LABEL, season, beacon, list(digests), task_id, i) for i in range(matches // 2))


def player_seeds(
    season: str, beacon: str, digests: tuple[str, str], task_id: str, matches: int
) -> tuple[tuple[int, int], ...]:
    """The two sides' own seeds for each match, below 2**32; they reveal neither the opening nor each other."""
    derived = [_derive(PLAYER_LABEL, season, beacon, list(digests), task_id, i) for i in range(2 * matches)]
    numbers = [int(seed[:8], 16) for seed in derived]
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def environment_seed(seed: str, seed_bits: int) -> int:
    """The seed for an environment's reset, of `seed_bits` bits."""
    return int(seed, 16) >> (128 - seed_bits)
