"""The number of the rules by which agents are measured."""

MEASUREMENT_VERSION = 2
"""Part of every key and of the runtime digest: raising it makes every recorded result stale, and is the only thing in the
evaluator's own code that does.

It must be raised whenever the same agent, on the same seeds, with the same packages and base image, could be measured
differently: another derivation of seeds, other observations or actions, another order of asking, another rule of scripts or
duels, another pinned arithmetic, another result for the same faults, another installation in the image. It stays where
words, speed, limits, pages and messages change. Whoever raises it records the conformance suite anew, by
`python -m tests.evaluator.conformance.record`; the suite fails where a measurement changed and the number did not.

It stayed when the episodes that count in a sealed season's scripts got numbers of their own: raising it would have made the
results of all leaderboards stale, and the seeds in a record tell which numbering it has.

Several changes that come together raise it once. Results of an earlier number are replayed by the rules of that number.
"""

COUNTS_AFTER_TRAINING = 2
"""From this number on the episodes of a script that count are the first begun after its training steps; before, the last."""
