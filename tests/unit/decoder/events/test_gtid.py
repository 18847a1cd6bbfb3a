from __future__ import annotations

import struct
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from decoder import events
from decoder.constants import EventType
from decoder.errors import MalformedError, UnsupportedError
from decoder.events.gtid import AnonymousGtidEvent, GtidEvent
from decoder.events.gtid_set import GtidSource, LoggedGtidSet
from decoder.events.gtid_tagged import GtidTaggedEvent
from decoder.events.previous_gtids import PreviousGtidsEvent
from tests.support.decoder.event_bytes import (
    length_encoded,
    parsed,
    recorded,
    signed_varint,
    varint,
)

UUID_TEXT = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
SOURCE = UUID(UUID_TEXT).bytes
TIME = 1_700_000_000_123_456
OF_5_6 = struct.pack("<B16sq", 1, SOURCE, 23)
OF_5_7 = OF_5_6 + struct.pack("<Bqq", 2, 10, 11)
OF_8_0 = OF_5_7 + TIME.to_bytes(7, "little") + length_encoded(300) + struct.pack("<I", 80043)


def gtid(body: bytes, event_type: EventType = EventType.GTID) -> GtidEvent:
    event = parsed(event_type, body)
    assert isinstance(event, GtidEvent)
    return event


def test_optional_fields_depend_on_the_version() -> None:
    oldest, older, old = gtid(OF_5_6), gtid(OF_5_7), gtid(OF_8_0)
    assert oldest.gtid == older.gtid == old.gtid == f"{UUID_TEXT}:23"
    assert (oldest.last_committed, oldest.immediate_commit_timestamp) == (None, None)
    assert (older.last_committed, older.sequence_number) == (10, 11)
    assert older.immediate_commit_timestamp is None
    assert old.immediate_commit_timestamp == old.original_commit_timestamp == TIME
    assert old.transaction_length == 300
    assert old.immediate_server_version == old.original_server_version == 80043
    assert old.commit_group_ticket is None


def test_a_replicated_transaction_has_the_original_time_and_version() -> None:
    body = (
        OF_5_7
        + (TIME | 1 << 55).to_bytes(7, "little")
        + (TIME - 5).to_bytes(7, "little")
        + length_encoded(70_000)
        + struct.pack("<IIQ", 90_704 | 1 << 31, 80_043, 99)
    )
    event = gtid(body)
    assert (event.immediate_commit_timestamp, event.original_commit_timestamp) == (TIME, TIME - 5)
    assert (event.immediate_server_version, event.original_server_version) == (90_704, 80_043)
    assert (event.transaction_length, event.commit_group_ticket) == (70_000, 99)


def test_an_anonymous_transaction_has_no_gtid() -> None:
    event = gtid(struct.pack("<B16sq", 0, bytes(16), 0), EventType.ANONYMOUS_GTID)
    assert isinstance(event, AnonymousGtidEvent)
    assert event.gtid is None
    assert not event.may_have_statements


@pytest.mark.parametrize(
    ("event_type", "gno"),
    [
        (EventType.GTID, 0),
        (EventType.GTID, -1),
        (EventType.GTID, 2**63 - 1),
        (EventType.ANONYMOUS_GTID, 1),
    ],
)
def test_transaction_numbers_out_of_range_are_refused(event_type: EventType, gno: int) -> None:
    with pytest.raises(MalformedError, match="out of range"):
        gtid(struct.pack("<B16sq", 0, SOURCE, gno), event_type)


def test_a_gtid_truncated_inside_a_field_is_refused() -> None:
    whole = {len(OF_5_6), len(OF_5_7), len(OF_8_0) - 7, len(OF_8_0) - 4, len(OF_8_0)}
    for end in range(len(OF_8_0)):
        if end not in whole:
            with pytest.raises(MalformedError):
                gtid(OF_8_0[:end])


def tagged(fields: dict[int, bytes], last_non_ignorable: int = 0, version: int = 1) -> bytes:
    content = varint(last_non_ignorable) + b"".join(
        varint(number) + value for number, value in fields.items()
    )
    size = len(content) + 2
    return varint(version) + varint(size) + content


FIELDS = {
    0: varint(1),
    1: b"".join(varint(byte) for byte in SOURCE),
    2: signed_varint(23),
    3: varint(4) + b"shop",
    4: signed_varint(-1),
    5: signed_varint(11),
    6: varint(TIME),
    8: varint(300),
    9: varint(90_704),
}


def test_a_tagged_gtid_contains_its_tag() -> None:
    event = gtid(tagged(FIELDS), EventType.GTID_TAGGED)
    assert isinstance(event, GtidTaggedEvent)
    assert event.gtid == f"{UUID_TEXT}:shop:23"
    assert (event.last_committed, event.sequence_number) == (-1, 11)
    assert event.original_commit_timestamp == event.immediate_commit_timestamp == TIME
    assert event.original_server_version == event.immediate_server_version == 90_704
    assert event.commit_group_ticket is None


def test_optional_fields_of_a_tagged_gtid() -> None:
    optional = {7: varint(TIME - 1), 10: varint(80_400), 11: varint(5)}
    event = gtid(tagged(dict(sorted((FIELDS | optional).items()))), EventType.GTID_TAGGED)
    assert event.original_commit_timestamp == TIME - 1
    assert (event.original_server_version, event.commit_group_ticket) == (80_400, 5)


def test_an_unknown_field_is_ignored_only_if_it_is_ignorable() -> None:
    newer = {**FIELDS, 12: varint(7)}
    assert gtid(tagged(newer), EventType.GTID_TAGGED).gno == 23
    with pytest.raises(UnsupportedError, match="field 12"):
        gtid(tagged(newer, last_non_ignorable=12), EventType.GTID_TAGGED)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (tagged({**FIELDS, 3: varint(33) + b"t" * 33}), "the limit is 32"),
        (tagged({**FIELDS, 2: signed_varint(0)}), "out of range"),
        (tagged({1: FIELDS[1], 0: FIELDS[0]}), "field 0 comes after field 1"),
        (tagged({0: FIELDS[0]}), "the field uuid is missing"),
        (tagged({**FIELDS, 0: varint(256)}), "does not fit in a byte"),
        (tagged({**FIELDS, 6: varint(2**55)}), "immediate commit timestamp .* is not a valid time"),
        (tagged({n: FIELDS[n] for n in range(7)} | {7: varint(2**64 - 1)}), "original commit"),
        (varint(1) + varint(1), "smaller than the message's own head"),
    ],
)
def test_contradictions_in_a_tagged_gtid(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        gtid(body, EventType.GTID_TAGGED)


def test_an_unknown_serialization_version_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="serialization version 2"):
        gtid(tagged(FIELDS, version=2), EventType.GTID_TAGGED)


def test_tagged_transactions_of_a_real_server() -> None:
    found = [event for event in events(recorded("tagged")) if isinstance(event, GtidEvent)]
    assert [event.tag for event in found] == ["", "", "shop_2", "shop_2"]
    assert [event.gno for event in found[2:]] == [1, 2]
    for event in found:
        assert event.server_id == 1
        assert event.transaction_length is not None
        assert event.immediate_server_version == event.original_server_version
        assert event.immediate_commit_timestamp is not None
        assert 0 <= event.immediate_commit_timestamp // 1_000_000 - event.timestamp <= 60


def test_transaction_lengths_reach_from_one_gtid_to_the_next() -> None:
    log = [event for event in events(recorded("tagged")) if not event.inside_payload]
    starts = [event for event in log if isinstance(event, GtidEvent)]
    ends = [event.position for event in starts[1:]] + [log[-1].position]
    lengths = [end - event.position for event, end in zip(starts, ends, strict=True)]
    assert [event.transaction_length for event in starts] == lengths


def encoded_set(sources: list[GtidSource], with_tags: bool) -> bytes:
    head = 1 << 56 | len(sources) << 8 | 1 if with_tags else len(sources)
    parts = [struct.pack("<Q", head)]
    for source in sources:
        parts.append(UUID(source.uuid).bytes)
        if with_tags:
            parts.append(varint(len(source.tag)) + source.tag.encode())
        parts.append(struct.pack("<Q", len(source.intervals)))
        parts += [struct.pack("<QQ", first, last + 1) for first, last in source.intervals]
    return b"".join(parts)


def previous(body: bytes) -> LoggedGtidSet:
    event = parsed(EventType.PREVIOUS_GTIDS, body)
    assert isinstance(event, PreviousGtidsEvent)
    return event.gtid_set


INTERVALS = st.lists(
    st.tuples(st.integers(1, 2**62), st.integers(0, 2**60)).map(lambda p: (p[0], p[0] + p[1])),
    max_size=4,
).map(tuple)


@given(
    st.lists(
        st.tuples(st.uuids().map(str), st.from_regex(r"[a-z_]{0,32}", fullmatch=True), INTERVALS)
    ),
    st.booleans(),
)
def test_gtid_sets(
    sources: list[tuple[str, str, tuple[tuple[int, int], ...]]], with_tags: bool
) -> None:
    expected = [GtidSource(uuid, tag * with_tags, runs) for uuid, tag, runs in sources]
    assert previous(encoded_set(expected, with_tags)) == LoggedGtidSet(tuple(expected))


def test_the_text_of_a_set_is_that_of_mysql() -> None:
    other = "00000000-0000-0000-0000-000000000001"
    gtids = LoggedGtidSet(
        (
            GtidSource(other, "", ((1, 5), (7, 7))),
            GtidSource(other, "shop", ((1, 2),)),
            GtidSource(UUID_TEXT, "", ((3, 3),)),
        )
    )
    assert str(gtids) == f"{other}:1-5:7:shop:1-2,{UUID_TEXT}:3"


def test_previous_gtids_of_a_real_server_have_tags() -> None:
    (event,) = (e for e in events(recorded("tagged")) if isinstance(e, PreviousGtidsEvent))
    untagged, archive = event.gtid_set.sources
    assert (untagged.tag, archive.tag) == ("", "archive")
    assert archive.intervals == ((1, 2),)
    assert str(event.gtid_set) == f"{untagged.uuid}:1-2:archive:1-2"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (struct.pack("<Q", 2 << 56), "format 2"),
        (struct.pack("<Q", 1000), "1000 GTID sources"),
        (encoded_set([], False) + b"x", "followed by 1 bytes"),
        (encoded_set([GtidSource(UUID_TEXT, "", ((5, 4),))], False), r"interval \[5, 5\)"),
        (struct.pack("<Q16sQ", 1, SOURCE, 9), "9 GTID intervals"),
    ],
)
def test_contradictions_in_a_set(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        previous(body)
