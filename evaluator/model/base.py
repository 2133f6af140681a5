"""The base class of all models, and clear messages for validation errors."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from evaluator.model.suggestion import did_you_mean


class Frozen(BaseModel):
    """An immutable model without extra fields."""

    # Validators are built when first used, since a command reads few kinds of documents. Docstrings become descriptions only
    # where schemas are generated, since reading them would double the time of the import.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


_ADVICE = {
    "string_type": "; write it in quotes",
    "missing": "; add it",
}


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


def explain(model: type[BaseModel], error: ValidationError) -> list[tuple[tuple[int | str, ...], str]]:
    """Each fault of a failed validation: its path and one clear sentence."""
    return [(_place(item), _sentence(model, item)) for item in error.errors(include_url=False)]


def reason(error: Exception, most: int = 200) -> str:
    """An error in one line of at most so many characters; of a failed validation its first fault."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in _place(first))[:100]
        message = str(first["msg"]).removeprefix("Value error, ").removeprefix("Input ")
        more = f", and {error.error_count() - 1} more" if error.error_count() > 1 else ""
        return " ".join(f"{place + ': ' if place else ''}{message}{more}".split())[:most]
    return " ".join(str(error).split())[:most]


def misplaced(place: tuple[int | str, ...], text: str) -> PydanticCustomError:
    """A fault found by a validator of a whole model, at `place` inside it."""
    return PydanticCustomError("misplaced", "{text}", {"text": text, "place": list(place)})


def _place(item: Any) -> tuple[int | str, ...]:
    return (*item["loc"], *(item["ctx"]["place"] if item["type"] == "misplaced" else ()))


def _sentence(model: type[BaseModel], item: Any) -> str:
    path = tuple(item["loc"])
    name = ".".join(str(step) for step in path) or "the document"
    if item["type"] == "extra_forbidden":
        hint = did_you_mean(str(path[-1]), _fields_at(model, path[:-1]), "known keys are:")
        return f"unknown key {str(path[-1])!r}; {hint}"
    if item["type"] == "missing":
        return f"the key '{name}' is missing; add it"
    if not path or item["type"] == "misplaced":
        return str(item["msg"]).removeprefix("Value error, ")
    if item["type"] in ("tuple_type", "list_type"):
        return f"'{name}' must be a list; begin each item with '- ', or write [a, b]"
    message = item["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"'{name}' {message[0].lower()}{message[1:]}{_ADVICE.get(item['type'], '')}"
