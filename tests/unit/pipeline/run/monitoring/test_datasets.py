"""Names of datasets by OpenLineage's rules, as its own client makes them."""

from __future__ import annotations

import os

import pytest
from openlineage.client.naming import dataset as naming

from pipeline.observe.current_run import FinishedBatch
from pipeline.run.monitoring.datasets import datasets_of, place_of, source_namespace
from pipeline.settings import Settings
from pipeline.source.server.login import URL_VARIABLE
from tests.support.spark.no_spark import NO_SPARK


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("/data/lake/gold", naming.LocalFileSystem("/data/lake/gold")),
        ("logs/./shop", naming.LocalFileSystem(os.path.abspath("logs/shop"))),
        ("file:///data/lake", naming.LocalFileSystem("/data/lake")),
        ("s3a://bucket/lake/gold/a", naming.S3("bucket", "lake/gold/a")),
        ("s3://key:secret@bucket/a", naming.S3("bucket", "a")),
        ("gs://bucket/lake", naming.GCS("bucket", "lake")),
        ("gcs://bucket/lake", naming.GCS("bucket", "lake")),
        ("abfss://c@acc.dfs.core.windows.net/lake", naming.ABFSS("c", "acc", "/lake")),
        ("hdfs://node:8020/lake", naming.HDFS("node", "8020", "/lake")),
    ],
)
def test_a_place_has_the_name_that_openlineage_gives_it(
    reference: str, expected: naming.DatasetNaming
) -> None:
    found = place_of(reference)
    assert (found.namespace, found.name) == (expected.get_namespace(), expected.get_name())


@pytest.mark.parametrize(
    ("binlogs", "inputs"),
    [
        ("/var/lib/mysql/binlog.*", ["/var/lib/mysql"]),
        ("/logs/*/binlog.0000[12]", ["/logs"]),
        ("s3://backup/a/binlog.?", ["a"]),
        (["/a", "/b"], ["/a", "/b"]),
    ],
)
def test_bronze_reads_folders_and_counts_what_it_read_of_one(
    binlogs: str | list[str], inputs: list[str]
) -> None:
    settings = Settings.load(None, source="shop", lake="/lake", binlogs=binlogs)
    record = {"files": 2, "bytes": 70, "segments": 3}
    finished = [FinishedBatch("bronze", n, "me", record) for n in (1, 2)]
    found = datasets_of(NO_SPARK, settings, "bronze", finished)
    assert [one.name for one in found.inputs] == inputs
    assert {one.bytes for one in found.inputs} == {140 if len(inputs) == 1 else None}
    (output,) = found.outputs
    assert (output.name, output.rows, output.bytes) == ("/lake/bronze/segments", 6, 140)


def test_a_table_in_a_catalog_has_its_catalog_as_namespace() -> None:
    found = place_of("`main`.`shop`.`a ``b`")
    assert (found.namespace, found.name) == ("main", "shop.a `b")


@pytest.mark.parametrize(
    ("server", "environment", "expected"),
    [
        ({"host": "db-1", "port": 3307}, {}, "mysql://db-1:3307"),
        ({"url": "mysql://me@db-2"}, {URL_VARIABLE: "mysql://a:b@db-3"}, "mysql://db-2:3306"),
        ({}, {URL_VARIABLE: "mariadb://a:b@db-3:3308"}, "mysql://db-3:3308"),
        ({"socket": "/run/mysqld.sock"}, {}, "mysql://localhost:3306"),
        ({}, {}, "mysql://shop"),
        ({}, {URL_VARIABLE: "nonsense"}, "mysql://shop"),
    ],
)
def test_the_sources_tables_are_named_by_their_server(
    server: dict[str, object], environment: dict[str, str], expected: str
) -> None:
    settings = Settings.load(None, source="shop", server=server)
    assert source_namespace(settings, environment) == expected
