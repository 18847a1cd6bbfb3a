"""The lake's seeds: rows that a table had at a place in its source's log, and what tells of them.

Each is a folder `LAKE/silver/_seeds/<source>/<id>`: `rows` holds Parquet files, whose columns are
`c0`, `c1`, … with the types of silver's images, and `seed.json` tells the rest. That is written
last: without it, rows are still being read. Ids of one table sort by when the seeds were begun.
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
from decoder.columns.registry import row_type
from pipeline.catalog import TableName
from pipeline.errors import BinlakeError
from pipeline.lake import Lake, stores
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.layout import encode_part

FORMAT = 1
MANIFEST = "seed.json"
REFUSED = "refused.txt"
ROWS = "rows"
_BETWEEN = "~"
"""Between the parts of an id; `encode_part` gives none."""
_TIME = "%Y%m%dT%H%M%S%f"

LogPlace = tuple[str, int]
"""A file of the server's log, and a position in it."""


class SeedUnreadableError(BinlakeError):
    """What tells of a seed cannot be read."""


@dataclass(frozen=True, slots=True)
class Seed:
    """Rows of a table, read between two places in its server's log.

    Every change before `first` is in them, none behind `last`; with `exact` these are one. `query`
    is its CREATE TABLE, to be read in this `sql_mode`; `server` the version's text, and `types` the
    settings of types that its values were read with. `rows` are how many there are.
    `cascades_logged`: the server logs what foreign keys change in child tables. `server_id` and
    `at` (seconds since 1970, by the server's clock) tell the log of `first` from others with files
    of the same names (None: of a dump, which does not tell); `gtids` are the transactions that the
    server had executed then, if it tells. `parts` are folders in `rows`: nothing else counts.
    """

    id: str
    schema: str
    table: str
    query: str
    first: LogPlace
    last: LogPlace
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
        """The table."""
        return TableName(self.schema, self.table)

    def to_json(self) -> str:
        """As `seed.json` has it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Seed:
        """What `to_json` gave. Raises ValueError, KeyError or TypeError for anything else."""
        fields: dict[str, Any] = json.loads(text)
        if (found := fields.pop("format")) != FORMAT:
            raise ValueError(f"its format is {found}, and this release knows {FORMAT}")
        return _FORM.validate_python(fields)


_FORM = TypeAdapter(Seed)


def new_id(name: TableName) -> str:
    """An id for a seed of a table that begins now."""
    now = datetime.now(timezone.utc).strftime(_TIME)
    return _BETWEEN.join([*_prefix(name), f"{now}-{uuid4().hex[:8]}"])


def begun_at(seed: str) -> datetime | None:
    """When the seed of an id was begun; None for what is no id of `new_id`."""
    time = seed.rpartition(_BETWEEN)[2].partition("-")[0]
    try:
        return datetime.strptime(time, _TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _prefix(name: TableName) -> tuple[str, str]:
    return encode_part(name.schema), encode_part(name.table)


def rows_folder(lake: Lake, source: str, seed: str) -> str:
    """Where a seed's rows are."""
    return f"{lake.seeds(source)}/{seed}/{ROWS}"


def staged_schema(definition: TableDefinition, options: TypeOptions) -> st.StructType:
    """Of the Parquet files: the table's columns by their places, since names may hold anything."""
    fields = spark_schema(row_type(definition, options)).fields
    return st.StructType([st.StructField(f"c{n}", one.dataType) for n, one in enumerate(fields)])


def put_seed(lake: Lake, source: str, seed: Seed) -> None:
    """Say that a seed is whole: from now on silver may take it.

    What another run has said stays, which was filling it too: silver may have taken that.
    """
    path = f"{lake.seeds(source)}/{seed.id}/{MANIFEST}"
    if not stores.exists(path):
        stores.write(path, seed.to_json().encode())


def refuse_seed(lake: Lake, source: str, seed: str, reason: str) -> None:
    """Keep that a seed is not taken, and why: it is out of the way of another."""
    stores.write(f"{lake.seeds(source)}/{seed}/{REFUSED}", reason.encode())


def is_refused(lake: Lake, source: str, seed: str) -> bool:
    """Whether silver will not take a seed."""
    return stores.exists(f"{lake.seeds(source)}/{seed}/{REFUSED}")


def refusals(lake: Lake, source: str, but: Collection[TableName]) -> dict[TableName, str]:
    """Return why the last seed of a table was refused, of all tables of which it was, `but` these.

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
    """The ids of all seeds, in order, table by table."""
    by_table: dict[str, list[str]] = {}
    for one in seed_ids(lake, source):
        by_table.setdefault(one.rpartition(_BETWEEN)[0], []).append(one)
    return [ids for _, ids in sorted(by_table.items())]


def seed_ids(lake: Lake, source: str) -> list[str]:
    """The ids of all seeds, also of those that are still being read."""
    return sorted(name for name in stores.names_in(lake.seeds(source)) if _BETWEEN in name)


def ids_of(lake: Lake, source: str, name: TableName) -> list[str]:
    """The same of one table, in order."""
    first = _BETWEEN.join([*_prefix(name), ""])
    return [one for one in seed_ids(lake, source) if one.startswith(first)]


def read_seed(lake: Lake, source: str, seed: str) -> Seed | None:
    """What tells of a seed; None while it is being read. Raises SeedUnreadableError."""
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
    """The last seed of each table that is whole, unless it, or one behind it, was `taken` (ids), or
    it was refused. Raises SeedUnreadableError."""
    for ids in _by_table(lake, source):
        newer = takewhile(lambda one: one not in taken, reversed(ids))
        whole = (seed for one in newer if (seed := read_seed(lake, source, one)) is not None)
        seed = next(whole, None)
        if seed is not None and not is_refused(lake, source, seed.id):
            yield seed
