"""The ways that a log comes to gold: at once, file by file, by runs that die, with files twice."""

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
from pipeline.run.commands import run_layers
from pipeline.settings import Settings
from tests.support.lake.kills import Executioner, Killed, at_commits

SOURCE = "history"
SETTINGS: dict[str, object] = {"source": SOURCE, "drift": "full"}
"""Of all runs, beside their places."""
MOST_COMMITS: Mapping[str, int] = {"bronze": 6, "silver": 30, "gold": 30}
"""By layer: so many of its commits at most are let through, if it makes as many."""

_FLAGS = len(MAGIC) + 17
"""Where the flags of a file's first event are."""
_IN_USE = 1
_HEAD = 300
"""A file's first two events are shorter than that."""

Way = Callable[[SparkSession, Sequence[Path], Path, random.Random], None]
"""(session, the log's files in order, an empty folder for the lake and copies, chances)."""


def run(spark: SparkSession, binlogs: Path, lake: Path) -> list[LayerReport]:
    """One run of all layers."""
    settings = Settings.load(None, **SETTINGS, binlogs=str(binlogs), lake=str(lake))
    return run_layers(spark, settings, QuietProgress())


def lake_of(folder: Path) -> Path:
    """Where a way puts its lake."""
    return folder / "lake"


def at_once(spark: SparkSession, files: Sequence[Path], folder: Path, _: random.Random) -> None:
    """All files in one run."""
    run(spark, _copied(files, folder / "binlogs"), lake_of(folder))


def in_portions(
    spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random, most: int = 3
) -> None:
    """Some more files in each of `most` portions; some with a part of the next one, still open."""
    for portion in _portions(files, folder / "binlogs", rng, most):
        run(spark, portion, lake_of(folder))


def by_file(spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random) -> None:
    """A run for each file."""
    in_portions(spark, files, folder, rng, most=len(files))


def killed(spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random) -> None:
    """In portions by runs that die at any commit; what one leaves, the next one takes up.

    One dies in any layer, the next one in gold, which has the most to do.
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
    """All files, and all of them again from another folder, where the first are gone."""
    in_portions(spark, files, folder, rng, most=2)
    run(spark, _copied(files, folder / "again"), lake_of(folder))


def renamed(spark: SparkSession, files: Sequence[Path], folder: Path, rng: random.Random) -> None:
    """Some files, and then all of them as an archive has them: under other names and numbers."""
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
    """The folder, once with each portion of the files in it."""
    cuts = sorted(rng.sample(range(1, len(files)), min(most, len(files)) - 1))
    for cut in cuts:
        yield _copied(files[:cut], folder)
        if rng.random() < 0.5:
            _copy_open(files[cut], folder, rng)
            yield folder
    yield _copied(files, folder)


def _copy_open(file: Path, folder: Path, rng: random.Random) -> None:
    """A file as it was while the server wrote it: a part of it, flagged as in use."""
    content = bytearray(file.read_bytes())
    content[_FLAGS] |= _IN_USE
    (folder / file.name).write_bytes(content[: rng.randrange(_HEAD, len(content))])


def _copied(files: Sequence[Path], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
    return folder
