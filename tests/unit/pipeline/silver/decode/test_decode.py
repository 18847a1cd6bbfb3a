from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa
import pytest

from decoder import TableDefinition, TypeOptions
from decoder.constants import EventType
from pipeline.silver.decode.decode import (
    FAULTS,
    STAGED_FAULTS,
    STATEMENTS,
    TRANSACTIONS,
    Decode,
    of_wanted_tables,
    server_version,
)
from pipeline.silver.plan.survey import Survey
from tests.support.decoder.event_bytes import format_description
from tests.support.decoder.old_logs import V1, V3

Segments = Callable[..., Iterator[pa.RecordBatch]]


def everything(_schema: str, _table: str) -> bool:
    return True


def surveyed(
    rows: Iterable[pa.RecordBatch], kind: str, seen: Mapping[tuple[int, int], str] | None = None
) -> list[dict[str, Any]]:
    found = Survey(TypeOptions(), everything, seen or {})(iter(rows))
    return [row for row in found.to_pylist() if row["kind"] == kind]


def table_ids(rows: Iterable[pa.RecordBatch]) -> dict[str, int]:
    texts = dict.fromkeys(row["content"] for row in surveyed(rows, "definition"))
    return {TableDefinition.from_json(text).fingerprint(): i for i, text in enumerate(texts)}


def decoded(decode: Decode, rows: Iterable[pa.RecordBatch]) -> dict[str, list[dict[str, Any]]]:
    """Return rows by target."""
    found: dict[str, list[dict[str, Any]]] = {}
    for target, batch in decode(rows):
        if batch.num_rows:
            found.setdefault(target, []).extend(batch.to_pylist())
    return found


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_segment_in_parts_decodes_like_a_whole_one(segments: Segments, parts: int) -> None:
    ids = table_ids(segments("plain"))
    found = decoded(
        Decode(TypeOptions(), everything, ids), segments("plain", ordinal=3, parts=parts)
    )
    assert [
        (c["__op"], c["before"] and c["before"]["id"], c["after"] and c["after"]["id"])
        for c in found["changes-0"]
    ] == [
        *(("insert", None, n) for n in (1, 2, 3)),
        *(("update", n, n) for n in (1, 2)),
        ("delete", 2, None),
    ]
    assert {c["__lsn"] >> 40 for c in found["changes-0"]} == {3}
    assert [t["rows"] for t in found[TRANSACTIONS]][1:] == [
        [("shop.item", 3)], [("shop.item", 2)], [("shop.item", 1)],
    ]  # fmt: skip
    assert len(found[STATEMENTS]) == 1


def test_content_with_offsets_of_eight_bytes_decodes_the_same(segments: Segments) -> None:
    """Spark returns such columns if `spark.sql.execution.arrow.useLargeVarTypes` is set."""

    def large(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in rows:
            index = batch.schema.get_field_index("content")
            content = batch.column("content").cast(pa.large_binary())
            yield batch.set_column(index, "content", content)

    ids = table_ids(large(segments("plain")))
    decode = Decode(TypeOptions(), everything, ids)
    assert decoded(decode, large(segments("plain"))) == decoded(decode, segments("plain"))


def test_several_segments_are_decoded_in_order(segments: Segments) -> None:
    ids = table_ids(segments("plain"))
    rows = chain(segments("plain", ordinal=1), segments("plain", ordinal=2, parts=2))
    found = decoded(Decode(TypeOptions(), everything, ids), rows)
    assert [c["__lsn"] >> 40 for c in found["changes-0"]] == [1] * 6 + [2] * 6


def test_excluded_tables_have_no_output(segments: Segments) -> None:
    decode = Decode(TypeOptions(), lambda _schema, table: table != "item", {})
    assert set(decoded(decode, segments("plain"))) == {TRANSACTIONS, STATEMENTS}


def test_an_unplanned_definition_is_a_fault_of_its_transactions(
    segments: Segments,
) -> None:
    found = decoded(Decode(TypeOptions(), everything, {}), segments("plain"))
    assert [(f["tables"], f["kind"]) for f in found[FAULTS]] == [(["shop.item"], "undecodable")] * 3
    assert len({f["__lsn"] for f in found[FAULTS]}) == 3
    assert "changes-0" not in found


def test_a_retry_yields_only_quarantined_transactions(segments: Segments) -> None:
    ids = table_ids(segments("plain"))
    whole = decoded(Decode(TypeOptions(), everything, ids), segments("plain"))
    held = whole["changes-0"][3]["__lsn"]
    decode = Decode(TypeOptions(), everything, ids, {(1, 0): frozenset([held])})
    again = decoded(decode, segments("plain"))
    assert again == {"changes-0": whole["changes-0"][3:5]}


def test_dml_as_a_statement_is_a_fault_of_the_tables_it_names(
    segments: Segments,
) -> None:
    ids = table_ids(segments("statements"))
    found = decoded(Decode(TypeOptions(), everything, ids), segments("statements"))
    statements = [f for f in found[FAULTS] if f["kind"] == "statement"]
    named = [["shop.t"], ["shop.t"], ["shop.t"], ["other.u", "shop.t"]]
    assert [f["tables"] for f in statements] == named
    assert all(f["ordinal"] == 1 and f["start_pos"] == 0 for f in statements)


def test_faults_of_statements_on_excluded_tables_are_kept(
    segments: Segments,
) -> None:
    def wanted(schema: str, _table: str) -> bool:
        return schema == "other"

    found = decoded(Decode(TypeOptions(), wanted, {}), segments("statements"))
    tables = [f["tables"] for f in found[FAULTS] if f["kind"] == "statement"]
    assert ["shop.t"] in tables
    assert ["other.u", "shop.t"] in tables
    faults = pa.RecordBatch.from_pylist(
        [{"tables": names} for names in (*tables, None)],
        schema=pa.schema([STAGED_FAULTS.field("tables")]),
    )
    kept = of_wanted_tables(faults, wanted).column("tables").to_pylist()
    assert kept == [["other.u"], None]


def test_the_survey_finds_ddl_with_its_context(segments: Segments) -> None:
    statements = surveyed(segments("statements"), "statement")
    queries = [json.loads(row["content"]) for row in statements]
    assert [q["query"].split("(")[0].strip() for q in queries if "TABLE" in q["query"]][:2] == [
        "CREATE TABLE t", "CREATE TABLE other.u",
    ]  # fmt: skip
    assert queries[0]["schema"] == "shop"
    assert queries[0]["server"].startswith("9.")
    assert not any(q["query"].startswith(("GRANT", "UPDATE")) for q in queries)
    assert [row["pos"] for row in statements] == sorted(row["pos"] for row in statements)


def test_the_survey_finds_the_last_transaction(segments: Segments) -> None:
    ids = table_ids(segments("plain"))
    found = decoded(Decode(TypeOptions(), everything, ids), segments("plain"))
    (segment,) = surveyed(segments("plain"), "segment")
    assert segment["lsn"] == found[TRANSACTIONS][-1]["__lsn"]


@pytest.mark.parametrize("magic", [b"", b"\xfebin"])
@pytest.mark.parametrize(
    ("log", "version"),
    [
        (format_description("8.0.45-log"), "8.0.45-log"),
        (V1.start(), "3.23.58-log"),
        (V3.start(), "4.1.22-log"),
        (V3.event(EventType.STOP, b"", position=4), "4.0"),
    ],
)
def test_the_server_s_version_is_read_from_the_first_event(
    magic: bytes, log: bytes, version: str
) -> None:
    assert server_version(magic + log) == version
