"""The faces of the rooms: what each room's `__init__.py` shows to others."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import moves
import rooms
from moves import module_name as _module

MODULES = moves.modules()


def write_faces(checkout: Path) -> None:
    """Write each room's `__init__.py`: a sentence, and what may be imported from outside."""
    public = public_modules(checkout)
    folders = sorted(
        str(file.parent.relative_to(checkout)).replace("/", ".")
        for package in ("decoder", "pipeline")
        for file in (checkout / package).rglob("__init__.py")
    )
    for room in folders:
        file = checkout / room.replace(".", "/") / "__init__.py"
        names = {
            name: MODULES.get(home, home)
            for name, home in rooms.FACES.get(room, {}).items()
            if _has(checkout, MODULES.get(home, home), name)
        }
        modules = sorted(public.get(room, ())) if room not in ("decoder", "pipeline") else []
        clash = names.keys() & _entries(file.parent)
        clash -= {"events"}
        assert not clash, f"{room}: a name of the face is a module's too: {clash}"
        if room == "decoder":
            file.write_text(_decoder_face(file.read_text(), names))
        elif room in rooms.KEPT:
            file.write_text(_with_modules(file.read_text(), modules))
        else:
            file.write_text(_face(room, names, modules))


def _entries(folder: Path) -> set[str]:
    return {entry.stem for entry in folder.iterdir() if entry.name != "__pycache__"}


def _has(checkout: Path, module: str, name: str) -> bool:
    file = checkout / (module.replace(".", "/") + ".py")
    has = file.exists() and any(
        getattr(node, "name", None) == name
        or isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
        or isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names)
        for node in ast.parse(file.read_text()).body
    )
    if not has:
        print(f"no face name: {module} has no {name}")
    return has


def _sorted_all(names: list[str]) -> list[str]:
    """As ruff's RUF022 wants: constants, classes, the others."""
    def key(name: str) -> tuple[int, str]:
        kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
        return kind, name

    return sorted(names, key=key)


_GETATTR = '''
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)
'''


def _face(room: str, names: dict[str, str], modules: list[str]) -> str:
    text = f'"""{rooms.PURPOSE[room]}"""\n'
    if not names and not modules:
        return text
    text += "\nfrom __future__ import annotations\n"
    shown = ", ".join(f'"{name}"' for name in _sorted_all([*names, *modules]))
    if not names:
        return text + f"\n__all__ = [{shown}]\n"
    text += "\nfrom importlib import import_module\nfrom typing import TYPE_CHECKING, Any\n\nif TYPE_CHECKING:\n"
    text += "".join(f"    from {home} import {name}\n" for name, home in names.items())
    homes = ", ".join(f'"{name}": "{home}"' for name, home in sorted(names.items()))
    return text + f"\n__all__ = [{shown}]\n\n_HOMES = {{{homes}}}\n{_GETATTR}"


def _decoder_face(text: str, names: dict[str, str]) -> str:
    doc = text[: text.index('"""', 3) + 3]
    return doc + _face("pipeline", names, []).partition('"""\n')[2].join(["\n", ""])


def _with_modules(text: str, modules: list[str]) -> str:
    found = re.search(r"^__all__ = \[(.*?)\]\n", text, re.S | re.M)
    if found:
        names = re.findall(r'"(\w+)"', found[1])
        names += [name for name in modules if name not in names]
        shown = ", ".join(f'"{name}"' for name in _sorted_all(names))
        return text[: found.start()] + f"__all__ = [{shown}]\n" + text[found.end() :]
    if not modules:
        return text
    shown = ", ".join(f'"{name}"' for name in modules)
    tree = ast.parse(text)
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom, ast.Expr))]
    typed = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    future = "" if any(isinstance(n, ast.ImportFrom) and n.module == "__future__" for n in imports) else "\nfrom __future__ import annotations\n"
    last = (typed or imports)[-1].end_lineno
    lines = text.splitlines(keepends=True)
    first_expr = [node for node in tree.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)]
    if not typed and first_expr:
        last = max(n.end_lineno for n in [first_expr[0], *[i for i in imports if not isinstance(i, ast.Expr)]])
    return "".join(lines[:last]) + future + f"\n__all__ = [{shown}]\n" + "".join(lines[last:])


def public_modules(checkout: Path) -> dict[str, set[str]]:
    """By room: its modules (and rooms) that product code outside of it imports."""
    from house_test import forget, imports_of, rooms_between

    forget()
    found: dict[str, set[str]] = defaultdict(set)
    for package in ("decoder", "pipeline", "dags", "demo"):
        for file in (checkout / package).rglob("*.py"):
            importer = _module(str(file.relative_to(checkout)))
            for imported in imports_of(checkout, file):
                for room, entry in rooms_between(checkout, importer, imported):
                    found[room].add(entry)
    return found
