"""One trial: play histories on a server, apply its log in some way, compare gold."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from pyspark.sql import SparkSession

from tests.support.history.apply import SETTINGS, WAYS
from tests.support.history.check import UnequalError, check
from tests.support.history.generate import generate, mixed
from tests.support.history.model import APPLIED, Feature, Step
from tests.support.history.play import played, settings
from tests.support.history.shrink import as_sql, shrink
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.server import Server

GOLD: Mapping[str, Mapping[str, int]] = {
    "small": {},
    "large": {
        "pipeline.gold.changes.small_batch.SMALL_BYTES": -1,
        "pipeline.gold.local.table.SMALL_BYTES": -1,
    },
    "unfit": {"pipeline.gold.changes.small_batch.HELD_BYTES": -1},
    "many": {"pipeline.gold.changes.small_batch.FEW": -1},
}
"""Few changes to small tables; tables treated as large; as too large for memory; as having many
changes.
"""
ENGINES = ("local", "spark")
"""Where tasks of bronze and silver run: values of the setting `engine`."""
FEWEST_DONE = 0.9
"""The minimum share of steps that must succeed: a history of errors proves nothing."""


@dataclass(frozen=True, slots=True)
class Trial:
    """The complete parameters of a trial; `str` shows how to reproduce it."""

    seed: int
    way: str = "at once"
    histories: int = 4
    length: int = 60
    features: frozenset[Feature] = APPLIED
    variables: Mapping[str, str | int] = field(default_factory=dict)
    """Global variables of the server while it plays the histories."""
    gold: str = "small"
    """A key of `GOLD`: the thresholds by which gold sizes batches and tables."""
    engine: str = ENGINES[0]

    def __str__(self) -> str:
        features = "".join(f" --feature {f.name}" for f in sorted(self.features - APPLIED, key=str))
        features += "".join(
            f" --without {f.name}" for f in sorted(APPLIED - self.features, key=str)
        )
        variables = "".join(f" --set {name}={value}" for name, value in self.variables.items())
        return (
            f"python -m benchmarks.histories --seed {self.seed} --way '{self.way}'"
            f" --histories {self.histories} --length {self.length}{features}{variables}"
            f" --gold {self.gold} --engine {self.engine}"
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """A trial's result: equal tables, steps that the server accepted, and rejected ones."""

    equal: int
    done: int
    failed: int


def histories(trial: Trial, *, mariadb: bool) -> dict[str, list[Step]]:
    """Return the trial's histories, by schema."""
    return {
        f"h{n}": generate(
            trial.seed * 1000 + n,
            trial.features,
            schema=f"h{n}",
            length=trial.length,
            mariadb=mariadb,
        )
        for n in range(trial.histories)
    }


def attempt(spark: SparkSession, server: Server, trial: Trial) -> Outcome:
    """Run the trial; raise `UnequalError` with the seed if gold differs from the server."""
    made = histories(trial, mariadb=isinstance(server, MariaDBServer))
    try:
        return _attempt(spark, server, trial, made, mixed(list(made.values()), trial.seed))
    except UnequalError as error:
        raise UnequalError(f"{error}\n{trial}") from error


def smallest(spark: SparkSession, server: Server, trial: Trial, *, tries: int) -> str:
    """Return the fewest steps of a failing trial that still fail, as SQL."""
    made = histories(trial, mariadb=isinstance(server, MariaDBServer))

    def fails(steps: Sequence[Step]) -> bool:
        try:
            _attempt(spark, server, trial, made, steps, fewest_done=0)
        except UnequalError:
            return True
        return False

    return as_sql(shrink(mixed(list(made.values()), trial.seed), fails, tries=tries))


def _attempt(
    spark: SparkSession,
    server: Server,
    trial: Trial,
    made: Mapping[str, Sequence[Step]],
    steps: Sequence[Step],
    fewest_done: float = FEWEST_DONE,
) -> Outcome:
    for schema in made:
        server.execute(f"DROP DATABASE IF EXISTS `{schema}`")
    server.reset_logs()
    with ExitStack() as stack:
        stack.enter_context(settings(server, **trial.variables))
        result = stack.enter_context(played(server, steps))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="history.")))
        if result.done < fewest_done * len(steps):
            shown = "\n".join(f"{step.sql}: {error}" for step, error in result.failed[:10])
            raise UnequalError(f"{len(result.failed)} of {len(steps)} steps failed\n{shown}")
        for name, value in GOLD[trial.gold].items():
            stack.enter_context(patch(name, value))
        stack.enter_context(patch.dict(SETTINGS, engine=trial.engine))
        WAYS[trial.way](spark, server.binlogs(), folder, random.Random(trial.seed))
        equal = check(spark, server, folder, made)
    return Outcome(equal, result.done, len(result.failed))
