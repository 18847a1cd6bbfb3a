"""The settings that a server calls for, and notes on them."""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from decoder.columns.charsets import COLLATIONS
from pipeline.lake.locks.lock import absolute
from pipeline.settings import Settings
from pipeline.settings.server import ServerSettings
from pipeline.settings.settings import SYSTEM_SCHEMAS
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import Finding
from pipeline.source.check.run import findings
from pipeline.source.check.tables import unsupported_tables
from pipeline.source.check.variables import offset_text
from pipeline.source.server.login import LOCAL, PASSWORD_VARIABLE, Login

LAKE, BINLOGS = "/data/lake", "/data/binlogs"
"""Placeholders."""
_REPLACE = "A placeholder: replace it."
_PASSWORD = (
    f"The password is not in this file: set {PASSWORD_VARIABLE} in the environment, or put it in"
    " the first line of a file that nobody else may read, and name that here:"
)
_PASSWORD_FILE = "  password_file: /etc/binlake/password"
_TLS = "By default, TLS is used if the server has it. To verify the server, too:"
_TLS_MODE = "  tls: {mode: verify_identity, ca: /etc/ssl/ca.pem}"
_LOGIN = {"password_file", "tls", "connect_timeout"}
"""Keys of `server` that are taken over as they are."""
_PATHS = frozenset({"password_file", "ca", "cert", "key"})
"""Of these, and of `tls`, the paths."""
_SEES_NOTHING = "This user can see no tables, so all schemas are replicated."
_NAMED_LATER = "A schema that is created later is not replicated until it is added here."


@dataclass(frozen=True, slots=True)
class Given:
    """Values from the command line or a settings file; None if they do not give them.

    `connection`: keys of `server` beyond its address and user, without secrets.
    """

    source: str | None = None
    lake: str | None = None
    binlogs: Sequence[str] | None = None
    connection: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings) -> Given:
        """Return what was set; relative paths are made absolute, since the file may be used
        elsewhere."""
        binlogs = [settings.binlogs] if isinstance(settings.binlogs, str) else settings.binlogs
        return cls(
            settings.source if "source" in settings.model_fields_set else None,
            settings.lake or None,
            [absolute(place) for place in binlogs if place] or None,
            _connection(settings.server),
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """Values of settings, in the form and order of a settings file, and notes by dotted key.

    A note that begins with two spaces is not a sentence but a line to copy. `findings` are those of
    `binlake check` with these settings.
    """

    values: Mapping[str, Any]
    notes: Mapping[str, Sequence[str]]
    findings: tuple[Finding, ...]


def propose(facts: ServerFacts, login: Login, given: Given) -> Proposal:
    """Return the settings for a server; none of them is a secret."""
    schemas = Counter(
        table.schema
        for table in facts.tables
        if table.kind == "BASE TABLE" and table.schema.lower() not in SYSTEM_SCHEMAS
    )
    include = [f"{glob.escape(schema)}.*" for schema in sorted(schemas)]
    binlogs = list(given.binlogs or (BINLOGS,))
    values: dict[str, Any] = {
        "source": given.source or _source_name(list(schemas), login),
        "server": {**_server(login), **given.connection},
        **({"capture": {"to": binlogs[0]}} if _is_folder(binlogs) else {}),
        "binlogs": binlogs[0] if len(binlogs) == 1 else binlogs,
        "lake": given.lake or LAKE,
        **({"include": include} if include else {}),
        **_excluded(facts, include),
        **_charset(facts),
        "system_time_zone": _time_zone(facts),
        **_letter_case(facts),
    }
    settings = Settings.load(None, **values)
    return Proposal(values, _notes(facts, given, schemas), findings(facts, settings))


def _source_name(schemas: Sequence[str], login: Login) -> str:
    """Return the name of the only schema, or of the server's host."""
    name = schemas[0] if len(schemas) == 1 else _host_label(login)
    return re.sub("[^A-Za-z0-9_.-]+", "-", name).strip("-_.") or "mysql"


def _host_label(login: Login) -> str:
    try:
        ip_address(login.host)
    except ValueError:
        return "" if login.host == LOCAL else login.host.partition(".")[0]
    return ""


def _server(login: Login) -> dict[str, Any]:
    if login.socket is not None:
        return {"socket": login.socket, "user": login.user}
    return {"host": login.host, "port": login.port, "user": login.user}


def _connection(server: ServerSettings) -> dict[str, Any]:
    """Return what was set of how to log in, with absolute paths."""
    found = server.model_dump(include=_LOGIN, exclude_unset=True, exclude_none=True)
    if "tls" in found:
        found["tls"] = _with_absolute_paths(found["tls"])
    return _with_absolute_paths(found)


def _with_absolute_paths(section: Mapping[str, Any]) -> dict[str, Any]:
    return {name: absolute(value) if name in _PATHS else value for name, value in section.items()}


def _server_notes(connection: Mapping[str, Any]) -> Sequence[str]:
    password = () if "password_file" in connection else (_PASSWORD, _PASSWORD_FILE)
    return (*password, *(() if "tls" in connection else (_TLS, _TLS_MODE)))


def _is_folder(binlogs: Sequence[str]) -> bool:
    """Return True if a capture can write the logs where they are read."""
    return len(binlogs) == 1 and not glob.has_magic(binlogs[0])


def _excluded(facts: ServerFacts, include: Sequence[str]) -> dict[str, Any]:
    """Return the tables that gold could not equal, because of their storage engine or kind."""
    names = unsupported_tables(facts, Settings.load(None, include=include))
    return {"exclude": [glob.escape(name) for name in names]} if names else {}


def _charset(facts: ServerFacts) -> dict[str, str]:
    name = facts.variables.get("character_set_server", "").lower()
    return {"default_charset": name} if name in {*COLLATIONS, "utf8"} else {}


def _time_zone(facts: ServerFacts) -> str:
    is_utc = facts.utc_offset == 0 and facts.variables.get("system_time_zone") == "UTC"
    return "UTC" if is_utc else offset_text(facts.utc_offset)


def _letter_case(facts: ServerFacts) -> dict[str, int]:
    found = facts.variables.get("lower_case_table_names")
    return {} if found is None else {"lower_case_table_names": int(found)}


def _notes(
    facts: ServerFacts, given: Given, schemas: Mapping[str, int]
) -> dict[str, Sequence[str]]:
    tables = ", ".join(
        f"{name} ({count} table{'' if count == 1 else 's'})"
        for name, count in sorted(schemas.items())
    )
    seen = f"What this user can see: {tables}."
    return {
        "server": _server_notes(given.connection),
        "include": (seen, _NAMED_LATER) if tables else (_SEES_NOTHING,),
        "exclude": ("Gold cannot equal these tables: see the findings above.",),
        **({} if given.lake else {"lake": (_REPLACE,)}),
        **({} if given.binlogs else {"binlogs": (_REPLACE,), "capture.to": (_REPLACE,)}),
        **({} if _time_zone(facts) == "UTC" else {"system_time_zone": (_offset_note(facts),)}),
    }


def _offset_note(facts: ServerFacts) -> str:
    name = facts.variables.get("system_time_zone", "SYSTEM")
    return (
        f"The server calls it {name}. If it has daylight saving time, replace the offset by a name"
        " such as Europe/Paris."
    )
