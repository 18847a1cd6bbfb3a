"""XA transactions: their names and outcomes.

A prepared transaction (which ends with XA_PREPARE) is decided by a later transaction, an
`XA COMMIT` or `XA ROLLBACK` with the same name, possibly in another file. Its name can then be
reused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from decoder.errors import UnsupportedError
from decoder.events.xa_prepare import XaPrepareEvent
from decoder.transactions.boundaries import Statement

XaEnd = Literal["prepare", "one_phase", "commit", "rollback"]

_DECISION = re.compile(r"\s*XA\s+(?:COMMIT|ROLLBACK)\s+(.*?)(?:\s+ONE\s+PHASE)?[\s;]*", re.I | re.S)
_PART = r"(?:[xX]'([0-9a-fA-F]*)'|0x([0-9a-fA-F]+)|'([^'\\]*)')"
# Servers always write X'…',X'…',n; the shorter forms are also valid SQL.
_NAME = re.compile(rf"{_PART}(?:\s*,\s*{_PART}(?:\s*,\s*(\d+))?)?")
_ENDS: dict[int, XaEnd] = {Statement.XA_COMMIT: "commit", Statement.XA_ROLLBACK: "rollback"}


@dataclass(frozen=True, slots=True)
class Xa:
    """The role of a transaction of the log in the XA transaction `name`.

    `prepare`: it contains the rows, which are not committed yet; `one_phase`: it contains and
    commits them; `commit`, `rollback`: it decides the latest transaction prepared with this name.
    """

    name: str
    end: XaEnd


def prepared(event: XaPrepareEvent) -> Xa:
    """Return the role of a transaction that ends with XA_PREPARE."""
    end: XaEnd = "one_phase" if event.one_phase else "prepare"
    return Xa(_name(event.format_id, event.global_id, event.branch), end)


def decided(query: str, statement: int) -> Xa:
    """Return the role of `XA COMMIT` or `XA ROLLBACK`; raise UnsupportedError for an odd name."""
    match = _DECISION.fullmatch(query)
    name = _NAME.fullmatch(match[1]) if match else None
    if name is None:
        raise UnsupportedError(f"the XA transaction name in {query!r} cannot be read")
    *parts, format_id = name.groups()
    global_id, branch = (_bytes(parts[:3]), _bytes(parts[3:]))
    return Xa(_name(int(format_id or 1), global_id, branch), _ENDS[statement])


def _bytes(forms: list[str | None]) -> bytes:
    hexadecimal = forms[0] or forms[1] or ""
    return bytes.fromhex(hexadecimal) or (forms[2] or "").encode()


def _name(format_id: int, global_id: bytes, branch: bytes) -> str:
    return f"{format_id}:{global_id.hex()}:{branch.hex()}"
