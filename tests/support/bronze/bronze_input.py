"""Bronze's job over recorded files, in a folder arranged by a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.bronze import read_files
from pipeline.bronze.job import run
from pipeline.bronze.tables import FileRow, segments_table
from pipeline.lake import Lake
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.bronze.restore import restore
from tests.support.decoder.encrypted_log import encrypted

FILES = sorted((Path(__file__).parents[3] / "demo" / "binlogs").glob("binlog.0*"))
IN_USE = 21
"""Offset of a file's in-use flag."""


class KilledError(BaseException):
    """Simulates a killed process: nothing after this line runs."""


def _die(*_: object, **__: object) -> None:
    raise KilledError


class Bronze:
    """An input folder and a lake, with small segments, so that each file has several."""

    def __init__(self, spark: Spark, folder: Path, keyring: str | None = None) -> None:
        self.spark = spark
        self.input = folder / "logs"
        self.lake = Lake(str(folder / "lake"))
        self.input.mkdir(parents=True)
        self.settings = Settings.load(
            None,
            source="shop",
            binlogs=str(self.input),
            lake=self.lake.root,
            segments={"target": 40_000, "limit": 90_000},
            encryption={"keyring": keyring},
        )

    def put(
        self, file: Path, upto: int | None = None, *, in_use: bool = False, encrypt: bool = False
    ) -> None:
        """Put a copy of a file, or of its beginning, into the input folder."""
        content = bytearray(file.read_bytes()[:upto])
        content[IN_USE] |= in_use
        self.put_bytes(file.name, encrypted(bytes(content)) if encrypt else bytes(content))

    def put_bytes(self, name: str, content: bytes) -> None:
        """Put a file into the input folder."""
        (self.input / name).write_bytes(content)

    def run(self, **options: Any) -> LayerReport:
        """Run bronze's job."""
        return run(self.spark, self.settings.updated(**options), QuietProgress())

    def plan(self) -> None:
        """Run bronze's job, killed once its plan is committed."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("pipeline.bronze.job.carry_out", _die)
            with pytest.raises(KilledError):
                self.run()

    def rows(self) -> dict[str, FileRow]:
        """Return the files in the lake, by name."""
        return {row.file: row for row in read_files(self.spark, self.lake, "shop")}

    def restored(self, file: str) -> bytes:
        """Return a file as restored from the lake."""
        return b"".join(restore(self.spark, self.lake, "shop", file))

    def segments(self) -> list[tuple[Any, ...]]:
        """Return all segments, without the batch that wrote each."""
        columns = ("file", "ordinal", "start_pos", "end_pos", "part", "sha256", "transactions")
        return sorted(tuple(row.values()) for row in self.stored(*columns))

    def stored(self, *columns: str) -> list[dict[str, Any]]:
        """Return these columns of every row of `bronze/segments`."""
        table = segments_table(self.lake)
        rows = tables_of(self.spark, self.lake).read(table, columns=columns)
        found: list[dict[str, Any]] = rows.select(columns).to_pylist()
        return found

    def holds(self, *files: Path) -> bool:
        """True if the concatenated segments equal these files."""
        columns = ("file", "start_pos", "part", "content")
        held: dict[str, bytes] = {}
        for file, _, _, content in sorted(tuple(row.values()) for row in self.stored(*columns)):
            held[file] = held.get(file, b"") + content
        return all(held[file.name] == file.read_bytes() for file in files)
