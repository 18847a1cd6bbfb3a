"""Passwords and their hashes in SQL statements, as servers log them, replaced by `'***'`.

MySQL logs hashes (`IDENTIFIED WITH '…' AS '…'`, as hex with print_identified_with_as_hex), MariaDB
statements as they were typed (`IDENTIFIED BY '…'`, `VIA … USING '…' OR …`), both what is inside of
procedures, options of servers (`PASSWORD '…'`) and of replication (`SOURCE_PASSWORD = '…'`).
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
    # Code in comments counts.
    r"|(?P<space>\s+|/\*M?!\d*|\*/|/\*.*?(?:\*/|\Z)|--(?=\s)[^\n]*|\#[^\n]*)"
    r"|(?P<sign>.)",
    re.DOTALL,
)
_OF_ACCOUNTS = ("BY", "AS", "USING", "REPLACE")
"""Before a literal, behind IDENTIFIED."""
_PASSWORD = "PASSWORD"
_BETWEEN = frozenset("=(:")
"""What may stand between PASSWORD and a literal."""


def without_passwords(statement: str) -> str:
    """The statement without its passwords. Too much goes rather than too little."""
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
