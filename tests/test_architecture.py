"""ARCHITECTURE.md against the code: which folder may import which, who owns each outside library, what is named once."""

import ast
import functools
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("evaluator", "leaderboard", "scripts")
# Templates and the probe's agents are data: they are copied, never imported.
DATA = ("scripts/templates/", "evaluator/host/probe/agents/")
SOURCES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if not str(path.relative_to(ROOT)).startswith(DATA)
)
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
# Which modules alone import an outside library.
OWNERS = {
    "docker": {"evaluator.host.docker.engine", "evaluator.host.docker.container_options"},
    "github": {"scripts.github.api.client"},
    "yaml": {"evaluator.host.loading.yaml_loader"},
    "jinja2": {"leaderboard.pages.template_renderer", "leaderboard.comments.render_comment"},
    "cryptography": {"evaluator.host.seeds.encryption"},
}
# One module for each command, adapter and document: a reader looks for one by its name.
MANY = {"scripts.commands", "evaluator.sandbox.adapters", "leaderboard.api"}
# The number of modules that a reader takes in at one look.
SIDE_BY_SIDE = 12


def module_name(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


def package_of(module: str) -> str:
    return module.rpartition(".")[0]


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """The full name of everything that a file imports."""
    return tuple(_imports(path))


MODULES = {module_name(path): path for path in SOURCES if path.name != "__init__.py"}


def imported_modules(path: Path) -> set[str]:
    """Our own modules that a file imports, `from package import module` resolved."""
    names = {candidate for name in imports(path) for candidate in (name, package_of(name))}
    return names & MODULES.keys() - {module_name(path)}


@functools.cache
def graph() -> dict[str, set[str]]:
    """Each module's own imports; made when first asked for, since every worker reads this file to collect its tests."""
    return {module: imported_modules(path) for module, path in MODULES.items()}


def layers() -> list[str]:
    """The folders of ARCHITECTURE.md's list, lowest first."""
    block = re.search(r"```layers\n(.*?)```", ARCHITECTURE, re.DOTALL)
    assert block
    return [line.split()[0].rstrip("/").replace("/", ".") for line in block[1].splitlines() if line.strip()]


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def test_the_rules_see_the_whole_product() -> None:
    assert len(MODULES) > 200
    assert sum(len(imported) for imported in graph().values()) > 1000


def test_every_folder_is_listed_once() -> None:
    assert sorted(layers()) == sorted({package_of(module) for module in MODULES})


@pytest.mark.parametrize("package", layers())
def test_a_folder_imports_only_folders_that_are_listed_before_it(package: str) -> None:
    allowed = layers()[: layers().index(package) + 1]
    imported = {module: graph()[module] for module in MODULES if package_of(module) == package}

    assert {(a, b) for a, modules in imported.items() for b in modules if package_of(b) not in allowed} == set()


def test_there_are_no_import_cycles() -> None:
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " → ".join((*trail, module))
        if module not in done:
            for other in sorted(graph()[module]):
                visit(other, (*trail, module))
            done.add(module)

    for module in graph():
        visit(module, ())


def test_library_code_imports_no_command() -> None:
    arrows = {(a, b) for a, modules in graph().items() for b in modules if package_of(b) == "scripts.commands"}

    assert {a for a, _ in arrows if package_of(a) != "scripts.commands"} == set()


def test_the_sandbox_imports_only_itself_and_the_wire() -> None:
    for module, imported in graph().items():
        if module.startswith("evaluator.sandbox"):
            assert {other for other in imported if not other.startswith("evaluator.sandbox")} <= {"evaluator.wire"}, module


def test_the_trusted_side_imports_nothing_of_the_sandbox() -> None:
    """But the debugger, which somebody opens on an agent of their own, in one process by design."""
    for module, imported in graph().items():
        if not module.startswith("evaluator.sandbox") and module != "scripts.runs.debug_agent":
            assert {other for other in imported if other.startswith("evaluator.sandbox")} == set(), module


def test_the_wire_needs_the_standard_library_only() -> None:
    names = {name.split(".")[0] for name in imports(ROOT / "evaluator/wire.py")}

    assert names <= {"enum", "math", "struct", "collections", "dataclasses", "typing"}


def test_the_model_does_no_input_or_output() -> None:
    forbidden = {"os", "pathlib", "subprocess", "socket", "docker", "yaml", "requests", "tempfile"}
    models = [path for module, path in MODULES.items() if module.startswith("evaluator.model")]

    assert len(models) > 10
    for path in models:
        assert not {name.split(".")[0] for name in imports(path)} & forbidden, path


def test_the_leaderboard_knows_only_the_model() -> None:
    for module, imported in graph().items():
        if module.startswith("leaderboard"):
            others = {other for other in imported if not other.startswith(("leaderboard", "evaluator.model"))}
            # How a second process is made is a matter of the interpreter.
            assert others <= {"evaluator.signals"}, module


@pytest.mark.parametrize("library", OWNERS)
def test_each_outside_library_has_one_owner(library: str) -> None:
    users = {module for module, path in MODULES.items() if any(name.split(".")[0] == library for name in imports(path))}

    assert users == OWNERS[library]


def test_folders_hold_what_one_look_takes_in() -> None:
    sizes = Counter(package_of(module) for module in MODULES)

    assert {package: size for package, size in sizes.items() if size > SIDE_BY_SIDE and package not in MANY} == {}


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name == "__init__.py"], ids=str)
def test_packages_hold_one_sentence_and_nothing_else(path: Path) -> None:
    body = ast.parse(path.read_text()).body

    assert len(body) == 1
    assert isinstance(body[0], ast.Expr)
    assert len(path.read_text().splitlines()) == 1


def test_no_two_classes_have_one_name() -> None:
    """But those that a protocol of ours or of another system names, which adapters implement."""
    classes: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not module.startswith("evaluator.sandbox.adapters"):
                classes.setdefault(node.name, []).append(module)

    assert {name: modules for name, modules in classes.items() if len(modules) > 1} == {}


def test_no_two_modules_have_one_name() -> None:
    """But both sides' module for spaces and seeds, and a command, which carries the name that people type."""
    names: dict[str, list[str]] = {}
    for module in MODULES:
        if package_of(module) != "scripts.commands":
            names.setdefault(module.rpartition(".")[2], []).append(module)

    assert {name: modules for name, modules in names.items() if len(modules) > 1} == {}


def test_functions_fit_in_the_eye() -> None:
    lengths = {
        f"{module}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for module, path in MODULES.items()
        for node in functions(path)
    }

    assert {name: length for name, length in lengths.items() if length > 50} == {}
    assert sum(length <= 30 for length in lengths.values()) / len(lengths) >= 0.9


def test_broad_handlers_stand_only_where_foreign_code_ends() -> None:
    allowed = {
        "evaluator.host.attempts.attempt": 1,  # ours is never the agent's
        "evaluator.host.docker.registry_client": 1,  # what a registry's answer breaks is its owner's failure
        "evaluator.host.envs.gym_task": 1,  # an environment's own constructor
        "evaluator.sandbox.load_agent": 2,  # the agent's import and constructor
        "evaluator.sandbox.run_script": 1,  # whatever a script raises is its exit code
        "evaluator.sandbox.main": 2,  # the agent's act and act_batch
        "evaluator.sandbox.observations_and_actions": 1,  # the agent's __repr__
        "leaderboard.core.parallel": 1,  # raised again in the process that asks for the value
        "scripts.runs.parallel_jobs": 1,  # raised again in the command's own process
        "scripts.github.start_official_run": 1,  # what cannot be decided is due
        "scripts.github.pull_request.deliver": 1,  # one pull request's failure is not the others'
        "scripts.github.pull_request.report_previews": 1,  # nor that of twenty
        "scripts.cli": 1,  # one line instead of a traceback
        "scripts.verification.verify_records": 1,  # an environment on actions that it was never meant to get
    }
    handlers: Counter[str] = Counter()
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            caught = node.type.elts if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple) else []
            caught = caught or [getattr(node, "type", None)]
            broad = isinstance(node, ast.ExceptHandler) and any(
                kind is None or (isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")) for kind in caught
            )
            reraises = broad and any(isinstance(inner, ast.Raise) and inner.exc is None for inner in node.body)
            if broad and not reraises:
                handlers[module] += 1

    assert handlers == allowed


def test_paths_in_the_documents_exist() -> None:
    """ARCHITECTURE.md and CONTRIBUTING.md name files and folders; each of them is there."""
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        named = re.findall(r"`((?:evaluator|leaderboard|scripts|tests|site|bench)/[\w/.-]*)`", (ROOT / page).read_text())
        assert named, page
        assert [name for name in named if not (ROOT / name).exists()] == [], page


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
            # What hostile agents look for is no path of ours.
            text = text if not path.is_relative_to(ROOT / "tests/hostile/agents") else text.replace("/" + "root/", "")
            # A hosted machine has no other place to take gVisor from; the package is checked by its hash.
            allowed = {"deb." + "debian.org"} if path.name == "install_gvisor.py" else set()
            assert not [word for word in words if word in text and word not in allowed], path
