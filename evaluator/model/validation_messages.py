"""Clear sentences for validation errors, and for names that there are not."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

# By pydantic's type of a fault: the sentence about a value, with what is in the fault's context.
_SENTENCES = {
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "too_long": "has {actual_length} items of at most {max_length}",
    "too_short": "needs at least {min_length} items",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
}
# What to do about it, where that is the same for all values.
_ADVICE = {
    "string_type": "write it in quotes",
    "list_type": "begin each item with '- ', or write [a, b]",
    "tuple_type": "begin each item with '- ', or write [a, b]",
}
# By pattern: what it means, with an example.
_PATTERNS = {
    r"^\d{4}-\d\d-\d\d$": 'must be a day, such as "2026-05-01"',
    r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$": 'must be a moment in UTC, such as "2026-05-01T12:00:00Z"',
}
_HEX = re.compile(r"\^(sha256:)?\[0-9a-f\]\{(\d+)\}\$")
_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
# A manifest has room for eighty thousand, and a pull request for two hundred manifests.
_MOST_FAULTS = 100
# A larger number is not repeated.
_MOST_QUOTED = 1e15
# A word that may stand in a list of YAML as it is.
_PLAIN_WORD = re.compile(r"[A-Za-z][\w.-]{0,60}")


def _fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """The field names of the model at `path` inside `model`; empty where there is none."""
    current: Any = model
    for step in path:
        if isinstance(step, int) or not (isinstance(current, type) and issubclass(current, BaseModel)):
            continue
        field = current.model_fields.get(step)
        current = _inner_model(field.annotation) if field else None
    is_model = isinstance(current, type) and issubclass(current, BaseModel)
    return list(current.model_fields) if is_model else []


def _inner_model(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_inner_model(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)


def faults_in_words(model: type[BaseModel], error: ValidationError) -> list[tuple[tuple[int | str, ...], str]]:
    """Faults of a failed validation, a hundred at most: the path of each and one clear sentence."""
    items = error.errors(include_url=False)[:_MOST_FAULTS]
    return [(_fault_path(item), _sentence(model, item)) for item in items if not _is_consequence(item, items)]


def error_in_words(error: Exception, most: int = 200) -> str:
    """An error in one line of at most that many characters; of a failed validation its first fault."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in _fault_path(first))[:100]
        more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
        return " ".join(f"{place + ': ' if place else ''}{_words(first)}{more}".split())[:most]
    return " ".join(str(error).split())[:most]


def misplaced(place: tuple[int | str, ...], text: str) -> PydanticCustomError:
    """A fault found by a validator of a whole model, at `place` inside it."""
    return PydanticCustomError("misplaced", "{text}", {"text": text, "place": list(place)})


def _steps(item: Any) -> tuple[int | str, ...]:
    """The path of a fault in the document: without the names of a union's members, which have brackets.

    An unknown key may have brackets, too; it is always the last step.
    """
    *inner, last = item["loc"] or (None,)
    steps = [step for step in inner if isinstance(step, int) or "[" not in step]
    if item["type"] == "extra_forbidden" or isinstance(last, int) or (last is not None and "[" not in last):
        steps.append(last)
    return tuple(steps)


def _fault_path(item: Any) -> tuple[int | str, ...]:
    return (*_steps(item), *(item["ctx"]["place"] if item["type"] == "misplaced" else ()))


def _is_consequence(item: Any, items: Sequence[Any]) -> bool:
    """Whether another fault is the cause: of a list without valid items, and of the members of a union but the last."""
    path = _steps(item)
    if item["type"] == "too_short":
        return any(len(_steps(other)) > len(path) and _steps(other)[: len(path)] == path for other in items)
    if item["type"] == "literal_error" and len(path) < len(item["loc"]):
        return any(other is not item and _steps(other)[: len(path)] == path for other in items)
    return False


def _sentence(model: type[BaseModel], item: Any) -> str:
    path = _steps(item)
    name = ".".join(str(step) for step in path) or "the document"
    if item["type"] == "extra_forbidden":
        hint = did_you_mean(str(path[-1]), _fields_at(model, path[:-1]), "known keys are:")
        return f"unknown key {str(path[-1])!r}; {hint}"
    if item["type"] == "missing":
        if isinstance(path[-1], int):
            items = f"{path[-1]} item{'s' if path[-1] != 1 else ''}"
            return f"'{'.'.join(map(str, path[:-1]))}' has {items}; add another"
        return f"the key '{name}' is missing; add it"
    if not path or item["type"] == "misplaced":
        return str(item["msg"]).removeprefix("Value error, ")
    words, advice, value = _words(item), _ADVICE.get(item["type"], ""), item["input"]
    if words.startswith("'"):  # of a validator of a whole model
        return f"{name}: {words}"
    if item["type"] in ("list_type", "tuple_type") and isinstance(value, str) and _PLAIN_WORD.fullmatch(value):
        advice = f"write [{value}]"
    elif item["type"] == "string_too_long":
        words, advice = f"has {len(value)} characters of at most {item['ctx']['max_length']}", "shorten it"
    elif item["type"] == "model_type" and (keys := _fields_at(model, path)):
        words, advice = "must be a mapping", listed(keys, "its keys are")
    elif item["type"] in _BOUNDS and isinstance(value, int | float) and abs(value) < _MOST_QUOTED:
        words = f"is {value:g}; it {words}"
    return f"'{name}' {words}{'; ' + advice if advice else ''}"


def _words(item: Any) -> str:
    """What a fault says about its value, which is not quoted."""
    context = item.get("ctx", {})
    if item["type"] == "string_pattern_mismatch" and (digits := _HEX.fullmatch(context["pattern"])):
        prefix = f"{digits[1]} and " if digits[1] else ""
        return f"must be {prefix}{digits[2]} of the digits 0-9 and a-f"
    if item["type"] == "string_pattern_mismatch" and context["pattern"] in _PATTERNS:
        return _PATTERNS[context["pattern"]]
    if item["type"] == "too_short" and context["min_length"] == 1:
        return "needs at least 1 item"
    if item["type"] in _SENTENCES:
        return _SENTENCES[item["type"]].format(**context)
    message = str(item["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return f"{message[0].lower()}{message[1:]}"


# More names than these are not listed.
LISTED_NAMES = 20


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name most like a word, whatever its capitals; None if none is like it."""
    import difflib  # imported late: needed only for a fault

    by_folded = {name.casefold(): name for name in names}
    # The library's 0.6 calls `badge` like `image`.
    near = difflib.get_close_matches(word[:100].casefold(), by_folded, n=1, cutoff=0.65)
    return by_folded[near[0]] if near else None


def did_you_mean(word: str, names: Iterable[str], introduction: str) -> str:
    """A hint: the nearest name, or all of them after the words `introduction`, such as "the tasks are"."""
    names = list(names)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean '{near}'?"
    return listed(names, introduction)


def listed(names: list[str], introduction: str) -> str:
    """Names after the words `introduction`, LISTED_NAMES at most."""
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return f"{introduction} {', '.join(names[:LISTED_NAMES])}{more}"
