"""Decoding of MariaDB's logs: GTIDs, compressed statements, encryption."""

from __future__ import annotations

import struct

import pytest

import decoder
from decoder import Framer
from decoder.constants import EventType
from decoder.errors import UnsupportedError
from decoder.model.results import Changes, Statements
from tests.support.decoder.event_bytes import (
    MARIADB_POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    log_bytes,
    mariadb_compressed,
)
from tests.support.decoder.log_kinds import LOG_KINDS
from tests.support.decoder.logs import (
    POT,
    changed,
    decoded,
    faults,
    insert,
    query,
    transactions,
    xid,
)

MARIADB = format_description("10.11.6-MariaDB-log", 0, MARIADB_POST_HEADER_LENGTHS)
STANDALONE, PREPARED_XA, COMPLETED_XA = 0x1, 0x40, 0x80


def gtid(
    number: int, flags: int = 0, *, domain: int = 0, server: int = 1, more: bytes = b""
) -> bytes:
    body = struct.pack("<QIB", number, domain, flags) + more
    event = event_bytes(EventType.MARIADB_GTID, body.ljust(19, b"\0"))
    return event[:5] + struct.pack("<I", server) + event[9:]


def compressed(text: str) -> bytes:
    head = struct.pack("<IIBHH", 9, 0, 4, 0, 0) + b"shop\0"
    return event_bytes(EventType.MARIADB_QUERY_COMPRESSED, head + mariadb_compressed(text.encode()))


def log(*events: bytes) -> bytes:
    return log_bytes(*events, description=MARIADB)


def test_transactions_have_their_gtids() -> None:
    results = decoded(
        log(
            gtid(7) + insert(POT, (1,)) + xid(),
            gtid(2**63 - 1, STANDALONE, domain=2**32 - 1, server=2**32 - 2)
            + query("CREATE TABLE t (a INT)"),
            gtid(0, 0x2, domain=3, more=struct.pack("<Q", 5)) + insert(POT, (2,)) + query("COMMIT"),
        )
    )
    names = ["0-1-7", f"{2**32 - 1}-{2**32 - 2}-{2**63 - 1}", "3-1-0"]
    assert [row["gtid"] for row in transactions(results)] == names
    found = [r.batch.to_pylist() for r in results if isinstance(r, Changes)]
    assert [row["__gtid"] for rows in found for row in rows] == [names[0], names[2]]
    (statements,) = (r.batch.to_pylist() for r in results if isinstance(r, Statements))
    assert [row["gtid"] for row in statements] == [names[1]]


def test_a_begin_after_a_gtid_belongs_to_its_transaction() -> None:
    results = decoded(log(gtid(7) + query("BEGIN") + insert(POT, (1,)) + xid()))
    (found,) = transactions(results)
    assert (found["gtid"], dict(found["rows"])) == ("0-1-7", {"shop.pot": 1})
    assert changed(results) == [("pot", "insert", None, (1,))]
    assert not faults(results)


def test_many_long_gtids_fit_into_their_buffer() -> None:
    longest = {"domain": 2**32 - 1, "server": 2**32 - 1}
    events = [gtid(2**63 - 1, **longest) + xid() for _ in range(500)]
    rows = transactions(decoded(log(*events)))
    assert {row["gtid"] for row in rows} == {f"{2**32 - 1}-{2**32 - 1}-{2**63 - 1}"}


def test_compressed_rows_are_decoded_in_the_window_of_their_description() -> None:
    assert changed(decoded(LOG_KINDS["mariadb"])) == [
        ("cup", "insert", None, (1, "abc")),
        ("cup", "insert", None, (2, None)),
    ]


def test_a_truncated_gtid_is_a_fault() -> None:
    (fault,) = faults(decoded(log(event_bytes(EventType.MARIADB_GTID, bytes(12)), xid())))
    assert (fault["kind"], fault["event_type"]) == ("undecodable", "MARIADB_GTID")


def test_an_xa_transaction_waits_for_its_commit() -> None:
    xa = struct.pack("<IBB", 1, 1, 0) + b"g"
    prepare = event_bytes(EventType.XA_PREPARE, struct.pack("<BIII", 0, 1, 1, 0) + b"g")
    results = decoded(
        log(
            gtid(1, PREPARED_XA, more=xa) + insert(POT, (1,)) + prepare,
            gtid(2, STANDALONE | COMPLETED_XA, more=xa) + query("XA COMMIT X'67',X'',1"),
        )
    )
    assert not faults(results)
    assert [(row["xa"], row["xa_end"]) for row in transactions(results)] == [
        ("1:67:", "prepare"),
        ("1:67:", "commit"),
    ]
    assert len(changed(results)) == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CREATE TABLE pots (a INT, b INT)", None),
        ("INSERT INTO pot VALUES (1), (2), (3)", "statement"),
        ("COMMIT /* by hand */", "undecodable"),
        ("SAVEPOINT before_all_this", "undecodable"),
    ],
)
def test_compressed_statements_are_decoded_like_plain_ones(text: str, kind: str | None) -> None:
    results = decoded(log(gtid(1, STANDALONE), compressed(text)))
    assert [fault["kind"] for fault in faults(results)] == ([kind] if kind else [])
    logged = [r.batch.to_pylist() for r in results if isinstance(r, Statements)]
    texts = [(row["query"], row["schema"]) for rows in logged for row in rows]
    assert texts == ([] if kind == "undecodable" else [(text, "shop")])


def test_an_alter_in_two_phases_takes_effect_at_its_commit() -> None:
    phases = [
        (b"\x82\x02", "ALTER TABLE pot ADD COLUMN b INT"),
        (b"\x82\x04" + struct.pack("<Q", 1), "ALTER TABLE pot ADD COLUMN b INT"),
        (b"\x82\x08" + struct.pack("<Q", 1), "ALTER TABLE pot ADD COLUMN c INT"),
    ]
    events = []
    for number, (status, text) in enumerate(phases, 1):
        head = struct.pack("<IIBHH", 9, 0, 0, 0, len(status)) + status + b"\0"
        events.append(gtid(number, STANDALONE))
        events.append(event_bytes(EventType.QUERY, head + text.encode()))
    results = decoded(log(*events))
    (statements,) = (r.batch.to_pylist() for r in results if isinstance(r, Statements))
    assert [row["gtid"] for row in statements] == ["0-1-2"]
    assert len(transactions(results)) == 3


def encrypted_log() -> tuple[bytes, int]:
    """Return a log with encrypted bytes after START_ENCRYPTION, and the position of these."""
    start = event_bytes(EventType.MARIADB_START_ENCRYPTION, struct.pack("<BI", 1, 1) + bytes(12))
    readable = log(start)
    return readable + bytes((7 * k + 3) % 256 for k in range(200)), len(readable)


def test_encrypted_events_are_one_fault() -> None:
    data, position = encrypted_log()
    with pytest.raises(UnsupportedError, match="encrypted by MariaDB") as caught:
        list(decoder.events(data))
    assert caught.value.position == position
    (fault,) = faults(decoded(data))
    assert (fault["__pos"], fault["tables"]) == (position, None)
    assert "encrypted by MariaDB" in str(fault["reason"])
    framer = Framer()
    windows = list(framer.feed(data))
    assert isinstance(framer.fault, UnsupportedError)
    assert windows[-1].ends[-1] == framer.fault.position == position


def test_a_log_that_ends_before_the_encrypted_events_is_complete() -> None:
    data, position = encrypted_log()
    found = [event.name for event in decoder.events(data[:position])]
    assert found == ["FORMAT_DESCRIPTION", "MARIADB_START_ENCRYPTION"]
    assert not faults(decoded(data[:position]))
