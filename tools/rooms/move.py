"""Build the rooms of the house in a checkout: `python move.py CHECKOUT`.

It stops, before anything is changed, where a module is new and has no room in moves.py. All else
follows from the tables in moves.py, rooms.py, tests_moves.py and fixes.py beside it, and from the
checkout as it is: run it again on a later commit (on a clean checkout) and it gives the same house.
Needs the checkout's .venv for ruff.
"""

from __future__ import annotations

import ast
import io
import re
import shutil
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import fixes
import moves
import rooms
import tests_moves
from faces import write_faces
from house_test import house_test
from moves import module_name as _module
from reflow import reflow

MODULES = moves.modules()
PACKAGES = {
    "decoder.columns.charsets": "decoder.columns.charsets",
    "pipeline.source.capture": "pipeline.source.capture",
    "pipeline.lake.tables": "pipeline.lake.layout.tables",
    "pipeline.run": "pipeline.run.commands",
    "pipeline.source.server": "pipeline.source.server",
    "pipeline.source.check": "pipeline.source.check",
}
NAMES_NOT_MODULES = {"decoder.columns.charsets.multi_byte", "decoder.columns.charsets.single_byte"}
"""Functions that the package has under the name of a submodule."""
DATA = {"decoder/stream/warm.binlog.zst": "decoder/stream/warm.binlog.zst"}
STAYS = {"pipeline.cli"}
"""What is run as `-m`, or named as an entry point, under its old name: see `_dotted`."""
TEXTS = ("*.md", "*.toml", "*.yml", "Makefile", ".ci/*", "*.sql")
NOT_TEXTS = {"CHANGELOG.md"}
MADE_UP = {"tests/unit/benchmarks/test_suite.py"}
"""Files whose paths of tests are made up."""


def main(checkout: Path) -> None:
    git = partial(_git, checkout)
    if git("status", "--porcelain", "--untracked-files=no"):
        sys.exit(f"{checkout} has changes: commit or reset them first")
    if (checkout / "decoder" / "kernels").exists() and any((checkout / "decoder/kernels").glob("*.py")):
        sys.exit(f"{checkout} has the rooms already")
    files = git("ls-files").split("\n")
    code = {f: _module(f) for f in files if f.endswith(".py") and f.split("/")[0] in ("decoder", "pipeline")}
    _require_all_placed(code)
    test_moves = tests_moves.paths(files, MODULES, PACKAGES)
    tests = {_module(a): _module(b) for a, b in test_moves.items() if a.endswith(".py")}
    mapping = Mapping({m: MODULES[m] for m in code.values() if m in MODULES} | tests, test_moves)

    _move(checkout, code, test_moves)
    moved = {**{_new_path(m): f for f, m in code.items() if m in MODULES}, **{b: a for a, b in test_moves.items()}}
    for room in sorted({new.rpartition(".")[0] for new in mapping.live()}):
        for folder in _with_parents(room):
            file = checkout / folder.replace(".", "/") / "__init__.py"
            if not file.exists() and folder.split(".")[0] in ("decoder", "pipeline"):
                file.write_text("")
    for file in _python(checkout):
        path = checkout / file
        text = path.read_text()
        new = _rewrite(text, file, moved.get(file, file), mapping)
        if new != text:
            path.write_text(new)
    for pattern in TEXTS:
        for file in git("ls-files", pattern).split("\n"):
            if file and Path(file).name not in NOT_TEXTS and (checkout / file).is_file():
                text = (checkout / file).read_text()
                new = mapping.text(text)
                if new != text:
                    (checkout / file).write_text(new)
    ignored = checkout / ".gitignore"
    # Else git, ruff and the wheel pass over pipeline/lake.
    ignored.write_text(ignored.read_text().replace("\nlake/\n", "\n/lake/\n"))
    git("add", ".gitignore")
    fixes.apply(checkout)
    _main_of_cli(checkout)
    for _ in range(2):  # What a face takes from an inner room, that room shows too.
        write_faces(checkout)
    git("add", "-A", "decoder", "pipeline", "tests", "docs")
    _tidy(checkout)
    test = checkout / "tests/unit/test_house.py"
    git("rm", "-q", "--ignore-unmatch", "tests/unit/test_import_direction.py")
    test.write_text(house_test(checkout))
    _ruff(checkout, "format", "-q", "tests/unit/test_house.py")
    git("add", "-A", "decoder", "pipeline", "tests")
    git("add", "-u")
    _ruff(checkout, "check", "--quiet", ".", check=False)


def _git(checkout: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(checkout), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def _ruff(checkout: Path, *arguments: str, check: bool = True) -> None:
    subprocess.run([".venv/bin/ruff", *arguments], cwd=checkout, check=check)


def _new_path(old_module: str) -> str:
    return MODULES[old_module].replace(".", "/") + ".py"


def _with_parents(room: str) -> Iterator[str]:
    parts = room.split(".")
    yield from (".".join(parts[:number]) for number in range(1, len(parts) + 1))


def _python(checkout: Path) -> list[str]:
    listed = _git(checkout, "ls-files", "--cached", "--others", "--exclude-standard", "*.py").split("\n")
    return sorted({file for file in listed if (checkout / file).is_file()})


def _require_all_placed(code: dict[str, str]) -> None:
    packages = {room for new in MODULES.values() for room in _with_parents(new.rpartition(".")[0])}
    unplaced = [
        file for file, module in code.items()
        if module not in MODULES and not file.endswith("__init__.py")
    ]
    unknown = [
        file for file, module in code.items()
        if file.endswith("__init__.py") and module not in packages and module not in PACKAGES
    ]
    if unplaced or unknown:
        sys.exit(f"no room in moves.py for: {', '.join(unplaced + unknown)}")
    for module in sorted(set(MODULES) - set(code.values())):
        print(f"gone meanwhile: {module}")


def _move(checkout: Path, code: dict[str, str], test_moves: dict[str, str]) -> None:
    planned: dict[str, str] = {}
    for file, module in code.items():
        if module in MODULES:
            planned[file] = _new_path(module)
        elif module in PACKAGES:
            target = PACKAGES[module].replace(".", "/") + "/__init__.py"
            if target not in code and target not in planned.values():
                planned[file] = target
            else:
                _git(checkout, "rm", "-q", file)
    planned |= {a: b for a, b in DATA.items() if (checkout / a).exists()} | test_moves
    planned = {a: b for a, b in planned.items() if a != b}
    assert len(set(planned.values())) == len(planned), "two files to one place"
    tracked = set(_git(checkout, "ls-files").split("\n"))
    clash = {b for b in planned.values() if b in tracked and b not in planned}
    assert not clash, clash
    # In two steps where a new path is another's old one.
    busy = {b for b in planned.values() if b in planned}
    for file, target in planned.items():
        (checkout / target).parent.mkdir(parents=True, exist_ok=True)
        if target in busy:
            _git(checkout, "mv", file, f"{file}.moving")
    for file, target in planned.items():
        source = f"{file}.moving" if target in busy else file
        _git(checkout, "mv", source, target)
    for folder in sorted({(checkout / file).parent for file in planned}, reverse=True):
        if folder.exists():
            _remove_empty(folder)


def _remove_empty(folder: Path) -> None:
    """Remove a folder of which only Python's cache is left, and those that held nothing else."""
    while all(each.name == "__pycache__" for each in folder.iterdir()):
        shutil.rmtree(folder)
        folder = folder.parent
        if not folder.exists():
            return


class Mapping:
    """Old names to new ones, in code and in text."""

    def __init__(self, modules: dict[str, str], paths: dict[str, str]) -> None:
        self.modules = modules
        self._paths = paths
        self._faces = {
            (MODULES.get(home, home), name): room
            for room, names in rooms.FACES.items()
            for name, home in names.items()
            if home in modules or home == "decoder.errors"
        }
        name = r"(?:decoder|pipeline|tests)(?:\.[a-z_][a-z_0-9]*)+\b"
        named = r"\w+(?: as \w+)?"
        self._code_or_name = re.compile(
            rf"\bfrom (?P<module>(?:decoder|pipeline|tests)(?:\.\w+)*) import (?P<names>{named}(?:, {named})*)"
            rf"|(?<![\w.-]){name}"
        )
        self._path = re.compile(r"(?<![\w.-])(?:decoder|pipeline)(?:/[a-z_][a-z_0-9]*)+(\.py\b)?")
        self._test_path = re.compile(r"(?<![\w.-])tests/[\w/]+(?:\.py\b|/)?")

    def live(self) -> set[str]:
        return {new for new in self.modules.values() if not new.startswith("tests.")}

    def module(self, old: str) -> str:
        """A module's or package's new name."""
        return self.modules.get(old) or PACKAGES.get(old) or old

    def is_module(self, name: str) -> bool:
        return name in self.modules and name not in NAMES_NOT_MODULES

    def home(self, module: str, name: str, importer: str) -> str:
        """Where to import a name from: its module, or the face of a room that the importer is not
        in."""
        new = self.module(module)
        face = self._faces.get((new, name))
        if face is None or (importer + ".").startswith(face + "."):
            return new
        return face

    def text(self, text: str) -> str:
        """References in strings, comments and pages."""
        # Both in one go: what an import has become may look like a name of before.
        text = self._code_or_name.sub(lambda found: self._of_import(found) if found["module"] else self._dotted(found), text)
        text = self._test_path.sub(self._of_test, text)
        return self._path.sub(self._slashed, text)

    def _of_import(self, found: re.Match[str]) -> str:
        """Imports in programs that are strings, and in examples."""
        groups: dict[str, list[str]] = defaultdict(list)
        for said in found["names"].split(", "):
            name, _, alias = said.partition(" as ")
            full = f"{found['module']}.{name}"
            if self.is_module(full):
                source, _, new = self.module(full).rpartition(".")
                bound = alias or name
                groups[source].append(new if new == bound else f"{new} as {bound}")
            else:
                groups[self.module(found["module"])].append(said)
        return "; ".join(f"from {source} import {', '.join(names)}" for source, names in groups.items())

    def _dotted(self, found: re.Match[str]) -> str:
        before = found.string[max(0, found.start() - 20) : found.start()]
        if found[0] in STAYS and re.search(r"-m\W+$", before):
            return found[0]
        after = found.string[found.end() : found.end() + 5]
        if found[0] in STAYS and after == ":main":
            return found[0]
        parts = found[0].split(".")
        for number in range(len(parts), 1, -1):
            head = ".".join(parts[:number])
            if head in self.modules or head in PACKAGES:
                return ".".join([self.module(head), *parts[number:]])
        return found[0]

    def _slashed(self, found: re.Match[str]) -> str:
        path, suffix = found[0], found[1] or ""
        dotted = path.removesuffix(".py").replace("/", ".")
        if f"decoder/{path.partition('/')[2]}" == "decoder/warm" and found.string[found.end() :].startswith(".binlog"):
            return "decoder/stream/warm"
        if suffix:
            return self.module(dotted).replace(".", "/") + suffix if dotted in self.modules else path
        parts = dotted.split(".")
        for number in range(len(parts), 1, -1):
            head = ".".join(parts[:number])
            if head in PACKAGES:
                return "/".join([PACKAGES[head].replace(".", "/"), *parts[number:]])
        return path

    def _of_test(self, found: re.Match[str]) -> str:
        for old, new in tests_moves.SUPPORT_DATA.items():
            if f"{found[0]}/".startswith(old):
                return new.rstrip("/") + found[0][len(old.rstrip("/")):]
        return self._paths.get(found[0], found[0])


def _rewrite(text: str, file: str, old_file: str, mapping: Mapping) -> str:
    importer = _module(file)
    edits: list[tuple[int, int, str]] = []
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    covered: list[tuple[int, int]] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and _ours(node.module):
            first = starts[node.lineno - 1] + node.col_offset
            last = starts[node.end_lineno - 1] + node.end_col_offset
            new = _import_from(node, importer, mapping)
            covered.append((first, last))
            if new is not None:
                edits.append((first, last, new.replace("\n", "\n" + " " * node.col_offset)))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert not mapping.is_module(alias.name), f"{file}: import {alias.name}"
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT) and file not in MADE_UP:
            if token.string.strip("\"'") in STAYS:
                continue  # as in ["-m", "pipeline.cli"]
            new = mapping.text(token.string)
            if new != token.string:
                lines = text.splitlines(keepends=True)
                first = starts[token.start[0] - 1] + len(lines[token.start[0] - 1][: token.start[1]].encode())
                last = starts[token.end[0] - 1] + len(lines[token.end[0] - 1][: token.end[1]].encode())
                edits.append((first, last, new))
    for first, last, new in sorted(edits, reverse=True):
        data = data[:first] + new.encode() + data[last:]
    text = data.decode()
    deeper = file.count("/") - old_file.count("/")
    return _deeper(text, deeper) if deeper and file != old_file else text


def _ours(module: str) -> bool:
    return module.split(".")[0] in ("decoder", "pipeline") or module.startswith("tests.")


def _import_from(node: ast.ImportFrom, importer: str, mapping: Mapping) -> str | None:
    """The statement with new names; None where nothing changes."""
    module = node.module or ""
    found: dict[str, list[str]] = defaultdict(list)
    changed = False
    for alias in node.names:
        full = f"{module}.{alias.name}"
        if mapping.is_module(full):
            source, _, name = mapping.module(full).rpartition(".")
            bound = alias.asname or alias.name
            said = name if name == bound else f"{name} as {bound}"
        else:
            source = mapping.home(module, alias.name, importer)
            said = f"{alias.name} as {alias.asname}" if alias.asname else alias.name
        changed |= source != module or said.split(" ")[0] != alias.name
        found[source].append(said)
    if not changed:
        return None
    return "\n".join(f"from {source} import {', '.join(names)}" for source, names in found.items())


def _deeper(text: str, more: int) -> str:
    """Paths from a file that is so many folders deeper to what is above both its places."""
    def parents(found: re.Match[str]) -> str:
        return f"Path(__file__).parents[{int(found[1]) + more}]"

    def chain(found: re.Match[str]) -> str:
        count = found[2].count(".parent")
        return f"{found[1]}{'.parent' * (count + more)}" if count > 1 else found[0]

    text = re.sub(r"Path\(__file__\)\.parents\[(\d+)\]", parents, text)
    text = re.sub(r"(Path\(__file__\)|Path\(\w+\.__file__\))((?:\.parent)+)\b(?!s)", lambda m: chain(m) if m[1] == "Path(__file__)" else m[0], text)
    return re.sub(r"\b(HERE)((?:\.parent)+)\b(?!s)", lambda m: f"{m[1]}{'.parent' * (m[2].count('.parent') + more)}", text)


def _main_of_cli(checkout: Path) -> None:
    app = checkout / "pipeline/cli/app.py"
    text = app.read_text()
    guard = '\n\nif __name__ == "__main__":\n    main()\n'
    assert text.endswith(guard)
    app.write_text(text[: -len(guard)] + "\n" if not text[: -len(guard)].endswith("\n") else text[: -len(guard)])
    (checkout / "pipeline/cli/__main__.py").write_text(
        '"""`python -m pipeline.cli`: the `binlake` command."""\n\n'
        "from __future__ import annotations\n\nfrom pipeline.cli.app.app import main\n\nmain()\n"
    )


def _tidy(checkout: Path) -> None:
    for file in _python(checkout):
        text = (checkout / file).read_text()
        new = reflow(text)
        if new != text:
            (checkout / file).write_text(new)
    _ruff(checkout, "check", "-q", "--fix", "--select", "I,RUF022,RUF100", "--exit-zero", ".")
    _ruff(checkout, "format", "-q", ".")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
