"""Names of datasets by OpenLineage's rules, as its own client makes them."""

from __future__ import annotations

import pytest
from openlineage.client.naming import dataset as naming

from pipeline.run.monitoring.datasets import place_of, source_namespace
from pipeline.settings import Settings
from pipeline.source.server.login import URL_VARIABLE


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("/data/lake/gold", naming.LocalFileSystem("/data/lake/gold")),
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
