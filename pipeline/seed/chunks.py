"""Read a table in chunks of its key, several in parallel, while it is being written to.

The chunks are read at different moments. Their rows are all from between two log positions: the one
read before the first chunk, and the one read after the last.

A chunk is a range of the key's first column; all have about equally many rows. The ranges cover
every value: the first has no lower bound and the last no upper bound, so every row is in one of
them, whatever is inserted meanwhile. The rows of one value are always in one chunk, even if they
are more than a chunk's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import DataFrame

from decoder.constants import ColumnType as T
from decoder.model import ColumnDefinition
from pipeline.lake.sql_text import quoted
from pipeline.layer import LayerRun
from pipeline.seed.folder import SeedFolder, SeedProgress, fill, filled, under_way
from pipeline.seed.jdbc import JdbcSource, require_connector, typed
from pipeline.seed.server import SourceServer
from pipeline.seed.source_table import NotSeedableError, SourceTable
from pipeline.silver.plan.stored_seeds import Seed, new_id
from pipeline.source.server.connection import queried
from pipeline.source.server.create_statements import create_statement

if TYPE_CHECKING:
    from pymysql.connections import Connection


class _Form(NamedTuple):
    """SQL forms of a key column: the expression to select, and the literal of a selected value.

    The literal's fields are the value, and the column's charset.
    """

    selected: str
    literal: str


_PLAIN = _Form("{0}", "{0}")
_TEMPORAL = _Form("CAST({0} AS CHAR)", "'{0}'")
# A literal in another charset than the column's own would keep MySQL from using the index.
_HEX = _Form("HEX({0})", "_{1} x'{0}'")

_FORMS: Mapping[T, _Form] = MappingProxyType(
    {
        **dict.fromkeys((T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG, T.NEWDECIMAL), _PLAIN),
        **dict.fromkeys((T.DATE, T.NEWDATE, T.DATETIME, T.DATETIME2), _TEMPORAL),
        **dict.fromkeys((T.TIMESTAMP, T.TIMESTAMP2), _TEMPORAL),
        **dict.fromkeys((T.STRING, T.VAR_STRING, T.VARCHAR), _HEX),
    }
)
"""Key types that are split into ranges; a table with another one is a single chunk."""


def read_in_chunks(run: LayerRun, server: SourceServer, table: SourceTable) -> Seed:
    """Read a table, or resume a recent attempt that did not finish.

    Raises NotSeedableError, ServerError and SettingsError.
    """
    name, spark = table.name, run.session
    require_connector(spark)
    source = JdbcSource(server.login, server.version, server.over_tls)
    begun = _begun(run, server, table)

    def read(number: int) -> DataFrame:
        cells = source.read(spark, table.select(begun.chunks[number]), table.row_bytes)
        return typed(cells, table.definition, run.settings.type_options)

    folder = fill(run, name, begun, read)
    last = server.places.end()
    if create_statement(server.connection, name.schema, name.table) != begun.query:
        folder.remove()
        raise NotSeedableError(name, "it was altered while it was read")
    return filled(
        run,
        name,
        begun,
        table.definition,
        last=last,
        exact=False,
        server=server.version.text,
        cascades_logged=server.logs_cascades,
    )


def _begun(run: LayerRun, server: SourceServer, table: SourceTable) -> SeedProgress:
    """Return the attempt to resume, or start one: split the table, then read the position."""
    types = run.settings.decoding["types"]
    same = {"origin": server.id, "query": table.query, "types": types}
    if begun := under_way(run.lake, run.source, table.name, **same):
        return begun
    parts = chunks(server.connection, table, run.settings.seed.chunk_rows)
    # Read in this order: the GTIDs are executed before the position, and the log file exists
    # before its time is asked for.
    gtids = server.places.executed()
    place = server.places.settled()
    log = {**server.places.log_identity(), "gtids": gtids}
    begun = SeedProgress(
        new_id(table.name), server.id, table.query, *place, tuple(parts), types, log=log
    )
    SeedFolder(run.lake, run.source, begun.id).begin(begun)
    return begun


def chunks(connection: Connection[Any], table: SourceTable, rows: int) -> list[str]:
    """Return a WHERE condition for each chunk of about `rows` rows; `[""]` for a single chunk."""
    if not table.definition.primary_key:
        return [""]
    column = table.definition.columns[table.definition.primary_key[0]]
    form = _FORMS.get(column.type)
    # MariaDB logs INET6 and UUID as BINARY, but compares them with text.
    if form is None or (form is _HEX and column.name not in table.charsets):
        return [""]
    bounds = list(_bounds(connection, table, column, form, rows))
    name = quoted(column.name)
    lower = ["", *(f"{name} >= {bound}" for bound in bounds)]
    upper = [*(f"{name} < {bound}" for bound in bounds), ""]
    return [" AND ".join(filter(None, both)) for both in zip(lower, upper, strict=True)]


def _bounds(
    connection: Connection[Any],
    table: SourceTable,
    column: ColumnDefinition,
    form: _Form,
    rows: int,
) -> Iterator[str]:
    """Yield literals of key values that are `rows` rows apart, in ascending order."""
    name, after = quoted(column.name), ""
    charset = table.charsets.get(column.name, "")
    while True:
        query = (
            f"SELECT {form.selected.format(name)} FROM {table.place}{after}"
            f" ORDER BY {name} LIMIT 1 OFFSET {rows}"
        )
        found = queried(connection, query)
        if not found:
            return
        bound = form.literal.format(found[0][0], charset)
        yield bound
        after = f" WHERE {name} > {bound}"
