"""How `binlake inspect` writes the header of an encrypted log, before the log's events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from decoder.constants import MAGIC_ENCRYPTED
from decoder.encryption.header import HEADER_LENGTH, EncryptionHeader

_TYPE = "ENCRYPTION_HEADER"


def encryption_header(data: Any) -> EncryptionHeader | None:
    """The header that a file starts with; None for one that is not encrypted.

    Raises BinlogError for a malformed one.
    """
    if data[: len(MAGIC_ENCRYPTED)] != MAGIC_ENCRYPTED:
        return None
    return EncryptionHeader.parse(data[:HEADER_LENGTH])


def header_object(header: EncryptionHeader, file: str) -> dict[str, Any]:
    """The header as JSON has it: bytes in hex. It has no position, which are counted behind it."""
    return {"file": file, "position": None, "type": _TYPE, "size": HEADER_LENGTH, **_plain(header)}


def header_cells(header: EncryptionHeader) -> Sequence[str]:
    """The header in the columns of a table of events."""
    what = ", ".join(f"{name} {value}" for name, value in _plain(header).items())
    return ("", _TYPE, "", "", str(HEADER_LENGTH), what)


def _plain(header: EncryptionHeader) -> dict[str, Any]:
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in asdict(header).items()
    }
