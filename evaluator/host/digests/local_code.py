"""The digest of a host's own code that a task is measured by, which is part of the task's digest.

Nothing is imported: modules are found as an import would find them, and their sources are parsed. Covered are the modules
that a task names, and at any depth what they import from the repository: by `import` statements, by literal names given to
`import_module`, and by strings of the form `module:Name`, with which environments are registered. A package's data files
count too, also those beside the modules in `evaluator/environments/`, and of installed packages the locked version. Not
covered are names computed at run time, files elsewhere, and packages that no lock in requirements/ names.
"""

import ast
import hashlib
import re
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import NamedTuple

from evaluator.host.digests import image_files
from evaluator.host.digests.image_files import root_path
from evaluator.model import canonical_json
from evaluator.model.config.challenge import Challenge
from evaluator.model.config.task import Task

# The project's own packages, for which the measurement version stands; hosts add their code to the folder for environments.
_PROJECT = ("evaluator", "leaderboard", "scripts")
_HOST_PACKAGE = "evaluator.environments."
# What comes with the project there and is read by no environment: tasks to copy.
_TASK_LISTS = frozenset({"atari.yml", "chess.yml", "minigrid.yml", "mujoco.yml"})
# The project's modules in that folder, for which the measurement version stands too; a test fails when a hash is outdated.
SHIPPED = {"evaluator.environments.quarto": "68b44c639f4a2a3d40aa85140ae9d45e3546053bba7c98c3844b302d9579443a"}
# The measuring packages of each `extra`, in the versions of the first results, which did not name them: these versions are
# not in the digest.
FIRST_EXTRAS = {
    "mujoco": ("mujoco==4.0.0", "mujoco-core==4.0.0"),
    "atari": ("ale-py==0.12.1",),
    "chess": ("chess==1.11.2",),
    "minigrid": ("minigrid==3.2.0",),
}
_ENTRY_POINT = re.compile(r"([A-Za-z_][\w.]*):[A-Za-z_][\w.-]*")
_IMPORTERS = ("import_module", "__import__", "run_module")
# Locks of what no evaluation uses.
_NOT_MEASURING = ("dev", "notebook")
_INSTALLED = ("site-packages", "dist-packages")
# Packages whose import name differs from their distribution's, or is that of several.
_OPENCV = tuple(f"opencv-{kind}python{screen}" for kind in ("", "contrib-") for screen in ("", "-headless"))
_DISTRIBUTIONS = {
    "pil": ("pillow",), "yaml": ("pyyaml",), "cv2": _OPENCV, "sklearn": ("scikit-learn",), "skimage": ("scikit-image",),
}  # fmt: skip


class LocalCode(NamedTuple):
    """A host's own code that a task is measured by."""

    digest: str
    """SHA-256 over all of it."""
    parts: tuple[str, ...]
    """Modules, data files and locked packages, by name."""


def with_code_digest(challenge: Challenge) -> Challenge:
    """The challenge, with the digest of the host's own code in each task; raises as `local_code_of` does."""
    tasks = tuple(task.with_code(code.digest) if (code := local_code_of(task)) else task for task in challenge.tasks)
    return challenge.model_copy(update={"tasks": tasks})


def local_code_of(task: Task) -> LocalCode | None:
    """The host's own code that a task is measured by; None where there is none, or it is not installed here.

    Raises:
        OSError: a source cannot be read.
    """
    walk = _ImportWalk()
    walk.visit(named_modules(task))
    packages = _new_extra_versions(task.extra or "")
    if not walk.sources and not packages:
        return None
    if walk.sources:
        packages |= {line for name in walk.installed for line in _locked().get(name, ())}
    digest = canonical_json.digest({"sources": walk.sources, "packages": sorted(packages)})
    return LocalCode(digest=digest, parts=(*sorted(walk.sources), *sorted(packages)))


def named_modules(task: Task) -> Iterator[str]:
    """The modules that a task names."""
    if task.game is not None:
        yield task.game.partition(":")[0]
    elif ":" in task.env_id:
        yield task.env_id.partition(":")[0]
    yield from (metric.kind.partition(":")[0] for metric in task.metrics if metric.is_own)
    yield from _entries(task.kwargs)


def _entries(value: object) -> Iterator[str]:
    """Modules in strings of the form `module:Name`, anywhere in a value."""
    if isinstance(value, str) and (match := _ENTRY_POINT.fullmatch(value)):
        yield match[1]
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _entries(inner)


class _ImportWalk:
    """Collects imported modules of the repository."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        """Module, or path of a data file, to the SHA-256 of its bytes."""
        self.installed: set[str] = set()
        """Imported packages outside the repository, as locks spell them."""
        self._seen: set[str] = set()

    def visit(self, names: Iterable[str]) -> None:
        """Add modules by name, with their packages and all that these import."""
        waiting = list(names)
        while waiting:
            parts = waiting.pop().split(".")
            if not all(part.isidentifier() for part in parts):
                continue
            path: Iterable[str] | None = None
            for end in range(1, len(parts) + 1):
                name = ".".join(parts[:end])
                spec = _find(name, path)
                if spec is None or _is_installed(spec):
                    top = parts[0].lower().replace("_", "-")
                    self.installed |= set(_DISTRIBUTIONS.get(top, (top,))) if end == 1 else set()
                    break
                path = _folders(spec)
                if name not in self._seen:
                    self._seen.add(name)
                    waiting.extend(self._add(name, spec))
                if path is None:
                    break

    def _add(self, name: str, spec: ModuleSpec) -> list[str]:
        """Add the hash of a module, unless it is the project's, and its data; returns what it imports."""
        if _is_projects(name):
            return []
        if not spec.has_location or spec.origin is None:
            for folder in _folders(spec) or ():
                self.sources |= _loose_data(name, Path(folder))
            return []
        source = Path(spec.origin).read_bytes()
        sha256 = hashlib.sha256(source).hexdigest()
        if SHIPPED.get(name) == sha256:
            return []
        self.sources[name] = sha256
        package = name.rpartition(".")[0]
        if spec.submodule_search_locations is not None:
            package = name
            self.sources |= _data(name, Path(spec.origin).parent)
        elif f"{package}." == _HOST_PACKAGE:
            self.sources |= _loose_data(package, Path(spec.origin).parent)
        return list(_imports(source, package)) if spec.origin.endswith(".py") else []


def _is_projects(name: str) -> bool:
    return name.partition(".")[0] in _PROJECT and not name.startswith(_HOST_PACKAGE)


def _find(name: str, path: Iterable[str] | None) -> ModuleSpec | None:
    """Find a module without importing its package."""
    folders = None if path is None else list(path)
    try:
        return next(filter(None, (finder.find_spec(name, folders) for finder in sys.meta_path)), None)
    except KeyError:  # a folder without `__init__.py` in a package that is not imported
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [f"{folder}/{name.rpartition('.')[2]}" for folder in folders or ()]
        return spec


def _folders(spec: ModuleSpec) -> list[str] | None:
    """The folders of a package's modules; None for a module."""
    locations = spec.submodule_search_locations
    return None if locations is None else list(getattr(locations, "_path", locations))


def _is_installed(spec: ModuleSpec) -> bool:
    """Whether a module is Python's own or installed, so that a lock names its version."""
    if spec.origin in ("built-in", "frozen"):
        return True
    roots = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    places = [Path(place) for place in ([spec.origin] if spec.origin else _folders(spec) or [])]
    # A board's package is installed whole, with what its host added to ours: that is measured as it is in the clone.
    if any(place.is_relative_to(image_files.ROOT / name) for place in places for name in _PROJECT):
        return False
    return any(set(place.parts) & set(_INSTALLED) or any(map(place.is_relative_to, roots)) for place in places)


def _data(package: str, folder: Path) -> dict[str, str]:
    """The data files in a package's folder, without hidden ones, with their hashes."""
    hashes = {}
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        hidden = any(part.startswith(".") or part == "__pycache__" for part in inner.parts)
        if path.is_file() and path.suffix not in (".py", ".pyc") and not hidden:
            hashes[f"{package}/{inner.as_posix()}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return hashes


def _loose_data(name: str, folder: Path) -> dict[str, str]:
    """The data files in a folder that is no package of the host's, without those of packages in it and our lists of tasks.

    A module reads the file beside it wherever it lies: where hosts put their environments, too, and without `__init__.py`.
    """
    data = _data(name, folder)
    for inner in [path.removeprefix(f"{name}/") for path in data]:
        is_of_package = any((folder / outer / "__init__.py").exists() for outer in list(Path(inner).parents)[:-1])
        if is_of_package or (inner in _TASK_LISTS and f"{name}." == _HOST_PACKAGE):
            del data[f"{name}/{inner}"]
    return data


def _imports(source: bytes, package: str) -> Iterator[str]:
    """The modules that a source imports or names; none if it is not valid Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    importers = _importers(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom() if base := _base("." * node.level + (node.module or ""), package):
                yield base
                yield from (f"{base}.{alias.name}" for alias in node.names)
            case ast.Constant(value=str()):
                yield from _entries(node.value)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in importers:
                yield from filter(None, (_base(named, package) for named in _literal_names(node)))
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)):
                # What `from package import *` imports, which may be modules.
                yield from (
                    f"{package}.{name.value}"
                    for name in names
                    if isinstance(name, ast.Constant) and isinstance(name.value, str)
                )


def _importers(tree: ast.AST) -> set[str]:
    """The names in a source of functions that import a module given as a string."""
    aliases = (alias for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names)
    return {*_IMPORTERS, *(alias.asname for alias in aliases if alias.name in _IMPORTERS and alias.asname)}


def _literal_names(call: ast.Call) -> Iterator[str]:
    """The string literals that a call gets as first argument, or as `name`."""
    arguments = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in ("name", "mod_name"))]
    yield from (
        argument.value for argument in arguments if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    )


def _base(named: str, package: str) -> str:
    """The absolute name of a possibly relative one; empty if it leads out of all packages."""
    inner = named.lstrip(".")
    level = len(named) - len(inner)
    if not level:
        return inner
    outer = package.split(".")
    outer = outer[: len(outer) - level + 1]
    return ".".join([*outer, inner] if inner else outer) if outer else ""


def _new_extra_versions(extra: str) -> set[str]:
    """The versions of an extra's measuring packages, where they differ from the first ones."""
    first = FIRST_EXTRAS.get(extra, ())
    names = {line.partition("==")[0] for line in first}
    now = image_files.pins(root_path(f"requirements/{extra}.txt").read_text()) if first else []
    return {line for line in now if line.partition("==")[0] in names} - set(first)


def _locked() -> dict[str, list[str]]:
    """Each locked package that is not in the runtime digest, with the lines that pin it."""
    pinned: dict[str, list[str]] = {}
    texts = [path.read_text() for path in sorted(root_path("requirements").glob("*.txt")) if path.stem not in _NOT_MEASURING]
    locks = [content.decode() for content in image_files.current_locks().values()]
    counted = {line for text in locks for line in image_files.measuring_pins(text)}
    for line in sorted({line for text in texts for line in image_files.pins(text)} - counted):
        pinned.setdefault(line.partition("==")[0], []).append(line)
    return pinned
