"""Secrets, kept out of what is written for others to read: log lines and the records of runs.

Errors of Spark and of stores quote what they were given. So the values of secrets that this process
knows are looked for in every text, and what has the form of one in a URL.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping

from pipeline.settings import Settings

MASK = "***"
SHORTEST = 6
"""A value of fewer characters (`true`, `1234`) is a word of the text by chance."""

_SECRET_NAME = re.compile(
    r"secret|passw|token|credential|access[._-]?key|account[._-]?key|sas\.fixed", re.IGNORECASE
)
# A secret may hold slashes; what follows a host is its port.
_USER_INFO = re.compile(r"(://)[^/\s:@'\"]*:(?!\d+/)[^\s@'\"]+@")
_QUERY = re.compile(
    r"([?&](?:sig|signature|token|password|secret|x-[\w-]*(?:signature|token|credential))=)"
    r"[^&\s'\"]+",
    re.IGNORECASE,
)


class Redaction:
    """Replaces what must not be read by `***`."""

    def __init__(self, secrets: Iterator[str] | tuple[str, ...] = ()) -> None:
        found = {form for secret in secrets for form in (secret, json.dumps(secret)[1:-1])}
        # The longest first: one may hold another.
        texts = sorted((s for s in found if len(s) >= SHORTEST), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, texts))) if texts else None

    @classmethod
    def of(cls, settings: Settings, environment: Mapping[str, str] = os.environ) -> Redaction:
        """What the settings and the environment hold of secrets is known."""
        return cls(_secrets(settings, environment))

    def __call__(self, text: str) -> str:
        """The text without them."""
        if self._known:
            text = self._known.sub(MASK, text)
        return _QUERY.sub(rf"\1{MASK}", _USER_INFO.sub(rf"\1{MASK}@", text))


def _secrets(settings: Settings, environment: Mapping[str, str]) -> Iterator[str]:
    yield from (password.get_secret_value() for password in settings.encryption.passwords.values())
    for named in (settings.spark.conf, environment):
        yield from (value for name, value in named.items() if _SECRET_NAME.search(name))
