"""Read a dump of mydumper: a folder with `metadata`, and files for each table.

Format (mydumper `docs/files.rst`, `src/mydumper/mydumper_start_dump.c`, `mydumper_write.c`):
`<schema>-schema-create.sql` is the CREATE DATABASE, `<schema>.<table>-schema.sql` the CREATE TABLE,
`<schema>.<table>[.<n>…].sql` are INSERTs, each compressed or not. `metadata` is lines of `Log:`,
`Pos:` and `GTID:` up to 0.12, and an INI file with a section `[source]` or `[master]` since then.
Text is in the column's own charset if the files have `SET NAMES binary`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.schema_dump import dumped_statements
from pipeline.schema_history.timeline.definitions_file import StartTable
from pipeline.seed.dumps.feed import fed
from pipeline.seed.dumps.folder import Folder, folder
from pipeline.seed.dumps.model import Dump, DumpedTable
from pipeline.seed.dumps.mysqldump import chunk_model
from pipeline.seed.dumps.statements import InsertHead, inserts
from pipeline.seed.errors import DumpError

METADATA = "metadata"
_SCHEMA_FILE = re.compile(r"(.+)-schema\.sql(?:\.gz|\.zst)?")
_CREATE_FILE = re.compile(r"(.+)-schema-create\.sql(?:\.gz|\.zst)?")
_CREATE = re.compile(r"CREATE DATABASE\s+(?:/\*.*?\*/\s*)?`((?:[^`]|``)+)`", re.IGNORECASE)
_VIEW = "-schema-view.sql"
_SET_NAMES = re.compile(r"\bSET NAMES '?(\w+)", re.IGNORECASE)
_PARTS = r"(?P<part>(?:\.\d+)*)\.(?P<kind>sql|dat|csv)(?:\.gz|\.zst)?"
_OF_SERVER = re.compile(r"^#?\s*(?:Log:|File\s*=|SOURCE_LOG_FILE\s*=)\s*\"?([^\s\"]+)", re.I | re.M)
_POSITION = re.compile(r"^#?\s*(?:Pos:|Position\s*=|SOURCE_LOG_POS\s*=)\s*\"?(\d+)", re.I | re.M)
_GTIDS = re.compile(
    r"^\s*(?:GTID:|Executed_Gtid_Set[ \t]*=)[ \t]*\"?((?:[\w:-]+,\s*)*[\w:-]*)", re.I | re.M
)
_REPLICA = re.compile(r"^(?:SHOW SLAVE STATUS:|\[replication.*?\])", re.I | re.M)
_LONGEST_HEAD = 4096
"""The most bytes before a file's first INSERT."""
_INSERT = re.compile(r"^(?:INSERT|REPLACE)\b", re.M)
_FINISHED = re.compile(r"^#?\s*Finished dump at:", re.I | re.M)


def open_mydumper(location: str) -> Dump:
    """Open the dump in a folder. Raises DumpError."""
    files = folder(location)
    text = files.text(METADATA)
    if not _FINISHED.search(text):
        raise DumpError(location, "the dump did not finish", remedy="Dump again.")
    # The rest is about the server that this one replicates from.
    own = _REPLICA.split(text)[0]
    file, position, gtids = (pattern.search(own) for pattern in (_OF_SERVER, _POSITION, _GTIDS))
    return Dump(
        place=(file[1], int(position[1])) if file and position else None,
        gtids=re.sub(r"\s", "", gtids[1]) or None if gtids else None,
        server="",
        tables=tuple(_tables(files)),
    )


def _tables(files: Folder) -> Iterator[DumpedTable]:
    schemas = dict(_schemas(files))
    for file in files.paths:
        found = _SCHEMA_FILE.fullmatch(file)
        if not found or any(f"{found[1]}{_VIEW}{end}" in files for end in ("", ".gz", ".zst")):
            continue
        prefix = found[1]
        known = [one for one in schemas if prefix.startswith(f"{one}.")]
        schema = schemas[max(known, key=len)] if known else prefix.partition(".")[0]
        for name, created in files.created(file, schema).items():
            yield _table(files, prefix, file, name, created)


def _schemas(files: Folder) -> Iterator[tuple[str, str]]:
    """Yield the prefix of each schema's file names, and the schema's own name."""
    for file in files.paths:
        if found := _CREATE_FILE.fullmatch(file):
            create = _CREATE.search(files.text(file))
            yield found[1], create[1].replace("``", "`") if create else found[1]


def _table(
    files: Folder, prefix: str, file: str, name: TableName, created: StartTable
) -> DumpedTable:
    data = _data(files, prefix, name)
    head = _Head.of(files, data[0]) if data else None
    table = DumpedTable(
        *(name.schema, name.table, created.statement.query, created.statement.sql_mode),
        time_zone=head.time_zone if head else None,
        charset=head.charset if head else "utf8mb4",
        path=files.location,
    )
    if head is None:
        return table
    model = chunk_model(files.paths[file], table, created, head.insert)
    return replace(
        table,
        columns=head.insert.columns or model.names or None,
        chunks=tuple(
            replace(model, name=one, path=files.paths[one], size=files.sizes[one], whole=True)
            for one in data
        ),
    )


def _data(files: Folder, prefix: str, name: TableName) -> list[str]:
    """Return a table's data files, in order. Raises DumpError if they are not INSERTs."""
    pattern = re.compile(re.escape(prefix) + _PARTS)
    found = [match for match in map(pattern.fullmatch, files.paths) if match]
    if other := [match[0] for match in found if match["kind"] != "sql"]:
        raise DumpError(
            files.paths[other[0]],
            "it is in the format of LOAD DATA, which is not supported",
            table=str(name),
            remedy="Make the dump without --load-data, --csv and --format.",
        )
    parts = {match[0]: tuple(map(int, match["part"].split(".")[1:])) for match in found}
    return sorted(parts, key=lambda one: parts[one])


class _Head:
    """The part of a data file before its first row, the same in all files of a table."""

    def __init__(self, text: str, insert: InsertHead) -> None:
        charset = _SET_NAMES.search(text)
        self.insert = insert
        self.charset = charset[1].lower() if charset else "utf8mb4"
        # A statement after the SETs has the session that they set up.
        zones = [one.time_zone for one in dumped_statements(f"{text};\nINSERT;")]
        self.time_zone = zones[-1] if zones else None

    @classmethod
    def of(cls, files: Folder, file: str) -> _Head | None:
        """Read the head of a file; None for one without rows."""
        path = files.paths[file]
        with fed(path) as feed:
            start = feed.ahead(_LONGEST_HEAD).decode(errors="replace")
            insert = next(inserts(feed), None)
        return cls(_INSERT.split(start, maxsplit=1)[0], insert) if insert else None
