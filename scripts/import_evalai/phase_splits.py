"""EvalAI's phases and phase splits as phases and tasks."""

import itertools
import re
from dataclasses import dataclass
from typing import Any

from evaluator.model.config.phase import to_utc
from scripts.import_evalai.config_reader import ConfigSection, ConversionReport, ImportFaultError

# EvalAI writes this where a host set no limit.
UNLIMITED = 100_000
_LIMITS = (("max_submissions_per_day", "per_day"), ("max_submissions_per_month", "per_month"), ("max_submissions", "total"))
_KINDS = {"text": "text", "boolean": "boolean", "radio": "choice", "checkbox": "text"}
_OWN_FIELDS = {"method_name": "name", "method_description": "description", "project_url": "url", "publication_url": "paper"}
_DROPPED = {
    "test_annotation_file": "annotations belong to predictions; here agents meet an environment",
    "environment_image": "the task's 'env' takes its place",
    "allowed_submission_file_types": "a submission is a folder with a manifest",
    "allowed_email_ids": "people are known by their GitHub login: list logins under the phase's 'allow'",
    "is_restricted_to_select_one_submission": "the newest version ranks, and attempts are shown",
    "is_submission_public": "pull requests are public; a private board is a private repository",
    "is_partial_submission_evaluation_enabled": "half an evaluation has no score",
    "disable_logs": "sealed seeds hide logs: 'seeds: sealed'",
    "max_concurrent_submissions_allowed": "the plan decides what runs side by side: 'runners.at_once'",
    "submission_artifact_retention_policy": "results are kept for ever in git",
    "challenge": "tells phases apart in the original only",
}


@dataclass(frozen=True, kw_only=True)
class LeaderboardSettings:
    """One phase split: a task."""

    phase: ConfigSection
    split: ConfigSection
    board: ConfigSection
    """Its leaderboard."""
    task_id: str
    title: str


def name_of(section: ConfigSection) -> str:
    """An id for addresses out of codename, name or number."""
    raw = section.text("codename") or section.text("name") or section.text("id")
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", raw).strip("-._")[:38] or f"n{section.text('id')}"


def leaderboard_settings(top: ConfigSection) -> list[LeaderboardSettings]:
    """Every phase split with what it joins.

    Raises:
        ImportFaultError: it names a phase, leaderboard or split that is not there, or there is none at all.
    """
    phases, boards = _by_id(top, "challenge_phases"), _by_id(top, "leaderboard")
    splits = _by_id(top, "dataset_splits")
    found = []
    for each in top.sections("challenge_phase_splits"):
        phase = _named(each, "challenge_phase_id", phases)
        board = _named(each, "leaderboard_id", boards)
        data = _named(each, "dataset_split_id", splits)
        task_id = f"{name_of(phase)}-{name_of(data)}"
        title = f"{phase.text('name')}: {data.text('name')}"[:60].strip()
        found.append(LeaderboardSettings(phase=phase, split=each, board=board, task_id=task_id, title=title))
    if not found:
        raise ImportFaultError("challenge_phase_splits: is missing or empty; it joins phases, splits and leaderboards")
    ids = [each.task_id for each in found]
    if twice := next((i for i in ids if ids.count(i) > 1), None):
        raise ImportFaultError(f"challenge_phase_splits: two of them are '{twice}'; remove one")
    return found


def _by_id(top: ConfigSection, key: str) -> dict[str, ConfigSection]:
    return {section.text("id"): section for section in top.sections(key)}


def _named(split: ConfigSection, key: str, known: dict[str, ConfigSection]) -> ConfigSection:
    wanted = split.text(key)
    if wanted not in known:
        raise ImportFaultError(f"{split.at(key)}: there is none with id {wanted or '(nothing)'}; correct it")
    split.carried(key, "the task of this phase split")
    return known[wanted]


def phase_document(phase: ConfigSection, tasks: list[LeaderboardSettings], words: str) -> dict[str, Any]:
    """One phase as challenge.yml has it."""
    document: dict[str, Any] = {"id": name_of(phase), "name": (phase.text("name") or name_of(phase))[:60]}
    for key in ("id", "codename", "name"):
        phase.carried(key, "phases: id and name")
    if words:
        document["description"] = words
    for key, ours in (("start_date", "start"), ("end_date", "end")):
        if at := phase.moment(key):
            document[ours] = at
            phase.carried(key, f"phases: {ours}, in UTC")
    document["tasks"] = [task.task_id for task in tasks]
    if not phase.truth("is_active", True):
        document["active"] = False
    phase.carried("is_active", "phases: active")
    if hidden := _hidden(phase, tasks):
        document["public_from"] = hidden
    if quota := _quota(phase):
        document["quota"] = quota
    for key, why in _DROPPED.items():
        phase.dropped(key, why)
    return document


def _hidden(phase: ConfigSection, tasks: list[LeaderboardSettings]) -> str | None:
    """A board that is not public stays hidden to the phase's end."""
    public = phase.truth("is_public", False) and phase.truth("leaderboard_public", False)
    seen = [task.split.whole("visibility") for task in tasks]
    for task in tasks:
        task.split.changed("visibility", "phases: public_from, for the phase as a whole")
    for key in ("is_public", "leaderboard_public"):
        phase.changed(key, "phases: public_from (a hidden board shows itself at the phase's end)")
    if public and all(each in (None, 3) for each in seen):
        return None
    if public and any(each in (None, 3) for each in seen):
        phase.ledger.warn(phase.place, "some of its splits are public and some are not: here all of it is public")
        return None
    end = phase.moment("end_date")
    if end is None:
        phase.ledger.warn(phase.place, "its board is hidden and the phase has no end: set 'public_from' yourself")
    return end


def _quota(phase: ConfigSection) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for key, ours in _LIMITS:
        value = phase.whole(key)
        if value is None:
            continue
        if value >= UNLIMITED or value < 1:
            phase.changed(key, "no limit")
            continue
        limits[ours] = value
        phase.carried(key, f"phases: quota: {ours}")
    names = [ours for _, ours in _LIMITS if ours in limits]
    for longer, shorter in itertools.combinations(reversed(names), 2):
        if limits[longer] < limits[shorter]:
            phase.ledger.warn(phase.place, f"{shorter} ({limits[shorter]}) is more than {longer} ({limits[longer]}) allows")
            limits[shorter] = limits[longer]
    return limits | ({"of": "team"} if limits else {})


def overlapping(phases: list[dict[str, Any]], ledger: ConversionReport) -> None:
    """Phases that are open at the same time: fine for some, an oversight for most."""
    for one, other in itertools.combinations([p for p in phases if "start" in p and "end" in p], 2):
        if to_utc(one["start"]) < to_utc(other["end"]) and to_utc(other["start"]) < to_utc(one["end"]):
            ledger.warn("challenge_phases", f"the phases '{one['id']}' and '{other['id']}' overlap in time; check the dates")


def fields(phases: list[ConfigSection]) -> list[dict[str, Any]]:
    """What submissions are asked, of all phases together."""
    found: dict[str, dict[str, Any]] = {}
    for phase in phases:
        for own in phase.sections("default_submission_meta_attributes"):
            ours = _OWN_FIELDS.get(own.text("name"))
            phase.ledger.changed(own.place, f"'{ours}' of submission.yml" if ours else "a field of submission.yml")
        for asked in phase.sections("submission_meta_attributes"):
            field = _field(asked)
            if found.setdefault(field["name"], field) != field:
                asked.ledger.warn(asked.place, f"'{field['name']}' is asked in two ways; the first one is kept")
    if len(found) > 20:
        phases[0].ledger.warn("challenge_phases", f"{len(found)} custom fields; the first 20 are kept")
    return list(found.values())[:20]


def _field(asked: ConfigSection) -> dict[str, Any]:
    name = (asked.text("name") or "field")[:60]
    kind = _KINDS.get(asked.text("type"), "text")
    options = [option[:60] for option in asked.words("options")]
    field: dict[str, Any] = {"name": name, "kind": kind if kind != "choice" or options else "text"}
    if field["kind"] == "choice":
        field["options"] = options
    if asked.truth("required", False):
        field["required"] = True
    if words := asked.text("description")[:290]:
        field["description"] = words
    if asked.text("type") == "checkbox":
        asked.ledger.changed(asked.place, f"people: fields: '{name}', a text: several choices of {', '.join(options)}"[:300])
    else:
        asked.ledger.carried(asked.place, f"people: fields: '{name}'")
    return field
