"""Parsing @@gtid_owned, the transactions that are being committed."""

from __future__ import annotations

import pytest

from pipeline.source.server.log_place import owned_gtids

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (f"{A}:5#12", [f"{A}:5"]),
        (f"{A}:5#12:7#13", [f"{A}:5", f"{A}:7"]),
        (f"{A}:5#12,\n{B}:1#3", [f"{A}:5", f"{B}:1"]),
        (f"{A}:5#12:blue:6#13:7#14", [f"{A}:5", f"{A}:blue:6", f"{A}:blue:7"]),
    ],
)
def test_owned_gtids(text: str, expected: list[str]) -> None:
    assert list(owned_gtids(text)) == expected
