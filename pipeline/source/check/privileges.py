"""What a user may do, as SHOW GRANTS tells it.

Format: https://dev.mysql.com/doc/refman/9.7/en/show-grants.html; its text is never shown, since
MariaDB's has the hash of the password in it.
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
# A privilege on some columns of a table is none on the table.
_PRIVILEGE = re.compile(r"([A-Z_ ]+?)(\s*\([^)]*\))?(?:,\s*|$)")


@dataclass(frozen=True, slots=True)
class Scope:
    """`*.*`, a schema's tables, or a table; None is the asterisk."""

    schema: str | None = None
    table: str | None = None

    def granted(self, *, wildcards: bool = True) -> str:
        """As GRANT has it, in which `_` and `%` of a schema's name may be wildcards."""
        if self.schema is None:
            return "*.*"
        if self.table is not None:
            return f"{quoted(self.schema)}.{quoted(self.table)}"
        pattern = re.sub(r"([\\_%])", r"\\\1", self.schema) if wildcards else self.schema
        return f"{quoted(pattern)}.*"


@dataclass(frozen=True, slots=True)
class Grant:
    """Privileges that a line gives (or, of `revoked`, takes away again) where `scope` says."""

    privileges: frozenset[str]
    scope: Scope
    revoked: bool = False

    def covers(self, names: frozenset[str], scope: Scope, *, wildcards: bool) -> bool:
        """Whether it has one of these privileges, wherever `scope` is."""
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
    """All of a user's, those of active roles among them.

    `wildcards`: whether schemas in grants are LIKE patterns; with MySQL's `partial_revokes` they
    are names.
    """

    grants: tuple[Grant, ...] = ()
    wildcards: bool = True

    @classmethod
    def read(cls, lines: Iterable[str], *, wildcards: bool = True) -> Privileges:
        """From the lines of SHOW GRANTS; what is no privilege on tables is passed over."""
        grants = tuple(grant for line in lines if (grant := _grant(line)) is not None)
        return cls(grants, wildcards)

    def has(self, names: frozenset[str], scope: Scope) -> bool:
        """Whether any privilege of these names is given there, and not taken away (MySQL's
        partial revokes: from a schema, of a privilege that is given for all)."""
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
    """Whether what is taken away is of these tables; of all, the server's own do not count."""
    if scope.schema is None:
        return revoked.schema not in SYSTEM_SCHEMAS
    return revoked.schema == scope.schema


def _matches(pattern: str, schema: str) -> bool:
    """A schema's name in a grant is a LIKE pattern."""
    parts = re.findall(r"\\(.)|(.)", pattern, re.DOTALL)
    signs = {"_": ".", "%": ".*"}
    regex = "".join(re.escape(kept) or signs.get(sign, re.escape(sign)) for kept, sign in parts)
    return re.fullmatch(regex, schema, re.DOTALL) is not None


def _named(name: str) -> str | None:
    return None if name == "*" else unquoted(name)
