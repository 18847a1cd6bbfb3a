"""MARIADB_START_ENCRYPTION: every event after it is encrypted (`encrypt_binlog=ON`).

Format: MariaDB `sql/log_event.h`, `Start_encryption_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader

_NONCE_LENGTH = 12


@dataclass(frozen=True, slots=True)
class MariadbStartEncryptionEvent(Event):
    """Follows FORMAT_DESCRIPTION."""

    scheme: int
    """u8: 1, AES-CBC with the event's position in the initialization vector."""
    key_version: int
    """u32: version of the server's key."""
    nonce: bytes
    """12 bytes, chosen for the file."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> MariadbStartEncryptionEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        return cls(header, cursor.u8(), cursor.u32(), cursor.take(_NONCE_LENGTH))
