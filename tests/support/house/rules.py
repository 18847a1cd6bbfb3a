"""The rules of the house: each yields a sentence for every breach of it.

`pipeline.gold.plan.batch_plan.touch` is in the room `pipeline.gold.plan.batch_plan`, which is in
`pipeline.gold`. A room's face is `__all__` in its `__init__.py`: names, and modules whose names
others may import; of a `closed` package, only its own rooms may import from such a module.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path

from tests.support.house.tables import House

MOST_ENTRIES = 15
LEAST_LINES = 40
MOST_LINES = 400
HOW_TO_LIST = (
    ": name it in ROOMS of tests/support/house/tables.py, and in __all__ of its room's __init__.py"
    " if others import it"
)
PLURALS = ("s", "es", "ies", "y")
FORMS = ("e", "ed", "d", "r", "er", "or", "ing", "ion", "ation", "al")
SHORTEST_STEM = 3
OF_THE_PACKAGE = ("__init__.py", "py.typed")
"""Not entries of a room: `py.typed` tells type checkers that a package's annotations count."""


def modules(house: House, *packages: str) -> dict[str, Path]:
    """All modules by their dotted names; a room's own name is that of its `__init__.py`."""
    return {
        _dotted(path.relative_to(house.root)): path
        for package in packages or house.packages
        for path in sorted((house.root / package).rglob("*.py"))
    }


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def imports(path: Path, *, at_run_time: bool = False, as_command: bool = False) -> frozenset[str]:
    """Full names of what a file imports: modules, and names with their module before them.

    Inside functions and type checks too, unless `at_run_time`, which a circle would break. Those of
    `if __name__ == "__main__":`, where a layer's job becomes a command, only if `as_command`.
    """
    body = [
        statement
        for statement in ast.parse(path.read_text()).body
        if as_command
        or not (isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test))
    ]
    nodes = body if at_run_time else [node for each in body for node in ast.walk(each)]
    return frozenset(name for node in nodes for name in _imported(node))


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_between(root: Path, importer: str, imported: str) -> Iterator[tuple[str, str]]:
    """The rooms that an import enters, from outside in, each with what of it is imported.

    Packages are not rooms: what lies in them is open to each other.
    """
    parts = imported.split(".")
    for number in range(2, len(parts)):
        room = ".".join(parts[:number])
        if not (root / Path(*parts[:number])).is_dir():
            return
        if importer != room and not importer.startswith(f"{room}."):
            yield room, parts[number]


@cache
def face(path: Path) -> frozenset[str]:
    """The names in `__all__` of a room's `__init__.py`."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def entry(room: str, name: str) -> str | None:
    """Which entry of a room something belongs to; None for the room itself and what is outside."""
    return name[len(room) + 1 :].split(".")[0] if name.startswith(f"{room}.") else None


def _is_there(path: Path) -> bool:
    """Return False for what Python leaves where a room was."""
    if path.is_file() or path.name == "__pycache__":
        return path.is_file() and path.parent.name != "__pycache__"
    return any(_is_there(each) for each in path.iterdir())


def strangers(house: House) -> Iterator[str]:
    """Entries that are not listed, listed ones that are not there, and what order leaves out."""
    found = {
        _dotted(folder.relative_to(house.root)): {
            f"{each.name}/" if each.is_dir() else each.name.removesuffix(".py")
            for each in folder.iterdir()
            if each.name not in OF_THE_PACKAGE and _is_there(each)
        }
        for package in house.packages
        for folder in [house.root / package, *(house.root / package).rglob("*")]
        if folder.is_dir() and _is_there(folder)
    }
    for room in sorted(found.keys() | house.rooms.keys()):
        there, listed = found.get(room, set()), set(house.rooms.get(room, "").split())
        yield from (
            f"{room} has {each}, which is not listed{HOW_TO_LIST}"
            for each in sorted(there - listed)
        )
        yield from (f"{room} has no {each}" for each in sorted(listed - there))
    for room, steps in house.order.items():
        ordered = {name for step in steps for name in step.split()}
        own = {name.rstrip("/") for name in house.rooms[room].split() if "." not in name}
        yield from (f"{room}: {each} has no place in the order" for each in sorted(own ^ ordered))


def wrong_ways(house: House) -> Iterator[str]:
    """Imports against the order of packages, and of the entries of a room."""
    place = {
        (room, name): number
        for room, steps in house.order.items()
        for number, step in enumerate(steps)
        for name in step.split()
    }
    for importer, path in modules(house).items():
        for imported in sorted(imports(path)):
            if (importer, imported) in house.allowed:
                continue
            own, other = importer.split(".")[0], imported.split(".")[0]
            if other in house.packages and house.packages.index(other) > house.packages.index(own):
                yield f"{importer} imports {imported}"
            for room in house.order:
                here, there = entry(room, importer), entry(room, imported)
                if here is None or there is None or here == there:
                    continue
                if place.get((room, there), len(place)) >= place.get((room, here), -1):
                    yield f"{importer} imports {imported}"


def circles(house: House) -> Iterator[str]:
    """Rooms without an order whose entries import each other in a circle when they are loaded."""
    for room in house.rooms.keys() - house.order.keys():
        graph: dict[str, set[str]] = {}
        for importer, path in modules(house).items():
            if (own := entry(room, importer)) is not None:
                used = (entry(room, name) for name in imports(path, at_run_time=True))
                graph.setdefault(own, set()).update(
                    name for name in used if name not in (None, own)
                )
        settled: set[str] = set()
        while (
            ready := {name for name, used in graph.items() if used & graph.keys() <= settled}
            - settled
        ):
            settled |= ready
        if circle := sorted(graph.keys() - settled):
            yield f"{room}: a circle among {', '.join(circle)}"


def side_doors(house: House) -> Iterator[str]:
    """Imports from outside of a room that its face does not show, and what is shown to nobody."""
    entered: set[tuple[str, str]] = set()
    for importer, path in modules(house, *house.packages, *house.guests).items():
        used = imports(path, as_command=True)
        for imported in sorted(name for name in used if name.split(".")[0] in house.packages):
            for room, name in rooms_between(house.root, importer, imported):
                entered.add((room, name))
                shown = face(house.root / Path(*room.split(".")) / "__init__.py")
                if name not in shown and (importer, imported) not in house.allowed:
                    yield f"{importer} imports {imported}: {room} does not show {name}"
    for room in house.rooms.keys() - set(house.packages):
        for name in sorted(face(house.root / Path(*room.split(".")) / "__init__.py")):
            if (room, name) not in entered:
                yield f"{room} shows {name}, which nobody outside imports"


def inner_modules(house: House) -> Iterator[str]:
    """Imports from another package of a module in a room of a closed one, instead of names."""
    for importer, path in modules(house, *house.packages, *house.guests).items():
        for imported in sorted(imports(path)):
            package = imported.split(".")[0]
            if package not in house.closed or package == importer.split(".")[0]:
                continue
            for room, name in rooms_between(house.root, importer, imported):
                if name in house.rooms.get(room, "").split():
                    yield f"{importer} imports {imported}: {name} is a module within {room}"


def sizes(house: House) -> Iterator[str]:
    """Rooms with too many entries, modules with too few lines, and exceptions not needed."""
    for room, listed in house.rooms.items():
        if (len(listed.split()) > MOST_ENTRIES) != (room in house.large):
            yield f"{room} has {len(listed.split())} entries"
    reasons = set()
    for name, path in modules(house).items():
        if path.name == "__init__.py" or len(path.read_text().splitlines()) >= LEAST_LINES:
            continue
        reason = {name, name.rpartition(".")[0]} & house.small.keys()
        if not reason:
            yield f"{name} has fewer than {LEAST_LINES} lines"
        reasons |= reason
    yield from (f"{name} is not small" for name in sorted(house.small.keys() - reasons))


def long_files(house: House) -> Iterator[str]:
    """Files of the product, its guests and its tests with too many lines."""
    for name, path in modules(house, *house.packages, *house.guests, *house.beside).items():
        if (lines := len(path.read_text().splitlines())) > MOST_LINES:
            yield f"{name} has {lines} lines, more than {MOST_LINES}: split it by concept"


def crowded_folders(house: House) -> Iterator[str]:
    """Folders of tests with too many entries, and exceptions that are not needed."""
    tests = house.root / "tests"
    folders = [tests, *tests.rglob("*")] if tests.is_dir() else []
    crowded = {}
    for folder in filter(Path.is_dir, folders):
        entries = sum(
            each.name not in OF_THE_PACKAGE and _is_there(each) for each in folder.iterdir()
        )
        if entries > MOST_ENTRIES:
            crowded[folder.relative_to(house.root).as_posix()] = entries
    for name in sorted(crowded.keys() ^ set(house.crowded)):
        yield f"{name} has {crowded.get(name, 'not so many')} entries"


def namesakes(house: House) -> Iterator[str]:
    """Classes and type aliases of two modules with the same name."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module, path in modules(house).items():
        for name in _types(ast.parse(path.read_text())):
            homes[name].append(module)
    for name, found in sorted(homes.items()):
        if len(found) > 1:
            yield f"{name} is a type in {' and in '.join(found)}"


def _types(module: ast.Module) -> Iterator[str]:
    """Yield the classes and type aliases that a module defines: `Place = tuple[int, int]`."""
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
            yield ast.unparse(node.target)
        elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call):
            name = ast.unparse(node.targets[0])
            if name[0].isupper() and name.isalnum() and not name.isupper():
                yield name


def near_twins(house: House) -> Iterator[str]:
    """Modules and rooms whose names differ only by an ending, and exceptions that are not needed.

    A reader who looks for `plan` must not have to open `planning` too. Equal names are not twins:
    their rooms tell them apart. The product is one house, and so is each folder in `named`.
    """
    twins = _twins(modules(house))
    for folder in house.named:
        for pair, homes in _twins(modules(house, folder)).items():
            twins[pair] = twins.get(pair, set()) | homes
    for one, other in sorted(twins.keys() - house.twins.keys()):
        found = ", ".join(sorted(twins[one, other]))
        yield f"{one} and {other} differ only by an ending: {found}"
    for one, other in sorted(house.twins.keys() - twins.keys()):
        yield f"{one} and {other} are not near-twins"


def _twins(names: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    """Return the modules of each pair of names that differ only by an ending."""
    homes: dict[str, set[str]] = defaultdict(set)
    for module in names:
        homes[module.rpartition(".")[2]].add(module)
    stems = {name: _stems(name) for name in homes}
    return {
        (one, other): homes[one] | homes[other]
        for one, other in combinations(sorted(homes), 2)
        if stems[one] & stems[other]
    }


def _stems(name: str) -> set[str]:
    """Return what a name may be without an ending: `plan` of `planning`, `copi` of `copies`."""
    singular = {name, *(name.removesuffix(ending) for ending in PLURALS)}
    stems = singular | {one.removesuffix(form) for one in singular for form in FORMS}
    long = {stem for stem in stems if len(stem) >= SHORTEST_STEM}
    return long | {stem[:-1] for stem in long if stem[-1:] == stem[-2:-1]}


RULES = (
    strangers,
    wrong_ways,
    circles,
    side_doors,
    inner_modules,
    sizes,
    long_files,
    crowded_folders,
    namesakes,
    near_twins,
)
