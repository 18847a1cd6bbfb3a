"""Apply a table's changes one by one, including partial images and JSON diffs.

A slow, obvious reference implementation for the pipeline's fold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]
_LEG = re.compile(r'\[(\d+)\]|\.(?:"((?:[^"\\]|\\.)*)"|([^.\["]+))')


def path_legs(path: str) -> list[str | int]:
    """Return the members and indexes of a JSON path such as `$.a[0]."b c"`."""
    assert path[0] == "$"
    legs: list[str | int] = []
    at = 1
    while at < len(path):
        found = _LEG.match(path, at)
        assert found, f"{path} at {at}"
        index, quoted, name = found.groups()
        if index is not None:
            legs.append(int(index))
        else:
            legs.append(name if quoted is None else json.loads(f'"{quoted}"'))
        at = found.end()
    return legs


def apply_diff(document: Any, diff: dict[str, Any]) -> None:
    """Apply a diff to the document in place."""
    legs: list[Any] = path_legs(diff["path"])
    *parents, last = legs
    for leg in parents:
        document = document[leg]
    if diff["op"] == "remove":
        del document[last]
    elif diff["op"] == "insert" and isinstance(document, list):
        document.insert(last, diff["value"])
    else:
        assert (diff["op"] == "insert") == (isinstance(document, dict) and last not in document)
        document[last] = diff["value"]


class Replica:
    """Rows by key, as Python values with parsed JSON; `defaults` fill columns an insert omits."""

    def __init__(self, key: str, json_columns: Iterable[str], defaults: Row) -> None:
        self._key = key
        self._json = frozenset(json_columns)
        self._defaults = defaults
        self.rows: dict[Any, Row] = {}

    def apply(self, change: Row) -> None:
        """Apply one change: a row of silver as Python values."""
        before, after = change["before"], change["after"]
        row = dict(self._defaults)
        if change["__op"] != "insert":
            row = self.rows.pop(before[self._key])
        if change["__op"] == "delete":
            return
        diffs = dict(change["__json_diff"] or ())
        left_out = {*(change["__absent_after"] or ()), *diffs}
        for name, value in after.items():
            if name in left_out:
                assert value is None
            elif name in self._json and value is not None:
                row[name] = json.loads(value)
            else:
                row[name] = value
        for name, text in diffs.items():
            row[name] = json.loads(json.dumps(row[name]))
            for diff in json.loads(text):
                apply_diff(row[name], diff)
        self.rows[row[self._key]] = row
