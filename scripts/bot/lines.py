"""Lines for a job's log that hold a stranger's words: there `##[…]` is a command anywhere, and `::…::` at the beginning."""

from evaluator.host.sandboxes.channel import clean

LENGTH = 500


def harmless(text: str) -> str:
    """One line that no runner takes for a command: no control characters, and the two ways to begin one broken up."""
    line = clean(" ".join(text.split())).replace("##[", "## [").replace("::", ": :")
    return line if len(line) <= LENGTH else line[: LENGTH - 1] + "…"
