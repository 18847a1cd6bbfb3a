"""Canonical texts: the same for both forms of a value, different for different values."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, strategies as some

from pipeline.verify.canonical import (
    BINARY,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    JSON,
    TEXT,
    TIME,
    canonical,
    checksum,
    key_text,
    row_hash,
)

SAME = [
    (INTEGER, True, b"1"),
    (INTEGER, 42, b"0000000042"),
    (INTEGER, Decimal(18446744073709551615), "18446744073709551615"),
    (DECIMAL, Decimal("0.50"), b"0000.50"),
    (DECIMAL, Decimal("-0.00"), "0.00"),
    (DECIMAL, Decimal("1E-30"), "0.000000000000000000000000000001"),
    (DECIMAL, f"-{'9' * 40}.5", f"-0{'9' * 40}.5".encode()),
    (DOUBLE, 0.1, b"0.1"),
    (DOUBLE, 5e-324, b"4.9406564584124654e-324"),
    (TEXT, "\ufffd", b"\xff"),
    (BINARY, {"srid": 4326, "wkb": b"\x01\x02"}, b"\xe6\x10\x00\x00\x01\x02"),
    (BINARY, [1.0, -0.0], b"\x00\x00\x80\x3f\x00\x00\x00\x80"),
    (DATE, date(1, 2, 3), b"0001-02-03"),
    (DATETIME, datetime(2024, 2, 29, 1, 2, 3, 500000), "2024-02-29 01:02:03.5"),
    (DATETIME, datetime(2024, 2, 29, 1, 2, 3, tzinfo=timezone.utc), b"2024-02-29 01:02:03"),
    (DATETIME, datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), "1970-01-01 00:00:00"),
    (DATETIME, "0000-00-00 00:00:00.000", b"0000-00-00 00:00:00"),
    (TIME, -3020399000001, b"-838:59:59.000001"),
    (TIME, "00:00:00.5", "00:00:00.500000"),
    (JSON, '{"b":1.50,"a":[1e2,-0.0]}', '{"a": [100.0, -0.00], "b": 15e-1}'),
    (JSON, '[1, -0, 1e22, 100]', "[1.0, -0.0, 10000000000000000000000, 1e2]"),
    (JSON, '"base64:AP+A\\nAP8="', '"base64:AP+A\nAP8="'),
    (JSON, '"\\u00e9\\ud83d"', '"é\\ud83d"'),
]  # fmt: skip
DIFFERENT = [
    (DOUBLE, 0.0, -0.0),
    (DOUBLE, 0.1, math.nextafter(0.1, 1)),
    (DECIMAL, "0.10", "0.1"),
    (TEXT, "a", "a "),
    (JSON, "1", "1.5"),
    (JSON, '"1e0"', "1.0"),
    (JSON, "0.0", "-0.0"),
    (JSON, "0.1000000000000000000000000000000000001", "0.1"),
    (JSON, "[[1],2]", "[[1,2]]"),
    (JSON, "9007199254740993", "9007199254740992"),
    (JSON, "null", '"null"'),
]
NO_DATES = ["0000-00-00", "2023-02-30", "2020-10-00", "0000-01-01"]


@pytest.mark.parametrize(("kind", "gold", "server"), SAME)
def test_both_forms_of_a_value_have_the_same_text(kind: str, gold: Any, server: Any) -> None:
    assert canonical(kind)(gold) == canonical(kind)(server)


@pytest.mark.parametrize(("kind", "one", "other"), DIFFERENT)
def test_different_values_have_different_texts(kind: str, one: Any, other: Any) -> None:
    assert canonical(kind)(one) != canonical(kind)(other)


@pytest.mark.parametrize("day", NO_DATES)
def test_invalid_dates_are_null_with_that_setting(day: str) -> None:
    for kind, text in ((DATE, day), (DATETIME, f"{day} 01:02:03")):
        assert canonical(kind, zero_dates="null")(text.encode()) is None
        assert canonical(kind)(text) is not None
        assert canonical(kind, zero_dates="null")("2024-02-29 01:02:03") is not None


def test_an_invalid_time_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a valid TIME"):
        canonical(TIME)("12:34")


@given(some.integers(-(10**65), 10**65), some.integers(0, 30), some.integers(0, 5))
def test_decimals_are_written_as_servers_print_them(digits: int, scale: int, zeros: int) -> None:
    value = Decimal(digits).scaleb(-scale) if abs(digits) < 10**27 else Decimal(digits)
    printed = format(value, "f")
    padded = printed.replace("-", "-" + "0" * zeros) if digits < 0 else "0" * zeros + printed
    assert canonical(DECIMAL)(value) == canonical(DECIMAL)(padded.encode()) == printed


@given(some.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_exact(value: float) -> None:
    text = canonical(DOUBLE)(repr(value).encode())
    assert text == canonical(DOUBLE)(value)
    assert text is not None
    assert math.copysign(1, float.fromhex(text)) == math.copysign(1, value)
    assert float.fromhex(text) == value


DOCUMENTS = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text()
    | some.floats(allow_nan=False, allow_infinity=False),
    lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner),
)  # fmt: skip


@given(DOCUMENTS)
def test_documents_are_equal_by_value(document: Any) -> None:
    spaced = json.dumps(document, indent=1, sort_keys=True)
    assert canonical(JSON)(json.dumps(document, ensure_ascii=False)) == canonical(JSON)(spaced)


@given(DOCUMENTS, DOCUMENTS)
@example(0, 0.0)
@example(0, -0.0)
@example([10**40], [1e40])
def test_different_documents_have_different_texts(one: Any, other: Any) -> None:
    texts = [canonical(JSON)(json.dumps(document)) for document in (one, other)]
    assert (texts[0] == texts[1]) == (repr(_ordered(one)) == repr(_ordered(other)))


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in sorted(value)}
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # MySQL 5.7 prints a double without a fraction as an integer; zeros keep their sign.
        return Fraction(repr(value)), math.copysign(1, value)
    return [_ordered(item) for item in value] if isinstance(value, list) else value


TEXTS = some.lists(some.none() | some.text(alphabet="-:1a", max_size=3), min_size=1, max_size=3)


@given(TEXTS, TEXTS)
def test_only_equal_rows_have_the_same_hash(one: list[str | None], other: list[str | None]) -> None:
    assert (row_hash(one) == row_hash(other)) == (one == other)


def test_a_checksum_depends_on_duplicates_but_not_on_order() -> None:
    hashes = [int.from_bytes(row_hash([text]), "big") for text in ("a", "b", "a")]
    assert checksum(sum(hashes)) == checksum(sum(hashes[::-1]))
    assert checksum(sum(hashes)) != checksum(sum(hashes[:2]))
    assert len(checksum(0)) == 32


def test_a_key_is_one_line_and_truncated_only_on_request() -> None:
    long = "x" * 100
    assert json.loads(key_text(["a\nb", None, long])) == ["a\nb", None, long]
    assert json.loads(key_text(["é", long], shorten=True)) == ["é", "x" * 64 + "…"]
    assert "\n" not in key_text(["a\nb\u2028"])
