"""Conversion of EvalAI's phases, with dates, quotas and visibility, of phase splits into tasks, and of custom fields."""

import itertools
import re
from dataclasses import dataclass, replace
from typing import Any

from evaluator.model.config.phase import to_utc
from scripts.import_evalai.config_reader import ConfigSection, ConversionReport, ImportFaultError, KeyFate

# EvalAI's value for no limit.
UNLIMITED = 100_000
_QUOTA_KEYS = (
    ("max_submissions_per_day", "per_day"),
    ("max_submissions_per_month", "per_month"),
    ("max_submissions", "total"),
)
_FIELD_KINDS = {"text": "text", "boolean": "boolean", "radio": "choice", "checkbox": "text"}
_STANDARD_FIELDS = {
    "method_name": "name",
    "method_description": "description",
    "project_url": "url",
    "publication_url": "paper",
}
_DROPPED_PHASE_KEYS = {
    "test_annotation_file": "annotations belong to predictions; here agents meet an environment",
    "environment_image": "the task's 'env' takes its place",
    "allowed_submission_file_types": "a submission is a folder with a manifest",
    "allowed_email_ids": "people are known by their GitHub login: list logins under the phase's 'allow'",
    "is_restricted_to_select_one_submission": "the newest version ranks, and attempts are shown",
    "is_submission_public": "pull requests are public; a private board is a private repository",
    "is_partial_submission_evaluation_enabled": "an incomplete evaluation has no score",
    "disable_logs": "sealed seeds hide logs: 'seeds: sealed'",
    "max_concurrent_submissions_allowed": "the plan decides what runs side by side: 'runners.at_once'",
    "submission_artifact_retention_policy": "results are kept for ever in git",
    "challenge": "tells phases apart in the original only",
}


@dataclass(frozen=True, kw_only=True)
class PhaseSplit:
    """A phase split, which becomes a task, with the phase and leaderboard that it joins."""

    phase: ConfigSection
    split: ConfigSection
    leaderboard: ConfigSection
    task_id: str
    title: str


def make_id(section: ConfigSection) -> str:
    """An id for URLs, from codename, name or number."""
    raw = section.text("codename") or section.text("name") or section.text("id")
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", raw).strip("-._")[:38] or f"n{section.text('id')}"


def phase_splits(top: ConfigSection) -> list[PhaseSplit]:
    """All phase splits.

    Raises:
        ImportFaultError: one names an unknown phase, leaderboard or dataset split, or there is none.
    """
    phases, leaderboards = _by_id(top, "challenge_phases"), _by_id(top, "leaderboard")
    datasets = _by_id(top, "dataset_splits")
    splits = []
    for each in top.sections("challenge_phase_splits"):
        phase = _referenced(each, "challenge_phase_id", phases)
        leaderboard = _referenced(each, "leaderboard_id", leaderboards)
        dataset = _referenced(each, "dataset_split_id", datasets)
        task_id = f"{make_id(phase)}-{make_id(dataset)}"
        title = f"{phase.text('name')}: {dataset.text('name')}"[:60].strip()
        splits.append(PhaseSplit(phase=phase, split=each, leaderboard=leaderboard, task_id=task_id, title=title))
    if not splits:
        raise ImportFaultError("challenge_phase_splits: is missing or empty; it joins phases, splits and leaderboards")
    splits = _told_apart(splits)
    ids = [each.task_id for each in splits]
    if twice := next((i for i in ids if ids.count(i) > 1), None):
        raise ImportFaultError(f"challenge_phase_splits: two of them are '{twice}'; remove one")
    return splits


def _told_apart(splits: list[PhaseSplit]) -> list[PhaseSplit]:
    """Phase splits with one id each: a split that several leaderboards show is a task of each of them."""
    ids = [each.task_id for each in splits]
    return [
        replace(each, task_id=f"{each.task_id[:68]}-board{number}", title=f"{each.title[:45].strip()} (board {number})")
        if ids.count(each.task_id) > 1 and (number := make_id(each.leaderboard)[:5])
        else each
        for each in splits
    ]


def _by_id(top: ConfigSection, key: str) -> dict[str, ConfigSection]:
    return {section.text("id"): section for section in top.sections(key)}


def _referenced(split: ConfigSection, key: str, by_id: dict[str, ConfigSection]) -> ConfigSection:
    number = split.text(key)
    if number not in by_id:
        raise ImportFaultError(f"{split.at(key)}: there is none with id {number or '(nothing)'}; correct it")
    split.carried(key, "the task of this phase split")
    return by_id[number]


def phase_document(phase: ConfigSection, tasks: list[PhaseSplit], words: str) -> dict[str, Any]:
    """A phase of challenge.yml."""
    document: dict[str, Any] = {"id": make_id(phase), "name": (phase.text("name") or make_id(phase))[:60]}
    for key in ("id", "codename", "name"):
        phase.carried(key, "phases: id and name")
    if words:
        document["description"] = words
    for key, ours in (("start_date", "start"), ("end_date", "end")):
        if at := phase.timestamp(key):
            document[ours] = at
            phase.carried(key, f"phases: {ours}, in UTC")
    document["tasks"] = [task.task_id for task in tasks]
    if not phase.boolean("is_active", True):
        document["active"] = False
    phase.carried("is_active", "phases: active")
    if public_from := _public_from(phase, tasks):
        document["public_from"] = public_from
    if quota := _quota(phase):
        document["quota"] = quota
    for key, why in _DROPPED_PHASE_KEYS.items():
        phase.dropped(key, why)
    return document


def _public_from(phase: ConfigSection, tasks: list[PhaseSplit]) -> str | None:
    """When a hidden leaderboard becomes public: at the phase's end; None if it is public, or the phase has no end."""
    public = phase.boolean("is_public", False) and phase.boolean("leaderboard_public", False)
    visibilities = [task.split.integer("visibility") for task in tasks]
    for task in tasks:
        task.split.changed("visibility", "phases: public_from, for the phase as a whole")
    for key in ("is_public", "leaderboard_public"):
        phase.changed(key, "phases: public_from (a hidden board shows itself at the phase's end)")
    if public and all(each in (None, 3) for each in visibilities):
        return None
    if public and any(each in (None, 3) for each in visibilities):
        phase.report.warn(
            phase.place, "some of its splits are public and some are not: here all of it is hidden until its end"
        )
    end = phase.timestamp("end_date")
    if end is None:
        phase.report.warn(phase.place, "its board is hidden and the phase has no end: set 'public_from' yourself")
    return end


def _quota(phase: ConfigSection) -> dict[str, Any]:
    limits: dict[str, Any] = {}
    for key, ours in _QUOTA_KEYS:
        value = phase.integer(key)
        if value is None:
            continue
        if value >= UNLIMITED or value < 1:
            phase.changed(key, "no limit")
            continue
        limits[ours] = value
        phase.carried(key, f"phases: quota: {ours}")
    names = [ours for _, ours in _QUOTA_KEYS if ours in limits]
    for longer, shorter in itertools.combinations(reversed(names), 2):
        if limits[longer] < limits[shorter]:
            phase.report.warn(phase.place, f"{shorter} ({limits[shorter]}) is more than {longer} ({limits[longer]}) allows")
            limits[shorter] = limits[longer]
    return limits | ({"of": "team"} if limits else {})


def warn_overlapping_phases(phases: list[dict[str, Any]], report: ConversionReport) -> None:
    """Warn of phases that are open at the same time, which is usually a mistake."""
    for one, other in itertools.combinations([p for p in phases if "start" in p and "end" in p], 2):
        if to_utc(one["start"]) < to_utc(other["end"]) and to_utc(other["start"]) < to_utc(one["end"]):
            report.warn("challenge_phases", f"the phases '{one['id']}' and '{other['id']}' overlap in time; check the dates")


def custom_fields(phases: list[ConfigSection]) -> list[dict[str, Any]]:
    """The custom fields of all phases together, at most 20."""
    by_name: dict[str, dict[str, Any]] = {}
    for phase in phases:
        for attribute in phase.sections("default_submission_meta_attributes"):
            ours = _STANDARD_FIELDS.get(attribute.text("name"))
            phase.report.add(
                attribute.place, KeyFate.CHANGED, f"'{ours}' of submission.yml" if ours else "a field of submission.yml"
            )
        for attribute in phase.sections("submission_meta_attributes"):
            field = _custom_field(attribute)
            if by_name.setdefault(field["name"], field) != field:
                attribute.report.warn(attribute.place, f"'{field['name']}' is asked in two ways; the first one is kept")
    if len(by_name) > 20:
        phases[0].report.warn("challenge_phases", f"{len(by_name)} custom fields; the first 20 are kept")
    return list(by_name.values())[:20]


def _custom_field(attribute: ConfigSection) -> dict[str, Any]:
    name = (attribute.text("name") or "field")[:60]
    kind = _FIELD_KINDS.get(attribute.text("type"), "text")
    options = [option[:60] for option in attribute.texts("options")]
    field: dict[str, Any] = {"name": name, "kind": kind if kind != "choice" or options else "text"}
    if field["kind"] == "choice":
        field["options"] = options
    if attribute.boolean("required", False):
        field["required"] = True
    if words := attribute.text("description")[:290]:
        field["description"] = words
    if attribute.text("type") == "checkbox":
        attribute.report.add(
            attribute.place,
            KeyFate.CHANGED,
            f"people: fields: '{name}', a text: several choices of {', '.join(options)}"[:300],
        )
    else:
        attribute.report.add(attribute.place, KeyFate.CARRIED, f"people: fields: '{name}'")
    return field
