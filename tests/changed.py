"""`make check`: looks at what a change in progress touches, within a minute or so.

Changed is what differs from where the branch left main, and what is not committed. Everything else is for `make lint` and
`make test`.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = Path(sys.executable).parent
PACKAGES = ("evaluator/", "leaderboard/", "scripts/")
ALWAYS = ("tests/test_architecture.py", "tests/test_spread.py")
# What is marked takes more than the minute that this is for.
QUICK = "not docker and not browser and not slow and not act"
# Test files that are run for one changed module, besides those that bear its name.
MOST = 6


def git(*words: str) -> str:
    """What git prints; empty where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def changed() -> list[str]:
    """Paths of what was added or changed and is there."""
    base = next((commit for name in ("origin/main", "main") if (commit := git("merge-base", "HEAD", name).strip())), "HEAD")
    names = git("diff", "--name-only", "-z", base) + git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted({name for name in names.split("\0") if name and (ROOT / name).is_file()})


def module_of(path: str) -> str:
    """The dotted name of a source file."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def tests_of(path: str, texts: dict[str, str]) -> list[str]:
    """Test files for one changed file: itself, or those that bear its name or import it.

    `texts`: every test file's source by its path.
    """
    if path in texts:
        return [path]
    if not path.endswith(".py"):
        return []
    module, name = module_of(path), Path(path).stem
    package, _, last = module.rpartition(".")
    whole, within = re.escape(module), re.escape(package)
    uses = re.compile(rf"^(from {whole} |import {whole}\b|from {within} import .*\b{last}\b)", re.MULTILINE)
    named = [test for test in texts if Path(test).name == f"test_{name}.py"]
    return named + [test for test, text in texts.items() if test not in named and uses.search(text)][:MOST]


def chosen(paths: Iterable[str], texts: dict[str, str]) -> list[str]:
    """The test files for these changes."""
    return list(dict.fromkeys([*ALWAYS, *(test for path in paths for test in tests_of(path, texts))]))


def lints(paths: list[str]) -> list[list[str]]:
    """Commands that look at the changed files."""
    python = [path for path in paths if path.endswith(".py")]
    ours = [path for path in python if path.startswith(PACKAGES)]
    flows = [path for path in paths if re.fullmatch(r"\.github/workflows/.*\.yml", path)]
    commands = [
        ["ruff", "check", "--force-exclude", *python] if python else [],
        ["ruff", "format", "--check", "--force-exclude", *python] if python else [],
        ["mypy"] if ours else [],
        ["interrogate", "-q", *ours] if ours else [],
        ["codespell", *paths] if paths else [],
        ["pullrank", "schemas", "--check"] if any("/model/" in one or "/api/" in one for one in ours) else [],
        ["zizmor", "--quiet", "--offline", "--strict-collection", "--persona", "auditor", ".github"] if flows else [],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *flows] if flows else [],
    ]
    return [command for command in commands if command]


def main() -> int:
    """Run what is chosen; the number of commands that failed."""
    paths = changed()
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in sorted(ROOT.glob("tests/**/test_*.py"))}
    tests = chosen(paths, texts)
    print(f"{len(paths)} changed files, {len(tests)} files of tests", flush=True)
    failed = []
    for command in [*lints(paths), ["python", "-m", "pytest", "-m", QUICK, *tests]]:
        print(" ".join(command[:3]), "…", flush=True)
        if subprocess.run([str(TOOLS / command[0]), *command[1:]], cwd=ROOT, check=False).returncode:
            failed.append(command[0])
    print("Tests that are marked docker, browser, slow or act were left to `make test`.")
    if failed:
        print(f"Failed: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
