"""ENUM and SET columns."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from decoder.columns.cells import CellError
from decoder.columns.charsets import REPLACEMENT
from decoder.constants import ColumnType as T
from decoder.errors import UnsupportedError
from tests.support.decoder.cells import column, values
from tests.support.decoder.kernels import examples

TEXT = st.text(max_size=40).filter(lambda s: not {",", REPLACEMENT} & set(s))
LABELS = st.lists(TEXT, min_size=1, unique=True)


@examples(60)
@given(st.data())
def test_enums_are_their_labels(data: st.DataObject) -> None:
    labels = data.draw(LABELS)
    size = data.draw(st.sampled_from([1, 2]))
    indexes = data.draw(st.lists(st.none() | st.integers(0, len(labels)), max_size=70))
    stored = [None if i is None else i.to_bytes(size, "little") for i in indexes]
    expected = [None if i is None else ["", *labels][i] for i in indexes]
    assert values(column(T.ENUM, length=size, labels=tuple(labels)), stored) == expected


def test_an_enum_with_the_maximum_of_labels() -> None:
    labels = tuple(f"{number:x}" for number in range(1, 65_536))
    definition = column(T.ENUM, length=2, labels=labels)
    indexes = [0, 1, 255, 256, 32_767, 32_768, 65_534, 65_535]
    stored = [index.to_bytes(2, "little") for index in indexes]
    assert values(definition, stored) == ["", *(f"{index:x}" for index in indexes[1:])]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
@examples(40)
@given(data=st.data())
def test_sets_are_their_comma_separated_members(size: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8 * size))
    labels = [f"m{n}" + "é" * (n % 5) * 9 for n in range(count)]
    masks = data.draw(st.lists(st.none() | st.integers(0, (1 << count) - 1), max_size=20))
    stored = [None if m is None else m.to_bytes(size, "little") for m in masks]
    expected = [
        None if m is None else ",".join(label for n, label in enumerate(labels) if m >> n & 1)
        for m in masks
    ]
    assert values(column(T.SET, length=size, labels=tuple(labels)), stored) == expected


@pytest.mark.parametrize(
    ("kind", "size", "bad"), [(T.ENUM, 1, b"\x03"), (T.ENUM, 2, b"\x00\x01"), (T.SET, 1, b"\x04")]
)
def test_a_number_without_a_label_is_malformed(kind: T, size: int, bad: bytes) -> None:
    with pytest.raises(CellError) as caught:
        values(column(kind, length=size, labels=("a", "b")), [bytes(size), None, bad])
    assert caught.value.row == 2


@pytest.mark.parametrize("kind", [T.ENUM, T.SET])
def test_a_column_without_labels_is_unsupported(kind: T) -> None:
    with pytest.raises(UnsupportedError, match="labels"):
        values(column(kind, length=1), [b"\x01"])


@pytest.mark.parametrize("kind", [T.ENUM, T.SET])
def test_labels_invalid_in_their_charset_are_unsupported(kind: T) -> None:
    """As in CHARACTER SET binary, two of them could become the same text."""
    with pytest.raises(UnsupportedError, match="invalid in its charset"):
        values(column(kind, length=1, labels=("a", f"b{REPLACEMENT}")), [b"\x01"])
