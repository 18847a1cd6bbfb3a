"""MariaDB's encryption is another scheme: whoever reads such a log is told so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import decoder
from decoder.constants import EventType
from decoder.errors import UnsupportedError
from decoder.head import read_head
from tests.support.event_bytes import event_bytes, format_description, log_bytes

DESCRIPTION = format_description("10.11.6-MariaDB-log", algorithm=1)
BODY = b"\x01\x01\0\0\0" + bytes(12)  # scheme, key version, nonce
START = event_bytes(EventType.MARIADB_START_ENCRYPTION, BODY, checksum=True)
LOG = log_bytes(START, description=DESCRIPTION) + bytes(range(60, 255))


@pytest.mark.parametrize(
    "read",
    [
        read_head,
        lambda log: list(decoder.read(log)),
        lambda log: list(decoder.events(log)),
    ],
    ids=["head", "rows", "events"],
)
def test_a_log_that_mariadb_encrypted_is_refused_at_its_start(read: Callable[[bytes], Any]) -> None:
    with pytest.raises(UnsupportedError, match="MariaDB encrypted what follows") as caught:
        read(LOG)
    assert caught.value.position == 4 + len(DESCRIPTION)
    assert caught.value.event_type == "MARIADB_START_ENCRYPTION"


def test_the_start_itself_is_shown() -> None:
    shown: list[str] = []
    with pytest.raises(UnsupportedError):
        shown.extend(event.name for event in decoder.events(LOG))
    assert shown == ["FORMAT_DESCRIPTION", "MARIADB_START_ENCRYPTION"]
