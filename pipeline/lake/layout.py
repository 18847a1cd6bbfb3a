"""Where everything in a lake is: its Delta tables, as paths, or as names in a catalog."""

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
    """A source's schema or table name as one path part that every file system keeps apart.

    All but letters, digits, `_`, `-`, `.` of ASCII are `!` and two digits for each byte: of `%`,
    readers of Delta disagree on what it means in a folder's name. Never gives `.` or `..`.
    """
    plain = _PLAIN_SIGNS if name.strip(".") else _LETTERS
    return "".join(chr(byte) if byte in plain else f"!{byte:02X}" for byte in name.encode())


def require_writable(root: str) -> None:
    """Make a lake's folder on a local disk; MissingRequirementError if it cannot be written.

    Another store must be reachable, or UnreachableError says why not; whether it can be written
    shows when it is.
    """
    require_openable(root)
    folder = local_path(root)
    if folder is None:
        require_reachable(root, key="lake")
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"the lake's folder {root} cannot be made: {error.strerror} ({error.filename})."
        raise MissingRequirementError(reason, remedy="Name another under lake.") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        reason = f"the lake's folder {root} cannot be written by this user."
        raise MissingRequirementError(reason, remedy="Change its owner or name another under lake.")


def require_openable(root: str) -> None:
    """Raise MissingRequirementError for a place whose name libraries of Delta read differently."""
    place = local_path(root) or root
    if "%" in place:
        raise MissingRequirementError(
            f"the lake's folder {place} has % in its name, which readers of Delta take for another"
            " folder's.",
            remedy="Name one without it under lake.",
        )


def is_lake(root: str) -> bool:
    """Whether a run has begun in this folder; True as well where only Spark knows the way there.

    Raises UnreachableError for a store that cannot be asked.
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
    """A source's schema or table name as part of a name that every catalog takes and keeps apart.

    Catalogs know no capitals and few signs: what they would not keep apart gets a digest behind it.
    """
    if _PLAIN.fullmatch(name):
        return name
    readable = "_".join(re.findall("[a-z0-9]+", name.lower()))
    return f"{readable}__{hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]}"


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake's root folder (a local path or a URI that Spark and fsspec both know).

    With a `namespace` (``catalog.schema``, quoted) its tables are names there, but for gold's own
    and for what is scratch.
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
        """Bronze: the raw bytes."""
        return self._table("bronze", "segments")

    @property
    def files(self) -> str:
        """Bronze: one row per ingested file."""
        return self._table("bronze", "files")

    def create_statements(self, source: str) -> str:
        """Bronze: what servers said of their tables, a small file for each reading."""
        return self._path("bronze", "_statements", source)

    def changes(self, schema: str, table: str, version: int) -> str:
        """Silver: the changes logged under one definition of a table."""
        if self.namespace is not None:
            return f"{self.namespace}.{quoted(f'{self._changes(schema, table)}__v{version}')}"
        return self._path(
            "silver", "changes", encode_part(schema), encode_part(table), f"v{version}"
        )

    def all_changes(self, schema: str, table: str) -> str | None:
        """Silver: the view of a table's changes under all its definitions; only in a catalog."""
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
        """Silver: what could not be decoded or must not be applied."""
        return self._table("silver", "quarantine")

    @property
    def staging(self) -> str:
        """Scratch space of silver's runs, one sub-folder per run; safe to delete between runs."""
        return self._path("silver", "_staging")

    def seeds(self, source: str) -> str:
        """Rows that tables had at places in the log, a folder for each seed of a table."""
        return self._path("silver", "_seeds", source)

    def halts(self, source: str) -> str:
        """Places at which gold of a source is to publish a cut on its way, a small file each."""
        return self._path("gold", "_halts", source)

    def gold(self, schema: str, table: str) -> str:
        """Gold: the replicated table."""
        return self._path("gold", encode_part(schema), encode_part(table))

    def damaged(self, schema: str, table: str, name: str) -> str:
        """What was moved away from the place of a gold table, when that was made again."""
        return self._path("gold", "_damaged", encode_part(schema), encode_part(table), name)

    @property
    def cuts(self) -> str:
        """Gold: the published cuts."""
        return self._table("gold", "_cuts")

    @property
    def cascades(self) -> str:
        """Gold: what foreign keys did that the log does not hold."""
        return self._table("gold", "_cascades")

    def ledger(self, name: str) -> str:
        """One of the ledger's own tables: `batches`, `definitions`."""
        return self._table("ledger", name)
