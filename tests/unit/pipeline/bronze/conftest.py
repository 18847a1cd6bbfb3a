"""Factories for files, heads and scans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from decoder.segments.log_header import FirstTransactions, read_head
from decoder.segments.log_windows import Checkpoint
from pipeline.bronze.scan import FileScan
from pipeline.bronze.tables import FileRow
from pipeline.source.logs.listing import Binlog, split_name
from pipeline.source.logs.storage import StoredFile
from tests.support.bronze.bronze_rows import file_row
from tests.support.decoder.event_bytes import format_description, log_bytes

MakeBinlog = Callable[..., Binlog]
MakeRow = Callable[..., FileRow]
MakeScan = Callable[..., FileScan]


@pytest.fixture
def binlog() -> MakeBinlog:
    """`binlog(name, incarnation=…, begun=…, size=…)`: a log as the listing finds it.

    `server`: its id; `previous`, `gtid`, `copied`, `committed`: its GTIDs, as its head lists them.
    """
    plain = read_head(log_bytes(description=format_description("5.6.51", algorithm=1)))

    def make(
        name: str,
        incarnation: str = "a",
        begun: int = 0,
        size: int = 1000,
        *,
        server: int = 1,
        previous: str | None = None,
        gtid: str | None = "u:1",
        copied: bool = False,
        committed: int | None = None,
        folder: str = "/logs",
    ) -> Binlog:
        header = replace(plain.description.header, timestamp=begun, server_id=server)
        head = replace(
            plain,
            incarnation=incarnation,
            description=replace(plain.description, header=header),
            previous_gtids=previous,
            first=FirstTransactions(gtid, copied, committed),
        )
        return Binlog(StoredFile(f"{folder}/{name}", name, size, "t0"), head, *split_name(name))

    return make


@pytest.fixture
def row() -> MakeRow:
    """`row(name, ordinal, **columns)`: a complete file of bronze, of 1000 bytes."""
    return file_row


@pytest.fixture
def scanned() -> MakeScan:
    """`scanned(**fields)`: a sound, closed file of 1000 bytes in one segment."""

    def make(**fields: object) -> FileScan:
        made = FileScan(
            segments=(),
            boundary=Checkpoint(1000, 7),
            end=Checkpoint(1000, 7),
            fault=None,
            changed=False,
            incomplete=None,
            ended=True,
            in_use=False,
            growing=False,
            sha256="s",
            gtids=None,
        )
        return replace(made, **fields)

    return make
