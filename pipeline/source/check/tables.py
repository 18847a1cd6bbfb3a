"""Checks of the tables that conf includes: keys, engines, foreign keys."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from pipeline.settings import Settings
from pipeline.settings.settings import key_given
from pipeline.source.check.facts import ServerFacts, SourceForeignKey, SourceTable
from pipeline.source.check.finding import NOTHING, Change, Finding, Verdict, set_at_start

_NOT_ITS_OWN = "Its rows are other tables', or another server's, and change without this log."
_CRASH = "After a crash the table may have changes that the log has not, and the other way round."
_LOST = (
    "It loses its rows when the server restarts, which the log has only once the table is used"
    " again, and as a statement."
)
FIT_ENGINES = frozenset({"innodb"})
ENGINES: Mapping[str, tuple[Verdict, str]] = MappingProxyType(
    {
        "blackhole": ("unfit", "It keeps no row, while the log has every one that was inserted."),
        "federated": ("unfit", _NOT_ITS_OWN),
        "connect": ("unfit", _NOT_ITS_OWN),
        "spider": ("unfit", _NOT_ITS_OWN),
        "s3": ("unfit", _NOT_ITS_OWN),
        "mrg_myisam": ("unfit", _NOT_ITS_OWN),
        "memory": ("advice", _LOST),
        **dict.fromkeys(("myisam", "aria", "csv", "archive"), ("advice", _CRASH)),
    }
)
"""By name in lower case: what comes of an engine. Of others nothing was tried."""
_UNTRIED: tuple[Verdict, str] = ("advice", "Binlake was not tried with this engine.")
BESIDE = "  # beside what is there"
"""Behind lines of conf whose key may have a value already."""

KINDS: Mapping[str, tuple[Verdict, str]] = MappingProxyType(
    {
        "SYSTEM VERSIONED": ("unfit", "System-versioned tables are left out of gold."),
        "SEQUENCE": ("advice", "Sequences are left out of gold."),
    }
)
"""MariaDB's kinds of tables that are not replicated."""

CHANGES_ROWS = frozenset({"CASCADE", "SET NULL", "SET DEFAULT"})


def seen(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """How many tables the other checks are of."""
    names = [table.name for table in _included(facts, settings, "BASE TABLE")]
    why = "Only tables that conf includes, and that the user may see, are looked at."
    yield Finding("tables", _count(names), "fit" if names else "advice", why)


def keys(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Tables without a key whose rows nothing in conf tells apart either."""
    found = list(_included(facts, settings, "BASE TABLE"))
    bags = [
        table.name
        for table in found
        if not table.keyed and not key_given(settings.keys, table.name)
    ]
    why = (
        "A table without PRIMARY KEY or UNIQUE key of NOT NULL columns is replicated as rows and"
        " how often each is there, which is slower; columns that tell its rows apart can be a key."
    )
    if not bags:
        if found:
            yield Finding("tables without a key", "none", "fit", why)
        return
    lines = (
        f"keys:{BESIDE}",
        *(f"  {json.dumps(name, ensure_ascii=False)}: [columns]" for name in bags),
    )
    has = _count(bags)
    yield Finding("tables without a key", has, "advice", why, Change(conf=lines), tuple(bags))


def engines(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Engines whose tables are not what their log says."""
    by_engine: dict[str, list[str]] = defaultdict(list)
    for table in _included(facts, settings, "BASE TABLE"):
        by_engine[table.engine].append(table.name)
    for engine, names in sorted(by_engine.items()):
        check = f"storage engine {engine}"
        if engine.lower() in FIT_ENGINES:
            yield Finding(check, _count(names), "fit", "Its tables are what their log says.")
            continue
        verdict, why = ENGINES.get(engine.lower(), _UNTRIED)
        yield _left_out(check, names, verdict, why)


def kinds(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Tables that are none of the usual."""
    for kind, (verdict, why) in KINDS.items():
        if names := [table.name for table in _included(facts, settings, kind)]:
            yield _left_out(kind.lower().replace("_", " "), names, verdict, why)


def _left_out(check: str, names: list[str], verdict: Verdict, why: str) -> Finding:
    """Of tables that conf may say no more of: what cannot be right should not be in gold."""
    listed = ", ".join(json.dumps(name, ensure_ascii=False) for name in names)
    change = Change(conf=(f"exclude: [{listed}]{BESIDE}",)) if verdict == "unfit" else NOTHING
    return Finding(check, _count(names), verdict, why, change, tuple(names))


def foreign_keys(facts: ServerFacts, settings: Settings) -> Iterator[Finding]:
    """Whether what foreign keys change is in the log, or else gold can do it."""
    check = "foreign keys"
    acting = [
        key
        for key in facts.foreign_keys
        if settings.wanted(*key.child) and CHANGES_ROWS & {key.on_delete, key.on_update}
    ]
    if not acting:
        yield Finding(check, "none that change rows", "fit", "Nothing changes without its log.")
        return
    native = facts.variables.get("innodb_native_foreign_keys")
    if native is not None and not facts.is_on("innodb_native_foreign_keys"):
        why = "The server logs what they change as rows of the child tables."
        yield Finding(check, "innodb_native_foreign_keys=OFF", "fit", why)
        return
    yield _not_logged(acting, settings, has_choice=native is not None)


def _not_logged(acting: list[SourceForeignKey], settings: Settings, *, has_choice: bool) -> Finding:
    check, has = "foreign keys", "what they change is not logged"
    change = set_at_start("innodb_native_foreign_keys = OFF") if has_choice else NOTHING
    if settings.foreign_keys_logged is True:
        why = "conf says that the server logs what foreign keys change: gold would lack it."
        change = replace(change, conf=("foreign_keys_logged: auto",))
        return Finding(check, has, "unfit", why, change, _names(key.child for key in acting))
    alone = [key for key in acting if not settings.wanted(*key.parent)]
    if alone:
        why = "A child whose parent is not replicated is held where its foreign key changes rows."
        missing = ", ".join(json.dumps(name) for name in _names(key.parent for key in alone))
        change = replace(change, conf=(f"include: [{missing}]{BESIDE}, and out of exclude",))
        return Finding(check, has, "unfit", why, change, _names(key.child for key in alone))
    why = "Gold does what foreign keys do, for up to 200,000 rows a transaction."
    verdict: Verdict = "advice" if has_choice else "fit"
    return Finding(check, has, verdict, why, change, _names(key.child for key in acting))


def _included(facts: ServerFacts, settings: Settings, kind: str) -> Iterator[SourceTable]:
    for table in facts.tables:
        if table.kind == kind and settings.wanted(table.schema, table.table):
            yield table


def _names(tables: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(".".join(names) for names in tables))


def _count(names: list[str]) -> str:
    return f"{len(names)} table{'' if len(names) == 1 else 's'}"
