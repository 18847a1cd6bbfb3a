"""Decoded values have the canonical texts that the script for servers produces, for every type."""

from __future__ import annotations

from typing import Any

import pytest

from decoder import TypeOptions
from decoder.columns.registry import row_type
from decoder.model.definition import Names
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.verify.canonical import CanonicalText, canonical
from pipeline.verify.gold_table import GoldColumn, gold_columns
from pipeline.verify.snapshot import SESSION
from pipeline.verify.snapshot_columns import SnapshotTable, source_tables
from tests.support.servers.server import Server
from tests.support.zoo import exhaustive_zoo, json_zoo, mariadb_zoo, type_zoo
from tests.support.zoo.zoo_rows import ZOO, inserted, log_of, name_of, names_of

OF_MARIADB_ALONE = {"zoo_addresses", "zoo_newest"}
OPTIONS = {
    "null": TypeOptions(),
    "string": TypeOptions(zero_dates="string", time="micros"),
}


def texts_of_server(server: Server, zero_dates: str) -> dict[str, tuple[SnapshotTable, list[Any]]]:
    """Return by table: its columns, each as the canonical texts of its rows in key order."""
    found = {}
    with server.connect(conv={}, use_unicode=False) as connection, connection.cursor() as cursor:
        for statement in SESSION:
            cursor.execute(statement)
        for table in [t for t in source_tables(cursor) if t.schema == ZOO]:
            wanted = ", ".join(column.expression for column in table.columns)
            cursor.execute(f"SELECT {wanted} FROM `{ZOO}`.`{table.table}` ORDER BY id")
            columns = zip(*cursor.fetchall(), strict=True)
            writers = [canonical(column.kind, zero_dates=zero_dates) for column in table.columns]
            texts = [list(map(write, c)) for write, c in zip(writers, columns, strict=True)]
            found[table.table] = table, texts
    return found


def assert_same_texts(
    server: Server, log: bytes, names: set[str], zero_dates: str, named: Names | None = None
) -> None:
    """Compare the tables with these `names`; `named` supplies their columns' names if the log
    lacks them.
    """
    options = OPTIONS[zero_dates]
    rows = inserted(log, options, names=named)
    theirs = texts_of_server(server, zero_dates)
    for name in names:
        definition, arrays = rows[name]
        table, texts = theirs[name]
        columns = gold_columns(spark_schema(row_type(definition, options)), definition)
        assert columns == [GoldColumn(column.name, column.kind) for column in table.columns]
        for column, array, expected in zip(columns, arrays, texts, strict=True):
            ours: list[CanonicalText] = list(map(canonical(column.kind), array.to_pylist()))
            differing = [pair for pair in zip(ours, expected, strict=True) if pair[0] != pair[1]]
            assert not differing[:3], f"{name}.{column.name}"
        # A log without names has no keys either; in all of these tables it is the same.
        assert table.key == (definition.key if named is None else ("id",))


@pytest.mark.parametrize(
    ("fixture", "tables"),
    [
        ("mysql", [*type_zoo.TABLES, *exhaustive_zoo.TABLES, *json_zoo.TABLES]),
        ("mariadb", mariadb_zoo.TABLES),
        ("newest_mariadb", [mariadb_zoo.newest()]),
    ],
    ids=["MySQL", "MariaDB", "the newest MariaDB"],
)
def test_decoded_and_selected_values_have_equal_texts(
    request: pytest.FixtureRequest, fixture: str, tables: list[type_zoo.Table]
) -> None:
    server: Server = request.getfixturevalue(fixture)
    log, names = log_of(server, tables), {name_of(table) for table in tables}
    assert_same_texts(server, log, names, "null")
    assert_same_texts(server, log, names & {"zoo_temporal", "zoo_zero_dates"}, "string")
    # As gold has MariaDB's own types where a definition has them.
    assert_same_texts(server, log, names & OF_MARIADB_ALONE, "null", names_of(tables))
