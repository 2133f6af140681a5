"""Results of revealed seasons, opened with the secrets that were published."""

from collections.abc import Iterable

from evaluator.host.seeds.season_secret import Secret
from evaluator.model.records.result import Result
from scripts.console import say
from scripts.seasons.record import Seasons


def opened(results: Iterable[Result], seasons: Seasons) -> list[Result]:
    """All results, those of revealed seasons with their episodes; what does not open is named and left out."""
    found = []
    for result in results:
        secret = seasons.secret_of(result.season, result.beacon) if result.sealed else None
        try:
            found.append(_opened(result, secret) if secret else result)
        except ValueError as error:
            say(f"{result.path()}.json: cannot be opened ({' '.join(str(error).split())[:200]}); it is left out")
    return found


def _opened(result: Result, secret: Secret) -> Result:
    # Cryptography is imported only where a season was revealed.
    from evaluator.host.seeds.encryption import open_result

    return open_result(result, secret)
