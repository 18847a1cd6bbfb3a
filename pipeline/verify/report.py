"""The result of `binlake verify`, as JSON or on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.verify.against import Comparison, TableDifference
from pipeline.verify.checksums import TableChecksum

SHOWN = 10
"""The most keys of a table shown on a terminal."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Checksums of gold's tables at a published snapshot, and any comparison with a server."""

    lake: str
    source: str
    lsn: int
    gtid_set: str | None
    tables: Sequence[TableChecksum]
    against: Comparison | None = None

    @property
    def equal(self) -> bool:
        """True if nothing differs, or nothing was to be compared."""
        return self.against is None or self.against.equal

    def to_json(self) -> str:
        """Return the result as one JSON object."""
        found = asdict(self)
        if self.against is not None:
            found["against"]["equal"] = self.against.equal
        return json.dumps(found, ensure_ascii=False)


def show(found: Verification, out: Console) -> None:
    """Print every table with its checksum, then the differences."""
    title = f"{found.source} in {found.lake} at LSN {found.lsn}"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("table", overflow="fold")
    table.add_column("rows", justify="right")
    table.add_column("checksum", no_wrap=True)
    table.add_column("state")
    for one in found.tables:
        name = escape(f"{one.schema}.{one.table}")
        table.add_row(name, f"{one.rows:,}", one.checksum, _state(one))
    out.print(table)
    if found.against is not None:
        for line in _lines(found.against):
            out.print(escape(line), soft_wrap=True)


def _state(table: TableChecksum) -> str:
    if table.held:
        return "held"
    if table.dropped:
        return "dropped at the source"
    return "complete" if table.complete else "incomplete"


def _lines(against: Comparison) -> Iterator[str]:
    yield f"Compared with {against.server}, snapshot of {against.at}: {against.compared} tables."
    if against.position:
        yield f"Not at the same position: {against.position}"
    yield from (f"Note: {note}" for note in against.notes)
    for difference in against.differences:
        yield from _of_table(difference)
    yield from (f"Not compared: {one.name}: {one.reason}" for one in against.not_compared)
    if not against.compared:
        yield "No table was compared."
    if against.equal:
        yield "All tables are equal."


def _of_table(found: TableDifference) -> Iterator[str]:
    yield f"{found.schema}.{found.table} differs: {found.reason}"
    for key in found.keys[:SHOWN]:
        times = f" ({key.source} on the server, {key.gold} in gold)"
        text = json.dumps(key.key, ensure_ascii=False)
        yield f"  key {text}: {key.what}{times if max(key.source, key.gold) > 1 else ''}"
    if found.count is not None and found.count > SHOWN:
        yield f"  … {found.count} keys in total; --json lists up to 1000."
