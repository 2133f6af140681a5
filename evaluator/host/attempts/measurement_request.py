"""What every evaluation is asked for, and what it writes into a record whoever played."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evaluator.host.deterministic import pinned_variables
from evaluator.host.digests.runtime_digest import versions
from evaluator.host.loading.submission_folder import SubmissionFolder
from evaluator.host.sandboxes.sandbox import SandboxSpec
from evaluator.model.config.limits import Limits
from evaluator.model.records.stored_record import Provenance, Tier


@dataclass(frozen=True, kw_only=True)
class MeasurementRequest:
    """What the request to evaluate an agent and the one to play a duel have in common."""

    limits: Limits
    season: str
    beacon: str
    """What the seeds come from; of a duel, the later of the two players' beacons."""
    beacon_verified: bool
    """Whether GitHub signed it; of a duel, whether it signed both players'."""
    tier: Tier
    runtime_digest: str
    commit: str | None = None
    run_url: str | None = None

    def record_fields(self, now: datetime, extras: Sequence[str] = ()) -> dict[str, Any]:
        """The fields of a record that say by what, on what and when it was measured, by their names in JSON."""
        return {
            "class": self.tier,
            "beacon_verified": self.beacon_verified,
            "versions": versions(extras),
            "platform": f"{platform.system()} {platform.machine()}",
            "provenance": Provenance(
                commit=self.commit, run_url=self.run_url, evaluated_at=now.strftime("%Y-%m-%dT%H:%M:%SZ")
            ),
        }


def sandbox_spec(
    folder: SubmissionFolder,
    staged: Path,
    limits: Limits,
    *,
    wall_seconds: float | None = None,
    gpus: int = 0,
    waits_for_slot: bool = False,
) -> SandboxSpec:
    """The sandbox for an agent whose files were copied to `staged`."""
    submission = folder.submission
    return SandboxSpec(
        folder=staged,
        entry=submission.source,
        limits=submission.allowed(limits),
        environment=pinned_variables(),
        adapter=submission.adapter,
        extras=submission.needs,
        loopback=submission.connects_to_itself,
        image=folder.image,
        waits_for_slot=waits_for_slot,
        wall_seconds=wall_seconds,
        gpus=gpus,
    )
