"""Object stores, and the errors for those that cannot be reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.errors import SettingsError, UnreachableError
from pipeline.lake import stores
from pipeline.lake.layout import require_writable
from pipeline.lake.stores import filesystem_of, hadoop_conf
from pipeline.source import find_binlogs
from tests.support.bronze.bronze_input import FILES
from tests.support.decoder.archives import pack
from tests.support.decoder.event_bytes import format_description, log_bytes
from tests.support.lake.object_store import ObjectStore, object_store

LOG = log_bytes(description=format_description("5.6.51", algorithm=1))


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture
def store(started: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    return started


def test_binlogs_in_a_bucket_are_found_in_all_its_folders(store: ObjectStore) -> None:
    growing = FILES[0].read_bytes()
    store.put("logs/2026-11-21/log.000001", growing[:50_000])
    store.put("logs/2026-11-22/log.000002.gz", pack("gzip", LOG))
    store.put("logs/2026-11-22/notes.txt", b"not a log")
    store.put("logs/empty/", b"")
    found = find_binlogs("s3://logs")
    assert [(log.stored.path, log.stored.name, log.codec) for log in found.binlogs] == [
        ("s3://logs/2026-11-21/log.000001", "log.000001", None),
        ("s3://logs/2026-11-22/log.000002.gz", "log.000002", "gzip"),
    ]
    assert found.faults == ()
    (note,) = found.notes
    assert note.startswith("s3://logs/2026-11-22/notes.txt is skipped")
    assert len(find_binlogs("s3a://logs/2026-11-2*/log.*").binlogs) == 2
    assert len(find_binlogs("s3://logs/2026-*").binlogs) == 2

    marks = {log.stored.name: log.stored.modified for log in found.binlogs}
    store.put("logs/2026-11-21/log.000001", growing[:60_000])
    again = {log.stored.name: log.stored for log in find_binlogs("s3://logs").binlogs}
    assert again["log.000001"].modified != marks["log.000001"]
    assert again["log.000001"].size == 60_000
    assert again["log.000002"].modified == marks["log.000002"]


def test_files_written_by_spark_are_seen_and_removed(store: ObjectStore) -> None:
    folder = "s3a://lake/silver/_staging/shop"
    store.put("lake/silver/_staging/shop/1-a/x.parquet", b"x")
    assert stores.names_in(folder) == ["1-a"]
    assert not stores.exists(f"{folder}/2-b")
    store.put("lake/silver/_staging/shop/2-b/x.parquet", b"x")
    assert stores.exists(f"{folder}/2-b")
    stores.remove(f"{folder}/1-a")
    stores.remove(f"{folder}/1-a")
    assert stores.names_in(folder) == ["2-b"]
    assert stores.names_in("s3a://lake/nowhere") == []


def test_an_unreachable_store_is_retryable_and_a_missing_file_is_a_settings_error(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match="no files at s3://nowhere/logs"):
        find_binlogs("s3://nowhere/logs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    filesystem_of("s3://x", key="binlogs")[0].clear_instance_cache()
    with pytest.raises(UnreachableError, match="s3://logs cannot be reached: ") as error:
        find_binlogs("s3://logs")
    assert (error.value.key, error.value.exit_code, error.value.retryable) == ("binlogs", 1, True)
    assert "credentials in spark.conf or in the environment" in error.value.remedy
    with pytest.raises(UnreachableError, match="lake: s3a://lake/x cannot be reached: "):
        require_writable("s3a://lake/x")
    filesystem_of("s3://x", key="binlogs")[0].clear_instance_cache()


@pytest.mark.parametrize(
    ("location", "package"),
    [
        ("gs://lake/x", "pip install gcsfs"),
        ("abfss://lake@account.dfs.core.windows.net/x", "pip install adlfs"),
    ],
)
def test_a_store_without_its_package_says_what_to_install(location: str, package: str) -> None:
    with pytest.raises(SettingsError) as error:
        require_writable(location)
    assert (error.value.key, error.value.exit_code) == ("lake", 2)
    assert package in error.value.remedy


def test_spark_gets_another_s3_endpoint_but_no_secrets() -> None:
    assert hadoop_conf({}) == {}
    conf = hadoop_conf(
        {
            "AWS_ENDPOINT_URL": "http://minio:9000",
            "AWS_REGION": "eu-west-1",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ACCESS_KEY_ID": "key",
        }
    )
    assert conf == {
        "spark.hadoop.fs.s3a.endpoint": "http://minio:9000",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-west-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.executorEnv.AWS_ENDPOINT_URL": "http://minio:9000",
    }


def test_the_s3_endpoint_takes_precedence() -> None:
    conf = hadoop_conf(
        {"AWS_ENDPOINT_URL": "http://all:9000", "AWS_ENDPOINT_URL_S3": "http://s3:9000"}
    )
    assert conf["spark.hadoop.fs.s3a.endpoint"] == "http://s3:9000"
    assert conf["spark.executorEnv.AWS_ENDPOINT_URL_S3"] == "http://s3:9000"
    assert conf["spark.executorEnv.AWS_ENDPOINT_URL"] == "http://all:9000"
    alone = hadoop_conf({"AWS_ENDPOINT_URL_S3": "http://s3:9000"})
    assert alone["spark.hadoop.fs.s3a.endpoint"] == "http://s3:9000"
    assert "spark.executorEnv.AWS_ENDPOINT_URL" not in alone


def test_stores_that_only_spark_may_know_are_not_asked() -> None:
    require_writable("hdfs:///lake")
    require_writable("dbfs:/lake")


def test_a_local_lake_is_still_created(tmp_path: Path) -> None:
    require_writable(str(tmp_path / "new" / "lake"))
    assert (tmp_path / "new" / "lake").is_dir()
