"""Every reader of Delta that installs here reads gold's tables, value by value, or refuses them.

Under each setting of `gold.readers`, and for files written without Spark, one lake whose tables
differ in what Delta needs for them: nothing, wall clocks, deletion vectors, column mapping from the
start, since a RENAME or DROP, or since the table was created again. Changes of a column's type, or
of the case of its name, rewrite a table.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable
from deltalake.exceptions import DeltaProtocolError
from pyspark.sql import SparkSession

from decoder.constants import BINARY_COLLATION, ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.schema_history.alter.items import ColumnStep
from tests.support.gold.large_tables import apply_by_spark
from tests.support.gold.made_lake import MadeLake
from tests.support.gold.readers import READERS, rows_by
from tests.support.gold.vectors import give_deletion_vectors
from tests.support.silver.made_silver import MadeTransaction as Tx, definition, item

WITHOUT_SPARK = "any, without Spark"
WRITER = {"appendOnly", "clustering", "domainMetadata", "invariants"}
"""Features that no reader needs to know."""


def column(name: str, kind: ColumnType, **options: Any) -> ColumnDefinition:
    return ColumnDefinition(name, kind, **options)


ID = column("id", ColumnType.LONG, nullable=False)
TEXT = column("text", ColumnType.VARCHAR, length=80, length_bytes=1, collation=255)
NUMBER = column("number", ColumnType.LONG)
BYTES = column("bytes", ColumnType.BLOB, length_bytes=2, collation=BINARY_COLLATION)
PRICE = column("price", ColumnType.NEWDECIMAL, precision=30, scale=10)
INSTANT = column("at", ColumnType.TIMESTAMP2)
SHAPE = column("shape", ColumnType.GEOMETRY)
OTHERS = (PRICE, INSTANT, BYTES, SHAPE)
ODD = "a b,;{}()=\n\t`ü.é"

PLAIN = definition(
    "plain",
    ID,
    TEXT,
    PRICE,
    column("big", ColumnType.LONGLONG, unsigned=True),
    column("real", ColumnType.DOUBLE),
    column("yes", ColumnType.BIT, length=1),
    column("day", ColumnType.DATE),
    INSTANT,
    BYTES,
    SHAPE,
)
AT = column("at", ColumnType.DATETIME2)
CLOCKS = [
    definition("clocks", ID, AT),
    definition("clocks", replace(ID, type=ColumnType.LONGLONG), replace(AT, name="AT")),
]
CHANGED = definition("changed", ID, TEXT)
NAMED = definition("odd", ID, replace(TEXT, name=ODD))
RENAMED = [
    definition("renamed", ID, TEXT, *OTHERS),
    definition("renamed", ID, replace(TEXT, name="letters"), *OTHERS),
]
RECREATED = [definition("recreated", ID, TEXT), definition("recreated", ID, replace(AT, name=ODD))]
DROPPED = [definition("dropped", ID, NUMBER, TEXT), definition("dropped", ID, TEXT)]

NOON = datetime(2024, 2, 29, 12, 0, 0, 123456)
UTC_NOON = NOON.replace(tzinfo=timezone.utc)
PLAIN_ROWS: list[tuple[Any, ...]] = [
    (
        1,
        "é😀",
        Decimal("12345678901234567890.0123456789"),
        Decimal(2**64 - 1),
        -0.1,
        True,
        date(1000, 1, 1),
        UTC_NOON,
        b"\0\xff",
        {"srid": 4326, "wkb": b"\1\2"},
    ),
    (2, "", Decimal("-0.0000000001"), Decimal(0), 5e-324, False, None, None, b"", None),
    (3, *[None] * 9),
]
VALUES = (Decimal("-12345678901234567890.0123456789"), UTC_NOON, b"\0\xff", PLAIN_ROWS[0][-1])
"""Those of OTHERS."""
RENAMED_ROWS: list[tuple[Any, ...]] = [
    (1, "a", *VALUES),
    (2, "B", *VALUES),
    (3, "c", *[None] * 4),
]
TABLES: dict[str, tuple[list[str], list[tuple[Any, ...]]]] = {
    "plain": ([c.name for c in PLAIN.columns], PLAIN_ROWS),
    "clocks": (["id", "AT"], [(1, NOON), (2, None), (3, datetime(9999, 12, 31, 23, 59, 59))]),
    "changed": (["id", "text"], [(1, "new"), (3, "c"), (4, "d")]),
    "odd": (["id", ODD], [(1, "x"), (2, None)]),
    "recreated": (["id", ODD], [(1, NOON)]),
    "renamed": (["id", "letters", *(c.name for c in OTHERS)], RENAMED_ROWS),
    "dropped": (["id", "text"], [(1, "a"), (2, "B"), (3, "c")]),
}
MAPPED = ("odd", "recreated", "renamed", "dropped")
LAKES: dict[str, list[str]] = {
    "fast": [*TABLES],
    "any": [table for table in TABLES if table not in MAPPED],
    WITHOUT_SPARK: [*TABLES],
}
"""Each lake's tables. Spark's files of mapped tables are the same under each setting."""
STEPS = {
    "clocks": [ColumnStep("id", "id", "cast"), ColumnStep("AT", "at")],
    "renamed": [
        ColumnStep("id", "id"),
        ColumnStep("letters", "text"),
        *(ColumnStep(c.name, c.name) for c in OTHERS),
    ],
    "dropped": [ColumnStep("id", "id"), ColumnStep("text", "text")],
}


class Made(NamedTuple):
    setting: str
    lake: MadeLake

    def path(self, table: str) -> str:
        return f"{self.lake.root}/gold/shop/{table}"

    def log(self, table: str) -> str:
        """Return the text of a table's commits."""
        files = Path(self.path(table), "_delta_log").glob("*.json")
        return "".join(file.read_text() for file in files)

    def protocol(self, table: str) -> tuple[int, set[str]]:
        """Return the version and features that a table's readers need to know."""
        found = DeltaTable(self.path(table)).protocol()
        features = {*(found.reader_features or ()), *(found.writer_features or ())}
        return found.min_reader_version, features - WRITER


@pytest.fixture(scope="module", params=LAKES)
def made(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    lake = MadeLake(spark, tmp_path_factory.mktemp("readers") / "lake")
    options: dict[str, Any] = {
        "gold": {"readers": request.param.partition(",")[0]},
        "exclude": [f"shop.{table}" for table in TABLES if table not in LAKES[request.param]],
    }
    with pytest.MonkeyPatch.context() as patched:
        if request.param != WITHOUT_SPARK:
            apply_by_spark(patched, ("plain", "odd"))
        evolving = (CLOCKS, RECREATED, RENAMED, DROPPED)
        first, tables = Tx(2), [PLAIN, CHANGED, NAMED, *(before for before, _ in evolving)]
        for table in (PLAIN, CLOCKS[0], NAMED):
            for row in TABLES[table.table][1]:
                first.insert(table, *row)
        first.insert(RECREATED[0], 1, "gone")
        for n, text in enumerate("abc", start=1):
            first.insert(CHANGED, n, text).insert(RENAMED[0], n, text, *RENAMED_ROWS[n - 1][2:])
            first.insert(DROPPED[0], n, n * 10, text)
        lake.silver.batch([first], [item("create", 2, table) for table in tables])
        lake.run(**options)
        if request.param != WITHOUT_SPARK:
            give_deletion_vectors(patched)
        second = Tx(3).update(CHANGED, (1, "a"), (1, "new")).delete(CHANGED, 2, "b")
        second.insert(CHANGED, 4, "d")
        second.update(RENAMED[1], (2, "b", *VALUES), RENAMED_ROWS[1], version=2)
        second.update(DROPPED[1], (2, "b"), (2, "B"), version=2)
        second.insert(RECREATED[1], 1, NOON, version=2)
        altered = [
            item("alter", 3, table, 2, columns=STEPS[table.table])
            for table in (CLOCKS[1], RENAMED[1], DROPPED[1])
        ]
        lake.silver.batch([second], [*altered, item("create", 3, RECREATED[1], 2)])
        lake.run(**options)
    return Made(request.param, lake)


def refused(setting: str, table: str, reader: str) -> bool:
    """Return True if docs/guides/readers.md says that a reader refuses a table."""
    if table in MAPPED:
        return reader in ("polars", "pyarrow")
    return reader == "pyarrow" and setting == "fast"


def test_a_reader_has_every_value_of_a_table_or_refuses_it(spark: SparkSession, made: Made) -> None:
    wrong: dict[tuple[str, str], object] = {}
    for reader, table in product(READERS, LAKES[made.setting]):
        # It reads the same setting's tables written without it, and those of another by it.
        if (made.setting, reader) == ("any", "spark"):
            continue
        names, rows = TABLES[table]
        expected = (names, sorted(rows, key=repr))
        found: object
        try:
            found = rows_by(reader, spark, made.path(table))
        except Exception as error:
            found = error
        is_refusal = isinstance(found, DeltaProtocolError)
        if not (is_refusal if refused(made.setting, table, reader) else found == expected):
            wrong[reader, table] = found
    assert wrong == {}


def test_a_table_has_only_the_features_that_it_needs(made: Made) -> None:
    vectors = {"deletionVectors"} if made.setting == "fast" else set()
    mapped = {"columnMapping", "timestampNtz", *vectors}
    expected = {
        "plain": vectors,
        "clocks": {"timestampNtz", *vectors},
        "changed": vectors,
        **dict.fromkeys(MAPPED, mapped),
    }
    found = {table: made.protocol(table) for table in LAKES[made.setting]}
    assert all(features == expected[table] for table, (_, features) in found.items()), found
    assert ('"deletionVector":{' in made.log("changed")) == (made.setting == "fast")
    for table in ("changed", "plain"):
        by_spark = '"engineInfo":"Apache-Spark' in made.log(table)
        assert by_spark == (made.setting != WITHOUT_SPARK)
    if made.setting != "fast":
        # Version 2 lists no features, and the pyarrow reader would not refuse the table.
        versions = {"plain": 1, "clocks": 3, "changed": 1, **dict.fromkeys(MAPPED, 3)}
        assert all(version == versions[table] for table, (version, _) in found.items()), found
