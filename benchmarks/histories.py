"""Check that gold equals the source after hundreds of random histories, applied in different ways.

Run: `make soak-histories` (COUNT=… SEED=…), or `python -m benchmarks.histories`. Each trial prints
its seed; a failure prints the command that repeats it, and with `--shrink` its fewest steps.
`--server mariadb` needs the server that the tests download.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from pipeline.settings import Settings
from pipeline.spark.session import session
from tests.support.history.apply import WAYS
from tests.support.history.check import UnequalError
from tests.support.history.model import APPLIED, Feature
from tests.support.history.trial import ENGINES, GOLD, Trial, attempt, smallest
from tests.support.servers.mariadb import MariaDBServer, NewestMariaDBServer
from tests.support.servers.mysql import MySQLServer

SERVERS: dict[str, Callable[[Path], MySQLServer | MariaDBServer]] = {
    "mysql": MySQLServer,
    # As in releases before 9.6: changes by foreign keys are not logged.
    "native-mysql": lambda folder: MySQLServer(folder, "--innodb-native-foreign-keys=ON"),
    "mariadb": MariaDBServer,
    "newest-mariadb": NewestMariaDBServer,
}
VARIABLES: tuple[dict[str, str | int], ...] = (
    {},
    {"max_binlog_size": 4096},
    {"binlog_row_metadata": "MINIMAL"},
    {"binlog_row_metadata": "MINIMAL", "binlog_row_image": "MINIMAL"},
)
MARIADB: tuple[dict[str, str | int], ...] = (
    {"binlog_row_metadata": "NO_LOG"},
    {"binlog_row_metadata": "NO_LOG", "binlog_row_image": "MINIMAL"},
    {"max_binlog_size": 4096, "log_bin_compress": "ON", "log_bin_compress_min_len": 10},
)
"""More settings for MariaDB: its default row metadata, and its own options."""
TRIES = 40
"""The most runs that `--shrink` makes."""


def main() -> int:
    """Run the trials; return 1 if any fails."""
    arguments = _arguments()
    conf = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # With many small jobs, the optimizing compiler costs more time than it saves.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    spark = session(Settings.load(None, spark={"master": "local[2]", "conf": conf}), "histories")
    failures = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        SERVERS[arguments.server](Path(folder) / "server") as server,
    ):
        for trial in _trials(arguments):
            began = time.monotonic()
            try:
                outcome = attempt(spark, server, trial)
            except UnequalError as error:
                failures += 1
                print(f"FAILED in {time.monotonic() - began:.0f} s: {error}", flush=True)
                if arguments.shrink:
                    print(smallest(spark, server, trial, tries=TRIES), flush=True)
            else:
                seconds = time.monotonic() - began
                print(f"{outcome} in {seconds:.0f} s: {trial}", flush=True)
    return min(failures, 1)


def _trials(arguments: argparse.Namespace) -> Sequence[Trial]:
    """Return one trial per seed; options that are not given vary from trial to trial."""
    ways = [arguments.way] if arguments.way else list(WAYS)
    pairs = (pair.split("=", 1) for pair in arguments.set)
    given = {name: int(value) if value.isdigit() else value for name, value in pairs}
    variables = VARIABLES + (MARIADB if "mariadb" in arguments.server else ())
    if given or arguments.seed_alone:
        variables = (given,)
    features = APPLIED | {Feature[name] for name in arguments.feature}
    features -= {Feature[name] for name in arguments.without}
    return [
        Trial(
            seed,
            ways[seed % len(ways)],
            arguments.histories,
            arguments.length,
            features,
            variables[seed // len(ways) % len(variables)],
            arguments.gold or list(GOLD)[(seed + seed // len(ways)) % len(GOLD)],
            arguments.engine or Random(seed).choice(ENGINES),
        )
        for seed in range(arguments.seed, arguments.seed + arguments.count)
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--count", type=int, default=1, help="number of trials, with seeds from --seed on"
    )
    parser.add_argument("--way", choices=list(WAYS))
    parser.add_argument("--histories", type=int, default=4)
    parser.add_argument("--length", type=int, default=60)
    names = [feature.name for feature in Feature]
    parser.add_argument("--feature", action="append", default=[], choices=names)
    parser.add_argument("--without", action="append", default=[], choices=names)
    parser.add_argument("--set", action="append", default=[], metavar="VARIABLE=VALUE")
    parser.add_argument("--gold", choices=list(GOLD))
    parser.add_argument("--engine", choices=ENGINES)
    parser.add_argument("--server", choices=list(SERVERS), default="mysql")
    parser.add_argument("--shrink", action="store_true")
    arguments = parser.parse_args()
    arguments.seed_alone = arguments.way is not None
    return arguments


if __name__ == "__main__":
    sys.exit(main())
