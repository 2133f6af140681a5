"""EvalAI's challenge_config.yaml as challenge.yml and pages. Its keys: prior art, and EvalAI's own documentation."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from scripts.import_evalai.config_reader import ConfigSection, ConversionReport, ImportFaultError
from scripts.import_evalai.metric_labels import metrics_of, unused
from scripts.import_evalai.phase_splits import (
    LeaderboardSettings,
    fields,
    leaderboard_settings,
    name_of,
    overlapping,
    phase_document,
)

Read = Callable[[str], bytes | None]
"""A file of the configuration's folder by its path; None where there is none."""

PAGE_BYTES = 1 << 20
# Of Markdown, what is no word: a link or picture is its text, an escaped character itself, and the rest is nothing.
_MARKS = re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)|\\([!-/:-@\[-`{-~])|[#*`]|^ *(?:-|\d+\.) ", re.MULTILINE)
_ACTIVE = ("script", "style", "iframe", "object", "embed", "form", "noscript", "svg", "math", "template", "link", "meta")


def markdown(html: bytes) -> str:
    """The page's text and structure. Whatever would run, load or ask is left out, and left-over tags are text."""
    soup = BeautifulSoup(html.decode("utf-8", "replace"), "html.parser")
    for tag in soup(list(_ACTIVE)):
        tag.decompose()
    for tag in soup.find_all(True):
        for name in ("href", "src"):
            if name in tag.attrs and not str(tag[name]).strip().lower().startswith(("https:", "http:", "mailto:", "#")):
                del tag[name]
    text: str = MarkdownConverter(heading_style="ATX", bullets="-", escape_misc=True).convert_soup(soup)
    lines = [line.rstrip().replace("<", "&lt;") for line in text.strip().splitlines()]
    return "\n".join(line for i, line in enumerate(lines) if line or (i and lines[i - 1])) + "\n"


def page_of(section: ConfigSection, key: str, read: Read) -> str | None:
    """A page that the configuration names by its path; text that is no path is taken as it is."""
    value = section.values.get(key)
    if not isinstance(value, str) or not value.strip():
        return None
    if not value.strip().lower().endswith((".html", ".htm", ".md", ".txt")):
        return markdown(value.encode())
    content = read(value.strip())
    if content is None:
        section.ledger.warn(
            section.at(key), f"the file {value.strip()[:100]!r} is not there or too large; write that page yourself"
        )
        return None
    return markdown(content)


def sentence(text: str | None, length: int) -> str:
    """The beginning of a Markdown page as plain words for a description."""
    return shortened(_MARKS.sub(lambda mark: mark[1] or mark[2] or "", text or ""), length)


def shortened(text: str, length: int) -> str:
    """As many whole words as there is room for."""
    words = " ".join(text.split())
    return words if len(words) <= length else words[: length - 1].rsplit(" ", 1)[0] + "…"


UNNAMED = "name-the-environment"
_SIGNS = ("leaderboard", "challenge_phases", "challenge_phase_splits")
_PAGES = {
    "description": ("about.md", "About"),
    "evaluation_details": ("evaluation.md", "Evaluation"),
    "terms_and_conditions": ("terms.md", "Terms"),
    "submission_guidelines": ("guidelines.md", "Guidelines"),
}
_DROPPED = {
    "evaluation_script": "the referee measures; a metric of one's own is 'kind: module:function'",
    "remote_evaluation": "every evaluation runs in the repository's own workflows",
    "is_docker_based": "images enter with 'kind: image' beside every other kind",
    "is_static_dataset_code_upload": "agents meet an environment, not a data set",
    "published": "a board is public when its repository is",
    "tags": "set them as topics of the repository",
    "domain": "set it as a topic of the repository",
    "allowed_email_domains": "people are known by their GitHub login: 'allow' or 'teams' of a phase",
    "blocked_email_domains": "people are known by their GitHub login: 'people: ban'",
    "banned_email_ids": "people are known by their GitHub login: 'people: ban'",
    "require_complete_profile": "GitHub has the profiles",
    "is_registration_open": "a phase's 'active' and dates say when one may enter",
    "enable_forum": "the repository's discussions are the forum",
    "worker_instance_type": "'runners: labels' names the machines",
    "cpu_only_jobs": "there are no graphics cards to ask for",
    "allow_resuming_submissions": "nothing is lost: what is wanted and not recorded runs again by itself",
    "allow_host_cancel_submissions": "a run is cancelled on the Actions page",
    "allow_cancel_running_submissions": "closing the pull request cancels its run",
    "allow_participants_resubmissions": "'/retry' in a comment",
    "leaderboard_description": "the task's page says how ranks are computed",
}


@dataclass(frozen=True, kw_only=True)
class ImportedChallenge:
    """What a configuration became."""

    challenge: dict[str, Any]
    pages: dict[str, str]
    """File name to Markdown."""
    pictures: tuple[str, ...]
    """Files of the original that belong to site/assets/."""
    ledger: ConversionReport


def convert(document: Any, read: Read, env: str | None = None) -> ImportedChallenge:
    """The configuration as ours.

    Args:
        document: the parsed YAML.
        read: a file beside it.
        env: the environment of every task, which EvalAI does not name.

    Raises:
        ImportFaultError: this is no configuration of EvalAI, or a part of it cannot be understood.
    """
    if not isinstance(document, dict) or not any(key in document for key in _SIGNS):
        raise ImportFaultError(f"this is no configuration of EvalAI: it has none of the keys {', '.join(_SIGNS)}")
    ledger = ConversionReport()
    top = ConfigSection(document, "", ledger)
    tasks = leaderboard_settings(top)
    pages = _pages(top, read)
    challenge = {
        **_head(top, pages),
        **({"limits": limits} if (limits := _limits(top)) else {}),
        **({"submissions": submissions} if (submissions := _submissions(top)) else {}),
        "tasks": [_task(task, env) for task in tasks],
        "phases": _phases(top, tasks, read),
        **({"people": people} if (people := _people(top, pages)) else {}),
    }
    unused(top.sections("leaderboard"), {task.board.text("id") for task in tasks}, ledger)
    pictures = _pictures(top)
    _rest(top)
    if env is None:
        ledger.warn(
            "challenge_phase_splits", f"EvalAI names no environment: replace '{UNNAMED}' in challenge.yml, or pass --env"
        )
    return ImportedChallenge(challenge=challenge, pages=pages, pictures=pictures, ledger=ledger)


def _head(top: ConfigSection, pages: dict[str, str]) -> dict[str, Any]:
    start = top.moment("start_date")
    end = top.moment("end_date")
    if start and end and start >= end:
        top.ledger.warn("end_date", f"the challenge ends ({end}) before it starts ({start}); the phases' own dates are kept")
    for key in ("start_date", "end_date"):
        top.changed(key, "each phase has its own dates; a phase without one is bounded by this")
    title = top.text("title")
    if not title:
        raise ImportFaultError("title: is missing; add it and import again")
    top.carried("title", "title" if len(title) <= 60 else "title, shortened to 60 characters")
    top.carried("short_description", "description")
    words = top.text("short_description") or sentence(pages.get("about.md"), 300)
    return {"title": shortened(title, 60), "description": words[:2000], "season": (start or end or "1")[:4]}


def _limits(top: ConfigSection) -> dict[str, Any]:
    """What a sandbox may use, in our units and within our bounds."""
    limits: dict[str, Any] = {}
    memory, cores = top.text("job_memory"), top.text("job_cpu_cores")
    if memory:
        factor = {"Gi": 1024, "G": 954, "Mi": 1, "M": 1}.get(memory.lstrip("0123456789."))
        number = memory.rstrip("GMi ")
        if factor is None or not number.replace(".", "", 1).isdecimal():
            raise ImportFaultError(f"job_memory: {memory!r} is not like 8Gi; correct it and import again")
        limits["memory_mib"] = min(65536, max(64, int(float(number) * factor)))
        top.carried("job_memory", "limits: memory_mib")
    if cores:
        number = cores.removesuffix("m")
        if not number.replace(".", "", 1).isdecimal():
            raise ImportFaultError(f"job_cpu_cores: {cores!r} is not like 2000m; correct it and import again")
        limits["cpus"] = float(number) / (1000 if cores.endswith("m") else 1)
        top.carried("job_cpu_cores", "limits: cpus")
    seconds = top.whole("submission_time_limit")
    if seconds is not None:
        limits["cpu_seconds"] = min(21600, max(1, seconds))
        top.changed("submission_time_limit", "limits: cpu_seconds of each task, at most 21,600; the wall is ten times that")
    return limits


def _submissions(top: ConfigSection) -> dict[str, Any]:
    size = top.whole("max_docker_image_size")
    top.carried("max_docker_image_size", "submissions: image_mib")
    return {} if size is None else {"image_mib": min(1 << 20, max(1, size >> 20))}


def _task(task: LeaderboardSettings, env: str | None) -> dict[str, Any]:
    document: dict[str, Any] = {"id": task.task_id, "env": env or UNNAMED, "title": task.title}
    document["metrics"] = metrics_of(task.board, task.split)
    split = task.split
    split.dropped("show_leaderboard_by_latest_submission", "the newest version is the one that ranks")
    for key in ("show_execution_time", "show_scores_on_leaderboard", "is_multi_metric_leaderboard"):
        split.changed(key, "cost and every metric are always shown")
    if "showeceution_time" in split.values:
        split.ledger.warn(split.at("showeceution_time"), "misspells show_execution_time, as EvalAI's own sample does")
        split.changed("showeceution_time", "cost is always shown")
    return document


def _phases(top: ConfigSection, tasks: list[LeaderboardSettings], read: Read) -> list[dict[str, Any]]:
    found = []
    for phase in top.sections("challenge_phases"):
        own = [task for task in tasks if task.phase.values is phase.values]
        words = sentence(page_of(phase, "description", read), 2000)
        phase.carried("description", "phases: description, as plain words")
        if not own:
            phase.ledger.warn(phase.place, f"no phase split belongs to '{phase.text('name')}', so it is left out")
            continue
        bounded = _bounded(phase, top)
        found.append(phase_document(bounded, own, words))
    names = [phase["id"] for phase in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ImportFaultError(f"challenge_phases: two phases are '{twice}'; give one another codename")
    overlapping(found, top.ledger)
    return found


def _bounded(phase: ConfigSection, top: ConfigSection) -> ConfigSection:
    """A phase without a date has the challenge's."""
    dates = {key: top.values.get(key) for key in ("start_date", "end_date") if not phase.has(key) and top.has(key)}
    start, end = phase.moment("start_date"), phase.moment("end_date")
    if start and end and start >= end:
        raise ImportFaultError(
            f"{phase.at('end_date')}: the phase ends ({end}) before it starts ({start}); correct one of them"
        )
    return ConfigSection({**phase.values, **dates}, phase.place, phase.ledger)


def _people(top: ConfigSection, pages: dict[str, str]) -> dict[str, Any]:
    people: dict[str, Any] = {}
    if size := top.whole("max_team_members"):
        people["team_size"] = min(100, max(1, size))
        top.carried("max_team_members", "people: team_size")
    if top.truth("anonymous_leaderboard", False) and (end := top.moment("end_date")):
        people["anonymous_until"] = end
    top.changed("anonymous_leaderboard", "people: anonymous_until, the challenge's end")
    if "terms.md" in pages:
        people["terms"] = "terms.md"
    if asked := fields(top.sections("challenge_phases")):
        people["fields"] = asked
    for key, ours in (("prizes", "prizes"), ("sponsors", "sponsors")):
        if found := _winners(top, key):
            people[ours] = found
            top.carried(key, f"people: {ours}")
    return people


def _winners(top: ConfigSection, key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in top.sections(key):
        if key == "prizes":
            what = " ".join(filter(None, (each.text("amount"), each.text("description"))))
            found.append({"place": (each.text("rank") or str(len(found) + 1))[:60], "what": (what or "a prize")[:300]})
        else:
            site = each.text("website") or each.text("url")
            found.append(
                {"name": (each.text("name") or "sponsor")[:60], **({"url": site} if site.startswith("https://") else {})}
            )
    return found


def _pages(top: ConfigSection, read: Read) -> dict[str, str]:
    pages = {}
    for key, (name, title) in _PAGES.items():
        text = page_of(top, key, read)
        if text is not None:
            pages[name] = text if text.startswith("# ") else f"# {title}\n\n{text}"
            top.changed(key, f"site/pages/{name}, as Markdown")
        else:
            top.dropped(key, "there is no such page")
    if address := top.text("forum_url"):
        about = pages.get("about.md", "# About\n")
        pages["about.md"] = f"{about}\nForum: <{address}>\n" if address.startswith("https://") else about
        top.changed("forum_url", "a link on site/pages/about.md")
    return pages


def _pictures(top: ConfigSection) -> tuple[str, ...]:
    picture = top.text("image")
    top.changed("image", "copied to site/assets/")
    return (picture,) if picture.lower().endswith((".jpg", ".jpeg", ".png")) else ()


def _rest(top: ConfigSection) -> None:
    """Keys that nothing was said of yet: known ones have a reason, unknown ones are told."""
    for key in ("leaderboard", "challenge_phases", "dataset_splits", "challenge_phase_splits"):
        top.carried(key, "tasks and phases")
    for key, why in _DROPPED.items():
        top.dropped(key, why)
    for split in top.sections("dataset_splits"):
        for key in ("id", "name", "codename"):
            split.carried(key, "the task's id and title")
    for phase in top.sections("challenge_phases"):
        for key in ("default_submission_meta_attributes", "submission_meta_attributes"):
            phase.changed(key, "people: fields, and the fields of submission.yml")
    sections = [
        top,
        *top.sections("leaderboard"),
        *top.sections("challenge_phases"),
        *top.sections("challenge_phase_splits"),
    ]
    for section in [*sections, *top.sections("dataset_splits")]:
        for place in list(section.unspoken()):
            if not place.endswith("].schema"):
                top.ledger.dropped(place, "is no key that this import knows")


__all__ = ["UNNAMED", "ImportFaultError", "ImportedChallenge", "convert", "name_of"]
