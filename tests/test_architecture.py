"""The rules of the house: who may import whom, who owns which outside thing, how large a file and a function may grow."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("evaluator", "leaderboard", "scripts")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

OWNERS = {
    "docker": {"evaluator/host/docker/engine.py"},
    "github": {"scripts/github/api/client.py"},
    "yaml": {"evaluator/host/loading/yaml_loader.py"},
    "jinja2": {"leaderboard/pages/page_renderer.py", "leaderboard/comments/render_comment.py"},
    "cryptography": {"evaluator/host/seeds/encryption.py"},
}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def imported_modules(path: Path) -> set[str]:
    """Our own modules that a file imports, `from package import module` resolved."""
    known = {module_name(source) for source in SOURCES}
    found = set()
    for name in imports(path):
        parent = name.rpartition(".")[0]
        found |= {candidate for candidate in (name, parent) if candidate in known}
    return found - {module_name(path)}


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


@pytest.mark.parametrize("thing", OWNERS)
def test_each_outside_thing_has_one_owner(thing: str) -> None:
    users = {str(path.relative_to(ROOT)) for path in SOURCES if any(n.split(".")[0] == thing for n in imports(path))}

    assert users <= OWNERS[thing]


def test_the_sandbox_imports_only_itself_and_the_wire() -> None:
    for path in SOURCES:
        if "sandbox" in path.parts and "evaluator" in path.parts:
            allowed = {m for m in imported_modules(path) if m.startswith("evaluator.sandbox") or m == "evaluator.wire"}
            assert imported_modules(path) - {"evaluator.__init__"} == allowed, path


def test_the_wire_needs_the_standard_library_only() -> None:
    names = {name.split(".")[0] for name in imports(ROOT / "evaluator/wire.py")}

    assert names <= {"enum", "math", "struct", "collections", "dataclasses", "typing"}


def test_the_model_does_no_input_or_output() -> None:
    forbidden = {"os", "pathlib", "subprocess", "socket", "docker", "yaml", "requests", "tempfile"}
    for path in (ROOT / "evaluator/model").glob("*.py"):
        assert not {name.split(".")[0] for name in imports(path)} & forbidden, path


def test_the_leaderboard_knows_only_the_model() -> None:
    for path in (ROOT / "leaderboard").glob("*.py"):
        ours = {m for m in imported_modules(path) if m.startswith(("evaluator", "scripts"))}
        # and how a second process is made, which is a matter of the interpreter
        assert all(m.startswith("evaluator.model") or m == "evaluator.signals" for m in ours), path


def test_the_evaluator_knows_neither_board_nor_command() -> None:
    for path in (ROOT / "evaluator").rglob("*.py"):
        assert not {m for m in imported_modules(path) if m.startswith(("leaderboard", "scripts"))}, path


def test_there_are_no_import_cycles() -> None:
    graph = {module_name(path): imported_modules(path) for path in SOURCES}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " → ".join((*trail, module))
        if module not in done:
            for other in sorted(graph.get(module, ())):
                visit(other, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "__init__.py"], ids=str)
def test_packages_hold_a_docstring_only(path: Path) -> None:
    body = ast.parse(path.read_text()).body

    assert len(body) == 1
    assert isinstance(body[0], ast.Expr)


def test_files_and_functions_fit_in_the_eye() -> None:
    long_files = {str(p.relative_to(ROOT)): n for p in SOURCES if (n := len(p.read_text().splitlines())) > 500}
    lengths = {
        f"{path.relative_to(ROOT)}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in SOURCES
        for node in functions(path)
    }
    long_functions = {name: n for name, n in lengths.items() if n > 50}

    assert long_files == {}
    assert long_functions == {}
    assert sum(n <= 30 for n in lengths.values()) / len(lengths) >= 0.9


def test_broad_handlers_stand_only_where_foreign_code_ends() -> None:
    allowed = {
        "evaluator/host/solo/evaluate_agent.py": 1,  # ours is never the agent's
        "evaluator/host/envs/gym_task.py": 1,  # an environment's own constructor
        "evaluator/sandbox/load_agent.py": 2,  # the agent's import and constructor
        "evaluator/sandbox/run_script.py": 1,  # whatever a script raises is its exit code
        "evaluator/sandbox/main.py": 2,  # the agent's act and act_batch
        "evaluator/sandbox/values.py": 1,  # the agent's __repr__
        "leaderboard/core/parallel.py": 1,  # raised again in the process that asks for the value
        "scripts/github/due.py": 1,  # what cannot be told is due
        "scripts/github/pull_request/reconcile.py": 1,  # one pull request's failure is not the others'
        "scripts/cli.py": 1,  # one line instead of a traceback
        "scripts/verification/verify_records.py": 1,  # an environment on actions that it was never meant to meet
    }
    found: dict[str, int] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            broad = isinstance(node, ast.ExceptHandler) and (
                node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
            )
            reraises = broad and any(isinstance(inner, ast.Raise) and inner.exc is None for inner in node.body)
            if broad and not reraises:
                name = str(path.relative_to(ROOT))
                found[name] = found.get(name, 0) + 1

    assert found == allowed


def test_no_path_of_one_machine_and_no_registry_host_is_written_down() -> None:
    words = (
        "/" + "work/",
        "/" + "root/",
        "pypi" + ".org",
        "registry." + "npmjs",
        "deb." + "debian.org",
        "registry-1." + "docker",
    )
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept = [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]
    for path in kept:
        if path.stat().st_size < 1 << 20:
            text = path.read_bytes().decode("utf-8", "replace")
            assert not [word for word in words if word in text], path
