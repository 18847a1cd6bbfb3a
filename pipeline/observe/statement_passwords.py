"""Redaction of passwords and their hashes in logged SQL statements, by `'***'`.

MySQL logs hashes (`IDENTIFIED WITH '…' AS '…'`, in hex with print_identified_with_as_hex), MariaDB
logs statements as typed (`IDENTIFIED BY '…'`, `VIA … USING '…' OR …`). Both log the bodies of
procedures, server options (`PASSWORD '…'`) and replication options (`SOURCE_PASSWORD = '…'`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MASK = "'***'"
_MAY_HOLD_ONE = re.compile("identified|password", re.IGNORECASE)
_TOKEN = re.compile(
    r"(?P<literal>(?:[xXbBnN](?='))?'[^'\\]*(?:(?:\\.?|'')[^'\\]*)*(?:'|\Z)"
    r"|\"[^\"\\]*(?:(?:\\.?|\"\")[^\"\\]*)*(?:\"|\Z)"
    r"|0[xX][0-9A-Fa-f]+\b)"
    r"|(?P<name>`[^`]*`)"
    r"|(?P<word>[\w$]+)"
    # Only the delimiters of an executable comment are skipped: its code counts.
    r"|(?P<space>\s+|/\*M?!\d*|\*/|/\*.*?(?:\*/|\Z)|--(?=\s)[^\n]*|\#[^\n]*)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_OF_ACCOUNTS = ("BY", "AS", "USING", "REPLACE")
"""Keywords before a secret literal, anywhere after IDENTIFIED."""
_PASSWORD = "PASSWORD"
_BETWEEN = frozenset("=(:")
"""Signs allowed between PASSWORD and its literal."""


def without_passwords(statement: str) -> str:
    """Return the statement without passwords; better too much redacted than too little."""
    if not _MAY_HOLD_ONE.search(statement):
        return statement
    return "".join(_masked(statement))


def _masked(statement: str) -> Iterator[str]:
    identified = for_account = False
    last = ""
    for token in _TOKEN.finditer(statement):
        kind, text = token.lastgroup, token[0]
        if kind == "literal":
            secret = last.endswith(_PASSWORD) or (identified and last in _OF_ACCOUNTS)
            yield MASK if secret else text
            last = ""
            continue
        yield text
        if kind == "word":
            word = text.upper()
            # SET PASSWORD FOR 'user'@'host' = '…', or TO
            for_account = (last == _PASSWORD and word == "FOR") or for_account
            identified = identified or word == "IDENTIFIED"
            last = _PASSWORD if for_account and word == "TO" else word
        elif kind == "sign" and for_account and text == "=":
            last = _PASSWORD
        elif kind == "name" or (kind == "sign" and text not in _BETWEEN):
            last = ""
