"""The plan of a read: the log that the options name, the columns, and the tasks' ranges."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import is_

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from decoder.model import Changes
from decoder.stream import warm
from pipeline.settings import Settings
from pipeline.source.logs import read_keys
from pyspark_binlog.columns import IMAGES, envelope_schema, require_columns, table_schema, united
from pyspark_binlog.committed_rows import CommittedRows, WantedTables
from pyspark_binlog.conform import Conformer
from pyspark_binlog.envelope import enveloped
from pyspark_binlog.log_definitions import LogDefinitions, read_definitions
from pyspark_binlog.log_ranges import LogRange, names_of, whole_file
from pyspark_binlog.log_survey import UNLIMITED, LogContent, LogSurvey, SurveyedFile
from pyspark_binlog.options import ReadOptions
from pyspark_binlog.pushdown import Pushed
from pyspark_binlog.xa_outcomes import XaOutcomes

_ALL: Pushed = Pushed()
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class RangeReader:
    """Reader of ranges of the log into batches with a DataFrame's `schema`.

    With one table, images have the columns `chosen` (None: all), `exact` as in `Conformer`; else
    they are JSON.
    """

    rows: CommittedRows
    schema: pa.Schema
    chosen: Sequence[str] | None
    exact: bool = False

    @classmethod
    def of(
        cls, rows: CommittedRows, schema: StructType, options: ReadOptions, *, exact: bool = False
    ) -> RangeReader:
        """Return the reader for Spark's schema. Raises SettingsError if it has other columns."""
        arrow = to_arrow_schema(schema, timezone="UTC")
        require_columns(arrow, typed=options.table is not None)
        return cls(rows, arrow, options.columns, exact)

    def __call__(self, read: LogRange, pushed: Pushed = _ALL) -> Iterator[pa.RecordBatch]:
        """Yield the range's rows that meet the filters. Raises BinlogError."""
        warm()  # once on each machine
        typed = self.rows.wanted.table is not None
        conform = Conformer(self.schema, self.chosen, self.exact)
        for changes in self.rows(read):
            batch = pushed(changes.batch)
            if batch.num_rows:
                kept = Changes(changes.definition, batch)
                yield conform(kept) if typed else enveloped(kept, self.schema)


@dataclass(frozen=True)
class BatchPlan:
    """The plan of a batch DataFrame: the files as they were when it was loaded.

    `cut_short`: see `SurveyedFile`.
    """

    rows: CommittedRows
    ranges: tuple[LogRange, ...]
    cut_short: str | None


class LogInput:
    """The log that options name, and the settings that it is read with."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._settings = options.settings()
        self._defined: tuple[Sequence[LogContent], LogDefinitions] | None = None
        self._survey = LogSurvey(
            [os.path.expanduser(location) for location in options.locations],
            read_keys(self._settings.encryption),
            self._settings.type_options,
            target=options.segment_bytes or UNLIMITED,
            given_up=self._settings.given_up,
        )

    def files(self) -> list[SurveyedFile]:
        """Return the log's files. Raises SettingsError or BinlogError."""
        return self._survey.files()

    def definitions(self, files: Sequence[SurveyedFile]) -> LogDefinitions:
        """Return the definitions in the files. Raises SettingsError.

        Logs each table with a definition that does not give its columns' names, which Spark shows
        in the driver's standard error.
        """
        contents = [file.content for file in files]
        if self._defined is None or not _are_same(contents, self._defined[0]):
            found = read_definitions(files, self._settings)
            for table, reason in found.unnamed.items():
                if self._options.table in (None, table):
                    # Not `warnings`: Spark plans in a process that it reuses, which would show each
                    # text once.
                    _LOG.warning("%s has columns c1, c2, …: %s.", table, reason)
            self._defined = (
                contents,
                replace(found, names=names_of(found.names, self._options.table)),
            )
        return self._defined[1]

    def schema(self, definitions: LogDefinitions) -> pa.Schema:
        """Return the DataFrame's schema. Raises SettingsError if the table is unknown."""
        options = self._options
        images = IMAGES if options.images == "both" else (options.images,)
        table = options.table_name
        if table is None:
            return envelope_schema(images)
        types = self._settings.type_options
        return table_schema(united(definitions.of(table), types, options.columns), images)

    def rows(self, definitions: LogDefinitions) -> CommittedRows:
        """Return the decoder of ranges."""
        settings = self._settings
        # Tasks get only these settings: others may be secret.
        included = Settings(include=settings.include, exclude=settings.exclude)
        wanted = WantedTables(self._options.table_name, included.wanted, definitions.consequences)
        folded = settings.lower_case_table_names in (1, 2)
        return CommittedRows(settings.type_options, wanted, folded)

    def batch(self, files: Sequence[SurveyedFile], definitions: LogDefinitions) -> BatchPlan:
        """Return the plan to read all files."""
        xa = XaOutcomes.of(chain.from_iterable(file.content.xa for file in files))
        ranges = (whole_file(file, definitions.names, xa) for file in files)
        cut_short = files[-1].cut_short if files else None
        return BatchPlan(self.rows(definitions), tuple(chain.from_iterable(ranges)), cut_short)


def _are_same(contents: Sequence[LogContent], others: Sequence[LogContent]) -> bool:
    """Return True if no file was surveyed again."""
    return len(contents) == len(others) and all(map(is_, contents, others))
