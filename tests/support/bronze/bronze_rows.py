"""Handmade rows of `bronze/files`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipeline.bronze.tables import FileRow


def file_row(name: str, ordinal: int, incarnation: str = "a", **columns: Any) -> FileRow:
    """Return a complete file of bronze, of 1000 bytes."""
    made = FileRow(
        source="shop",
        file=name,
        incarnation=incarnation,
        ordinal=ordinal,
        path=f"/logs/{name}",
        size=1000,
        modified="t0",
        state="complete",
        complete=True,
        fault=None,
        ingested_upto=1000,
        crc32=7,
        sha256="s",
        in_use=False,
        server_version="5.6.51",
        server_id=1,
        checksum="CRC32",
        previous_gtids=None,
        gtids="",
        begun=0,
        restarted=False,
        batch=1,
    )
    return replace(made, **columns)
