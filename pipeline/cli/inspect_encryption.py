"""The header of an encrypted log in the output of `binlake inspect`, before the log's events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from decoder.constants import MAGIC_ENCRYPTED
from decoder.encryption.header import HEADER_LENGTH, EncryptionHeader

_TYPE = "ENCRYPTION_HEADER"


def encryption_header(data: Any) -> EncryptionHeader | None:
    """Return the encryption header of a file; None if it is not encrypted.

    Raises BinlogError if the header is malformed.
    """
    if data[: len(MAGIC_ENCRYPTED)] != MAGIC_ENCRYPTED:
        return None
    return EncryptionHeader.parse(data[:HEADER_LENGTH])


def header_object(header: EncryptionHeader, file: str) -> dict[str, Any]:
    """Return the header for JSON, bytes as hex. Positions are counted after it, so it has none."""
    return {"file": file, "position": None, "type": _TYPE, "size": HEADER_LENGTH, **_plain(header)}


def header_cells(header: EncryptionHeader) -> Sequence[str]:
    """Return the header as a row in the table of events."""
    details = ", ".join(f"{name} {value}" for name, value in _plain(header).items())
    return ("", _TYPE, "", "", str(HEADER_LENGTH), details)


def _plain(header: EncryptionHeader) -> dict[str, Any]:
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in asdict(header).items()
    }
