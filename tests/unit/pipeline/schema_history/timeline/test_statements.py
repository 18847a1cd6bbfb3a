"""The rows that every name has after one RENAME TABLE."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pipeline.schema_history import TableName
from pipeline.schema_history.timeline.statements import permutation


def table(name: str) -> TableName:
    return TableName("s", name)


def pairs(text: str) -> list[tuple[TableName, TableName]]:
    return [(table(old), table(new)) for old, new in text.split()]


@pytest.mark.parametrize(
    ("renames", "there", "moved"),
    [
        ("ab", {"b": "a"}, {"a": "b"}),
        ("ab bc", {"c": "a"}, {"a": "c"}),
        ("ax ba xb", {"a": "b", "b": "a"}, {}),
        ("ab ba", {}, {}),
        ("tx nt", {"x": "t", "t": "n"}, {"n": "t"}),
        ("ax ba cb xc", {"a": "b", "b": "c", "c": "a"}, {}),
    ],
)
def test_pairs_resolve_to_one_permutation(
    renames: str, there: dict[str, str], moved: dict[str, str]
) -> None:
    found = permutation(pairs(renames))
    expected = [
        {table(one): table(other) for one, other in mapping.items()} for mapping in (there, moved)
    ]
    assert list(found) == expected


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcdxyz")), max_size=8))
def test_the_permutation_equals_renaming_one_by_one(wanted: list[tuple[str, str]]) -> None:
    held = {name: name for name in "abcd"}
    done = []
    for old, new in wanted:
        if old in held and new not in held:  # what a server accepts
            held[new] = held.pop(old)
            done.append((table(old), table(new)))
    there, moved = permutation(done)
    assert there == {table(n): table(rows) for n, rows in held.items() if n != rows}
    places = {rows: name for name, rows in held.items()}
    assert moved == {table(name): table(places[name]) for name in "abcd" if name not in held}
