"""Errors of a single table, which hold it, and others, which fail the run."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException

from pipeline.errors import (
    BinlakeError,
    ConcurrentRunError,
    LakeLostError,
    SettingsError,
    UnreachableError,
)
from pipeline.gold.table.damage import Damage, damage_in
from pipeline.schema_history import TableName

TABLE = "/lake/gold/shop/orders"
TRACE = "\n\tat org.apache.spark.sql.delta.DeltaErrorsBase.notFound(DeltaErrors.scala:1352)"


@pytest.mark.parametrize(
    "error",
    [
        UnreachableError("the store does not answer.", key="lake"),
        ConcurrentRunError("another run came first."),
        LakeLostError("another run took it over."),
        SettingsError("is wrong."),
        KeyError("a mistake of ours"),
        OSError(28, "No space left on device"),
        OSError(24, "Too many open files"),
        Py4JError("java.lang.OutOfMemoryError: Java heap space"),
        Py4JError("java.net.ConnectException: Connection refused"),
        Py4JError("java.net.UnknownHostException: lake.s3.amazonaws.com"),
        Py4JError("AmazonS3Exception: Please reduce your request rate. SlowDown"),
        Py4JError("AmazonS3Exception: The provided token has expired. ExpiredToken"),
        Py4JError("java.lang.IllegalStateException: SparkContext has been shutdown"),
        Py4JError("Job aborted due to stage failure: ExecutorLostFailure (executor 3 exited)"),
        Py4JError(
            "[FAILED_READ_FILE.FILE_NOT_EXIST] /lake/silver/changes/shop/orders/v1/a.parquet"
        ),
    ],
    ids=lambda error: str(error)[:40],
)
def test_errors_that_are_not_a_tables_fail_the_run(error: Exception) -> None:
    assert damage_in(error, TABLE, 3) is None


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            AnalysisException("[DELTA_CANNOT_MODIFY_APPEND_ONLY] This table is configured …"),
            "its property delta.appendOnly prevents changes of rows",
        ),
        (
            Py4JError(f"called o1.merge.\n: E: [DELTA_VERSIONS_NOT_CONTIGUOUS] A gap.{TRACE}"),
            "[DELTA_VERSIONS_NOT_CONTIGUOUS] A gap",
        ),
        (
            Py4JError(f": E: [FAILED_READ_FILE.FILE_NOT_EXIST] Error while reading x.{TRACE}"),
            "[FAILED_READ_FILE.FILE_NOT_EXIST] Error while reading x",
        ),
        (
            AnalysisException("[TABLE_OR_VIEW_NOT_FOUND] x cannot be found."),
            "[TABLE_OR_VIEW_NOT_FOUND] x cannot be found",
        ),
    ],
    ids=["append only", "a commit is missing", "a file is gone", "a catalog has it no more"],
)
def test_a_tables_error_is_reported_without_javas_stack(error: Exception, message: str) -> None:
    found = damage_in(error, TABLE, 3)
    assert found == Damage(f"its gold table {TABLE} cannot be read or written: {message}", True, 3)
    assert found.lasts(3)
    assert not found.lasts(4)
    assert not found.passes


@pytest.mark.parametrize(
    "error",
    [Py4JError("something that nobody has met"), PermissionError(13, "Permission denied")],
    ids=["unknown", "no right to it"],
)
def test_damage_that_may_pass_is_retried_in_the_next_run(error: Exception) -> None:
    found = damage_in(error, TABLE, 3)
    assert found is not None
    assert found.passes
    assert not found.lasts(3)


def test_binlakes_own_errors_keep_their_message() -> None:
    found = damage_in(BinlakeError("its seed is gone.", remedy="Seed it."), TABLE, None)
    assert found == Damage("its seed is gone", True, None)


@pytest.mark.parametrize("final", [False, True])
def test_the_message_has_the_remedy(final: bool) -> None:
    held = Damage("it is gone", final=final).held(TableName("shop", "orders"))
    assert held.endswith("it from silver: binlake apply --full-refresh --table shop.orders")
    assert ("binlake retry" in held) is not final
