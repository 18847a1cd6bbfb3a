"""`binlake inspect`: a log's events, or its decoded row images, as a table or as JSON lines.

Files are read one after the other and printed while they are read, so that a log of any size can be
inspected. A damaged file is printed up to the fault. A compressed file is first unpacked to a
temporary file.
"""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, TypeAlias

from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

import decoder
from decoder import BinlogError, Keys
from decoder.encryption import NO_KEYS
from decoder.errors import EncryptedError
from pipeline.cli.inspect_events import (
    EVENT_COLUMNS,
    encryption_header,
    event_cells,
    event_object,
    header_cells,
    header_object,
)
from pipeline.cli.inspect_names import LoggedNames
from pipeline.cli.inspect_rows import ROW_COLUMNS, row_cells, row_object, rows_in_log_order, to_json
from pipeline.cli.options import Output
from pipeline.cli.run_commands import print_error, starting
from pipeline.errors import BinlakeError, SettingsError
from pipeline.schema_history.timeline.logged_statement import TimelineOptions
from pipeline.source.logs.archive import MAGIC_LENGTH, ArchivedFile, codec_of
from pipeline.source.logs.ciphers import ENCRYPTION_REMEDY

_DEFAULTS, _OUTPUT = TimelineOptions(), Output()
_PAGE = 500
"""Lines over which a table's columns are aligned."""
_ROOM_FOR_DETAILS = 120
"""Columns of a terminal that shows details as a column of the table."""
_RIGHT = frozenset({"position", "size", "server", "row"})
_MISSING = 2
_FAULT = 1

Line: TypeAlias = dict[str, Any] | Sequence[str]


def inspect_files(
    files: Sequence[Path],
    *,
    rows: bool = False,
    json: bool = False,
    output: Output = _OUTPUT,
    keys: Keys = NO_KEYS,
    options: TimelineOptions = _DEFAULTS,
) -> int:
    """Print the files on standard output, and messages on standard error; return the exit code.

    It is 0, 1 if a file is damaged or not a binary log, 2 if one cannot be read. `keys` decrypt
    encrypted files, whose header is printed before the events, also without a key. `options`:
    settings that column names depend on besides the log.
    """
    out = Console(quiet=output.quiet)
    names = LoggedNames(options, keys, _content)
    worst = 0
    with _pipe_may_close():
        for file in files:
            try:
                lines = _rows(file, json, keys, names) if rows else _events(file, json, keys)
                lines = _begun(lines, file, output)
                _show(lines, ROW_COLUMNS if rows else EVENT_COLUMNS, out, str(file))
            except BinlogError as error:
                remedy = f". {ENCRYPTION_REMEDY}" if isinstance(error, EncryptedError) else ""
                print_error(BinlakeError(f"{error.at(file=str(file))}{remedy}"))
                worst = max(worst, _FAULT)
            except BrokenPipeError:
                raise
            except OSError as error:
                print_error(SettingsError(f"{file}: {error.strerror or error}"))
                worst = max(worst, _MISSING)
    return worst


def _events(file: Path, json: bool, keys: Keys) -> Iterator[Line]:
    tables: dict[int, str] = {}
    with _content(file) as data:
        if (header := encryption_header(data)) is not None:
            yield header_object(header, str(file)) if json else header_cells(header)
        for event in decoder.events(data, file=str(file), keys=keys):
            yield event_object(event, str(file)) if json else event_cells(event, tables)


def _rows(file: Path, json: bool, keys: Keys, names: LoggedNames) -> Iterator[Line]:
    with _content(file) as data:
        log = keys.decrypted(data, file=str(file))
        for row in rows_in_log_order(log, str(file), names.of(file)):
            yield row_object(row, str(file)) if json else row_cells(row)


def _begun(lines: Iterator[Line], file: Path, output: Output) -> Iterator[Line]:
    """Read the first line: the first use on a machine compiles the decoder for up to a minute."""
    with starting(f"Reading {file.name} …", output):
        first = list(islice(lines, 1))
    return chain(first, lines)


@contextmanager
def _content(file: Path) -> Iterator[bytes | mmap.mmap]:
    with file.open("rb") as stored, tempfile.TemporaryFile() as unpacked:
        codec = codec_of(stored.read(MAGIC_LENGTH))
        stored.seek(0)
        stream: IO[bytes] = stored
        if codec is not None:
            # On disk: the log may be large, and events are read at any offset.
            shutil.copyfileobj(ArchivedFile(stored, codec), unpacked)
            unpacked.flush()
            stream = unpacked
        if not os.fstat(stream.fileno()).st_size:
            yield b""
            return
        # Not closed: events may still refer to its bytes; the garbage collector unmaps it.
        yield mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _show(lines: Iterator[Line], columns: Sequence[str], out: Console, title: str) -> None:
    """Print all lines; the lines before an error are printed before it is raised."""
    page: list[Sequence[str]] = []
    first = True
    try:
        for line in lines:
            if isinstance(line, dict):
                print(to_json(line))
                continue
            page.append(line)
            if len(page) == _PAGE:
                _print_page(page, columns, out, title if first else None)
                page, first = [], False
    finally:
        if page:
            _print_page(page, columns, out, title if first else None)


def _print_page(
    page: Sequence[Sequence[str]], columns: Sequence[str], out: Console, title: str | None
) -> None:
    if not out.is_terminal or out.width < _ROOM_FOR_DETAILS:
        for line in _page_lines(page, columns, title, below=out.is_terminal):
            out.print(line, soft_wrap=True)
        return
    table = Table(title=title and Text(title), title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        last = column == columns[-1]
        justify: JustifyMethod = "right" if column in _RIGHT else "left"
        table.add_column(column, justify=justify, no_wrap=not last, overflow="fold")
    for cells in page:
        table.add_row(*(Text(cell) for cell in cells))
    out.print(table)


def _page_lines(
    page: Sequence[Sequence[str]], columns: Sequence[str], title: str | None, *, below: bool
) -> Iterator[Text]:
    """Yield a page as lines of any length, for a pipe; `below`: details, the last column, are lines
    of their own, for a narrow terminal."""
    if title:
        yield from (Text(title), Text())
    *headings, details = columns
    widths = [
        max(map(cell_len, column))
        for column in zip(headings, *(cells[:-1] for cells in page), strict=True)
    ]
    yield Text(_aligned(headings, headings, widths, "" if below else details), "bold")
    for *cells, last in page:
        first, *more = ["", *last.splitlines()] if below else last.splitlines() or [""]
        yield Text(_aligned(cells, headings, widths, first))
        indent = 4 if below else sum(widths) + 2 * len(widths)
        yield from (Text(" " * indent + line) for line in more)


def _aligned(
    cells: Sequence[str], headings: Sequence[str], widths: Sequence[int], details: str
) -> str:
    aligned = (
        cell.rjust(width) if name in _RIGHT else cell.ljust(width)
        for name, cell, width in zip(headings, cells, widths, strict=True)
    )
    return "  ".join([*aligned, details]).rstrip()


@contextmanager
def _pipe_may_close() -> Iterator[None]:
    """Ignore a closed pipe, as of `binlake inspect … | head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
