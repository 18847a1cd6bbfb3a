"""Ways in which a log reaches gold: at once, file by file, by killed runs, with duplicate files."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from decoder.constants import MAGIC
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.lake.kills import Executioner, Killed, at_commits
from tests.support.lake.run_layers import run_layers

SOURCE = "history"
SETTINGS: dict[str, object] = {"source": SOURCE, "drift": "full"}
"""Settings of all runs, besides their locations."""
MOST_COMMITS: Mapping[str, int] = {"bronze": 6, "silver": 30, "gold": 30}
"""By layer: the largest number of commits to allow before the kill."""

_FLAGS = len(MAGIC) + 17
"""Offset of the flags in a file's first event."""
_IN_USE = 1
_HEAD = 300
"""A file's first two events are shorter than this."""

Way = Callable[[SparkSession, Sequence[Path], Path, random.Random], None]
"""(session, the log's files in order, an empty folder for the lake and copies, random numbers)."""


def run(spark: SparkSession, binlogs: Path, lake: Path) -> list[LayerReport]:
    """Run all layers once."""
    settings = Settings.load(None, **SETTINGS, binlogs=str(binlogs), lake=str(lake))
    return run_layers(spark, settings, QuietProgress())


def lake_of(folder: Path) -> Path:
    """Return the folder of a way's lake."""
    return folder / "lake"


def at_once(spark: SparkSession, files: Sequence[Path], folder: Path, _: random.Random) -> None:
    """Apply all files in one run."""
    run(spark, _copied(files, folder / "binlogs"), lake_of(folder))


def in_portions(
    spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random, most: int = 3
) -> None:
    """Apply the files in at most `most` portions; some also contain part of the next, open file."""
    for portion in _portions(files, folder / "binlogs", rng, most):
        run(spark, portion, lake_of(folder))


def by_file(spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random) -> None:
    """Apply each file in a run of its own."""
    in_portions(spark, files, folder, rng, most=len(files))


def killed(spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random) -> None:
    """Apply the files in portions by runs that die at some commit and are resumed by the next.

    One run dies in any layer, the next one in gold, which makes the most commits.
    """
    for portion in _portions(files, folder / "binlogs", rng, 2):
        for layer in (rng.choice(list(MOST_COMMITS)), "gold"):
            commits, after = rng.randrange(MOST_COMMITS[layer]), rng.random() < 0.5
            executioner = Executioner(commits, after=after, layer=layer)
            with pytest.MonkeyPatch.context() as patched:
                at_commits(patched, executioner)
                try:
                    run(spark, portion, lake_of(folder))
                except Killed:
                    continue
        run(spark, portion, lake_of(folder))


def twice(spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random) -> None:
    """Apply all files, and then all again from another folder, with the first files gone."""
    in_portions(spark, files, folder, rng, most=2)
    run(spark, _copied(files, folder / "again"), lake_of(folder))


def renamed(spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random) -> None:
    """Apply some files, then all of them renamed and renumbered as in an archive."""
    first = files[: rng.randrange(1, len(files) + 1)]
    run(spark, _copied(first, folder / "binlogs"), lake_of(folder))
    archive = folder / "archive"
    archive.mkdir()
    for number, file in enumerate(files, 41):
        shutil.copyfile(file, archive / f"archive.{number:06d}")
    run(spark, archive, lake_of(folder))


WAYS: dict[str, Way] = {
    "at once": at_once,
    "in portions": in_portions,
    "by file": by_file,
    "killed": killed,
    "twice": twice,
    "renamed": renamed,
}


def _portions(files: Sequence[Path], folder: Path, rng: random.Random, most: int) -> Iterator[Path]:
    """Yield the folder after adding each portion of the files to it."""
    splits = sorted(rng.sample(range(1, len(files)), min(most, len(files)) - 1))
    for split in splits:
        yield _copied(files[:split], folder)
        if rng.random() < 0.5:
            _copy_open(files[split], folder, rng)
            yield folder
    yield _copied(files, folder)


def _copy_open(file: Path, folder: Path, rng: random.Random) -> None:
    """Copy part of a file as it was while the server wrote it, with the in-use flag set."""
    content = bytearray(file.read_bytes())
    content[_FLAGS] |= _IN_USE
    (folder / file.name).write_bytes(content[: rng.randrange(_HEAD, len(content))])


def _copied(files: Sequence[Path], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return folder
