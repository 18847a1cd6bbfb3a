"""A dump that is a folder of files."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipeline.catalog import TableName
from pipeline.catalog.ddl.dump import dumped_statements
from pipeline.catalog.timeline.start import StartTable, created_tables
from pipeline.lake.stores import filesystem_of, sentences
from pipeline.seed.dumps.feed import content
from pipeline.seed.errors import DumpError


@dataclass(frozen=True)
class Folder:
    """The files in a folder by their names, with their paths and sizes."""

    location: str
    paths: dict[str, str] = field(repr=False)
    sizes: dict[str, int] = field(repr=False)

    def __contains__(self, name: str) -> bool:
        return name in self.paths

    def text(self, name: str) -> str:
        """A small file, decompressed. Raises DumpError, too where there is no such file."""
        if name not in self.paths:
            raise DumpError(
                f"{self.location.rstrip('/')}/{name}",
                "it is not there",
                remedy="Is the dump whole? Copy it again, or make it again.",
            )
        return content(self.paths[name]).decode(errors="replace")

    def created(self, name: str, schema: str) -> dict[TableName, StartTable]:
        """The tables that a file of statements creates in a schema. Raises DumpError."""
        from_schema = f"USE `{schema.replace('`', '``')}`;\n"
        return created_tables(dumped_statements(from_schema + _headless(self.text(name))))


def _headless(text: str) -> str:
    """Without a head's line that names the schema together with the table."""
    return "\n".join(line for line in text.splitlines() if not line.startswith("-- Host:"))


def folder(location: str) -> Folder:
    """The folder at a path or URL; of folders in it nothing. Raises UnreachableError, DumpError."""
    filesystem, path = filesystem_of(location, key="seed")
    with sentences(location, key="seed"):
        found = filesystem.ls(path, detail=True) if filesystem.isdir(path) else []
    if not found:
        raise DumpError(location, "there is no dump", remedy="Check the path or URL.")
    inside = location.rstrip("/")
    sizes = {
        str(entry["name"]).rsplit("/", 1)[-1]: int(entry["size"] or 0)
        for entry in found
        if entry["type"] == "file"
    }
    return Folder(inside, {name: f"{inside}/{name}" for name in sorted(sizes)}, sizes)
