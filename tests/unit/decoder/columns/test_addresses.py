"""UUID, INET4 and INET6 as MariaDB prints them, compared with Python's text.

tests/integration compares them with servers.
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, strategies as st

from decoder import TableDefinition, TypeOptions
from decoder.columns.addresses import address_reader, address_text
from decoder.columns.cells import HEAD_SLACK, SLACK, CellError, Cells
from decoder.columns.registry import reader
from decoder.constants import ADDRESS_BYTES, BINARY_COLLATION, ColumnType, LogicalType as L
from decoder.model.definition import ColumnDefinition

INET6 = {
    "0" * 32: "::",
    "0" * 31 + "1": "::1",
    "20010db8000000000000ff0000428329": "2001:db8::ff00:42:8329",
    "0000000000000000000000000102fe04": "::1.2.254.4",
    "00000000000000000000ffff01020304": "::ffff:1.2.3.4",
    "00000000000000000000ffff00000001": "::ffff:0.0.0.1",
    "00010000000300000005000000070008": "1::3:0:5:0:7:8",  # the first of equal runs, of one word
    "00010000000000000002000000000000": "1::2:0:0:0",
    "00010002000300040005000600070000": "1:2:3:4:5:6:7::",
}


@pytest.mark.parametrize("raw", INET6)
def test_inet6_is_shortened_as_in_mariadb(raw: str) -> None:
    assert address_text(L.INET6, bytes.fromhex(raw)) == INET6[raw]


@given(st.binary(min_size=16, max_size=16))
def test_any_inet6_parses_to_the_same_address(raw: bytes) -> None:
    assert IPv6Address(address_text(L.INET6, raw)).packed == raw


@given(st.binary(min_size=16, max_size=16))
def test_any_uuid_has_its_bytes_in_order(raw: bytes) -> None:
    assert address_text(L.UUID, raw) == str(UUID(bytes=raw))


@given(st.binary(min_size=4, max_size=4))
def test_any_inet4_is_dotted(raw: bytes) -> None:
    assert address_text(L.INET4, raw) == str(IPv4Address(raw))


@pytest.mark.parametrize("kind", ADDRESS_BYTES)
def test_omitted_trailing_zeros_are_restored(kind: L) -> None:
    assert address_text(kind, b"\1") == address_text(kind, b"\1" + bytes(ADDRESS_BYTES[kind] - 1))


@given(
    st.lists(st.none() | st.binary(max_size=16), max_size=20), st.sampled_from([L.UUID, L.INET6])
)
def test_nulls_and_values_keep_their_rows(values: list[bytes | None], kind: L) -> None:
    data = b"".join(value or b"" for value in values)
    buffer = np.frombuffer(bytes(HEAD_SLACK) + data + bytes(SLACK), np.uint8)
    lengths = np.array([len(value or b"") for value in values], np.int32)
    positions = (HEAD_SLACK + np.cumsum(lengths) - lengths).astype(np.int32)
    for row, value in enumerate(values):
        positions[row] = positions[row] if value is not None else -1
    column = address_reader(kind).read(Cells(buffer, positions, lengths, values.count(None)))
    column.array.validate(full=True)
    expected = [None if value is None else address_text(kind, value) for value in values]
    assert column.array.to_pylist() == expected


def test_a_value_that_is_too_long_is_malformed() -> None:
    with pytest.raises(CellError, match="longer than the 4 bytes of INET4"):
        address_text(L.INET4, bytes(5))


def test_the_logical_type_selects_the_reader() -> None:
    stored = ColumnDefinition("u", ColumnType.STRING, length=16, collation=BINARY_COLLATION)
    kinds = [
        str(reader(replace(stored, logical=kind), TypeOptions()).arrow_type)
        for kind in (None, L.UUID, L.VECTOR)
    ]
    assert kinds == ["binary", "string", "list<item: float>"]


def test_a_definition_s_json_keeps_the_logical_type() -> None:
    plain = TableDefinition("s", "t", (ColumnDefinition("a", ColumnType.STRING, length=16),))
    logical = TableDefinition(
        "s", "t", (ColumnDefinition("a", ColumnType.STRING, length=16, logical=L.UUID),)
    )
    assert TableDefinition.from_json(logical.to_json()) == logical
    assert TableDefinition.from_json(plain.to_json()) == plain
    assert logical.fingerprint() != plain.fingerprint()
