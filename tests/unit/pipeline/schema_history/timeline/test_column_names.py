"""Name the columns of table maps without names from a definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from decoder import TableDefinition
from decoder.constants import BINARY_COLLATION, ColumnType
from pipeline.schema_history.ddl.charsets import collation_of, widest
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.timeline.column_names import (
    NotNamedError,
    with_logical_types,
    with_names,
)

LATIN1, UTF8 = collation_of("latin1"), collation_of("utf8mb4")
CHARACTERS = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.BLOB)


def declared(columns: str, options: str = "") -> TableDefinition:
    (created,) = effects(f"CREATE TABLE t ({columns}) {options}", StatementContext("s"))
    assert isinstance(created, CreateTable)
    return created.definition


def shown(
    definition: TableDefinition, collation: int | None = UTF8, **changes: Any
) -> TableDefinition:
    """Return its table map's definition without names, labels and keys; text is in `collation`."""
    columns = []
    for number, column in enumerate(definition.columns, 1):
        found = replace(column, name=f"c{number}", labels=(), visible=True, geometry_type=None)
        text = column.type in CHARACTERS and column.collation != BINARY_COLLATION
        if text and column.type is not ColumnType.BLOB and collation is not None:
            characters = column.length // widest(column.collation)
            found = replace(found, length=characters * widest(collation))
        shown_as = collation if text else column.collation if column.type in CHARACTERS else None
        columns.append(replace(found, collation=shown_as if collation is not None else None))
    return replace(
        definition,
        columns=tuple(columns),
        primary_key=(),
        primary_key_prefixes=(),
        **{"complete_metadata": False, "named": False, **changes},
    )


def named(known: TableDefinition, map_: TableDefinition, charset: str | None = None) -> Any:
    return with_names(map_, known, default_charset=charset, complete=False)


ZOO = (
    "id INT UNSIGNED NOT NULL PRIMARY KEY, `b c` BIGINT INVISIBLE, y YEAR, d DECIMAL(12,3),"
    " f FLOAT(7,3), v VARCHAR(20), c CHAR(3), t TEXT, tt TINYTEXT, vb VARBINARY(9), bl LONGBLOB,"
    " e ENUM('x','y z'), s SET('a','b','c'), bi BIT(9), dt DATETIME(3), ts TIMESTAMP(6) NULL,"
    " ti TIME, da DATE, g POINT, j JSON"
)


def test_the_definition_supplies_names_labels_and_visibility() -> None:
    known = declared(ZOO)
    found = named(known, shown(known))
    assert [c.name for c in found.columns] == [c.name for c in known.columns]
    assert [c.labels for c in found.columns] == [c.labels for c in known.columns]
    assert [c.visible for c in found.columns] == [c.visible for c in known.columns]
    assert [c.type for c in found.columns] == [c.type for c in known.columns]
    by_name = {column.name: column for column in found.columns}
    assert by_name["id"].unsigned
    assert by_name["v"].collation == UTF8
    assert by_name["vb"].collation == BINARY_COLLATION
    assert by_name["g"].geometry_type == 1
    assert (found.named, found.complete_metadata) == (True, False)


@pytest.mark.parametrize(
    ("options", "charset", "collation"),
    [
        ("DEFAULT CHARSET=latin1", None, LATIN1),
        ("DEFAULT CHARSET=latin1", "utf8mb4", LATIN1),
        ("", "utf8mb4", UTF8),
        ("COLLATE=latin1_bin", None, LATIN1),
    ],
)
def test_the_definition_supplies_signs_and_charsets_that_the_map_lacks(
    options: str, charset: str | None, collation: int
) -> None:
    known = declared("a INT UNSIGNED, v VARCHAR(9), t TEXT, b BLOB", options)
    bare = shown(known, None, signedness_logged=False)
    lengths = [replace(c, unsigned=False) for c in bare.columns]
    lengths[1] = replace(lengths[1], length=9 * widest(collation))
    found = named(known, replace(bare, columns=tuple(lengths)), charset)
    assert [c.collation for c in found.columns] == [None, collation, collation, BINARY_COLLATION]
    assert found.columns[0].unsigned


def test_text_in_an_unknown_charset_is_not_named() -> None:
    known = declared("a INT, v VARCHAR(9)")
    with pytest.raises(NotNamedError, match=r"column 2 \(v\) .* default_charset"):
        named(known, shown(known, None))


def test_mariadbs_json_is_text() -> None:
    map_ = shown(declared("j LONGTEXT"), None)
    (column,) = named(declared("j JSON"), map_).columns
    assert (column.name, column.type, column.collation) == ("j", ColumnType.BLOB, UTF8)


CONTRADICTIONS = [
    ("a INT", "a BIGINT", "column 1 is a INT in its definition, but BIGINT in its table map"),
    ("a INT", "a INT UNSIGNED", "a INT in its definition, but INT UNSIGNED in"),
    ("a INT, b INT", "a INT", "it has 2 columns in its definition (a, b), but 1 in its table map"),
    ("a DECIMAL(9,2)", "a DECIMAL(9,3)", "a DECIMAL(9,2) in its definition, but DECIMAL(9,3)"),
    ("a BIT(3)", "a BIT(4)", "a BIT(3) in its definition, but BIT(4)"),
    ("a VARCHAR(10)", "a VARCHAR(11)", "a VARCHAR(10) in its definition, but VARCHAR(11) in utf8"),
    ("a VARCHAR(10)", "a CHAR(10)", "a VARCHAR(10) in its definition, but CHAR(10)"),
    ("a VARCHAR(10)", "a VARBINARY(10)", "but VARBINARY(10)"),
    ("a BINARY(4)", "a BINARY(5)", "a BINARY(4) in its definition, but BINARY(5)"),
    ("a TEXT", "a BLOB", "a TEXT in its definition, but BLOB"),
    ("a BLOB", "a LONGBLOB", "a BLOB in its definition, but LONGBLOB"),
    ("a VARCHAR(9) CHARACTER SET latin1", "a VARCHAR(9)", "in latin1 in its definition"),
    ("a ENUM('x')", "a SET('x')", "a ENUM of 1 bytes in its definition, but SET"),
    ("a DATETIME(3)", "a DATETIME", "a DATETIME(3) in its definition, but DATETIME in"),
    ("a DATETIME", "a TIMESTAMP", "a DATETIME in its definition, but TIMESTAMP"),
    ("a FLOAT", "a DOUBLE", "a FLOAT in its definition, but DOUBLE"),
    ("a JSON", "a LONGBLOB", "in its definition, but LONGBLOB"),
]


@pytest.mark.parametrize(("known", "logged", "message"), CONTRADICTIONS)
def test_a_contradiction_reports_both_shapes(known: str, logged: str, message: str) -> None:
    with pytest.raises(NotNamedError) as caught:
        named(declared(known), shown(declared(logged)))
    assert message in str(caught.value)


OF_MARIADB = "id INT PRIMARY KEY, u UUID, i INET6, j INET4, v VECTOR(3), b BINARY(16)"


def logged_by_mariadb(known: TableDefinition) -> TableDefinition:
    """Return the definition of its table map: a VECTOR as VARBINARY, and other types as stored."""
    stored = {"type": ColumnType.VARCHAR, "collation": BINARY_COLLATION, "dimension": None}
    columns = (
        replace(c, length=12, length_bytes=1, **stored) if c.type is ColumnType.VECTOR else c
        for c in known.columns
    )
    return replace(known, columns=tuple(replace(c, logical=None) for c in columns))


@pytest.mark.parametrize("with_names_logged", [True, False])
def test_mariadb_s_own_types_come_from_the_definition(
    with_names_logged: bool,
) -> None:
    known = declared(OF_MARIADB)
    map_ = logged_by_mariadb(known)
    if with_names_logged:
        found = with_logical_types(map_, known)
    else:
        found = named(known, shown(map_, collation=None))
    assert [column.name for column in found.columns] == ["id", "u", "i", "j", "v", "b"]
    kinds = [column.logical and column.logical.value for column in found.columns]
    assert kinds == [None, "UUID", "INET6", "INET4", "VECTOR", None]
    assert found.columns[4].dimension == 3


def test_a_column_stored_differently_does_not_match_the_definition() -> None:
    known, map_ = declared("u UUID, v VECTOR(4)"), declared("u BINARY(4), v VARBINARY(12)")
    assert with_logical_types(map_, known) == map_


def test_bigints_after_all_columns_are_hashes_of_at_most_as_many_keys() -> None:
    known = declared("id INT PRIMARY KEY, t INT, UNIQUE (t)")
    hash_ = replace(shown(declared("h BIGINT")).columns[0], name="c3")
    map_ = shown(known)
    map_ = replace(map_, columns=(*map_.columns, hash_))
    found = with_names(map_, known, default_charset=None, complete=False, hashes=1)
    assert [column.name for column in found.columns] == ["id", "t"]
    assert [place for place, _ in found.hidden] == [2]
    assert len(found.logged) == 3
    with pytest.raises(NotNamedError, match="has 2 columns in its definition"):
        with_names(map_, known, default_charset=None, complete=False, hashes=0)
    other = replace(map_, columns=(*map_.columns[:2], replace(hash_, type=ColumnType.LONG)))
    with pytest.raises(NotNamedError, match="has 2 columns in its definition"):
        with_names(other, known, default_charset=None, complete=False, hashes=1)
