"""Where everything in a lake is: the paths of its Delta tables."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from pipeline.errors import MissingRequirementError
from pipeline.lock import local_path
from pipeline.stores import require_reachable


def encode_part(name: str) -> str:
    """A source's schema or table name as one path part that every file system keeps apart.

    Percent-encodes all but letters, digits, `_`, `-`, `.`; never gives `.` or `..`.
    """
    encoded = quote(name, safe="").replace("~", "%7E")
    return encoded.replace(".", "%2E") if encoded.strip(".") == "" else encoded


def require_writable(root: str) -> None:
    """Make a lake's folder on a local disk; MissingRequirementError if it cannot be written.

    Another store must be reachable, or SettingsError says why not; whether it can be written shows
    when it is.
    """
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


@dataclass(frozen=True, slots=True)
class Lake:
    """A lake's root folder (a local path or a URI that Spark and fsspec both know)."""

    root: str

    def _path(self, *parts: str) -> str:
        return "/".join([self.root.rstrip("/"), *parts])

    @property
    def segments(self) -> str:
        """Bronze: the raw bytes."""
        return self._path("bronze", "segments")

    @property
    def files(self) -> str:
        """Bronze: one row per ingested file."""
        return self._path("bronze", "files")

    def changes(self, schema: str, table: str, version: int) -> str:
        """Silver: the changes logged under one definition of a table."""
        return self._path(
            "silver", "changes", encode_part(schema), encode_part(table), f"v{version}"
        )

    @property
    def transactions(self) -> str:
        """Silver: one row per transaction."""
        return self._path("silver", "transactions")

    @property
    def statements(self) -> str:
        """Silver: every QUERY event that is not BEGIN or COMMIT."""
        return self._path("silver", "statements")

    @property
    def quarantine(self) -> str:
        """Silver: what could not be decoded or must not be applied."""
        return self._path("silver", "quarantine")

    @property
    def staging(self) -> str:
        """Scratch space of silver's runs, one sub-folder per run; safe to delete between runs."""
        return self._path("silver", "_staging")

    def gold(self, schema: str, table: str) -> str:
        """Gold: the replicated table."""
        return self._path("gold", encode_part(schema), encode_part(table))

    @property
    def cuts(self) -> str:
        """Gold: the published cuts."""
        return self._path("gold", "_cuts")

    @property
    def cascades(self) -> str:
        """Gold: what foreign keys did that the log does not hold."""
        return self._path("gold", "_cascades")

    def ledger(self, name: str) -> str:
        """One of the ledger's own tables: `batches`, `definitions`."""
        return self._path("ledger", name)
