"""Convert JSON as MySQL prints it to the decoder's spelling: no spaces, shortest doubles.

MySQL's own text (sql-common/json_dom.cc, `wrapper_to_string`) has a space after each comma and
colon. A number with a point or an exponent may be a double or a decimal, which the text does not
distinguish: one with at most 17 significant digits is spelled as the decoder spells doubles. Both
spellings have the stored value. MySQL 5.7 prints a double without a fraction as an integer, which
it then becomes, and binary values in base64 with raw line breaks, which JSON strings may not have.
"""

from __future__ import annotations

import json
import math
import re
import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from decoder import TypeOptions
from decoder.columns.arrays import allocate
from decoder.columns.cells import CellError, Column
from decoder.columns.json_numbers import LONGEST_DOUBLE, write_double
from decoder.columns.registry import reader
from decoder.model.definition import ColumnDefinition
from pipeline.seed.values.numbers import texts

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


@dataclass(frozen=True, slots=True)
class DocumentsReader:
    """Reader of JSON, as text."""

    arrow_type: pa.DataType

    def read(self, printed: pa.Array) -> Column:
        """Return the documents, each validated, in the decoder's spelling."""
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
        return Column(pa.array(spelled, pa.binary()).cast(self.arrow_type).take(indices))


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
    _, room = allocate(LONGEST_DOUBLE)
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return room[: write_double(room, 0, bits)].tobytes()


def _bare(text: bytes) -> bytes:
    """Strip trailing zeros, unless they are those of a decimal: not of `1.0` or an exponent."""
    decimal = b"." in text and text.endswith(b"0") and not text.endswith(b".0")
    return text if decimal and b"e" not in text.lower() else text.rstrip(b"0")


def printed_documents(column: ColumnDefinition) -> DocumentsReader:
    """Return the reader of a JSON column."""
    return DocumentsReader(reader(column, TypeOptions()).arrow_type)
