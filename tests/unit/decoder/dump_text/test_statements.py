"""Ends of statements, with the input split at any byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from decoder.columns.cells import SLACK
from decoder.dump_text.statements import statement_end

ENDS: list[tuple[str, dict[str, Any], str]] = [
    ("SELECT 1;", {}, "SELECT 1;"),
    ("SELECT ';' , \"a;\", `b;`; x", {}, "SELECT ';' , \"a;\", `b;`;"),
    ("SELECT '\\';'; x", {}, "SELECT '\\';';"),
    ("SELECT '\\'; x'", {"escapes": False}, "SELECT '\\';"),
    ("/* ; */ SELECT 1; x", {}, "/* ; */ SELECT 1;"),
    ("SELECT 1 -- ;\n; x", {}, "SELECT 1 -- ;\n;"),
    ("SELECT 1 # ;\n; x", {}, "SELECT 1 # ;\n;"),
    ("SELECT 1--1; x", {}, "SELECT 1--1;"),
    ("BEGIN a; b; END;; x", {"twice": True}, "BEGIN a; b; END;;"),
]


@pytest.mark.parametrize(("text", "options", "statement"), ENDS)
def test_finds_the_end_wherever_the_input_is_split(
    text: str, options: dict[str, Any], statement: str
) -> None:
    escapes, twice = options.get("escapes", True), options.get("twice", False)
    encoded = text.encode() + b"\n\n\n"
    buffer = np.frombuffer(bytearray(encoded + bytes(SLACK)), np.uint8)
    for split in range(len(encoded) + 1):
        state = np.zeros(2, np.int64)
        end = statement_end(buffer, 0, split, escapes, 59, twice, state)
        if end < 0:
            end = statement_end(buffer, int(state[1]), len(encoded), escapes, 59, twice, state)
        assert encoded[:end].decode() == statement
