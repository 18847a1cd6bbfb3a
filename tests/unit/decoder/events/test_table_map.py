from __future__ import annotations

import struct
from typing import Any

import pytest

from decoder import BinlogError, TableDefinition, events
from decoder.constants import ColumnType, EventType
from decoder.errors import MalformedError, UnsupportedError
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.table_map import TableMapEvent
from decoder.model.definition import ColumnDefinition
from tests.support.decoder.event_bytes import (
    POST_HEADER_LENGTHS,
    described,
    length_encoded,
    metadata_field as field,
    parsed,
    recorded,
    table_map,
)

LATIN1, UTF8MB4, UTF8MB3, GBK, BINARY = 8, 255, 33, 28, 63


def definition_in(name: str) -> TableDefinition:
    (event,) = (event for event in events(recorded(name)) if isinstance(event, TableMapEvent))
    return event.definition


def integer(name: str, kind: ColumnType, **fields: Any) -> ColumnDefinition:
    return ColumnDefinition(name, kind, **fields)


ZOO = (
    ColumnDefinition("id", ColumnType.LONG, nullable=False, unsigned=True),
    ColumnDefinition("y", ColumnType.YEAR, unsigned=True),
    ColumnDefinition("ti", ColumnType.TINY),
    ColumnDefinition("si", ColumnType.SHORT, unsigned=True),
    ColumnDefinition("mi", ColumnType.INT24),
    ColumnDefinition("bi", ColumnType.LONGLONG, unsigned=True),
    ColumnDefinition("f", ColumnType.FLOAT, unsigned=True, length=4),
    ColumnDefinition("d", ColumnType.DOUBLE, length=8),
    ColumnDefinition("de", ColumnType.NEWDECIMAL, unsigned=True, precision=65, scale=30),
    ColumnDefinition("c", ColumnType.STRING, length=1020, length_bytes=2, collation=UTF8MB4),
    ColumnDefinition(
        "c2", ColumnType.STRING, nullable=False, length=10, length_bytes=1, collation=LATIN1
    ),
    ColumnDefinition("vc", ColumnType.VARCHAR, length=600, length_bytes=2, collation=GBK),
    ColumnDefinition("b", ColumnType.STRING, length=16, length_bytes=1, collation=BINARY),
    ColumnDefinition("vb", ColumnType.VARCHAR, length=200, length_bytes=1, collation=BINARY),
    ColumnDefinition("tx", ColumnType.BLOB, length_bytes=2, collation=UTF8MB4),
    ColumnDefinition("bl", ColumnType.BLOB, length_bytes=4, collation=BINARY),
    ColumnDefinition("tb", ColumnType.BLOB, length_bytes=1, collation=BINARY),
    ColumnDefinition("mt", ColumnType.BLOB, length_bytes=3, collation=LATIN1),
    ColumnDefinition("e", ColumnType.ENUM, length=1, collation=LATIN1, labels=("a", "ü", "c,d")),
    ColumnDefinition("s", ColumnType.SET, length=1, collation=UTF8MB4, labels=("x", "y")),
    ColumnDefinition("e2", ColumnType.ENUM, length=1, collation=UTF8MB3, labels=("é",)),
    ColumnDefinition("bt", ColumnType.BIT, length=13),
    ColumnDefinition("bt1", ColumnType.BIT, length=1),
    ColumnDefinition("dt", ColumnType.DATETIME2, fraction=6),
    ColumnDefinition("ts", ColumnType.TIMESTAMP2, fraction=3),
    ColumnDefinition("tm", ColumnType.TIME2, fraction=2),
    ColumnDefinition("da", ColumnType.DATE),
    ColumnDefinition("j", ColumnType.JSON, length_bytes=4),
    ColumnDefinition("g", ColumnType.GEOMETRY, length_bytes=4, geometry_type=0),
    ColumnDefinition("p", ColumnType.GEOMETRY, length_bytes=4, geometry_type=1),
    ColumnDefinition("vec", ColumnType.VECTOR, length_bytes=4, dimension=7, collation=63),
    ColumnDefinition("vec2", ColumnType.VECTOR, length_bytes=4, dimension=3, collation=63),
    ColumnDefinition("inv", ColumnType.LONG, visible=False),
    ColumnDefinition("gen", ColumnType.LONG),
)


@pytest.mark.parametrize("index", range(len(ZOO)), ids=[column.name for column in ZOO])
def test_full_metadata_defines_a_column_completely(index: int) -> None:
    assert definition_in("full_metadata").columns[index] == ZOO[index]


def test_full_metadata_includes_the_primary_key() -> None:
    definition = definition_in("full_metadata")
    assert str(definition) == "shop.zoo"
    assert len(definition.columns) == len(ZOO)
    assert definition.primary_key == (0, 10)
    assert definition.primary_key_prefixes == (0, 4)
    assert definition.complete_metadata


@pytest.mark.parametrize("index", range(len(ZOO)), ids=[column.name for column in ZOO])
def test_minimal_metadata_lacks_names_labels_and_keys(index: int) -> None:
    column = definition_in("minimal_metadata").columns[index]
    full = ZOO[index]
    has_labels = full.type in (ColumnType.ENUM, ColumnType.SET)
    assert column == ColumnDefinition(
        name=f"c{index + 1}",
        type=full.type,
        nullable=full.nullable,
        unsigned=full.unsigned,
        length=full.length,
        length_bytes=full.length_bytes,
        precision=full.precision,
        scale=full.scale,
        fraction=full.fraction,
        collation=None if has_labels else full.collation,
        geometry_type=full.geometry_type,
        dimension=full.dimension,
    )


def test_minimal_metadata_is_not_complete() -> None:
    definition = definition_in("minimal_metadata")
    assert not definition.complete_metadata
    assert definition.primary_key == ()


def test_a_definition_is_restored_from_json() -> None:
    definition = definition_in("full_metadata")
    assert TableDefinition.from_json(definition.to_json()) == definition


def test_the_same_table_has_one_definition_whatever_its_id() -> None:
    maps = [event for event in events(recorded("plain")) if isinstance(event, TableMapEvent)]
    assert len(maps) == 3
    assert len({event.definition.fingerprint() for event in maps}) == 1


def define(
    *arguments: Any, description: FormatDescriptionEvent | None = None, **named: Any
) -> TableDefinition:
    event = parsed(EventType.TABLE_MAP, table_map(*arguments, **named), description)
    assert isinstance(event, TableMapEvent)
    assert event.table_id == 7
    return event.definition


@pytest.mark.parametrize("length", [0, 1, 255, 256, 300, 511, 512, 767, 768, 1020, 1023])
def test_the_high_bits_of_a_chars_length_are_in_its_type(length: int) -> None:
    metadata = bytes([ColumnType.STRING ^ (length >> 4 & 0x30), length & 0xFF])
    (column,) = define([ColumnType.STRING], metadata).columns
    assert (column.type, column.length) == (ColumnType.STRING, length)
    assert column.length_bytes == (1 if length < 256 else 2)


@pytest.mark.parametrize(
    ("metadata", "length", "length_bytes"), [(255, 255, 1), (256, 256, 2), (65535, 65535, 2)]
)
def test_a_varchars_prefix_grows_with_its_length(
    metadata: int, length: int, length_bytes: int
) -> None:
    (column,) = define([ColumnType.VARCHAR], struct.pack("<H", metadata)).columns
    assert (column.length, column.length_bytes) == (length, length_bytes)


def test_charsets_may_be_logged_per_column() -> None:
    types = [ColumnType.VARCHAR, ColumnType.LONG, ColumnType.BLOB, ColumnType.STRING]
    metadata = struct.pack("<HB", 10, 2) + bytes([ColumnType.ENUM, 1])
    optional = field(3, bytes([LATIN1, BINARY])) + field(11, bytes([UTF8MB3]))
    columns = define(types, metadata, optional).columns
    assert [column.collation for column in columns] == [LATIN1, None, BINARY, UTF8MB3]


def test_labels_are_decoded_from_their_columns_charset() -> None:
    metadata = bytes([ColumnType.ENUM, 1, ColumnType.SET, 1])
    optional = (
        field(10, bytes([GBK, 1, LATIN1]))
        + field(6, b"\x02\x02\xba\xba\x01a")
        + field(5, b"\x01\x01\xfc")
    )
    enum, set_ = define([ColumnType.STRING] * 2, metadata, optional).columns
    assert (enum.collation, enum.labels) == (GBK, ("汉", "a"))
    assert (set_.collation, set_.labels) == (LATIN1, ("ü",))


def test_the_column_of_a_multi_valued_index_is_hidden() -> None:
    types = [ColumnType.TYPED_ARRAY, ColumnType.TYPED_ARRAY, ColumnType.TYPED_ARRAY]
    metadata = b"".join(
        [
            bytes([ColumnType.VARCHAR, 1, 2, 3]),
            bytes([ColumnType.LONGLONG]),
            bytes([ColumnType.NEWDECIMAL, 10, 2]),
        ]
    )
    definition = define(types, metadata)
    assert definition.columns == ()
    assert [(place, c.type, c.length_bytes) for place, c in definition.hidden] == [
        (place, ColumnType.TYPED_ARRAY, 4) for place in range(3)
    ]


def test_columns_that_a_select_does_not_return_are_hidden() -> None:
    names = ["id", "!hidden!by_price!0!0", "DB_ROW_HASH_1", "name"]
    optional = field(4, b"".join(bytes([len(name)]) + name.encode() for name in names))
    optional += field(8, bytes([3, 0]))
    arguments = ([ColumnType.LONG, ColumnType.LONG, ColumnType.LONGLONG, ColumnType.LONG], b"")
    definition = define(*arguments, optional)
    assert [column.name for column in definition.columns] == ["id", "DB_ROW_HASH_1", "name"]
    assert definition.primary_key == (2, 0)
    assert [column.name for column in definition.logged] == names
    definition = define(*arguments, optional, description=MARIADB)
    assert [column.name for column in definition.columns] == ["id", "name"]
    assert [(place, column.name) for place, column in definition.hidden] == [
        (1, "!hidden!by_price!0!0"),
        (2, "DB_ROW_HASH_1"),
    ]
    assert definition.primary_key == (1, 0)
    assert TableDefinition.from_json(definition.to_json()) == definition


MARIADB = described("10.11.18-MariaDB-log", POST_HEADER_LENGTHS + bytes(130))


def test_geometries_have_a_charset_in_mariadb_only() -> None:
    types = [ColumnType.GEOMETRY, ColumnType.VARCHAR, ColumnType.BLOB_COMPRESSED]
    metadata = b"\x04" + struct.pack("<H", 40) + b"\x02"
    optional = field(2, bytes([BINARY, 1, LATIN1, 2, UTF8MB3]))
    columns = define(types, metadata, optional, description=MARIADB).columns
    assert [column.collation for column in columns] == [BINARY, LATIN1, UTF8MB3]
    columns = define(types[:2], metadata[:3], field(2, bytes([LATIN1]))).columns
    assert [column.collation for column in columns] == [None, LATIN1]


def test_mariadbs_compressed_columns() -> None:
    types = [ColumnType.VARCHAR_COMPRESSED, ColumnType.BLOB_COMPRESSED]
    metadata = struct.pack("<H", 1001) + b"\x03"
    long, blob = define(types, metadata, description=MARIADB).columns
    assert (long.type, long.length, long.length_bytes) == (types[0], 1001, 2)
    assert (blob.type, blob.length_bytes) == (types[1], 3)


@pytest.mark.parametrize("kind", [ColumnType.TIME, ColumnType.DATETIME, ColumnType.TIMESTAMP])
def test_old_temporal_types_may_have_a_fraction_in_mariadb_only(kind: ColumnType) -> None:
    (column,) = define([kind], b"").columns
    assert (column.fraction, column.fraction_logged) == (0, True)
    (column,) = define([kind], b"", description=MARIADB).columns
    assert not column.fraction_logged


def test_an_early_5_1_table_id_has_four_bytes() -> None:
    lengths = bytearray(26)
    lengths[EventType.TABLE_MAP - 1] = 6
    body = struct.pack("<IH", 9, 1) + table_map([ColumnType.LONG], b"")[8:]
    event = parsed(EventType.TABLE_MAP, body, described("5.1.3", bytes(lengths), None))
    assert isinstance(event, TableMapEvent)
    assert event.table_id == 9


def test_unknown_optional_metadata_is_ignored() -> None:
    optional = field(99, b"whatever") + field(4, b"\x02id")
    assert define([ColumnType.LONG], b"", optional).columns[0].name == "id"


MALFORMED = {
    "an unknown type": (table_map([200], b""), "type 200"),
    "a string of no type": (table_map([254], b"\x01\x01"), "real type 49"),
    "an enum in three bytes": (table_map([254], b"\xf7\x03"), "ENUM have 3 bytes"),
    "a set in nine bytes": (table_map([254], b"\xf8\x09"), "SET have 9 bytes"),
    "a blob without prefix": (table_map([252], b"\x00"), "prefixes of 0 bytes"),
    "a bit field of nothing": (table_map([16], b"\x00\x00"), r"BIT\(0\)"),
    "a bit field of 65": (table_map([16], b"\x01\x08"), r"BIT\(65\)"),
    "a decimal of 66": (table_map([246], b"\x42\x00"), r"DECIMAL\(66,0\)"),
    "a scale beyond": (table_map([246], b"\x05\x06"), r"DECIMAL\(5,6\)"),
    "nanoseconds": (table_map([18], b"\x07"), "7 fractional digits"),
    "excess metadata": (table_map([3], b"\x01"), "column metadata is 1 bytes longer"),
    "metadata missing": (table_map([15], b"\x01"), "2 bytes are expected"),
    "too few names": (table_map([3, 3], b"", field(4, b"\x01a")), "1 values of name for 2"),
    "names twice": (table_map([3, 3], b"", field(4, b"\x01a\x01a")), "the same name"),
    "too few signs": (table_map([3] * 9, b"", field(1, b"\0"), nullable=b"\0\0"), "unsigned"),
    "a key beyond": (table_map([3], b"", field(8, b"\x01")), "beyond the 1"),
    "labels of nothing": (table_map([3], b"", field(6, b"\x01\x01a")), "1 values of labels"),
    "endless labels": (table_map([3], b"", field(6, b"\xfe" + b"\xff" * 8)), "in the 0 bytes"),
    "a collation beyond": (
        table_map([15], b"\x0a\x00", field(2, bytes([8, 1, 33]))),
        "beyond the 1 columns",
    ),
    "a hidden key": (
        table_map([3], b"", field(4, b"\x09!hidden!x") + field(8, b"\0")),
        "refers to a hidden column",
    ),
    "an unterminated name": (table_map([3], b"", names=b"\x01sx\x01t\0"), "zero byte"),
    "a name too long": (table_map([3], b"", names=b"\xc1" + b"s" * 193 + b"\0"), "the limit is"),
    "endless columns": (
        struct.pack("<IHH", 7, 0, 1) + b"\x01s\0\x01t\0\xfd\xff\xff\xff",
        "column count 16777215",
    ),
    # an image without columns takes no bytes, so a scan of its rows would never end
    "no columns": (table_map([], b""), "column count 0"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_contradictions_are_refused(case: str) -> None:
    body, reason = MALFORMED[case]
    with pytest.raises(MalformedError, match=reason) as caught:
        parsed(EventType.TABLE_MAP, body)
    assert caught.value.position == 1234
    assert caught.value.event_type == "TABLE_MAP"


def test_labels_in_an_unknown_charset_are_unsupported() -> None:
    optional = field(10, length_encoded(2000)) + field(6, b"\x01\x01a")
    with pytest.raises(UnsupportedError, match="2000"):
        parsed(EventType.TABLE_MAP, table_map([254], b"\xf7\x01", optional))


def test_every_truncation_is_refused_or_a_table_with_less_metadata() -> None:
    (event,) = (e for e in events(recorded("full_metadata")) if isinstance(e, TableMapEvent))
    body = recorded("full_metadata")[event.position + 19 : event.position + event.size - 4]
    refused = 0
    for end in range(len(body)):
        try:
            shorter = parsed(EventType.TABLE_MAP, body[:end])
        except BinlogError:
            refused += 1
        else:
            assert isinstance(shorter, TableMapEvent)
            assert len(shorter.definition.columns) == len(ZOO)
    assert refused > len(body) - 20
