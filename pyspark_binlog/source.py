"""The data source that Spark finds and calls, in Python workers beside the driver.

Spark imports this module in every application that reads any Python data source, so it loads
nothing of Binlake before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from typing_extensions import override

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from pyspark_binlog.read_plan import BatchPlan

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class DefaultSource(DataSource):
    """The source of `spark.read.format("binlog")` and `spark.readStream.format("binlog")`.

    Spark asks for the schema first, then sends this object to the worker that asks for the reader:
    the log is surveyed once.
    """

    _plan: BatchPlan | None = None

    @classmethod
    @override
    def name(cls) -> str:
        """Return the format's name."""
        return "binlog"

    @override
    def schema(self) -> StructType:
        """Return silver's columns for the table, or those of the envelope."""
        from pipeline.lake.delta_log import spark_schema
        from pyspark_binlog.options import read_options
        from pyspark_binlog.read_plan import LogInput

        log = LogInput(read_options(self.options))
        files = log.files()
        definitions = log.definitions(files)
        self._plan = log.batch(files, definitions)
        return spark_schema(log.schema(definitions))

    @override
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch; `schema` is that of `schema()`, or the user's."""
        from pyspark_binlog.batch import batch_reader
        from pyspark_binlog.options import read_options
        from pyspark_binlog.read_plan import LogInput, RangeReader

        options = read_options(self.options)
        if self._plan is None:
            log = LogInput(options)
            files = log.files()
            self._plan = log.batch(files, log.definitions(files))
        return batch_reader(self._plan, RangeReader.of(self._plan.rows, schema, options))

    @override
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        from pyspark_binlog.options import read_options
        from pyspark_binlog.stream import StreamReader

        # Spark calls `schema` unless the user gives one. The stream then keeps the one that the
        # log had when the query started.
        is_of_log = self._plan is not None
        return StreamReader(read_options(self.options), schema, exact=is_of_log)


def register(spark: SparkSession) -> None:
    """Make the format `binlog` known to this session, with push-down of filters.

    A cluster's workers get the driver's code, unless the session is one of Spark Connect, whose
    server needs Binlake installed.
    """
    from pipeline.spark import ship

    spark.conf.set(PUSHDOWN, "true")
    ship(spark)
    spark.dataSource.register(DefaultSource)
