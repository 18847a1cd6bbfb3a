"""Environment variables in settings: `${NAME}`, `${NAME:-default}`; `$${` is a literal `${`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.observe.redaction import is_secret

_REFERENCE = re.compile(
    r"(?P<literal>\$\$\{)"
    r"|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<has_default>:-(?P<default>[^{}]*))?\}"
    r"|(?P<malformed>\$\{[^}\s]*\}?)"
)
_FORMS = "${NAME} and ${NAME:-default} are environment variables; a literal ${ is written $${."


class VariableError(ValueError):
    """A reference without a value, or a malformed one; `remedy` is what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.remedy = remedy


@dataclass
class Variables:
    """Replaces references in texts by the environment's values, and collects the secret ones."""

    environment: Mapping[str, str]
    secrets: set[str] = field(default_factory=set)

    def replaced(self, text: str, *, secret: bool = False) -> str:
        """Return the text with each variable replaced; `secret`: all values in it are secret.

        As in a shell, a default is also used for a variable that is set but empty. Raises
        VariableError for a variable that is not set, and for `${` that does not begin a reference.
        """
        return _REFERENCE.sub(lambda found: self._value(found, secret=secret), text)

    def _value(self, found: re.Match[str], *, secret: bool) -> str:
        if found["literal"]:
            return "${"
        if found["malformed"]:
            raise VariableError("has a ${ that does not begin a variable.", _FORMS)
        name = found["name"]
        value = self.environment.get(name)
        if found["has_default"]:
            value = value or found["default"]
        if value is None:
            raise VariableError(
                f"uses the environment variable {name}, which is not set.",
                f"Set {name}, or write ${{{name}:-…}} with a default. A literal ${{ is $${{.",
            )
        if value and (secret or is_secret(name)):
            self.secrets.add(value)
        return value
