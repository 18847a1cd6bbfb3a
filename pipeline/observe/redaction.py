"""Redaction of secrets in log lines, run records and logged SQL statements.

Errors of Spark and of stores quote their arguments. So every text is searched for the values of the
secrets that this process knows, and for anything in the form of a secret: in a URL, or after the
name of one. Better to redact too much than too little.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

MASK = "***"
SHORTEST = 4
"""Shorter values are not redacted: they occur in texts by chance."""
WHOLE_WORDS = 12
"""Shorter values are redacted only as whole words, without a letter or digit next to them."""
ORDINARY = frozenset(
    {
        *("true", "false", "none", "null", "default", "password", "secret", "token", "localhost"),
        *("source", "lake", "binlogs", "binlog", "mysql", "mariadb", "spark", "log", "logger"),
        *("bronze", "silver", "gold", "maintenance", "layer", "layers", "batch", "batches"),
        *("run", "ingest", "decode", "apply", "retry", "command", "event", "message", "error"),
        *("file", "files", "bytes", "rows", "table", "tables", "segment", "segments", "events"),
        *("time", "level", "seconds", "done", "failed", "fault", "faults", "gap", "gaps", "notes"),
    }
)
"""Words of Binlake's own log lines, never redacted even if they are the value of a secret."""

_NAMED = (
    r"(?:secret|passw|passphrase|[._-]pwd\b|(?:\b|[._-])pass\b|token|credential|signature"
    r"|(?:access|account|storage|api|private|encryption|shared|auth)[._-]?key"
    r"|connection[._-]?string|\bsas\b)"
)
_SECRET_NAME = re.compile(_NAMED, re.IGNORECASE)
# Names of settings about a secret whose value is not secret itself.
_PLAIN_NAME = re.compile(
    r"(?:provider|providers|provider[._-]list|type|class|file|path|enabled|url|uri|endpoint)$",
    re.IGNORECASE,
)
# Lengths are bounded so that the time is linear in the text's length.
# A secret may contain slashes and @. After a host follows its port, but an s3 bucket has no port.
_USER_INFO = re.compile(
    r"(\bs3[an]?://(?=[^\s@'\"]{0,2000}@)|://)"
    r"(?:(?<=s3://)|(?<=s3[an]://)|(?![^/\s:@'\"]{0,200}:\d{1,5}(?:[/,;?#\s'\"]|$)))"
    r"([^/\s:@'\"]{0,200}:[^\s'\"]{1,2000})@"
)
# A user name without a password may be a token; in Azure's URLs it is the container. `user@host:`
# is the placeholder of Binlake's own messages.
_USER = re.compile(
    r"(?<!abfs)(?<!abfss)(?<!wasb)(?<!wasbs)(://)(?!user@host:)([^/\s:@'\"?#*]{1,2000})@"
)
_ASSIGNED = re.compile(
    r"(?<![\w.-])((?:[\w.-]{0,200}" + _NAMED + r"[\w.-]{0,200}|sig|pwd)=)"
    r"(\"[^\"]*\"|'[^']*'|[^&;,\s'\"]+)",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"((['\"])[\w.-]{0,200}" + _NAMED + r"[\w.-]{0,200}\2\s*:\s*)(\"[^\"]*\"|'[^']*')",
    re.IGNORECASE,
)

_MAY_HOLD_PASSWORD = re.compile("identified|password", re.IGNORECASE)
_SQL_TOKEN = re.compile(
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


def is_secret(name: str) -> bool:
    """Return True if the value of a setting or variable of this name is secret."""
    return bool(_SECRET_NAME.search(name)) and not _PLAIN_NAME.search(name)


class Redaction:
    """Replacement of secrets by `***`: those given or learned, and those of the environment.

    `environment` is read at each call, since credentials may be set late.
    """

    def __init__(
        self, secrets: Iterable[str] = (), environment: Mapping[str, str] = os.environ
    ) -> None:
        self._secrets = frozenset(secrets)
        self._environment = environment

    def learn(self, secrets: Iterable[str]) -> None:
        """Redact these secrets too from now on."""
        self._secrets |= frozenset(secrets)

    def __call__(self, text: str) -> str:
        """Return the text without secrets."""
        outside = (value for name, value in self._environment.items() if is_secret(name))
        if known := _pattern(self._secrets.union(outside)):
            text = known.sub(MASK, text)
        text = without_passwords(text)
        text = _USER.sub(rf"\1{MASK}@", _USER_INFO.sub(rf"\1{MASK}@", text))
        return _ASSIGNED.sub(rf"\1{MASK}", _QUOTED.sub(rf'\1"{MASK}"', text))

    def value(self, value: Any) -> Any:
        """Redact all strings in a value; keys and values of other types are kept."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {name: self.value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value


redact = Redaction()
"""The redaction of this process: every log line and run record passes through it."""


def shown_statement(text: str) -> str:
    """Return a logged statement for display, without passwords of accounts and in URLs. The rest is
    kept: the statement itself is what the user asked for."""
    return _USER_INFO.sub(rf"\1{MASK}@", without_passwords(text))


def secrets_in(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the secrets in settings: values with a secret's name, and secrets inside of strings."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from secrets_in(value)
        elif isinstance(value, str):
            if is_secret(name):
                yield value
            for _, info in _USER_INFO.findall(value):
                yield info.split(":", 1)[1]
            for _, assigned in _ASSIGNED.findall(value):
                yield assigned.strip("'\"")


@lru_cache(maxsize=64)
def _pattern(secrets: frozenset[str]) -> re.Pattern[str] | None:
    """Return a pattern for all secrets, also as escaped in JSON and URLs; the longest come first,
    since one may contain another."""
    kept = [s for s in secrets if len(s) >= SHORTEST and s.lower() not in ORDINARY]
    forms = {form for s in kept for form in (s, json.dumps(s)[1:-1], quote(s, safe=""), quote(s))}
    texts = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(map(_pattern_of, texts))) if texts else None


def _pattern_of(text: str) -> str:
    if len(text) >= WHOLE_WORDS:
        return re.escape(text)
    return rf"(?<![A-Za-z0-9]){re.escape(text)}(?![A-Za-z0-9])"


def without_passwords(statement: str) -> str:
    """Return a SQL statement with its passwords and their hashes replaced by `'***'`.

    MySQL logs hashes (`IDENTIFIED WITH '…' AS '…'`, in hex with print_identified_with_as_hex),
    MariaDB logs statements as typed (`IDENTIFIED BY '…'`, `VIA … USING '…' OR …`). Both log the
    bodies of procedures, server options (`PASSWORD '…'`) and replication options
    (`SOURCE_PASSWORD = '…'`).
    """
    if not _MAY_HOLD_PASSWORD.search(statement):
        return statement
    return "".join(_masked(statement))


def _masked(statement: str) -> Iterator[str]:
    identified = for_account = False
    last = ""
    for token in _SQL_TOKEN.finditer(statement):
        kind, text = token.lastgroup, token[0]
        if kind == "literal":
            secret = last.endswith(_PASSWORD) or (identified and last in _OF_ACCOUNTS)
            yield f"'{MASK}'" if secret else text
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
