"""The one import direction: a module imports only from its own layer or the layers before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

LAYERS = ("decoder", "pipeline", "dags")
"""Packages, in the order in which they may import each other."""

BANNED_IN_DECODER = frozenset(
    {"pyspark", "delta", "pipeline", "logging", "fsspec", "typer", "rich", "pydantic"}
)

DECODER_ORDER = (
    ("errors", "constants", "definition", "options", "schemas"),
    (
        "processor",
        "kernel_cache",
        "instructions",
        "memory",
        "dealing",
        "crc32_tables",
        "crc32_folding",
        "crc32_aarch64",
        "crc32",
        "charsets",
        "layout",
        "header",
        "mariadb_compression",
    ),
    ("format_reader", "framing"),
    ("events", "descriptor", "payload", "inspect"),
)
"""Modules of the decoder that come before all the others."""

PIPELINE_ORDER = (
    (
        "errors",
        "lake",
        "memory",
        "report",
        "progress",
        "time_zone",
        "until",
        "under_way",
        "redaction",
        "log_lines",
        "log_progress",
    ),
    ("settings_variables", "settings_file", "settings_values", "settings_model"),
    ("settings_expectations", "settings_mistakes"),
    ("server_settings", "capture_settings", "seed_settings"),
    (
        "settings",
        "settings_shown",
        "sessions",
        "spark",
        "delta_conflicts",
        "delta",
        "lake_tables",
        "ledger_table",
        "ledger",
        "engine",
    ),
    ("server",),
    ("removed",),
    ("bronze",),
    ("capture",),
    ("catalog",),
    ("silver",),
    ("gold",),
    ("verify",),
    ("seed",),
    ("runs",),
    ("maintenance",),
    ("preflight", "run", "source_status", "status", "show", "inspect"),
    ("cli_options",),
    ("cli_runs",),
    ("cli_capture", "cli_seed"),
    ("cli_server",),
    ("cli",),
)
"""The pipeline's layers; what is not named may stand anywhere, as long as there is no circle."""

MODULES = sorted(
    path.relative_to(ROOT) for layer in LAYERS for path in (ROOT / layer).rglob("*.py")
)


@cache
def imports(path: Path) -> frozenset[str]:
    """Full names of all modules that a file imports, inside functions and type checks too.

    Not those of `if __name__ == "__main__":`, where a layer's job becomes a command.
    """
    body = [
        statement
        for statement in ast.parse((ROOT / path).read_text()).body
        if not (isinstance(statement, ast.If) and "__main__" in ast.unparse(statement.test))
    ]
    return frozenset(
        name for statement in body for node in ast.walk(statement) for name in _imported(node)
    )


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(name: str) -> str:
    """`decoder.events.query` → `events`; the package itself has none."""
    return name.split(".")[1] if "." in name else ""


def modules_of(layer: str) -> list[Path]:
    return [path for path in MODULES if path.parts[0] == layer]


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_packages_import_only_packages_before_them(path: Path) -> None:
    later = set(LAYERS[LAYERS.index(path.parts[0]) + 1 :])
    assert not {name for name in imports(path) if name.split(".")[0] in later}


@pytest.mark.parametrize("path", modules_of("decoder"), ids=str)
def test_the_decoder_knows_no_spark_pipeline_or_logging(path: Path) -> None:
    assert not {name for name in imports(path) if name.split(".")[0] in BANNED_IN_DECODER}


@pytest.mark.parametrize("path", modules_of("dags"), ids=str)
def test_dags_know_nothing_of_the_pipeline(path: Path) -> None:
    """Airflow may be where Binlake is not: only what spark-submit gets imports it, as it runs."""
    if path.parts[1] == "spark_application":
        assert not {name for name in _at_run_time(path) if name.split(".")[0] in LAYERS}
        return
    assert not {name for name in imports(path) if name.split(".")[0] in LAYERS}


@pytest.mark.parametrize("path", modules_of("decoder"), ids=str)
def test_the_decoder_opens_no_files(path: Path) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input"}


@pytest.mark.parametrize(
    ("layer", "order"), [("decoder", DECODER_ORDER), ("pipeline", PIPELINE_ORDER)]
)
def test_named_modules_import_only_what_comes_before_them(
    layer: str, order: tuple[tuple[str, ...], ...]
) -> None:
    place = {name: number for number, names in enumerate(order) for name in names}
    backward = [
        f"{path} imports {name}"
        for path in modules_of(layer)
        if (own := place.get(path.with_suffix("").parts[1])) is not None
        for name in imports(path)
        if name.split(".")[0] == layer and place.get(part(name), -1) > own
    ]
    assert not backward


@pytest.mark.parametrize("layer", LAYERS[:2])
def test_no_module_imports_itself_through_others(layer: str) -> None:
    """Folders count as one module: what they hold may refer to each other."""
    graph: dict[str, set[str]] = {}
    for path in modules_of(layer):
        own = path.with_suffix("").parts[1]
        if own == "__init__":
            continue
        used = {part(name) for name in _at_run_time(path) if name.split(".")[0] == layer}
        graph.setdefault(own, set()).update(used - {own, ""})
    settled: set[str] = set()
    while (
        ready := {name for name, used in graph.items() if used <= settled | (used - graph.keys())}
        - settled
    ):
        settled |= ready
    assert settled == graph.keys(), f"a circle among {sorted(graph.keys() - settled)}"


def _at_run_time(path: Path) -> Iterator[str]:
    """Imports of a module's top level: those that a circle would break."""
    for node in ast.parse((ROOT / path).read_text()).body:
        yield from _imported(node)
