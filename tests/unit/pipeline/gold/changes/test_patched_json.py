"""JSON diffs applied to text: the result is the text that silver would have for the document."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from pipeline.gold.changes.patched_json import (
    JsonDiffError,
    apply_diffs,
    parsed,
    path_legs,
    written,
)

Diff = tuple[str, str, str | None]
CASES: dict[str, tuple[str, list[Diff], str]] = {
    "a member is replaced": ('{"a":1}', [("replace", "$.a", "2")], '{"a":2}'),
    "members come in MySQL's order": (
        '{"b":1,"aa":2}',
        [("insert", "$.c", "3"), ("insert", '$."é"', "4")],
        '{"b":1,"c":3,"aa":2,"é":4}',
    ),
    "a member is removed": ('{"a":1,"b":2}', [("remove", "$.a", None)], '{"b":2}'),
    "the last member": ('{"a":1}', [("remove", "$.a", None)], "{}"),
    "in an array later elements move on": (
        "[1,2]",
        [("insert", "$[1]", '"x"'), ("remove", "$[0]", None)],
        '["x",2]',
    ),
    "after the end of an array": ("[]", [("insert", "$[0]", "true")], "[true]"),
    "deep down": (
        '{"a":[{"b c":null}]}',
        [("replace", '$.a[0]."b c"', "[]")],
        '{"a":[{"b c":[]}]}',
    ),
    "the document itself": ('{"a":1}', [("replace", "$", "[1.0]")], "[1.0]"),
    "numbers keep their digits": (
        '{"d":1.10,"e":1e300,"i":18446744073709551615}',
        [("insert", "$.x", "0.5")],
        '{"d":1.10,"e":1e300,"i":18446744073709551615,"x":0.5}',
    ),
    "strings are spelled as silver does": (
        r'{"a":"\u0001\n\"€"}',
        [("insert", "$.b", r'"\t"')],
        r'{"a":"\u0001\n\"€","b":"\t"}',
    ),
    "names with quotes and dots": (
        r'{"a\".b":1}',
        [("replace", r'$."a\".b"', "2")],
        r'{"a\".b":2}',
    ),
}


def text_of(diffs: list[Diff]) -> str:
    objects = []
    for op, path, value in diffs:
        value_text = f',"value":{value}' if value is not None else ""
        objects.append(f'{{"op":"{op}","path":{json.dumps(path)}{value_text}}}')
    return f"[{','.join(objects)}]"


@pytest.mark.parametrize(("document", "diffs", "expected"), CASES.values(), ids=CASES.keys())
def test_diffs(document: str, diffs: list[Diff], expected: str) -> None:
    assert apply_diffs(document, [text_of(diffs)]) == expected
    assert apply_diffs(document, [text_of([diff]) for diff in diffs]) == expected


@pytest.mark.parametrize(
    ("document", "diff"),
    [
        ('{"a":1}', ("replace", "$.b", "2")),
        ('{"a":1}', ("insert", "$.a", "2")),
        ('{"a":1}', ("remove", "$[0]", None)),
        ('{"a":1}', ("replace", "$.a.b", "2")),
        ("[1]", ("replace", "$[1]", "2")),
        ("[1]", ("insert", "$.a", "2")),
        ('"text"', ("insert", "$[0]", "2")),
        ("{}", ("replace", "$..", "2")),
    ],
)
def test_a_diff_for_another_document_is_refused(document: str, diff: Diff) -> None:
    with pytest.raises(JsonDiffError):
        apply_diffs(document, [text_of([diff])])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(value=VALUES)
def test_parsing_and_writing_keeps_the_text(value: object) -> None:
    assert json.loads(written(parsed(json.dumps(value)))) == value


@given(names=st.lists(st.text(), min_size=1, max_size=4))
def test_paths_of_quoted_names(names: list[str]) -> None:
    path = "$" + "".join(f".{json.dumps(name, ensure_ascii=False)}" for name in names)
    assert path_legs(path) == names
