"""MariaDB's compressed rows events: the same rows as plain ones, anywhere in a window."""

from __future__ import annotations

import pytest

from decoder.compression.payload import INNER_WINDOW
from decoder.constants import EventType as T
from tests.support.decoder.event_bytes import (
    MARIADB_POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    log_bytes,
    mariadb_compressed,
)
from tests.support.decoder.logs import CUP, LONGTEXT, Table, changed, decoded, faults, query, xid

MARIADB = format_description("10.11.6-MariaDB-log", 0, MARIADB_POST_HEADER_LENGTHS)
KINDS = {
    T.WRITE_ROWS_V1: T.MARIADB_WRITE_ROWS_COMPRESSED_V1,
    T.UPDATE_ROWS_V1: T.MARIADB_UPDATE_ROWS_COMPRESSED_V1,
    T.DELETE_ROWS_V1: T.MARIADB_DELETE_ROWS_COMPRESSED_V1,
    T.WRITE_ROWS: T.MARIADB_WRITE_ROWS_COMPRESSED,
    T.UPDATE_ROWS: T.MARIADB_UPDATE_ROWS_COMPRESSED,
    T.DELETE_ROWS: T.MARIADB_DELETE_ROWS_COMPRESSED,
}
UPDATES = (T.UPDATE_ROWS, T.UPDATE_ROWS_V1)
VERSION_1 = (T.WRITE_ROWS_V1, T.UPDATE_ROWS_V1, T.DELETE_ROWS_V1)
VERSION_2 = (T.WRITE_ROWS, T.UPDATE_ROWS, T.DELETE_ROWS)


def compressed(event: bytes, columns: int = 2, extra: int = 0) -> bytes:
    """Return a plain rows event as MariaDB writes it with log_bin_compress."""
    kind = T(event[4])
    fixed = 10 + extra if kind >= T.WRITE_ROWS else 8
    bitmaps = (columns + 7) // 8 * (2 if kind in UPDATES else 1)
    rows = 19 + fixed + 1 + bitmaps
    return event_bytes(KINDS[kind], event[19:rows] + mariadb_compressed(event[rows:]))


def log(*events: bytes) -> bytes:
    return log_bytes(query("BEGIN"), *events, xid(), description=MARIADB)


@pytest.mark.parametrize("kinds", [VERSION_1, VERSION_2], ids=["version 1", "version 2"])
@pytest.mark.parametrize("extra", [b"", b"\1\5\0"])
def test_compressed_and_plain_events_mix(kinds: tuple[T, T, T], extra: bytes) -> None:
    insert, update, delete = kinds
    more = extra if insert == T.WRITE_ROWS else b""
    events = [
        CUP.rows((1, "a"), (2, None), kind=insert, end=False, extra=more),
        CUP.rows((1, "a"), (1, "b"), kind=update, end=False, extra=more),
        CUP.rows((2, None), kind=delete, extra=more),
    ]
    plain = changed(decoded(log(CUP.map(), *events)))
    assert len(plain) == 4
    for chosen in range(8):
        mixed = [
            compressed(event, extra=len(more)) if chosen >> k & 1 else event
            for k, event in enumerate(events)
        ]
        results = decoded(log(CUP.map(), *mixed))
        assert not faults(results)
        assert changed(results) == plain


def test_rows_that_expand_to_many_windows_are_in_order() -> None:
    wide = Table(3, "wide", (LONGTEXT,))
    texts = [str(n) * (INNER_WINDOW // 3) for n in range(8)]
    events = [compressed(wide.rows((text,), end=text == texts[-1]), columns=1) for text in texts]
    data = log(wide.map(), *events)
    assert len(data) < INNER_WINDOW // 10
    results = decoded(data)
    assert not faults(results)
    assert [after for *_, after in changed(results)] == [(text,) for text in texts]


SOUND = compressed(CUP.rows((1, "a")))
HEAD = SOUND[19:31]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        HEAD[:5],
        HEAD[:11],
        HEAD[:10] + b"\xfe" + b"\xff" * 8,
        HEAD + b"\x82",
        HEAD + b"\x84" + b"\xff" * 4 + bytes(20),
        HEAD + mariadb_compressed(b"")[:3],
        HEAD + mariadb_compressed(CUP.rows((1, "a"))[31:])[:-2],
        HEAD + mariadb_compressed(CUP.rows((1, "a"))[31:]) + b"x",
        HEAD + mariadb_compressed(b"\x00\x01\x00"),
    ],
)
def test_rows_that_cannot_be_decompressed_are_a_fault_of_their_table(body: bytes) -> None:
    broken = event_bytes(T.MARIADB_WRITE_ROWS_COMPRESSED, body)
    results = decoded(log(CUP.map(), CUP.rows((5, "e"), end=False), broken))
    (fault,) = faults(results)
    assert fault["tables"] == ["shop.cup"]
    assert not changed(results)


def test_a_compressed_event_without_its_table_map_is_a_fault() -> None:
    (fault,) = faults(decoded(log(SOUND)))
    assert "TABLE_MAP" in str(fault["reason"])
    assert fault["__pos"] == len(log()) - len(xid())
