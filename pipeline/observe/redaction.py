"""Secrets, kept out of what is written for others to read: log lines and the records of runs.

Errors of Spark and of stores quote what they were given. So the values of secrets that this process
knows are looked for in every text, and so is what has the form of one: in a URL, behind the name of
one. Too much goes rather than too little.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from pipeline.observe.statement_passwords import without_passwords

MASK = "***"
SHORTEST = 4
"""A value of fewer characters is a word of the text by chance."""
WHOLE_WORDS = 12
"""A value of fewer characters is one only where no letter or digit stands beside it."""
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
"""Words that lines say of themselves: as a value they tell nothing apart, and are left."""

_NAMED = (
    r"(?:secret|passw|passphrase|[._-]pwd\b|(?:\b|[._-])pass\b|token|credential|signature"
    r"|(?:access|account|storage|api|private|encryption|shared|auth)[._-]?key"
    r"|connection[._-]?string|\bsas\b)"
)
_SECRET_NAME = re.compile(_NAMED, re.IGNORECASE)
# What is about a secret, and is none.
_PLAIN_NAME = re.compile(
    r"(?:provider|providers|provider[._-]list|type|class|file|path|enabled|url|uri|endpoint)$",
    re.IGNORECASE,
)
# Lengths are bounded, so that no text takes longer than it is long.
# A secret may hold slashes and @; what follows a host is its port; s3 has buckets, without ports.
_USER_INFO = re.compile(
    r"(\bs3[an]?://(?=[^\s@'\"]{0,2000}@)|://)"
    r"(?:(?<=s3://)|(?<=s3[an]://)|(?![^/\s:@'\"]{0,200}:\d{1,5}(?:[/,;?#\s'\"]|$)))"
    r"([^/\s:@'\"]{0,200}:[^\s'\"]{1,2000})@"
)
# Alone before a host it may be a token; before the host of Azure it is the container. What messages
# of ours give as the form of a URL is neither.
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


def is_secret(name: str) -> bool:
    """Whether a setting or variable of this name has a value that nobody else should read."""
    return bool(_SECRET_NAME.search(name)) and not _PLAIN_NAME.search(name)


class Redaction:
    """Replaces what must not be read by `***`: what it has learned, and what the environment has.

    `environment` is looked at each time: credentials come into it late.
    """

    def __init__(
        self, secrets: Iterable[str] = (), environment: Mapping[str, str] = os.environ
    ) -> None:
        self._secrets = frozenset(secrets)
        self._environment = environment

    def learn(self, secrets: Iterable[str]) -> None:
        """These are secrets too."""
        self._secrets |= frozenset(secrets)

    def __call__(self, text: str) -> str:
        """The text without them."""
        outside = (value for name, value in self._environment.items() if is_secret(name))
        if known := _pattern(self._secrets.union(outside)):
            text = known.sub(MASK, text)
        text = without_passwords(text)
        text = _USER.sub(rf"\1{MASK}@", _USER_INFO.sub(rf"\1{MASK}@", text))
        return _ASSIGNED.sub(rf"\1{MASK}", _QUOTED.sub(rf'\1"{MASK}"', text))

    def value(self, value: Any) -> Any:
        """The same of texts in a value; names in it, and what is no text, stay as they are."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {name: self.value(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        return value


redact = Redaction()
"""This process's: every line and record goes through it."""


def shown_statement(text: str) -> str:
    """A statement of a log without passwords: of accounts, and of servers in URLs. All else stays,
    since it is what is looked at."""
    return _USER_INFO.sub(rf"\1{MASK}@", without_passwords(text))


def secrets_in(values: Mapping[str, Any]) -> Iterator[str]:
    """The secrets in settings: values of such a name, and what stands in texts in such a form."""
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
    """Finds any of them, also as JSON and URLs have it; the longest first: one may hold another."""
    kept = [s for s in secrets if len(s) >= SHORTEST and s.lower() not in ORDINARY]
    forms = {form for s in kept for form in (s, json.dumps(s)[1:-1], quote(s, safe=""), quote(s))}
    texts = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(map(_sought, texts))) if texts else None


def _sought(text: str) -> str:
    if len(text) >= WHOLE_WORDS:
        return re.escape(text)
    return rf"(?<![A-Za-z0-9]){re.escape(text)}(?![A-Za-z0-9])"
