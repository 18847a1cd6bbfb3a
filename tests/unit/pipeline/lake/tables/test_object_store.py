"""Tables in an object store, by delta-rs, configured only by Spark's settings in conf."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import LakeLostError, UnreachableError
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.files.data_files import write_rows
from pipeline.lake.locks.lease import LeaseState, checked_before_commits
from pipeline.lake.store_options import store_keys
from pipeline.lake.stores import VARIABLE, options_for
from pipeline.lake.tables.native import NativeTables
from pipeline.lake.tables.tables import constant
from tests.support.lake.object_store import ObjectStore, object_store

SCHEMA = pa.schema([("source", pa.string()), ("n", pa.int64()), ("cell", pa.binary())])


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as store, pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv(VARIABLE, json.dumps(store_keys(store.conf)))
        store.put("bucket/else", b"")
        yield store


def lake_table(protocol: str, name: str) -> tuple[NativeTables, LakeTable]:
    lake = Lake(f"{protocol}://bucket/a lake")
    table = LakeTable(f"{lake.root}/silver/x!20y/{name}", SCHEMA, ("source",), ("n",))
    return NativeTables(lake, options_for(lake.root).delta), table


def rows(*numbers: int) -> pa.Table:
    given = [{"source": "s", "n": number, "cell": bytes([number]) * 9} for number in numbers]
    return pa.Table.from_pylist(given, schema=SCHEMA)


def numbers(tables: NativeTables, table: LakeTable) -> list[int]:
    return sorted(tables.read(table).column("n").to_pylist())


def commits(store: ObjectStore, table: LakeTable) -> int:
    """Count commits by the store, which is in this process: delta-rs's history holds the GIL."""
    return len(store.files.glob(f"{table.reference.partition('://')[2]}/_delta_log/*.json"))


@pytest.mark.parametrize("protocol", ["s3", "s3a"])
def test_a_table_lives_in_a_store(protocol: str, store: ObjectStore) -> None:
    tables, table = lake_table(protocol, f"lives-{protocol}")
    assert not tables.exists(table)
    assert len(tables.read(table)) == 0
    assert tables.append(table, rows(1, 2), Step("a", 1))
    assert not tables.append(table, rows(1, 2), Step("a", 1))
    written = write_rows(tables.folder(table), table, rows(3))
    assert tables.append(table, rows(4), Step("a", 2), written)
    assert tables.delete(table, equal("n", 1), Step("d", 1))
    assert tables.update(table, equal("n", 2), [constant("n", 7)], Step("u", 1))
    assert numbers(tables, table) == [3, 4, 7]
    assert tables.replace(table, equal("source", "s"), rows(9), Step("r", 1))
    assert tables.read(table, equal("n", 9)) == rows(9)
    assert tables.clear(table, Step("c", 1))
    assert numbers(tables, table) == []
    assert commits(store, table) == 6


def test_what_is_written_is_encrypted_by_the_key_in_conf(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.key": "a-key"}
    monkeypatch.setenv(VARIABLE, json.dumps({**store_keys(store.conf), **asked}))
    tables, table = lake_table("s3a", "encrypted")
    assert tables.append(table, rows(1), Step("a", 1))
    assert tables.append(
        table, None, Step("a", 2), write_rows(tables.folder(table), table, rows(2))
    )
    assert numbers(tables, table) == [1, 2]
    folder = table.reference.partition("://")[2]
    files = store.files.find(folder)
    assert {path.rpartition(".")[2] for path in files} == {"json", "parquet"}
    for path in files:
        head = store.files.call_s3("head_object", Bucket="bucket", Key=path.partition("/")[2])
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", "a-key"), path


@pytest.mark.parametrize("protocol", ["s3", "s3a"])
def test_a_lake_whose_lease_was_lost_is_not_written(protocol: str, store: ObjectStore) -> None:
    tables, table = lake_table(protocol, f"lost-{protocol}")
    hold = LeaseState(f"{protocol}://bucket/a lake", seconds=60, lost=True)
    with checked_before_commits(hold), pytest.raises(LakeLostError):
        tables.append(table, rows(1), Step("a", 1))
    assert not tables.exists(table)


def _ten_steps(name: str, ready: Any) -> None:
    tables, table = lake_table("s3a", name)
    ready.wait()
    for step in range(10):
        tables.append(table, rows(step), Step("a", step))


def test_two_processes_at_the_same_steps_do_each_once(store: ObjectStore) -> None:
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Barrier(2)
    both = [spawn.Process(target=_ten_steps, args=("raced", ready)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    tables, table = lake_table("s3", "raced")
    assert numbers(tables, table) == list(range(10))
    assert commits(store, table) == 10


def test_a_missing_bucket_is_an_error_with_a_sentence(store: ObjectStore) -> None:
    tables = NativeTables(Lake("s3://nobody"), options_for("s3://nobody").delta)
    table = LakeTable("s3://nobody/t", SCHEMA)
    with pytest.raises(UnreachableError, match="s3://nobody/t cannot be"):
        tables.append(table, rows(1), Step("a", 1))


def test_refused_credentials_are_not_taken_for_a_missing_table(store: ObjectStore) -> None:
    tables, table = lake_table("s3a", "refused")
    tables.append(table, rows(1), Step("a", 1))
    with store.rejecting_all_keys():
        for ask in (tables.exists, tables.read):
            with pytest.raises(UnreachableError, match="s3a://bucket/a lake") as error:
                ask(table)
            assert "credentials in spark.conf or in the environment" in error.value.remedy
    assert numbers(tables, table) == [1]
