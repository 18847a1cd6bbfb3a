"""The lake's seeds: rows that a table had at a position of its source's log, and their manifests.

Each is a folder `LAKE/silver/_seeds/<source>/<id>`: `rows` has Parquet files with columns `c0`,
`c1`, … of the types of silver's images; `seed.json` is the manifest. It is written last: without
it, rows are still being read. Ids of one table sort by when the seeds were started.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import takewhile
from typing import Any
from uuid import uuid4

from pydantic import TypeAdapter
from pyspark.sql import types as st

from decoder import TableDefinition, TypeOptions
from decoder.columns import row_type
from pipeline.errors import BinlakeError
from pipeline.lake import Lake, stores
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.layout import encode_part
from pipeline.schema_history import TableName

FORMAT = 1
MANIFEST = "seed.json"
REFUSED = "refused.txt"
ROWS = "rows"
_BETWEEN = "~"
"""Separates the parts of an id; `encode_part` never returns it."""
_TIME = "%Y%m%dT%H%M%S%f"

LogCoordinates = tuple[str, int]
"""A file of the server's log, and a position in it."""


class SeedUnreadableError(BinlakeError):
    """A seed's manifest cannot be read."""


@dataclass(frozen=True, slots=True)
class Seed:
    """Rows of a table, read between two positions of its server's log.

    They include every change before `first` and none after `last`; if `exact`, these are equal.
    `query` is its CREATE TABLE, to be parsed in this `sql_mode`; `server` is the version's text,
    `types` are the settings that its values were read with. `rows` is their number.
    `cascades_logged`: the server logs changes of foreign keys in child tables. `server_id` and `at`
    (seconds since 1970, by the server's clock) distinguish the log of `first` from others with the
    same file names (None: a dump does not record them); `gtids` are the transactions executed by
    then, if known. `parts` are folders in `rows`; other folders are ignored.
    """

    id: str
    schema: str
    table: str
    query: str
    first: LogCoordinates
    last: LogCoordinates
    exact: bool
    rows: int
    server: str = ""
    sql_mode: int = 0
    types: Mapping[str, str] | None = None
    cascades_logged: bool = False
    server_id: int | None = None
    at: int | None = None
    gtids: str = ""
    parts: tuple[str, ...] = ()

    @property
    def name(self) -> TableName:
        """The table's qualified name."""
        return TableName(self.schema, self.table)

    def to_json(self) -> str:
        """Return the content of `seed.json`."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Seed:
        """Return the seed that `to_json` wrote. Raises ValueError, KeyError or TypeError."""
        fields: dict[str, Any] = json.loads(text)
        if (found := fields.pop("format")) != FORMAT:
            raise ValueError(f"its format is {found}, but this release supports {FORMAT}")
        return _FORM.validate_python(fields)


_FORM = TypeAdapter(Seed)


def new_id(name: TableName) -> str:
    """Return an id for a seed that starts now."""
    now = datetime.now(timezone.utc).strftime(_TIME)
    return _BETWEEN.join([*_prefix(name), f"{now}-{uuid4().hex[:8]}"])


def begun_at(seed: str) -> datetime | None:
    """Return when a seed was started, from its id; None if `new_id` did not create the id."""
    time = seed.rpartition(_BETWEEN)[2].partition("-")[0]
    try:
        return datetime.strptime(time, _TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _prefix(name: TableName) -> tuple[str, str]:
    return encode_part(name.schema), encode_part(name.table)


def rows_folder(lake: Lake, source: str, seed: str) -> str:
    """Return the folder of a seed's rows."""
    return f"{lake.seeds(source)}/{seed}/{ROWS}"


def staged_schema(definition: TableDefinition, options: TypeOptions) -> st.StructType:
    """Return the schema of the Parquet files: columns by number, as names may hold anything."""
    fields = spark_schema(row_type(definition, options)).fields
    return st.StructType([st.StructField(f"c{n}", one.dataType) for n, one in enumerate(fields)])


def put_seed(lake: Lake, source: str, seed: Seed) -> None:
    """Write a seed's manifest, if there is none: from now on silver may use the seed.

    A manifest from a concurrent run that filled the same seed stays: silver may have used it
    already.
    """
    path = f"{lake.seeds(source)}/{seed.id}/{MANIFEST}"
    if not stores.exists(path):
        stores.write(path, seed.to_json().encode())


def refuse_seed(lake: Lake, source: str, seed: str, reason: str) -> None:
    """Record that a seed is refused, and why, so that it does not block another."""
    stores.write(f"{lake.seeds(source)}/{seed}/{REFUSED}", reason.encode())


def is_refused(lake: Lake, source: str, seed: str) -> bool:
    """Return True if silver has refused a seed."""
    return stores.exists(f"{lake.seeds(source)}/{seed}/{REFUSED}")


def refusals(lake: Lake, source: str, but: Collection[TableName]) -> dict[TableName, str]:
    """Return why the last seed of a table was refused, for all such tables except `but`.

    Raises SeedUnreadableError.
    """
    found = {}
    passed = {_BETWEEN.join(_prefix(name)) for name in but}
    for one in _by_table(lake, source):
        if one[0].rpartition(_BETWEEN)[0] in passed:
            continue
        last = next((seed for i in reversed(one) if (seed := read_seed(lake, source, i))), None)
        reason = stores.content(f"{lake.seeds(source)}/{last.id}/{REFUSED}") if last else None
        if last and reason is not None:
            found[last.name] = reason.decode()
    return found


def _by_table(lake: Lake, source: str) -> list[list[str]]:
    """Return the ids of all seeds, in order, grouped by table."""
    by_table: dict[str, list[str]] = {}
    for one in seed_ids(lake, source):
        by_table.setdefault(one.rpartition(_BETWEEN)[0], []).append(one)
    return [ids for _, ids in sorted(by_table.items())]


def seed_ids(lake: Lake, source: str) -> list[str]:
    """Return the ids of all seeds, including those that are still being read."""
    return sorted(name for name in stores.names_in(lake.seeds(source)) if _BETWEEN in name)


def ids_of(lake: Lake, source: str, name: TableName) -> list[str]:
    """Return the ids of one table's seeds, in order."""
    first = _BETWEEN.join([*_prefix(name), ""])
    return [one for one in seed_ids(lake, source) if one.startswith(first)]


def read_seed(lake: Lake, source: str, seed: str) -> Seed | None:
    """Return a seed's manifest; None while it is being read. Raises SeedUnreadableError."""
    path = f"{lake.seeds(source)}/{seed}/{MANIFEST}"
    content = stores.content(path)
    if content is None:
        return None
    try:
        return Seed.from_json(content.decode())
    except (ValueError, KeyError, TypeError) as error:
        remedy = "Remove its folder, and seed the table again."
        raise SeedUnreadableError(f"{path} cannot be read: {error}.", remedy=remedy) from error


def newest(lake: Lake, source: str, taken: Collection[str]) -> Iterator[Seed]:
    """Yield the last complete seed of each table, unless refused or no newer than a `taken` one.

    `taken` are ids. Raises SeedUnreadableError.
    """
    for ids in _by_table(lake, source):
        newer = takewhile(lambda one: one not in taken, reversed(ids))
        whole = (seed for one in newer if (seed := read_seed(lake, source, one)) is not None)
        seed = next(whole, None)
        if seed is not None and not is_refused(lake, source, seed.id):
            yield seed
