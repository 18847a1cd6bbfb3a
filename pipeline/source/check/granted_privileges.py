"""A user's privileges, parsed from SHOW GRANTS.

Format: https://dev.mysql.com/doc/refman/9.7/en/show-grants.html. Its text is never shown: MariaDB's
contains the password hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.lake.sql_text import quoted, unquoted
from pipeline.settings.settings import SYSTEM_SCHEMAS

ALL = "ALL PRIVILEGES"
_NAME = r"(\*|`(?:[^`]|``)+`)"
_GRANT = re.compile(rf"(GRANT|REVOKE) (.+?) ON {_NAME}\.{_NAME} (?:TO|FROM) ")
# A column privilege does not count as one on the table.
_PRIVILEGE = re.compile(r"([A-Z_ ]+?)(\s*\([^)]*\))?(?:,\s*|$)")


@dataclass(frozen=True, slots=True)
class Scope:
    """Scope of a grant: `*.*`, a schema's tables, or one table; None is the asterisk."""

    schema: str | None = None
    table: str | None = None

    def granted(self, *, wildcards: bool = True) -> str:
        """Return the scope for a GRANT, where `_` and `%` in a schema may be `wildcards`."""
        if self.schema is None:
            return "*.*"
        if self.table is not None:
            return f"{quoted(self.schema)}.{quoted(self.table)}"
        pattern = re.sub(r"([\\_%])", r"\\\1", self.schema) if wildcards else self.schema
        return f"{quoted(pattern)}.*"


@dataclass(frozen=True, slots=True)
class Grant:
    """Privileges that a line of SHOW GRANTS grants on `scope`, or, if `revoked`, revokes."""

    privileges: frozenset[str]
    scope: Scope
    revoked: bool = False

    def covers(self, names: frozenset[str], scope: Scope, *, wildcards: bool) -> bool:
        """Return True if it includes one of the privileges `names` on all of `scope`."""
        if not self.privileges & (names | {ALL}):
            return False
        if self.scope.schema is None:
            return True
        if scope.schema is None:
            return False
        is_pattern = wildcards and self.scope.table is None
        if not (_matches if is_pattern else str.__eq__)(self.scope.schema, scope.schema):
            return False
        return self.scope.table in (None, scope.table)


@dataclass(frozen=True, slots=True)
class Privileges:
    """All grants of a user, including those of active roles.

    `wildcards`: schemas in grants are LIKE patterns; with MySQL's `partial_revokes` they are names.
    """

    grants: tuple[Grant, ...] = ()
    wildcards: bool = True

    @classmethod
    def read(cls, lines: Iterable[str], *, wildcards: bool = True) -> Privileges:
        """Parse the lines of SHOW GRANTS; lines without table privileges are ignored."""
        grants = tuple(grant for line in lines if (grant := _grant(line)) is not None)
        return cls(grants, wildcards)

    def has(self, names: frozenset[str], scope: Scope) -> bool:
        """Return True if any privilege of `names` is granted on `scope` and not partially revoked.

        MySQL's partial revokes remove a globally granted privilege from a schema.
        """
        given = [
            grant
            for grant in self.grants
            if not grant.revoked and grant.covers(names, scope, wildcards=self.wildcards)
        ]
        if any(grant.scope.schema is not None for grant in given):
            return True
        return bool(given) and not any(
            grant.revoked and grant.privileges & names and _lies_in(grant.scope, scope)
            for grant in self.grants
        )


def _grant(line: str) -> Grant | None:
    match = _GRANT.match(line)
    if match is None:
        return None
    verb, what, schema, table = match.groups()
    named = frozenset(name.strip() for name, columns in _PRIVILEGE.findall(what) if not columns)
    return Grant(named, Scope(_named(schema), _named(table)), verb == "REVOKE")


def _lies_in(revoked: Scope, scope: Scope) -> bool:
    """Return True if the revoked scope is in `scope`; for `*.*`, system schemas do not count."""
    if scope.schema is None:
        return revoked.schema not in SYSTEM_SCHEMAS
    return revoked.schema == scope.schema


def _matches(pattern: str, schema: str) -> bool:
    """Return True if the LIKE pattern of a grant matches the schema."""
    parts = re.findall(r"\\(.)|(.)", pattern, re.DOTALL)
    signs = {"_": ".", "%": ".*"}
    regex = "".join(re.escape(kept) or signs.get(sign, re.escape(sign)) for kept, sign in parts)
    return re.fullmatch(regex, schema, re.DOTALL) is not None


def _named(name: str) -> str | None:
    return None if name == "*" else unquoted(name)
