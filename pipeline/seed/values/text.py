"""Read printed text: CHAR, VARCHAR and TEXT, labels of ENUM and SET, and JSON.

JSON is converted to the decoder's spelling: no spaces, shortest doubles. MySQL's own text
(sql-common/json_dom.cc, `wrapper_to_string`) has a space after each comma and colon. A number with
a point or an exponent may be a double or a decimal, which the text does not distinguish: one with
at most 17 significant digits is spelled as the decoder spells doubles. Both spellings have the
stored value. MySQL 5.7 prints a double without a fraction as an integer, which it then becomes, and
binary values in base64 with raw line breaks, which JSON strings may not have.
"""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from decoder.columns import CellError, Column, binary_reader, charset_reader, double_text
from decoder.constants import ColumnType
from decoder.model import ColumnDefinition
from pipeline.seed.values.cell_bytes import PrintedReader, as_stored, refuse

_BETWEEN = b"\0"
"""Separates two documents: JSON contains it only as an escape."""
_STRING = rb'("[^"\\\0]*(?:\\.[^"\\\0]*)*")'
_SPACED = re.compile(_STRING + rb"|[ \t\r\n]+", re.DOTALL)
_IN_STRINGS = re.compile(_STRING, re.DOTALL)
_UNUSUAL = re.compile(rb"\d[eE]|0\.000|\d{16}|\.\d*0(?!\d)")
"""Numbers that MySQL and the decoder may spell differently (also matches text in strings)."""
_NUMBER = re.compile(_STRING + rb"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.DOTALL)
_EXACT_DIGITS = 17
"""The most significant digits of a double; a number with more is a decimal."""
_REASON = "it is not valid JSON"


def texts(printed: pa.Array, reason: str) -> pa.Array:
    """Return a cell array as strings. Raises CellError for bytes that are not valid UTF-8."""
    try:
        return printed.cast(pa.string())
    except pa.ArrowInvalid:
        raise CellError(first_that_fails(printed, pa.string()), reason) from None


def first_that_fails(values: pa.Array, kind: pa.DataType) -> int:
    """Return the first row that fails to cast, by bisection; one is known to fail."""
    start, stop = 0, len(values)
    while stop - start > 1:
        middle = (start + stop) // 2
        try:
            values.slice(start, middle - start).cast(kind)
            start = middle
        except pa.ArrowInvalid:
            stop = middle
    return start


def printed_text(column: ColumnDefinition, kind: pa.DataType) -> PrintedReader:
    """Return the reader of a CHAR, VARCHAR or TEXT, or of bytes if that is the Arrow `kind`.

    CHAR loses the trailing spaces that PAD_CHAR_TO_FULL_LENGTH prints.
    """
    if pa.types.is_binary(kind):
        return as_stored(binary_reader(column))
    read = as_stored(charset_reader("utf8mb4"))
    if column.type != ColumnType.STRING:
        return read

    def stripped(printed: pa.Array) -> Column:
        text = read(printed)
        return Column(pc.utf8_rtrim(text.array, " "), text.lossy)

    return stripped


def printed_labels(column: ColumnDefinition) -> PrintedReader:
    """Return the reader of ENUM or SET, whose labels are known."""
    # The empty text is an ENUM's error value (index 0), and a SET without members.
    labels = frozenset((*column.labels, ""))
    is_enum = column.type == ColumnType.ENUM
    reason = "it is not a label of the ENUM" if is_enum else "it has unknown members of the SET"

    def read(printed: pa.Array) -> Column:
        text = texts(printed, reason)
        found = pc.unique(text.drop_null()).to_pylist()
        members = ((one, [one] if is_enum else one.split(",")) for one in found)
        unknown = [one for one, named in members if not labels.issuperset(named)]
        if unknown:
            refuse(pc.is_in(text, pa.array(unknown, pa.string())), reason)
        return Column(text)

    return read


def printed_documents(printed: pa.Array) -> Column:
    """Return JSON documents, each validated, in the decoder's spelling."""
    text = texts(printed, _REASON)
    documents = [_in_lines(one) for one in text.drop_null().cast(pa.binary()).to_pylist()]
    kept = np.flatnonzero(text.is_valid().to_numpy(zero_copy_only=False))
    for place, document in enumerate(documents):
        if not _is_json(document):
            raise CellError(int(kept[place]), _REASON)
    if not documents:
        return Column(text)
    spelled = _SPACED.sub(rb"\1", _BETWEEN.join(documents)).split(_BETWEEN)
    spelled = [_spelled(one) if _UNUSUAL.search(one) else one for one in spelled]
    places = np.full(len(text), -1, np.int64)
    places[kept] = np.arange(len(kept))
    indices = pa.array(places, mask=places < 0)
    return Column(pa.array(spelled, pa.binary()).cast(pa.string()).take(indices))


def _in_lines(document: bytes) -> bytes:
    """Escape raw line breaks in strings."""
    if b"\n" not in document:
        return document
    return _IN_STRINGS.sub(lambda found: found[0].replace(b"\n", rb"\n"), document)


def _is_json(document: bytes) -> bool:
    try:
        _DECODER.decode(document.decode())
    except (ValueError, RecursionError):
        return False
    return _BETWEEN not in document


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _spelled(document: bytes) -> bytes:
    return _NUMBER.sub(_number, document)


def _number(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if match[1] is not None or text.lstrip(b"-").isdigit():
        return text
    digits = re.split(rb"[eE]", text)[0].replace(b".", b"").strip(b"-").strip(b"0")
    value = float(text)
    if len(digits) > _EXACT_DIGITS or not math.isfinite(value) or text.rstrip(b"0") != _bare(text):
        return text
    return double_text(value)


def _bare(text: bytes) -> bytes:
    """Strip trailing zeros, unless they are those of a decimal: not of `1.0` or an exponent."""
    decimal = b"." in text and text.endswith(b"0") and not text.endswith(b".0")
    return text if decimal and b"e" not in text.lower() else text.rstrip(b"0")
