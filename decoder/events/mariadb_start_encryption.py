"""MARIADB_START_ENCRYPTION: every event after it is encrypted (`encrypt_binlog=ON`).

Format: MariaDB `sql/log_event.h`, `Start_encryption_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event

_NONCE_LENGTH = 12


@dataclass(frozen=True, slots=True)
class MariadbStartEncryptionEvent(Event):
    """The parameters of the encryption of all later events; it follows FORMAT_DESCRIPTION."""

    scheme: int
    """u8: 1, AES-CBC with the event's position in the initialization vector."""
    key_version: int
    """u32: version of the server's key."""
    nonce: bytes
    """12 bytes, chosen for the file."""

    @classmethod
    def parse(cls, body: Cursor) -> MariadbStartEncryptionEvent:
        """Read the event."""
        return cls(body.header, body.u8(), body.u32(), body.take(_NONCE_LENGTH))
