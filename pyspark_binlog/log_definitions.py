"""The definitions of the log's tables over time, from what its files' surveys found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from decoder import TableDefinition
from pipeline.errors import SettingsError
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.timeline import NO_NAMES, Consequences
from pipeline.settings import Settings
from pipeline.silver.decode import TableNames
from pipeline.silver.plan import Found, beginning, in_log_order, logged_statement, timeline_options
from pyspark_binlog.log_survey import SurveyedFile

_START = (0, 0)


@dataclass(frozen=True)
class LogDefinitions:
    """Tables' definitions in the log: `shown` by table maps, `declared` by statements alone.

    `names` gives the columns of table maps without names; `unnamed`: by table, why its definition
    does not. `consequences`: by table, the tables that a statement on it may change (see
    `pipeline.schema_history.timeline.consequences`).
    """

    names: TableNames
    unnamed: Mapping[str, str]
    shown: Mapping[str, Sequence[TableDefinition]]
    declared: Mapping[str, TableDefinition]
    consequences: Mapping[str, list[str]]

    def of(self, table: TableName) -> Sequence[TableDefinition]:
        """Return a table's definitions in the order of the log.

        Raises SettingsError if there are none.
        """
        name = str(table)
        if found := self.shown.get(name):
            return found
        if name in self.declared:
            return [self.declared[name]]
        known = sorted({*self.shown, *self.declared})
        close = get_close_matches(name, known, n=1)
        raise SettingsError(
            f"the log has no rows of {table}, and nothing in it defines the table.",
            key="table",
            remedy=f"Did you mean {close[0]}?"
            if close
            else "Give a schema with .schema(…), or the table's definition (option definitions).",
        )


def read_definitions(files: Sequence[SurveyedFile], settings: Settings) -> LogDefinitions:
    """Apply the files' statements and table maps in order. Raises SettingsError if the file of
    `definitions` cannot be read."""
    found = [row for file in files for row in file.content.found]
    timeline = Timeline((), timeline_options(settings, from_start=False))
    ordinals = {file.name: file.ordinal for file in files}
    end = (files[-1].ordinal + 1, 0) if files else _START
    start = beginning(settings, ordinals, _START, end, first=True)
    surveyed = in_log_order(found, timeline, filter(None, [start]))
    shown: dict[str, list[TableDefinition]] = {}
    for table in surveyed.tables:
        shown.setdefault(str(table.definition), []).append(table.definition)
    declared = {str(item.name): item.definition for item in surveyed.items if item.definition}
    # Without any definition, `c1`, … are what the guide promises.
    unnamed = {
        str(item.name): item.reason
        for item in surveyed.items
        if item.reason not in (None, NO_NAMES) and item.definition and not item.definition.named
    }
    consequences = _consequences(found, {item.name for item in surveyed.items})
    return LogDefinitions(surveyed.names, unnamed, shown, declared, consequences)


def _consequences(found: Sequence[Found], known: Collection[TableName]) -> Mapping[str, list[str]]:
    consequences = Consequences()
    for row in found:
        if row["kind"] == "statement":
            statement = logged_statement(row)
            consequences.note(statement.query, statement.schema, statement.sql_mode)
    return consequences.of(known)
