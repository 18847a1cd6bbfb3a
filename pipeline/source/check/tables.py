"""Checks of the tables that the settings include: keys, engines, foreign keys."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from pipeline.settings import Settings
from pipeline.settings.settings import key_given
from pipeline.source.check.facts import CheckedTable, ServerFacts, SourceForeignKey
from pipeline.source.check.finding import NOTHING, Finding, RemedySteps, Verdict, set_at_start

_NOT_ITS_OWN = "Its rows belong to other tables or servers, and change without being logged here."
_CRASH = "After a crash the table and the log may contain different changes."
_LOST = (
    "It loses its rows when the server restarts, which is only logged when the table is next used,"
    " and as a statement."
)
EXACT_ENGINES = frozenset({"innodb"})
ENGINES: Mapping[str, tuple[Verdict, str]] = MappingProxyType(
    {
        "blackhole": ("problem", "It stores no rows, while the log contains every inserted one."),
        "federated": ("problem", _NOT_ITS_OWN),
        "connect": ("problem", _NOT_ITS_OWN),
        "spider": ("problem", _NOT_ITS_OWN),
        "s3": ("problem", _NOT_ITS_OWN),
        "mrg_myisam": ("problem", _NOT_ITS_OWN),
        "memory": ("advice", _LOST),
        **dict.fromkeys(("myisam", "aria", "csv", "archive"), ("advice", _CRASH)),
    }
)
"""Verdict and reason by the engine's lower-case name; other engines are untested."""
_UNTRIED: tuple[Verdict, str] = ("advice", "Binlake is not tested with this engine.")
BESIDE = "  # in addition to existing values"
"""Comment after lines of settings whose key may already have a value."""

KINDS: Mapping[str, tuple[Verdict, str]] = MappingProxyType(
    {
        "SYSTEM VERSIONED": ("problem", "System-versioned tables are not replicated to gold."),
        "SEQUENCE": ("advice", "Sequences are not replicated to gold."),
    }
)
"""MariaDB's kinds of tables that are not replicated."""

CHANGES_ROWS = frozenset({"CASCADE", "SET NULL", "SET DEFAULT"})


def seen(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report how many tables the other checks cover."""
    names = [table.name for table in _included(facts, settings, "BASE TABLE")]
    why = "Only tables that the settings include and the user can see are checked."
    yield Finding("tables", _count(names), "ok" if names else "advice", why)


def keys(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report keyless tables for which the settings give no key either."""
    found = list(_included(facts, settings, "BASE TABLE"))
    keyless = [
        table.name
        for table in found
        if not table.keyed and not key_given(settings.keys, table.name)
    ]
    why = (
        "A table without a PRIMARY KEY or a UNIQUE key of NOT NULL columns is replicated as rows"
        " with counts, which is slower; columns that identify its rows can be set as its key."
    )
    if not keyless:
        if found:
            yield Finding("tables without a key", "none", "ok", why)
        return
    lines = (
        f"keys:{BESIDE}",
        *(f"  {json.dumps(name, ensure_ascii=False)}: [columns]" for name in keyless),
    )
    has = _count(keyless)
    yield Finding(
        "tables without a key", has, "advice", why, RemedySteps(conf=lines), tuple(keyless)
    )


def engines(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report engines whose tables may differ from their log."""
    by_engine: dict[str, list[str]] = defaultdict(list)
    for table in _included(facts, settings, "BASE TABLE"):
        by_engine[table.engine].append(table.name)
    for engine, names in sorted(by_engine.items()):
        check = f"storage engine {engine}"
        if engine.lower() in EXACT_ENGINES:
            yield Finding(check, _count(names), "ok", "Its tables match their log.")
            continue
        verdict, why = ENGINES.get(engine.lower(), _UNTRIED)
        yield _unsupported(check, names, verdict, why)


def kinds(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report system-versioned tables and sequences, which are not replicated."""
    for kind, (verdict, why) in KINDS.items():
        if names := [table.name for table in _included(facts, settings, kind)]:
            yield _unsupported(kind.lower().replace("_", " "), names, verdict, why)


def unsupported_tables(facts: ServerFacts, settings: Settings) -> list[str]:
    """Return the names of tables that gold could not equal, as their findings are problems."""
    found = (*engines(facts, settings), *kinds(facts, settings))
    return sorted({name for one in found if one.verdict == "problem" for name in one.tables})


def _unsupported(check: str, names: list[str], verdict: Verdict, why: str) -> Finding:
    """Return the finding for such tables; those with a problem should be excluded."""
    listed = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    change = (
        RemedySteps(conf=(f"exclude: [{listed}]{BESIDE}",)) if verdict == "problem" else NOTHING
    )
    return Finding(check, _count(names), verdict, why, change, tuple(names))


def foreign_keys(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Report whether cascades of foreign keys are logged, or can be replayed in gold."""
    check = "foreign keys"
    acting = [
        key
        for key in facts.foreign_keys
        if settings.wanted(*key.child) and CHANGES_ROWS & {key.on_delete, key.on_update}
    ]
    if not acting:
        yield Finding(check, "none that change rows", "ok", "Every change of a row is logged.")
        return
    native = facts.variables.get("innodb_native_foreign_keys")
    if native is not None and not facts.is_on("innodb_native_foreign_keys"):
        why = "The server logs their cascades as rows of the child tables."
        yield Finding(check, "innodb_native_foreign_keys=OFF", "ok", why)
        return
    yield _not_logged(acting, settings, has_choice=native is not None)


def _not_logged(acting: list[SourceForeignKey], settings: Settings, *, has_choice: bool) -> Finding:
    check, has = "foreign keys", "their cascades are not logged"
    change = set_at_start("innodb_native_foreign_keys = OFF") if has_choice else NOTHING
    if settings.foreign_keys_logged is True:
        why = "The settings say that the server logs cascades: gold would lack these changes."
        change = replace(change, conf=("foreign_keys_logged: auto",))
        return Finding(check, has, "problem", why, change, _names(key.child for key in acting))
    alone = [key for key in acting if not settings.wanted(*key.parent)]
    if alone:
        why = "A child table whose parent is not replicated is held when a cascade changes it."
        missing = ", ".join(json.dumps(name) for name in _names(key.parent for key in alone))
        change = replace(change, conf=(f"include: [{missing}]{BESIDE}; remove from exclude",))
        return Finding(check, has, "problem", why, change, _names(key.child for key in alone))
    why = "Gold replays cascades, for up to 200,000 rows per transaction."
    verdict: Verdict = "advice" if has_choice else "ok"
    return Finding(check, has, verdict, why, change, _names(key.child for key in acting))


def _included(facts: ServerFacts, settings: Settings, kind: str) -> Iterator[CheckedTable]:
    for table in facts.tables:
        if table.kind == kind and settings.wanted(table.schema, table.table):
            yield table


def _names(tables: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(".".join(names) for names in tables))


def _count(names: list[str]) -> str:
    return f"{len(names)} table{'' if len(names) == 1 else 's'}"
