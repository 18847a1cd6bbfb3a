"""Read a table's chunk through Spark's JDBC source, with MariaDB's connector, for MySQL too.

Every column is read as bytes, so that the driver cannot change a value. The password is an option
of the source, which Spark never shows, and not part of the URL or a query.

Source: https://mariadb.com/docs/connectors/mariadb-connector-j/about-mariadb-connector-j
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from decoder import TableDefinition, TypeOptions
from pipeline.errors import MissingRequirementError, SettingsError
from pipeline.lake.child_sessions import child_session, is_connected
from pipeline.seed.selection import VARIABLES
from pipeline.seed.values import RowReader
from pipeline.settings.server import TlsMode, TlsSettings
from pipeline.silver.plan.stored_seeds import staged_schema
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion
from pipeline.spark.jars import CONNECTOR
from pipeline.spark.spark_submit import is_loadable
from pipeline.spark.warm_kernels import warm_first

DRIVER = "org.mariadb.jdbc.Driver"
FETCHED_ROWS, FETCHED_BYTES = 1000, 8 << 20
"""Approximate size of the connector's buffer; without a limit it buffers a whole chunk."""
SILENT_SECONDS = 600
"""Socket timeout: the longest wait for a chunk's first row, or its next one."""
BATCH_ROWS, BATCH_BYTES = 10_000, 32 << 20
"""Approximate size of the batches sent from Java to Python."""
_MODES: Mapping[TlsMode, str] = {
    "disabled": "disable",
    "preferred": "disable",
    "required": "trust",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
"""MariaDB's names of MySQL's modes; `preferred` over TLS is resolved in `_tls`."""


class JdbcSource:
    """The connection options of Spark's tasks. `over_tls`: the server supports TLS.

    Raises SettingsError for settings that the connector does not support.
    """

    def __init__(self, login: Login, version: ServerVersion, over_tls: bool = False) -> None:
        self.options = _options(login, version, over_tls)

    def read(self, spark: SparkSession, query: str, row_bytes: int = 0) -> DataFrame:
        """Return the result of a query, read in one task; `row_bytes`: average size of a row."""
        batch = str(at_most(BATCH_ROWS, BATCH_BYTES, row_bytes))
        own = child_session(spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": batch})
        reader = own.read.format("jdbc").options(**self.options)
        reader = reader.option("fetchsize", str(at_most(FETCHED_ROWS, FETCHED_BYTES, row_bytes)))
        return reader.option("dbtable", f"({query}) AS chunk").load()


def returns_values_unchanged(version: ServerVersion) -> bool:
    """Return True if Spark's query returns values unchanged.

    Spark reads from a derived table. MySQL before 5.7.6 cannot merge it, and makes a temporary
    table whose columns may be too narrow for the values.

    Source: MySQL 5.7 manual, "Switchable Optimizations", `derived_merge`.
    """
    return version.since(mysql=(5, 7, 6), mariadb=(5, 3))


def at_most(rows: int, size: int, row_bytes: int) -> int:
    """Return the number of rows that fit in `size` bytes, from 1 to `rows`."""
    return max(1, min(rows, size // max(row_bytes, 1)))


def _options(login: Login, version: ServerVersion, over_tls: bool) -> Mapping[str, str]:
    if login.socket is not None:
        remedy = "Give the server's host and port, or seed with --consistent."
        raise SettingsError(
            "is a socket, through which Spark's tasks cannot connect.",
            key="server.socket",
            remedy=remedy,
        )
    host = f"[{login.host}]" if ":" in login.host else login.host
    return {
        # The URL says mysql, so that Spark quotes identifiers with backticks.
        "url": f"jdbc:mysql://{host}:{login.port}/?permitMysqlScheme",
        "driver": DRIVER,
        "user": login.user,
        "password": login.password.get_secret_value(),
        "allowPublicKeyRetrieval": "true",
        "connectionAttributes": "program_name:binlake",
        "connectTimeout": str(round(login.connect_timeout * 1000)),
        "socketTimeout": str(SILENT_SECONDS * 1000),
        # Not Spark's sessionInitStatement: it is not run on the connection that reads the columns'
        # types, by a query with a chunk's bounds.
        "sessionVariables": ", ".join(_session(version)),
        **_tls(login.tls, over_tls),
    }


def _session(version: ServerVersion) -> Iterator[str]:
    """Yield the session's variable assignments, with the names of the server's version."""
    yield VARIABLES
    # A chunk is read only as fast as its rows are written to the lake.
    yield "net_write_timeout = 86400"
    if version.since(mysql=(5, 7, 8), mariadb=(10, 1, 1)):
        yield f"{'max_statement_time' if version.is_mariadb else 'max_execution_time'} = 0"
    # Spark wraps its query into a derived table.
    yield "optimizer_switch = 'derived_merge=on'"
    # Read committed rows only.
    has_new_name = version.since(mysql=(5, 7, 20), mariadb=(11, 1, 1))
    yield f"{'transaction_isolation' if has_new_name else 'tx_isolation'} = 'READ-COMMITTED'"


def _tls(tls: TlsSettings, over_tls: bool) -> Mapping[str, str]:
    if tls.cert is not None:
        remedy = "Use an account that needs no client certificate, or seed with --consistent."
        raise SettingsError(
            "is a client certificate in PEM, which MariaDB's connector cannot read.",
            key="server.tls.cert",
            remedy=remedy,
        )
    mode = "trust" if tls.mode == "preferred" and over_tls else _MODES[tls.mode]
    authority = {"serverSslCert": tls.ca} if tls.ca is not None and over_tls else {}
    return {"sslMode": mode, **authority}


def require_connector(spark: SparkSession) -> None:
    """Raise MissingRequirementError if Spark does not have MariaDB's connector."""
    if not (is_connected(spark) or is_loadable(spark, DRIVER)):
        raise MissingRequirementError(
            "this Spark session was started without MariaDB's connector.",
            remedy=f"Start it with --packages {CONNECTOR}, or seed with --consistent.",
        )


def typed(cells: DataFrame, definition: TableDefinition, options: TypeOptions) -> DataFrame:
    """Return the rows of a query's cells, with the types of silver's row images."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = RowReader(definition, options)  # made here: compiled functions do not pickle
        for batch in batches:
            yield reader.read_staged([column.cast(pa.binary()) for column in batch.columns])

    return cells.mapInArrow(warm_first(read), staged_schema(definition, options))
