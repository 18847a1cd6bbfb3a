"""A dbt sources file of gold: tables, columns, keys as tests, freshness, and paths for DuckDB.

In the form of dbt 1.10.8 and newer, whose settings of a source are under `config`, and a test's
under `arguments`. It contains nothing that changes with each run, so that its diffs are changes of
the tables.

Source: https://docs.getdbt.com/reference/source-properties
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from pipeline.errors import SettingsError
from pipeline.gold.snapshot.description import DescribedColumn, DescribedTable
from pipeline.gold.table.names import COMMITTED_AT, MEANINGS
from pipeline.lake.layout import encode_name
from pipeline.lake.sql_text import is_name, quoted, unquoted

_WORD = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile("[a-z_][a-z0-9_]*")
"""A name that needs no quotes in any database, unless it is a reserved word."""
_JINJA = re.compile(r"\{[{%#]")
_SCHEMES = {"s3a://": "s3://", "s3n://": "s3://", "gcs://": "gs://"}
"""Hadoop's and fsspec's schemes, and those of DuckDB."""
_SPARK_CATALOG = "spark_catalog"
"""Spark's default catalog, which dbt-spark does not accept by name."""
_PERIODS = (("day", 86400), ("hour", 3600), ("minute", 60))


@dataclass(frozen=True, slots=True)
class Freshness:
    """Ages of a table's last change at which dbt warns and fails; None: never."""

    warn_after: timedelta | None
    error_after: timedelta | None

    def to_dict(self) -> dict[str, Any] | None:
        """Return dbt's `freshness`; None turns it off."""
        ages = {"warn_after": self.warn_after, "error_after": self.error_after}
        return {name: _period(age, name) for name, age in ages.items() if age is not None} or None


HEADER = "# Written by binlake dbt-sources: do not edit, run it again.\n"


def dbt_sources(source: str, tables: Iterable[DescribedTable], freshness: Freshness) -> str:
    """Return the YAML of all tables, in order of their names, a dbt source for each schema."""
    by_schema = groupby(tables, key=lambda table: table.name.schema)
    found = [_source(source, schema, list(group), freshness) for schema, group in by_schema]
    text: str = yaml.dump(
        {"version": 2, "sources": found},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )
    return HEADER + text


def write_sources(file: Path, text: str) -> None:
    """Write the file; replace only one that this command wrote, else raise SettingsError."""
    try:
        if file.exists() and not file.read_text(encoding="utf-8").startswith(HEADER):
            remedy = "Give another file: only one that binlake dbt-sources has written is replaced."
            raise SettingsError(f"{file} exists.", key="to", remedy=remedy)
        written = file.with_name(f".{file.name}.{os.getpid()}")
        written.write_text(text, encoding="utf-8")
        written.replace(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        remedy = "Give a path that this user can write, of a file that this command has written."
        raise SettingsError(
            f"{file} cannot be written: {reason}.", key="to", remedy=remedy
        ) from error


class _Dumper(yaml.SafeDumper):
    """A dumper that repeats equal values instead of referring to the first, and indents lists."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return True: no anchors."""
        del data
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent the items of a list below its key."""
        del indentless
        super().increase_indent(flow, False)


def _source(
    source: str, schema: str, tables: list[DescribedTable], freshness: Freshness
) -> dict[str, Any]:
    catalog = _catalog(tables[0])
    return {
        "name": _name(schema),
        "description": f"Schema {_text(schema)} of source {source}, replicated by Binlake.",
        "loader": "binlake",
        **({} if catalog in (None, _SPARK_CATALOG) else {"database": catalog}),
        **({} if catalog is None and _name(schema) == schema else {"schema": _literal(schema)}),
        "config": {
            "loaded_at_field": COMMITTED_AT,
            "freshness": freshness.to_dict(),
            "meta": {"binlake_source": source},
        },
        "tables": [_table(table) for table in tables],
    }


def _table(table: DescribedTable) -> dict[str, Any]:
    name, own = _name(table.name.table), table.name.table
    columns = [column for column in table.columns if not _JINJA.search(column.name)]
    testable = {column.name for column in columns}.issuperset(table.key)
    key = table.key if testable else ()
    meta = {"path": table.reference, "complete": table.complete, "held": table.held is not None}
    if not is_name(table.reference):
        meta["external_location"] = _external_location(table.reference)
    return {
        "name": name,
        **({} if name == own else {"identifier": _literal(own), "quoting": {"identifier": True}}),
        "description": _described(table),
        "config": {**({"freshness": None} if table.dropped else {}), "meta": meta},
        **(_unique_together(table, key) if len(key) > 1 else {}),
        "columns": [_column(column, key) for column in columns],
    }


def _described(table: DescribedTable) -> str:
    sentences = [f"{_text(str(table.name))}: a row for each row of the source's table."]
    if table.dropped:
        sentences.append("The source has dropped it.")
    elif not table.complete:
        sentences.append("It is incomplete: binlake status says why.")
    if table.held is not None:
        sentences.append("It is held: binlake status says why.")
    if not table.key:
        sentences.append("It has no key.")
    return " ".join(sentences)


def _column(column: DescribedColumn, key: tuple[str, ...]) -> dict[str, Any]:
    tests = [*(["not_null"] if column.required else []), *(["unique"] * (key == (column.name,)))]
    meaning = MEANINGS.get(column.name)
    tested = column.name in key and tests
    needs_quotes = tested or not _PLAIN.fullmatch(column.name)
    return {
        "name": column.name,
        **({} if meaning is None else {"description": meaning}),
        "data_type": column.type,
        **({"quote": True} if needs_quotes else {}),
        **({"data_tests": tests} if tested else {}),
    }


def _unique_together(table: DescribedTable, key: tuple[str, ...]) -> dict[str, Any]:
    """Return dbt's own test on a row of all key columns: a package would be needed otherwise.

    dbt neither quotes nor renders this text. Paths are read by DuckDB, names in a catalog by Spark.
    """
    quote = quoted if is_name(table.reference) else _quoted_for_duckdb
    test = {
        "name": f"unique_key_{_name(table.name.schema)}_{_name(table.name.table)}",
        "arguments": {"column_name": f"({', '.join(map(quote, key))})"},
    }
    return {"data_tests": [{"unique": test}]}


def _quoted_for_duckdb(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _external_location(path: str) -> str:
    """Return what dbt-duckdb selects from; it replaces names in braces."""
    scheme = next((scheme for scheme in _SCHEMES if path.startswith(scheme)), None)
    place = path if scheme is None else _SCHEMES[scheme] + path[len(scheme) :]
    text = place.replace("'", "''").replace("{", "{{").replace("}", "}}")
    return _literal(f"delta_scan('{text}')")


def _catalog(table: DescribedTable) -> str | None:
    """Return the name of the catalog that the table is in; None for a path."""
    if not is_name(table.reference):
        return None
    return unquoted(table.reference.partition("`.`")[0] + "`")


def _name(name: str) -> str:
    """Return a name that dbt accepts for a source or a table, and that is unique."""
    return name if _WORD.fullmatch(name) else encode_name(name)


def _literal(text: str) -> str:
    """Return a text that dbt renders to itself."""
    return f"{{% raw %}}{text}{{% endraw %}}" if _JINJA.search(text) else text


def _text(text: str) -> str:
    """Return a human-readable text in which dbt finds nothing to render."""
    return _JINJA.sub(lambda found: " ".join(found.group()), text)


def _period(age: timedelta, name: str) -> Mapping[str, Any]:
    seconds = int(age.total_seconds())
    for period, length in _PERIODS:
        if seconds and seconds % length == 0:
            return {"count": seconds // length, "period": period}
    raise SettingsError("is not a number of minutes, hours or days.", key=name)
