"""Conversion of EvalAI's challenge_config.yaml into challenge.yml and Markdown pages; keys as in EvalAI's documentation."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

from scripts.import_evalai import convert_phases
from scripts.import_evalai.config_reader import ConfigSection, ConversionReport, ImportFaultError, KeyFate

ReadFile = Callable[[str], bytes | None]
"""Reads a file of the configuration's folder; None if there is none."""

ENV_PLACEHOLDER = "name-the-environment"
MAX_PAGE_BYTES = 1 << 20
# How much longer Markdown may be than the plain text that is made of it.
MARKUP_SHARE = 100
# Markdown syntax to remove from plain text; group 1 is a link's or image's text, group 2 an escaped character. Texts and
# addresses of links are bounded, and the page is cut: for brackets that nothing closes the time grows with its square.
_MARKDOWN_SYNTAX = re.compile(
    r"!?\[([^\]\n]{0,500})\]\([^)\n]{0,2000}\)|\\([!-/:-@\[-`{-~])|[#*`]|^ *(?:-|\d+\.) ", re.MULTILINE
)
# What begins a tag that another one, or the page's end, comes before the end of; and sections, which are none of HTML.
_OPEN_TAG = re.compile(r"<(?:(?!!--)(?=[^<>]*(?:<|\Z))|(?=!\[))")
_ACTIVE_TAGS = (
    "script", "style", "iframe", "object", "embed", "form", "noscript", "svg", "math", "template", "link", "meta",
)  # fmt: skip
# EvalAI has labels only, so a metric's kind is read from a label of these words alone: "R2 score" is something else.
_LABEL_KINDS = {
    "success_rate": {"success", "successes", "solved", "completion", "complete", "win", "wins", "winrate", "rate"},
    "mean_length": {"length", "lengths", "step", "steps", "duration"},
    "median_return": {"median"},
    "mean_return": {"return", "returns", "reward", "rewards", "score", "scores", "total", "mean", "average", "avg"},
}
_COMMON_WORDS = {
    "overall", "final", "cumulative", "undiscounted", "episode", "episodes", "episodic", "task", "tasks", "per", "of", "the",
    "in",
}  # fmt: skip
_CONFIG_KEYS = ("leaderboard", "challenge_phases", "challenge_phase_splits")
_PAGE_FILES = {
    "description": ("about.md", "About"),
    "evaluation_details": ("evaluation.md", "Evaluation"),
    "terms_and_conditions": ("terms.md", "Terms"),
    "submission_guidelines": ("guidelines.md", "Guidelines"),
}
_DROPPED_TOP_KEYS = {
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


def to_markdown(html: bytes) -> str:
    """HTML as Markdown. Active content, forms and links of other schemes are removed; other tags are escaped."""
    soup = BeautifulSoup(_without_open_tags(html.decode("utf-8", "replace")), "html.parser")
    for tag in soup(list(_ACTIVE_TAGS)):
        tag.decompose()
    for tag in soup.find_all(True):
        for name in ("href", "src"):
            if name in tag.attrs and not str(tag[name]).strip().lower().startswith(("https:", "http:", "mailto:", "#")):
                del tag[name]
    text: str = MarkdownConverter(heading_style="ATX", bullets="-", escape_misc=True).convert_soup(soup)
    lines = [line.rstrip().replace("<", "&lt;") for line in text.strip().splitlines()]
    return "\n".join(line for i, line in enumerate(lines) if line or (i and lines[i - 1])) + "\n"


def _without_open_tags(html: str) -> str:
    """HTML whose tags and comments all end: the parser looks for each missing end anew, or gives up."""
    ended, end, rest = html.rpartition("-->")
    return _OPEN_TAG.sub("&lt;", ended + end + rest.replace("<!--", "&lt;!--"))


def read_page(section: ConfigSection, key: str, read: ReadFile) -> str | None:
    """A page as Markdown: the file that the key names, or the key's text itself if it is no path.

    Raises:
        ImportFaultError: its tags are nested too deeply.
    """
    value = section.values.get(key)
    if not isinstance(value, str) or not value.strip():
        return None
    if not value.strip().lower().endswith((".html", ".htm", ".md", ".txt")):
        content: bytes | None = value.encode()
    else:
        content = read(value.strip())
    if content is None:
        section.warn(key, f"the file {value.strip()[:100]!r} is missing or too large; write that page yourself")
        return None
    try:
        return to_markdown(content)
    except RecursionError as error:
        raise ImportFaultError(
            f"{section.at(key)}: its tags are nested too deeply; make the page simpler and import again"
        ) from error


def plain_text(text: str | None, length: int) -> str:
    """The beginning of a Markdown page as plain text."""
    beginning = (text or "")[: MARKUP_SHARE * length]
    return truncated(_MARKDOWN_SYNTAX.sub(lambda match: match[1] or match[2] or "", beginning), length)


def truncated(text: str, length: int) -> str:
    """The text on one line, cut after a whole word to at most `length` characters."""
    words = " ".join(text.split())
    return words if len(words) <= length else words[: length - 1].rsplit(" ", 1)[0] + "…"


@dataclass(frozen=True, kw_only=True)
class ImportedChallenge:
    """The result of a conversion."""

    challenge: dict[str, Any]
    pages: dict[str, str]
    """Markdown by file name."""
    pictures: tuple[str, ...]
    """Paths in the configuration's folder, to be copied to site/assets/."""
    report: ConversionReport


def convert_challenge(document: Any, read: ReadFile, env: str | None = None) -> ImportedChallenge:
    """Convert a configuration.

    `env`: the environment of every task; a placeholder if None, since EvalAI names no environments.

    Raises:
        ImportFaultError: the document is no EvalAI configuration, or has a fault.
    """
    if not isinstance(document, dict) or not any(key in document for key in _CONFIG_KEYS):
        raise ImportFaultError(f"this is no EvalAI configuration: it has none of the keys {', '.join(_CONFIG_KEYS)}")
    report = ConversionReport()
    top = ConfigSection(document, "", report)
    splits = convert_phases.phase_splits(top)
    pages = _pages(top, read)
    challenge = {
        **_title_and_season(top, pages),
        **({"limits": limits} if (limits := _limits(top)) else {}),
        **({"submissions": submissions} if (submissions := _submissions(top)) else {}),
        "tasks": [_task(split, env) for split in splits],
        "phases": _phases(top, splits, read),
        **({"people": people} if (people := _people(top, pages)) else {}),
    }
    _warn_unused_leaderboards(top.sections("leaderboard"), {each.leaderboard.text("id") for each in splits}, report)
    pictures = _pictures(top)
    _report_other_keys(top)
    if env is None:
        report.warn(
            "challenge_phase_splits",
            f"EvalAI names no environment: replace '{ENV_PLACEHOLDER}' in challenge.yml, or pass --env",
        )
    return ImportedChallenge(challenge=challenge, pages=pages, pictures=pictures, report=report)


def _title_and_season(top: ConfigSection, pages: dict[str, str]) -> dict[str, Any]:
    start = top.timestamp("start_date")
    end = top.timestamp("end_date")
    if start and end and start >= end:
        top.report.warn("end_date", f"the challenge ends ({end}) before it starts ({start}); the phases' own dates are kept")
    for key in ("start_date", "end_date"):
        top.changed(key, "each phase has its own dates; a phase without one is bounded by this")
    title = top.text("title")
    if not title:
        raise ImportFaultError("title: is missing; add it and import again")
    top.carried("title", "title" if len(title) <= 60 else "title, truncated to 60 characters")
    top.carried("short_description", "description")
    words = top.text("short_description") or plain_text(pages.get("about.md"), 300)
    return {"title": truncated(title, 60), "description": words[:2000], "season": (start or end or "1")[:4]}


def _limits(top: ConfigSection) -> dict[str, Any]:
    """The limits, in the units and bounds of challenge.yml."""
    limits: dict[str, Any] = {}
    memory, cores = top.text("job_memory"), top.text("job_cpu_cores")
    if memory:
        factor = {"Gi": 1024, "G": 954, "Mi": 1, "M": 1}.get(memory.lstrip("0123456789."))
        number = memory.rstrip("GMi ")
        if factor is None or not number.replace(".", "", 1).isdecimal():
            raise ImportFaultError(f"job_memory: {memory!r} is not like 8Gi; correct it and import again")
        limits["memory_mib"] = int(min(65536, max(64, float(number) * factor)))
        top.carried("job_memory", "limits: memory_mib")
    if cores:
        number = cores.removesuffix("m")
        if not number.replace(".", "", 1).isdecimal():
            raise ImportFaultError(f"job_cpu_cores: {cores!r} is not like 2000m; correct it and import again")
        limits["cpus"] = float(number) / (1000 if cores.endswith("m") else 1)
        top.carried("job_cpu_cores", "limits: cpus")
    seconds = top.integer("submission_time_limit")
    if seconds is not None:
        limits["cpu_seconds"] = min(21600, max(1, seconds))
        top.changed("submission_time_limit", "limits: cpu_seconds of each task, at most 21,600; the wall is ten times that")
    return limits


def _submissions(top: ConfigSection) -> dict[str, Any]:
    size = top.integer("max_docker_image_size")
    top.carried("max_docker_image_size", "submissions: image_mib")
    return {} if size is None else {"image_mib": min(1 << 20, max(1, size >> 20))}


def _task(phase_split: convert_phases.PhaseSplit, env: str | None) -> dict[str, Any]:
    document: dict[str, Any] = {"id": phase_split.task_id, "env": env or ENV_PLACEHOLDER, "title": phase_split.title}
    document["metrics"] = _task_metrics(phase_split.leaderboard, phase_split.split)
    split = phase_split.split
    split.dropped("show_leaderboard_by_latest_submission", "the newest version is the one that ranks")
    for key in ("show_execution_time", "show_scores_on_leaderboard", "is_multi_metric_leaderboard"):
        split.changed(key, "cost and every metric are always shown")
    if "showeceution_time" in split.values:
        split.warn("showeceution_time", "misspells show_execution_time, as EvalAI's own sample does")
        split.changed("showeceution_time", "cost is always shown")
    return document


def _task_metrics(board: ConfigSection, split: ConfigSection) -> list[dict[str, Any]]:
    """The metrics of a leaderboard in one phase split; the first one ranks.

    Raises:
        ImportFaultError: the leaderboard has no labels.
    """
    schema = board.mapping("schema")
    labels = list(dict.fromkeys(schema.texts("labels")))
    if not labels:
        raise ImportFaultError(f"{schema.at('labels')}: is missing or empty; a leaderboard has labels")
    first = _ranking_label(schema, labels)
    decimals = split.integer("leaderboard_decimal_precision")
    split.carried("leaderboard_decimal_precision", "decimals of the task's metrics")
    carried = []
    for label in [first, *(label for label in labels if label != first)]:
        kind = _kind(label, schema, ranks=label == first)
        if kind is None:
            continue
        direction = _direction(label, schema, split, label == first)
        metric: dict[str, Any] = {"name": label[:60], "kind": kind, "direction": direction}
        if kind == "success_rate":
            metric["threshold"] = 1
            schema.warn("labels", f"'{label}' is taken as a success rate: set its 'threshold'")
        if words := _label_metadata(schema, label).text("description"):
            metric["description"] = words[:2000]
        carried.append(metric | {"decimals": min(6, max(0, 2 if decimals is None else decimals))})
    return carried


def _ranking_label(schema: ConfigSection, labels: list[str]) -> str:
    label = schema.text("default_order_by")
    schema.carried("labels", "metrics of each task")
    if label in labels:
        schema.carried("default_order_by", f"'{label}' is the first metric, which ranks")
        return label
    problem = f"{label!r} is none of the labels" if label else "is missing"
    schema.changed("default_order_by", f"'{labels[0]}', the first label, ranks")
    schema.warn("default_order_by", f"{problem}; '{labels[0]}' ranks; put another first if that is wrong")
    return labels[0]


def _kind(label: str, schema: ConfigSection, *, ranks: bool) -> str | None:
    words = set(re.findall(r"[^\W_]+", label.lower()))
    is_plain = words <= _COMMON_WORDS.union(*_LABEL_KINDS.values())
    kind = next((kind for kind, marks in _LABEL_KINDS.items() if is_plain and words & marks), None)
    if kind is None and ranks:
        schema.warn("labels", f"'{label}' ranks and nothing says how it is computed: taken as mean_return")
        return "mean_return"
    if kind is None:
        schema.warn("labels", f"'{label}' is left out, as nothing says how it is computed: add it with a function")
    return kind


def _label_metadata(schema: ConfigSection, label: str) -> ConfigSection:
    return schema.mapping("metadata").mapping(label)


def _direction(label: str, schema: ConfigSection, split: ConfigSection, ranks: bool) -> str:
    """The direction. If metadata and flag disagree the flag counts, though EvalAI sorts by the metadata."""
    split.carried("is_leaderboard_order_descending", "direction of the metric that ranks")
    meta = _label_metadata(schema, label)
    has_metadata = schema.mapping("metadata").has(label)
    if has_metadata:
        schema.carried("metadata", "direction and description of each metric")
    ascending = meta.boolean("sort_ascending", False) if meta.has("sort_ascending") else None
    if not ranks or (ascending is not None and not split.has("is_leaderboard_order_descending")):
        return "lower" if ascending else "higher"
    flag = split.boolean("is_leaderboard_order_descending", True)
    if has_metadata and ascending is None and flag:
        meta.warn(
            "sort_ascending",
            f"is missing, so EvalAI sorted '{label}' ascending against is_leaderboard_order_descending; taken as higher",
        )
    elif ascending is not None and ascending == flag:
        meta.warn(
            "sort_ascending",
            f"is {ascending}, and is_leaderboard_order_descending is {flag}: they disagree on '{label}'. The flag is taken"
            f" ({'higher' if flag else 'lower'} is better), EvalAI sorted by the other; check 'direction'",
        )
    return "higher" if flag else "lower"


def _warn_unused_leaderboards(boards: list[ConfigSection], used: set[str], report: ConversionReport) -> None:
    """Warn of leaderboards that no phase split shows."""
    for board in boards:
        board.carried("id", "tells boards apart in the original only")
        if board.text("id") not in used:
            report.warn(board.place, "no phase split shows this leaderboard, so it is left out")


def _phases(top: ConfigSection, splits: list[convert_phases.PhaseSplit], read: ReadFile) -> list[dict[str, Any]]:
    phases = []
    for phase in top.sections("challenge_phases"):
        phase_tasks = [each for each in splits if each.phase.values is phase.values]
        description = plain_text(read_page(phase, "description", read), 2000)
        phase.carried("description", "phases: description, as plain words")
        if not phase_tasks:
            phase.report.warn(phase.place, f"no phase split belongs to '{phase.text('name')}', so it is left out")
            continue
        phases.append(convert_phases.phase_document(_with_dates(phase, top), phase_tasks, description))
    names = [phase["id"] for phase in phases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ImportFaultError(f"challenge_phases: two phases are '{twice}'; give one another codename")
    convert_phases.warn_overlapping_phases(phases, top.report)
    return phases


def _with_dates(phase: ConfigSection, top: ConfigSection) -> ConfigSection:
    """The phase, with the challenge's dates where it has none."""
    dates = {key: top.values.get(key) for key in ("start_date", "end_date") if not phase.has(key) and top.has(key)}
    start, end = phase.timestamp("start_date"), phase.timestamp("end_date")
    if start and end and start >= end:
        raise ImportFaultError(
            f"{phase.at('end_date')}: the phase ends ({end}) before it starts ({start}); correct one of them"
        )
    return ConfigSection({**phase.values, **dates}, phase.place, phase.report)


def _people(top: ConfigSection, pages: dict[str, str]) -> dict[str, Any]:
    people: dict[str, Any] = {}
    if size := top.integer("max_team_members"):
        people["team_size"] = min(100, max(1, size))
        top.carried("max_team_members", "people: team_size")
    if top.boolean("anonymous_leaderboard", False) and (end := top.timestamp("end_date")):
        people["anonymous_until"] = end
    top.changed("anonymous_leaderboard", "people: anonymous_until, the challenge's end")
    if "terms.md" in pages:
        people["terms"] = "site/pages/terms.md"
    if custom := convert_phases.custom_fields(top.sections("challenge_phases")):
        people["fields"] = custom
    for key, documents in (("prizes", _prizes(top)), ("sponsors", _sponsors(top))):
        if documents:
            people[key] = documents
            top.carried(key, f"people: {key}")
    return people


def _prizes(top: ConfigSection) -> list[dict[str, str]]:
    prizes = []
    for number, prize in enumerate(top.sections("prizes"), 1):
        text = " ".join(filter(None, (prize.text("amount"), prize.text("description"))))
        prizes.append({"place": (prize.text("rank") or str(number))[:60], "what": (text or "a prize")[:300]})
    return prizes


def _sponsors(top: ConfigSection) -> list[dict[str, str]]:
    sponsors = []
    for sponsor in top.sections("sponsors"):
        url = sponsor.text("website") or sponsor.text("url")
        name = (sponsor.text("name") or "sponsor")[:60]
        sponsors.append({"name": name, "url": url} if url.startswith("https://") else {"name": name})
    return sponsors


def _pages(top: ConfigSection, read: ReadFile) -> dict[str, str]:
    pages = {}
    for key, (name, title) in _PAGE_FILES.items():
        text = read_page(top, key, read)
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
    top.changed("image", "copied to site/assets/ where it lies beside the configuration")
    return (picture,) if picture.lower().endswith((".jpg", ".jpeg", ".png")) else ()


def _report_other_keys(top: ConfigSection) -> None:
    """Report the remaining keys: known ones with a reason, unknown ones as unknown."""
    for key in ("leaderboard", "challenge_phases", "dataset_splits", "challenge_phase_splits"):
        top.carried(key, "tasks and phases")
    for key, why in _DROPPED_TOP_KEYS.items():
        top.dropped(key, why)
    for split in top.sections("dataset_splits"):
        for key in ("id", "name", "codename"):
            split.carried(key, "the task's id and title")
    for phase in top.sections("challenge_phases"):
        for key in ("default_submission_meta_attributes", "submission_meta_attributes"):
            phase.changed(key, "people: fields, and the fields of submission.yml")
    lists = ("leaderboard", "challenge_phases", "challenge_phase_splits", "dataset_splits")
    for section in [top, *(section for key in lists for section in top.sections(key))]:
        for place in list(section.unreported_keys()):
            if not place.endswith("].schema"):
                top.report.add(place, KeyFate.DROPPED, "is no key that this import knows")
