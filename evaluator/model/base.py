"""The base class of all models, and what several of them are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# So that sums and cubes are numbers, too: one return whose sum with others is none would end the scoring of all.
MOST_EXTREME = 1e100
EpisodeReturn = Annotated[float, Field(ge=-MOST_EXTREME, le=MOST_EXTREME)]


class Frozen(BaseModel):
    """An immutable model without extra fields."""

    # Validators are built when first used, since a command reads few kinds of documents. Docstrings become descriptions only
    # where schemas are generated, since reading them would double the time of the import.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


def is_none(value: object) -> bool:
    """For `exclude_if` of a later field: left out where it is not used, so that older documents stay unchanged."""
    return value is None
