"""The layout of a lake: its Delta tables, as paths or as names in a catalog.

A gold table's reference is made by `pipeline.gold.table.names`.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from string import ascii_letters, digits

from pipeline.errors import MissingRequirementError
from pipeline.lake.locks.lock import local_path
from pipeline.lake.sql_text import quoted
from pipeline.lake.stores import filesystem_of, is_known, require_reachable, sentences

_PLAIN = re.compile("[a-z0-9]+(_[a-z0-9]+)*")
_DIGITS = 12
_LETTERS = frozenset((ascii_letters + digits).encode())
_PLAIN_SIGNS = _LETTERS | frozenset(b"_-.")


def encode_part(name: str) -> str:
    """Encode a source's schema or table name as one path component, unique in any file system.

    Each byte (of UTF-8) except ASCII letters, digits, `_`, `-` and `.` becomes `!` and two hex
    digits. Not `%`: Delta's readers disagree on its meaning in a folder's name. The result is never
    `.` or `..`.
    """
    plain = _PLAIN_SIGNS if name.strip(".") else _LETTERS
    return "".join(chr(byte) if byte in plain else f"!{byte:02X}" for byte in name.encode())


def require_writable(root: str) -> None:
    """Create a lake's folder on a local disk; raise MissingRequirementError if it is not writable.

    For an object store, raise UnreachableError if it cannot be reached; write access is not checked
    in advance.
    """
    require_openable(root)
    folder = local_path(root)
    if folder is None:
        require_reachable(root, key="lake")
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"cannot create the lake's folder {root}: {error.strerror} ({error.filename})."
        raise MissingRequirementError(reason, remedy="Set lake to another folder.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        reason = f"the lake's folder {root} cannot be written by this user."
        raise MissingRequirementError(
            reason, remedy="Change its owner, or set lake to another folder."
        )


def require_openable(root: str) -> None:
    """Raise MissingRequirementError if Delta's readers disagree on the meaning of the path."""
    place = local_path(root) or root
    if "%" in place:
        raise MissingRequirementError(
            f"the lake's folder {place} has % in its name, which some Delta readers decode to"
            " another path.",
            remedy="Set lake to a folder without % in its path.",
        )


def is_lake(root: str) -> bool:
    """Return True if the folder has a ledger, or if only Spark can access its store.

    Raises UnreachableError if the store cannot be reached.
    """
    require_openable(root)
    place = f"{root.rstrip('/')}/ledger"
    folder = local_path(place)
    if folder is not None:
        return os.path.isdir(folder)
    if not is_known(root):
        return True
    filesystem, path = filesystem_of(place, key="lake")
    with sentences(root, key="lake"):
        filesystem.invalidate_cache()
        return bool(filesystem.exists(path))


def encode_name(name: str) -> str:
    """Encode a source's schema or table name as part of a name that is unique in any catalog.

    Catalogs fold case and allow few characters: a name that is not plain gets a digest appended.
    """
    if _PLAIN.fullmatch(name):
        return name
    readable = "_".join(re.findall("[a-z0-9]+", name.lower()))
    return f"{readable}__{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"


@dataclass(frozen=True, slots=True)
class Lake:
    """The layout of a lake below its root (a local path, or a URI that Spark and fsspec support).

    With a `namespace` (``catalog.schema``, quoted) its tables are named there, except gold's
    replicated tables and scratch folders, which are paths.
    """

    root: str
    namespace: str | None = None

    def _table(self, *parts: str) -> str:
        if self.namespace is not None:
            return f"{self.namespace}.{quoted('_'.join(part.strip('_') for part in parts))}"
        return self._path(*parts)

    def _path(self, *parts: str) -> str:
        return "/".join([self.root.rstrip("/"), *parts])

    @property
    def segments(self) -> str:
        """Bronze: the raw bytes of the logs, one row per segment."""
        return self._table("bronze", "segments")

    @property
    def files(self) -> str:
        """Bronze: one row per ingested file."""
        return self._table("bronze", "files")

    def create_statements(self, source: str) -> str:
        """Bronze: the CREATE statements read from a source's servers, a small file per reading."""
        return self._path("bronze", "_statements", source)

    def changes(self, schema: str, table: str, version: int) -> str:
        """Silver: the changes logged under one definition of a table."""
        if self.namespace is not None:
            return f"{self.namespace}.{quoted(f'{self._changes(schema, table)}__v{version}')}"
        return self._path(
            "silver", "changes", encode_part(schema), encode_part(table), f"v{version}"
        )

    def all_changes(self, schema: str, table: str) -> str | None:
        """Silver: the view of a table's changes of all its definitions; None without a catalog."""
        if self.namespace is None:
            return None
        return f"{self.namespace}.{quoted(self._changes(schema, table))}"

    def _changes(self, schema: str, table: str) -> str:
        return f"changes__{encode_name(schema)}__{encode_name(table)}"

    @property
    def transactions(self) -> str:
        """Silver: one row per transaction."""
        return self._table("silver", "transactions")

    @property
    def statements(self) -> str:
        """Silver: every QUERY event that is not BEGIN or COMMIT."""
        return self._table("silver", "statements")

    @property
    def quarantine(self) -> str:
        """Silver: events that could not be decoded or must not be applied."""
        return self._table("silver", "quarantine")

    @property
    def staging(self) -> str:
        """Silver: scratch folder, one sub-folder per run; safe to delete between runs."""
        return self._path("silver", "_staging")

    def seeds(self, source: str) -> str:
        """Silver: initial snapshots of tables at positions of the log, a folder for each."""
        return self._path("silver", "_seeds", source)

    def verification_points(self, source: str) -> str:
        """Gold: the requested verification points, a small file each."""
        return self._path("gold", "_verification_points", source)

    def gold(self, schema: str, table: str) -> str:
        """Gold: the replicated table."""
        return self._path("gold", encode_part(schema), encode_part(table))

    def damaged(self, schema: str, table: str, name: str) -> str:
        """Gold: where a damaged table's folder was moved before the table was created again."""
        return self._path("gold", "_damaged", encode_part(schema), encode_part(table), name)

    @property
    def cuts(self) -> str:
        """Gold: the published snapshots."""
        return self._table("gold", "_cuts")

    @property
    def cascades(self) -> str:
        """Gold: changes made by foreign keys, which the log does not contain."""
        return self._table("gold", "_cascades")

    def ledger(self, name: str) -> str:
        """One of the ledger's tables, such as `batches` or `runs`."""
        return self._table("ledger", name)
