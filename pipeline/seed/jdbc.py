"""Reading a table's chunk through Spark's JDBC source, with MariaDB's connector, for MySQL too.

Every column comes as bytes, so that no driver has a say in values. Passwords are an option of the
source, which Spark shows nowhere, and no part of its URL or of a query.

Source: https://mariadb.com/docs/connectors/mariadb-connector-j/about-mariadb-connector-j
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from decoder import TableDefinition, TypeOptions
from pipeline.errors import MissingRequirementError, SettingsError
from pipeline.lake.child_sessions import is_connected, own_session
from pipeline.seed.selection import VARIABLES
from pipeline.seed.values.rows import row_reader
from pipeline.settings.server import TlsMode, TlsSettings
from pipeline.silver.plan.seeds import staged_schema
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion
from pipeline.spark.jars import CONNECTOR
from pipeline.spark.spark_submit import is_loadable
from pipeline.spark.warm_kernels import warm_first

DRIVER = "org.mariadb.jdbc.Driver"
FETCHED_ROWS, FETCHED_BYTES = 1000, 8 << 20
"""About so much the connector holds at a time; without a limit, it would hold a chunk's."""
SILENT_SECONDS = 600
"""The longest that a chunk's rows may take to come, or to go on."""
BATCH_ROWS, BATCH_BYTES = 10_000, 32 << 20
"""About so much goes from Java to Python at a time."""
_MODES: Mapping[TlsMode, str] = {
    "disabled": "disable",
    "preferred": "disable",
    "required": "trust",
    "verify_ca": "verify-ca",
    "verify_identity": "verify-full",
}
"""MariaDB's names of MySQL's modes; what is preferred is settled before."""


@dataclass(frozen=True, slots=True)
class JdbcSource:
    """Where Spark's tasks connect to, and how. `over_tls`: the server has TLS.

    Raises SettingsError for what the connector cannot do.
    """

    login: Login
    version: ServerVersion
    over_tls: bool = False
    options: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", _options(self.login, self.version, self.over_tls))

    def read(self, spark: SparkSession, query: str, row_bytes: int = 0) -> DataFrame:
        """What a query gives, in one task; its rows have about so many bytes."""
        batch = str(at_most(BATCH_ROWS, BATCH_BYTES, row_bytes))
        own = own_session(spark, {"spark.sql.execution.arrow.maxRecordsPerBatch": batch})
        reader = own.read.format("jdbc").options(**self.options)
        reader = reader.option("fetchsize", str(at_most(FETCHED_ROWS, FETCHED_BYTES, row_bytes)))
        return reader.option("dbtable", f"({query}) AS chunk").load()


def keeps_whole_values(version: ServerVersion) -> bool:
    """Whether values come through Spark's query as they are: MySQL before 5.7.6 cannot merge the
    derived table that it reads from, and a temporary one is narrower than such values may be.

    Source: MySQL 5.7 manual, "Switchable Optimizations", `derived_merge`.
    """
    return version.since(mysql=(5, 7, 6), mariadb=(5, 3))


def at_most(rows: int, size: int, row_bytes: int) -> int:
    """So many rows, or as many as that size has, and one at least."""
    return max(1, min(rows, size // max(row_bytes, 1)))


def _options(login: Login, version: ServerVersion, over_tls: bool) -> Mapping[str, str]:
    if login.socket is not None:
        remedy = "Give the server's host and port, or seed with --consistent."
        raise SettingsError(
            "is a way that Spark's tasks cannot go.", key="server.socket", remedy=remedy
        )
    host = f"[{login.host}]" if ":" in login.host else login.host
    return {
        # By this name Spark quotes names as the server does.
        "url": f"jdbc:mysql://{host}:{login.port}/?permitMysqlScheme",
        "driver": DRIVER,
        "user": login.user,
        "password": login.password.get_secret_value(),
        "allowPublicKeyRetrieval": "true",
        "connectionAttributes": "program_name:binlake",
        "connectTimeout": str(round(login.connect_timeout * 1000)),
        "socketTimeout": str(SILENT_SECONDS * 1000),
        # Not Spark's sessionInitStatement: on the connection that it asks for the types of columns,
        # by a query with a chunk's bounds, that would not count.
        "sessionVariables": ", ".join(_session(version)),
        **_tls(login.tls, over_tls),
    }


def _session(version: ServerVersion) -> Iterator[str]:
    """What a session sets, by the names that the version has for it."""
    yield VARIABLES
    # A chunk is taken for as long as what it is written to takes.
    yield "net_write_timeout = 86400"
    if version.since(mysql=(5, 7, 8), mariadb=(10, 1, 1)):
        yield f"{'max_statement_time' if version.is_mariadb else 'max_execution_time'} = 0"
    # Spark reads from its query as from a derived table.
    yield "optimizer_switch = 'derived_merge=on'"
    # Nothing that may be rolled back.
    has_new_name = version.since(mysql=(5, 7, 20), mariadb=(11, 1, 1))
    yield f"{'transaction_isolation' if has_new_name else 'tx_isolation'} = 'READ-COMMITTED'"


def _tls(tls: TlsSettings, over_tls: bool) -> Mapping[str, str]:
    if tls.cert is not None:
        remedy = "Let the user in without it, or seed with --consistent."
        raise SettingsError(
            "is a file that MariaDB's connector cannot read.", key="server.tls.cert", remedy=remedy
        )
    mode = "trust" if tls.mode == "preferred" and over_tls else _MODES[tls.mode]
    authority = {"serverSslCert": tls.ca} if tls.ca is not None and over_tls else {}
    return {"sslMode": mode, **authority}


def require_connector(spark: SparkSession) -> None:
    """Raise MissingRequirementError where Spark does not have the connector."""
    if not (is_connected(spark) or is_loadable(spark, DRIVER)):
        raise MissingRequirementError(
            "this Spark was started without MariaDB's connector.",
            remedy=f"Start it with --packages {CONNECTOR}, or seed with --consistent.",
        )


def typed(cells: DataFrame, definition: TableDefinition, options: TypeOptions) -> DataFrame:
    """The rows of cells that a query gave, with the types of silver's images."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = row_reader(definition, options)  # what is compiled is not sent to workers
        for batch in batches:
            found = reader.read([column.cast(pa.binary()) for column in batch.columns])
            yield pa.RecordBatch.from_arrays(
                found.columns, names=[f"c{n}" for n in range(found.num_columns)]
            )

    return cells.mapInArrow(warm_first(read), staged_schema(definition, options))
