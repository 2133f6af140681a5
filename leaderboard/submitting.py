"""What the form on the submit page knows of the board: the rules of `pullrank check`, word for word from the models."""

import json

from evaluator.model.config.challenge import Task
from evaluator.model.config.submission import ADAPTERS, EXTRAS, OF_MODELS, Kind
from evaluator.model.identifiers import INVISIBLE, LOGIN, NEW_AGENT
from leaderboard.context import PageContext
from leaderboard.core.standings import Standings

PAGE = "submit/form.json"


def form(standings: Standings, context: PageContext) -> str:
    """A JSON document: where the board lies, its tasks, and what a submission must be like."""
    challenge = standings.challenge
    tasks = {task.id: task for task in (*challenge.tasks, *context.hidden)}
    people = challenge.people
    return json.dumps(
        {
            "title": challenge.title,
            "repository": (context.repository or challenge.repository or "").rstrip("/") or None,
            "tasks": [{"id": task.id, "title": task.title or task.id, "kind": kind_of(task)} for task in tasks.values()],
            "kinds": [kind.value for kind in Kind],
            "adapters": list(ADAPTERS),
            "adapters_of_models": list(OF_MODELS),
            "extras": list(EXTRAS),
            "files": challenge.submissions.files,
            "kib": challenge.submissions.kib,
            "patterns": {"login": LOGIN.pattern, "agent": NEW_AGENT.pattern, "invisible": INVISIBLE.pattern},
            "terms": people.terms,
            "fields": [field.model_dump(mode="json", exclude={"shown"}) for field in people.fields],
            "bans": [ban.login for ban in people.ban],
        },
        ensure_ascii=True,
    )


def kind_of(task: Task) -> str:
    """Who may enter: `game` and `task` are for agents, `script` is for scripts."""
    return "game" if task.game else "script" if task.script else "task"
