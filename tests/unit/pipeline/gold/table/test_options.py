"""Options of gold's tables: from conf to table properties and clustering, and what does not fit."""

from __future__ import annotations

import pytest
from pyspark.sql import types as st

from pipeline.gold.table.options import OPTIONS, TableOptions
from pipeline.settings import Settings

VECTORS, FEED = "delta.enableDeletionVectors", "delta.enableChangeDataFeed"


def schema_of(*kinds: tuple[str, st.DataType]) -> st.StructType:
    return st.StructType([st.StructField(name, kind) for name, kind in kinds])


WIDE = schema_of(*((f"c{n}", st.LongType()) for n in range(40)))
MIXED = schema_of(("a", st.BinaryType()), ("b", st.BooleanType()), ("c", st.DateType()))
BY_KEY: dict[str, tuple[st.StructType, tuple[str, ...], list[str]]] = {
    "in the key's order": (
        schema_of(("b", st.LongType()), ("a", st.StringType())),
        ("a", "b"),
        ["a", "b"],
    ),
    "by no more than four": (WIDE, ("c1", "c2", "c3", "c4", "c5"), ["c1", "c2", "c3", "c4"]),
    "not by bytes or truth": (MIXED, ("a", "b", "c"), ["c"]),
    "only by columns with statistics": (WIDE, ("c35", "c31", "c32"), ["c31"]),
}


@pytest.mark.parametrize("name", BY_KEY)
def test_a_table_is_clustered_by_its_key(name: str) -> None:
    schema, key, columns = BY_KEY[name]
    assert TableOptions().clustering(schema, key) == columns


BY_CONF = {
    "a column": (WIDE, ("c7",), None),
    "in conf's order": (WIDE, ("c7", "c3"), None),
    "a column that is not there": (WIDE, ("c7", "C3"), "C3, which the table does not have"),
    "bytes": (MIXED, ("a",), "a, by whose type (binary) Delta does not cluster"),
    "no statistics": (WIDE, ("c32",), "c32, which is not among the first 32 columns"),
}


@pytest.mark.parametrize("name", BY_CONF)
def test_a_table_is_clustered_by_confs_columns_or_says_why_not(name: str) -> None:
    schema, by, why = BY_CONF[name]
    options = TableOptions(cluster_by=by)
    misfit = options.misfit(schema)
    if why is None:
        assert misfit is None
        assert options.clustering(schema, ("c1",)) == list(by)
        return
    assert misfit is not None
    assert misfit.startswith(f"gold.cluster_by in the settings names {why}")
    assert misfit.endswith("; correct or remove it there, and run again")
    assert options.fitting(schema) == TableOptions()


def test_a_column_of_the_change_data_feeds_name_does_not_fit_it() -> None:
    schema = schema_of(("id", st.LongType()), ("_Change_Type", st.StringType()))
    options = TableOptions(change_data_feed=True)
    misfit = options.misfit(schema)
    assert misfit is not None
    assert "its column _Change_Type has the name of a column" in misfit
    assert "leave the table out of gold.change_data_feed" in misfit
    assert options.fitting(schema) == TableOptions()
    assert options.misfit(WIDE) is None


def options_of(name: str, **gold: object) -> TableOptions:
    return TableOptions.of(Settings.load(None, gold=gold).gold, name)


def test_options_are_given_by_pattern() -> None:
    gold = {"change_data_feed": ["shop.*"], "cluster_by": {"shop.o*": ["a"], "shop.orders": ["b"]}}
    assert options_of("shop.orders", **gold) == TableOptions(True, True, ("b",))
    assert options_of("shop.others", **gold) == TableOptions(True, True, ("a",))
    assert options_of("crm.orders", **gold) == TableOptions()
    assert options_of("crm.orders", readers="any") == TableOptions(deletion_vectors=False)


def test_a_new_table_records_its_options_unless_they_are_the_defaults() -> None:
    assert TableOptions().initial_properties == {VECTORS: "true"}
    some = TableOptions(False, True, ("a", "b;c"))
    record = "deletion_vectors=false&change_data_feed=true&cluster_by=a&cluster_by=b%3Bc"
    assert some.initial_properties == {VECTORS: "false", FEED: "true", OPTIONS: record}


@pytest.mark.parametrize(
    "options",
    [
        TableOptions(),
        TableOptions(deletion_vectors=False),
        TableOptions(change_data_feed=True, cluster_by=("it's = `x`\n", "é&%", "d")),
    ],
)
def test_recorded_options_are_read_back(options: TableOptions) -> None:
    properties = options.initial_properties
    assert TableOptions.applied(properties) == options
    assert not {"'", "\\", "\n"} & set("".join(properties.values()))


def test_only_what_conf_has_changed_is_set_on_an_existing_table() -> None:
    before, now = TableOptions(), TableOptions(deletion_vectors=False)
    assert now.changes(now) == {}
    assert now.changes(before) == {VECTORS: "false", OPTIONS: now.initial_properties[OPTIONS]}
    # A feed that another program or user enabled stays as long as conf does not change it.
    assert FEED not in now.changes(before)
    fed = TableOptions(change_data_feed=True)
    assert before.changes(fed)[FEED] == "false"
    assert TableOptions.applied(before.changes(fed)) == before
