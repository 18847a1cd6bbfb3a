"""The house: what is in each room, who may import whom, and what a room shows to the others.

`pipeline.gold.plan.batch_plan.cut` is in the room `pipeline.gold.plan.batch_plan`, which is in
`pipeline.gold`. A room's face is `__all__` in its `__init__.py`: names, and modules whose names
others may import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MOST_ENTRIES = 15
LEAST_LINES = 40


@dataclass(frozen=True)
class House:
    """`packages` in the order in which they may import each other; `guests` import only faces.

    `rooms` gives each room's entries, `order` the steps in which entries of a room may import each
    other: each those of the steps before it, never those of its own. `large` rooms may have more
    than 15 entries, `small` has the reason of each module of fewer than 40 lines (of a whole room
    by its name), `allowed` what an importer may import in spite of all.
    """

    root: Path
    packages: Sequence[str]
    rooms: Mapping[str, str]
    order: Mapping[str, Sequence[str]]
    guests: Sequence[str] = ()
    large: Sequence[str] = ()
    small: Mapping[str, str] = field(default_factory=dict)
    allowed: Sequence[tuple[str, str]] = ()


PACKAGES = ("decoder", "pipeline")

# TABLES

HOUSE = House(ROOT, PACKAGES, ROOMS, ORDER, ("dags", "demo"), LARGE, SMALL, ALLOWED)

BANNED_IN_DECODER = frozenset(
    {"pyspark", "delta", "pipeline", "logging", "fsspec", "typer", "rich", "pydantic"}
)


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
def imports(path: Path, *, at_run_time: bool = False) -> frozenset[str]:
    """Full names of what a file imports: modules, and names with their module before them.

    Inside functions and type checks too, unless `at_run_time`, which a circle would break. Not
    those of `if __name__ == "__main__":`, where a layer's job becomes a command.
    """
    body = [
        statement
        for statement in ast.parse(path.read_text()).body
        if not (isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test))
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

    Packages are no rooms: what lies in them is open to each other.
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
    """What a room's `__init__.py` has in `__all__`."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


def entry(room: str, name: str) -> str | None:
    """Which entry of a room something belongs to; None for the room itself and what is outside."""
    return name[len(room) + 1 :].split(".")[0] if name.startswith(f"{room}.") else None


def _is_there(path: Path) -> bool:
    """Return False for what Python leaves behind where a room was."""
    if path.is_file() or path.name == "__pycache__":
        return path.is_file() and path.parent.name != "__pycache__"
    return any(_is_there(each) for each in path.iterdir())


def strangers(house: House) -> Iterator[str]:
    """Entries that are not listed, listed ones that are not there, and what order leaves out."""
    found = {
        _dotted(folder.relative_to(house.root)): {
            f"{each.name}/" if each.is_dir() else each.name.removesuffix(".py")
            for each in folder.iterdir()
            if each.name != "__init__.py" and _is_there(each)
        }
        for package in house.packages
        for folder in [house.root / package, *(house.root / package).rglob("*")]
        if folder.is_dir() and _is_there(folder)
    }
    for room in sorted(found.keys() | house.rooms.keys()):
        there, listed = found.get(room, set()), set(house.rooms.get(room, "").split())
        yield from (f"{room} has {each}, which is not listed" for each in sorted(there - listed))
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
                graph.setdefault(own, set()).update(name for name in used if name not in (None, own))
        settled: set[str] = set()
        while ready := {
            name for name, used in graph.items() if used & graph.keys() <= settled
        } - settled:
            settled |= ready
        if circle := sorted(graph.keys() - settled):
            yield f"{room}: a circle among {', '.join(circle)}"


def side_doors(house: House) -> Iterator[str]:
    """Imports from outside of a room that its face does not show, and modules shown to nobody."""
    entered: set[tuple[str, str]] = set()
    for importer, path in modules(house, *house.packages, *house.guests).items():
        used = (name for name in imports(path) if name.split(".")[0] in house.packages)
        for imported in sorted(used):
            for room, name in rooms_between(house.root, importer, imported):
                entered.add((room, name))
                shown = face(house.root / Path(*room.split(".")) / "__init__.py")
                if name not in shown and (importer, imported) not in house.allowed:
                    yield f"{importer} imports {imported}: {room} does not show {name}"
    for room, entries in house.rooms.items():
        if room in house.packages:
            continue
        own = {name.rstrip("/") for name in entries.split()}
        for name in sorted(own & face(house.root / Path(*room.split(".")) / "__init__.py")):
            if (room, name) not in entered:
                yield f"{room} shows {name}, which nobody outside imports"


def sizes(house: House) -> Iterator[str]:
    """Rooms with too many entries, modules with too few lines, and exceptions that are none."""
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


RULES = (strangers, wrong_ways, circles, side_doors, sizes)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_is_in_order(rule: Callable[[House], Iterator[str]]) -> None:
    assert not list(rule(HOUSE))


def test_what_is_allowed_is_needed() -> None:
    for importer, imported in ALLOWED:
        assert imported in imports(modules(HOUSE)[importer])


def test_every_room_has_one_sentence_of_purpose() -> None:
    for room in ROOMS:
        path = ROOT / Path(*room.split(".")) / "__init__.py"
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert re.match(r"\S.*[.:]$", said.split("\n\n")[0].replace("\n", " ")), room


@pytest.mark.parametrize("name", modules(HOUSE, "decoder"))
def test_the_decoder_knows_no_spark_pipeline_or_logging(name: str) -> None:
    used = imports(modules(HOUSE, "decoder")[name])
    assert not {each for each in used if each.split(".")[0] in BANNED_IN_DECODER}


@pytest.mark.parametrize("name", modules(HOUSE, "dags"))
def test_dags_know_nothing_of_the_pipeline(name: str) -> None:
    """Airflow may be where Binlake is not: only what spark-submit gets imports it, as it runs."""
    path = modules(HOUSE, "dags")[name]
    used = imports(path, at_run_time=name.startswith("dags.spark_application"))
    assert not {each for each in used if each.split(".")[0] in PACKAGES}


@pytest.mark.parametrize("name", modules(HOUSE, "decoder"))
def test_the_decoder_opens_no_files(name: str) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(modules(HOUSE, "decoder")[name].read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input"}


LONG = "x = 1\n" * LEAST_LINES


@pytest.fixture
def shed(tmp_path: Path) -> House:
    """A house of two packages that keeps every rule."""
    files = {
        "first/__init__.py": "",
        "first/tools/__init__.py": '__all__ = ["saw"]\n',
        "first/tools/saw.py": LONG,
        "first/tools/hidden.py": LONG,
        "first/bench/__init__.py": "",
        "first/bench/vice.py": f"from first.tools.saw import x\n{LONG}",
        "second/__init__.py": "",
        "second/user.py": f"from first.tools import saw\n{LONG}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    rooms = {
        "first": "tools/ bench/",
        "first.tools": "saw hidden",
        "first.bench": "vice",
        "second": "user",
    }
    order = {"first": ("tools", "bench")}
    return House(tmp_path, ("first", "second"), rooms, order)


def test_a_house_that_keeps_the_rules(shed: House) -> None:
    assert not [said for rule in RULES for said in rule(shed)]


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("first/bench/loose.py", LONG, "first.bench has loose, which is not listed"),
        ("first/attic/__init__.py", "", "first has attic/, which is not listed"),
        ("first/tools/saw.py", f"import first.bench.vice\n{LONG}", "first.tools.saw imports first.bench.vice"),
        (
            "first/tools/saw.py",
            f"def f():\n    from second.user import x\n{LONG}",
            "first.tools.saw imports second.user.x",
        ),
        (
            "second/user.py",
            f"from first.tools import saw\nfrom first.tools.hidden import x\n{LONG}",
            "second.user imports first.tools.hidden.x: first.tools does not show hidden",
        ),
        (
            "first/tools/__init__.py",
            '__all__ = ["hidden", "saw"]\n',
            "first.tools shows hidden, which nobody outside imports",
        ),
        (
            "first/tools/hidden.py",
            f"from first.tools import saw\n{LONG}",
            None,
        ),
        ("first/tools/hidden.py", "x = 1\n", "first.tools.hidden has fewer than 40 lines"),
    ],
)
def test_a_breach_is_found(shed: House, file: str, text: str, said: str | None) -> None:
    (shed.root / file).parent.mkdir(exist_ok=True)
    (shed.root / file).write_text(text)
    imports.cache_clear()
    face.cache_clear()
    found = [breach for rule in RULES for breach in rule(shed)]
    assert said in found if said else not found


def test_a_circle_a_full_room_and_a_lost_entry_are_found(shed: House) -> None:
    for one, other in (("saw", "hidden"), ("hidden", "saw")):
        (shed.root / f"first/tools/{one}.py").write_text(f"from first.tools import {other}\n{LONG}")
    imports.cache_clear()
    assert list(circles(shed)) == ["first.tools: a circle among hidden, saw"]
    full = replace(shed, rooms={"first.bench": " ".join(f"m{n}" for n in range(16))}, order={})
    assert "first.bench has 16 entries" in list(sizes(full))
    assert "first.bench has no m0" in list(strangers(full))
    assert list(sizes(replace(shed, small={"first.tools.saw": "why"}))) == ["first.tools.saw is not small"]
