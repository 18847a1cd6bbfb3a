"""Read a dump of MySQL Shell: util.dumpInstance(), dumpSchemas() or dumpTables().

Format (MySQL Shell `modules/util/dump/dumper.cc`, `dump_utils.cc`): `@.json` describes the dump,
and `@.done.json` exists once it is complete. `<schema>.json` lists its tables, each with the prefix
of its files' names, in which special characters are percent-encoded. `<table>.sql` is its CREATE
TABLE, `<table>.json` the layout of its data. Data is in `<table>.<extension>`, or in chunks
`<table>@<n>.<extension>`, the last of them with `@@`; a partitioned table has files for each
partition. Binary columns are in base64 or hexadecimal (`decodeColumns`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.timeline.definitions_file import StartTable
from pipeline.seed.dumps.folder import Folder, folder
from pipeline.seed.dumps.model import UTC, Chunk, Dump, DumpedTable
from pipeline.seed.dumps.text_chunks import DECODED, DelimitedChunk, Dialect, addresses_of
from pipeline.seed.errors import DumpError

MANIFEST, DONE = "@.json", "@.done.json"
_AGAIN = "The dump or its copy is incomplete. Copy it again, or dump again."


def open_mysql_shell(location: str) -> Dump:
    """Open the dump in a folder. Raises DumpError."""
    files = folder(location)
    manifest = _json(files, MANIFEST)
    if DONE not in files:
        raise DumpError(location, "the dump did not finish", remedy=_AGAIN)
    place, gtids = _log(manifest)
    return Dump(place, gtids, _server(manifest), tuple(_tables(files, manifest)))


def _log(manifest: Mapping[str, Any]) -> tuple[tuple[str, int] | None, str | None]:
    """Return the log position and the GTID set; newer releases have them in an object."""
    log = (manifest.get("source") or {}).get("binlog") or {
        "file": manifest.get("binlogFile"),
        "position": manifest.get("binlogPosition"),
        "gtidExecuted": manifest.get("gtidExecuted"),
    }
    file, position, gtids = (log.get(key) for key in ("file", "position", "gtidExecuted"))
    place = (str(file), int(position)) if file and position else None
    return place, str(gtids).replace("\n", "") if gtids else None


def _server(manifest: Mapping[str, Any]) -> str:
    version = (manifest.get("source") or {}).get("version", manifest.get("serverVersion"))
    return str(version.get("number") if isinstance(version, dict) else version or "")


def _tables(files: Folder, manifest: Mapping[str, Any]) -> Iterator[DumpedTable]:
    basenames = manifest.get("basenames", {})
    for schema in manifest.get("schemas", ()):
        of_schema = _json(files, f"{basenames.get(schema, schema)}.json")
        for table in of_schema.get("tables", ()):
            name = of_schema.get("basenames", {}).get(table, f"{schema}@{table}")
            yield _table(files, manifest, TableName(schema, table), name)


def _table(files: Folder, manifest: Mapping[str, Any], name: TableName, base: str) -> DumpedTable:
    of_table = _json(files, f"{base}.json")
    options = of_table.get("options", {})
    created = files.created(f"{base}.sql", name.schema).get(name)
    if created is None:
        raise DumpError(
            files.paths[f"{base}.sql"],
            f"it has no CREATE TABLE of {name}",
            remedy="Make the dump with the option ddl.",
        )
    names = tuple(map(str, options.get("columns", ())))
    chunks = _chunks(files, name, base, of_table, created) if of_table.get("includesData") else ()
    return DumpedTable(
        *(name.schema, name.table, created.statement.query, created.statement.sql_mode),
        time_zone=UTC if manifest.get("tzUtc", True) else None,
        charset=_charset(options),
        columns=names or None,
        chunks=tuple(chunks),
        path=files.location,
    )


def _charset(options: Mapping[str, Any]) -> str:
    return str(options.get("defaultCharacterSet", "utf8mb4")).lower()


def _chunks(
    files: Folder,
    name: TableName,
    base: str,
    of_table: Mapping[str, Any],
    created: StartTable,
) -> Iterator[Chunk]:
    options = of_table.get("options", {})
    decoded = {str(column): str(how) for column, how in options.get("decodeColumns", {}).items()}
    if unknown := [how for how in decoded.values() if how not in DECODED]:
        raise DumpError(
            files.paths[f"{base}.json"],
            f"a column is encoded for {unknown[0]}, which is not supported",
            table=str(name),
            remedy="Report it: MySQL Shell's format has a new encoding.",
        )
    effect = created.effect
    known = effect.columns if isinstance(effect, CreateTable) else ()
    for partition in of_table.get("basenames", {}).values() or (base,):
        for file in _files(
            files, partition, str(of_table["extension"]), bool(of_table["chunking"])
        ):
            yield DelimitedChunk(
                *(file, files.paths[file], files.sizes[file]),
                table=str(name),
                names=tuple(map(str, options["columns"])),
                dialect=_dialect(files, name, base, options),
                decoded=decoded,
                addresses=addresses_of(known),
                charset=_charset(options),
            )


def _dialect(files: Folder, name: TableName, base: str, options: Mapping[str, Any]) -> Dialect:
    marks = [
        str(options.get(key, default))
        for key, default in (
            ("fieldsTerminatedBy", "\t"),
            ("linesTerminatedBy", "\n"),
            ("fieldsEnclosedBy", ""),
            ("fieldsEscapedBy", "\\"),
        )
    ]
    if any(len(mark.encode()) > 1 for mark in marks) or not (marks[0] and marks[1]):
        raise DumpError(
            files.paths[f"{base}.json"],
            "fields or lines end with more than one byte",
            table=str(name),
            remedy="Dump it with the default dialect.",
        )
    return Dialect(*marks)


def _files(files: Folder, base: str, extension: str, chunked: bool) -> Sequence[str]:
    """Return the files of a table or partition, in order. Raises DumpError if one is missing."""
    if not chunked:
        names = [f"{base}.{extension}"]
    else:
        pattern = re.compile(rf"{re.escape(base)}@(?P<last>@?)(?P<n>\d+)\.{re.escape(extension)}")
        found = {int(match["n"]): match for match in map(pattern.fullmatch, files.paths) if match}
        last = [number for number, match in found.items() if match["last"]]
        if len(last) != 1 or sorted(found) != list(range(last[0] + 1)):
            raise DumpError(
                files.location, f"chunks of {base} are missing", table=base, remedy=_AGAIN
            )
        names = [found[number][0] for number in sorted(found)]
    if missing := [name for name in names if name not in files]:
        raise DumpError(
            f"{files.location}/{missing[0]}", "the file is missing from the dump", remedy=_AGAIN
        )
    return names


def _json(files: Folder, name: str) -> Mapping[str, Any]:
    try:
        content = json.loads(files.text(name))
    except ValueError as error:
        raise DumpError(
            files.paths[name], f"it is not valid JSON: {error}", remedy=_AGAIN
        ) from error
    if not isinstance(content, dict):
        raise DumpError(files.paths[name], "it is not a JSON object", remedy=_AGAIN)
    return content
