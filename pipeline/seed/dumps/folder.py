"""The files of a dump in a folder."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.lake.stores import filesystem_of, sentences
from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.schema_dump import dumped_statements
from pipeline.schema_history.timeline.definitions_file import StartTable, created_tables
from pipeline.seed.dumps.feed import content
from pipeline.seed.errors import DumpError


@dataclass(frozen=True)
class Folder:
    """A dump's folder; `paths` and `sizes` (bytes) of its files by name."""

    location: str
    paths: dict[str, str] = field(repr=False)
    sizes: dict[str, int] = field(repr=False)

    def __contains__(self, name: str) -> bool:
        return name in self.paths

    def text(self, name: str) -> str:
        """Return the text of a small file, decompressed. Raises DumpError, also if missing."""
        if name not in self.paths:
            raise DumpError(
                f"{self.location.rstrip('/')}/{name}",
                "the file is missing from the dump",
                remedy="The dump is incomplete. Copy it again, or dump again.",
            )
        return content(self.paths[name]).decode(errors="replace")

    def created(self, name: str, schema: str) -> dict[TableName, StartTable]:
        """Return the tables that a file of statements creates in a schema. Raises DumpError."""
        from_schema = f"USE `{schema.replace('`', '``')}`;\n"
        return created_tables(dumped_statements(from_schema + _headless(self.text(name))))


def _headless(text: str) -> str:
    """Drop the `-- Host:` lines, which name the schema together with the table."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("-- Host:"))


def folder(location: str) -> Folder:
    """List the files of a folder, not of its subfolders. Raises UnreachableError, DumpError."""
    filesystem, path = filesystem_of(location, key="seed")
    with sentences(location, key="seed"):
        found = filesystem.ls(path, detail=True) if filesystem.isdir(path) else []
    if not found:
        raise DumpError(location, "no dump found", remedy="Check the path or URL.")
    inside = location.rstrip("/")
    sizes = {
        str(entry["name"]).rsplit("/", 1)[-1]: int(entry["size"] or 0)
        for entry in found
        if entry["type"] == "file"
    }
    return Folder(inside, {name: f"{inside}/{name}" for name in sorted(sizes)}, sizes)
