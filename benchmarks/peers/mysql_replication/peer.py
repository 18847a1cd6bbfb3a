"""Decodes a binlog file with mysql-replication, as often as asked: a line of counts per pass.

It reads a live server's stream only; here its packets are made of the file's events, and in the
server's place is an object that is never asked.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pymysql.protocol import MysqlPacket
from pymysqlreplication import event, row_event
from pymysqlreplication.packet import BinLogPacketWrapper

MAGIC_LENGTH = 4
SIZE_OFFSET = 9
IMAGES = ("values", "before_values", "after_values")
EVENTS = frozenset(
    found for module in (event, row_event) for found in vars(module).values() if type(found) is type
)
SETTINGS: dict[str, Any] = {
    "use_checksum": True,
    "allowed_events": EVENTS,
    "only_tables": None,
    "ignored_tables": None,
    "only_schemas": None,
    "ignored_schemas": None,
    "freeze_schema": False,
    "ignore_decode_errors": False,
    "verify_checksum": False,
    "optional_meta_data": True,
    "enable_logging": False,
}


class NoServer:
    """The only use of its connection to a server, as long as the log has full metadata."""

    charset = "utf8mb4"

    def _get_dbms(self) -> str:
        return "mysql"


def packets(file: bytes) -> Iterator[MysqlPacket]:
    """Each event as the server would send it: after a byte for "OK"."""
    position = MAGIC_LENGTH
    while position < len(file):
        (size,) = struct.unpack_from("<I", file, position + SIZE_OFFSET)
        yield MysqlPacket(b"\0" + file[position : position + size], "utf8mb4")
        position += size


def decode(file: bytes) -> dict[str, int]:
    """The counts of events, row images and cells."""
    tables: dict[int, Any] = {}
    version: tuple[int, ...] = (0, 0, 0)
    lengths = None
    events = images = cells = 0
    for packet in packets(file):
        wrapper = BinLogPacketWrapper(
            packet,
            tables,
            NoServer(),
            mysql_version=version,
            post_header_lengths=lengths,
            **SETTINGS,
        )
        found = wrapper.event
        events += 1
        if isinstance(found, event.FormatDescriptionEvent):
            version, lengths = found.mysql_version, found.post_header_len
        elif isinstance(found, row_event.TableMapEvent):
            tables[found.table_id] = found.get_table()
        elif isinstance(found, row_event.RowsEvent):
            for row in found.rows:
                for image in IMAGES:
                    if image in row:
                        images += 1
                        cells += len(row[image])
    return {"events": events, "images": images, "cells": cells}


def main() -> None:
    """Decode the file of the first argument as many times as the second one."""
    file = Path(sys.argv[1]).read_bytes()
    for _ in range(int(sys.argv[2])):
        began = time.perf_counter()
        counts = decode(file)
        print(json.dumps({**counts, "seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main()
