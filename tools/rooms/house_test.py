"""The text of tests/unit/test_house.py for a checkout: house_template.py with that tree's
tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import moves
import rooms
import small

TEMPLATE = Path(__file__).parent / "house_template.py"
ALLOWED = (
    ("decoder.events", "decoder.stream.segment_decoder.event_reader.Data"),
    ("decoder.events", "decoder.stream.segment_decoder.event_reader.events"),
)


def _template() -> dict[str, object]:
    text = TEMPLATE.read_text().replace("# TABLES", "ROOMS, ORDER, LARGE, SMALL, ALLOWED = {}, {}, (), {}, ()")
    spaces: dict[str, object] = {"__name__": "house_template", "__file__": "/x/tests/unit/test_house.py"}
    sys.modules["house_template"] = type(sys)("house_template")
    sys.modules["house_template"].__dict__.update(spaces)
    exec(compile(text, str(TEMPLATE), "exec"), sys.modules["house_template"].__dict__)
    return sys.modules["house_template"].__dict__


_T: dict[str, object] = {}


def _functions() -> dict[str, object]:
    if not _T:
        _T.update(_template())
    return _T


def forget() -> None:
    """The files have changed."""
    _functions()["imports"].cache_clear()


def imports_of(checkout: Path, file: Path) -> Iterator[str]:
    return _functions()["imports"](file)


def rooms_between(checkout: Path, importer: str, imported: str) -> Iterator[tuple[str, str]]:
    for room, entry in _functions()["rooms_between"](checkout, importer, imported):
        folder = checkout / room.replace(".", "/")
        if (folder / f"{entry}.py").exists() or (folder / entry).is_dir():
            # The events package is a function as well: what it imports is allowed by name.
            if (importer, imported) not in ALLOWED:
                yield room, entry


def house_test(checkout: Path) -> str:
    entries: dict[str, list[str]] = {}
    for package in ("decoder", "pipeline"):
        for folder in [checkout / package, *sorted((checkout / package).rglob("*"))]:
            if folder.is_dir() and _functions()["_is_there"](folder):
                room = str(folder.relative_to(checkout)).replace("/", ".")
                found = [
                    f"{each.name}/" if each.is_dir() else each.name.removesuffix(".py")
                    for each in folder.iterdir()
                    if each.name != "__init__.py" and _functions()["_is_there"](each)
                ]
                entries[room] = sorted(found)
    short = {}
    for package in ("decoder", "pipeline"):
        for file in sorted((checkout / package).rglob("*.py")):
            if file.name != "__init__.py" and len(file.read_text().splitlines()) < 40:
                name = str(file.relative_to(checkout)).removesuffix(".py").replace("/", ".")
                short[name] = small.reason(name)
    for name in [name for name, reason in short.items() if reason is None]:
        print(f"no reason in small.py for {name}")
        short[name] = "?"
    order = {room: [_chunk(room, step) for step in steps] for room, steps in rooms.ORDER.items()}
    reasons: dict[str, str] = {}
    for name, reason in short.items():
        room = name.rpartition(".")[0]
        if room in small.ROOMS:
            reasons[room] = small.ROOMS[room]
        else:
            reasons[name] = str(reason)
    tables = [
        '"""What is in each room: a module by its name, a room by its name and a slash."""',
        "ROOMS = {\n" + "".join(f'    "{room}": {_wrapped(" ".join(names))},\n' for room, names in entries.items()) + "}",
        "ORDER = {\n" + "".join(f'    "{room}": ({", ".join(repr(s) for s in steps)},),\n' for room, steps in order.items()) + "}",
        "LARGE = (" + ", ".join(f'"{room}"' for room in rooms.LARGE) + ",)",
        "SMALL = {\n" + "".join(f'    "{name}": "{reason}",\n' for name, reason in sorted(reasons.items())) + "}",
        "ALLOWED = (\n" + "".join(f'    ("{a}", "{b}"),\n' for a, b in ALLOWED) + ")\n"
        '"""The package `decoder.events` is itself the function of that name (decision 0005)."""',
    ]
    return TEMPLATE.read_text().replace("# TABLES", "\n".join(tables[1:]))


def _chunk(room: str, step: str) -> str:
    return step


def _wrapped(names: str) -> str:
    lines, line = [], ""
    for name in names.split():
        if len(line) + len(name) > 84:
            lines.append(line)
            line = ""
        line += f"{name} "
    lines.append(line)
    lines[-1] = lines[-1].rstrip()
    return '"' + lines[0] + '"' if len(lines) == 1 and len(names) < 60 else "(" + "\n".join(f'        "{line}"' for line in lines) + "\n    )"
