"""What the submit form needs to know: repository, tasks, and the rules of a submission."""

import json

from evaluator.model.config.submission import ADAPTERS, EXTRAS, MODEL_ADAPTERS, SubmissionKind
from evaluator.model.identifiers import LOGIN, NEW_AGENT
from evaluator.model.visible_text import HIDDEN_IN_NAMES, HIDDEN_IN_TEXTS
from leaderboard.core.standings import Standings
from leaderboard.site_context import SiteContext
from leaderboard.text import format, phases, urls

FORM_RULES = "submit/form.json"


def form_rules(standings: Standings, context: SiteContext) -> str:
    """The JSON document that the form reads."""
    challenge = standings.challenge
    tasks = {task.id: task for task in (*challenge.tasks, *context.hidden)}
    people = challenge.people
    repository = (context.repository or challenge.repository or "").rstrip("/") or None
    return json.dumps(
        {
            "title": challenge.title,
            "not_open": phases.not_open(challenge, context.now) or None,
            "repository": repository,
            "tasks": [
                {
                    "id": task.id,
                    "title": task.title or task.id,
                    "kind": format.task_kind(task),
                    "not_open": phases.not_open(challenge, context.now, task.id) or None,
                }
                for task in tasks.values()
            ],
            "kinds": [kind.value for kind in SubmissionKind],
            "adapters": list(ADAPTERS),
            "adapters_of_models": list(MODEL_ADAPTERS),
            "extras": list(EXTRAS),
            "files": challenge.submissions.files,
            "kib": challenge.submissions.kib,
            "patterns": {
                "login": LOGIN.pattern,
                "agent": NEW_AGENT.pattern,
                "invisible": HIDDEN_IN_TEXTS,
                "invisible_in_names": HIDDEN_IN_NAMES,
            },
            "terms": people.terms,
            "terms_url": urls.terms_url(repository, people.terms),
            "fields": [field.model_dump(mode="json", exclude={"shown"}) for field in people.fields],
            "bans": [ban.login for ban in people.ban],
        },
        ensure_ascii=True,
    )
