"""The type zoo (see `type_zoo`) of older servers, limited to the types and functions of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tests.support.servers.older_servers import (
    MariaDB102Server,
    MariaDB105Server,
    MariaDB114Server,
    MySQL56Server,
    MySQL57Server,
    MySQL80Server,
)
from tests.support.servers.server import Server
from tests.support.zoo import exhaustive_zoo, json_zoo, mariadb_zoo, type_zoo
from tests.support.zoo.random_zoo import random_table
from tests.support.zoo.type_zoo import Table, by_column, literal, table
from tests.support.zoo.zoo_rows import name_of

ROWS = 500
GEOMETRIES = [(text, srid) for text, srid in type_zoo.GEOMETRIES if "EMPTY" not in text]
_NO_FUNCTION = ("CAST(2020 AS YEAR)",)
"""Used in expressions of JSON, but missing in MySQL 5.7."""


def plain_geometries() -> Table:
    """Every spatial type, as MySQL 5.6 and 5.7 write it: columns have no SRID."""
    points = [f"ST_GeomFromText('{text}', {srid})" for text, srid in GEOMETRIES]
    columns = {"g": "GEOMETRY", "p": "POINT", "c": "GEOMETRYCOLLECTION"}
    values = {"g": points, "p": points[:2], "c": points[-1:]}
    return table("zoo_geometries", columns, by_column(values))


def documents() -> Table:
    """Every kind of JSON that MySQL 5.7 has an expression for."""
    every = [f"CAST({literal(document)} AS JSON)" for document in type_zoo.JSON_DOCUMENTS]
    every += [
        expression
        for expression in type_zoo.JSON_EXPRESSIONS
        if not any(function in expression for function in _NO_FUNCTION)
    ]
    return table("zoo_json", {"j": "JSON"}, [[value] for value in (*every, type_zoo.NULL)])


def _without(tables: Iterable[Table], *names: str) -> list[Table]:
    return [one for one in tables if name_of(one) not in names]


_RANDOM = random_table(ROWS)
_MYSQL = [*type_zoo.TABLES, *exhaustive_zoo.TABLES, *json_zoo.TABLES, _RANDOM]
_MYSQL_5 = _without(_MYSQL, "zoo_vectors", "zoo_geometries", "zoo_json", "zoo_json_deep")
_WITH_JSON = ("zoo_charsets", "zoo_json_columns", "zoo_json_large", "random_rows")
_MARIADB = [*mariadb_zoo.TABLES, _RANDOM]

TABLES: Mapping[type[Server], list[Table]] = MappingProxyType(
    {
        MySQL80Server: _without(_MYSQL, "zoo_vectors"),
        MySQL57Server: [*_MYSQL_5, plain_geometries(), documents()],
        MySQL56Server: [
            *_without(_MYSQL_5, *_WITH_JSON),
            plain_geometries(),
            type_zoo.charsets(lacks=("gb18030",)),
        ],
        MariaDB114Server: _MARIADB,
        MariaDB105Server: _without(_MARIADB, "zoo_addresses"),
        MariaDB102Server: _without(_MARIADB, "zoo_addresses", "zoo_compressed"),
    }
)
