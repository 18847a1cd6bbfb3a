"""Canonical texts of values, the same for gold's value and for a SELECT of it on the server.

Uses only the standard library, since it also runs on the source's server. Each function takes a
value in either form: as pyarrow returns it from gold's column, or as a server's driver does (bytes,
text or a number); None is NULL. Two values have the same text only if they are equal.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from ipaddress import ip_address
from typing import Any

INTEGER, DECIMAL, DOUBLE, TEXT, BINARY = "integer", "decimal", "double", "text", "binary"
DATE, DATETIME, TIME, JSON = "date", "datetime", "time", "json"

CanonicalText = str | None
"""A canonical text; None is NULL."""
Canonical = Callable[[Any], CanonicalText]

MODULUS = 1 << 128
HASH_BYTES = 16
_LONGEST_SHOWN = 64
_NULL = "-"
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?")


def canonical(kind: str, *, zero_dates: str = "string") -> Canonical:
    """Return the function that writes values of a kind.

    `zero_dates="null"`: dates that no calendar has are NULL, as in gold with that setting.
    """
    write = _WRITERS[kind]
    if kind in (DATE, DATETIME) and zero_dates == "null":
        return lambda value: None if value is None or _is_no_date(value) else write(value)
    return lambda value: None if value is None else write(value)


def row_hash(texts: Iterable[CanonicalText]) -> bytes:
    """Return the 128-bit hash of a row's canonical texts, in order."""
    return hashlib.blake2b(hashed_text(texts), digest_size=HASH_BYTES).digest()


def hashed_text(texts: Iterable[CanonicalText]) -> bytes:
    """Return canonical texts joined without ambiguity, as the input of hashes."""
    return _encoded("".join([_NULL if text is None else f"{len(text)}:{text}" for text in texts]))


def checksum(total: int) -> str:
    """Return a table's checksum: the sum of its rows' hashes modulo 2¹²⁸, in hexadecimal."""
    return f"{total % MODULUS:032x}"


def key_text(texts: Sequence[CanonicalText], *, shorten: bool = False) -> str:
    """Return a row's key as one line of JSON; `shorten`: truncate long values."""
    shown = [_shortened(text) for text in texts] if shorten else texts
    return json.dumps(shown, separators=(",", ":"))


def _shortened(text: CanonicalText) -> CanonicalText:
    if text is None or len(text) <= _LONGEST_SHOWN:
        return text
    return f"{text[:_LONGEST_SHOWN]}…"


def _encoded(text: str) -> bytes:
    """Encode to UTF-8; JSON may contain unpaired surrogates."""
    return text.encode("utf-8", "surrogatepass")


def _text(value: Any) -> str:
    """Decode text; bytes that are invalid in their charset become U+FFFD, as in gold."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _integer(value: Any) -> str:
    return str(int(value))


def _decimal(value: Any) -> str:
    """Write all digits of the scale, without ZEROFILL's zeros and the sign of zero."""
    text = format(value, "f") if isinstance(value, Decimal) else _text(value)
    digits = text.lstrip("-").lstrip("0")
    sign = "-" if text.startswith("-") and digits.strip("0.") else ""
    return f"{sign}{'' if digits[:1].isdigit() else '0'}{digits}"


def _double(value: Any) -> str:
    """Write the exact value in hexadecimal; widening a FLOAT is exact too."""
    return float(value).hex()


def _binary(value: Any) -> str:
    """Write bytes in hexadecimal: a geometry as MySQL stores it (SRID, WKB), a vector as floats,
    and the text of a UUID, INET4 or INET6 as MariaDB logs it."""
    if isinstance(value, str):
        return _address(value)
    if isinstance(value, dict):
        return (struct.pack("<I", value["srid"]) + bytes(value["wkb"])).hex()
    if isinstance(value, list):
        return struct.pack(f"<{len(value)}f", *value).hex()
    return bytes(value).hex()


def _address(text: str) -> str:
    if ":" in text or "." in text:
        return ip_address(text).packed.hex()
    return text.replace("-", "")


def _is_no_date(value: Any) -> bool:
    """Return True if the text is not a calendar date: zero, impossible, or before the year 1."""
    if isinstance(value, date):
        return False
    try:
        date.fromisoformat(_text(value)[:10])
    except ValueError:
        return True
    return False


def _date(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else _text(value)


def _datetime(value: Any) -> str:
    """Write six fractional digits; an instant in UTC."""
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(timezone.utc)
        return utc.replace(tzinfo=None).isoformat(" ", "microseconds")
    seconds, _, fraction = _text(value).partition(".")
    return f"{seconds}.{fraction:0<6}"


def _time(value: Any) -> str:
    """Write the number of microseconds."""
    if isinstance(value, int):
        return str(value)
    text = _text(value)
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a valid TIME")
    sign, hours, minutes, seconds, fraction = found.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
    micros = whole * 1_000_000 + int(f"{fraction or '':0<6}")
    return str(-micros if sign else micros)


class _Number(str):
    """A JSON number, in canonical digits."""

    __slots__ = ()


def _json(value: Any) -> str:
    """Write a document by value: members sorted by name, numbers without regard to their type.

    MySQL 5.7 prints a double without a fraction as an integer, and puts raw line breaks into the
    strings of binary values, which JSON forbids (hence `strict=False`)."""
    document = json.loads(_text(value), parse_float=_number, parse_int=_number, strict=False)
    pieces: list[str] = []
    _write_json(document, pieces)
    return "".join(pieces)


def _number(text: str) -> _Number:
    """Return the exact value: digits without trailing zeros, and an exponent."""
    sign, digits, exponent = Decimal(text).as_tuple()
    shown = "".join(map(str, digits)).lstrip("0")
    short = shown.rstrip("0")
    power = int(exponent) + len(shown) - len(short) if short else 0
    return _Number(f"{'-' if sign else ''}{short or '0'}e{power}")


def _write_json(value: Any, pieces: list[str]) -> None:
    if isinstance(value, dict):
        pieces.append("{")
        for name in sorted(value):
            pieces.append(f"{json.dumps(name)}:")
            _write_json(value[name], pieces)
            pieces.append(",")
        pieces.append("}")
    elif isinstance(value, list):
        pieces.append("[")
        for item in value:
            _write_json(item, pieces)
            pieces.append(",")
        pieces.append("]")
    else:
        pieces.append(value if isinstance(value, _Number) else json.dumps(value))


_WRITERS: dict[str, Callable[[Any], str]] = {
    INTEGER: _integer,
    DECIMAL: _decimal,
    DOUBLE: _double,
    TEXT: _text,
    BINARY: _binary,
    DATE: _date,
    DATETIME: _datetime,
    TIME: _time,
    JSON: _json,
}
